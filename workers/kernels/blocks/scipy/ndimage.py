"""SciPy's filters of blocks that come with their neighbours."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Where = tuple[slice, ...]
Keywords = tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Filter:
    """A function of SciPy's, "module.name", and how far it looks along each axis.

    The first block is its first argument, others have names. `periodic`: the margin goes round the ends.
    """

    function: str
    names: tuple[str, ...]
    keywords: Keywords
    depths: tuple[int, ...]
    periodic: tuple[bool, ...]
    dtype: str


def scipy_function(name: str) -> Any:
    """Return a function by "module.name" in SciPy."""
    module, _, own = name.rpartition(".")
    return getattr(importlib.import_module(f"scipy.{module}"), own)


def writable(keywords: Keywords) -> dict[str, Any]:
    """Return keywords for SciPy, some of whose functions take no arrays that can't be written."""
    return {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in keywords}


def filtered(*blocks: Any, where: Where) -> Array:
    """Filter a block with its margin, which is cut off: after the blocks comes the `Filter`."""
    x, *more, how = blocks
    shape = tuple(s.stop - s.start for s in where)
    if 0 in shape:
        return np.empty(shape, how.dtype)
    named = writable(how.keywords) | dict(zip(how.names, more, strict=True))
    rowed = x.ndim == 1 and how.function in RANKED and _needs_row(x, named)
    with np.errstate(all="ignore"):
        output = _ranked(x, how.function, named) if rowed else np.asarray(scipy_function(how.function)(x, **named))
    return trim(output, how, where)


def spline_lines(x: Array, axes: tuple[int, ...], how: Filter, where: Where) -> Array:
    """Filter a block with its margin along axes, one after the other."""
    shape = tuple(s.stop - s.start for s in where)
    if 0 in shape:
        return np.empty(shape, how.dtype)
    filtered = x.astype(how.dtype) if not axes else x
    with np.errstate(all="ignore"):
        for axis in axes:
            filtered = scipy_function(how.function)(
                filtered, axis=axis, output=np.dtype(how.dtype), **dict(how.keywords)
            )
    return trim(filtered, how, where)


RANKED = {"ndimage.rank_filter", "ndimage.median_filter", "ndimage.percentile_filter"}


def _needs_row(x: Array, named: dict[str, Any]) -> bool:
    """Tell whether SciPy's filter of lines would read beyond their ends, or leave out that a footprint has holes."""
    footprint = named.get("footprint")
    if footprint is not None and not np.all(footprint):
        return True
    length = np.max(named["size"]) if footprint is None else np.size(footprint)
    return bool(x.size < 2 * length + 2)


def _ranked(x: Array, name: str, named: dict[str, Any]) -> Array:
    """Filter a line as a plane of one row."""
    keywords = dict(named)
    mode = keywords["mode"]
    if keywords.get("footprint") is not None:
        keywords["footprint"] = np.asarray(keywords["footprint"])[None]
    else:
        keywords["size"] = (1, int(np.ravel(keywords["size"])[0]))
    keywords |= {
        "origin": (0, int(np.ravel(keywords["origin"])[0])),
        "mode": mode if isinstance(mode, str) else mode[0],
    }
    keywords["axes"] = None
    return np.asarray(scipy_function(name)(x[None], **keywords)[0])


def trim(made: Array, how: Filter, where: Where) -> Array:
    cut = []
    for own, depth, around in zip(where, how.depths, how.periodic, strict=True):
        skip = depth if around else min(depth, own.start)
        cut.append(slice(skip, skip + own.stop - own.start))
    return np.asarray(made[tuple(cut)], how.dtype, order="C")


def whole(x: Array, name: str, keywords: Keywords, dtype: str) -> Array:
    with np.errstate(all="ignore"):
        return np.asarray(scipy_function(name)(x, **writable(keywords)), dtype, order="C")
