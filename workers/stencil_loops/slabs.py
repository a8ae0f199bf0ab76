"""Slabs: the rows of one member, in two persistent buffers with margins for each array that is carried."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.stencil.plan import Read, Single, StencilLeaf
from .exchange import Far, GangWatch, MappedNeighbour, Neighbour, fence
from .regions import PlacedArray, Region, SlabLayout, cut, is_empty

if TYPE_CHECKING:
    from collections.abc import Sequence

Array = np.ndarray[Any, Any]
LINE = 64


def measure(layout: SlabLayout, rows: tuple[int, int]) -> list[tuple[StencilLeaf, int, tuple[int, ...]]]:
    """Return the leaves that a slab holds, each with how many states it has and its shape with margins."""
    carried = len(layout.plan.outs)
    lengths = (rows[1] - rows[0], *layout.plan.shape[1:])
    leaves = []
    for number, leaf in enumerate(layout.plan.leaves):
        if not all(leaf.along):
            continue
        shape = tuple(n + b + a for n, (b, a) in zip(lengths, layout.depth(leaf), strict=True))
        leaves.append((leaf, 2 if number < carried else 1, shape))
    return leaves


def _bytes(leaf: StencilLeaf, shape: tuple[int, ...]) -> int:
    return -(-int(np.prod(shape, dtype=np.int64)) * leaf.dtype.itemsize // LINE) * LINE


def count_bytes(layout: SlabLayout, rows: tuple[int, int]) -> int:
    return LINE + sum(states * _bytes(leaf, shape) for leaf, states, shape in measure(layout, rows))


def lay_out(
    layout: SlabLayout, rows: tuple[int, int], memory: Array
) -> tuple[Array, dict[int, tuple[PlacedArray, ...]]]:
    """Return the counter in a slab's memory, and the states of each leaf, by item."""
    at, states_by_item = LINE, {}
    for leaf, states, shape in measure(layout, rows):
        size = _bytes(leaf, shape)
        exact = int(np.prod(shape, dtype=np.int64)) * leaf.dtype.itemsize
        origin = tuple(
            lo - before for lo, (before, _) in zip((rows[0], *(0,) * (len(shape) - 1)), layout.depth(leaf), strict=True)
        )
        arrays = []
        for _ in range(states):
            arrays.append(PlacedArray(memory[at : at + exact].view(leaf.dtype).reshape(shape), origin, leaf.along))
            at += size
        states_by_item[layout.plan.items.index(leaf)] = tuple(arrays)
    return memory[:8].view(np.int64), states_by_item


@dataclass
class Slab:
    """A slab, and what it knows of its neighbours."""

    layout: SlabLayout
    number: int
    borders: Sequence[int]
    memory: Array
    flag: Array = field(init=False)
    states: dict[int, tuple[PlacedArray, ...]] = field(init=False)
    above: Neighbour = None
    below: Neighbour = None

    def __post_init__(self) -> None:
        self.flag, self.states = lay_out(self.layout, self.rows, self.memory)
        self.flag[0] = 0  # it is looked at when all have met

    @property
    def rows(self) -> tuple[int, int]:
        """The first row, and the one behind the last."""
        return self.borders[self.number], self.borders[self.number + 1]

    @property
    def region(self) -> Region:
        return (self.rows, *((0, n) for n in self.layout.plan.shape[1:]))

    def state(self, item: int, parity: int) -> PlacedArray:
        """Return a leaf as it is in a state."""
        states = self.states[item]
        return states[parity % len(states)]

    def complete(self, parity: int, items: Sequence[int], singles: Sequence[Any]) -> None:
        """Fill the margins that follow from the slab's own rows: along later axes, and beyond the arrays' ends."""
        plan = self.layout.plan
        for item in items:
            leaf = plan.items[item]
            assert isinstance(leaf, StencilLeaf)
            placed, depth = self.state(item, parity), self.layout.depth(leaf)
            for axis in range(1, len(plan.shape)):
                if plan.periodic[axis]:
                    _wrap(placed.array, axis, depth[axis], plan.shape[axis])
            for box, arg in leaf.fills:
                region = cut(self._reach(depth), box)
                if is_empty(region):
                    continue
                if isinstance(arg, Read):
                    placed.view(region)[...] = placed.view(region, arg.shift)
                else:
                    placed.view(region)[...] = singles[arg.number] if isinstance(arg, Single) else arg.value

    def _reach(self, depth: Sequence[tuple[int, int]]) -> Region:
        """Return the slab's positions with its margins, but for rows that neighbours have."""
        (lo, hi), *others = self.region
        ends = not self.layout.plan.periodic[0]
        n = self.layout.plan.shape[0]
        first = lo - (depth[0][0] if ends and lo == 0 else 0)
        last = hi + (depth[0][1] if ends and hi == n else 0)
        return ((first, last), *((a - b, z + c) for (a, z), (b, c) in zip(others, depth[1:], strict=True)))

    def publish(self, number: int) -> None:
        """Tell that a state is complete."""
        fence()
        self.flag[0] = number

    def send(self, comm: Any, parity: int, items: Sequence[int]) -> list[Any]:
        """Begin to exchange rims with neighbours that only messages reach; return what is to be waited for."""
        requests = []
        for order, item in enumerate(items):
            mine, before, after, inner = self._rows(item, parity)
            for beside, here, sent, up in (
                (self.above, mine[:before], mine[before : before + after], 0),
                (self.below, mine[before + inner :], mine[inner : inner + before], 1),
            ):
                if not isinstance(beside, Far):
                    continue
                tags = [2 * (slab * len(items) + order) for slab in (self.number, beside.slab)]
                if len(here):
                    requests.append(comm.Irecv(_as_bytes(here), beside.member, tags[0] + up))
                if len(sent):
                    requests.append(comm.Isend(_as_bytes(sent), beside.member, tags[1] + 1 - up))
        return requests

    def pull(self, watch: GangWatch, number: int, parity: int, items: Sequence[int]) -> None:
        """Copy the rims of neighbours whose memory is mapped, once their state of this number is complete."""
        for beside in (self.above, self.below):
            if isinstance(beside, MappedNeighbour):
                watch.wait(beside.flag, number)
        for item in items:
            mine, before, after, inner = self._rows(item, parity)
            for beside, here, there in (
                (self.above, mine[:before], slice(-before - after, -after or None)),
                (self.below, mine[before + inner :], slice(before, before + after)),
            ):
                if isinstance(beside, MappedNeighbour) and len(here):
                    theirs = beside.states[item]
                    np.copyto(here, theirs[parity % len(theirs)].array[there])

    def _rows(self, item: int, parity: int) -> tuple[Array, int, int, int]:
        """Return a leaf with its margins, the rows of these before and after, and the slab's own."""
        leaf = self.layout.plan.items[item]
        assert isinstance(leaf, StencilLeaf)
        before, after = self.layout.depth(leaf)[0]
        mine = self.state(item, parity).array
        return mine, before, after, len(mine) - before - after


def _as_bytes(rows: Array) -> Array:
    return rows.reshape(-1).view(np.uint8)


def _wrap(array: Array, axis: int, depth: tuple[int, int], n: int) -> None:
    """Fill a periodic axis's margins from its other end."""
    before, after = depth
    lines = np.moveaxis(array, axis, 0)
    if before:
        lines[:before] = lines[n : n + before]
    if after:
        lines[before + n :] = lines[before : before + after]
