"""Views of sources: what a move makes of elements that follow from their positions follows from positions as well."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..chunks.axismap import Fixed, Slice
from ..chunks.counted_positions import Counted, lead
from ..chunks.positions import Periodic, Runs, Take
from .move import Move
from .points import TakePoints
from .reshape import Reshape
from .source import Source

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..chunks.axismap import AxisMap
    from ..chunks.grid import Index
    from ..expr.expr import Expr

_LEADING = (Slice, Fixed, Take, Periodic, Runs, Counted)


@dataclass(frozen=True)
class View(Source):
    """What `op` makes of a source of a shape: only the elements that are asked for are made."""

    source: Source
    shape: tuple[int, ...]
    op: Move | TakePoints | Reshape

    def inner(self, shape: tuple[int, ...], positions: Sequence[Index]) -> list[Index]:
        """Lead positions along the axes of the view, whose shape is given, back to positions along the source's.

        Arrays of positions have one number of axes and broadcast together.
        """
        still = np.zeros((1,) * positions[0].ndim, np.int64) if positions else np.zeros(1, np.int64)
        op = self.op
        if isinstance(op, Move):
            return [
                _map_positions(axis_map, still if a is None else positions[a], n)
                for (a, axis_map), n in zip(op.routes[0].axes, self.shape, strict=True)
            ]
        if isinstance(op, TakePoints):
            indexed: dict[int, Index] = {a: index[positions[op.at]] for a, index in zip(op.axes, op.index, strict=True)}
            others = iter([p for i, p in enumerate(positions) if i != op.at])
            axis_maps = iter(op.rest)
            return [
                indexed[a] if a in indexed else _map_positions(next(axis_maps), next(others), n)
                for a, n in enumerate(self.shape)
            ]
        led: list[Index] = []
        for (slo, shi), (tlo, thi) in op.groups:
            flat = still
            for n, p in zip(shape[tlo:thi], positions[tlo:thi], strict=True):
                flat = flat * n + p
            own = self.shape[slo:shi]
            for i, n in enumerate(own):
                rest = math.prod(own[i + 1 :])
                led.append((flat if i == 0 else flat % (n * rest)) // rest if len(own) > 1 else flat)
        return led


def _map_positions(axis_map: AxisMap, positions: Index, length: int) -> Index:
    """Lead positions back to an axis of a length."""
    source_positions = lead(axis_map, positions, length)
    assert source_positions is not None
    return source_positions


def shift_of(op: Move) -> list[tuple[int | None, int]] | None:
    """Return, for each of the operand's axes, the result's axis and how far its positions lie behind.

    None where the operand's axes come in another order, or by steps, or anything else than a slice is taken.
    """
    if len(op.routes) != 1 or op.fill is not None or op.routes[0].order is not None:
        return None
    shifts: list[tuple[int | None, int]] = []
    for target, axis_map in op.routes[0].axes:
        if target is not None and isinstance(axis_map, Slice) and axis_map.step == 1:
            shifts.append((target, axis_map.start))
        elif target is None and isinstance(axis_map, Fixed):
            shifts.append((None, axis_map.index))
        else:
            return None
    return shifts


def leads_back(node: Expr) -> bool:
    """Tell whether each element of a node is one of its only operand's, whose position follows from its own.

    Reshapes that would need divisions for each element aren't taken.
    """
    op = node.op
    if isinstance(op, Move):
        if len(op.routes) != 1 or op.fill is not None:
            return False
        return all(isinstance(axis_map, _LEADING) for _, axis_map in op.routes[0].axes)
    if isinstance(op, Reshape):
        return all(shi - slo <= 1 for (slo, shi), _ in op.groups) and node.grid.size > 0
    return isinstance(op, TakePoints) and all(isinstance(axis_map, _LEADING) for axis_map in op.rest)
