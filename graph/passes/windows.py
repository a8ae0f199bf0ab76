"""Windows that slide: what is done with each of their elements alone is done with what they slide over.

A function of windows is the windows of a function, and a part of windows are windows of a part. So where all that a
node needs of windows is of this kind, the elements are computed once and not once for each window that they lie in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..chunks.axismap import AxisMap, Slice
from ..chunks.grid import Axis, Grid
from ..chunks.positions import Runs
from ..expr.expr import Expr
from ..kinds.elementwise import Elementwise
from ..kinds.mapping import BlockFunction
from ..kinds.move import Move, Route
from ..kinds.source import Full

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..expr.expr import DType
    from ..expr.origin import Origin

WINDOWS = "signal.lines:windows"
DEEP = 16
"""Functions of functions are looked through to such a depth."""
TIMES = 2
"""A move makes much of little where its result has so many times as many elements as its operands."""


@dataclass(frozen=True)
class Windowed:
    """The array that windows slide over, along which of its axes, and where in it they begin.

    The axes of windows come last, in the order of `along`, as in NumPy's `sliding_window_view`.
    """

    below: Expr
    along: tuple[int, ...]
    starts: tuple[int, ...]

    def over(self, below: Expr) -> Windowed:
        """Return windows at the same places of another array."""
        return Windowed(below, self.along, self.starts)

    def expression(self, grid: Grid, dtype: DType, origin: Origin, like: Expr | None = None) -> Expr:
        """Return the windows on a grid, which is whole along them; under the name of what they are `like`."""
        ndim = self.below.grid.ndim
        lengths = grid.shape[ndim:]
        steps: list[tuple[int, AxisMap]] = []
        read: list[Axis] = []
        for i, (axis, start) in enumerate(zip(grid.axes[:ndim], self.starts, strict=True)):
            if i not in self.along:
                steps.append((i, Slice(start)))
                read.append(axis)
                continue
            reach = sum(n - 1 for a, n in zip(self.along, lengths, strict=True) if a == i)
            places = np.arange(axis.count)
            sizes = axis.size(places) + reach
            steps.append((i, Runs(axis.start(places) + start, sizes)))
            read.append(Axis.of_sizes(sizes))
        move = Expr(Move("windows", (Route(tuple(steps)),)), (self.below,), Grid(read), dtype, origin)
        op = BlockFunction(WINDOWS, (lengths, self.along), (tuple(range(ndim)),))
        if like is None:
            return Expr(op, (move,), grid, dtype, origin)
        return Expr(op, (move,), grid, dtype, origin, like.pin, like.token)


def is_windows(node: Expr) -> bool:
    """Return whether a node is windows as they are made."""
    return isinstance(node.op, BlockFunction) and node.op.function == WINDOWS


def makes_much(node: Expr) -> bool:
    """Return whether a node repeats elements of its operands so often that these are better read than it is held."""
    if not isinstance(node.op, Move) and not is_windows(node):
        return False
    return node.grid.size >= TIMES * sum(operand.grid.size for operand in node.operands) > 0


def find_windows(node: Expr, stored: Callable[[str], bool]) -> Windowed | None:
    """Return what windows a node is, of what it does with each of their elements; None where it is none.

    What a user's function made, and is kept, isn't made again.
    """
    return _Search(stored).find(node, 0)


def lift_windows(node: Expr, stored: Callable[[str], bool]) -> Expr:
    """Return a function or a part of windows as windows; other nodes as they are."""
    if not isinstance(node.op, Elementwise | Move) or not node.operands:
        return node
    windows = find_windows(node, stored)
    return node if windows is None else windows.expression(node.grid, node.dtype, node.origin, node)


class _Search:
    """Looks through functions and parts for windows; what several functions use it looks at once."""

    def __init__(self, stored: Callable[[str], bool]) -> None:
        self._stored = stored
        self._known: dict[str, Windowed | None] = {}

    def find(self, node: Expr, deep: int) -> Windowed | None:
        """Return what windows a node is."""
        if not node.grid.size or self._stored(node.token) or deep > DEEP:
            return None
        if node.pin is not None and any(operand.foreign for operand in node.operands):
            return None
        if node.token not in self._known:
            self._known[node.token] = self._find(node, deep)
        return self._known[node.token]

    def _find(self, node: Expr, deep: int) -> Windowed | None:
        op = node.op
        if isinstance(op, BlockFunction):
            return _slid(node, op) if is_windows(node) else None
        if isinstance(op, Elementwise):
            return self._applied(node, deep)
        if isinstance(op, Move) and len(op.routes) == 1 and op.fill is None:
            return self._sliced(node, op, deep)
        return None

    def _applied(self, node: Expr, deep: int) -> Windowed | None:
        """Return the windows of a function: of windows at the same places, and of one number for all of them."""
        windows = [None if _is_one_number(child) else self.find(child, deep + 1) for child in node.operands]
        first = next((each for each in windows if each is not None), None)
        if first is None:
            return None
        below: list[Expr] = []
        for child, each in zip(node.operands, windows, strict=True):
            if each is None:
                if not _is_one_number(child):
                    return None
                full = Expr(child.op, (), first.below.grid, child.dtype, child.origin)
                below.append(full if child.grid.ndim else child)
                continue
            same = (each.along, each.starts, each.below.grid) == (first.along, first.starts, first.below.grid)
            if child.shape != node.shape or not same:
                return None
            below.append(each.below)
        return first.over(Expr(node.op, tuple(below), first.below.grid, node.dtype, node.origin))

    def _sliced(self, node: Expr, op: Move, deep: int) -> Windowed | None:
        """Return the windows that a slice takes, of neighbours along each axis, and the same ones in other chunks."""
        (child,) = node.operands
        by = [axis_map for _, axis_map in op.routes[0].axes if isinstance(axis_map, Slice) and axis_map.step == 1]
        if op.routes[0].targets != tuple(range(node.grid.ndim)) or len(by) != child.grid.ndim:
            return None
        if any(m.start < 0 or m.start + n > k for m, n, k in zip(by, node.shape, child.shape, strict=True)):
            return None
        windows = self.find(child, deep + 1)
        if windows is None:
            return None
        ndim = windows.below.grid.ndim
        if any(axis.count != 1 for axis in node.grid.axes[ndim:]):
            return None
        starts = [start + m.start for start, m in zip(windows.starts, by, strict=False)]
        for a, m in zip(windows.along, by[ndim:], strict=True):
            starts[a] += m.start
        return Windowed(windows.below, windows.along, tuple(starts))


def _is_one_number(node: Expr) -> bool:
    """Whether a node has one number for all windows: windows of one number are one number."""
    return not node.grid.ndim or isinstance(node.op, Full)


def _slid(node: Expr, op: BlockFunction) -> Windowed | None:
    move, (_, along) = node.operands[0], op.params
    if not isinstance(move.op, Move) or move.op.name != "windows":  # in other chunks it may be what is rechunked
        return None
    maps = [axis_map for _, axis_map in move.op.routes[0].axes if isinstance(axis_map, Slice | Runs)]
    starts = [int(m.start[0]) if isinstance(m, Runs) else m.start for m in maps]
    return Windowed(move.operands[0], along, tuple(starts))
