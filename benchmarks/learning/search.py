"""`GridSearchCV` of 24 x 3 fits of `SGDClassifier` on 40,000 x 30; metric: the best score."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from measured import Asked, Measured, ranks


def _search(asked: Asked) -> tuple[Any, Any, Any]:
    from sklearn.linear_model import SGDClassifier
    from sklearn.model_selection import GridSearchCV

    generator = np.random.default_rng(5)
    X = generator.standard_normal((asked.rows(40_000), 30))
    y = (X @ generator.standard_normal((30, 4)) + 3 * generator.standard_normal((len(X), 4))).argmax(axis=1)
    grid = {"alpha": [1e-5, 1e-4, 1e-3, 1e-2], "penalty": ["l2", "l1"], "loss": ["log_loss", "hinge", "modified_huber"]}
    estimator = SGDClassifier(max_iter=20, tol=None, random_state=0)
    return GridSearchCV(estimator, grid, cv=3, n_jobs=1, refit=False), X, y


def _timed(search: Any, X: Any, y: Any) -> Measured:
    begin = time.perf_counter()
    search.fit(X, y)
    return Measured(time.perf_counter() - begin, float(search.best_score_))


def scikit_learn(asked: Asked) -> Measured:
    """One after the other: n_jobs=1."""
    return _timed(*_search(asked))


def _imported() -> None:
    """Import on a rank what is imported here before the clock starts."""
    import sklearn.linear_model
    import sklearn.model_selection  # noqa: F401

    time.sleep(0.2)


def windrow(asked: Asked) -> Measured:
    """By joblib's backend, on 2 ranks."""
    import joblib

    import windrow.ml  # noqa: F401  (registers the backend)

    search, X, y = _search(asked)
    with ranks(), joblib.parallel_config("windrow"):
        joblib.Parallel(n_jobs=2)(joblib.delayed(_imported)() for _ in range(8))
        return _timed(search.set_params(n_jobs=None), X, y)


SYSTEMS = {"scikit-learn": scikit_learn, "windrow-ranks": windrow}
