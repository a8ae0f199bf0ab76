"""Arrays of coordinates, and numbers at equal ratios."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.chunks.grid import Axis, Grid
from ...graph.errors import ArgumentError, ShapeError, bad
from ..base import ArrayBase, as_array, check_axis, check_dtype, check_shape, grid_for
from ..chunking.rechunk import common_axes, regrid
from ..ops.elementwise.functions import astype, where
from ..ops.elementwise.ufuncs import equal, multiply, power
from ..ops.moves.axis_moves import swapaxes
from ..ops.moves.broadcasting import broadcast_to
from ..ops.moves.joining import stack
from .docstrings import CREATION
from .filled import zeros
from .ranges import arange, linspace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..array import Array
    from ..typing import ArrayLike, ChunksLike, DTypeLike, KeyLike

__all__ = [
    "fromfunction",
    "geomspace",
    "indices",
    "logspace",
    "meshgrid",
    "mgrid",
    "ogrid",
]


def meshgrid(*xi: ArrayLike, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> tuple[Array, ...]:
    """Return matrices of coordinates from vectors of them.

    Parameters
    ----------
    *xi : array_like, at most 1-D
        The coordinates along each axis.
    copy : bool
        Accepted for NumPy and ignored: the results are arrays of their own.
    sparse : bool
        Whether to keep size-1 axes that would broadcast.
    indexing : {"xy", "ij"}
        "xy": the first vector runs along the second axis, as in a drawing; "ij": along the first, as in a matrix.

    Returns
    -------
    tuple of Array
        Lazy, one for each vector; their chunks are the vectors' along each axis.

    Raises
    ------
    ArgumentError
        `xi` can't be read as an array: an unknown object, a ragged sequence or a masked array.
    ShapeError
        A vector has more than one axis, or `indexing` is neither "xy" nor "ij".
    DTypeError
        `xi` holds Python objects.

    >>> x, y = wr.meshgrid(wr.arange(3), wr.arange(2))
    >>> x.compute()
    array([[0, 1, 2],
           [0, 1, 2]])
    """
    if indexing not in ("xy", "ij"):
        raise ShapeError(bad("meshgrid", "indexing", indexing, "'xy' or 'ij'"))
    vectors = [as_array("meshgrid", f"xi[{i}]", x) for i, x in enumerate(xi)]
    if any(v.ndim > 1 for v in vectors):
        raise ShapeError(f"meshgrid: arguments have shapes {[v.shape for v in vectors]}; expected 0-d or 1-D arrays")
    n = len(vectors)
    matrices = [v.reshape((1,) * i + (-1,) + (1,) * (n - 1 - i)) for i, v in enumerate(vectors)]
    if not sparse and n:
        shape = np.broadcast_shapes(*(f.shape for f in matrices))
        axes = [
            v.expr.grid.axes[0] if v.ndim else f.expr.grid.axes[i]
            for i, (v, f) in enumerate(zip(vectors, matrices, strict=True))
        ]
        matrices = [_broadcast(f, shape, axes) for f in matrices]
    if indexing == "xy" and n > 1:
        matrices = [swapaxes(f, 0, 1) for f in matrices]
    return tuple(matrices)


def _broadcast(x: Array, shape: tuple[int, ...], axes: Sequence[Axis]) -> Array:
    return regrid(broadcast_to(x, shape), Grid(axes))


def indices(
    dimensions: Sequence[int], dtype: DTypeLike = int, sparse: bool = False, *, chunks: ChunksLike = "auto"
) -> Any:
    """Return each element's position along each axis of a grid.

    Parameters
    ----------
    dimensions : sequence of int
        Shape of the grid.
    dtype : dtype
        Of the result.
    sparse : bool
        Whether to return one array for each axis, with size-1 axes that broadcast.
    chunks : int, str, tuple, dict or None
        Chunks of the grid.

    Returns
    -------
    Array or tuple of Array
        Lazy, of shape `(len(dimensions), *dimensions)`; with `sparse` a tuple.

    Raises
    ------
    ArgumentError
        `dimensions` is not an integer or a tuple of integers.
    ShapeError
        `dimensions` has a negative length, or 2**63 elements or more.
    {DTypeError, ChunksError}

    >>> wr.indices((2, 2)).compute()
    array([[[0, 0],
            [1, 1]],
    <BLANKLINE>
           [[0, 1],
            [0, 1]]])
    """
    shape = check_shape("indices", dimensions, "dimensions")
    known = check_dtype("indices", "dtype", dtype)
    grid = grid_for("indices", chunks, shape, known)
    n = len(shape)
    lines = []
    for i, axis in enumerate(grid.axes):
        line = arange(axis.length, dtype=known, chunks=(axis.sizes(),))
        lines.append(line.reshape((1,) * i + (-1,) + (1,) * (n - 1 - i)))
    if sparse:
        return tuple(lines)
    if not lines:
        return zeros((0,), known)
    return stack([_broadcast(line, shape, grid.axes) for line in lines])


def fromfunction(
    function: Callable[..., Any],
    shape: Sequence[int],
    *,
    dtype: DTypeLike = float,
    like: Any = None,
    chunks: ChunksLike = "auto",
    **kwargs: Any,
) -> Any:
    """Return the result of a function of the positions along each axis.

    Parameters
    ----------
    function : callable
        Takes one lazy array of positions for each axis, once for the whole grid.
    shape : sequence of int
        Shape of the grid of positions.
    dtype : dtype
        Of the positions.
    like : None
        Accepted for NumPy and ignored.
    chunks : int, str, tuple, dict or None
        Chunks of the grid.
    **kwargs : any
        Passed on to `function`.

    Returns
    -------
    any
        What `function` returns: a lazy Array where it uses array operations.

    Raises
    ------
    ArgumentError
        `function` is not callable, or `shape` is neither an integer nor a sequence of them.
    ShapeError
        `shape` has a negative length, or 2**63 elements or more.
    {DTypeError, ChunksError}

    >>> wr.fromfunction(lambda i, j: i + j, (2, 3), dtype=int).compute()
    array([[0, 1, 2],
           [1, 2, 3]])
    """
    if not callable(function):
        raise ArgumentError(bad("fromfunction", "function", function, "a function"))
    return function(*indices(shape, dtype, chunks=chunks), **kwargs)


class _Coordinates:
    """`mgrid` and `ogrid`: coordinates by indexing with slices; a step of 5j asks for 5 numbers with the end."""

    def __init__(self, name: str, *, sparse: bool) -> None:
        self._name, self._sparse = name, sparse

    def __getitem__(self, key: KeyLike) -> Any:
        slices = key if isinstance(key, tuple) else (key,)
        runs = [self._run(s) for s in slices]
        dtype = np.result_type(*(value for run in runs for value in run[:3]), 0)
        counts = [run[3] for run in runs]
        lines = []
        for i, (start, _, step, count) in enumerate(runs):
            line = arange(count, dtype=dtype) * step + start
            lines.append(astype(line, dtype).reshape((1,) * i + (-1,) + (1,) * (len(runs) - 1 - i)))
        if not isinstance(key, tuple):
            return lines[0]
        if self._sparse:
            return tuple(lines)
        axes = common_axes(lines, tuple(counts))
        return stack([_broadcast(line, tuple(counts), axes) for line in lines])

    def _run(self, given: object) -> tuple[Any, Any, Any, int]:
        """Return start, stop, step and the count of a slice."""
        if not isinstance(given, slice) or given.stop is None:
            raise ArgumentError(bad(self._name, "key", given, "slices that end somewhere"))
        start, stop = given.start or 0, given.stop
        step = 1 if given.step is None else given.step
        if isinstance(step, complex | np.complexfloating):
            size = float(np.abs(step))
            count = int(size)
            return start, stop, (stop - start) / float(count - 1) if count > 1 else size, count
        return start, stop, step, max(0, math.ceil((stop - start) / (step * 1.0)))

    def __repr__(self) -> str:
        return f"<windrow {self._name}>"


mgrid = _Coordinates("mgrid", sparse=False)
ogrid = _Coordinates("ogrid", sparse=True)


def logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: DTypeLike = None,
    axis: int = 0,
    *,
    chunks: ChunksLike = "auto",
) -> Array:
    """Return numbers evenly spaced on a logarithmic scale.

    Parameters
    ----------
    start, stop : number
        The first and the last exponent.
    num : int
        How many numbers.
    endpoint : bool
        Whether `stop` is the last exponent.
    base : number
        Base of the powers.
    dtype : dtype, optional
        Of the result; None: floating-point.
    axis : int
        0 or -1, since the result is 1-D.
    {chunks}

    Returns
    -------
    Array
        1-D and lazy, of `num` elements.

    Raises
    ------
    ArgumentError
        `start`, `stop` or `base` is not a number, or `num` or `axis` is not an integer.
    ShapeError
        `num` is negative.
    AxisError
        `axis` is neither 0 nor -1.
    {DTypeError, ChunksError}

    Notes
    -----
    Unlike in NumPy, `start`, `stop` and `base` can't be arrays.

    >>> wr.logspace(0, 3, 4).compute()
    array([   1.,   10.,  100., 1000.])
    """
    check_axis("logspace", axis, 1)
    for name, value in (("start", start), ("stop", stop), ("base", base)):
        _number("logspace", name, value)
    exponents = linspace(start, stop, num, endpoint, chunks=chunks)
    powers: Array = power(base, exponents)
    return powers if dtype is None else astype(powers, dtype)


def geomspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    dtype: DTypeLike = None,
    axis: int = 0,
    *,
    chunks: ChunksLike = "auto",
) -> Array:
    """Return numbers at equal ratios: a geometric progression.

    Parameters
    ----------
    start, stop : real number, not zero
        The first and the last number, of one sign.
    num : int
        How many numbers.
    endpoint : bool
        Whether `stop` is the last number.
    dtype : dtype, optional
        Of the result; None: floating-point.
    axis : int
        0 or -1, since the result is 1-D.
    {chunks}

    Returns
    -------
    Array
        1-D and lazy, of `num` elements.

    Raises
    ------
    ArgumentError
        `start` or `stop` is not a number, or `num` or `axis` is not an integer.
    ShapeError
        `start` or `stop` is zero or complex, their signs differ, or `num` is negative.
    AxisError
        `axis` is neither 0 nor -1.
    {DTypeError, ChunksError}

    Notes
    -----
    Unlike in NumPy, `start` and `stop` can't be arrays or complex numbers.

    >>> wr.geomspace(1, 8, 4).compute()
    array([1., 2., 4., 8.])
    """
    check_axis("geomspace", axis, 1)
    for name, value in (("start", start), ("stop", stop)):
        _number("geomspace", name, value)
        if value == 0 or np.iscomplexobj(value):
            raise ShapeError(bad("geomspace", name, value, "a real number, not zero"))
    if (start < 0) != (stop < 0):
        raise ShapeError(bad("geomspace", "stop", stop, f"a number of the sign of start, {start}"))
    wide = np.result_type(start, stop, float(num), np.zeros((), dtype))
    sign, first, last = np.sign(wide.type(start)), abs(wide.type(start)), abs(wide.type(stop))
    terms = astype(logspace(np.log10(first), np.log10(last), num, endpoint, chunks=chunks), wide)
    position = arange(num, chunks=(terms.expr.grid.axes[0].sizes(),))
    if endpoint and num > 1:
        terms = where(equal(position, num - 1), last, terms)
    terms = multiply(where(equal(position, 0), first, terms), sign)
    return astype(terms, wide if dtype is None else dtype)


def _number(operation: str, argument: str, value: Any) -> None:
    if isinstance(value, ArrayBase) or np.ndim(value) or np.asarray(value).dtype.kind not in "biufc":
        raise ArgumentError(bad(operation, argument, value, "a number"))


CREATION.fill(__name__)
