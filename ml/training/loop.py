"""The one training loop: epochs of rounds on shards, of whatever an adapter makes a `Trainable`."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...workers.public_api import publish
from .asynchronous import STALENESS, Asynchronous
from .rounds import Rounds

if TYPE_CHECKING:
    from .averages import Averaging
    from .progress import Progress
    from .shards import Shards
    from .tasks import RoundMetrics, Update

__all__ = ["History", "Trainable", "run_epochs", "start_rounds"]


@dataclass
class History:
    """What training told after each epoch.

    Parameters
    ----------
    epoch : list of int
        The numbers of the epochs, from 0.
    history : dict of str to list of float
        Means over rows of what the step tells, such as "loss": a number for each epoch.
    batch_size : int or None
        Rows of a batch, where `train` knows of it.
    seconds : list of float
        That each epoch took.

    Raises
    ------
    ArgumentError
        There is no field of such a name.

    Notes
    -----
    `epoch` and `history` are as in Keras's History.

    >>> import numpy as np
    >>> import windrow as wr
    >>> def step(w, X):
    ...     return w + X.mean(axis=0), {"size": float(abs(X).max())}
    >>> w, history = wr.ml.train(step, np.zeros(1), wr.ones((100, 1)), epochs=2, batch_size=50, shards=1)
    >>> history.epoch, history.history, history.batch_size, len(history.seconds)
    ([0, 1], {'size': [1.0, 1.0]}, 50, 2)
    """

    epoch: list[int] = field(default_factory=list)
    history: dict[str, list[float]] = field(default_factory=dict)
    batch_size: int | None = None
    seconds: list[float] = field(default_factory=list)

    def _named_by(self) -> tuple[Any, ...]:
        """Tell by what a function is named that holds this: clocks differ between ranks."""
        return self.epoch, self.history, self.batch_size


@dataclass(kw_only=True, eq=False, repr=False)
class Trainable(ABC):
    """A model of some framework: what the driver asks of it to train it on shards.

    Attributes
    ----------
    work : callable
        A shard's round, see `Task`; it travels to the ranks.
    state, own : nested arrays
        What is averaged, and what each shard keeps for itself, as they start.
    means : tuple of str
        Names of the means over rows that the work tells.
    sums : int
        How many sums it tells.
    update : Update, optional
        What becomes of the state when the mean is known.
    epochs : range
        Their numbers.
    count : int
        Rounds of an epoch.
    progress : Progress
    history : History
        Of the epochs so far.
    rounds : Rounds or Asynchronous
        Which have the state, once they have started.
    """

    work: Any
    state: Any
    own: Any = ()
    means: tuple[str, ...] = ()
    sums: int = 0
    update: Update | None = None
    epochs: range
    count: int
    progress: Progress
    history: History = field(default_factory=History)
    rounds: Rounds | Asynchronous = field(init=False)

    def begin(self, epoch: int) -> None:  # noqa: B027 - most have nothing to do
        """Note that an epoch begins."""

    @abstractmethod
    def score(self, epoch: int, metrics: RoundMetrics) -> dict[str, float]:
        """Return what an epoch tells by what its rounds told; its time counts as the epoch's."""

    def end(self, epoch: int, scores: dict[str, float]) -> bool:
        """Do what an epoch's end asks for, such as calling callbacks; return whether it was the last one."""
        return False


def start_rounds(model: Trainable, shards: Shards, averaging: Averaging, seed: int, staleness: int = STALENESS) -> None:
    """Have a model's rounds at hand; none has run."""
    start = (model.work, model.state, model.own, shards, seed, model.means)
    if averaging.kind == "async":
        model.rounds = Asynchronous(*start, model.epochs, model.count, staleness, model.sums)
    else:
        model.rounds = Rounds(*start, model.sums, model.update)


def run_epochs(model: Trainable) -> None:
    """Train until the last epoch, or that which ends it."""
    history, progress = model.history, model.progress
    with model.rounds:
        for number, epoch in enumerate(model.epochs):
            model.begin(epoch)
            begin = time.perf_counter()
            scores = model.score(epoch, model.rounds.epoch(epoch, model.count, progress))
            history.epoch.append(number)
            history.seconds.append(time.perf_counter() - begin)
            for name, value in scores.items():
                history.history.setdefault(name, []).append(value)
            progress.epoch(progress.first + number, scores)
            if model.end(epoch, scores):
                break


publish(__name__, ("History",))
