"""What rows lose, for estimators whose training ends by the loss and that don't tell it: scikit-learn's by SGD."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["row_losses", "tells_by_loss"]

Values = np.ndarray[Any, Any]


def _beyond(residual: Values, epsilon: float) -> Values:
    return np.maximum(0.0, np.abs(residual) - epsilon)


def _huber(residual: Values, epsilon: float) -> Values:
    far = np.abs(residual)
    return np.where(far <= epsilon, far**2 / 2, epsilon * far - epsilon**2 / 2)


def _modified_huber(margin: Values) -> Values:
    return np.where(margin >= -1, np.maximum(0.0, 1 - margin) ** 2, -4 * margin)


_OF_MARGIN: dict[str, Callable[[Values], Values]] = {
    "hinge": lambda margin: np.maximum(0.0, 1 - margin),
    "squared_hinge": lambda margin: np.maximum(0.0, 1 - margin) ** 2,
    "perceptron": lambda margin: np.maximum(0.0, -margin),
    "log_loss": lambda margin: np.logaddexp(0.0, -margin),
    "modified_huber": _modified_huber,
}
_OF_RESIDUAL: dict[str, Callable[[Values, float], Values]] = {
    "squared_error": lambda residual, _: residual**2 / 2,
    "huber": _huber,
    "epsilon_insensitive": _beyond,
    "squared_epsilon_insensitive": lambda residual, epsilon: _beyond(residual, epsilon) ** 2,
}


def tells_by_loss(estimator: Any) -> bool:
    """Return whether an estimator's loss is one of those that are known here."""
    return getattr(estimator, "loss", None) in {*_OF_MARGIN, *_OF_RESIDUAL} and hasattr(estimator, "tol")


def row_losses(estimator: Any, X: Values, y: Values, classes: Any) -> Values:
    """Return the loss of each row, without the penalty; of several classes the sum over one against the rest.

    Source: the losses of `sklearn.linear_model.SGDClassifier` and `SGDRegressor`, from their documentation.
    """
    if classes is None:
        values, truth = estimator.predict(X), y.astype(np.float64)
    elif len(classes) == 2:
        values, truth = estimator.decision_function(X), np.where(y == classes[1], 1.0, -1.0)
    else:
        values, truth = estimator.decision_function(X), np.where(y[:, None] == np.asarray(classes), 1.0, -1.0)
    if (of_margin := _OF_MARGIN.get(estimator.loss)) is not None:
        lost = of_margin(values * truth)
    else:
        lost = _OF_RESIDUAL[estimator.loss](values - truth, getattr(estimator, "epsilon", 0.0))
    return lost if lost.ndim == 1 else lost.sum(axis=1)
