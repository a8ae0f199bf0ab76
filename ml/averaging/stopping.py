"""When training on shards ends before its last epoch: by the loss, or the score where an estimator has no loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["ByLoss", "ByScore"]


class ByLoss:
    """Keeps a network's losses, and ends training by them as scikit-learn does.

    The loss of an epoch is that of its batches, each before its step. Training ends when for more than `patience`
    epochs it hasn't fallen below the least one by more than `tol`.

    Parameters
    ----------
    model : network
        Whose `loss_`, `loss_curve_` and `best_loss_` are kept.
    start : network, optional
        From which training goes on.
    tol : float, optional
        None: training doesn't end before its last epoch.
    patience : int
    """

    metric = "loss"

    def __init__(self, model: Any, start: Any, tol: float | None, patience: int) -> None:
        self._model, self._tol, self._patience = model, tol, patience
        model.loss_curve_ = list(getattr(start, "loss_curve_", []))
        model.best_loss_ = getattr(start, "best_loss_", np.inf)
        model._no_improvement_count = getattr(start, "_no_improvement_count", 0)

    def end(self, epoch: int, loss: float) -> bool:
        """Keep the loss of an epoch; return whether it is the last one."""
        model = self._model
        model.loss_ = loss
        model.loss_curve_.append(loss)
        worse = loss > model.best_loss_ - (self._tol or 0.0)
        model._no_improvement_count = model._no_improvement_count + 1 if worse else 0
        model.best_loss_ = min(model.best_loss_, loss)
        return self._tol is not None and model._no_improvement_count > self._patience


@dataclass
class ByScore:
    """Ends training when the score on the training rows no longer rises, or their loss no longer falls.

    Both are weighed as rows are in training. A score is that of the model with which an epoch begins, a loss that of
    rows each before they are learnt. Training ends when for `patience` epochs it hasn't got better by `tol`; None: not
    before its last epoch.
    """

    tol: float | None
    patience: int
    metric: str = "score"
    best: float = -np.inf
    since: int = 0

    def end(self, epoch: int, value: float) -> bool:
        """Keep the score, or the loss, of an epoch; return whether it is the last one."""
        if self.tol is None or not epoch:  # the first is that of a model that has learnt nothing
            return False
        score = -value if self.metric == "loss" else value
        self.since = 0 if score > self.best + self.tol else self.since + 1
        self.best = max(self.best, score)
        return self.since >= self.patience
