"""Handwritten digits: a classifier on shards, and a search for its parameters on the ranks.

scikit-learn's 1797 digits of 8 × 8 points. A network is trained on shards and averaged; its rate is searched for by
successive halving, chunk by chunk; and scikit-learn's own grid search runs its fits side by side through the joblib
backend.

    python examples/digits.py
    mpirun -n 3 python -m windrow examples/digits.py
"""

from __future__ import annotations

import joblib
import numpy as np
from scipy.stats import loguniform
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC

import windrow as wr
from windrow.ml import Averaged, Fitted


def main() -> None:
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X / 16, y, test_size=0.3, random_state=0, stratify=y)
    train, test = wr.from_array(X_train, chunks=(200, -1)), wr.from_array(X_test, chunks=(200, -1))

    network = MLPClassifier((64,), learning_rate_init=0.01, random_state=0)
    model = Averaged(network, epochs=20, shards=3).fit(train, y_train)
    print(f"network on shards: {float(model.score(test, y_test)):.4f}")

    space = {"learning_rate_init": loguniform(1e-4, 1e-1), "alpha": loguniform(1e-6, 1e-2)}
    halving = wr.ml.search.HalvingSearch(network, space, max_epochs=9, seed=1).fit(train, y_train)
    rate, epochs = halving.best_params_["learning_rate_init"], halving.best_epochs_
    print(f"best by halving: rate {rate:.4f}, {float(halving.score(test, y_test)):.4f} after {epochs} epochs")

    with joblib.parallel_config("windrow"):
        search = GridSearchCV(SVC(), {"C": [1, 10, 100], "gamma": [0.03, 0.1, 0.3]}, cv=3).fit(X_train, y_train)
    best = Fitted(search.best_estimator_)
    print(f"best of the search: {search.best_params_}")
    wrong = np.flatnonzero(best.predict(test).compute() != y_test)
    print(f"{len(wrong)} of {len(y_test)} wrong")
    print(f"accuracy {float(best.score(test, y_test)):.4f}")


main()
