"""Training an estimator of scikit-learn's on shards: epochs of `partial_fit`, and the averages of the weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from ...graph.arguments import check_integer
from ...graph.errors import ArgumentError, bad
from ..rows import same_features, samples, some_weight
from ..training.averages import ADAPTIVE, PLAIN, PUSHES
from ..training.loop import Trainable, run_epochs, start_rounds
from ..training.progress import Progress
from ..training.shards import cut_shards, warn_of_few_steps
from ..training.tasks import Update
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
    if averaging.kind == "gradient":
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
    if averaging.kind in ("async", "epoch") and (kind.inner or kind).steps != "rows":
        advice = (
            "windrow.ml.Averaged(…, average='batch') deals each batch out among the shards, so that there are as many "
            "steps as with one; else give fewer shards, or a smaller batch_size"
        )
        warn_of_few_steps(name, parts, batch_of(estimator), advice)
    size, count = None, 1
    if averaging.kind != "epoch":
        size = -(-batch_of(estimator) // (1 if averaging.kind == "async" else len(parts)))
        count = PUSHES if averaging.average == "async" else averaging.rounds(-(-max(parts.sizes) // size))
    scored = tol is not None and not kind.loss
    work = EstimatorWork(template, kind, classes, shuffle, scored, parts.sizes, count, size, factor)
    progress = Progress(name, epochs, sum(parts.sizes))
    run = range(first, first + epochs)
    model = EstimatorModel(work, averaging, start if first else None, run, progress, tol, patience)
    start_rounds(model, parts, averaging, seed)
    model.restore()
    with progress:
        run_epochs(model)
    model.finish()
    template.set_params(**{k: v for k, v in estimator.get_params(deep=False).items() if k != "class_weight"})
    return template, model.history


class EstimatorModel(Trainable):
    """Trains the template of a work, which has learnt what `start` has; see `train_averaged`."""

    def __init__(
        self,
        work: EstimatorWork,
        averaging: Averaging,
        start: Any,
        epochs: range,
        progress: Progress,
        tol: float | None,
        patience: int,
    ) -> None:
        kind, template, gradient = work.kind, work.template, averaging.kind == "gradient"
        state, own = kind.state(template), kind.own(template)
        if gradient:
            kind.set_rates(template, work.factor)
        super().__init__(
            work=work.gradient if gradient else work,
            state=state,
            own=() if gradient else own,
            sums=2 if work.scored or kind.loss else 0,
            update=Update(work.update, own, work.zero(state)) if gradient else averaging.outer(state, ("t_",)),
            epochs=epochs,
            count=work.rounds,
            progress=progress,
        )
        self._kind, self._template, self._start, self._by_gradient = kind, template, start, gradient
        self._seen = 0
        self._patient: ByLoss | ByScore
        if kind.loss:
            self._patient = ByLoss(template, start, tol, patience)
        else:
            self._patient = ByScore(tol, patience, "loss" if tells_by_loss(template) else "score")

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

    def end(self, epoch: int, scores: dict[str, float]) -> bool:
        """See `Trainable`."""
        return bool(self.sums) and self._patient.end(epoch, scores[self._patient.metric])

    def finish(self) -> None:
        """Write into the template what has been learnt; of shards' slots it gets the mean."""
        template, kind, own = self._template, self._kind, self.rounds.task.own
        slots = self.rounds.kept if self._by_gradient else own.unpack(self._mean(self.rounds.owns))
        kind.put(template, self.rounds.state, slots)
        kind.set_rates(template)
        template.n_iter_ = len(self.history.epoch)
        template._epochs = self.epochs.start + template.n_iter_
        if self._by_gradient:  # shards give gradients, and count nothing
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
    if averaging.scale == "auto" and averaging.kind not in ("async", "epoch"):
        return 1.0
    inner = getattr(estimator, "estimator", estimator)
    rate = getattr(inner, "learning_rate_init", 1.0)
    if getattr(inner, "solver", "") == "sgd":
        return averaging.rate_factor(shards, rate / max(1 - inner.momentum, NOTHING), PLAIN)
    return averaging.rate_factor(shards, rate, ADAPTIVE)
