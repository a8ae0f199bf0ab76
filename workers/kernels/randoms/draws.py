"""Draws by position: what an element may draw from, wherever it lies and whoever computes it.

An element at position q has `words` draws (1, 2 or 4) of each attempt, in each of many lanes; a stream of Philox
holds those of one lane and attempt for all positions. Its counter has the draw's block in word 0, how often the
generator has jumped in word 1, the attempt in word 2, lane and number of words in word 3. So no two draws are ever
the same one, and the first lane's single draws are those of NumPy's `Generator(Philox(seed))`.

First attempts are drawn run after run, by compiled loops; without them by NumPy's generator, or by array arithmetic
where runs are short. Later ones, which few elements need, are drawn at their positions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ..compiled.draws.drawing import draw_runs
from .philox import Name, fill_run, raw_at, to_unit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Array = np.ndarray[Any, Any]
SHORT = 16
"""Where runs are shorter on average, array arithmetic at all positions is faster than NumPy's generator."""
_SHIFT = {1: 0, 2: 1, 4: 2}


@dataclass(frozen=True)
class Draws:
    """The draws of elements that lie in runs of one length; `starts` are positions from the generator's first on."""

    key: tuple[int, int]
    jump: int
    starts: Array
    length: int
    lane: int = 0

    @property
    def size(self) -> int:
        return len(self.starts) * self.length

    def at_lane(self, lane: int) -> Draws:
        """Return other draws of the same elements; what draws from several lanes leaves 16 of them to each part."""
        return replace(self, lane=self.lane * 16 + lane)

    @cached_property
    def positions(self) -> Array:
        return (self.starts[:, None] + np.arange(self.length, dtype=np.uint64)).reshape(-1)

    @cached_property
    def _begins(self) -> Array:
        """Numbers of the runs that don't follow the one before."""
        breaks = np.flatnonzero(self.starts[1:] - self.starts[:-1] != self.length) + 1
        return np.concatenate([[0], breaks])

    def runs(self) -> Iterator[tuple[int, int, int]]:
        """Yield (first element, one past the last, position of the first) of runs, joined where they can be."""
        if self.size:
            begins = self._begins.tolist()
            for a, b in pairwise([*begins, len(self.starts)]):
                yield a * self.length, b * self.length, int(self.starts[a])

    @cached_property
    def even_runs(self) -> tuple[Array, int]:
        """Where runs of one length begin, and their length: joined ones, if these are as long as each other."""
        if len(self.starts) < 2 or int(self.starts[0]) + self.length != int(self.starts[1]):
            return self.starts, self.length
        count, joined = divmod(len(self.starts), len(self._begins))
        if joined or (np.diff(self._begins) != count).any():
            return self.starts, self.length
        return self.starts[self._begins], self.length * count

    @property
    def scattered(self) -> bool:
        """Whether runs are so short that elements are better drawn at their positions, without compiled loops."""
        return self.size < SHORT * len(self._begins)

    def _mostly(self, which: Array) -> bool:
        """Whether so many elements are wanted that drawing all of them is faster."""
        return not self.scattered and len(which) * 12 > self.size

    def name(self, words: int, attempt: int = 0) -> Name:
        """Name the stream of Philox for an attempt."""
        return (*self.key, self.jump, attempt, self.lane * 4 + _SHIFT[words])

    def fill(self, out: Array, words: int = 1, attempt: int = 0) -> None:
        """Fill `out`, along one axis, with all elements' draws: as 64 bits each, or as numbers in [0, 1)."""
        if not out.size:
            return
        name, shift = self.name(words, attempt), np.uint64(_SHIFT[words])
        starts, length = self.even_runs
        if draw_runs(name, starts << shift if shift else starts, length * words, out):
            return
        if self.scattered:
            raw = raw_at(name, self.positions << shift, words).reshape(-1)
            if out.dtype == np.uint64:
                np.copyto(out, raw)
            else:
                to_unit(raw, out)
            return
        for lo, hi, q in self.runs():
            fill_run(name, q * words, out[lo * words : hi * words])

    def raw(self, words: int = 1, attempt: int = 0, which: Array | None = None) -> Array:
        """Return (n, words) draws of 64 bits of all elements, or of those whose numbers are given."""
        return self._made(np.dtype(np.uint64), words, attempt, which)

    def uniform(self, words: int = 1, attempt: int = 0, which: Array | None = None) -> tuple[Array, ...]:
        """Return as many arrays of numbers in [0, 1) as there are words."""
        uniforms = self._made(np.dtype(np.float64), words, attempt, which)
        return tuple(np.ascontiguousarray(uniforms[:, word]) for word in range(words))

    def accept(
        self,
        words: int,
        propose: Callable[[tuple[Array, ...], tuple[Array, ...]], tuple[Array, Array]],
        params: tuple[Array, ...],
        which: Array | None = None,
    ) -> Array:
        """Draw until every element has a value: `propose(uniforms, params)` returns values, and which of them hold.

        `which` are the numbers of the elements, None for all; `params` and the result have an entry for each of them.
        """
        value, holds = propose(self.uniform(words, 0, which), params)
        attempt = 0
        left = np.flatnonzero(~holds)
        while left.size:
            attempt += 1
            again = left if which is None else which[left]
            proposed, holds = propose(self.uniform(words, attempt, again), tuple(p[left] for p in params))
            value[left] = proposed
            left = left[~holds]
        return value

    def _made(self, dtype: np.dtype[Any], words: int, attempt: int, which: Array | None) -> Array:
        if which is None or self._mostly(which):
            out = np.empty((self.size, words), dtype)
            self.fill(out.reshape(-1), words, attempt)
            return out if which is None else out[which]
        return replace(self, starts=self.positions[which], length=1)._made(dtype, words, attempt, None)


def run_starts(shape: tuple[int, ...], origin: Array, extents: tuple[int, ...], offset: int) -> Array:
    """Flat positions, from an offset on, at which the runs along the last axis begin, for all blocks in order."""
    strides = [1] * len(shape)
    for i in range(len(shape) - 2, -1, -1):
        strides[i] = strides[i + 1] * shape[i + 1]
    start = (origin * np.array(strides, np.int64)).sum(1) if shape else np.zeros(len(origin), np.int64)
    start = start.astype(np.uint64) + np.uint64(offset)
    for axis, n in enumerate(extents[:-1]):
        start = (start[:, None] + np.arange(n, dtype=np.uint64) * np.uint64(strides[axis])).reshape(-1)
    return start


def find_even_runs(
    shape: tuple[int, ...], origin: Sequence[int], extents: tuple[int, ...], offset: int
) -> tuple[int, int, int, int] | None:
    """Return of a block's runs, joined where they follow each other, how they lie where all are equally far apart.

    That is where the first begins, their length, their number, and how far it is from one to the next.
    """
    strides = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    first = offset + sum(at * stride for at, stride in zip(origin, strides, strict=True))
    length, count, apart = 1, 1, 0
    for n, stride in zip(reversed(extents), reversed(strides), strict=True):
        if n == 1:
            continue
        if count == 1 and stride == length:
            length *= n
        elif count == 1 or stride == count * apart:
            count, apart = count * n, apart if count > 1 else stride
        else:
            return None
    return first, length, count, apart
