"""Rows in memory for scikit-learn's estimators: checked by scikit-learn's own rules, with its own messages."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, column_or_1d, validate_data

from ...graph.errors import BadValue, bad
from ..rows import labels_as

__all__ = ["check_rows", "several"]

Values = np.ndarray[Any, Any]
FLOATS = [np.float64, np.float32]


def check_rows(
    model: Any, X: Any, y: Any, sample_weight: Any, *, reset: bool = True, classes: Any = None
) -> tuple[Values, Any, Any]:
    """Return X, y and weights as arrays; what is wrong with them is refused as scikit-learn does.

    With `reset` the model learns the number and the names of X's features. Where `classes` are known, y needn't have
    them all.
    """
    check: Any = partial(validate_data, reset=reset)
    if y is None and not model.__sklearn_tags__().target_tags.required:
        return check(model, X, dtype=FLOATS, order="C"), None, _weights(sample_weight, X)
    numbers = is_regressor(model)
    X, y = check(model, X, y, dtype=FLOATS, order="C", multi_output=several(model), y_numeric=numbers)
    weights = _weights(sample_weight, X)
    if is_classifier(model):
        if y.ndim == 2 and y.shape[1] == 1 and model.__sklearn_tags__().target_tags.single_output:
            y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        if classes is None and weights is not None and len(np.unique(y[weights > 0], axis=0)) < 2:
            name = f"{type(model).__name__}.fit"
            raise BadValue(bad(name, "sample_weight", "zero but for 1 class", "at least 2 classes"))
    return X, labels_as(y), weights


def several(estimator: Any) -> bool:
    """Tell whether a target may have columns."""
    tags = estimator.__sklearn_tags__()
    return bool(tags.target_tags.multi_output or (tags.classifier_tags and tags.classifier_tags.multi_label))


def _weights(sample_weight: Any, X: Any) -> Any:
    return None if sample_weight is None else _check_sample_weight(sample_weight, X)
