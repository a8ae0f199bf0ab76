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
from ..bridge import attempt, find_function, like_scipy, numbers, plain_value, row, settled

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ...array import Array

SHORT = 1 << 12
"""Elements of a line on which a function is tried, and some for each that its arguments speak of."""
ABOUT = {
    "detrend": 'str or False: How each segment is detrended: "constant", "linear", or not.',
    "ftype": '{"iir", "fir"}: Kind of the filter.',
    "overwrite_data": "bool: Ignored: the signal is never changed.",
    "t": "None: Times follow from `num`.",
}
documented = like_scipy(
    "signal",
    ABOUT,
    "Lazy: what SciPy makes of each line, which is brought into one chunk; other axes keep their chunks.",
)


def try_line(
    name: str, dtypes: Mapping[str, Any], shape: tuple[int, ...], at: int, keywords: dict[str, Any], full: bool = False
) -> tuple[Any, int]:
    """Return what a function makes of ones, and the length of their lines: a part of long ones tells dtypes and errors.

    `shape` is the arrays', of one line; with `full` it is tried as it is.
    """
    sizes = [np.size(v) if isinstance(v, np.ndarray | tuple) else abs(v) for v in keywords.values() if _counts(v)]
    length = shape[at] if full else min(shape[at], SHORT + 4 * max(sizes, default=0))
    ones = {n: np.ones(tuple(length if i == at else m for i, m in enumerate(shape)), d) for n, d in dtypes.items()}
    return attempt(name, find_function("signal", name), **ones, **keywords), length


def _counts(value: object) -> bool:
    return isinstance(value, int | np.integer | np.ndarray | tuple)


def along(
    name: str,
    arguments: dict[str, Any],
    length: Callable[[int], int] | None = None,
    part: int | None = None,
    tried: dict[str, Any] | None = None,
    arrays: tuple[str, ...] = ("x",),
) -> Array:
    """Return what a function makes of whole lines along an axis.

    `length` tells the result's length along the axis by that of the lines; None: it is that of what is made of a part
    of a line. `part` tells which of several results is taken. What is `tried` stands for large arguments at first.
    """
    operands = {n: numbers(name, n, arguments.pop(n)) for n in arrays}
    x = next(iter(operands.values()))
    at = check_axis(name, arguments.pop("axis"), x.ndim)
    fixed = settled(name, arguments)
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


def _keep_length(name: str, arguments: dict[str, Any]) -> Array:
    return along(name, arguments, lambda n: n)


filtfilt = row(
    documented,
    _keep_length,
    "filtfilt",
    "Filter lines forwards and backwards.",
    "wr.signal.filtfilt([0.5, 0.5], [1.0], wr.arange(12.0, chunks=4)).compute()[:3]",
    "array([0., 1., 2.])",
)
sosfiltfilt = row(
    documented,
    _keep_length,
    "sosfiltfilt",
    "Filter lines by second-order sections, forwards and backwards.",
    "wr.signal.sosfiltfilt([[0.5, 0.5, 0, 1, 0, 0]], wr.arange(12.0, chunks=4)).compute()[:3].round(3)",
    "array([0., 1., 2.])",
)
savgol_filter = row(
    documented,
    _keep_length,
    "savgol_filter",
    "Smooth lines by polynomials, after Savitzky and Golay.",
    "wr.signal.savgol_filter(wr.arange(6.0, chunks=2) ** 2, 3, 1).compute().round(3)",
    "array([-0.333,  1.667,  4.667,  9.667, 16.667, 24.667])",
)


@documented
def detrend(name: str, arguments: dict[str, Any]) -> Array:
    """Take a trend off lines.

    With `type="constant"` the mean is taken off chunk by chunk, and lines stay in their chunks.

    >>> import windrow as wr
    >>> wr.signal.detrend(wr.asarray([1.0, 2.0, 4.0, 5.0], chunks=2), type="constant").compute()
    array([-2., -1.,  1.,  2.])
    """
    x = numbers(name, "data", arguments["data"])
    at = check_axis(name, arguments["axis"], x.ndim)
    if arguments["type"] in ("constant", "c") and x.size:
        centered: Array = x - x.mean(axis=at, keepdims=True)
        return centered
    n, bp = x.shape[at], arguments["bp"]
    breaks = plain_value(name, "bp", bp)
    places = np.asarray(breaks)
    if places.dtype.kind not in "biu" or (places > n).any():
        raise ArgumentError(bad(name, "bp", bp, f"positions in lines of {n} elements"))
    options = {"data": x, "axis": at, "type": arguments["type"], "bp": breaks}
    return along(name, options, lambda n: n, tried={"bp": 0} if n > SHORT else None, arrays=("data",))


@documented
def hilbert(name: str, arguments: dict[str, Any]) -> Array:
    """Return the analytic signals of real lines.

    >>> import windrow as wr
    >>> abs(wr.signal.hilbert(wr.asarray([1.0, 0, -1, 0], chunks=2))).compute()
    array([1., 1., 1., 1.])
    """
    size = arguments["N"]
    tried = {"N": SHORT} if size is not None and is_integer(size) and size > SHORT else None
    return along(name, arguments, lambda n: n if size is None else int(size), tried=tried)


@documented
def resample_poly(name: str, arguments: dict[str, Any]) -> Array:
    """Change the rate of lines by a rational factor, by filters.

    >>> import windrow as wr
    >>> wr.signal.resample_poly(wr.ones(8, chunks=4), 1, 2, padtype="line").compute().round(3)
    array([1., 1., 1., 1.])
    """
    up, down = (check_integer(name, key, arguments[key], 1) for key in ("up", "down"))
    common = math.gcd(up, down)
    return along(name, arguments, lambda n: -(-n * (up // common) // (down // common)))


@documented
def resample(name: str, arguments: dict[str, Any]) -> Array:
    """Change the length of lines by Fourier transforms.

    >>> import windrow as wr
    >>> wr.signal.resample(wr.ones(8, chunks=4), 4).compute().round(3)
    array([1., 1., 1., 1.])
    """
    times, num = arguments.pop("t"), arguments["num"]
    if times is not None:
        raise ArgumentError(bad(name, "t", times, "None; times follow from num"))
    tried = {"num": SHORT} if is_integer(num) and num > SHORT else None
    return along(name, arguments, lambda _: int(num), tried=tried)


@documented
def decimate(name: str, arguments: dict[str, Any]) -> Array:
    """Filter lines, and take every q-th element.

    >>> import windrow as wr
    >>> wr.signal.decimate(wr.ones(40, chunks=16), 8).shape
    (5,)
    """
    if not isinstance(arguments["ftype"], str):
        raise ArgumentError(bad(name, "ftype", arguments["ftype"], "'iir' or 'fir'"))
    q = arguments["q"]
    return along(name, arguments, lambda n: -(-n // int(q)))


@documented
def upfirdn(name: str, arguments: dict[str, Any]) -> Array:
    """Put zeros between elements, filter, and take every so many-th.

    >>> import windrow as wr
    >>> wr.signal.upfirdn([1, 1, 1], wr.asarray([1, 1, 1], chunks=2)).compute()
    array([1., 2., 3., 2., 1.])
    """
    arguments["h"] = plain_value(name, "h", arguments["h"])
    up, down, more = arguments["up"], arguments["down"], np.size(arguments["h"]) - 1
    return along(name, arguments, lambda n: ((n - 1) * int(up) + more) // int(down) + 1)
