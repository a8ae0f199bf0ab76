"""Chunk grids of operands: changing them, and bringing several operands to one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..graph.expr import Expr
from ..graph.grid import Axis, Grid
from ..graph.kinds.move import rechunk as rechunk_move
from ..graph.kinds.source import Host, Source
from .core import Node, as_array, broadcast_shape, grid_for, make, wrap

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .array import Array

__all__ = [
    "rechunk",
]


def regrid(x: Node, grid: Grid) -> Array:
    """Return the array on another chunk grid; formulas and the user's memory are read on it at once."""
    expr = x.expr
    if expr.grid == grid:
        return wrap(expr)
    op = expr.op
    if expr.pin is None and (isinstance(op, Source) or (isinstance(op, Host) and op.data.in_place)):
        return wrap(Expr(op, (), grid, expr.dtype, expr.origin))
    return make(rechunk_move(x.ndim), (x,), grid, x.dtype)


def rechunk(x: Any, chunks: Any = "auto") -> Array:
    """Change the chunks.

    Parameters
    ----------
    x : array
    chunks : int, str, tuple, dict or None
        In a dict, an axis that isn't named keeps its chunks.

    Returns
    -------
    Array

    Examples
    --------
    >>> import windrow as wr
    >>> wr.rechunk(wr.arange(10, chunks=5), 4).chunks
    ((4, 4, 2),)
    """
    array = as_array("rechunk", "x", x)
    return regrid(array, grid_for("rechunk", chunks, array.shape, array.dtype, array.expr.grid))


def common_axes(arrays: Sequence[Node], shape: tuple[int, ...]) -> list[Axis]:
    """Return for each axis of the broadcast shape the chunks of the operand with most bytes there."""
    axes: list[Axis] = []
    by_bytes = sorted(arrays, key=lambda a: -a.nbytes)
    for i, n in enumerate(shape):
        found = Axis.regular(n, max(1, n))
        for array in by_bytes:
            own = i - len(shape) + array.ndim
            if own >= 0 and array.shape[own] == n and n != 1:
                found = array.expr.grid.axes[own]
                break
        axes.append(found)
    return axes


def aligned(operation: str, arrays: Sequence[Node]) -> tuple[Grid, list[Array]]:
    """Return the grid of what operands broadcast to, and the operands rechunked to fit it."""
    shape = broadcast_shape(operation, *(a.expr.shape for a in arrays))
    axes = common_axes(arrays, shape)
    fitted = []
    for array in arrays:
        mine = axes[len(axes) - array.ndim :]
        wanted = [Axis.regular(1, 1) if n == 1 else axis for n, axis in zip(array.shape, mine, strict=True)]
        fitted.append(regrid(array, Grid(wanted)))
    return Grid(axes), fitted
