"""SciPy's functions of signals on blocks: of whole lines, of windows, of blocks with the state before them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .ndimage import scipy_function, writable

Array = np.ndarray[Any, Any]
Where = tuple[slice, ...]
Keywords = tuple[tuple[str, Any], ...]


def lines(*args: Any) -> Array:
    """Call a function of whole lines; after the blocks: its name, theirs, its keywords, which result, dtype, shape."""
    *blocks, name, names, keywords, part, dtype, shape = args
    if any(b.size == 0 for b in blocks):
        return np.zeros(tuple(b if n is None else n for n, b in zip(shape, blocks[0].shape, strict=True)), dtype)
    named = writable(keywords) | dict(zip(names, blocks, strict=True))
    with np.errstate(all="ignore"):
        results = scipy_function(f"signal.{name}")(**named)
    return np.asarray(results if part is None else results[part], dtype, order="C")


def convolved(
    x: Array,
    v: Array,
    name: str,
    keywords: Keywords,
    axes: tuple[int, ...],
    offsets: tuple[int, ...],
    dtype: str,
    *,
    where: Where,
) -> Array:
    """Convolve a window with a kernel: the block's part of all points, which the window begins before."""
    if 0 in x.shape or 0 in v.shape:
        return np.zeros(tuple(w.stop - w.start for w in where), dtype)
    convolution = np.asarray(scipy_function(f"signal.{name}")(x, v, "full", **dict(keywords)))
    cut = [slice(None)] * convolution.ndim
    for axis, offset in zip(axes, offsets, strict=True):
        first = where[axis].start + offset
        begin = first - max(0, first - v.shape[axis] + 1)
        cut[axis] = slice(begin, begin + where[axis].stop - where[axis].start)
    return np.asarray(convolution[tuple(cut)], dtype, order="C")


def lfilter(x: Array, state: Array, b: Array, a: Array, axis: int) -> Array:
    """Filter a block from a state on; the state behind it follows it along the axis."""
    filtered, after = scipy_function("signal.lfilter")(b, a, x, axis, state)
    return np.concatenate([filtered, after], axis)


def sosfilt(x: Array, state: Array, sos: Array, axis: int) -> Array:
    """Filter a block by sections from their states on; the states behind it follow it along the axis."""
    sections = np.moveaxis(state, axis, 0).reshape((len(sos), 2, *np.moveaxis(state, axis, 0).shape[1:]))
    initial_state = np.moveaxis(sections, 1, axis + 1)
    filtered, after = scipy_function("signal.sosfilt")(sos.copy(), x, axis, np.ascontiguousarray(initial_state))
    after = np.moveaxis(after, axis + 1, 1)
    flat = np.moveaxis(after.reshape((-1, *after.shape[2:])), 0, axis)
    return np.concatenate([filtered, flat], axis)


def segments(x: Array, name: str, keywords: Keywords, dtype: str, freqs: int, *, where: Where) -> Array:
    """Return the spectra of a block's segments, along a last axis."""
    if 0 in x.shape:
        return np.zeros(tuple(w.stop - w.start for w in where), dtype)
    *_, spectra = scipy_function(f"signal.{name}")(x, **writable(keywords))
    return np.asarray(spectra, dtype, order="C")
