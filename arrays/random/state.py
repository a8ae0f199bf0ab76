"""Where a generator stands: its key, how often it has jumped, and the position of its next number."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from ...graph.errors import ArgumentError, ShapeError, bad
from ...graph.expr import names

LAST = 1 << 62
"""Positions lie below this, so that four draws an element can still be numbered by 64 bits."""
JUMPS = 1 << 64


class Philox:
    """The state of a `Generator`: NumPy's Philox 4x64-10, addressed by position.

    Parameters
    ----------
    seed : int, sequence of int, numpy.random.SeedSequence or None
        As for `numpy.random.Philox`, which gets the same key from it. None: entropy of the system, drawn once.
    key : int or two words of 64 bits, optional
        Instead of a seed: the key itself. Such a generator can't spawn.

    Raises
    ------
    ArgumentError
        The seed or the key can't be read, or both are given.

    Notes
    -----
    Every call of a generator takes as many positions as its result has elements; those that draw vectors say how
    many they take. An element may use several draws of Philox at its position, which lie in streams of their own.

    >>> rng = wr.random.default_rng(1)
    >>> x = rng.random((3, 4))
    >>> rng.bit_generator.state["position"]
    12
    """

    def __init__(self, seed: Any = None, *, key: Any = None) -> None:
        if key is not None and seed is not None:
            raise ArgumentError(bad("Philox", "key", key, "either a key or a seed"))
        self.seed_seq: np.random.SeedSequence | None = None
        if key is None:
            self.seed_seq = _sequence("Philox", seed)
        try:
            state: Any = np.random.Philox(self.seed_seq, key=key).state
        except (TypeError, ValueError) as error:
            raise ArgumentError(bad("Philox", "key", key, "an integer, or two below 2**64")) from error
        first, second = state["state"]["key"]
        self.key = (int(first), int(second))
        self.jumps = 0
        self._position = 0
        self._lock = threading.Lock()

    def take(self, operation: str, count: int) -> int:
        """Reserve `count` positions, and return the first one.

        Parameters
        ----------
        operation : str
            Who takes them, for the error.
        count : int
            How many.

        Returns
        -------
        int
            The first position; the generator stands behind the last one.

        Raises
        ------
        ShapeError
            A generator's 2**62 positions are used up.
        """
        with self._lock:
            first = self._position
            if first + count > LAST:
                raise ShapeError(f"{operation}: {count} positions after {first}; a generator has 2**62; use jumped()")
            self._position += count
        return first

    @property
    def state(self) -> dict[str, Any]:
        """Key, jumps and position, which can be set again."""
        return {
            "bit_generator": "Philox",
            "state": {"key": np.array(self.key, np.uint64), "jumps": self.jumps},
            "position": self._position,
        }

    @state.setter
    def state(self, value: dict[str, Any]) -> None:
        try:
            key = tuple(int(word) for word in value["state"]["key"])
            jumps, position = int(value["state"]["jumps"]), int(value["position"])
        except (TypeError, KeyError, ValueError) as error:
            raise ArgumentError(bad("state", "value", value, "the state of a generator of Windrow")) from error
        if len(key) != 2 or not 0 <= position <= LAST or not 0 <= jumps < JUMPS:
            raise ArgumentError(bad("state", "value", value, "a key of two words, and a position up to 2**62"))
        with self._lock:
            self.key, self.jumps, self._position = (key[0], key[1]), jumps, position

    def advance(self, delta: int) -> Philox:
        """Advance by a number of positions; negative ones go back.

        Parameters
        ----------
        delta : int
            How many positions: NumPy's counts blocks of four draws.

        Returns
        -------
        Philox
            The generator itself.

        Raises
        ------
        ArgumentError
            The position wouldn't be from 0 to 2**62.
        """
        with self._lock:
            position = self._position + int(delta)
            if not 0 <= position <= LAST:
                raise ArgumentError(bad("advance", "delta", delta, "a way to a position from 0 to 2**62"))
            self._position = position
        return self

    def jumped(self, jumps: int = 1) -> Philox:
        """Return a generator with the same key, at the same position, that draws other numbers.

        A jump adds to the second word of Philox's counter: it is 2**66 draws, more than a generator has positions.

        Parameters
        ----------
        jumps : int
            How many jumps.

        Returns
        -------
        Philox
            A new one; this one stays where it is.

        Raises
        ------
        ValueError
            `jumps` isn't an integer.
        """
        generator = self._twin()
        generator.jumps = (self.jumps + int(jumps)) % JUMPS
        return generator

    def spawn(self, n_children: int) -> list[Philox]:
        """Return generators with keys of their own.

        Parameters
        ----------
        n_children : int
            How many.

        Returns
        -------
        list of Philox
            With the keys that NumPy's Philox of the same seed spawns.

        Raises
        ------
        ArgumentError
            The generator was made from a key; there is no seed to spawn from.
        """
        if self.seed_seq is None:
            raise ArgumentError("spawn: the generator was made from a key; there is no seed to spawn from")
        return [Philox(child) for child in self.seed_seq.spawn(n_children)]

    def _twin(self) -> Philox:
        twin = Philox.__new__(Philox)
        twin.__setstate__(self.__getstate__())
        return twin

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            return {"key": self.key, "jumps": self.jumps, "position": self._position, "seed_seq": self.seed_seq}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.key, self.jumps, self._position = state["key"], state["jumps"], state["position"]
        self.seed_seq = state["seed_seq"]
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"Philox(jumps={self.jumps}, position={self._position})"


def stream(operation: str, seed: Any) -> Philox:
    """Return the stream that a seed means, or one that was made already."""
    return seed if isinstance(seed, Philox) else Philox(_sequence(operation, seed))


def _sequence(operation: str, seed: Any) -> np.random.SeedSequence:
    if isinstance(seed, np.random.SeedSequence):
        return seed
    try:
        return np.random.SeedSequence(names.entropy("seed") if seed is None else seed)
    except (TypeError, ValueError) as error:
        expected = "an integer that is not negative, a sequence of them, or None"
        raise ArgumentError(bad(operation, "seed", seed, expected)) from error
