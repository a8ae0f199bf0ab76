"""How transforms run on chunks: axes made whole group by group, and long lines cut in two (Bailey's four steps)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.arguments import check_integer
from ...graph.chunks.axismap import Slice
from ...graph.chunks.grid import Axis, Grid
from ...graph.errors import ArgumentError, DTypeError, ShapeError, bad
from ...graph.kinds.mapping import BlockFunction
from ...graph.kinds.move import Move, Route
from ..base import as_array, check_axis, make
from ..chunking.coalesce import whole
from ..ops.elementwise.functions import astype, real
from ..ops.elementwise.ufuncs import conjugate
from ..ops.moves.axis_moves import moveaxis, swapaxes
from ..ops.moves.joining import concatenate
from ..ops.moves.reshaping import reshape
from ..ops.moves.taking import flip

if TYPE_CHECKING:
    from ..array import Array
    from ..typing import ArrayLike, AxisLike

LINE = 1 << 20
"""Lines of up to this many bytes are always transformed in one block."""
SEARCHED = 1 << 20
"""Up to this many numbers are tried as factors of a length."""
NORMS = ("backward", "ortho", "forward")


@dataclass(frozen=True)
class TransformStep:
    """One transform along one axis: its name in `numpy.fft` and the length that NumPy's `n` is."""

    name: str
    n: int
    axis: int

    @property
    def made(self) -> int:
        """Length of the result."""
        return self.n // 2 + 1 if self.name == "rfft" else self.n

    def dtype(self, given: np.dtype[Any]) -> np.dtype[Any]:
        """Type of the result's elements."""
        result_dtype: np.dtype[Any] = getattr(np.fft, self.name)(np.ones(2, given), 2).dtype
        return result_dtype


def operand(operation: str, a: ArrayLike) -> Array:
    """Return the operand of a transform, whose elements are numbers."""
    x = as_array(operation, "a", a)
    if x.dtype.kind not in "biufc" or (x.dtype.kind == "c" and operation.startswith(("rfft", "ihfft"))):
        kind = "real numbers" if operation.startswith(("rfft", "ihfft")) else "numbers"
        raise DTypeError(bad(operation, "a", x.dtype, kind))
    return x


def norm_of(operation: str, norm: str | None) -> str:
    """Return the name of a scaling; None is "backward"."""
    if norm is None:
        return "backward"
    if norm not in NORMS:
        raise ArgumentError(bad(operation, "norm", norm, "'backward', 'ortho' or 'forward'"))
    return str(norm)


def length_of(operation: str, value: object, argument: str) -> int:
    """Return a length, which is at least one."""
    value = check_integer(operation, argument, value)
    if value < 1:
        raise ShapeError(bad(operation, argument, value, "at least one point to transform"))
    return int(value)


def line_step(operation: str, name: str, x: Array, n: object, axis: AxisLike) -> TransformStep:
    """Return the transform of one axis."""
    at = check_axis(operation, axis, x.ndim)
    if n is None:
        n = 2 * (x.shape[at] - 1) if name == "irfft" else x.shape[at]
    return TransformStep(name, length_of(operation, n, "n"), at)


def axes_and_lengths(
    operation: str, x: Array, s: Sequence[int | None] | None, axes: Any, *, halved: bool = False
) -> tuple[list[int], list[int]]:
    """Return the axes to transform and their lengths, as NumPy reads `s` and `axes`; an axis may come twice."""
    for argument, value in (("s", s), ("axes", axes)):
        if value is not None and not isinstance(value, Sequence | np.ndarray):
            raise ArgumentError(bad(operation, argument, value, "a sequence of integers"))
    if axes is None:
        axes = range(-(x.ndim if s is None else len(s)), 0)
    axis_numbers = [check_axis(operation, a, x.ndim, "axes") for a in axes]
    if s is None:
        lengths = [x.shape[a] for a in axis_numbers]
        if halved and lengths:
            lengths[-1] = 2 * (lengths[-1] - 1)
    elif len(s) != len(axis_numbers):
        raise ShapeError(bad(operation, "s", s, f"a length for each of the {len(axis_numbers)} axes"))
    else:
        lengths = [x.shape[a] if n is None or n == -1 else n for n, a in zip(s, axis_numbers, strict=True)]
        if halved and s[-1] is None:
            lengths[-1] = 2 * (x.shape[axis_numbers[-1]] - 1)
    return axis_numbers, [length_of(operation, n, "s") for n in lengths]


def apply_steps(x: Array, steps: Sequence[TransformStep], norm: str) -> Array:
    """Apply transforms in order; those whose axes fit into one block together are one pass over the array."""
    waiting = list(steps)
    while waiting:
        count = _together(x, waiting)
        step = waiting[0]
        if count == 1 and (pair := _cut(x, step)) is not None:
            x = _long(x, step, norm, pair)
        else:
            x = _pass(x, waiting[:count], norm)
        del waiting[:count]
    return x


def _room(x: Array, itemsize: int) -> int:
    return max(x.expr.grid.largest * itemsize, LINE)


