"""Estimators of scikit-learn's whose own `fit` and `partial_fit` train on shards."""

from __future__ import annotations

import inspect
from functools import wraps
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from ...graph.errors import ArgumentError, InWords, bad
from ..fitted import Supervised, of_model
from ..rows import is_lazy, learn_names
from ..training.averages import Averaging
from .averaged import find_classes
from .training import train_averaged

if TYPE_CHECKING:
    from typing import Self

__all__ = ["FitsByAveraging"]


class FitsByAveraging(Supervised):
    """Makes an estimator's `fit` and `partial_fit` train on shards where any of the rows are in Windrow arrays.

    `max_iter` epochs are run, fewer when `tol` is set and the loss on the training rows, or of what has none the score,
    stays the same for `n_iter_no_change` of them; `partial_fit` runs one. With `warm_start` training goes on from
    what was learnt before. `random_state` (an integer) seeds the shuffles; shards are as many as there are ranks.
    """

    def __init_subclass__(cls, **keywords: Any) -> None:
        own = cls.partial_fit  # type: ignore[attr-defined]
        super().__init_subclass__(**keywords)
        cls.partial_fit = _partial_fit(cls, own)  # type: ignore[attr-defined]

    def fit(self, X: Any, y: Any, *args: Any, sample_weight: Any = None, **keywords: Any) -> Self:
        """Train: for Windrow arrays on shards, whose weights are averaged after each epoch.

        Parameters
        ----------
        X : array of shape (rows, features)
            Real numbers. Where an argument is a Windrow array it is trained on shards, else it is scikit-learn's `fit`.
        y : array of shape (rows,), or (rows, targets) where scikit-learn's takes these
            What is to be predicted.
        *args, **keywords
            Further arguments of scikit-learn's `fit`, such as `coef_init`: for rows in memory alone.
        sample_weight : array of shape (rows,), optional
            What each row counts, where scikit-learn's takes weights. None: all the same.

        Returns
        -------
        self
            With scikit-learn's attributes, NumPy arrays, and `history_`, a `windrow.ml.History`.

        Raises
        ------
        ArgumentError
            A parameter can't be averaged (`early_stopping`, for one), `random_state` is no integer, or `coef_init` or
            the like is given with Windrow arrays.
        ShapeError
            `X` isn't 2-D or has no rows; `y` or `sample_weight` hasn't one entry for each row.
        DTypeError
            `X` isn't of numbers.
        BadValue
            There is one class alone, a label is NaN, a weight is negative, or all are zero.
        ValueError
            Scikit-learn's: a number is NaN or infinite, or a parameter has a value that it can't take.
        """
        if not is_lazy(X, y, sample_weight):
            own = {} if sample_weight is None else {"sample_weight": sample_weight}
            super().fit(X, y, *args, **own, **keywords)  # type: ignore[misc]
            return self
        name = f"{type(self).__name__}.fit"
        if args or keywords:
            which = next(iter(keywords), "coef_init")
            remedy = "; Averaged(estimator, shards=) takes it" if which == "shards" else ""
            raise ArgumentError(bad(name, which, InWords("a value"), f"none for Windrow arrays{remedy}"))
        params = self.get_params(deep=False)  # type: ignore[attr-defined]
        how = {"tol": params["tol"], "patience": params["n_iter_no_change"], "epochs": params["max_iter"]}
        return self._learn("fit", X, y, sample_weight, start=self if params["warm_start"] else None, **how)

    def _learn(self, operation: str, X: Any, y: Any, sample_weight: Any, **how: Any) -> Self:
        name = f"{type(self).__name__}.{operation}"
        params = self.get_params(deep=False)  # type: ignore[attr-defined]
        if params["random_state"] is not None and not isinstance(params["random_state"], int | np.integer):
            raise ArgumentError(bad(name, "random_state", params["random_state"], "an integer or None"))
        seed = int(params["random_state"] or 0)
        how |= {"shuffle": params["shuffle"], "seed": seed}
        averaging = Averaging(name, "epoch", scale="auto")
        fitted, self.history_ = train_averaged(self, X, y, sample_weight, averaging, **how)
        learnt = {k: v for k, v in vars(fitted).items() if k not in params}
        vars(self).update(learnt)
        if operation == "fit":
            learn_names(self, X)
        return self


def _partial_fit(cls: Any, own: Any) -> Any:
    """Return the `partial_fit` of a class, by scikit-learn's own signature: an epoch for Windrow arrays."""
    signature = inspect.signature(own)
    name = "partial_fit"

    def partial_fit(model: Any, X: Any, y: Any, *args: Any, **keywords: Any) -> Any:
        if not is_lazy(X, y, *args, *keywords.values()):
            return super(cls, model).partial_fit(X, y, *args, **keywords)
        arguments = signature.bind(model, X, y, *args, **keywords).arguments
        classes = find_classes(f"{cls.__name__}.{name}", model, arguments.get("classes"))
        return model._learn(name, X, y, arguments.get("sample_weight"), epochs=1, start=model, classes=classes)

    return available_if(lambda model: hasattr(super(cls, model), name))(wraps(own)(of_model(partial_fit)))
