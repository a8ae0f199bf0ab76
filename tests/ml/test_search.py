"""Searches over partial training: against a plain loop, by any cut into chunks, resumed, killed, refused."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
from scipy.stats import loguniform
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression, SGDClassifier, SGDRegressor
from sklearn.metrics import accuracy_score, log_loss, mean_squared_error, r2_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline

import windrow as wr
from windrow.ml import over_rows
from windrow.ml.search import GridSearch, HalvingSearch, Hyperband, RandomSearch
from windrow.ml.search.base import _Rungs

ALPHAS = {"alpha": [1e-4, 1e-2, 1.0]}
TIMES = ("fit_time", "score_time")


def rows(count=600, features=5, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(count, features))
    y = (X[:, 0] - 0.5 * X[:, 1] + 0.3 * generator.normal(size=count) > 0).astype(int)
    return X, y


def lazy(X, y, chunk=100):
    return wr.from_array(X, chunks=(chunk, -1)), wr.from_array(y, chunks=chunk)


def same(one, other, times=False):
    assert one.keys() == other.keys()
    for name in one:
        if times or not any(t in name for t in TIMES):
            assert np.array_equal(np.ma.asarray(one[name]), np.ma.asarray(other[name])), name


def plain(model, X, y, chunks, test, epochs, seed, fold=0):
    """The same training by hand: chunks in their order of each epoch, rows of each chunk in theirs."""
    classes = np.unique(y)
    parts = np.split(np.arange(len(X)), chunks)
    kept = [p for i, p in enumerate(parts) if i not in test]
    for epoch in range(epochs):
        order = np.random.Generator(np.random.Philox([seed, fold, epoch])).permutation(len(kept))
        for place, chosen in enumerate(order):
            own = kept[chosen]
            drawn = np.random.Generator(np.random.Philox([seed, fold, epoch, place, 0])).permutation(len(own))
            model.partial_fit(X[own][drawn], y[own][drawn], classes=classes)
    return model, np.concatenate([parts[i] for i in test])


def test_a_grid_is_what_a_loop_gives():
    X, y = rows()
    search = GridSearch(SGDClassifier(), ALPHAS, epochs=3, cv=3, shuffle=False, seed=7).fit(*lazy(X, y))
    found = search.cv_results_
    for number, alpha in enumerate(ALPHAS["alpha"]):
        for fold in range(3):
            model = SGDClassifier(alpha=alpha, random_state=7)
            cuts = [100, 200, 300, 400, 500]
            model, held = plain(model, X, y, cuts, [2 * fold, 2 * fold + 1], 3, 7, fold)
            assert found[f"split{fold}_test_score"][number] == pytest.approx(model.score(X[held], y[held]), abs=1e-12)
    splits = np.stack([found[f"split{i}_test_score"] for i in range(3)])
    np.testing.assert_array_equal(found["mean_test_score"], splits.mean(axis=0))
    np.testing.assert_array_equal(found["std_test_score"], splits.std(axis=0))
    best = int(np.argmax(found["mean_test_score"]))
    assert found["rank_test_score"][best] == 1
    assert (search.best_index_, search.best_params_) == (best, found["params"][best])
    assert search.best_score_ == found["mean_test_score"][best]
    assert list(found["param_alpha"]) == ALPHAS["alpha"]
    assert (found["mean_fit_time"] > 0).all()
    assert search.n_splits_ == 3


def test_the_best_is_trained_on_all_rows_and_speaks_lazily():
    X, y = rows()
    search = GridSearch(SGDClassifier(loss="log_loss"), ALPHAS, epochs=2, shuffle=False).fit(*lazy(X, y))
    wanted = SGDClassifier(loss="log_loss", **search.best_params_, random_state=0)
    _all_rows(wanted, X, y)
    np.testing.assert_array_equal(search.best_estimator_.coef_, wanted.coef_)
    assert isinstance(search.predict(wr.from_array(X, chunks=(50, -1))), wr.Array)
    np.testing.assert_array_equal(search.predict(wr.from_array(X, chunks=(50, -1))).compute(), wanted.predict(X))
    np.testing.assert_array_equal(search.predict_proba(X), wanted.predict_proba(X))
    assert float(search.score(*lazy(X, y))) == pytest.approx(wanted.score(X, y))
    assert search.score(X, y) == wanted.score(X, y)
    assert list(search.classes_) == [0, 1]
    bare = GridSearch(SGDClassifier(), ALPHAS, epochs=1, refit=False).fit(*lazy(X, y))
    with pytest.raises(AttributeError, match="refit"):
        bare.predict(X)
    assert not hasattr(GridSearch(SGDClassifier(), ALPHAS), "predict_proba")  # of a hinge loss there is none


def _all_rows(model, X, y):
    """Ten chunks: five parts of two, since six chunks don't make whole fifths."""
    parts = np.split(np.arange(len(X)), 10)
    for epoch in range(2):
        order = np.random.Generator(np.random.Philox([0, 0, epoch])).permutation(10)
        for place, chosen in enumerate(order):
            own = parts[chosen]
            drawn = np.random.Generator(np.random.Philox([0, 0, epoch, place, 0])).permutation(len(own))
            model.partial_fit(X[own][drawn], y[own][drawn], classes=[0, 1])


