"""Scikit-learn's estimators, with their own default of threads."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sklearn.cluster import KMeans
from workloads import System

if TYPE_CHECKING:
    from collections.abc import Iterator


class ScikitLearn(System):
    """W14 alone."""

    def fitted(self, points: Any, centres: Any, turns: int) -> Any:
        """By Lloyd's method."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = KMeans(len(centres), init=centres, n_init=1, max_iter=turns, tol=0.0, algorithm="lloyd")
            return model.fit(points).cluster_centers_


@contextmanager
def opened(variant: str) -> Iterator[System]:
    """Give the system; it has no variants."""
    yield ScikitLearn()
