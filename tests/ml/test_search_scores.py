"""What a search scores by, and what becomes of trials that fail."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("sklearn")
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.metrics import f1_score, get_scorer, log_loss, make_scorer, mean_absolute_error, roc_auc_score

import windrow as wr
from windrow.ml.search import GridSearch, HalvingSearch, trials
from windrow.ml.search.searches import _all, _plan_halving

ALPHAS = {"alpha": [1e-4, 1e-1]}


@pytest.fixture(scope="module")
def data():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(600, 5))
    y = (X[:, 0] - 0.5 * X[:, 1] + generator.normal(size=600) > 0.5).astype(int)
    held = generator.normal(size=(301, 5))
    return X, y, held, (held[:, 0] > 0.3).astype(int)


def lazy(*arrays, chunk=70):
    return tuple(wr.from_array(a, chunks=(chunk, *a.shape[1:])) for a in arrays)


def own(model, X, y):
    return float(model.coef_.sum()) + len(X)


@pytest.mark.parametrize(
    ("scoring", "wanted"),
    [
        ("accuracy", lambda m, X, y: m.score(X, y)),
        ("neg_log_loss", lambda m, X, y: -log_loss(y, m.predict_proba(X))),
        ("roc_auc", lambda m, X, y: roc_auc_score(y, m.predict_proba(X)[:, 1])),
        ("f1", lambda m, X, y: f1_score(y, m.predict(X))),
        (make_scorer(f1_score, pos_label=0), lambda m, X, y: f1_score(y, m.predict(X), pos_label=0)),
        (own, own),
    ],
)
def test_scores_are_those_of_all_rows(data, scoring, wanted):
    X, y, held, truth = data
    search = GridSearch(SGDClassifier(loss="log_loss"), {"alpha": [1e-3]}, epochs=2, scoring=scoring, shuffle=False)
    search.fit(*lazy(X, y), validation_data=lazy(held, truth, chunk=50))
    assert search.best_score_ == pytest.approx(wanted(search.best_estimator_, held, truth), abs=1e-12)
    assert search.cv_results_["split0_test_score"][0] == search.best_score_


def test_regressors_have_scorers_too(data):
    X, _, held, _ = data
    search = GridSearch(SGDRegressor(), {"alpha": [1e-3]}, epochs=2, scoring="neg_mean_absolute_error")
    search.fit(*lazy(X, X[:, 0]), validation_data=lazy(held, held[:, 0]))
    assert search.best_score_ == pytest.approx(-mean_absolute_error(held[:, 0], search.best_estimator_.predict(held)))


@pytest.mark.parametrize("scoring", [["f1", "accuracy"], {"f1": "f1", "accuracy": get_scorer("accuracy")}])
def test_several_scores(data, scoring):
    X, y, *_ = data
    search = GridSearch(SGDClassifier(), ALPHAS, epochs=2, cv=3, scoring=scoring, refit="f1", seed=1)
    found = search.fit(*lazy(X, y)).cv_results_
    for name in ("f1", "accuracy"):
        alone = GridSearch(SGDClassifier(), ALPHAS, epochs=2, cv=3, scoring=name, seed=1).fit(*lazy(X, y))
        for part in ("split0_test", "split2_test", "mean_test", "std_test", "rank_test"):
            np.testing.assert_array_equal(found[f"{part}_{name}"], alone.cv_results_[f"{part}_score"])
        if name == "f1":
            assert (search.best_params_, search.best_score_) == (alone.best_params_, alone.best_score_)
    assert search.multimetric_
    assert "mean_test_score" not in found


class Fragile(ClassifierMixin, BaseEstimator):
    """Fails as it is told: in training from an epoch on, or in a test."""

    def __init__(self, fails=0, when="fit", good=0.0):
        self.fails, self.when, self.good = fails, when, good

    def partial_fit(self, X, y, classes=None):
        self.classes_, self.seen_ = classes, getattr(self, "seen_", 0) + len(X)
        if self.when == "fit" and self.fails and self.seen_ > self.fails:
            raise RuntimeError(f"broken after {self.fails}")
        return self

    def predict(self, X):
        return np.zeros(len(X), int)

    def score(self, X, y):
        if self.when == "score" and self.fails:
            raise OverflowError("too many")
        return self.good


SPACE = {"fails": [0, 500], "good": [0.1, 0.3]}


@pytest.mark.parametrize("when", ["fit", "score"])
@pytest.mark.parametrize(("shards", "cv"), [(1, None), (1, 3)])
def test_a_failed_trial_has_no_score_and_the_search_goes_on(data, when, shards, cv):
    X, y, *_ = data
    with pytest.warns(FitFailedWarning, match=r"2 of 4 trials failed.*(RuntimeError: broken|OverflowError: too many)"):
        search = GridSearch(Fragile(when=when), SPACE, epochs=3, cv=cv, shards=shards).fit(*lazy(X, y))
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], [0.1, 0.3, np.nan, np.nan])
    assert list(search.cv_results_["rank_test_score"]) == [2, 1, 3, 3]
    assert search.best_params_ == {"fails": 0, "good": 0.3}
    with pytest.warns(FitFailedWarning, match=r"the score -5"):
        told = GridSearch(Fragile(when=when), SPACE, epochs=3, cv=cv, error_score=-5).fit(*lazy(X, y)).cv_results_
    np.testing.assert_allclose(told["mean_test_score"], [0.1, 0.3, -5, -5])
    with pytest.raises((RuntimeError, OverflowError), match=r"broken|too many"):
        GridSearch(Fragile(when=when), SPACE, epochs=3, cv=cv, error_score="raise").fit(*lazy(X, y))


def test_rungs_leave_failed_trials_behind(data):
    X, y, *_ = data
    space = {"fails": [0, 600], "good": [0.1, 0.2, 0.3]}
    with pytest.warns(FitFailedWarning):
        search = HalvingSearch(Fragile(), space, max_epochs=9, n_candidates=6).fit(*lazy(X, y))
    assert search.best_params_ == {"fails": 0, "good": 0.3}
    assert search.history_[0].epochs == 1


class Unbuilt(Fragile):
    """Takes no parameter of .3, and counts how often it was given one."""

    refused = 0

    def set_params(self, **params):
        if params.get("good") == 0.3:
            Unbuilt.refused += 1
            raise RuntimeError("not so good")
        return super().set_params(**params)


def test_what_could_not_be_built_is_not_built_again_in_later_rungs(data):
    X, y, *_ = data
    with pytest.warns(FitFailedWarning, match="RuntimeError: not so good"):
        search = HalvingSearch(
            Unbuilt(), {"good": [0.1, 0.2, 0.3]}, factor=2, max_epochs=4, n_candidates=3, error_score=9, refit=False
        ).fit(*lazy(X, y))
    assert [entry.told[0].error for entry in search.history_ if entry.mean == 9] == ["RuntimeError: not so good"] * 2
    assert Unbuilt.refused == 1


def test_no_rows_and_classes_for_estimators_are_named():
    X, y = np.ones((0, 2)), np.zeros(0, int)
    with pytest.raises(wr.BadValue, match=r"GridSearch.fit: argument 'y' is no labels at all"):
        GridSearch(SGDClassifier(), ALPHAS).fit(*lazy(X, y))
    with pytest.raises(wr.ShapeError, match=r"GridSearch.fit: argument 'X'.*at least one row"):
        GridSearch(SGDRegressor(), ALPHAS).fit(*lazy(X, y * 1.0))
    with pytest.raises(wr.ArgumentError, match=r"'estimator' is the class SGDClassifier; .*such as SGDClassifier\(\)"):
        GridSearch(SGDClassifier, ALPHAS).fit(*lazy(np.ones((9, 2)), np.arange(9) % 2))


def test_tasks_take_blocks_as_far_as_their_bytes_go(monkeypatch):
    monkeypatch.setattr(trials, "BYTES", 10)
    monkeypatch.setattr(trials, "STEPS", 3)
    sizes = [0, 0, 0, 0, 4, 6, 1, 9, 30, 1, 1]
    assert trials._cut(sizes, sizes) == [[0, 0, 0], [0, 4, 6], [1, 9], [30], [1, 1]]


def test_all_trials_failed(data):
    X, y, *_ = data
    with pytest.raises(wr.BadValue, match=r"all 2 trials failed: RuntimeError: broken after 1"):
        GridSearch(Fragile(fails=1), {"good": [0.1, 0.2]}, epochs=1).fit(*lazy(X, y))


def test_wrong_parameters_fail_alone(data):
    X, y, *_ = data
    with pytest.warns(FitFailedWarning, match="1 of 2 trials failed.*InvalidParameterError"):
        search = GridSearch(SGDClassifier(), {"alpha": [1e-4, -1.0]}, epochs=1, shards=2).fit(*lazy(X, y))
    assert search.best_params_ == {"alpha": 1e-4}


def test_patience_is_to_the_epoch():
    plan = _all("fit", 3, 9, 2, None)
    rungs, values = [next(plan)], {1: [0.1, 0.5, 0.9], 2: [0.2, 0.4, 0.9], 3: [0.3, 0.5, 0.9]}
    for epoch in (1, 2, 3):
        left = rungs[-1].candidates
        rungs.append(plan.send([values[epoch][c] for c in left]))
    # Not better for two epochs: the second one's 0.5 again is no better, nor is the third one's 0.9.
    assert [r.candidates for r in rungs] == [[0, 1, 2], [0, 1, 2], [0, 1, 2], [0]]
    assert [r.epochs for r in rungs] == [1, 2, 3, 4]
    plan.send([0.3])
    with pytest.raises(StopIteration):
        plan.send([0.3])


def test_halving_keeps_the_best_and_no_failures():
    plan = _plan_halving([4, 5, 6, 7], [1, 2, 4], 2, 0)
    assert next(plan).candidates == [4, 5, 6, 7]
    assert plan.send([np.nan, 0.2, 0.1, 0.2]).candidates == [5, 7]
    last = plan.send([0.1, 0.1])
    assert (last.candidates, last.epochs) == ([5], 4)


class Order(ClassifierMixin, BaseEstimator):
    """Remembers the order of its rows."""

    def __init__(self, any=0):
        self.any = any

    def partial_fit(self, X, y, classes=None):
        self.classes_ = classes
        self.seen_ = [*getattr(self, "seen_", []), *X[:, 0].astype(int).tolist()]
        return self

    def predict(self, X):
        return np.zeros(len(X), int)


def test_epochs_follow_each_other_in_orders_of_their_own():
    X, y = np.arange(60.0)[:, None], np.arange(60) % 2
    search = GridSearch(Order(), {"any": [0]}, epochs=3, shuffle=False, seed=4, test_size=0.5)
    seen = search.fit(*lazy(X, y, chunk=10)).best_estimator_.seen_
    wanted = []
    for epoch in range(3):
        order = np.random.Generator(np.random.Philox([4, 0, epoch])).permutation(6)
        for place, at in enumerate(order):
            drawn = np.random.Generator(np.random.Philox([4, 0, epoch, place, 0])).permutation(10)
            wanted += (10 * at + drawn).tolist()
    assert seen == wanted


PROGRAM = """
import warnings
import numpy as np
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import SGDClassifier
import windrow as wr

generator = np.random.default_rng(0)
X = generator.normal(size=(2000, 5))
y = (X[:, 0] > 0.2).astype(int)
lazy = wr.from_array(X, chunks=(300, 5)), wr.from_array(y, chunks=300)
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    search = wr.ml.search.GridSearch(SGDClassifier(), {"alpha": [1e-4, -1.0, 1e-2]}, epochs=2, cv=2, scoring="roc_auc")
    found = search.fit(*lazy).cv_results_["mean_test_score"]
assert [w.category for w in told] == [FitFailedWarning], told
warm = wr.ml.Averaged(SGDClassifier(warm_start=True), epochs=2, shards=3, average=2).fit(*lazy).fit(*lazy)
print(found.tolist(), warm.estimator_.coef_.tolist())
"""


@pytest.mark.ranks
@pytest.mark.timeout(300)
def test_on_ranks(launch, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    alone, ranks = launch(0, "program.py"), launch(3, "program.py", limit=150)
    assert alone.status == ranks.status == 0, (alone.err, ranks.err)
    assert alone.last == ranks.last
    assert "nan" in alone.last
