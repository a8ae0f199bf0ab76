"""The rank program that runs a loop on slabs: what a member does from its first state to its last.

The driver hears nothing between steps. Floating-point operations are those of the plain engine's kernels, in the same
order; so the bits are those of the loop written in Python.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.stencil.plan import BlockCall, HaloPlan, StencilLeaf
from ..rank.own_arena import own_transport, view
from .block_calls import SlabCaller
from .compiled import StepKernel, make_compiled
from .exchange import Far, GangWatch, MappedNeighbour, Neighbour
from .interpreted import run_step, step_singles
from .regions import PlacedArray, SlabLayout
from .slabs import Slab, lay_out

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..gangs.local_chunks import LocalChunks

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class HaloLoop:
    """`function(comm, *locals)` of a gang: so many steps of a plan.

    Locals are the arrays that have all axes, as the first step finds them, then what the carried ones become, then the
    members' memory. `borders` are the slabs' rows; `singles` and `profiles` the values of what has no axes, or not all.
    """

    plan: HaloPlan
    steps: int
    borders: tuple[int, ...]
    singles: tuple[Any, ...]
    profiles: tuple[tuple[int, Array, tuple[int, ...]], ...]
    mapped: bool = True

    def __call__(self, comm: Any, *locals_: LocalChunks) -> None:
        with np.errstate(all="ignore"):
            _Member(self, comm, locals_).run()


class _Member:
    def __init__(self, loop: HaloLoop, comm: Any, locals_: Sequence[LocalChunks]) -> None:
        self.loop, self.comm, self.plan = loop, comm, loop.plan
        self.layout = SlabLayout(loop.plan)
        self.watch = GangWatch(comm)
        leaves = [k for k, item in enumerate(self.plan.items) if isinstance(item, StencilLeaf) and all(item.along)]
        carried = len(self.plan.outs)
        self.carried, self.constant = leaves[:carried], leaves[carried:]
        self.given, self.made = locals_[: len(leaves)], locals_[len(leaves) : -1]
        memory = locals_[-1]
        self.slabs = [
            Slab(self.layout, index[0], loop.borders, chunk) for index, chunk in zip(memory.blocks, memory, strict=True)
        ]
        self.profiles = {
            item: PlacedArray(array, origin, self.plan.items[item].along)  # type: ignore[union-attr]
            for item, array, origin in loop.profiles
        }
        items = self.plan.items
        self.callers = {
            number: SlabCaller(item, self.plan.shape)
            for number, item in enumerate(items)
            if isinstance(item, BlockCall)
        }
        self.rooms: dict[tuple[int, int], PlacedArray] = {}
        self.values: list[Any] = [np.asarray(v) for v in loop.singles]
        self.values += [None] * (len(self.plan.singles) - len(self.values))

    def run(self) -> None:
        step_singles(self.layout, self.values)
        self._begin()
        self._meet()
        compiled = make_compiled(self.layout, self.loop.steps, sum(len(range(*s.rows)) for s in self.slabs))
        for step in range(self.loop.steps):
            items = [*self.carried, *(self.constant if step == 0 else [])]
            self.watch.look()
            sent = [request for slab in self.slabs for request in slab.send(self.comm, step % 2, items)]
            for slab in self.slabs:
                slab.pull(self.watch, step + 1, step % 2, items)
            for request in sent:
                request.Wait()
            for slab in self.slabs:
                self._step(slab, step, compiled)
            self._next_singles()
            for slab in self.slabs:
                slab.complete(step + 1, self.carried, self.values)
                slab.publish(step + 2)
        self._end()

    def _begin(self) -> None:
        """Take the first state in, and complete it."""
        items = [*self.carried, *self.constant]
        for slab in self.slabs:
            (lo, hi), *_ = slab.region
            for item, chunks in zip(items, self.given, strict=True):
                placed = slab.state(item, 0)
                for chunk, slices in zip(chunks, chunks.slices, strict=True):
                    if lo <= slices[0].start < hi:
                        placed.view(tuple((s.start, s.stop) for s in slices))[...] = chunk
            slab.complete(0, items, self.values)
            slab.publish(1)

    def _end(self) -> None:
        parity = self.loop.steps % 2
        for item, chunks in zip(self.carried, self.made, strict=True):
            for chunk, slices in zip(chunks, chunks.slices, strict=True):
                for slab in self.slabs:
                    if slab.rows[0] <= slices[0].start < slab.rows[1]:
                        chunk[...] = slab.state(item, parity).view(tuple((s.start, s.stop) for s in slices))

    def _meet(self) -> None:
        """Learn where the others' slabs are."""
        transport = own_transport()
        assert transport is not None
        places = view(transport)
        mine = [(slab.number, places.locate(slab.memory)) for slab in self.slabs]
        readable = {rank for rank in range(transport.size) if transport.arena(rank) is not None}
        reports = self.comm.allgather((transport.rank, readable, mine))
        neighbours: dict[int, Neighbour] = {}
        for member, (rank, theirs, slabs) in enumerate(reports):
            for number, place in slabs:
                owner, begin = place or (-1, 0)
                arena = transport.arena(rank) if owner == rank else None
                if arena is not None and transport.rank in theirs and self.loop.mapped:
                    rows = self.loop.borders[number], self.loop.borders[number + 1]
                    neighbours[number] = MappedNeighbour(*lay_out(self.layout, rows, arena[begin:]))
                else:
                    neighbours[number] = Far(member, number)
        count = len(self.loop.borders) - 1
        for slab in self.slabs:
            round_ = self.plan.periodic[0]
            slab.above = neighbours[(slab.number - 1) % count] if slab.number or round_ else None
            slab.below = neighbours[(slab.number + 1) % count] if slab.number + 1 < count or round_ else None

    def _step(self, slab: Slab, step: int, compiled: StepKernel | None) -> None:
        known = {item: slab.state(item, step) for item in (*self.carried, *self.constant)} | self.profiles
        outs = {output: slab.state(item, step + 1) for item, output in zip(self.carried, self.plan.outs, strict=True)}
        for number, caller in self.callers.items():
            out = outs.pop(number, None) or self._room(slab, number)
            caller.run(slab.rows, known, out)
            known[number] = out
        if not self.layout.held:
            return
        if compiled is not None:
            compiled.run(slab.region, known, outs, self.values)
        else:
            run_step(self.layout, slab.region, known, outs, self.values)

    def _room(self, slab: Slab, number: int) -> PlacedArray:
        """Return where a function's blocks go that something else reads."""
        if (slab.number, number) not in self.rooms:
            region = slab.region
            array = np.empty([hi - lo for lo, hi in region], self.plan.items[number].dtype)
            self.rooms[slab.number, number] = PlacedArray(array, tuple(lo for lo, _ in region), (True,) * len(region))
        return self.rooms[slab.number, number]

    def _next_singles(self) -> None:
        outs = [self.values[number] for number in self.plan.single_outs]
        self.values[: len(outs)] = outs
        step_singles(self.layout, self.values)
