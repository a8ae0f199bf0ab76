"""Functions of whole lines: an axis comes into one chunk, and lines are worked on beside each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.arguments import check_integer
from ...graph.errors import ArgumentError, bad
from ...graph.grid import Axis, Grid
from ...graph.kinds.mapping import BlockFunction
from ..base import check_axis, make
from ..borrowed.documents import described
from ..borrowed.scipy_calls import attempt, find, numbers, settled
from ..chunking.rechunk import regrid
from .about import ABOUT

if TYPE_CHECKING:
    from ..array import Array

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

SHORT = 64
LINES = "Lazy: what SciPy makes of each line, which is brought into one chunk; other axes keep their chunks."


def along(
    name: str,
    arrays: dict[str, Any],
    axis: Any,
    given: dict[str, Any],
    length: int | None = None,
    part: int | None = None,
) -> Array:
    """Return what a function makes of whole lines along an axis.

    `length` is the result's along the axis; None: the lines' own. `part` tells which of several results is taken.
    """
    found = {n: numbers(name, n, value) for n, value in arrays.items()}
    x = next(iter(found.values()))
    at = check_axis(name, axis, x.ndim)
    keywords = (*settled(name, given), ("axis", at))
    size = x.shape[at]
    shape = tuple(size if i == at else 1 for i in range(x.ndim))
    module = find("signal", name)
    made = attempt(
        name, getattr(module, name), **{n: np.ones(shape, f.dtype) for n, f in found.items()}, **dict(keywords)
    )
    made = np.asarray(made if part is None else made[part])
    if length is not None and made.shape[at] != length:
        raise ArgumentError(bad(name, "x", x.shape, f"a length that gives {length} elements, not {made.shape[at]}"))
    grid = Grid([Axis.whole(a.length) if i == at else a for i, a in enumerate(x.expr.grid.axes)])
    out = Grid([Axis.whole(made.shape[at]) if i == at else a for i, a in enumerate(grid.axes)])
    tail = tuple(made.shape[at] if i == at else None for i in range(x.ndim))
    op = BlockFunction("filtering:lines", (name, tuple(found), keywords, part, made.dtype.str, tail))
    return make(op, [regrid(f, grid) for f in found.values()], out, made.dtype)


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
            found: Array = x - x.mean(axis=at, keepdims=True)
            return found
    return along("detrend", {"data": data}, axis, {"type": type, "bp": bp})


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
    given = {"b": b, "a": a, "padtype": padtype, "padlen": padlen, "method": method, "irlen": irlen}
    return along("filtfilt", {"x": x}, axis, given)


@described(ABOUT, LINES)
def sosfiltfilt(sos: Any, x: Any, axis: int = -1, padtype: Any = "odd", padlen: Any = None) -> Array:
    """Filter lines by second-order sections, forwards and backwards.

    >>> import windrow as wr
    >>> wr.signal.sosfiltfilt([[0.5, 0.5, 0, 1, 0, 0]], wr.arange(12.0, chunks=4)).compute()[:3].round(3)
    array([-0.,  1.,  2.])
    """
    return along("sosfiltfilt", {"x": x}, axis, {"sos": sos, "padtype": padtype, "padlen": padlen})


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
    given = {"window_length": window_length, "polyorder": polyorder, "deriv": deriv, "delta": delta}
    return along("savgol_filter", {"x": x}, axis, given | {"mode": mode, "cval": cval})


@described(ABOUT, LINES)
def hilbert(x: Any, N: Any = None, axis: int = -1) -> Array:
    """Return the analytic signals of real lines.

    >>> import windrow as wr
    >>> abs(wr.signal.hilbert(wr.asarray([1.0, 0, -1, 0], chunks=2))).compute()
    array([1., 1., 1., 1.])
    """
    return along("hilbert", {"x": x}, axis, {"N": N})


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
    given = {"up": up, "down": down, "window": window, "padtype": padtype, "cval": cval}
    return along("resample_poly", {"x": x}, axis, given)


@described(ABOUT | {"window": "str, tuple or array_like, optional: A window over frequencies."}, LINES)
def resample(x: Any, num: int, t: Any = None, axis: int = 0, window: Any = None, domain: str = "time") -> Array:
    """Change the length of lines by Fourier transforms.

    >>> import windrow as wr
    >>> wr.signal.resample(wr.ones(8, chunks=4), 4).compute().round(3)
    array([1., 1., 1., 1.])
    """
    if t is not None:
        raise ArgumentError(bad("resample", "t", t, "None; times follow from num"))
    return along("resample", {"x": x}, axis, {"num": num, "window": window, "domain": domain})


@described(ABOUT, LINES)
def decimate(x: Any, q: int, n: Any = None, ftype: Any = "iir", axis: int = -1, zero_phase: bool = True) -> Array:
    """Filter lines, and take every q-th element.

    >>> import windrow as wr
    >>> wr.signal.decimate(wr.ones(40, chunks=16), 8).shape
    (5,)
    """
    if not isinstance(ftype, str):
        raise ArgumentError(bad("decimate", "ftype", ftype, "'iir' or 'fir'"))
    return along("decimate", {"x": x}, axis, {"q": q, "n": n, "ftype": ftype, "zero_phase": zero_phase})


@described(ABOUT | {"mode": "str: What lies beyond the ends, as in SciPy."}, LINES)
def upfirdn(
    h: Any, x: Any, up: int = 1, down: int = 1, axis: int = -1, mode: str = "constant", cval: float = 0
) -> Array:
    """Put zeros between elements, filter, and take every so many-th.

    >>> import windrow as wr
    >>> wr.signal.upfirdn([1, 1, 1], wr.asarray([1, 1, 1], chunks=2)).compute()
    array([1, 2, 3, 2, 1])
    """
    return along("upfirdn", {"x": x}, axis, {"h": h, "up": up, "down": down, "mode": mode, "cval": cval})
