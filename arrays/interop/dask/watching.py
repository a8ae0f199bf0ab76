"""Graphs that dask's callbacks watch: progress bars, profilers. They are told of tasks one by one."""

from __future__ import annotations

import queue
from typing import TYPE_CHECKING, Any

from ....scheduler.tasks.record import CallState
from .layout import Alias

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

    from .graphs import Entered

STEP = 0.02
"""Seconds between looks at which tasks have begun."""
AHEAD = 64
"""So many of the tasks that haven't begun are looked at."""


class EndNotice:
    """In place of a future: puts a task's key into a queue when it has ended, and keeps no result."""

    __slots__ = ("ended", "key")

    def __init__(self, key: Hashable, ended: queue.SimpleQueue[Any]) -> None:
        self.key, self.ended = key, ended

    def __call__(self) -> EndNotice:
        return self

    def done(self) -> bool:
        """Return whether the end was noted before: it is noted once."""
        return False

    def set_result(self, _: Any) -> None:
        """Note the end."""
        self.ended.put(self.key)

    set_exception = set_result

    def _note_cancelled(self) -> None:
        """Note the end."""
        self.ended.put(self.key)


class CallbackGraph:
    """Calls dask's callbacks while a graph runs.

    Attributes
    ----------
    ended : SimpleQueue
        Keys whose tasks have ended.
    values : bool
        Whether a callback may look at results, which then are kept until it has.
    """

    def __init__(self, nodes: dict[Any, Any], callbacks: Iterable[Any]) -> None:
        self.callbacks, self.nodes = list(callbacks), nodes
        self.state: dict[str, Any] = {}
        self.ended: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.values = any(each[3] and not _looks_away(each[3]) for each in self.callbacks)
        self._begun: set[Any] = set()

    def run(self, enter: Callable[[CallbackGraph], Entered], cancel: Callable[[Entered], None]) -> Entered:
        """Run a graph; return its tasks."""
        started, entered, failed = [], None, True
        try:
            for each in self.callbacks:
                if each[0]:
                    each[0](self.nodes)
                started.append(each)
            entered = enter(self)
            self._set_up(entered)
            self._follow(entered)
            failed = False
        except BaseException:
            if entered is not None:
                cancel(entered)
            raise
        finally:
            for each in started:
                if each[4]:
                    each[4](self.nodes, self.state, failed)
        return entered

    def _follow(self, entered: Entered) -> None:
        left = dict(entered.records)
        while left:
            self._look(left)
            try:
                key = self.ended.get(timeout=STEP)
            except queue.Empty:
                continue
            record = left.pop(key)
            if record.state in (CallState.FAILED, CallState.CANCELLED) and record.error is not None:
                raise record.error
            self._end(entered, key, record.rank)

    def _look(self, left: dict[Any, Any]) -> None:
        """Tell of tasks that were sent to ranks meanwhile."""
        behind = 0
        for key, record in left.items():
            if record.state is CallState.SENT:
                self._begin(key)
            elif behind == AHEAD:
                break
            else:
                behind += 1

    def _set_up(self, entered: Entered) -> None:
        """Make the state that callbacks are shown."""
        of = {key: set(node.dependencies) for key, node in entered.nodes.items()}
        dependents: dict[Any, set[Any]] = {key: set() for key in of}
        for key, deps in of.items():
            for each in deps:
                dependents[each].add(key)
        data = {key for key, node in entered.nodes.items() if key not in entered.records and not of[key]}
        waiting = {key: deps - data for key, deps in of.items() if key not in data}
        ready = dict.fromkeys(key for key, deps in waiting.items() if not deps)
        self.state = {
            "dependencies": of,
            "dependents": dependents,
            "waiting": {key: deps for key, deps in waiting.items() if deps},
            "waiting_data": {key: set(users) for key, users in dependents.items()},
            "cache": {key: entered.nodes[key] for key in data},
            "ready": ready,
            "running": set(),
            "finished": set(),
            "released": set(),
        }
        for each in self.callbacks:
            if each[1]:
                each[1](self.nodes, self.state)

    def _begin(self, key: Hashable) -> None:
        if key not in self._begun:
            self._begun.add(key)
            self.state["ready"].pop(key, None)
            self.state["waiting"].pop(key, None)
            self.state["running"].add(key)
            for each in self.callbacks:
                if each[2]:
                    each[2](key, self.nodes, self.state)

    def _end(self, entered: Entered, key: Hashable, rank: int) -> None:
        """Tell that a task has ended, and with it other names of its key."""
        ended = [key]
        for each in ended:
            self._begin(each)
            state = self.state
            state["running"].discard(each)
            state["finished"].add(each)
            value = entered.value(key) if self.values else None
            for callback in self.callbacks:
                if callback[3]:
                    callback[3](each, value, self.nodes, state, rank)
            for other in state["dependents"][each]:
                waits = state["waiting"].get(other)
                if waits is not None:
                    waits.discard(each)
                    if not waits:
                        del state["waiting"][other]
                        state["ready"][other] = None
                if isinstance(entered.nodes[other], Alias):
                    ended.append(other)
        if self.values:
            entered.forget(key)


def _looks_away(callback: Any) -> bool:
    """Tell whether a callback doesn't look at results, which then stay on the ranks."""
    return type(getattr(callback, "__self__", None)).__name__ in ("Profiler", "ResourceProfiler", "ProgressBar")
