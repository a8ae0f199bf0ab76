"""Philox 4x64-10: compiled or NumPy's own where draws follow each other, the same in array arithmetic where they don't.

A stream is named by a key of two words and the upper three words of the counter. Draw number d of a stream is lane
d % 4 of the block that follows d // 4 in the counter's lowest word, as NumPy's generator has it.

References
----------
Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3. SC 2011.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from ..compiled.draws.drawing import FACTORS, STEPS, draw_runs

Array = np.ndarray[Any, Any]
Name = tuple[int, int, int, int, int]
"""A stream: two words of key, then words 1, 2 and 3 of the counter."""

_HALF, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)
_PIECE = 1 << 14
_ALL = 0xFFFFFFFFFFFFFFFF
_local = threading.local()


def following(name: Name, draw: int) -> np.random.Generator:
    """Return this thread's generator, whose next draw is the given one of a stream."""
    if not hasattr(_local, "generator"):
        _local.generator = np.random.Generator(np.random.Philox(0))
        _local.buffer = np.zeros(4, np.uint64)
    generator: np.random.Generator = _local.generator
    block, lane = divmod(draw, 4)
    generator.bit_generator.state = {
        "bit_generator": "Philox",
        "state": {
            "counter": np.array([block, *name[2:]], np.uint64),
            "key": np.array(name[:2], np.uint64),
        },
        "buffer": _local.buffer,
        "buffer_pos": 4,
        "has_uint32": 0,
        "uinteger": 0,
    }
    if lane:
        generator.random(lane)
    return generator


def raw_run(name: Name, draw: int, count: int) -> Array:
    """Return draws that follow each other, as 64 bits each."""
    raw = np.empty(count, np.uint64)
    if not draw_runs(name, np.array([draw], np.uint64), count, raw):
        fill_run(name, draw, raw)
    return raw


def fill_run(name: Name, draw: int, out: Array) -> None:
    """Fill `out` with what NumPy's generator draws from a draw on: as 64 bits, or numbers in [0, 1)."""
    generator = following(name, draw)
    if out.dtype == np.float64:
        generator.random(out=out)
        return
    raw = generator.integers(0, _ALL, len(out), np.uint64, endpoint=True)
    if out.dtype == np.uint64:
        np.copyto(out, raw)
    else:
        to_unit(raw, out)


def to_unit(raw: Array, out: Array) -> None:
    """Fill `out` with what NumPy makes of 64 random bits: doubles in [0, 1) of 53 of them, or floats of 24."""
    kept = 53 if out.dtype == np.float64 else 24
    np.copyto(out, raw >> np.uint64(64 - kept), casting="unsafe")
    np.multiply(out, out.dtype.type(2.0**-kept), out=out)


def raw_at(name: Name, draws: Array, words: int) -> Array:
    """Return (n, words) draws: `words` from each of the given ones on, which lie in one block of four."""
    raw = np.empty((len(draws), words), np.uint64)
    if draw_runs(name, draws, words, raw.reshape(-1)):
        return raw
    for begin in range(0, len(draws), _PIECE):
        piece = draws[begin : begin + _PIECE]
        lane = (piece & np.uint64(3)).astype(np.int64)
        blocks = _blocks(name, (piece >> np.uint64(2)) + np.uint64(1))
        for word in range(words):
            raw[begin : begin + _PIECE, word] = np.choose(lane + word, blocks, mode="clip")
    return raw


def _blocks(name: Name, counter: Array) -> list[Array]:
    """Return the four words of the blocks at these values of the counter's lowest word."""
    k0, k1 = name[:2]
    word = [counter, *(np.full(len(counter), c, np.uint64) for c in name[2:])]
    for _ in range(10):
        high0, low0 = product(word[0], np.uint64(FACTORS[0]))
        high1, low1 = product(word[2], np.uint64(FACTORS[1]))
        word = [high1 ^ word[1] ^ np.uint64(k0), low1, high0 ^ word[3] ^ np.uint64(k1), low0]
        k0, k1 = (k0 + STEPS[0]) & _ALL, (k1 + STEPS[1]) & _ALL
    return word


def product(a: Array, b: Any) -> tuple[Array, Array]:
    """Return the high and the low half of products of 64 bits by 64 bits."""
    a_low, a_high, b_low, b_high = a & _LOW, a >> _HALF, b & _LOW, b >> _HALF
    middle = a_high * b_low + ((a_low * b_low) >> _HALF)
    carry = a_low * b_high + (middle & _LOW)
    return a_high * b_high + (middle >> _HALF) + (carry >> _HALF), a * b