@pytest.mark.parametrize("chunk", [37, 600])
def test_scores_over_chunks_are_those_of_all_rows(chunk):
    X, y = rows()
    held = rows(301, seed=1)
    target, held_target = X @ np.arange(5.0), held[0] @ np.arange(5.0)
    model = SGDRegressor()
    own = {"validation_data": lazy(held[0], held_target, chunk), "scoring": None}
    told = {}
    for scoring in ("score", "loss", lambda t: t["score"] - t["loss"] + len(t["params"]) + t["epochs"]):
        search = GridSearch(model, {"alpha": [1e-4]}, epochs=2, scoring=scoring)
        search.fit(*lazy(X, target), validation_data=own["validation_data"])
        told[str(scoring)[:5]] = search.best_score_
        guess = search.best_estimator_.predict(held[0])
    assert told["score"] == pytest.approx(r2_score(held_target, guess))
    assert told["loss"] == pytest.approx(-mean_squared_error(held_target, guess))
    assert told["<func"] == pytest.approx(told["score"] + told["loss"] + 3)
    classes = SGDClassifier(loss="log_loss")
    for scoring in ("score", "loss"):
        search = GridSearch(classes, {"alpha": [1e-4]}, epochs=2, scoring=scoring)
        search.fit(*lazy(X, y), validation_data=lazy(*held, chunk))
        told[scoring] = search.best_score_
    assert told["score"] == pytest.approx(accuracy_score(held[1], search.predict(held[0])))
    assert told["loss"] == pytest.approx(-log_loss(held[1], search.predict_proba(held[0])))


def test_time_as_the_score():
    search = GridSearch(SGDClassifier(), ALPHAS, epochs=2, scoring="time", cv=2).fit(*lazy(*rows()))
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], -search.cv_results_["mean_fit_time"])


def test_random_points():
    space = {"alpha": loguniform(1e-5, 1.0), "loss": ["hinge", "log_loss"]}
    first, again, other = (
        RandomSearch(SGDClassifier(), space, n_iter=4, epochs=1, seed=s).fit(*lazy(*rows())) for s in (1, 1, 2)
    )
    assert len(first.cv_results_["params"]) == 4
    same(first.cv_results_, again.cv_results_)
    assert first.cv_results_["params"] != other.cv_results_["params"]
    every = RandomSearch(SGDClassifier(), ALPHAS, n_iter=50, epochs=1).fit(*lazy(*rows()))
    assert sorted(every.cv_results_["param_alpha"]) == ALPHAS["alpha"]
    listed = GridSearch(
        SGDClassifier(), [{"alpha": [0.1]}, {"eta0": [1.0, 2.0], "learning_rate": ["constant"]}], epochs=1
    )
    column = listed.fit(*lazy(*rows())).cv_results_["param_eta0"]
    assert column.mask.tolist() == [True, False, False]


class Told(ClassifierMixin, BaseEstimator):
    """Scores as it is told, by the number of epochs; counts what it is trained on."""

    def __init__(self, good=0.0, late=0.0):
        self.good = good
        self.late = late

    def partial_fit(self, X, y, classes=None):
        self.classes_ = classes
        self.seen_ = getattr(self, "seen_", 0) + len(X)
        return self

    def predict(self, X):
        return np.zeros(len(X))

    def score(self, X, y):
        return self.good + self.late * self.seen_ / 480


