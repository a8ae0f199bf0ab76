"""Convolutions of signals with any number of axes: each chunk of the result reads a window of the larger one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.chunks.axismap import Slice
from ....graph.chunks.grid import Axis, Grid
from ....graph.chunks.positions import Runs
from ....graph.errors import ArgumentError, ShapeError, bad
from ....graph.kinds.mapping import BlockFunction
from ...base import check_axis, make
from ...chunking.rechunk import regrid
from ...ops.elementwise.ufuncs import conjugate
from ...ops.moves.axis_moves import move
from ...ops.moves.taking import flip
from ..bridge import attempt, find_function, like_scipy, numbers, row

if TYPE_CHECKING:
    from ...array import Array
    from ...typing import ArrayLike, AxisLike

MODES = ("full", "same", "valid")
documented = like_scipy(
    "signal",
    {
        "in1": "array_like: The signal.",
        "in2": "array_like: What it is convolved with, with as many axes; the smaller of both comes into one chunk.",
    },
    "Lazy, in chunks as long as those of the larger array, and at least as the smaller one.",
)


def _convolve_all(name: str, arguments: dict[str, Any]) -> Array:
    return _convolve(name, **arguments)


convolve = row(
    documented,
    _convolve_all,
    "convolve",
    "Convolve two arrays.",
    "wr.signal.convolve(wr.arange(5, chunks=2), [1, 1]).compute()",
    "array([0, 1, 3, 5, 7, 4])",
)
fftconvolve = row(
    documented,
    _convolve_all,
    "fftconvolve",
    "Convolve two arrays by Fourier transforms.",
    'wr.signal.fftconvolve(wr.arange(5.0, chunks=2), [1, 1], mode="valid").compute().round(3)',
    "array([1., 3., 5., 7.])",
)
oaconvolve = row(
    documented,
    _convolve_all,
    "oaconvolve",
    "Convolve two arrays by Fourier transforms of parts, which are added up.",
    'wr.signal.oaconvolve(wr.arange(5.0, chunks=2), [1, 1], mode="same").compute().round(3)',
    "array([0., 1., 3., 5., 7.])",
)


@documented
def correlate(name: str, arguments: dict[str, Any]) -> Array:
    """Correlate two arrays: `in2` is conjugated.

    >>> import windrow as wr
    >>> wr.signal.correlate(wr.arange(5, chunks=2), [0, 1], mode="same").compute()
    array([0, 1, 2, 3, 4])
    """
    x, v = numbers(name, "in1", arguments["in1"]), numbers(name, "in2", arguments["in2"])
    if x.ndim == v.ndim == 0:
        product: Array = x * conjugate(v)
        return product
    turned = flip(v)
    turned = conjugate(turned) if v.dtype.kind == "c" else turned
    return _convolve(name, **(arguments | {"in1": x, "in2": turned}), kernel="convolve")


def _convolve(
    name: str, in1: ArrayLike, in2: ArrayLike, mode: object, *, axes: AxisLike = None, kernel: str = "", **method: Any
) -> Array:
    """Convolve as SciPy's function `kernel` does; `method` is empty, or has that argument."""
    if method and method["method"] not in ("auto", "direct", "fft"):
        raise ArgumentError(bad(name, "method", method["method"], "'auto', 'direct' or 'fft'"))
    keywords = tuple(method.items())
    x, v = numbers(name, "in1", in1), numbers(name, "in2", in2)
    if mode not in MODES:
        raise ArgumentError(bad(name, "mode", mode, "'full', 'same' or 'valid'"))
    if x.ndim != v.ndim:
        raise ShapeError(bad(name, "in2", v.shape, f"an array with as many axes as in1, {x.ndim}"))
    kernel = kernel or name
    function = find_function("signal", kernel)
    if x.ndim == 0:
        product: Array = x * v
        return product
    along = _axes(name, x, v, axes)
    if axes is not None:
        keywords += (("axes", along),)
    # by Fourier transforms SciPy multiplies along axes of one element, and integers stay what they are
    small = [np.ones(tuple(min(n, 2) for n in a.shape), a.dtype) for a in (x, v)] if 0 not in x.shape + v.shape else []
    if not small:
        raise ShapeError(bad(name, "in1", (x.shape, v.shape), "arrays that have elements"))
    dtype = np.asarray(attempt(name, function, *small, "full", **dict(keywords))).dtype
    first = _offsets(name, x, v, mode, along)
    cut = tuple(
        slice((v.shape[i] - 1) // 2, (v.shape[i] + 1) // 2)
        if x.shape[i] < v.shape[i] and i not in along
        else slice(None)
        for i in range(x.ndim)
    )
    if np.prod([v.shape[i] for i in along]) > np.prod([x.shape[i] for i in along]):
        x, v = v, x
    convolved = _slide(x, v, kernel, keywords, along, first, dtype)
    return convolved[cut] if mode == "same" and axes is not None else convolved


def _axes(name: str, x: Array, v: Array, axes: AxisLike) -> tuple[int, ...]:
    if axes is None:
        return tuple(range(x.ndim))
    axis_numbers = tuple(axes) if isinstance(axes, Iterable) else (axes,)
    normalized = tuple(check_axis(name, a, x.ndim, "axes") for a in axis_numbers)
    if not normalized or len(set(normalized)) != len(normalized):
        raise ArgumentError(bad(name, "axes", axes, "at least one axis, each once"))
    for i in set(range(x.ndim)) - set(normalized):
        if x.shape[i] != v.shape[i] and 1 not in (x.shape[i], v.shape[i]):
            raise ShapeError(
                bad(name, "in2", v.shape, f"lengths that broadcast with those of in1, {x.shape}, along axis {i}")
            )
    return tuple(sorted(normalized))


def _offsets(name: str, x: Array, v: Array, mode: str, axes: tuple[int, ...]) -> dict[int, tuple[int, int]]:
    """Return for each axis where the result begins among all points, and its length."""
    pairs = {i: (x.shape[i], v.shape[i]) for i in axes}
    looked = [p for p in pairs.values() if 1 not in p or name in ("convolve", "correlate")]
    if mode == "valid" and not (all(n >= m for n, m in looked) or all(n <= m for n, m in looked)):
        raise ShapeError(bad(name, "in2", v.shape, f"an array as large as in1, {x.shape}, along no axis or along all"))
    spans = {}
    for i, (n, m) in pairs.items():
        full = n + m - 1
        size = {"full": full, "same": n, "valid": max(n, m) - min(n, m) + 1}[mode]
        spans[i] = ((full - size) // 2, size) if mode == "same" else (min(n, m) - 1 if mode == "valid" else 0, size)
    return spans


def _slide(
    x: Array,
    v: Array,
    kernel: str,
    keywords: tuple[tuple[str, Any], ...],
    axes: tuple[int, ...],
    first: dict[int, tuple[int, int]],
    dtype: np.dtype[Any],
) -> Array:
    """Let each chunk of the result read the window of the larger array that it follows from."""
    steps: list[Any] = [(i, Slice()) for i in range(x.ndim)]
    wide, out = list(x.expr.grid.axes), list(x.expr.grid.axes)
    whole = list(v.expr.grid.axes)
    for i in range(x.ndim):
        if i not in first:
            if x.shape[i] < v.shape[i]:
                x, out[i] = x.repeat(v.shape[i], i), v.expr.grid.axes[i]
            wide[i] = out[i]
            whole[i] = out[i] if v.shape[i] > 1 else Axis.whole(1)
            continue
        offset, size = first[i]
        n, m = x.shape[i], v.shape[i]
        out[i] = Axis.regular(size, max(x.chunksize[i], m))
        blocks = np.arange(out[i].count)
        start = np.clip(out[i].start(blocks) + offset - (m - 1), 0, n)
        length = np.clip(out[i].stop(blocks) + offset, start, n) - start
        steps[i], wide[i], whole[i] = (i, Runs(start, length)), Axis.of_sizes(length), Axis.whole(m)
    x = regrid(x, Grid([out[i] if i not in first else a for i, a in enumerate(x.expr.grid.axes)]))
    window = move("windows", x, steps, wide)
    places = tuple(None if i in first or v.shape[i] == 1 else i for i in range(x.ndim))
    op = BlockFunction(
        "scipy.signal:convolved",
        (kernel, keywords, axes, tuple(first[i][0] for i in axes), dtype.str),
        (tuple(range(x.ndim)), places),
        where=True,
    )
    return make(op, (window, regrid(v, Grid(whole))), Grid(out), dtype)
