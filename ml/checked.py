"""Rows in memory for scikit-learn's estimators: checked by scikit-learn's own rules, with its own messages."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, validate_data

__all__ = ["checked", "labels_as"]

Values = np.ndarray[Any, Any]
FLOATS = [np.float64, np.float32]


def checked(model: Any, X: Any, y: Any, sample_weight: Any, *, wide: bool) -> tuple[Values, Any, Any]:
    """Return X, y and weights as arrays; what is wrong with them is refused as scikit-learn does.

    The model learns the number and the names of X's features.
    """
    if y is None and not model.__sklearn_tags__().target_tags.required:
        return validate_data(model, X, dtype=FLOATS), None, _weights(sample_weight, X)
    X, y = validate_data(model, X, y, dtype=FLOATS, multi_output=wide, y_numeric=is_regressor(model))
    if is_classifier(model):
        check_classification_targets(y)
    return X, labels_as(y), _weights(sample_weight, X)


def labels_as(y: Any) -> Any:
    """Return labels that are Python objects, such as words, as an array of their own dtype."""
    return np.asarray(y.tolist()) if isinstance(y, np.ndarray) and y.dtype.kind == "O" else y


def _weights(sample_weight: Any, X: Any) -> Any:
    return None if sample_weight is None else _check_sample_weight(sample_weight, X)
