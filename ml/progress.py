"""One progress bar for a whole training, in place of those of its rounds."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Self

from ..scheduler.progress import Line, covering, drawn, foremost
from ..workers.config import config

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["Progress"]

DELAY, WIDTH = 2.0, 20


class Progress:
    """A bar with epoch, metrics and rows per second, at a terminal, when training takes longer than two seconds.

    Parameters
    ----------
    name : str
        What runs.
    epochs : int
        How many there will be.
    rows : int
        Rows of an epoch; `rows` may be set later, when they are known.
    done : int
        Epochs done before.
    shown : bool
        Whether a bar is wanted; where it isn't, rounds show none of their own either.
    """

    def __init__(self, name: str, epochs: int, rows: int = 0, done: int = 0, *, shown: bool = True) -> None:
        self._name, self._epochs, self.rows = name, epochs, rows
        self._first = self._done = done
        self._seen = 0.0
        self._told: dict[str, float] = {}
        self._line = Line(config.progress if shown else "off", DELAY)
        self._cover = ExitStack()

    def __enter__(self) -> Self:
        self._cover.enter_context(covering(self.tick))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._cover.close()
        self._line.close()

    def advance(self, rows: float) -> None:
        """Note that so many rows of an epoch have been seen."""
        self._seen += rows
        self.tick()

    def epoch(self, epoch: int, told: dict[str, float]) -> None:
        """Note that an epoch, counted from 0, is over, and what it told."""
        self._done, self._told = epoch + 1, dict(told)
        self.tick()

    def hide(self) -> None:
        """Erase the bar for now, where something else is to be printed."""
        self._line.hide()

    def tick(self) -> None:
        """Draw the bar anew, unless another work that has begun before draws its own; from any thread."""
        if foremost(self.tick):
            self._line.write(self._text)

    def _text(self, seconds: float) -> str:
        share = min(1.0, self._seen / (max(1, self.rows) * max(1, self._epochs - self._first)))
        told = "".join(f" {name} {value:.4g}" for name, value in self._told.items())
        speed = f"{_short(self._seen / seconds)} rows/s " if self._seen else ""
        now = min(self._done + 1, self._epochs)
        return f"{drawn(share, WIDTH)} {self._name} epoch {now}/{self._epochs} {speed}{seconds:.0f} s{told} "


def _short(number: float) -> str:
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{number / size:.3g} {unit}"
    return f"{number:.3g}"