class Shifting(ClassifierMixin, BaseEstimator):
    """Writes into the rows that it predicts of."""

    def __init__(self, shift=0.5):
        self.shift = shift

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def partial_fit(self, X, y, classes=None):
        self.classes_ = classes
        return self

    def predict(self, X):
        X -= self.shift
        return (X[:, 0] > 0).astype(int)


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_users_estimator_may_write_into_rows_that_it_predicts_of(wrapped):
    X = wr.random.default_rng(0).random((300, 3), chunks=(100, 3)).persist()
    y = (X[:, 0] > 0.5).astype(int)
    if wrapped:
        model = Pipeline([("own", Shifting())]).fit(np.zeros((2, 3)), [0, 1])
        assert (over_rows(model, "predict", X) == y).all().compute()
        return
    search = GridSearch(Shifting(), {"shift": [0.5]}, epochs=1).fit(X, y)
    assert (search.score(X, y), bool((search.predict(X) == y).all())) == (1.0, True)


class UsersOwn(SGDClassifier):
    """An estimator that scikit-learn did not write."""


def _may_write(model, X, y):
    """Return 1 where a score may write into rows of its own, 0 where it looks at blocks in place."""
    return float(X.flags.writeable and y.flags.writeable)


def test_sklearns_trials_look_at_blocks_in_place_but_estimators_and_scorers_of_users_may_write(monkeypatch):
    def scores(estimator, **keywords):
        search = GridSearch(estimator, {"alpha": [1e-4, 1e-3]}, epochs=1, **keywords).fit(*lazy(*rows()))
        return search.cv_results_["mean_test_score"].tolist()

    monkeypatch.setattr(SGDClassifier, "score", _may_write)
    assert scores(SGDClassifier()) == [0.0, 0.0]
    assert scores(SGDClassifier(), scoring=_may_write) == [1.0, 1.0]
    monkeypatch.setattr(UsersOwn, "score", _may_write, raising=False)
    assert scores(UsersOwn()) == [1.0, 1.0]


def test_halving_keeps_the_best():
    space = {"good": [0.0, 5.0, 1.0, 4.0, 2.0, 8.0, 3.0, 7.0, 6.0]}
    search = HalvingSearch(Told(), space, max_epochs=9, n_candidates=9, seed=3).fit(*lazy(*rows()))
    found = search.cv_results_
    assert found["iter"].tolist() == [0] * 9 + [1] * 3 + [2]
    assert found["n_resources"].tolist() == [1] * 9 + [3] * 3 + [9]
    assert sorted(found["param_good"][9:12]) == [6.0, 7.0, 8.0]
    assert found["param_good"][12] == 8.0 == search.best_params_["good"]
    assert search.best_index_ == 12
    assert search.best_estimator_.seen_ == 9 * 600  # all rows
    late = HalvingSearch(Told(late=1.0), {"good": [1.0, 2.0]}, max_epochs=4, factor=2, seed=3).fit(*lazy(*rows()))
    assert late.cv_results_["mean_test_score"].tolist() == pytest.approx(
        [*(g + 1 for g in late.cv_results_["param_good"][:2]), 4.0]
    )


def test_brackets_of_hyperband():
    search = Hyperband(Told(), {"good": loguniform(1e-3, 1.0)}, max_epochs=9, seed=1).fit(*lazy(*rows()))
    found = search.cv_results_
    table = [(b, i, n) for b, i, n in zip(found["bracket"], found["iter"], found["n_resources"], strict=True)]
    counts = {key: table.count(key) for key in sorted(set(table))}
    # The table of the paper for R = 9, eta = 3: s = 2, 1, 0.
    assert counts == {(0, 0, 1): 9, (0, 1, 3): 3, (0, 2, 9): 1, (1, 0, 3): 5, (1, 1, 9): 1, (2, 0, 9): 3}
    finals = [i for i, (b, i_, n) in enumerate(table) if n == 9]
    assert search.best_index_ == max(finals, key=lambda i: found["mean_test_score"][i])


def test_patience_and_threshold():
    # Scores: good alone stays, late rises by itself each epoch.
    space = [{"good": [1.0], "late": [0.0]}, {"good": [0.0], "late": [0.5]}]
    search = GridSearch(Told(), space, epochs=6, patience=2).fit(*lazy(*rows()))
    assert search.cv_results_["n_resources"].tolist() == [3, 6]
    assert search.best_params_ == {"good": 0.0, "late": 0.5}
    search = GridSearch(Told(), space, epochs=6, threshold=1.5).fit(*lazy(*rows()))
    assert search.cv_results_["n_resources"].tolist() == [3, 3]
    search = HalvingSearch(Told(), space, max_epochs=9, threshold=0.5).fit(*lazy(*rows()))
    assert search.cv_results_["iter"].tolist() == [0, 0]


