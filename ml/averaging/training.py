"""Training an estimator of scikit-learn's on shards: epochs of `partial_fit`, and the averages of the weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from ...graph.arguments import check_integer
from ...graph.errors import ArgumentError, bad
from ..rows import same_features, samples, some_weight
from ..training.averages import ADAPTIVE, PLAIN, PUSHES
from ..training.loop import GradientStart, Trainable, run_epochs, start_rounds
from ..training.progress import Progress
from ..training.shards import cut_shards, warn_of_few_steps
from .averageable import NOTHING, Averageable, averageable, balanced_weights, is_balanced
from .losses import tells_by_loss
from .stopping import ByLoss, ByScore
from .validation import read_arrays, read_few, warn_of_absent
from .work import EstimatorWork, batch_of

if TYPE_CHECKING:
    from ..training.averages import Averaging
    from ..training.loop import History
    from ..training.tasks import RoundMetrics

__all__ = ["train_averaged"]

Values = np.ndarray[Any, Any]


def train_averaged(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    averaging: Averaging,
    *,
    epochs: int,
    shards: int | None = None,
    shuffle: bool = True,
    seed: int = 0,
    tol: float | None = None,
    patience: int = 5,
    start: Any = None,
    classes: Any = None,
) -> tuple[Any, History]:
    """Return a fitted copy of an estimator, trained on shards and averaged, and its history.

    With `tol`, training ends as `stopping` says: by the loss, or by the score where there is none. It
    goes on from `start`, where that has learnt something; `classes` are those that labels may have.
    """
    name = averaging.operation
    kind = averageable(name, estimator)
    epochs = check_integer(name, "epochs", epochs, 1)
    if averaging.by_gradient:
        _check_gradient(name, estimator, kind)
    if start is not None:
        same_features(name, start, samples(name, X))
    arrays, labels, classes = read_arrays(name, estimator, X, y, sample_weight, classes)
    flat = labels if labels is not None and labels.ndim == 1 else None
    if is_balanced(estimator) and flat is not None:
        copied: Any = clone(estimator)
        estimator = copied.set_params(class_weight=balanced_weights(flat, classes))
    parts = cut_shards(name, list(arrays), shards, shuffle, seed, flat if shuffle else None)
    if sample_weight is not None:
        some_weight(name, parts.arrays[-1], negative=False)
    if not shuffle and flat is not None:
        warn_of_absent(name, flat, classes, parts.sizes)
    template = kind.template(estimator, classes, read_few(arrays, labels), seed)
    first = 0 if start is None else kind.go_on(name, template, start)
    factor = _rate_factor(estimator, averaging, len(parts))
    if (averaging.by_arrival or averaging.by_epoch) and (kind.inner or kind).steps != "rows":
        advice = (
            "windrow.ml.Averaged(…, average='batch') deals each batch out among the shards, so that there are as many "
            "steps as with one; else give fewer shards, or a smaller batch_size"
        )
        warn_of_few_steps(name, parts, batch_of(estimator), advice)
    size, count = None, 1
    if not averaging.by_epoch:
        size = -(-batch_of(estimator) // (1 if averaging.by_arrival else len(parts)))
        count = PUSHES if averaging.average == "async" else averaging.rounds(-(-max(parts.sizes) // size))
    scored = tol is not None and not kind.loss
    work = EstimatorWork(template, kind, classes, shuffle, scored, parts.sizes, count, size, factor)
    progress = Progress(name, epochs, sum(parts.sizes))
    model = EstimatorModel(work, start if first else None, range(first, first + epochs), progress, tol, patience)
    start_rounds(model, parts, averaging, seed)
    model.restore()
    with progress:
        run_epochs(model)
    model.finish(by_gradient=averaging.by_gradient)
    template.set_params(**{k: v for k, v in estimator.get_params(deep=False).items() if k != "class_weight"})
    return template, model.history


class EstimatorModel(Trainable):
    """Trains the template of a work, which has learnt what `start` has; see `train_averaged`."""

    def __init__(
        self, work: EstimatorWork, start: Any, epochs: range, progress: Progress, tol: float | None, patience: int
    ) -> None:
        self._kind, self._template, self._factor, self._start = work.kind, work.template, work.factor, start
        super().__init__(
            work=work,
            state=self._kind.state(self._template),
            own=self._kind.own(self._template),
            sums=2 if work.scored or self._kind.loss else 0,
            left=("t_",),
            epochs=epochs,
            count=work.rounds,
            progress=progress,
        )
        self._seen = 0
        self._patient: ByLoss | ByScore
        if self._kind.loss:
            self._patient = ByLoss(self._template, start, tol, patience)
        else:
            self._patient = ByScore(tol, patience, "loss" if tells_by_loss(self._template) else "score")

    def start_gradients(self) -> GradientStart:
        """See `Trainable`."""
        self._kind.set_rates(self._template, self._factor)
        gradients = [np.zeros_like(a) for name in self._kind.shared for a in self.state[name]]
        return GradientStart({"gradients": gradients, "weight": np.float64(0)}, (), self._kind.own(self._template))

    def restore(self) -> None:
        """Give each shard what it kept when `start` was trained, such as its optimiser's slots.

        Where there are other shards now, or the model has since learnt by other means, all go on from its own.
        """
        slots, own = getattr(self._start, "_slots", None), self.rounds.owns
        if slots is not None and slots.shape == own.shape and np.array_equal(self._mean(slots), own[0]):
            self.rounds.owns = slots.copy()

    def score(self, epoch: int, metrics: RoundMetrics) -> dict[str, float]:
        """See `Trainable`."""
        self._seen += round(metrics.rows)
        return {self._patient.metric: float(metrics.sums[0] / (metrics.sums[1] or 1.0))} if self.sums else {}

    def ends(self, epoch: int, scores: dict[str, float]) -> bool:
        """See `Trainable`."""
        return bool(self.sums) and self._patient.ends(epoch, scores[self._patient.metric])

    def finish(self, *, by_gradient: bool) -> None:
        """Write into the template what has been learnt; of shards' slots it gets the mean."""
        template, kind, own = self._template, self._kind, self.rounds.task.own
        kind.put(
            template, self.rounds.state, self.rounds.kept if by_gradient else own.unpack(self._mean(self.rounds.owns))
        )
        kind.set_rates(template)
        template.n_iter_ = len(self.history.epoch)
        template._epochs = self.epochs.start + template.n_iter_
        if by_gradient:  # shards give gradients, and count nothing
            template.t_ = self._seen + getattr(self._start, "t_", 0)
        elif len(self.rounds.owns) > 1 and own.leaves:
            template._slots = self.rounds.owns.copy()  # `over_rows` leaves them at home

    def _mean(self, slots: Values) -> Values:
        return self.rounds.task.own.mean(slots, np.ones(len(slots)))


