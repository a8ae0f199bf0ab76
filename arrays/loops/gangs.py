"""Loops whose bodies are local, as rank programs: how arrays are dealt out to members, and what comes back.

A member has a run of rows: whole chunks, where these can be dealt out evenly, else the rows are dealt out anew. What
the loop takes from outside is computed before it; values without axes, and arrays of one row or column, go along with
the program.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.chunks.grid import Axis, Grid
from ...graph.kinds.gang import Gang, GangOutput, share
from ...graph.stencil.plan import BlockCall, HaloPlan, Read, StencilLeaf
from ...scheduler.session.cluster import session
from ...workers.stencil_loops.interpreted import step_singles
from ...workers.stencil_loops.regions import SlabLayout
from ...workers.stencil_loops.run import HaloLoop
from ...workers.stencil_loops.slabs import count_bytes
from ..base import make, wrap
from ..chunking.rechunk import regrid
from ..execution.deferred import evaluate
from ..user_functions.spmd import _fill
from ..user_functions.travel.pickling import payload
from .tracing import hosted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...graph.expr.expr import Expr

UNEVEN = 1.15
"""Members' rows are dealt out anew where one has so many times its share."""
MAPPED = True
"""Whether members read each other's memory where they can."""


def plan_bytes(plan: HaloPlan) -> float:
    """Return about how many bytes a loop takes in each arena, beside what it begins with."""
    each = sum(leaf.dtype.itemsize * (3 if k < len(plan.outs) else 1) for k, leaf in enumerate(plan.leaves))
    active = session()
    return float(each * math.prod(plan.shape) / active.ranks)


