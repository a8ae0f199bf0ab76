"""What tasks print: whole lines under the rank's name, wherever the task runs."""

from __future__ import annotations

import contextlib
import sys
import threading
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

COMPUTE = "windrow-compute-"
"""How the names of threads begin that run tasks."""


def in_task() -> bool:
    """Tell whether the calling thread runs tasks."""
    return threading.current_thread().name.startswith(COMPUTE)


class TaskStream:
    """Stands in for a text stream: what tasks write comes out line by line, with the rank's name before.

    All the rest goes to the stream itself, which also has whatever attribute is asked for. `deliver` takes the lines of
    this rank, those of all its threads; without it tasks' lines go to the stream.
    """

    def __init__(self, stream: Any, rank: int, deliver: Callable[[str], None] | None = None) -> None:
        self._stream = stream
        self._label = f"[rank {rank}] "
        self._everything = deliver is not None
        self._deliver = deliver or self._pass_on
        self._unfinished = threading.local()  # two tasks' halves of lines must not become one line

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Deliver the lines that are complete, and keep the rest until the task or the line ends."""
        if not (self._everything or in_task()):
            written: int = self._stream.write(text)
            return written
        *lines, rest = (self._take() + text).split("\n")
        self._unfinished.text = rest
        if lines:
            self._deliver("".join(f"{self._label}{line}\n" for line in lines))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Flush the stream; half a line of a task waits for its end."""
        if self._everything and not in_task():
            self.finish_line()
        elif not in_task():
            self._stream.flush()

    def finish_line(self) -> None:
        """Deliver the calling thread's unfinished line."""
        if rest := self._take():
            self._deliver(f"{self._label}{rest}\n")

    def _take(self) -> str:
        rest: str = getattr(self._unfinished, "text", "")
        self._unfinished.text = ""
        return rest

    def _pass_on(self, text: str) -> None:
        _put(self._stream, text)


def finish_lines() -> None:
    """Deliver what the calling thread's task has printed without ending the line."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TaskStream):
            stream.finish_line()


def name_tasks(rank: int, deliver: Callable[[str, str], None] | None = None) -> None:
    """Put the rank's name before what tasks print in this process from now on.

    `deliver(stream, text)` takes whatever is printed in this process; "stdout" or "stderr" is the stream.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is not None and not isinstance(stream, TaskStream):
            setattr(sys, name, TaskStream(stream, rank, deliver and _bound(deliver, name)))


def _bound(deliver: Callable[[str, str], None], name: str) -> Callable[[str], None]:
    return lambda text: deliver(name, text)


def show(stream: str, text: str) -> None:
    """Print at the driver what another rank's task has printed."""
    target: TextIO | None = sys.stderr if stream == "stderr" else sys.stdout
    if target is not None:
        _put(target, text)


def _put(target: Any, text: str) -> None:
    """Write and flush. A pipe that was closed must end neither the scheduler nor tasks of one rank only."""
    with contextlib.suppress(OSError, ValueError):
        try:
            target.write(text)
        except UnicodeEncodeError:
            target.write(text.encode("ascii", "backslashreplace").decode("ascii"))
        target.flush()
