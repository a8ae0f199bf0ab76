"""A progress bar on long work, at a terminal or in a notebook; tqdm draws it."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import threading
import time
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from ...graph.errors import ClusterError
from .html import size_text

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from ..engine.engine import Engine
    from .job import Job

log = logging.getLogger("windrow")
DELAY = 1.0
EVERY = 0.1
LATE = 5.0
"""Seconds after which a rank that is still at the same blocks is named."""
NAME = 32
"""Letters of an operation's name."""


def is_wanted(setting: str) -> bool:
    """Whether a bar is to be shown: in a notebook, at a terminal, or under an mpirun that is at one."""
    if setting != "auto":
        return setting == "on"
    if sys.stderr is None:
        return False
    return in_notebook() or sys.stderr.isatty() or _terminal() is not None


def in_notebook() -> bool:
    """Whether the code runs in a notebook's kernel."""
    shell = sys.modules.get("IPython")
    running = None if shell is None else shell.get_ipython()
    return running is not None and "IPKernelApp" in getattr(running, "config", {})


def _terminal() -> str | None:
    """Return the terminal that mpirun writes this process's stderr to."""
    if "OMPI_COMM_WORLD_RANK" not in os.environ:
        return None
    try:
        path = os.readlink(f"/proc/{os.getppid()}/fd/2")
    except OSError:
        return None
    return path if path.startswith(("/dev/pts/", "/dev/tty")) else None


def _columns() -> int:
    """Return how wide the terminal is."""
    path = _terminal()
    if path is not None and not sys.stderr.isatty():
        with contextlib.suppress(OSError):
            terminal = os.open(path, os.O_RDONLY | os.O_NOCTTY)
            try:
                return os.get_terminal_size(terminal).columns
            finally:
                os.close(terminal)
    import shutil

    return shutil.get_terminal_size().columns


_covers: list[Callable[[], None]] = []


@contextmanager
def covering(tick: Callable[[], None]) -> Generator[None]:
    """While many computations are parts of one work, call `tick` where their own bars would be drawn.

    Works may be parts of others, or run side by side: the one that began first is told of all.
    """
    _covers.append(tick)
    try:
        yield
    finally:
        _covers.remove(tick)


def is_foremost(tick: Callable[[], None]) -> bool:
    """Tell whether no other work covers the one that `tick` belongs to."""
    return _covers[:1] in ([], [tick])


class BarState(NamedTuple):
    """What a bar shows: how much is done of all, of what, and what else there is to say."""

    done: float
    total: float
    name: str
    note: str = ""


_shown: set[Display] = set()


def warn_beside_bars(text: str) -> None:
    """Log a warning on a line of its own: what is drawn is erased, and drawn again by its next step."""
    for display in list(_shown):
        display.hide(0.3)
    log.warning(text)


class _Output:
    """An output of a notebook's cell that tqdm writes to as to a terminal's line, and that a saved notebook has empty.

    The bar of ipywidgets leaves its first text in the saved file, and so does what is drawn over on stderr.
    """

    encoding = "utf-8"

    def __init__(self) -> None:
        self._handle: Any = None
        self._text = ""

    def write(self, text: str) -> None:
        """Show the text in place of what is shown, where it is a line."""
        line = text.strip("\r\n ")
        if "\r" not in text or line == self._text:
            return
        self._text = line
        if self._handle is None:
            display: Any = sys.modules["IPython.display"].display
            self._handle = display({"text/plain": line}, raw=True, display_id=True)
        else:
            self._handle.update({"text/plain": line}, raw=True)

    def flush(self) -> None:
        """Do nothing: all is shown at once."""


