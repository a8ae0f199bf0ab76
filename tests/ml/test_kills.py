"""A rank killed in the middle of an epoch, for each kind of model: the same bits as without, each row once an epoch."""

from __future__ import annotations

import pytest

SCRIPT = '''
import hashlib, sys, threading
import numpy as np
import windrow as wr
import windrow.ml.averaging.averaged, windrow.ml.cluster, windrow.ml.decomposition, windrow.ml.estimators.directions
import windrow.ml.linear_model, windrow.ml.estimators.logistic, windrow.ml.naive_bayes, windrow.ml.training.rounds
from sklearn.linear_model import SGDRegressor
from sklearn.neural_network import MLPClassifier
from support.ranks import kill_a_rank
from windrow.ml import Averaged, train

kills, names = sys.argv[1] == "kill", sys.argv[2:]
X = wr.random.default_rng(1).normal(size=(48_000, 6), chunks=(4000, 6)).persist()
y = X[:, 0] - 2 * X[:, 1] + X[:, 2] ** 2
label = (y > 1).astype("i8")
counts = abs(X * 3).astype("i8")
calls, dead = [0], []

def kill():
    dead.append(kill_a_rank(lambda rows: [row for row in rows if row["rank"] not in dead][-1])["rank"])

def watched(function):
    """The third call from here on loses a rank while it runs."""
    def call(*args, **keywords):
        calls[0] += 1
        if kills and calls[0] == AT:
            timer = threading.Timer(0.004, kill)
            timer.start()
            found = function(*args, **keywords)
            timer.join()
            return found
        return function(*args, **keywords)
    return call

for name in ("cluster", "estimators.directions", "linear_model", "estimators.logistic", "naive_bayes"):
    module = sys.modules[f"windrow.ml.{name}"]
    module.total = watched(module.total)
windrow.ml.training.rounds.Rounds.run = watched(windrow.ml.training.rounds.Rounds.run)

def step(state, X, y):
    off = X @ state["w"] - y
    seen = state["seen"] + len(y)
    return {"w": state["w"] - 0.01 * X.T @ off / len(y), "seen": seen}, {"loss": float((off**2).mean())}

def averaged(estimator, target):
    model = Averaged(estimator, epochs=6, shards=4).fit(X, target).estimator_
    # Each of 6 epochs has all rows once; SGD counts from 1.
    assert model.t_ == 6 * 48_000 + (not hasattr(model, "coefs_")), model.t_
    return [*np.ravel(getattr(model, "coef_", 0)), *(c.sum() for c in getattr(model, "coefs_", ()))]

def trained():
    state, history = train(step, {"w": np.zeros(6), "seen": np.zeros(())}, X, y, epochs=6, shards=4, batch_size=100)
    assert float(state["seen"]) == 6 * 12_000, state
    return [*state["w"], *history.history["loss"]]

def attributes(model, *names):
    return np.concatenate([np.ravel(getattr(model, name)) for name in names])

ml = wr.ml
CASES = {
    "sgd": (3, lambda: averaged(SGDRegressor(), y)),
    "mlp": (3, lambda: averaged(MLPClassifier((8,), random_state=0), label)),
    "train": (3, trained),
    "kmeans": (3, lambda: attributes(ml.cluster.KMeans(4, init=np.eye(4, 6), n_init=1, max_iter=6, tol=0).fit(X),
                                     "cluster_centers_", "inertia_")),
    "logistic": (3, lambda: attributes(ml.linear_model.LogisticRegression().fit(X, label), "coef_", "intercept_")),
    "gaussian": (2, lambda: attributes(ml.naive_bayes.GaussianNB().fit(X, label), "theta_", "var_")),
    "multinomial": (1, lambda: attributes(ml.naive_bayes.MultinomialNB().fit(counts, label), "feature_log_prob_")),
    "pca": (1, lambda: attributes(ml.decomposition.PCA(3).fit(X), "components_", "explained_variance_")),
    "linear": (1, lambda: attributes(ml.linear_model.LinearRegression().fit(X, y), "coef_", "intercept_")),
}
for name in names:
    calls[0] = 0
    AT, case = CASES[name]
    found = np.asarray(case(), float)
    assert np.isfinite(found).all()
    assert not kills or calls[0] >= AT, (name, calls)
    print(name, hashlib.sha256(found.tobytes()).hexdigest())
assert len(wr.cluster().losses) == len(dead) == (len(names) if kills else 0)
print("done")
'''

GROUPS = ["mlp kmeans logistic"]
GROUPS += [pytest.param(more, marks=pytest.mark.slow) for more in ("sgd train", "gaussian multinomial", "pca linear")]


@pytest.mark.ranks
@pytest.mark.parametrize("group", GROUPS)
def test_a_rank_killed_in_the_middle(launch, tmp_path, group):
    script, cases = tmp_path / "s.py", group.split()
    script.write_text(SCRIPT)
    plain = launch(0, script, "plain", *cases, limit=90)
    killed = launch(2 + len(cases), script, "kill", *cases, limit=90)
    assert plain.status == killed.status == 0, (plain.err, killed.err)
    found = [[line for line in done.out.splitlines() if line.split()[0] in cases] for done in (plain, killed)]
    assert found[0] == found[1]
    assert len(found[0]) == len(cases)
    assert killed.last == "done"
