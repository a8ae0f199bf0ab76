"""The one training loop: epochs of rounds on shards, of whatever an adapter makes a `Trainable`."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from ...workers.public_api import publish
from .asynchronous import STALENESS, Asynchronous
from .rounds import Rounds
from .state import StateLayout
from .tasks import Update

if TYPE_CHECKING:
    import numpy as np

    from .averages import Averaging
    from .progress import Progress
    from .shards import Shards
    from .tasks import Round, RoundMetrics

    Values = np.ndarray[Any, Any]

__all__ = ["GradientStart", "History", "ShardWork", "Trainable", "run_epochs", "start_rounds"]


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

    Examples
    --------
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


class ShardWork(ABC):
    """What a shard's task does with its rows; it travels to the ranks.

    Where averages are of gradients, each round is a batch: `gradient` stands in the place of a call, and `update` makes
    the new state of the mean, in one place.
    """

    only_reads: ClassVar = False
    """Whether it writes to nothing that it is given, and keeps nothing of it: it needs no copies."""

    @abstractmethod
    def __call__(self, state: Any, own: Any, at: Round, *rows: Values) -> tuple[Any, Any, RoundMetrics]:
        """Train on the batches of a round; return the new state, what the shard keeps, and what the round tells."""

    def gradient(self, state: Any, own: Any, at: Round, *rows: Values) -> tuple[Any, Any, RoundMetrics]:
        """Return the gradient of the shard's part of a batch, None for zeros, and the rest as a call does."""
        raise NotImplementedError

    def update(self, state: Any, slots: Any, mean: Any) -> tuple[Any, Any]:
        """Return the state and the optimiser's slots after its step by the mean of the gradients."""
        raise NotImplementedError


class GradientStart(NamedTuple):
    """Where averages of gradients start: zeros such as a gradient, and what shards and the optimiser keep."""

    zero: Any
    own: Any
    slots: Any


@dataclass(kw_only=True, eq=False, repr=False)
class Trainable(ABC):
    """A model of some framework: what the driver asks of it to train it on shards.

    Attributes
    ----------
    work : ShardWork
    state, own : nested arrays
        What is averaged, and what each shard keeps for itself, as they start.
    means : tuple of str
        Names of the means over rows that the work tells.
    sums : int
        How many sums it tells.
    left : tuple of str
        Names in the state that outer steps leave alone.
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

    work: ShardWork
    state: Any
    own: Any = ()
    means: tuple[str, ...] = ()
    sums: int = 0
    left: tuple[str, ...] = ()
    epochs: range
    count: int
    progress: Progress
    history: History = field(default_factory=History)
    rounds: Rounds | Asynchronous = field(init=False)

    def start_gradients(self) -> GradientStart:
        """Return where averages of gradients start."""
        raise NotImplementedError

    def begin(self, epoch: int) -> None:  # noqa: B027 - most have nothing to do
        """Note that an epoch begins."""

    @abstractmethod
    def score(self, epoch: int, metrics: RoundMetrics) -> dict[str, float]:
        """Return what an epoch tells by what its rounds told; its time counts as the epoch's."""

    def ends(self, epoch: int, scores: dict[str, float]) -> bool:
        """Return whether an epoch is the last one."""
        return False


def start_rounds(model: Trainable, shards: Shards, averaging: Averaging, seed: int, staleness: int = STALENESS) -> None:
    """Have a model's rounds at hand; none has run."""
    work, rest = model.work, (shards, seed, model.means)
    if averaging.by_arrival:
        how = (model.epochs, model.count, staleness, model.sums)
        model.rounds = Asynchronous(work, model.state, model.own, *rest, *how)
    elif averaging.by_gradient:
        start = model.start_gradients()
        gradient, update = (
            Gradient(work, StateLayout.of(start.zero)),
            Update(ApplyGradient(work), start.slots, start.zero),
        )
        model.rounds = Rounds(gradient, model.state, start.own, *rest, model.sums, update)
    else:
        outer = averaging.outer(model.state, model.left)
        model.rounds = Rounds(work, model.state, model.own, *rest, model.sums, outer)


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
            if model.ends(epoch, scores):
                break


@dataclass(frozen=True)
class Gradient:
    """A shard's part of one batch: the work of a round where gradients are averaged."""

    work: ShardWork
    zero: StateLayout

    @property
    def only_reads(self) -> bool:
        """See `ShardWork`."""
        return self.work.only_reads

    def __call__(self, state: Any, own: Any, at: Round, *rows: Values) -> tuple[Any, Any, RoundMetrics]:
        gradient, own, metrics = self.work.gradient(state, own, at, *rows)
        return self.zero.zeros() if gradient is None else gradient, own, metrics


@dataclass(frozen=True)
class ApplyGradient:
    """The optimiser's step; see `Update`."""

    work: ShardWork

    @property
    def only_reads(self) -> bool:
        """See `ShardWork`."""
        return self.work.only_reads

    def __call__(self, state: Any, slots: Any, mean: Any) -> tuple[Any, Any]:
        return self.work.update(state, slots, mean)


publish(__name__, ("History",))
