"""Convolutions and correlations along a line, interpolation, polynomials."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.chunks.grid import Axis, Grid
from ...graph.chunks.positions import Runs
from ...graph.errors import ArgumentError, DTypeError, ShapeError, bad
from ...graph.kinds.mapping import BlockFunction
from ..base import as_array, make
from ..chunking.rechunk import regrid
from ..ops.elementwise.ufuncs import conjugate
from ..ops.moves.axis_moves import move
from ..ops.moves.taking import flip
from ..refitting import refittable

if TYPE_CHECKING:
    from ..array import Array
    from ..base import ArrayBase
    from ..typing import ArrayLike

__all__ = [
    "convolve",
    "correlate",
    "interp",
    "polyval",
]

MODES = ("full", "same", "valid")


def _as_one(x: ArrayBase) -> Array:
    """Return the array in one chunk."""
    return regrid(x, Grid.single(x.shape))


def convolve(a: ArrayLike, v: ArrayLike, mode: str = "full") -> Array:
    """Convolve two 1-D arrays.

    The shorter one comes into one chunk; each chunk of the longer one is read with its neighbours.

    Parameters
    ----------
    a, v : 1-D array
        The signal and the filter, in either order; numbers or bool. A scalar is taken as one element.
    mode : {"full", "same", "valid"}
        "full": all points at which they overlap, N + M - 1; "same": as many as the longer one has; "valid": only those
        at which they overlap wholly.

    Returns
    -------
    Array
        1-D, in the dtype that NumPy's `convolve` has; as many elements as `mode` says.

    Raises
    ------
    ArgumentError
        `a` or `v` can't be read as an array; or `mode` is unknown.
    ShapeError
        `a` or `v` has more than one axis, or is empty.
    DTypeError
        `a` or `v` isn't numbers.

    Notes
    -----
    Always summed directly, as NumPy does, not by Fourier transforms: the work is N * M.

    >>> wr.convolve(wr.arange(5), [1, 1], mode="valid").compute()
    array([1, 3, 5, 7])
    """
    left, right = _lines("convolve", a, v, mode)
    if right.size > left.size:
        left, right = right, left
    return _slide("convolve", left, right, mode)


def correlate(a: ArrayLike, v: ArrayLike, mode: str = "valid") -> Array:
    """Correlate two 1-D arrays.

    The shorter one comes into one chunk; each chunk of the longer one is read with its neighbours.

    Parameters
    ----------
    a, v : 1-D array
        The signal, and what is slid along it; `v` is conjugated. A scalar is taken as one element.
    mode : {"full", "same", "valid"}
        "full": all points at which they overlap, N + M - 1; "same": as many as the longer one has; "valid": only those
        at which they overlap wholly.

    Returns
    -------
    Array
        1-D, in the dtype that NumPy's `correlate` has; as many elements as `mode` says.

    Raises
    ------
    ArgumentError
        `a` or `v` can't be read as an array; or `mode` is unknown.
    ShapeError
        `a` or `v` has more than one axis, or is empty.
    DTypeError
        `a` or `v` isn't numbers.

    >>> wr.correlate(wr.arange(5), [0, 1], mode="same").compute()
    array([0, 1, 2, 3, 4])
    """
    left, right = _lines("correlate", a, v, mode)
    if right.size > left.size:
        correlation: Array = flip(_slide("correlate", right, left, mode))
        return conjugate(correlation) if correlation.dtype.kind == "c" else correlation  # bool would become int8
    return _slide("correlate", left, right, mode)


def _lines(operation: str, a: ArrayLike, v: ArrayLike, mode: Any) -> tuple[Array, Array]:
    if mode not in MODES:
        raise ArgumentError(bad(operation, "mode", mode, "'full', 'same' or 'valid'"))
    lines = []
    for name, value in (("a", a), ("v", v)):
        line = as_array(operation, name, value)
        line = line.reshape(1) if line.ndim == 0 else line
        if line.ndim != 1 or line.size == 0:
            raise ShapeError(bad(operation, name, line.shape, "a 1-D array of at least one element"))
        if line.dtype.kind not in "biufc":
            raise DTypeError(bad(operation, name, line.dtype, "numbers"))
        lines.append(line)
    return lines[0], lines[1]


@refittable
def _slide(operation: str, long: Array, short: Array, mode: str) -> Array:
    """Slide the shorter line along the longer one: each block of the result reads a window of it."""
    n, reach = long.size, short.size - 1
    offset, count = {"full": (0, n + reach), "same": (reach // 2, n), "valid": (reach, n - reach)}[mode]
    out = Axis.regular(count, max(long.chunksize[0], short.size))
    blocks = np.arange(out.count)
    start = np.maximum(out.start(blocks) + offset - reach, 0)
    length = np.minimum(out.stop(blocks) + offset, n) - start
    window = move("windows", long, [(0, Runs(start, length))], [Axis.of_sizes(length)])
    function: Any = getattr(np, operation)
    dtype = function(np.ones(1, long.dtype), np.ones(1, short.dtype)).dtype
    op = BlockFunction("signal.lines:slide", (operation, offset), ((0,), (None,)), where=True)
    return make(op, (window, _as_one(short)), Grid([out]), dtype)


def interp(
    x: ArrayLike,
    xp: ArrayLike,
    fp: ArrayLike,
    left: ArrayLike | None = None,
    right: ArrayLike | None = None,
    period: Any = None,
) -> Array:
    """Interpolate linearly between points.

    The points come into one chunk; the result has the chunks of `x`.

    Parameters
    ----------
    x : array_like
        Where to interpolate, of any shape.
    xp, fp : 1-D array
        The points: where, in rising order (not checked), and the values there, real or complex.
    left, right : number, optional
        The value before the first and after the last point; None: `fp[0]` and `fp[-1]`.
    period : float, optional
        Period of `xp`: its order doesn't matter then, and `left` and `right` are ignored. None: not periodic.

    Returns
    -------
    Array
        In the shape of `x`: float64, or complex128 for complex `fp`.

    Raises
    ------
    ArgumentError
        `x`, `xp` or `fp` can't be read as an array; or `period` is zero.
    ShapeError
        `xp` isn't 1-D or is empty, or `fp` has another shape.
    DTypeError
        `x` or `xp` isn't real numbers, or `fp` isn't numbers.

    >>> wr.interp(wr.arange(4) / 2, [0, 1], [0, 10]).compute()
    array([ 0.,  5., 10., 10.])
    """
    array = as_array("interp", "x", x)
    places, values = as_array("interp", "xp", xp), as_array("interp", "fp", fp)
    if places.ndim != 1 or values.shape != places.shape or places.size == 0:
        raise ShapeError(bad("interp", "fp", values.shape, f"one value for each point, of which {places.shape} came"))
    for name, operand, kinds in (("x", array, "biuf"), ("xp", places, "biuf"), ("fp", values, "biufc")):
        if operand.dtype.kind not in kinds:
            raise DTypeError(bad("interp", name, operand.dtype, "real numbers" if kinds == "biuf" else "numbers"))
    if period is not None and period == 0:
        raise ArgumentError(bad("interp", "period", period, "a number other than zero"))
    dtype = np.complex128 if values.dtype.kind == "c" else np.float64
    op = BlockFunction("signal.lines:interp", (left, right, period), (tuple(range(array.ndim)), (None,), (None,)))
    return make(op, (array, _as_one(places), _as_one(values)), array.expr.grid, dtype)


def polyval(p: ArrayLike, x: ArrayLike) -> Array:
    """Evaluate a polynomial.

    Its coefficients come into one chunk.

    Parameters
    ----------
    p : 1-D array or numpy.poly1d
        Coefficients, that of the highest power first; of none the polynomial is 0.
    x : array_like
        Where to evaluate it, of any shape.

    Returns
    -------
    Array
        In the shape and chunks of `x`, in the dtype of `p` and `x` together.

    Raises
    ------
    ArgumentError
        `p` or `x` can't be read as an array.
    ShapeError
        `p` isn't 1-D.
    DTypeError
        `p` or `x` isn't numbers.

    Notes
    -----
    NumPy composes polynomials where `x` is a `numpy.poly1d`; here its coefficients are read as an array.

    >>> wr.polyval([1, 0, -1], wr.arange(4)).compute()
    array([-1,  0,  3,  8])
    """
    if isinstance(p, np.poly1d):
        p = p.coeffs
    array, factors = as_array("polyval", "x", x), as_array("polyval", "p", p)
    if factors.ndim != 1:
        raise ShapeError(bad("polyval", "p", factors.shape, "a 1-D array"))
    try:
        dtype = np.polyval(np.ones(min(1, factors.size), factors.dtype), np.ones(1, array.dtype)).dtype
    except TypeError as error:
        raise DTypeError(bad("polyval", "p", (factors.dtype, array.dtype), f"numbers ({error})")) from error
    op = BlockFunction("signal.lines:polyval", (), ((None,), tuple(range(array.ndim))))
    return make(op, (_as_one(factors), array), array.expr.grid, dtype)
