"""Coefficients of splines: a recursive filter of each line, whose memory fades fast, so that chunks need but a margin.

SciPy's filter runs to and fro along each whole line. What lies d elements away counts for |pole|**d, and the filter of
a chunk with its margin begins with a guess at the margin's ends; so a margin of `MARGINS` elements leaves of the guess
less than rounding does. At the array's own ends the margin ends too, and SciPy begins as `mode` says; along axes with
one chunk it makes all, and the bits are SciPy's own. Axes go one after the other as in SciPy, several in one pass as
long as their margins don't make blocks much larger.

Interpolation in modes "nearest" and "grid-constant" has no exact beginning: SciPy continues the array by 12 elements
first, and so does `coefficients`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.kinds.mapping import BlockFunction
from ....workers.kernels.blocks.scipy.ndimage import Filter
from ...base import check_axis, make
from ...chunking.coalesce import merge_small_chunks
from ...chunking.halo import with_halo
from ...numpy_signal.padding import pad
from ..bridge import attempt, find_function, like_scipy, numbers, settled
from .local import ABOUT, result_dtype

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...array import Array

MARGINS = {2: 26, 3: 34, 4: 46, 5: 58}
"""Elements after which a filter has forgotten where it began, by order: log(1e-18) / log|largest pole|, and some."""
WIDEST = 1.5
"""Blocks with the margins of one pass are at most so many times as large, unless it runs along one axis alone."""
PADDED = {"nearest": "edge", "grid-constant": "constant"}
"""How the array is continued before it is filtered, by mode."""
CONTINUED = 12
"""By how many elements it is continued, as in SciPy."""
NARROW = 32
"""Chunks of fewer elements along an axis are merged where the array is continued, which would have many of them."""

documented = like_scipy(
    "ndimage",
    ABOUT,
    "Lazy, in the shape and chunks of `input`; equal to what SciPy makes of the whole array, to rounding.",
)


@documented
def spline_filter(name: str, arguments: dict[str, Any]) -> Array:
    """Return the coefficients of splines through the elements.

    A NaN or infinity spoils its chunk and those whose margin it lies in, not all of its lines.

    >>> import windrow as wr
    >>> wr.ndimage.spline_filter(wr.ones(4, chunks=2)).compute().round(3)
    array([1., 1., 1., 1.])
    """
    x = numbers(name, "input", arguments.pop("input"))
    return filter_lines(x, range(x.ndim), arguments["order"], arguments["mode"], _try(name, x, arguments))


@documented
def spline_filter1d(name: str, arguments: dict[str, Any]) -> Array:
    """Return the coefficients of splines through lines along an axis; see `spline_filter`.

    >>> import windrow as wr
    >>> wr.ndimage.spline_filter1d(wr.ones(6, chunks=2)).compute().round(3)
    array([1., 1., 1., 1., 1., 1.])
    """
    x = numbers(name, "input", arguments.pop("input"))
    arguments["axis"] = check_axis(name, arguments["axis"], x.ndim)
    dtype = _try(name, x, arguments)
    return filter_lines(x, [arguments["axis"]], arguments["order"], arguments["mode"], dtype)


def _try(name: str, x: Array, given: dict[str, Any]) -> np.dtype[Any]:
    """Return the result's dtype; what SciPy doesn't take is told now."""
    keywords = dict(settled(name, given | {"output": result_dtype(name, x, given["output"])}))
    dtype: np.dtype[Any] = attempt(
        name, find_function("ndimage", name), np.ones((2,) * x.ndim, x.dtype), **keywords
    ).dtype
    return dtype


def coefficients(x: Array, axes: Sequence[int], order: int, mode: str, cval: Any) -> tuple[Array, int]:
    """Return the coefficients that interpolation along axes needs, and by how much they begin before the array."""
    before = 0
    if mode in PADDED and 0 not in x.shape:
        before = CONTINUED
        value = {"constant_values": _cast(cval, x.dtype)} if PADDED[mode] == "constant" else {}
        x = continue_ends(x, axes, before, PADDED[mode], **value)
    wide = np.dtype(np.complex128 if x.dtype.kind == "c" else np.float64)
    return filter_lines(x, axes, order, mode, wide), before


def continue_ends(x: Array, axes: Sequence[int], by: int, mode: str, **value: Any) -> Array:
    """Return an array that goes on beyond its ends along axes."""
    x = pad(x, dict.fromkeys(axes, by), mode, **value)
    for axis in axes:
        if x.chunksize[axis] < NARROW:
            x = merge_small_chunks(x, axis)
    return x


def _cast(value: object, dtype: np.dtype[Any]) -> Any:
    """Return a number in a dtype, as NumPy sets an element to it."""
    with np.errstate(all="ignore"):
        number: Any = np.asarray(value)
        return (number.real if dtype.kind != "c" and number.dtype.kind == "c" else number).astype(dtype)[()]


def filter_lines(x: Array, axes: Sequence[int], order: int, mode: str, dtype: np.dtype[Any]) -> Array:
    """Return the coefficients along axes, one after the other."""
    rest = list(axes)
    while rest or x.dtype != dtype:
        run = [rest.pop(0)] if rest else []
        wider = _wider(x, order, run)
        while rest and (more := wider * _wider(x, order, rest[:1])) <= WIDEST:
            wider = more
            run.append(rest.pop(0))
        x = _pass(x, tuple(run), order, mode, dtype)
    return x


def _wider(x: Array, order: int, axes: Sequence[int]) -> float:
    """Return how many times as large a block with margins along axes is."""
    factor = 1.0
    for axis in axes:
        if x.numblocks[axis] > 1:
            factor *= 1 + 2 * MARGINS.get(order, 0) / max(1, x.expr.grid.axes[axis].largest)
    return factor


def _pass(x: Array, axes: tuple[int, ...], order: int, mode: str, dtype: np.dtype[Any]) -> Array:
    depth = MARGINS.get(order, 0)
    depths = tuple(depth if i in axes and x.numblocks[i] > 1 else 0 for i in range(x.ndim))
    periodic = tuple(mode == "grid-wrap" and d > 0 for d in depths)
    how = Filter("ndimage.spline_filter1d", (), (("order", order), ("mode", mode)), depths, periodic, dtype.str)
    wide = with_halo(x, tuple((d, d) for d in depths), tuple("periodic" if p else "none" for p in periodic))
    return make(BlockFunction("scipy.ndimage:spline_lines", (axes, how), where=True), [wide], x.expr.grid, dtype)
