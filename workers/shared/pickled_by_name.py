"""What is pickled by its name: who pickles notes what was named and keeps it; who unpickles notes what was found."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_threads = threading.local()


@contextmanager
def noting() -> Iterator[list[object]]:
    """Give the list of what is pickled within by its name, to be kept as long as the pickle is."""
    used: list[object] = []
    outer = getattr(_threads, "used", ())
    _threads.used = (*outer, used)
    try:
        yield used
    finally:
        _threads.used = outer


def note_use(thing: object) -> bool:
    """Have something kept that is pickled by its name; tell whether somebody notes it."""
    lists = getattr(_threads, "used", ())
    for used in lists:
        used.append(thing)
    return bool(lists)


@contextmanager
def finding() -> Iterator[set[bytes]]:
    """Give the set of the shared objects that are found by name within, in this thread, by their tokens."""
    tokens: set[bytes] = set()
    outer = getattr(_threads, "tokens", ())
    _threads.tokens = (*outer, tokens)
    try:
        yield tokens
    finally:
        _threads.tokens = outer


def note_found(token: bytes) -> None:
    """Note that a shared object was found by its name."""
    for tokens in getattr(_threads, "tokens", ()):
        tokens.add(token)
