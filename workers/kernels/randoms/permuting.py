"""Permutations by position: where element p of a permutation of n comes from, without the others.

Up to 65,536 elements the order is that of random keys of 64 bits: every order is equally likely. Beyond, positions
are pairs (l, r) of an a by b rectangle, a and b about the root of n, and eight rounds of a Feistel network add to one
of them, in turn, a random number that the other one names (from Philox: a table for each round); what leaves the
n positions goes through the rounds again until it is back. With random functions for rounds, five or more rounds
cannot be told from a random permutation by far fewer than n of its values (Luby and Rackoff 1988; Patarin 2004).
There are n! orders and a generator has 2**128 keys: as with any shuffle by a seed, not every order can come.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from threading import Lock
from typing import Any

import numpy as np

from .philox import product, raw_at, raw_run

Array = np.ndarray[Any, Any]
Seed = tuple[tuple[int, int], int, int]
"""Key, jumps and first position of the call."""
SORTED = 1 << 16
ROUNDS = 8
TABLED = 1 << 18
"""Rounds with more values than this are not tabulated."""
_TAG = 1 << 63
_PIECE = 1 << 15
_kept: OrderedDict[tuple[Any, ...], list[Array]] = OrderedDict()
_lock = Lock()


class Permutation:
    """A permutation of n positions that follows from a seed."""

    def __init__(self, seed: Seed, n: int) -> None:
        self.n = n
        self._seed = seed
        self._rows = max(1, math.isqrt(max(0, n - 1)) + 1)
        self._columns = max(1, -(-n // self._rows))

    def forward(self, positions: Array) -> Array:
        """Return what stands at positions (int64)."""
        if self.n <= SORTED:
            return np.asarray(self._tables()[0][positions])
        return self._walk(positions, False)

    def backward(self, values: Array) -> Array:
        """Return the positions at which values stand."""
        if self.n <= SORTED:
            return np.asarray(self._tables()[1][values])
        return self._walk(values, True)

    def _walk(self, start: Array, back: bool) -> Array:
        """Go through the rounds piece by piece, which stay in cache."""
        if len(start) <= _PIECE:
            return self._piece(start, back)
        parts = [self._piece(start[lo : lo + _PIECE], back) for lo in range(0, len(start), _PIECE)]
        return np.concatenate(parts)

    def _piece(self, start: Array, back: bool) -> Array:
        """Go through the rounds until the result is one of the n positions."""
        positions = self._rounds(np.asarray(start, np.int64), back)
        left = np.flatnonzero(positions >= self.n)
        while left.size:
            positions[left] = self._rounds(positions[left], back)
            left = left[positions[left] >= self.n]
        return positions

    def _rounds(self, p: Array, back: bool) -> Array:
        left, right = np.divmod(p, self._columns)
        for number in range(ROUNDS - 1, -1, -1) if back else range(ROUNDS):
            changed, other, length = (right, left, self._columns) if number % 2 else (left, right, self._rows)
            shift = self._shift(number, other, length)
            if back:
                np.subtract(changed, shift, out=changed)
                np.add(changed, length, out=changed, where=changed < 0)
            else:
                np.add(changed, shift, out=changed)
                np.subtract(changed, length, out=changed, where=changed >= length)
        left *= self._columns
        left += right
        return left

    def _shift(self, number: int, other: Array, length: int) -> Array:
        """Return random numbers below `length`, one for each value of the other half."""
        if max(self._rows, self._columns) <= TABLED:
            return np.take(self._tables()[number], other)
        raw = raw_at(self._name(number), other.astype(np.uint64), 1)[:, 0]
        return product(raw, np.uint64(length))[0].astype(np.int64)

    def _name(self, number: int) -> tuple[int, int, int, int, int]:
        (first, second), jump, offset = self._seed
        return first, second, jump, offset, _TAG + number

    def _tables(self) -> list[Array]:
        """Return the order and its inverse, or the tables of the rounds; the last few are kept."""
        name = (self._seed, self.n)
        with _lock:
            if name in _kept:
                _kept.move_to_end(name)
                return _kept[name]
        tables = self._sort_positions() if self.n <= SORTED else self._shifts()
        with _lock:
            _kept[name] = tables
            while len(_kept) > 4:
                _kept.popitem(last=False)
        return tables

    def _sort_positions(self) -> list[Array]:
        order = np.argsort(raw_run(self._name(0), 0, self.n), kind="stable")
        inverse = np.empty_like(order)
        inverse[order] = np.arange(self.n)
        return [order, inverse]

    def _shifts(self) -> list[Array]:
        shifts = []
        for number in range(ROUNDS):
            length, count = (self._columns, self._rows) if number % 2 else (self._rows, self._columns)
            raw = raw_run(self._name(number), 0, count)
            shifts.append(product(raw, np.uint64(length))[0].astype(np.int64))
        return shifts