def test_other_estimators():
    X, y = rows()
    words = np.array(["no", "yes"])[y]
    for model, space in (
        (GaussianNB(), {"var_smoothing": [1e-9, 1.0]}),
        (MLPClassifier((4,), learning_rate_init=0.05), {"alpha": [1e-4, 1.0]}),
    ):
        search = GridSearch(model, space, epochs=3).fit(*lazy(X, words))
        assert search.best_score_ > 0.6
        assert search.predict(X[:3]).dtype.kind == "U"


class Growing(Told):
    """Its state grows by far more than the room that there is at first."""

    def partial_fit(self, X, y, classes=None):
        super().partial_fit(X, y, classes)
        self.kept_ = np.zeros(self.seen_ * 20)
        return self


def test_balanced_class_weights_are_those_of_all_rows(tmp_path):
    X, y = rows(800)
    y = np.where(X[:, 0] > 1.0, 2, np.where(X[:, 1] > 2.0, 1, 0))
    shares = dict(enumerate((len(y) / 3 / np.bincount(y)).tolist()))
    grid = {"class_weight": [None, "balanced", shares]}
    how = {"epochs": 2, "cv": 2, "scoring": "balanced_accuracy", "resume": tmp_path}
    search = GridSearch(SGDClassifier(random_state=0), grid, **how).fit(*lazy(X, y))
    scores = search.cv_results_["mean_test_score"]
    assert scores[1] == scores[2] > scores[0]
    assert search.best_params_ == {"class_weight": "balanced"}
    assert search.best_estimator_.class_weight == "balanced"
    again = GridSearch(SGDClassifier(random_state=0), grid, **how).fit(*lazy(X, y))
    np.testing.assert_array_equal(again.cv_results_["mean_test_score"], scores)


def test_models_that_grow():
    search = GridSearch(Growing(late=1.0), {"good": [0.0, 1.0]}, epochs=3).fit(*lazy(*rows()))
    assert search.cv_results_["mean_test_score"].tolist() == [3.0, 4.0]


def test_trials_on_shards():
    X, y = rows()
    one, two = (GridSearch(SGDClassifier(), ALPHAS, epochs=2, shards=s, shuffle=False).fit(*lazy(X, y)) for s in (1, 2))
    assert (two.cv_results_["mean_test_score"] > 0.75).all() or two.best_score_ > 0.85
    assert not np.array_equal(one.best_estimator_.coef_, two.best_estimator_.coef_)
    # An epoch by hand: ten chunks, a shard of a pair each; the average at the end.
    parts = np.split(np.arange(600), 10)
    order = np.random.Generator(np.random.Philox([0, 0, 0])).permutation(5)
    coefs = []
    for shard in range(2):
        model = SGDClassifier(**two.best_params_, random_state=0)
        for place, chosen in enumerate(order):
            own = parts[2 * chosen + shard]
            drawn = np.random.Generator(np.random.Philox([0, 0, 0, place, shard])).permutation(len(own))
            model.partial_fit(X[own][drawn], y[own][drawn], classes=[0, 1])
        coefs.append(model.coef_)
    first = GridSearch(SGDClassifier(), ALPHAS, epochs=1, shards=2, shuffle=False)
    first.param_grid = {name: [value] for name, value in two.best_params_.items()}
    np.testing.assert_allclose(first.fit(*lazy(X, y)).best_estimator_.coef_, np.mean(coefs, axis=0), rtol=1e-12)


def test_numpy_arrays_and_odd_rows_will_do():
    X, y = rows(101)
    search = GridSearch(SGDClassifier(), ALPHAS, epochs=2, cv=4).fit(X.astype(np.float32), y)
    assert search.best_estimator_.coef_.dtype == np.float32 or search.best_score_ > 0.5
    cloned = clone(search)
    assert cloned.get_params()["cv"] == 4
    assert not hasattr(cloned, "best_params_")


class Stopped(Exception):
    pass


