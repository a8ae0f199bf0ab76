"""What NumPy does in an array's memory: `view` as another dtype, byte order, parts of complex numbers, `resize`.

Here each function makes a new array; the methods that change an array in place give it the new array's expression.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.chunks.grid import Axis, Grid
from ....graph.errors import ArgumentError, DTypeError, ShapeError, bad
from ....graph.kinds.elementwise import Elementwise
from ....graph.kinds.mapping import BlockFunction
from ....graph.kinds.move import rechunk
from ...base import ArrayBase, as_array, check_dtype, check_shape, make, wrap
from ...chunking.rechunk import regrid
from ...views import gives_view
from ..elementwise.functions import imag, join_parts, real
from ..elementwise.nodes import cast
from .axis_moves import transpose
from .broadcasting import broadcast_to
from .joining import concatenate

if TYPE_CHECKING:
    from ...array import Array
    from ...typing import DTypeLike


@gives_view
def view(x: ArrayBase, dtype: DTypeLike, kind: object, order: str) -> Array:
    """Return the view that `ndarray.view` gives."""
    if order not in ("C", "F"):
        raise ArgumentError(bad("view", "order", order, "'C' or 'F'"))
    for value in (dtype, kind):
        if isinstance(value, type) and issubclass(value, np.ndarray):
            raise ArgumentError(bad("view", "type", value, "a dtype: arrays have no other classes"))
    if kind is not None:
        raise ArgumentError(bad("view", "type", kind, "None: arrays have no other classes"))
    if dtype is None:
        return wrap(x.expr)
    wanted = check_dtype("view", "dtype", dtype)
    array = wrap(x.expr)
    if order == "F":
        return transpose(view_as(transpose(array), wanted))
    return view_as(array, wanted)


def view_as(x: Array, dtype: np.dtype[Any]) -> Array:
    """Return the elements' bytes as elements of another dtype: the last axis changes its length where sizes differ."""
    if dtype.itemsize == x.dtype.itemsize:
        return make(Elementwise("view", (0,)), (x,), x.expr.grid, dtype)
    if not x.ndim:
        raise ShapeError(bad("view", "dtype", dtype, f"a dtype of {x.dtype.itemsize} bytes: there is no axis"))
    *rest, last = x.expr.grid.axes
    small, large = dtype.itemsize, x.dtype.itemsize
    if small < large:
        if large % small:
            raise DTypeError(bad("view", "dtype", dtype, f"a size by which {large} bytes can be divided"))
        sizes = [n * (large // small) for n in last.sizes()]
    else:
        if last.length * large % small:
            raise DTypeError(bad("view", "dtype", dtype, f"a size that divides {last.length} × {large} bytes"))
        borders = np.cumsum((0, *last.sizes())) * large // small
        sizes = [n for n in np.diff(borders).tolist() if n or len(borders) == 2]
        if any(n * large % small for n in last.sizes()):
            other = Grid([*rest, Axis.of_sizes(n * small // large for n in sizes)])
            x = make(rechunk(x.ndim), (x,), other, x.dtype)  # a step; `regrid` reads a source anew
    grid = Grid([*rest, Axis.of_sizes(sizes)])
    return make(BlockFunction("elements.unbuffered:view_as", (dtype,)), (x,), grid, dtype)


def byteswap(x: ArrayBase) -> Array:
    """Return the elements with their bytes in reverse order."""
    array = wrap(x.expr)
    return view_as(cast(array, array.dtype.newbyteorder()), array.dtype)


def with_real(x: ArrayBase, value: object) -> Array:
    """Return an array with its real parts replaced."""
    array = wrap(x.expr)
    parts = _parts("real", array, value)
    return join_parts(parts, imag(array)) if array.dtype.kind == "c" else parts


def with_imag(x: ArrayBase, value: object) -> Array:
    """Return an array with its imaginary parts replaced."""
    array = wrap(x.expr)
    if array.dtype.kind != "c":
        raise DTypeError(f"imag: an array of {array.dtype} has no imaginary parts to set; cast it to complex first")
    return join_parts(real(array), _parts("imag", array, value))


def _parts(name: str, x: Array, value: object) -> Array:
    """Return the new values, in the dtype of the parts."""
    values = as_array(name, "value", value)
    dtype = real(x).dtype
    if values.dtype.kind == "c" or not np.can_cast(values.dtype, dtype, "unsafe"):
        raise DTypeError(bad(name, "value", values.dtype, f"a dtype that {dtype} can hold"))
    return regrid(cast(broadcast_to(values, x.expr.grid.shape), dtype), x.expr.grid)


def resize_array(x: ArrayBase, new_shape: Any) -> Array:
    """Return an array of another shape: the elements in C order, then zeros."""
    array = wrap(x.expr)
    shape = check_shape("resize", new_shape, "new_shape")
    size = int(np.prod(shape, dtype=object))
    line = array.reshape(-1)[:size]
    if line.size < size:
        line = concatenate([line, broadcast_to(as_array("resize", "x", np.zeros((), x.dtype)), (size - line.size,))])
    return line.reshape(shape)
