"""What the board of tasks and the ranks tell each other. Tuples with names: they are pickled by the thousand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from ..rank.rank import Rank
    from .needs import LocalCall

RUN, TAKE_BACK, GIVE_UP, INTERRUPT, DROP, VALUE, RETURN, ENDED, WAITS = (
    "tasks: run",
    "tasks: take back",
    "tasks: give up",
    "tasks: interrupt",
    "tasks: drop",
    "tasks: value",
    "tasks: return",
    "task board: ended",
    "task board: waits",
)
"""Services: the ranks', and the last two the board's."""
SMALL = 1 << 14
"""Results of up to so many bytes go to the driver at once."""

RETURNED, KEPT, RAISED, UNREAD, GIVEN_UP = "returned", "kept", "raised", "unread", "given up"
"""How a task ends: its result comes along, or stays with the rank; an exception; an argument is gone; not begun."""


class MissingArgument(Protocol):
    """An argument that isn't in the pickle of a call."""

    def load(self, rank: Rank) -> Any:
        """Return it; raise `Unread` where it isn't where it was."""
        ...


class Unread(Exception):
    """An argument isn't where the driver said: who had it is gone."""


class TaskOrder(NamedTuple):
    """Run a call: a pickle of (function or None, arguments, keywords).

    `function` is the number of a function that was told apart, 0 where it is in the call. `run` counts the attempts.
    `needs` are the arguments that aren't in the pickle, by number. `keep` says that the result must stay on the rank.
    """

    number: int
    run: int
    function: int
    call: bytes | LocalCall
    needs: tuple[tuple[int, MissingArgument], ...]
    name: str


class TaskEnd(NamedTuple):
    """How a task ended: see `RETURNED` and others. `packed` is the pickled result, or error with its traceback."""

    number: int
    run: int
    how: str
    packed: bytes
    nbytes: int
    seconds: float