class Display:
    """A bar that is drawn over, after a delay in seconds, and erased at the end; from any thread."""

    def __init__(self, setting: str, delay: float, unit: str) -> None:
        self._show: bool | None = None
        self._setting, self._delay, self._unit = setting, delay, unit
        self._begin = time.monotonic()
        self._drawn = 0.0
        self._bar: Any = None
        self._lock = threading.Lock()

    def show(self, state: Callable[[], BarState]) -> None:
        """Show what `state` gives, once the work has taken long enough, and not too often."""
        now = time.monotonic()
        if self._show is False or now - self._begin < self._delay or now - self._drawn < EVERY:
            return
        with self._lock:
            if self._show is None:
                self._show = is_wanted(self._setting) and _bars() is not None
            if not self._show:
                return
            self._drawn = now
            done, total, name, note = state()
            if self._bar is None:
                self._bar = self._make_bar(now - self._begin)
                _shown.add(self)
            bar = self._bar
            bar.total = max(total, done, 1)
            bar.set_description_str(name if len(name) <= NAME else f"{name[: NAME - 1]}…", refresh=False)
            bar.set_postfix_str(note, refresh=False)
            bar.n = done
            bar.refresh()

    def _make_bar(self, seconds: float) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            bar = _bars()(
                total=1,
                unit=self._unit,
                unit_scale=self._unit != "task",
                leave=False,
                file=_Output() if in_notebook() else sys.stderr,
                ncols=None if in_notebook() else max(20, _columns() - 1),
                smoothing=0,
                delay=1e-9,  # what it is made with isn't drawn
            )
        bar.start_t -= seconds
        return bar

    def hide(self, limit: float = -1) -> None:
        """Erase the bar until it is drawn again; not if it is being drawn for longer than the limit, in seconds."""
        if self._lock.acquire(timeout=limit):
            try:
                if self._bar is not None:
                    self._bar.clear()
            finally:
                self._lock.release()

    def close(self) -> None:
        """Erase the bar; it is not drawn again."""
        self._show = False
        _shown.discard(self)
        with self._lock:
            if self._bar is not None:
                self._bar.close()
                self._bar = None


def _bars() -> Any:
    """Return tqdm's class of bars; None where tqdm isn't installed."""
    try:
        from tqdm import tqdm
    except ImportError:
        return None
    tqdm.monitor_interval = 0  # no thread of its own: bars are drawn when there is something new
    return tqdm


class Busy(NamedTuple):
    """What a rank has been at for the longest time."""

    batch: int
    rank: int
    where: str


class EngineStatus(NamedTuple):
    """What the engine tells a bar: bytes in the arenas, those there are, and what ranks are at."""

    used: int
    size: int
    busy: list[Busy]


def status(engine: Engine) -> EngineStatus:
    """Return what is going on; on the engine's thread."""
    ledger = engine.ledger
    first: dict[int, int] = {}
    for number, batch in ledger.batches.items():
        first[batch.rank] = min(first.get(batch.rank, number), number)
    busy: list[Busy] = []
    for rank, number in sorted(first.items()):
        batch = ledger.batches[number]
        stage, tasks = batch.record.stage, batch.tasks
        ends = [stage.blocks(int(tasks[0]))[0], stage.blocks(int(tasks[-1]))[-1]]
        blocks = [str(stage.grid.index(b)) for b in dict.fromkeys(ends)]
        where = f"block {blocks[0]}" if len(blocks) == 1 else f"blocks {blocks[0]} to {blocks[1]}"
        busy.append(Busy(number, rank, f"{where} of {stage.name}"))
    arenas = [arena for arena, alive in zip(ledger.arenas, ledger.alive, strict=True) if alive]
    return EngineStatus(sum(a.used for a in arenas), sum(a.size for a in arenas), busy)


@dataclass
class BarWatch:
    """What is said beside a bar: memory in use, and the rank and block that are late."""

    engine: Engine
    since: dict[int, float] = field(default_factory=lambda: {})

    def note(self) -> str:
        """Ask the engine; "" where it is too busy to answer."""
        try:
            used, size, busy = self.engine.ask(status, 0.2)
        except ClusterError:
            return ""
        now = time.monotonic()
        self.since = {each.batch: self.since.get(each.batch, now) for each in busy}
        text = f"{size_text(used)} of {size_text(size)}"
        last = min(busy, key=lambda each: self.since[each.batch], default=None)
        if last is None or (seconds := now - self.since[last.batch]) < LATE:
            return text
        return f"rank {last.rank} for {seconds:.0f} s at {last.where}, {text}"


class Bar:
    """Shows how many tasks of a job are done, when it takes longer than a second; erased at the end."""

    def __init__(self, setting: str, engine: Engine, job: Job) -> None:
        self._display, self._job = Display(setting, DELAY, "task"), job
        self._watch, self._note, self._asked = BarWatch(engine), "", 0.0
        self._name = job.name or "compute"

    def update(self) -> None:
        for tick in _covers[:1]:
            tick()
            return
        self._display.show(self._state)

    def _state(self) -> BarState:
        now = time.monotonic()
        if now - self._asked > 5 * EVERY:
            self._asked, self._note = now, self._watch.note()
        return BarState(self._job.done, self._job.total, self._name, self._note)

    def close(self) -> None:
        self._display.close()
