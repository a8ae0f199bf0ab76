"""What all distributions share: parameters that are numbers or arrays, sizes, and the node that is made."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.arguments import check_integer
from ...graph.chunks.grid import Axis, Grid
from ...graph.errors import ArgumentError, DTypeError, ShapeError, bad
from ...graph.kinds.mapping import BlockFunction
from ...graph.kinds.source import Random
from ...workers.kernels.randoms.checks import ORDERED, check, check_order
from ..base import ArrayBase, as_array, broadcast_shape, check_dtype, check_shape, check_writable, grid_for, make, wrap
from ..chunking.rechunk import common_axes, regrid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..array import Array
    from ..typing import ChunksLike, DTypeLike, OutLike, ShapeLike
    from .state import Philox

Param = tuple[str, Any, str]
"""A parameter: its name, the argument, and the condition in `workers.kernels.randoms.checks` that its values must
meet."""
F8: np.dtype[Any] = np.dtype(np.float64)
I8: np.dtype[Any] = np.dtype(np.int64)


class Drawing:
    """The part of a generator that makes nodes."""

    def __init__(self, bit_generator: Philox) -> None:
        self._bits = bit_generator

    def _plain(self, operation: str, name: str, params: tuple[Any, ...], grid: Grid, dtype: DTypeLike) -> Array:
        """Return an array whose elements follow from their position alone."""
        offset = self._bits.take(operation, grid.size)
        return make(Random(name, self._bits.key, offset, params, self._bits.jumps), (), grid, dtype)

    def _stream(self, operation: str, count: int) -> tuple[tuple[int, int], int, int]:
        offset = self._bits.take(operation, count)
        return self._bits.key, self._bits.jumps, offset

    def _draw(
        self,
        operation: str,
        params: Sequence[Param],
        size: ShapeLike,
        chunks: ChunksLike,
        dtype: np.dtype[Any] = F8,
        out: OutLike = None,
        name: str = "",
    ) -> Array:
        """Return numbers of a distribution; its parameters broadcast to the size."""
        values = [parameter(operation, *param) for param in params]
        arrays = [value for value in values if isinstance(value, ArrayBase)]
        shape, grid = find_size(operation, size, arrays, chunks, dtype, out)
        if operation in ORDERED and not any(isinstance(value, ArrayBase) for _, value, _ in params):
            check_order(operation, *[value for _, value, _ in params])
        name = name or operation
        if not arrays:
            return into(operation, out, self._plain(operation, name, tuple(values), grid, dtype))
        operands = [fit_chunks(as_array(operation, "size", value), grid) for value in values]
        params_ = (self._stream(operation, math.prod(shape)), shape, dtype)
        op = BlockFunction(f"elements.draws:{name}", params_, operand_axes(operands, grid.ndim), where=True)
        return into(operation, out, make(op, operands, grid, dtype))


def parameter(operation: str, argument: str, value: object, condition: str) -> Any:
    """Return a parameter as a float, or as an array that is checked when it is computed if it is lazy."""
    if isinstance(value, ArrayBase):
        if value.dtype.kind not in "biuf":
            raise DTypeError(bad(operation, argument, value.dtype, "a dtype of real numbers"))
        op = BlockFunction("elements.draws:check_parameter", (operation, argument, condition))
        return make(op, (value,), value.expr.grid, F8)
    try:
        values = np.asarray(value)
        if values.dtype == object and isinstance(value, int):  # more than 64 bits
            values = np.asarray(float(value))
    except (ValueError, OverflowError) as error:
        raise ArgumentError(bad(operation, argument, value, "a number or an array of them")) from error
    if values.dtype.kind not in "biuf" or (values.dtype.kind == "b" and not values.ndim):
        raise ArgumentError(bad(operation, argument, value, "a number or an array of real numbers"))
    check(operation, argument, values if values.ndim else values[()], condition)
    return as_array(operation, argument, values.astype(np.float64)) if values.ndim else float(values)


def find_size(
    operation: str,
    size: Any,
    arrays: Sequence[ArrayBase],
    chunks: Any,
    dtype: Any,
    out: Any = None,
) -> tuple[tuple[int, ...], Grid]:
    """Return the result's shape and grid; without a size, the shape that the parameters broadcast to."""
    wide = broadcast_shape(operation, *(a.shape for a in arrays)) if arrays else ()
    if out is not None and size is None:
        size = out.shape
    shape = wide if size is None else check_shape(operation, size, "size")
    if arrays and broadcast_shape(operation, wide, shape) != shape:
        raise ShapeError(bad(operation, "size", shape, f"a size to which the parameters' shape {wide} broadcasts"))
    if arrays and isinstance(chunks, str) and chunks == "auto":
        sizes = grid_for(operation, "auto", shape, dtype)
        along = common_axes(list(arrays), shape)
        return shape, Grid([b if a.count == 1 else a for a, b in zip(along, sizes.axes, strict=True)])
    return shape, grid_for(operation, chunks, shape, dtype)


def require_known(operation: str, argument: str, value: object) -> Array:
    """Return an operand of known size; a size that depends on data is computed now."""
    return wrap(as_array(operation, argument, value).expr)


def fit_chunks(x: ArrayBase, grid: Grid) -> Array:
    """Rechunk a parameter to the chunks of the array that it broadcasts to."""
    mine = grid.axes[grid.ndim - x.ndim :] if x.ndim else ()
    wanted = [Axis.whole(1) if n == 1 and axis.length != 1 else axis for n, axis in zip(x.shape, mine, strict=True)]
    return regrid(x, Grid(wanted))


def operand_axes(operands: Sequence[ArrayBase], ndim: int) -> tuple[tuple[int, ...], ...]:
    """Return, for each operand, the axes of the result that its own axes stand for."""
    return tuple(tuple(range(ndim - x.ndim, ndim)) for x in operands)


def whole_number(operation: str, argument: str, value: object) -> int:
    """Return an argument that is one whole number."""
    return check_integer(operation, argument, value)


def real_dtype(operation: str, dtype: DTypeLike) -> np.dtype[Any]:
    """Return float64 or float32."""
    known = check_dtype(operation, "dtype", dtype)
    if known not in (np.float64, np.float32):
        raise DTypeError(bad(operation, "dtype", known, "float64 or float32"))
    return known


def check_method(operation: str, method: Any, known: tuple[str, ...]) -> None:
    """Raise for a method that NumPy doesn't know either."""
    if method not in known:
        raise ArgumentError(bad(operation, "method", method, " or ".join(map(repr, known))))


def into(operation: str, out: OutLike, made: Array) -> Array:
    """Return what was made; or `out`, which stands for it from now on."""
    if out is None:
        return made
    if not isinstance(out, ArrayBase):
        raise ArgumentError(bad(operation, "out", type(out).__name__, "None or an array of Windrow"))
    if out.shape != made.shape or out.dtype != made.dtype:
        raise ShapeError(bad(operation, "out", (out.shape, str(out.dtype)), f"shape {made.shape}, {made.dtype}"))
    check_writable(operation, out)
    out.expr = regrid(made, out.expr.grid).expr
    return out  # type: ignore[return-value]