SEARCHES = {
    "halving": lambda m, **k: HalvingSearch(m, {"alpha": loguniform(1e-5, 1)}, max_epochs=9, cv=2, **k),
    "band": lambda m, **k: Hyperband(m, {"alpha": loguniform(1e-5, 1)}, max_epochs=4, factor=2, **k),
    "grid": lambda m, **k: GridSearch(m, ALPHAS, epochs=4, patience=4, shards=2, **k),
}
MODELS = {
    "sgd": SGDClassifier(),
    "adam": MLPClassifier((3,), batch_size=50),
    "momentum": MLPClassifier((3,), solver="sgd", learning_rate="invscaling", batch_size=50),
    "balanced": SGDClassifier(class_weight="balanced"),
    "bayes": GaussianNB(),  # is trained again
}


@pytest.mark.parametrize(
    ("kind", "model"),
    [
        ("halving", "sgd"),
        ("band", "sgd"),
        ("grid", "sgd"),
        ("halving", "adam"),
        ("halving", "momentum"),
        ("halving", "balanced"),
        ("halving", "bayes"),
    ],
)
def test_a_stopped_search_goes_on(tmp_path, monkeypatch, kind, model):
    if model == "bayes":
        make = lambda **k: HalvingSearch(GaussianNB(), {"var_smoothing": loguniform(1e-9, 1)}, max_epochs=9, cv=2, **k)  # noqa: E731
    else:
        make = lambda **k: SEARCHES[kind](MODELS[model], **k)  # noqa: E731
    X, y = lazy(*rows())
    wanted = make().fit(X, y)
    train, count = _Rungs._train, [0]

    def stopping(self, rung):
        count[0] += 1
        if count[0] in (3, 5):
            raise Stopped
        return train(self, rung)

    monkeypatch.setattr(_Rungs, "_train", stopping)
    for _ in range(2):
        with pytest.raises(Stopped):
            make(resume=tmp_path / "kept").fit(X, y)
        if model != "bayes":
            assert list((tmp_path / "kept").glob("models-*.npz"))
        if count[0] == 3 and kind == "halving":
            break
    found = make(resume=tmp_path / "kept").fit(X, y)
    same(wanted.cv_results_, found.cv_results_)
    assert wanted.best_params_ == found.best_params_
    trained = count[0]
    again = make(resume=tmp_path / "kept").fit(X, y)  # all of it is known
    assert count[0] == trained
    same(found.cv_results_, again.cv_results_, times=True)


def test_a_cluster_that_is_closed_is_no_trials_failure(tmp_path, monkeypatch):
    X, y = lazy(*rows())
    wanted = SEARCHES["halving"](MODELS["sgd"]).fit(X, y)
    train = _Rungs._train

    def closing(self, rung):
        wr.cluster().close()
        return train(self, rung)

    with wr.Cluster(threads=1):
        X, y = lazy(*rows())
        search = SEARCHES["halving"](MODELS["sgd"], resume=tmp_path / "kept")
        with monkeypatch.context() as patched:
            patched.setattr(_Rungs, "_train", closing)
            with pytest.raises(wr.ClusterError):
                search.fit(X, y)
    X, y = lazy(*rows())
    same(wanted.cv_results_, SEARCHES["halving"](MODELS["sgd"], resume=tmp_path / "kept").fit(X, y).cv_results_)


def test_another_search_is_refused(tmp_path):
    X, y = rows()
    GridSearch(SGDClassifier(), ALPHAS, epochs=1, resume=tmp_path).fit(*lazy(X, y))
    for search, data in (
        (GridSearch(SGDClassifier(), ALPHAS, epochs=2, resume=tmp_path), (X, y)),
        (GridSearch(SGDClassifier(), {"alpha": [1.0]}, epochs=1, resume=tmp_path), (X, y)),
        (GridSearch(SGDClassifier(penalty="l1"), ALPHAS, epochs=1, resume=tmp_path), (X, y)),
        (GridSearch(SGDClassifier(), ALPHAS, epochs=1, resume=tmp_path), (X + 1, y)),
    ):
        with pytest.raises(wr.WindrowError, match="resume"):
            search.fit(*lazy(*data))
    assert set(json.loads((tmp_path / "rung-0000.json").read_text())) == {"candidates", "epochs", "told"}


