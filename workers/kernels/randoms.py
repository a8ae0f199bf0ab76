"""Random numbers by position, from NumPy's Philox 4x64-10 counter generator.

Draw number d of a stream is lane d % 4 of the generator's block d // 4. The element at flat C-order position p of a
call with offset o uses, with q = o + p:

- random: draw q; the same numbers as `numpy.random.Generator(numpy.random.Philox(seed)).random()`;
- normal: the pair of draws 2 * (q // 2) and the next, by Box and Muller (1958): the cosine for even q, else the sine;
- integers: draw q, scaled by the high half of a 64 x 64 bit product (no rejection; the bias is below range / 2**64).

So an element depends neither on the chunks nor on who computes it.

References
----------
Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3. SC 2011.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ...graph.kinds.source import Random

Array = np.ndarray[Any, Any]
_local = threading.local()


def fill_random(source: Random, shape: tuple[int, ...], origin: Array, out: Array) -> None:
    """Fill `out` (blocks, *extents) with the numbers at the positions of blocks of an array of this shape."""
    extents = out.shape[1:]
    starts = _run_starts(shape, origin, extents)
    flat = out.reshape(-1)
    length = flat.size // max(1, len(starts))
    breaks = np.flatnonzero(np.diff(starts) != length) + 1
    first = np.concatenate([[0], breaks])
    last = np.concatenate([breaks, [len(starts)]])
    for a, b in zip(first.tolist(), last.tolist(), strict=True):
        if b > a:
            _fill_run(source, source.offset + int(starts[a]), flat[a * length : b * length])


def _run_starts(shape: tuple[int, ...], origin: Array, extents: tuple[int, ...]) -> Array:
    """Flat positions at which the runs along the last axis begin, for all blocks in order."""
    strides = [1] * len(shape)
    for i in range(len(shape) - 2, -1, -1):
        strides[i] = strides[i + 1] * shape[i + 1]
    start = (origin * np.array(strides, np.int64)).sum(1) if shape else np.zeros(len(origin), np.int64)
    for axis, n in enumerate(extents[:-1]):
        start = (start[:, None] + np.arange(n) * strides[axis]).reshape(-1)
    return start


def _bits(key: tuple[int, int], draw: int) -> np.random.Generator:
    """A generator whose next draw is the given one."""
    if not hasattr(_local, "generator"):
        _local.generator = np.random.Generator(np.random.Philox(0))
        _local.buffer = np.zeros(4, np.uint64)
    generator: np.random.Generator = _local.generator
    block, lane = divmod(draw, 4)
    counter = np.array([(block >> (64 * i)) & 0xFFFFFFFFFFFFFFFF for i in range(4)], np.uint64)
    generator.bit_generator.state = {
        "bit_generator": "Philox",
        "state": {"counter": counter, "key": np.array(key, np.uint64)},
        "buffer": _local.buffer,
        "buffer_pos": 4,
        "has_uint32": 0,
        "uinteger": 0,
    }
    if lane:
        generator.random(lane)
    return generator


def _fill_run(source: Random, start: int, out: Array) -> None:
    if source.distribution == "random":
        if out.dtype == np.float64:
            _bits(source.key, start).random(out=out)
        else:
            np.copyto(out, _raw(source.key, start, out.size) >> np.uint64(40), casting="unsafe")
            np.multiply(out, out.dtype.type(2.0**-24), out=out)
    elif source.distribution == "normal":
        _normal(source.key, start, out)
    else:
        _integers(source, start, out)


def _raw(key: tuple[int, int], start: int, count: int) -> Array:
    generator = _bits(key, start)
    return np.asarray(generator.integers(0, 0xFFFFFFFFFFFFFFFF, count, np.uint64, endpoint=True))


_PIECE = 16384


def _normal(key: tuple[int, int], start: int, out: Array) -> None:
    """Box and Muller's pairs, in pieces that stay in cache."""
    lead = start % 2
    first, total = start - lead, out.size + lead
    for lo in range(0, total, _PIECE):
        hi = min(total, lo + _PIECE)
        pairs = (hi - lo + 1) // 2
        u = _bits(key, first + lo).random(2 * pairs)
        angle = u[1::2] * (2 * np.pi)
        radius = 1.0 - u[0::2]
        np.log(radius, out=radius)
        radius *= -2.0
        np.sqrt(radius, out=radius)
        u[0::2] = radius * np.cos(angle)
        u[1::2] = radius * np.sin(angle)
        skip = lead if lo == 0 else 0
        out[lo + skip - lead : hi - lead] = u[skip : hi - lo]


def _integers(source: Random, start: int, out: Array) -> None:
    low, span = source.params
    draws = _raw(source.key, start, out.size)
    if span == 1 << 64:
        high = draws
    else:
        mask, half = np.uint64(0xFFFFFFFF), np.uint64(32)
        s_lo, s_hi = np.uint64(span & 0xFFFFFFFF), np.uint64(span >> 32)
        d_lo, d_hi = draws & mask, draws >> half
        middle = d_hi * s_lo + ((d_lo * s_lo) >> half)
        carry = d_lo * s_hi + (middle & mask)
        high = d_hi * s_hi + (middle >> half) + (carry >> half)
    np.copyto(out, high + np.uint64(low & 0xFFFFFFFFFFFFFFFF), casting="unsafe")
