"""scikit-learn's estimators and metrics on lazy arrays, by its array API dispatch."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import windrow as wr

pytest.importorskip("sklearn")

RNG = np.random.default_rng(7)
X = RNG.normal(size=(90, 4)) + 3.0
Y = np.repeat([0, 1, 2], 30)
X[Y == 1] += 1.5
X[Y == 2, 1] -= 2.0
TARGET = X @ np.array([1.0, -2.0, 0.5, 3.0]) + RNG.normal(size=90)
GUESS = np.where(RNG.random(90) < 0.2, (Y + 1) % 3, Y)


def _fitted(estimator, *attributes, transform="transform", y=None):
    def run(x, target):
        model = estimator()
        model.fit(x, *([] if y is None else [target(y)]))
        return [getattr(model, transform)(x), *(getattr(model, name) for name in attributes)]

    return run


def _cases():
    from sklearn.decomposition import PCA
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.linear_model import Ridge
    from sklearn.metrics import accuracy_score, euclidean_distances, mean_squared_error, r2_score
    from sklearn.naive_bayes import GaussianNB
    from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, StandardScaler

    def randomized():
        return PCA(2, svd_solver="randomized", power_iteration_normalizer="QR", random_state=0)

    return {
        "StandardScaler": _fitted(StandardScaler, "mean_", "var_"),
        "MinMaxScaler": _fitted(MinMaxScaler, "data_min_", "data_max_"),
        "MaxAbsScaler": _fitted(MaxAbsScaler, "max_abs_"),
        "Normalizer": _fitted(Normalizer),
        "PCA full": _fitted(lambda: PCA(2, svd_solver="full"), "components_", "explained_variance_"),
        "PCA randomized": _fitted(randomized, "components_", "explained_variance_"),
        "PCA covariance_eigh": _fitted(lambda: PCA(2, svd_solver="covariance_eigh"), "components_"),
        "Ridge": _fitted(lambda: Ridge(solver="svd"), "coef_", "intercept_", transform="predict", y=TARGET),
        "LDA": _fitted(LinearDiscriminantAnalysis, "means_", y=Y),
        "GaussianNB": _fitted(GaussianNB, "theta_", "var_", transform="predict_proba", y=Y),
        "accuracy_score": lambda x, to: [accuracy_score(to(Y), to(GUESS))],
        "r2_score": lambda x, to: [r2_score(to(TARGET), to(TARGET + X[:, 0]))],
        "mean_squared_error": lambda x, to: [mean_squared_error(to(TARGET), to(TARGET + X[:, 0]))],
        "euclidean_distances": lambda x, to: [euclidean_distances(x, x[:5])],
    }


NAMES = (
    "StandardScaler", "MinMaxScaler", "MaxAbsScaler", "Normalizer", "PCA full", "PCA randomized", "PCA covariance_eigh",
    "Ridge", "LDA", "GaussianNB", "accuracy_score", "r2_score", "mean_squared_error", "euclidean_distances",
)  # fmt: skip


def check(name, chunks):
    """Run one case on lazy arrays and on NumPy's, and compare."""
    import sklearn

    case = _cases()[name]
    expected = case(X, np.asarray)
    with sklearn.config_context(array_api_dispatch=True):
        found = case(wr.from_array(X, chunks=chunks), lambda a: wr.from_array(a, chunks=chunks))
    for got, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(np.asarray(got), wanted, rtol=1e-7, atol=1e-9)
    return found


@pytest.fixture(scope="module")
def outcomes():
    """What each case said, in a process in which SciPy was imported with its dispatch on."""
    done = subprocess.run(
        [sys.executable, __file__],
        env=os.environ | {"SCIPY_ARRAY_API": "1", "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return dict(line.split("\t", 1) for line in done.stdout.splitlines())


@pytest.mark.parametrize("chunks", ["-1", "40"])
@pytest.mark.parametrize("name", NAMES)
def test_results_are_those_of_numpy(outcomes, name, chunks):
    assert outcomes[f"{name} {chunks}"] == "ok"


if __name__ == "__main__":
    import traceback
    import warnings

    for name in NAMES:
        for chunks in ("-1", "40"):
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                try:
                    made = check(name, int(chunks))
                    lazy = all(isinstance(m, wr.Array) for m in made[:1] if np.ndim(m))
                    said = "ok" if lazy else "not lazy"
                except Exception as error:
                    said = f"{type(error).__name__}: {error}".replace("\n", " | ")
                    if "-v" in sys.argv:
                        traceback.print_exc()
            print(f"{name} {chunks}\t{said}")