def _check_gradient(operation: str, estimator: Any, kind: Averageable) -> None:
    """Raise for an estimator whose steps aren't those of an optimiser by the gradient of a batch."""
    if "coefs_" not in kind.shared:
        expected = "another value: only MLPClassifier and MLPRegressor step by the gradient of a batch"
        raise ArgumentError(bad(operation, "average", "gradient", f"{expected}, {type(estimator).__name__} doesn't"))
    if estimator.solver == "sgd" and estimator.learning_rate != "constant":
        expected = "'constant' with average='gradient'"
        raise ArgumentError(bad(operation, "learning_rate", estimator.learning_rate, expected))


def _rate_factor(estimator: Any, averaging: Averaging, shards: int) -> float:
    """Return the factor of a network's learning rate on so many shards.

    Where averages come after batches these are dealt out among the shards, which take as many steps as one would.
    """
    if averaging.scale == "auto" and not (averaging.by_arrival or averaging.by_epoch):
        return 1.0
    inner = getattr(estimator, "estimator", estimator)
    rate = getattr(inner, "learning_rate_init", 1.0)
    if getattr(inner, "solver", "") == "sgd":
        return averaging.rate_factor(shards, rate / max(1 - inner.momentum, NOTHING), PLAIN)
    return averaging.rate_factor(shards, rate, ADAPTIVE)
