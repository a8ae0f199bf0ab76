"""What tasks add to shared arrays: gathered while a block's function runs, told to the driver before it is through.

The driver has a block's additions before it hears that the block is stored. Told again, by a task that ran twice,
they take the place of the same ones; so each block of an expression counts once.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakValueDictionary

import numpy as np

from ....graph.errors import ArgumentError, BadValue, DTypeError
from ...rank.task_context import own_rank
from ..castable import is_castable
from . import compiled
from .positions import integers, pages_of, picked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .snapshot import PageLayout

Array = np.ndarray[Any, Any]


class Addition(NamedTuple):
    """Values to be added at positions, the pages that they touch, and where positions lie along the last axis."""

    index: Any
    values: Array
    pages: Array
    spans: Array | None = None


Noted = dict[str, list[Addition]]
"""Additions of one block, by the array's token, in the order in which they were made."""

IN_LOOP = "in a loop"
"""In place of the name of what is added: a loop's body runs many times under one name, so nothing may be added."""

_threads = threading.local()


@contextmanager
def collecting(key: str, block: int, attempt: int = 0) -> Iterator[None]:
    """Gather what is added within; tell the driver of it at the end. Without a key nothing may be added."""
    if not key:
        yield
        return
    outer = getattr(_threads, "noted", None)
    noted: Noted | None = None if key == IN_LOOP else {}
    _threads.noted = noted
    try:
        yield
        if noted:
            _tell(key, block, noted, attempt)
    finally:
        _threads.noted = outer


@contextmanager
def trying() -> Iterator[None]:
    """Forget what is added within, where a function is only tried."""
    outer = getattr(_threads, "noted", None)
    _threads.noted = {}
    try:
        yield
    finally:
        _threads.noted = outer


def note(layout: PageLayout, index: Any, values: Any) -> None:
    """Note that values are to be added at positions."""
    noted = getattr(_threads, "noted", None)
    if noted is None:
        raise ArgumentError(
            "add_at: it is for the function of a map_blocks, map_overlap or spmd that is in no loop's body; in your "
            "script, v.add(index, values) adds at once"
        )
    index = integers(index)
    check_numbers("add_at", layout)
    noted.setdefault(layout.token, []).append(check_addition("add_at", layout, index, values))


def check_addition(operation: str, layout: PageLayout, index: Any, values: Any) -> Addition:
    """Return an index, values that fit it, which nobody changes any more, and the pages that they touch.

    Raise where the index is out of bounds, or the values' dtype or shape doesn't fit.
    """
    if isinstance(index, np.ndarray) and len(layout.shape) == 1:
        index = np.ascontiguousarray(index) if index.ndim else index
        small = compiled.narrow(index, layout.shape[0], layout.page // layout.dtype.itemsize)
        if small is not None:
            return Addition(
                small[0], check_values(operation, layout, index.shape, values), small[1], compiled.spans(small[0])
            )
    checked = check_values(operation, layout, picked(operation, index, layout.shape), values)
    touched = pages_of(index, layout.shape, layout.dtype.itemsize, layout.page)
    if isinstance(index, np.ndarray) and index.dtype.kind == "i":  # compiled loops count from the beginning
        index = np.where(index < 0, index + layout.shape[0], index)
    return Addition(tuple(map(_own, index)) if isinstance(index, tuple) else _own(index), checked, touched)


def check_values(
    operation: str, layout: PageLayout, target: tuple[int, ...], values: Any, argument: str = "values"
) -> Array:
    """Return values, which nobody changes any more; or raise where their dtype or shape doesn't fit."""
    array = np.asarray(values)
    if not is_castable(operation, argument, array, layout.dtype):
        raise DTypeError(
            f"{operation}: argument {argument!r} has dtype {array.dtype}; expected one that fits {layout.dtype}"
        )
    try:
        np.broadcast_to(array, target)
    except ValueError:
        raise BadValue(
            f"{operation}: argument {argument!r} has shape {array.shape}; expected one that broadcasts to {target}, "
            "the shape of what the index picks"
        ) from None
    return np.array(array, layout.dtype)


def check_numbers(operation: str, layout: PageLayout) -> None:
    """Raise where elements are none that can be added."""
    if layout.dtype.kind not in "biufcm":
        raise DTypeError(f"{operation}: the shared array has dtype {layout.dtype}; expected one of numbers")


def _own(part: Any) -> Any:
    return part.copy() if isinstance(part, np.ndarray) else part


@dataclass(eq=False)
class Adder:
    """An expression whose function may add: what its blocks have added, and which of them have been counted."""

    key: str
    attempt: int = 0
    blocks: dict[int, Noted] = field(default_factory=dict)
    counted: set[int] = field(default_factory=set)

    def put(self, block: int, noted: Noted, attempt: int = 0) -> None:
        """Note what a block has added, or a member of a gang at its latest attempt, all of which count together."""
        if block in self.counted or (attempt and self.counted):
            return
        if attempt > self.attempt:
            self.attempt, self.blocks = attempt, {}
        if attempt == self.attempt:
            self.blocks[block] = noted

    def drop(self) -> None:
        """Forget what hasn't been counted."""
        self.blocks = {}

    def take(self) -> list[Noted]:
        """Return what blocks have added that haven't been counted, in their order; they are, now."""
        uncounted = sorted(self.blocks.items())
        self.counted.update(block for block, _ in uncounted)
        self.blocks = {}
        return [noted for _, noted in uncounted]


_adders: WeakValueDictionary[str, Adder] = WeakValueDictionary()
_guard = threading.Lock()


def adder(key: str) -> Adder:
    """Return what is noted for an expression, of which equal ones are one; as long as somebody holds it."""
    with _guard:
        key_adder = _adders.get(key)
        if key_adder is None:
            key_adder = _adders[key] = Adder(key)
        return key_adder


def any_adders() -> bool:
    """Whether there are expressions that may add."""
    return bool(_adders)


def receive(key: str, block: int, noted: Noted, attempt: int = 0) -> None:
    """Note, in the driver, what a block has added; nothing where nobody needs it any more."""
    key_adder = _adders.get(key)
    if key_adder is not None:
        key_adder.put(block, noted, attempt)


def _tell(key: str, block: int, noted: Noted, attempt: int) -> None:
    rank = own_rank()
    if rank is None:
        receive(key, block, noted, attempt)
    else:
        rank.pages.tell(key, block, noted, attempt)
