"""Arguments that other tasks have made: how a call's pickle names them, and how a rank finds them."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ...graph.errors import ClusterError, WindrowError
from ..wire.rpc import Unpicklable
from .current import current_task
from .lending import fetch

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..rank.rank import Rank
    from .current import Current


class MissingArgument(Protocol):
    """An argument that isn't in the pickle of a call."""

    def load(self, rank: Rank) -> Any:
        """Return it; raise `Unread` where it isn't where it was."""
        ...


class Unread(Exception):
    """An argument isn't where the driver said: who had it is gone."""


@dataclass(frozen=True, slots=True)
class LocalCall:
    """A call that never leaves this process: what a pickle would be, by reference."""

    make: Callable[[dict[int, Any]], tuple[Any, tuple[Any, ...], dict[str, Any]]]


def with_needs(packed: bytes | LocalCall, needs: dict[int, Any]) -> Any:
    """Return what was pickled, with the arguments that its pickle names by number."""
    if isinstance(packed, LocalCall):
        return packed.make(needs)
    task = _task()
    task.needs = needs
    try:
        return pickle.loads(packed)
    finally:
        task.needs = {}


def _task() -> Current:
    task = current_task()
    assert task is not None
    return task


def fill_in(number: int) -> Any:
    """Return an argument by its number; called by pickles."""
    return _task().needs[number]


def fill_in_own(number: int) -> Any:
    """Return the array of a snapshot by its number, for a call to write into; called by pickles."""
    return _task().needs[number].own()


def fill_in_named(given: dict[Any, Any], names: tuple[Any, ...], numbers: tuple[int, ...]) -> dict[Any, Any]:
    """Return arguments by names, beside those at hand; called by pickles."""
    needs = _task().needs
    return given | {name: needs[number] for name, number in zip(names, numbers, strict=True)}


@dataclass(frozen=True, slots=True)
class Given:
    """A result that comes along, pickled."""

    packed: bytes

    def load(self, rank: Rank) -> Any:
        return pickle.loads(self.packed)


@dataclass(frozen=True, slots=True)
class Made:
    """A result that stays with some ranks; `name` is that of its task, `writable` says how arrays are handed over."""

    number: int
    ranks: tuple[int, ...]
    name: str
    writable: bool = False

    def load(self, rank: Rank) -> Any:
        """See `MissingArgument`; what comes from another rank is kept here too."""
        kept, value = rank.tasks.find(self.number)
        if not kept:
            value = self.bring(rank)
            rank.tasks.keep_copy(self.number, value)
        return value if self.writable else protected(value)

    def bring(self, rank: Rank) -> Any:
        """Return the result itself where it is here, else a copy of one's own; or raise Unread."""
        is_here, value = rank.tasks.find(self.number)
        if is_here:
            return value
        for other in self.ranks:
            try:
                return fetch(rank, other, self.number)
            except Unpicklable as error:
                raise unpicklable(self.name, other, error) from None
            except ClusterError:
                continue
        raise Unread


def protected(value: Any) -> Any:
    """Return a result for a function that takes it; it is kept for others, so what writes into an array raises."""
    if type(value) is np.ndarray:
        value = value.view()
        value.flags.writeable = False
    return value


def unpicklable(name: str, rank: int, error: Unpicklable) -> WindrowError:
    """Return the error of a result that can't leave its rank."""
    why = str(error).partition("can't be pickled: ")[2]
    return WindrowError(f"{name}: what the task returned can't be pickled, so it can't leave rank {rank}: {why}")