def _together(x: Array, steps: Sequence[TransformStep]) -> int:
    """Return how many of the transforms run in one pass: their axes are in one chunk already, or fit into one."""
    itemsize = steps[0].dtype(x.dtype).itemsize
    axes: dict[int, int] = {}
    for count, step in enumerate(steps):
        chunked = x.expr.grid.axes[step.axis].count > 1
        axes[step.axis] = max(axes.get(step.axis, x.shape[step.axis]), step.n)
        if count and chunked and math.prod(axes.values()) * itemsize > _room(x, itemsize):
            return count
    return len(steps)


def _pass(x: Array, steps: Sequence[TransformStep], norm: str) -> Array:
    """Apply transforms in whole blocks; points that they would cut off aren't read."""
    first = {s.axis: s.n // 2 + 1 if s.name == "irfft" else s.n for s in reversed(steps)}
    x = x[tuple(slice(min(n, first.get(i, n))) for i, n in enumerate(x.shape))]
    wide = whole(x, {s.axis for s in steps})
    axes, dtype = list(wide.expr.grid.axes), x.dtype
    for step in steps:
        axes[step.axis] = Axis.whole(step.made)
        dtype = step.dtype(dtype)
    params = (tuple((s.name, s.n, s.axis) for s in steps), norm)
    return make(BlockFunction("signal.fft:steps", params), (wide,), Grid(axes), dtype)


def _cut(x: Array, step: TransformStep) -> tuple[int, int] | None:
    """Return the two factors of a line that is too long for a block; None where it is not, or has no such factors."""
    itemsize = step.dtype(x.dtype).itemsize
    room = _room(x, itemsize) // itemsize
    if np.result_type(x.dtype, np.complex64).itemsize > np.dtype(np.complex128).itemsize:
        return None  # twiddle factors have the precision of double floats
    if x.expr.grid.axes[step.axis].count == 1 or step.n <= room or x.size == 0:
        return None
    top = math.isqrt(step.n)
    small = np.arange(top, max(1, top - SEARCHED, -(-step.n // room) - 1), -1)
    fitting = small[step.n % small == 0]
    return (int(fitting[0]), step.n // int(fitting[0])) if len(fitting) else None


def _long(x: Array, step: TransformStep, norm: str, factors: tuple[int, int]) -> Array:
    """Transform long lines: of n = n1 * n2 points, first n2 columns of n1, then n1 rows of n2.

    D. H. Bailey, FFTs in external or hierarchical memory, J. Supercomputing 4 (1990) 23.
    """
    line = moveaxis(x, step.axis, -1)
    name = "ifft" if step.name in ("ifft", "irfft") else "fft"
    line = _mirror(line, step.n) if step.name == "irfft" else _fit_length(line, step.n)
    line = astype(line, _promote(line.dtype))
    dtype = np.result_type(line.dtype, np.complex64)
    first = whole(reshape(line, (*line.shape[:-1], *factors)), {line.ndim - 1})
    halfway = make(
        BlockFunction("signal.fft:columns", (name, step.n, norm), where=True), (first,), first.expr.grid, dtype
    )
    rows = _pass(halfway, [TransformStep(name, factors[1], line.ndim)], norm)
    transform = _flat(whole(swapaxes(rows, -1, -2), {line.ndim}))
    if step.name == "rfft":
        transform = transform[..., : step.made]
    elif step.name == "irfft":
        transform = real(transform)
    return moveaxis(transform, -1, step.axis)


def _flat(x: Array) -> Array:
    """Join the last two axes, of which the last is whole, as the blocks are read."""
    *lead, rows, columns = x.expr.grid.axes
    grid = Grid([*lead, Axis.of_sizes(size * columns.length for size in rows.sizes())])
    operand_axes = ((*range(x.ndim - 1), None),)
    return make(BlockFunction("signal.fft:flat", (), operand_axes), (x,), grid, x.dtype)


def _promote(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type that NumPy transforms numbers in."""
    if dtype.kind == "c":
        return dtype
    return np.real(np.empty(0, TransformStep("fft", 2, 0).dtype(dtype))).dtype


def _fit_length(line: Array, n: int) -> Array:
    """Cut or pad the last axis to n with zeros."""
    if n <= line.shape[-1]:
        return line[..., :n]
    axes = [*line.expr.grid.axes[:-1], Axis.regular(n, line.expr.grid.axes[-1].largest)]
    routes = (Route(tuple((i, Slice()) for i in range(line.ndim))),)
    return make(Move("pad", routes, line.dtype.type(0)), (line,), Grid(axes), line.dtype)


def _mirror(half: Array, n: int) -> Array:
    """Return all n points of a spectrum, from the half that `irfft` takes; imaginary parts of its ends are ignored."""
    half = _fit_length(astype(half, np.result_type(half.dtype, np.complex64)), n // 2 + 1)
    inner = half[..., 1 : (n + 1) // 2]
    ends = [astype(real(half[..., :1]), half.dtype)]
    ends += [astype(real(half[..., n // 2 :]), half.dtype)] if n % 2 == 0 else []
    full = concatenate([ends[0], inner, *ends[1:], conjugate(flip(inner, -1))], -1)
    return full.rechunk({full.ndim - 1: half.chunksize[-1]})
