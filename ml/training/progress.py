"""One progress bar for a whole training, in place of those of its rounds."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Self

from ...scheduler.session.progress import BarState, Display, covering, is_foremost
from ...workers.config import config

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["Progress"]

DELAY = 2.0


class Progress:
    """A bar with epoch, metrics and rows per second, when training takes longer than two seconds.

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
        self.first = self._done = done
        self._seen = 0.0
        self._scores: dict[str, float] = {}
        self._display = Display(config.progress if shown else "off", DELAY, "row")
        self._cover = ExitStack()

    def __enter__(self) -> Self:
        self._cover.enter_context(covering(self.tick))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._cover.close()
        self._display.close()

    def advance(self, rows: float) -> None:
        """Note that so many rows of an epoch have been seen."""
        self._seen += rows
        self.tick()

    def epoch(self, epoch: int, scores: dict[str, float]) -> None:
        """Note that an epoch, counted from 0, is over, and what it scored."""
        self._done, self._scores = epoch + 1, dict(scores)
        self.tick()

    def hide(self) -> None:
        """Erase the bar for now, where something else is to be printed."""
        self._display.hide()

    def tick(self) -> None:
        """Draw the bar anew, unless another work that has begun before draws its own; from any thread."""
        if is_foremost(self.tick):
            self._display.show(self._state)

    def _state(self) -> BarState:
        metrics_text = ", ".join(f"{name} {value:.4g}" for name, value in self._scores.items())
        total = max(1, self.rows) * max(1, self._epochs - self.first)
        now = min(self._done + 1, self._epochs)
        return BarState(min(self._seen, total), total, f"{self._name} epoch {now}/{self._epochs}", metrics_text)
