"""Small weights averaged by the driver, and by the ranks as larger ones are: seconds of an epoch, the least of some.

mpirun … -n 2 python -m windrow benchmarks/learning/small_states.py
"""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.linear_model import SGDClassifier
from sklearn.neural_network import MLPClassifier

import windrow as wr
from windrow.ml import Averaged
from windrow.ml.training import rounds

MODELS = {
    "SGDClassifier, 21 weights": SGDClassifier(random_state=0),
    "MLPClassifier, 1409 weights": MLPClassifier((64,), batch_size=200, random_state=0),
}


def main() -> None:
    """Print a line for each model."""
    warnings.simplefilter("ignore")
    X = wr.random.default_rng(1).normal(size=(100_000, 20), chunks=(25_000, 20)).persist()
    y = (X[:, 0] > 0).astype(int).persist()
    usual = rounds.SMALL
    for name, model in MODELS.items():
        least = {}
        for _ in range(3):
            for who, small in (("driver", usual), ("ranks", 0)):
                rounds.SMALL = small
                seconds = Averaged(model, epochs=8).fit(X, y).history_.seconds[1:]
                least[who] = min(least.get(who, np.inf), *seconds)
        slower = least["ranks"] / least["driver"] - 1
        print(f"{name}: driver {least['driver']:.3f} s, ranks {least['ranks']:.3f} s, {slower:+.0%}", flush=True)


main()
