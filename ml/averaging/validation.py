"""Rows for scikit-learn's estimators: those in memory are checked by its own rules, with its own messages."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, column_or_1d, validate_data

from ...arrays.execution.compute import compute
from ...graph.errors import BadValue, InWords, bad
from ...workers.public_api import warn
from ..rows import beside, check_numbers, labels_as, samples

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...arrays.array import Array

__all__ = ["check_rows", "read_arrays", "read_few", "several", "warn_of_absent"]

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


def read_arrays(
    name: str, estimator: Any, X: Any, y: Any, sample_weight: Any, known: Any
) -> tuple[list[Array], Any, Any]:
    """Return X, y and weights as arrays in the same blocks; the labels in memory; and the classes, perhaps `known`."""
    rows = samples(name, X)
    arrays = [rows]
    required = estimator.__sklearn_tags__().target_tags.required
    labels = classes = None
    if required or (y is None and sample_weight is not None):
        wide = several(estimator) or not is_classifier(estimator)
        target = beside(name, "y", y, rows, wide=wide)
        if target.shape[1:] == (1,) and estimator.__sklearn_tags__().target_tags.single_output:
            target = beside(name, "y", target, rows)  # says that it was a column
        if is_regressor(estimator):
            check_numbers(name, target)
        if is_classifier(estimator):
            labels = np.asarray(target.compute())
            classes = _classes(name, estimator, labels) if known is None else _among(name, labels, known)
        arrays.append(target)
    if sample_weight is not None:
        arrays.append(beside(name, "sample_weight", sample_weight, rows))
    return arrays, labels, classes


def read_few(arrays: list[Array], labels: Any) -> list[Values]:
    """Return two rows, or one of each class, in memory."""
    which: Any = slice(0, 2)
    if labels is not None and labels.ndim == 1:
        which = np.sort(np.unique(labels, return_index=True)[1])
    return list(compute(*(a[which] for a in arrays)))


def _classes(name: str, estimator: Any, labels: Values) -> Any:
    """Return the classes, a list of them for each column of a target that has several."""
    if labels.dtype.kind in "fc" and not np.isfinite(labels).all():
        raise BadValue(bad(name, "y", "NaN or infinity", "labels of classes"))
    if labels.ndim == 1:
        classes = np.unique(labels)
        if len(classes) < 2:
            raise BadValue(bad(name, "y", InWords(f"1 class ({classes[0]})"), "at least 2 classes"))
        return classes
    if estimator.__sklearn_tags__().target_tags.single_output:  # labels for each row, in columns of zeros and ones
        return np.arange(labels.shape[1])
    return [np.unique(column) for column in labels.T]


def _among(name: str, labels: Values, known: Any) -> Any:
    """Return classes that are known, which labels must be among."""
    distinct = np.unique(labels)
    other = distinct[~np.isin(distinct, known)] if labels.ndim == 1 else distinct[:0]
    if len(other):
        raise BadValue(bad(name, "y", InWords(f"labels with {other[0]!s}"), f"labels of the classes {list(known)}"))
    return known


def warn_of_absent(name: str, labels: Values, classes: Values, sizes: Sequence[int]) -> None:
    """Warn of shards that lack classes, where rows are left as they stand."""
    ends = np.cumsum(sizes)
    for i, (end, size) in enumerate(zip(ends, sizes, strict=True)):
        absent = classes[~np.isin(classes, labels[end - size : end])]
        if len(absent):
            warn(
                f"{name}: shard {i} of {len(sizes)} has no rows of class {absent[0]!s}; its weights are learnt from "
                "other shards only; shuffle=True gives each shard its share",
            )
            return
