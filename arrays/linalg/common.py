"""What the functions of linear algebra share: reading matrices, stacks with whole matrices, widths of panels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.chunks.axismap import Slice
from ...graph.chunks.grid import Axis, Grid
from ...graph.errors import DTypeError, ShapeError, bad
from ...graph.kinds.mapping import BlockFunction
from ...graph.kinds.move import Move, Route
from ...workers.kernels.reduction import native
from ..base import as_array, broadcast_shape, make
from ..chunking.coalesce import whole_grid
from ..chunking.rechunk import regrid
from ..ops.elementwise.functions import astype
from ..refitting import refittable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...graph.expr.expr import DType
    from ..array import Array

WHOLE = 1 << 20
"""Matrices of at most this many elements are brought to one chunk; larger ones are factored by blocks."""
EMPTY = Axis.regular(0, 1)


class MatrixError(ShapeError, np.linalg.LinAlgError):
    """A shape that linear algebra can't handle."""


def matrices(operation: str, argument: str, value: object, *, square: bool = False) -> Array:
    """Return an operand as a matrix or a stack of them, of a dtype that NumPy's linear algebra takes.

    Integers and bool become float64.
    """
    x = as_array(operation, argument, value)
    if x.ndim < 2:
        raise MatrixError(bad(operation, argument, x.shape, "an array of at least two axes"))
    if square and x.shape[-1] != x.shape[-2]:
        raise MatrixError(bad(operation, argument, x.shape, "square matrices"))
    return inexact(operation, argument, x)


def inexact(operation: str, argument: str, x: Array) -> Array:
    """Return an array as NumPy's linear algebra computes it: integers and bool as float64, in native byte order."""
    if x.dtype.kind in "biu":
        return astype(x, np.float64)
    if x.dtype.char not in "fdFD":
        raise DTypeError(bad(operation, argument, x.dtype, "float32, float64, complex64, complex128 or integers"))
    return astype(x, native(x.dtype))


def real_dtype(dtype: DType) -> DType:
    """Return the dtype of the real parts."""
    return np.real(np.empty(0, dtype)).dtype


def wide(x: Array) -> Array:
    """Return the array in double precision, in which NumPy's linear algebra computes all dtypes."""
    return astype(x, np.result_type(x.dtype, np.float64))


def by_blocks(x: Array) -> bool:
    """Whether a matrix is so large that it is factored by blocks; stacks have whole matrices."""
    return x.ndim == 2 and x.size > WHOLE


def panel_width(n: int, count: int = 8) -> int:
    """Return the width of the panels in which a matrix of n columns is factored; it depends on n alone."""
    return max(256, min(1024, -(-n // count)))


def map_stacks(
    function: str,
    operands: Sequence[Array],
    core: tuple[int, ...],
    dtype: DType,
    params: tuple[Any, ...] = (),
) -> Array:
    """Return a function of whole matrices over stacks that broadcast; the result's last axes have lengths `core`.

    Each matrix is brought to one chunk; the axes of the stack are cut, so that chunks stay about as large.
    """
    return _map_stacks(function, core, dtype, params, *operands)


@refittable
def _map_stacks(function: str, core: tuple[int, ...], dtype: DType, params: tuple[Any, ...], *operands: Array) -> Array:
    name = function.partition(":")[2]
    shape = broadcast_shape(name, *(x.shape[:-2] for x in operands))
    axes = [Axis.whole(n) for n in shape]
    grids = [whole_grid(x.expr.grid, (x.ndim - 2, x.ndim - 1)) for x in operands]
    for x, grid in sorted(zip(operands, grids, strict=True), key=lambda pair: pair[0].nbytes):
        for i, axis in enumerate(grid.axes[:-2], len(shape) - x.ndim + 2):
            if axis.length == shape[i] != 1:
                axes[i] = axis
    fitted, operand_axes = [], []
    for x, grid in zip(operands, grids, strict=True):
        first = len(shape) - x.ndim + 2
        mine = [Axis.whole(1) if axis.length == 1 else axes[first + i] for i, axis in enumerate(grid.axes[:-2])]
        fitted.append(regrid(x, Grid([*mine, *grid.axes[-2:]])))
        operand_axes.append((*range(first, len(shape)), None, None))
    result = Grid([*axes, *(Axis.whole(n) for n in core)])
    return make(BlockFunction(function, params, tuple(operand_axes)), fitted, result, dtype)


def step(
    function: str,
    operands: Sequence[Array],
    grid: Grid,
    operand_axes: Any,
    params: tuple[Any, ...] = (),
    *,
    where: bool = False,
) -> Array:
    """Return one step of a factorisation by blocks, in the first operand's dtype."""
    return make(BlockFunction(function, params, tuple(operand_axes), where), operands, grid, operands[0].dtype)


def place_parts(parts: Sequence[tuple[Array, int, int]], grid: Grid, fill: Any = 0) -> Array:
    """Return a matrix assembled from parts, each with its first row and column; the rest is `fill`."""
    routes = tuple(Route(((0, Slice(-row)), (1, Slice(-column)))) for _, row, column in parts)
    some = [part for part, _, _ in parts]
    return make(Move("blocks", routes, fill), some, grid, some[0].dtype)


def part(x: Array, rows: tuple[int, int], columns: tuple[int, int], axes: tuple[Axis, Axis] | None = None) -> Array:
    """Return a rectangle of a matrix, on the chunks given (None: in one chunk)."""
    height, width = rows[1] - rows[0], columns[1] - columns[0]
    grid = Grid(axes if axes is not None else Grid.single((height, width)).axes)
    if rows == (0, x.shape[0]) and columns == (0, x.shape[1]):
        return regrid(x, grid)
    route = Route(((0, Slice(rows[0])), (1, Slice(columns[0]))))
    return make(Move("slice", (route,)), (x,), grid, x.dtype)
