"""Traps of training by averages, each with what it guards."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.neural_network import MLPRegressor

import windrow as wr
from windrow.ml import Averaged
from windrow.ml.averaging.averageable import averageable
from windrow.ml.averaging.work import EstimatorWork
from windrow.ml.linear_model import SGDClassifier as Ours
from windrow.ml.linear_model import SGDRegressor as OursRegressor
from windrow.ml.neural_network import MLPClassifier as OursClassifier
from windrow.ml.neural_network import MLPRegressor as OursNetwork
from windrow.ml.training.shuffling import in_order, shuffle_rows
from windrow.ml.training.state import StateLayout
from windrow.ml.training.tasks import Round

pytestmark = pytest.mark.filterwarnings("ignore:.*steps an epoch:UserWarning")


@pytest.fixture(scope="module")
def data():
    generator = np.random.default_rng(7)
    X = generator.normal(size=(601, 3))
    t = X @ [1.0, -2.0, 0.5] + 1
    return X, t, np.digitize(t, [-1.0, 2.0])


def epoch_of(estimator, rows, classes=None, *, shuffle=True):
    """Return the work of an epoch with its starting state."""
    kind = averageable("fit", estimator)
    template = kind.template(estimator, classes, [r[:2] for r in rows], 0)
    return EstimatorWork(template, kind, classes, shuffle, False, (len(rows[0]),), 1), kind, template


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_1_weights_keep_the_dtype_of_the_rows(data, dtype):
    """Float64 weights in a float32 model make its next step fail, and X as float64 takes half as long again."""
    X, t = data[0].astype(dtype), data[1]
    for target in (t, t.astype("f4")):
        model = Averaged(SGDRegressor(), epochs=3, shards=2).fit(wr.from_array(X, chunks=(100, 3)), target)
        assert model.estimator_.coef_.dtype == dtype
        model.estimator_.partial_fit(X, t)
    network = Averaged(MLPRegressor(hidden_layer_sizes=(4,)), epochs=2, shards=2).fit(X, t)
    assert {c.dtype for c in network.estimator_.coefs_} == {np.dtype(dtype)}


def test_1_read_only_weights_are_not_written_to(data):
    """Cython writes into read-only arrays that are assigned as weights: into the average that others read."""
    rows = [data[0], data[1]]
    work, kind, template = epoch_of(SGDRegressor(), rows)
    layout, own = StateLayout.of(kind.state(template)), StateLayout.of(kind.own(template))
    packed = layout.pack(kind.state(template))
    before = packed.tobytes()
    packed.flags.writeable = False
    for r in rows:
        r.flags.writeable = False
    state, _, _ = work(layout.unpack(packed), own.unpack(own.pack(kind.own(template))), Round(0, 0, 0, 0), *rows)
    assert packed.tobytes() == before
    assert state["coef_"].any()
    assert not template.coef_.any()


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("rows", [1, 50, 100_001])
def test_2_each_epoch_and_shard_has_its_own_order(whole, rows):
    """An integer random_state would give each epoch and shard the same permutation."""
    X = np.arange(2.0 * rows).reshape(rows, 2)

    def order(seed, epoch, shard):
        generator = np.random.Generator(np.random.SFC64([seed, epoch, shard]))
        passes = [(a.copy(), b.copy()) for a, b in shuffle_rows([X, X[:, 0]], generator, whole=whole)]
        found = np.concatenate([a for a, _ in passes])
        assert (found[:, 0] == np.concatenate([b for _, b in passes])).all()
        return found

    orders = [order(*key) for key in ((0, 0, 0), (0, 1, 0), (0, 0, 1), (1, 0, 0))]
    for found in orders:
        assert (np.sort(found[:, 0]) == X[:, 0]).all()  # each row once
        assert (found[:, 1] == found[:, 0] + 1).all()
    assert (order(0, 0, 0) == orders[0]).all()
    if rows > 1:
        assert len({found.tobytes() for found in orders}) == 4
    assert (np.concatenate([p[0] for p in in_order([X])]) == X).all()


def test_2_rows_of_a_pass_come_from_all_over():
    """Neighbours of sorted rows must not stay together in a pass."""
    y = np.arange(200_000.0)
    for (some,) in shuffle_rows([y], np.random.default_rng(0)):
        assert abs(some.mean() / y.mean() - 1) < 0.05
        assert abs(np.corrcoef(some[1:], some[:-1])[0, 1]) < 0.05


def test_2_epochs_differ_although_the_estimator_has_a_random_state(data):
    rows = [data[0], data[1]]
    work, kind, template = epoch_of(SGDRegressor(random_state=32), rows)
    made = [
        work(copy.deepcopy(kind.state(template)), {}, Round(*at, 0), *rows)[0]["coef_"]
        for at in ((0, 0, 0), (1, 0, 0), (0, 0, 1), (0, 0, 0))
    ]
    assert (made[0] == made[3]).all()
    assert (made[0] != made[1]).any()
    assert (made[0] != made[2]).any()


@pytest.mark.parametrize("random_state", [None, 3])
def test_2_networks_start_from_the_same_weights(data, random_state):
    """The average of networks that start apart is none of them."""
    network = MLPRegressor(hidden_layer_sizes=(5,), solver="sgd", learning_rate_init=1e-12, random_state=random_state)
    found = Averaged(network, epochs=1, shards=3, seed=3).fit(data[0], data[1]).estimator_
    alone = MLPRegressor(hidden_layer_sizes=(5,), solver="sgd", learning_rate_init=1e-12, random_state=3)
    for ours, theirs in zip(found.coefs_, alone.partial_fit(data[0], data[1]).coefs_, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-8)


def test_3_the_step_count_is_one_on_uneven_shards(data):
    """Learning rates fall with t_: shards of 4, 3 and 3 rows must not drift apart, and t_ counts all rows."""
    model = Averaged(SGDRegressor(), epochs=2, shards=3).fit(data[0][:10], data[1][:10]).estimator_
    assert model.t_ == 1 + 2 * 10


def test_3_balanced_weights_are_those_of_all_rows(data):
    """A shard knows the classes of its own rows only; partial_fit refuses "balanced"."""
    X, _, k = data
    weights = dict(enumerate(len(k) / (3 * np.bincount(k))))
    found = [
        Averaged(SGDClassifier(class_weight=w), epochs=2, shards=3).fit(X, k).estimator_.coef_
        for w in ("balanced", weights, None)
    ]
    assert (found[0] == found[1]).all()
    assert (found[0] != found[2]).any()


def test_3_tol_is_a_matter_of_all_shards(data):
    """Within partial_fit tol does nothing: epochs end by the score on all rows."""
    X, t, _ = data
    assert OursRegressor(max_iter=60, tol=1e-3, n_iter_no_change=2).fit(wr.from_array(X), t).n_iter_ < 60
    assert OursRegressor(max_iter=9, tol=None).fit(wr.from_array(X), t).n_iter_ == 9
    for wrong in ({"early_stopping": True}, {"learning_rate": "adaptive"}):
        with pytest.raises(wr.ArgumentError, match=next(iter(wrong))):
            OursRegressor(**wrong).fit(wr.from_array(X), t)


@pytest.mark.parametrize("average", [True, 10])
def test_4_scikit_learns_own_averages_are_refused(data, average):
    """With average=True coef_ is a mean that no step starts from."""
    with pytest.raises(wr.ArgumentError, match="'average'"):
        Averaged(SGDRegressor(average=average)).fit(data[0], data[1])


def test_5_classes_are_those_of_all_rows(data):
    """The last chunk alone has a fourth class."""
    X, _, k = data
    y = k.copy()
    y[-5:] = 9
    model = Averaged(SGDClassifier(), epochs=1, shards=2).fit(wr.from_array(X, chunks=(100, 3)), y)
    assert (model.classes_ == [0, 1, 2, 9]).all()
    assert model.estimator_.coef_.shape == (4, 3)


def test_5_a_shard_without_a_class_does_not_push_it_away():
    """Rows of an absent class would only be pushed to large negatives, and the average after them."""
    generator = np.random.default_rng(0)
    y = np.repeat([0, 1, 0, 1, 2], [20, 20, 10, 10, 20])
    X = np.eye(3)[y] * 3 + generator.normal(size=(80, 3)) * 0.1
    steady = {"learning_rate": "constant", "eta0": 0.1}
    with pytest.warns(UserWarning, match="shard 0 of 2 has no rows of class 2"):
        model = Averaged(SGDClassifier(**steady), epochs=1, shards=2, shuffle=False).fit(X, y).estimator_
    alone = SGDClassifier(shuffle=False, **steady).partial_fit(X[40:], y[40:], classes=[0, 1, 2])
    np.testing.assert_allclose(model.coef_[2], alone.coef_[2] / 2, rtol=1e-12)
    np.testing.assert_allclose(model.intercept_[2], alone.intercept_[2] / 2, rtol=1e-12)


def test_6_shards_weigh_by_their_rows(data):
    X, t = data[0][:5], data[1][:5]
    steady = {"learning_rate": "constant", "eta0": 0.1}
    model = Averaged(SGDRegressor(**steady), epochs=1, shards=2, shuffle=False).fit(X, t).estimator_
    parts = [SGDRegressor(shuffle=False, **steady).partial_fit(X[a:b], t[a:b]) for a, b in ((0, 3), (3, 5))]
    np.testing.assert_allclose(model.coef_, 0.6 * parts[0].coef_ + 0.4 * parts[1].coef_, rtol=1e-12)


@pytest.mark.parametrize("rows", [2, 3, 7])
def test_6_more_shards_than_rows(data, rows):
    """partial_fit raises on no rows: there are no empty shards."""
    model = Averaged(SGDRegressor(), epochs=2, shards=5).fit(
        wr.from_array(data[0][:rows], chunks=(1, 3)), data[1][:rows]
    )
    assert np.isfinite(model.estimator_.coef_).all()
    y = np.arange(rows) % 2
    assert set(Averaged(SGDClassifier(), epochs=2, shards=5).fit(data[0][:rows], y).predict(data[0])) <= {0, 1}


@pytest.mark.parametrize("kind", [OursClassifier, OursNetwork])
def test_6_drop_in_networks(data, kind):
    X, t, k = data
    model = kind(hidden_layer_sizes=(8,), learning_rate_init=0.02, max_iter=25, random_state=1)
    lazy, y = wr.from_array(X, chunks=(100, 3)), k if kind is OursClassifier else t
    assert float(model.fit(lazy, y).score(lazy, y)) > 0.8
    assert model.n_iter_ == len(model.history_.epoch) <= 25
    assert isinstance(model.predict(X), np.ndarray)


def test_7_slots_stay_with_their_shards(data):
    """Adam's moments are a shard's own, through all epochs; only weights are averaged."""
    X, t = data[0][:400], data[1][:400]
    network = MLPRegressor(hidden_layer_sizes=(4,), random_state=0, batch_size=50, shuffle=False)
    ours = Averaged(network, epochs=3, shards=2, shuffle=False, scale_learning_rate=False).fit(X, t).estimator_
    alone = [MLPRegressor(hidden_layer_sizes=(4,), random_state=0, batch_size=50, shuffle=False) for _ in range(2)]
    for _ in range(3):
        for i, one in enumerate(alone):
            one.partial_fit(X[i * 200 : i * 200 + 200], t[i * 200 : i * 200 + 200])
        for name in ("coefs_", "intercepts_"):
            means = [(a + b) / 2 for a, b in zip(*(getattr(one, name) for one in alone), strict=True)]
            for one in alone:
                for kept, mean in zip(getattr(one, name), means, strict=True):
                    kept[...] = mean  # its optimiser holds on to these arrays
    for mine, theirs in zip(ours.coefs_, alone[0].coefs_, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9)


def test_9_sorted_rows_need_the_global_shuffle():
    """Contiguous shards of rows that are sorted by class know one class each."""
    generator = np.random.default_rng(1)
    y = np.repeat(np.arange(4), 300)
    X = np.eye(4)[y] * 3 + generator.normal(size=(1200, 4))
    mixed = Averaged(SGDClassifier(), epochs=5, shards=4).fit(X, y).score(X, y)
    with pytest.warns(UserWarning, match="shuffle=True"):
        apart = Averaged(SGDClassifier(), epochs=5, shards=4, shuffle=False).fit(X, y).score(X, y)
    assert mixed > 0.9
    assert apart < mixed - 0.02


def test_12_no_global_random_numbers_are_drawn(data):
    """What the driver draws from a shared generator would shift what others draw."""
    X, t, k = data
    np.random.seed(5)
    state = np.random.get_state()[1].copy()
    first = [Averaged(SGDRegressor(), epochs=2, shards=2).fit(X, t).estimator_.coef_]
    first.append(Averaged(MLPRegressor(hidden_layer_sizes=(3,)), epochs=2, shards=2).fit(X, t).estimator_.coefs_[0])
    first.append(Ours(max_iter=2, tol=None).fit(wr.from_array(X), k).coef_)
    assert (np.random.get_state()[1] == state).all()
    np.random.seed(6)
    again = [Averaged(SGDRegressor(), epochs=2, shards=2).fit(X, t).estimator_.coef_]
    again.append(Averaged(MLPRegressor(hidden_layer_sizes=(3,)), epochs=2, shards=2).fit(X, t).estimator_.coefs_[0])
    again.append(Ours(max_iter=2, tol=None).fit(wr.from_array(X), k).coef_)
    assert all((a == b).all() for a, b in zip(first, again, strict=True))


@pytest.mark.parametrize("odd", [{"batch_size": 0}, {"batch_size": -3}, {"solver": "foo"}])
@pytest.mark.parametrize("average", ["epoch", "gradient"])
def test_parameters_that_scikit_learn_refuses_are_refused(odd, average):
    from sklearn.neural_network import MLPClassifier
    from sklearn.utils._param_validation import InvalidParameterError

    from windrow.ml import Averaged

    X = wr.random.default_rng(1).normal(size=(40, 2), chunks=(10, 2))
    with pytest.raises(InvalidParameterError, match=next(iter(odd))):
        Averaged(MLPClassifier(**odd), average=average, epochs=1).fit(X, X[:, 0] > 0)


def test_shuffle_is_true_or_false():
    from sklearn.linear_model import SGDClassifier

    from windrow.ml import Averaged, train

    X = wr.random.default_rng(1).normal(size=(40, 2), chunks=(10, 2))
    with pytest.raises(wr.ArgumentError, match="fit: argument 'shuffle' is 'no'"):
        Averaged(SGDClassifier(), shuffle="no").fit(X, X[:, 0] > 0)
    with pytest.raises(wr.ArgumentError, match="train: argument 'shuffle' is 'no'"):
        train(lambda w, X: w, np.zeros(2), X, shuffle="no")
