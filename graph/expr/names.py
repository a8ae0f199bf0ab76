"""Names of what no content names: random seeds, the user's arrays, calls that must not be taken for one another.

In one process a counter or the system's entropy gives them. Where several processes run one program, as in SPMD mode,
they must come out equal on all of them: `agree` has them follow from a seed of the whole job, from the user's line, and
from how often that line has asked. So a rank may make more of them than others at lines that it alone comes to.
"""

from __future__ import annotations

import itertools
import os
import pickle
import threading
from collections import Counter
from contextlib import contextmanager
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import is_array
from .origin import find_origin

if TYPE_CHECKING:
    from collections.abc import Generator

WHOLE = 1 << 20
"""Bytes of an array up to which all of its elements name it."""
_RUN, _RUNS = 256, 64

_seed = b""
_alone = threading.local()
_times: Counter[tuple[object, ...]] = Counter()
_numbers = itertools.count()
_process = os.urandom(8).hex()


def agree(seed: bytes) -> None:
    """Have names be the same in all processes that run this program with the same seed; b"": each for itself."""
    global _seed
    _seed = seed
    _times.clear()


def agreed() -> bool:
    """Tell whether several processes run this program, and this thread does what all do."""
    return bool(_seed) and not getattr(_alone, "on", False)


def acting() -> bool:
    """Tell whether this thread does for all processes what they don't do: what it learns they don't know."""
    return bool(_seed) and getattr(_alone, "on", False)


@contextmanager
def alone() -> Generator[None]:
    """While this thread does what others don't: names are its own."""
    before, _alone.on = getattr(_alone, "on", False), True
    try:
        yield
    finally:
        _alone.on = before


def entropy(purpose: str) -> int | None:
    """Return the seed of what was given none; None: the system's entropy will do."""
    return int.from_bytes(_next(purpose)) if agreed() else None


def number(purpose: str) -> int:
    """Return a number that nothing else has which is made for this purpose."""
    return int.from_bytes(_next(purpose)[:7]) if agreed() else next(_numbers)


def name_array(array: object, file: object = None) -> tuple[object, ...]:
    """Return the name of an array that the user has handed in.

    Alone its identity names it. Where processes agree its content does: all elements of a small one; some of a large
    one, and how many arrays have had these before it. What isn't NumPy's is named by shape, dtype and the user's line.
    """
    if not agreed():
        return _process, os.getpid(), next(_numbers)
    if file is not None:
        return _count("file", _digest(pickle.dumps(file, 5)))
    if not is_array(array):
        looks = getattr(array, "shape", None), str(getattr(array, "dtype", None))
        return type(array).__name__, repr(looks), _next("source")
    head = f"{array.dtype!r} {array.shape}".encode()
    if array.nbytes <= WHOLE:
        return "data", _digest(head, np.ascontiguousarray(array).tobytes())
    return _count("sample", _digest(head, array.flat[_sample(array.size)].tobytes()))


def digest(*parts: object) -> str:
    """Return a name of plain values, or of what has a name as text."""
    return _digest(repr(parts).encode()).hex()


def _next(purpose: str) -> bytes:
    """Return what follows from the job's seed, the user's line, and how often it was there."""
    where = find_origin()
    key = _count(purpose, where.file, where.line)
    return _digest(_seed, repr(key).encode())


def _count(*key: object) -> tuple[object, ...]:
    _times[key] += 1
    return (*key, _times[key])


def _digest(*parts: bytes) -> bytes:
    hasher = blake2b(digest_size=16)
    for part in parts:
        hasher.update(part)
    return hasher.digest()


def _sample(size: int) -> np.ndarray[Any, Any]:
    """Return positions of some runs of elements, the first and the last among them."""
    begins = np.linspace(0, max(0, size - _RUN), _RUNS).astype(np.int64)
    positions: np.ndarray[Any, Any] = np.minimum(begins[:, None] + np.arange(_RUN), size - 1).reshape(-1)
    return positions
