"""What the board knows of a task."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...workers.tasks.needs import LocalCall, MissingArgument
    from ..engine.engine import Engine


class PlacedArgument(Protocol):
    """An argument that lies with the engine's ranks; all is asked on the engine's thread."""

    def find_holder(self, engine: Engine) -> tuple[int, int]:
        """Return the rank that has it, and how many bytes; -1: none, or several."""
        ...

    def place(self, engine: Engine) -> MissingArgument:
        """Return how a rank finds it now."""
        ...


class Outcome(Protocol):
    """What learns how a task ended: a future, or what stands for one."""

    def done(self) -> bool:
        """Return whether it has learnt of an end already."""
        ...

    def set_result(self, value: Any, /) -> None:
        """Take the result."""
        ...

    def set_exception(self, error: BaseException, /) -> None:
        """Take the error that ended the task."""
        ...

    def _note_cancelled(self) -> None:
        """Take note that the task was cancelled."""
        ...


class CallState(Enum):
    """What a call is at."""

    WAITING = "waiting"  # for results of others
    READY = "ready"
    SENT = "sent"  # to a rank, which runs it or will
    DONE = "done"  # its result is with the driver, or on ranks
    FAILED = "failed"
    CANCELLED = "cancelled"
    DROPPED = "dropped"  # its result is gone, and nobody wants it


NUMBERS = 1 << 40
"""How many numbers each rank has for what it submits."""
NOBODY: Any = frozenset[int]()
"""No ranks, no tasks: most records never have any, and a set for each would be one more for Python's collector."""


@dataclass(eq=False, slots=True, weakref_slot=True)
class Function:
    """A function that many calls have, told to a rank once; `name` is what the user calls it."""

    number: int
    packed: bytes
    name: str
    known: set[int] = field(default_factory=lambda: set())


@dataclass(eq=False, slots=True)
class Demand:
    """What a task needs of a rank: cores, bytes; how often it may fail; the more urgent goes first.

    `writable` says that its function never writes into what it takes, but may need arrays that it could write to.
    `here`: it runs in the driver's process, since what it takes can't travel.
    """

    cores: int = 1
    memory: int = 0
    retries: int = 0
    priority: float = 0.0
    writable: bool = False
    here: bool = False


@dataclass(eq=False, slots=True, weakref_slot=True)
class TaskRecord:
    """A task: its call, what it takes, and where its result is.

    `needs` are the tasks whose results it takes, `arrays` what its pickle names by other numbers. `used` is kept with
    it: shared objects that its pickle names. `wanted` says that a future of it lives. `same` names calls of one
    function, for how long they take and whether they end processes. `copies` are ranks that may have fetched its
    result. `placed` says that the driver gave the result; `suspect` counts ranks that died while it was there, begun or
    not. `parent` is the task that submitted it, while both run, `inner` what it has submitted itself; `depth` counts
    the tasks above it. `paused` says that it waits for others, and leaves what it needs of its rank to these.
    `interrupted`: Ctrl-C ended a wait for it, so that it goes with its future.
    """

    number: int
    name: str
    call: bytes | LocalCall
    function: Function | None
    needs: tuple[TaskRecord, ...]
    arrays: tuple[tuple[int, PlacedArgument], ...]
    used: tuple[object, ...]
    demand: Demand
    same: str
    origin: str = ""
    wanted: bool = True
    state: CallState = CallState.WAITING
    run: int = 0
    rank: int = -1
    order: int = 0
    missing: int = 0
    failures: int = 0
    unread: int = 0
    doomed: bool = False
    interrupted: bool = False
    suspect: int = 0
    placed: bool = False
    recalled: int = 0
    value: bytes | None = None
    holders: frozenset[int] = NOBODY
    copies: set[int] = NOBODY
    nbytes: int = 0
    error: BaseException | None = None
    waiting: set[TaskRecord] = NOBODY
    killed: frozenset[int] = NOBODY
    future: Callable[[], Outcome | None] | None = None
    parent: TaskRecord | None = None
    inner: set[TaskRecord] = NOBODY
    depth: int = 0
    priority: float = 0.0
    paused: bool = False

    def enter_below(self, parent: TaskRecord | None) -> None:
        """Note which task submitted it; it is as urgent as that at least."""
        self.priority = self.demand.priority
        if parent is None:
            return
        self.parent, self.depth = parent, parent.depth + 1
        self.priority = max(self.priority, parent.priority)
        if parent.inner:
            parent.inner.add(self)
        else:
            parent.inner = {self}

    def leave_parent(self) -> None:
        """Note that it has ended."""
        if self.parent is not None:
            self.parent.inner.discard(self)
            self.parent = None

    def note_copy(self, rank: int) -> None:
        """Note that a rank may fetch its result."""
        if self.copies:
            self.copies.add(rank)
        else:
            self.copies = {rank}

    def note_waiting(self, other: TaskRecord) -> None:
        """Note that another task takes its result."""
        if self.waiting:
            self.waiting.add(other)
        else:
            self.waiting = {other}

    def note_through(self, other: TaskRecord) -> None:
        """Note that another task doesn't wait for it any more."""
        if self.waiting:
            self.waiting.discard(other)

    def forget_call(self) -> None:
        """Let go of what it would take to run it again."""
        self.call, self.function, self.needs, self.arrays, self.used = b"", None, (), (), ()

    @property
    def label(self) -> str:
        """The number, as users see it: that of a task which another rank's task submitted has the rank before."""
        rank, number = divmod(self.number, NUMBERS)
        return f"{rank}.{number}" if rank else str(number)

    @property
    def title(self) -> str:
        """The function's name, and the number."""
        return f"{self.name}-{self.label}"

    @property
    def there(self) -> bool:
        """Whether its result is to be had."""
        return self.state is CallState.DONE