@pytest.mark.parametrize(
    ("search", "named"),
    [
        (GridSearch(LogisticRegression(), {"C": [1.0]}), "joblib"),
        (GridSearch(SGDClassifier(), {"C": [1.0]}), "'C'"),
        (GridSearch(SGDClassifier(), {"alpha": 1.0}), "param_grid"),
        (GridSearch(SGDClassifier(), {"alpha": []}), "param_grid"),
        (GridSearch(SGDClassifier(), {"alpha": loguniform(1, 2)}), "param_grid"),
        (GridSearch(SGDClassifier(), {}), "param_grid"),
        (GridSearch(SGDClassifier(), [1]), "param_grid"),
        (GridSearch(SGDClassifier(), {1: [2]}), "param_grid"),
        (GridSearch(SGDClassifier(), ALPHAS, epochs=0), "epochs"),
        (GridSearch(SGDClassifier(), ALPHAS, patience=0), "patience"),
        (GridSearch(SGDClassifier(), ALPHAS, scoring="acuracy"), "such as .'accuracy'"),
        (GridSearch(SGDClassifier(), ALPHAS, scoring={"a": "accuracy"}), "refit"),
        (GridSearch(SGDClassifier(), ALPHAS, error_score="none"), "error_score"),
        (GridSearch(SGDClassifier(), ALPHAS, scoring="loss"), "probabilities"),
        (GridSearch(SGDClassifier(), ALPHAS, scoring=lambda told: "good", epochs=1), "scoring"),
        (GridSearch(SGDClassifier(), ALPHAS, cv=1), "cv"),
        (GridSearch(SGDClassifier(), ALPHAS, test_size=0.9), "test_size"),
        (GridSearch(SGDClassifier(), ALPHAS, shards=0), "shards"),
        (GridSearch(SGDClassifier(), ALPHAS, seed=-1), "seed"),
        (GridSearch(SGDClassifier(), ALPHAS, threshold="good"), "threshold"),
        (GridSearch(SGDClassifier(), ALPHAS, cv=601), "rows"),
        (RandomSearch(SGDClassifier(), ALPHAS, n_iter=0), "n_iter"),
        (HalvingSearch(SGDClassifier(), ALPHAS, factor=1), "factor"),
        (HalvingSearch(SGDClassifier(), ALPHAS, min_epochs=3, max_epochs=2), "max_epochs"),
        (Hyperband(SGDClassifier(), ALPHAS, max_epochs=0), "max_epochs"),
    ],
)
def test_bad_input_is_named(search, named):
    with pytest.raises((ValueError, TypeError, wr.WindrowError), match=named):
        search.fit(*lazy(*rows()))


def test_no_rung_warns():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        HalvingSearch(MLPClassifier((3,)), {"alpha": [1e-4, 1.0]}, max_epochs=3).fit(*lazy(*rows()))


PROGRAM = """
import hashlib, sys, threading
import numpy as np
from scipy.stats import loguniform
from sklearn.linear_model import SGDClassifier
import windrow as wr
from support.ranks import kill_a_rank

def rung(told):
    return told["score"]

generator = np.random.default_rng(0)
X = generator.normal(size=(40_000, 8))
y = (X[:, 0] - 0.5 * X[:, 1] + 0.3 * generator.normal(size=len(X)) > 0).astype(int)
X, y = wr.from_array(X, chunks=(4000, -1)), wr.from_array(y, chunks=4000)

search = wr.ml.search.HalvingSearch(SGDClassifier(), {"alpha": loguniform(1e-5, 1.0)}, max_epochs=9, cv=2)
if "kill" in sys.argv:
    threading.Timer(0.3, kill_a_rank).start()
search.fit(X, y)
found = search.cv_results_
told = [found[n] for n in sorted(found) if "time" not in n and n not in ("params", "param_alpha")]
digest = hashlib.sha256(b"".join(np.ascontiguousarray(t).tobytes() for t in told)).hexdigest()
coef = hashlib.sha256(search.best_estimator_.coef_.tobytes()).hexdigest()
print(len(wr.cluster().losses), digest, coef, search.best_params_)
"""


@pytest.mark.ranks
def test_ranks_and_a_kill_give_the_same_table(launch, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    alone, ranks, killed = launch(0, "program.py"), launch(3, "program.py"), launch(3, "program.py", "kill")
    assert alone.status == ranks.status == killed.status == 0, (alone.err, ranks.err, killed.err)
    losses = [done.last[0] for done in (alone, ranks, killed)]
    assert losses == ["0", "0", "1"]
    assert alone.last[1:] == ranks.last[1:] == killed.last[1:]
