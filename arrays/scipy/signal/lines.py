"""Functions of whole lines: an axis comes into one chunk, and lines are worked on beside each other."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.arguments import check_integer, is_integer
from ....graph.chunks.grid import Axis, Grid
from ....graph.errors import ArgumentError, bad
from ....graph.kinds.mapping import BlockFunction
from ...base import check_axis, make
from ...chunking.rechunk import regrid
from ..bridge import attempt, find, numbers, plain_value, settled
from ..documents import described
from .about import ABOUT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ...array import Array

__all__ = [
    "decimate",
    "detrend",
    "filtfilt",
    "hilbert",
    "resample",
    "resample_poly",
    "savgol_filter",
    "sosfiltfilt",
    "upfirdn",
]

SHORT = 1 << 12
"""Elements of a line on which a function is tried, and some for each that its arguments speak of."""
LINES = "Lazy: what SciPy makes of each line, which is brought into one chunk; other axes keep their chunks."


def try_line(
    name: str, dtypes: Mapping[str, Any], shape: tuple[int, ...], at: int, keywords: dict[str, Any], full: bool = False
) -> tuple[Any, int]:
    """Return what a function makes of ones, and the length of their lines: a part of long ones tells dtypes and errors.

    `shape` is the arrays', of one line; with `full` it is tried as it is.
    """
    sizes = [np.size(v) if isinstance(v, np.ndarray | tuple) else abs(v) for v in keywords.values() if _counts(v)]
    length = shape[at] if full else min(shape[at], SHORT + 4 * max(sizes, default=0))
    ones = {n: np.ones(tuple(length if i == at else m for i, m in enumerate(shape)), d) for n, d in dtypes.items()}
    return attempt(name, getattr(find("signal", name), name), **ones, **keywords), length


def _counts(value: Any) -> bool:
    return isinstance(value, int | np.integer | np.ndarray | tuple)


def along(
    name: str,
    arrays: dict[str, Any],
    axis: Any,
    given: dict[str, Any],
    length: Callable[[int], int] | None = None,
    part: int | None = None,
    tried: dict[str, Any] | None = None,
) -> Array:
    """Return what a function makes of whole lines along an axis.

    `length` tells the result's length along the axis by that of the lines; None: it is that of what is made of a part
    of a line. `part` tells which of several results is taken. What is `tried` stands for large arguments at first.
    """
    operands = {n: numbers(name, n, value) for n, value in arrays.items()}
    x = next(iter(operands.values()))
    at = check_axis(name, axis, x.ndim)
    fixed = settled(name, given)
    n, line = x.shape[at], tuple(m if i == at else 1 for i, m in enumerate(x.shape))
    keywords = {**dict(fixed), **(tried or {}), "axis": at}
    dtypes = {name: f.dtype for name, f in operands.items()}
    sample, short = try_line(name, dtypes, line, at, keywords)
    sample = np.asarray(sample if part is None else sample[part])
    size = sample.shape[at] if length is None else length(n)
    if short < n and not tried and length is not None and length(short) != sample.shape[at]:
        sample, _ = try_line(name, dtypes, line, at, keywords, full=True)
        size = np.asarray(sample if part is None else sample[part]).shape[at]
    grid = Grid([Axis.whole(a.length) if i == at else a for i, a in enumerate(x.expr.grid.axes)])
    out = Grid([Axis.whole(size) if i == at else a for i, a in enumerate(grid.axes)])
    tail = tuple(size if i == at else None for i in range(x.ndim))
    op = BlockFunction(
        "scipy.signal:lines", (name, tuple(operands), (*fixed, ("axis", at)), part, sample.dtype.str, tail)
    )
    return make(op, [regrid(f, grid) for f in operands.values()], out, sample.dtype)


def _own(n: int) -> int:
    return n


@described(ABOUT, LINES)
def detrend(data: Any, axis: int = -1, type: str = "linear", bp: Any = 0, overwrite_data: bool = False) -> Array:
    """Take a trend off lines.

    With `type="constant"` the mean is taken off chunk by chunk, and lines stay in their chunks.

    >>> import windrow as wr
    >>> wr.signal.detrend(wr.asarray([1.0, 2.0, 4.0, 5.0], chunks=2), type="constant").compute()
    array([-2., -1.,  1.,  2.])
    """
    if type in ("constant", "c"):
        x = numbers("detrend", "data", data)
        at = check_axis("detrend", axis, x.ndim)
        if x.size:
            centered: Array = x - x.mean(axis=at, keepdims=True)
            return centered
    x = numbers("detrend", "data", data)
    n, breaks = x.shape[check_axis("detrend", axis, x.ndim)], plain_value("detrend", "bp", bp)
    places = np.asarray(breaks)
    if places.dtype.kind not in "biu" or (places > n).any():
        raise ArgumentError(bad("detrend", "bp", bp, f"positions in lines of {n} elements"))
    tried = {"bp": 0} if n > SHORT else None
    return along("detrend", {"data": x}, axis, {"type": type, "bp": breaks}, _own, tried=tried)


@described(ABOUT, LINES)
def filtfilt(
    b: Any,
    a: Any,
    x: Any,
    axis: int = -1,
    padtype: Any = "odd",
    padlen: Any = None,
    method: str = "pad",
    irlen: Any = None,
) -> Array:
    """Filter lines forwards and backwards.

    >>> import windrow as wr
    >>> wr.signal.filtfilt([0.5, 0.5], [1.0], wr.arange(12.0, chunks=4)).compute()[:3]
    array([0., 1., 2.])
    """
    options = {"b": b, "a": a, "padtype": padtype, "padlen": padlen, "method": method, "irlen": irlen}
    return along("filtfilt", {"x": x}, axis, options, _own)


@described(ABOUT, LINES)
def sosfiltfilt(sos: Any, x: Any, axis: int = -1, padtype: Any = "odd", padlen: Any = None) -> Array:
    """Filter lines by second-order sections, forwards and backwards.

    >>> import windrow as wr
    >>> wr.signal.sosfiltfilt([[0.5, 0.5, 0, 1, 0, 0]], wr.arange(12.0, chunks=4)).compute()[:3].round(3)
    array([-0.,  1.,  2.])
    """
    return along("sosfiltfilt", {"x": x}, axis, {"sos": sos, "padtype": padtype, "padlen": padlen}, _own)


@described(ABOUT, LINES)
def savgol_filter(
    x: Any,
    window_length: int,
    polyorder: int,
    deriv: int = 0,
    delta: float = 1.0,
    axis: int = -1,
    mode: str = "interp",
    cval: float = 0.0,
) -> Array:
    """Smooth lines by polynomials, after Savitzky and Golay.

    >>> import windrow as wr
    >>> wr.signal.savgol_filter(wr.arange(6.0, chunks=2) ** 2, 3, 1).compute().round(3)
    array([-0.333,  1.667,  4.667,  9.667, 16.667, 24.667])
    """
    options = {"window_length": window_length, "polyorder": polyorder, "deriv": deriv, "delta": delta}
    return along("savgol_filter", {"x": x}, axis, options | {"mode": mode, "cval": cval}, _own)


@described(ABOUT, LINES)
def hilbert(x: Any, N: Any = None, axis: int = -1) -> Array:
    """Return the analytic signals of real lines.

    >>> import windrow as wr
    >>> abs(wr.signal.hilbert(wr.asarray([1.0, 0, -1, 0], chunks=2))).compute()
    array([1., 1., 1., 1.])
    """
    large = N is not None and is_integer(N) and N > SHORT
    tried = {"N": SHORT} if large else None
    return along("hilbert", {"x": x}, axis, {"N": N}, _own if N is None else lambda _: int(N), tried=tried)


@described(ABOUT, LINES)
def resample_poly(
    x: Any,
    up: int,
    down: int,
    axis: int = 0,
    window: Any = ("kaiser", 5.0),
    padtype: str = "constant",
    cval: Any = None,
) -> Array:
    """Change the rate of lines by a rational factor, by filters.

    >>> import windrow as wr
    >>> wr.signal.resample_poly(wr.ones(8, chunks=4), 1, 2, padtype="line").compute().round(3)
    array([1., 1., 1., 1.])
    """
    for name, value in (("up", up), ("down", down)):
        check_integer("resample_poly", name, value, 1)
    options = {"up": up, "down": down, "window": window, "padtype": padtype, "cval": cval}
    common = math.gcd(int(up), int(down))
    return along(
        "resample_poly", {"x": x}, axis, options, lambda n: -(-n * (int(up) // common) // (int(down) // common))
    )


@described(ABOUT | {"window": "str, tuple or array_like, optional: A window over frequencies."}, LINES)
def resample(x: Any, num: int, t: Any = None, axis: int = 0, window: Any = None, domain: str = "time") -> Array:
    """Change the length of lines by Fourier transforms.

    >>> import windrow as wr
    >>> wr.signal.resample(wr.ones(8, chunks=4), 4).compute().round(3)
    array([1., 1., 1., 1.])
    """
    if t is not None:
        raise ArgumentError(bad("resample", "t", t, "None; times follow from num"))
    options = {"num": num, "window": window, "domain": domain}
    tried = {"num": SHORT} if is_integer(num) and num > SHORT else None
    return along("resample", {"x": x}, axis, options, lambda _: int(num), tried=tried)


@described(ABOUT, LINES)
def decimate(x: Any, q: int, n: Any = None, ftype: Any = "iir", axis: int = -1, zero_phase: bool = True) -> Array:
    """Filter lines, and take every q-th element.

    >>> import windrow as wr
    >>> wr.signal.decimate(wr.ones(40, chunks=16), 8).shape
    (5,)
    """
    if not isinstance(ftype, str):
        raise ArgumentError(bad("decimate", "ftype", ftype, "'iir' or 'fir'"))
    options = {"q": q, "n": n, "ftype": ftype, "zero_phase": zero_phase}
    return along("decimate", {"x": x}, axis, options, lambda length: -(-length // int(q)))


@described(ABOUT | {"mode": "str: What lies beyond the ends, as in SciPy."}, LINES)
def upfirdn(
    h: Any, x: Any, up: int = 1, down: int = 1, axis: int = -1, mode: str = "constant", cval: float = 0
) -> Array:
    """Put zeros between elements, filter, and take every so many-th.

    >>> import windrow as wr
    >>> wr.signal.upfirdn([1, 1, 1], wr.asarray([1, 1, 1], chunks=2)).compute()
    array([1, 2, 3, 2, 1])
    """
    weights = plain_value("upfirdn", "h", h)
    options = {"h": weights, "up": up, "down": down, "mode": mode, "cval": cval}
    more = np.size(weights) - 1
    return along("upfirdn", {"x": x}, axis, options, lambda n: ((n - 1) * int(up) + more) // int(down) + 1)