class HaloRun:
    """A loop over a plan, ready to be run in parts.

    Parameters
    ----------
    plan : HaloPlan
        Of its body.
    like : sequence of Expr
        What is carried, on its chunks.
    outside : sequence of Expr
        What the body takes from outside.
    """

    def __init__(self, plan: HaloPlan, like: Sequence[Expr], outside: Sequence[Expr]) -> None:
        self.plan, self.like, self.layout = plan, like, SlabLayout(plan)
        self.arrays = [e for e in like if e.shape]
        constant = [e for e in outside if e.shape]
        leaves = [(k, item) for k, item in enumerate(plan.items) if isinstance(item, StencilLeaf)]
        wide = [all(leaf.along) for _, leaf in leaves[len(self.arrays) :]]
        self.constant = [e for e, is_wide in zip(constant, wide, strict=True) if is_wide]
        narrow = [e for e, is_wide in zip(constant, wide, strict=True) if not is_wide]
        self.outside = [e for e in outside if not e.shape]
        values = evaluate([*narrow, *self.outside]) if narrow or self.outside else []
        numbers = [k for (k, _), is_wide in zip(leaves[len(self.arrays) :], wide, strict=True) if not is_wide]
        self.profiles = tuple(self._profile(k, v) for k, v in zip(numbers, values, strict=False))
        self.singles = values[len(narrow) :]
        self.grid, self.borders = self._deal()

    def _profile(self, number: int, value: Any) -> tuple[int, Any, tuple[int, ...]]:
        """Return an array that hasn't got all axes with its margins, and where it begins."""
        plan, leaf = self.plan, self.plan.items[number]
        assert isinstance(leaf, StencilLeaf)
        value, origin = value.reshape((1,) * (len(plan.shape) - value.ndim) + value.shape), []
        for axis, (n, depth, here) in enumerate(zip(plan.shape, plan.depths[number], leaf.along, strict=True)):
            before, after = depth if here and plan.periodic[axis] else (0, 0)
            origin.append(-before)
            if before or after:
                value = np.take(value, np.arange(-before, n + after) % n, axis)
        return number, np.ascontiguousarray(value), tuple(origin)

    def _deal(self) -> tuple[Grid, tuple[int, ...]]:
        """Return the chunks on which members get what is carried, and the rows of each."""
        active = session()
        grid, n = self.arrays[0].grid, self.plan.shape[0]
        depth = max(max(*self.layout.depth(leaf)[0], _rows_filled_from(leaf, n)) for leaf in self.plan.leaves)
        most = active.ranks if active.ranks > 1 else active.threads
        members = max(1, min(most, n // max(1, depth)))
        each = grid.nblocks // grid.counts[0]
        calls = [item for item in self.plan.items if isinstance(item, BlockCall)]
        if calls:
            return self._deal_blocks(calls[0].grid, members, depth)
        parts = share(grid.nblocks, min(members, grid.nblocks))
        if not (parts % each).any():
            rows = [int(grid.axes[0].start(part // each)) if part < grid.nblocks else n for part in parts.tolist()]
            largest = max(b - a for a, b in itertools.pairwise(rows))
            smallest = min(b - a for a, b in itertools.pairwise(rows))
            if len(rows) > members and largest <= UNEVEN * n / members + 1 and smallest >= max(1, depth):
                return grid, tuple(rows)
        borders = share(n, members).tolist()
        sizes = [b - a for a, b in itertools.pairwise(borders)]
        return Grid([Axis.of_sizes(sizes), *(Axis.whole(m) for m in self.plan.shape[1:])]), tuple(borders)

    def _deal_blocks(self, grid: Grid, members: int, depth: int) -> tuple[Grid, tuple[int, ...]]:
        """Return the same where functions take whole blocks: a member has whole rows of blocks."""
        axis, n = grid.axes[0], self.plan.shape[0]
        count = min(members, axis.count)
        while True:
            parts = share(axis.count, count)
            borders = [int(axis.start(part)) if part < axis.count else n for part in parts.tolist()]
            sizes = [b - a for a, b in itertools.pairwise(borders)]
            if count == 1 or min(sizes) >= depth:
                break
            count -= 1
        whole = (share(grid.nblocks, count) == parts * (grid.nblocks // axis.count)).all()
        if whole and grid == self.arrays[0].grid:
            return grid, tuple(borders)
        return Grid([Axis.of_sizes(sizes), *(Axis.whole(m) for m in self.plan.shape[1:])]), tuple(borders)

    def run(self, state: Sequence[Expr], steps: int) -> list[Expr]:
        """Return what is carried after so many steps: arrays to be computed, and values without axes."""
        arrays = [e for e in state if e.shape]
        singles = evaluate([e for e in state if not e.shape]) if len(arrays) < len(state) else []
        values: list[Any] = [*singles, *self.singles]
        function = HaloLoop(self.plan, steps, self.borders, tuple(values), self.profiles, MAPPED)
        operands = [regrid(wrap(e), self.grid) for e in (*arrays, *self.constant)]
        sizes = [count_bytes(self.layout, rows) for rows in zip(self.borders, self.borders[1:], strict=False)]
        outs = tuple(GangOutput(self.grid, e.dtype) for e in arrays)
        memory = GangOutput(Grid([Axis.of_sizes(sizes)]), np.dtype(np.uint8))
        operation = "fori_loop"
        gang = Gang(payload(operation, function, (), {}), len(sizes), (*outs, memory), own=True)
        raw = make(gang, operands, gang.grid(), np.uint8)
        filled = iter(
            regrid(_fill(gang, raw, k, out), e.grid).expr for k, (out, e) in enumerate(zip(outs, arrays, strict=True))
        )
        rest = iter(self._step_singles(values, steps))
        return [next(filled) if e.shape else _value(next(rest), e) for e in state]

    def _step_singles(self, values: list[Any], steps: int) -> list[Any]:
        """Return the carried values without axes after so many steps; they follow from each other alone."""
        outs = self.plan.single_outs
        if not outs:
            return []
        present = [np.asarray(v) for v in values]
        present += [None] * (len(self.plan.singles) - len(present))  # type: ignore[list-item]
        with np.errstate(all="ignore"):
            for _ in range(steps):
                step_singles(self.layout, present)
                present[: len(outs)] = [present[number] for number in outs]
        return present[: len(outs)]


def _value(value: Any, like: Expr) -> Expr:
    return hosted(np.array(value, like.dtype), like)


def _rows_filled_from(leaf: StencilLeaf, n: int) -> int:
    """Return how many rows at an end what lies beyond it is filled from: whoever has the end must have them all."""
    rows = 0
    for (span, *_), arg in leaf.fills:
        if span is not None and isinstance(arg, Read):
            by = arg.shift[0] or 0
            rows = max(rows, n - span[0] - by if span[0] >= n else span[1] + by if span[1] <= 0 else 0)
    return rows
