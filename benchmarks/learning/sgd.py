"""`SGDRegressor` on 5,000,000 x 5 float32, 20 epochs; metric: RMSE on 100,000 further rows, whose noise is 0.1."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from measured import Asked, Measured, Values, kept, ranks

EPOCHS = 20


def _data(asked: Asked) -> tuple[Values, Values, Values, Values]:
    generator = np.random.default_rng(1)
    n, held = asked.rows(5_000_000), asked.rows(100_000)
    X = generator.standard_normal((n + held, 5), dtype=np.float32)
    y = X @ np.arange(1, 6, dtype=np.float32) + 0.5
    y += 0.1 * generator.standard_normal(n + held, dtype=np.float32)
    return X[:n], y[:n], X[n:], y[n:]


def _measured(seconds: float, model: Any, X: Values, y: Values) -> Measured:
    assert model.n_iter_ == EPOCHS
    off = X.astype(np.float64) @ np.asarray(model.coef_, np.float64) + model.intercept_ - y
    return Measured(seconds, float(np.sqrt((off**2).mean())))


def scikit_learn(asked: Asked) -> Measured:
    """Scikit-learn's own fit; it uses one core."""
    from sklearn.linear_model import SGDRegressor

    X, y, held_X, held_y = _data(asked)
    begin = time.perf_counter()
    model = SGDRegressor(max_iter=EPOCHS, tol=None, random_state=0).fit(X, y)
    return _measured(time.perf_counter() - begin, model, held_X, held_y)


def windrow(asked: Asked) -> Measured:
    """On 2 ranks, the shuffle of all rows included."""
    with ranks() as wr:
        from windrow.ml.linear_model import SGDRegressor

        X, y, held_X, held_y = _data(asked)
        rows, target = kept(wr, X, y)
        begin = time.perf_counter()
        model = SGDRegressor(max_iter=EPOCHS, tol=None, random_state=0).fit(rows, target)
        return _measured(time.perf_counter() - begin, model, held_X, held_y)


SYSTEMS = {"scikit-learn": scikit_learn, "windrow-ranks": windrow}
