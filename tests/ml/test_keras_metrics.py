"""Keras metrics of all rows: what is counted in blocks and on shards is added up, for each of Keras's metrics."""

from __future__ import annotations

import keras
import numpy as np
import pytest

import windrow as wr
from windrow.ml import distribute
from windrow.ml.keras.models.recipe import Recipe
from windrow.ml.keras.models.replicas import Replica

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:.*steps an epoch:UserWarning")
ROWS, CLASSES = 700, 4

ONE = {
    "AUC": {},
    "BinaryAccuracy": {},
    "BinaryCrossentropy": {},
    "BinaryIoU": {},
    "Precision": {},
    "Recall": {},
    "FalseNegatives": {},
    "FalsePositives": {},
    "TrueNegatives": {},
    "TruePositives": {},
    "PrecisionAtRecall": {"recall": 0.6},
    "RecallAtPrecision": {"precision": 0.6},
    "SensitivityAtSpecificity": {"specificity": 0.6},
    "SpecificityAtSensitivity": {"sensitivity": 0.6},
    "Accuracy": {},
    "Hinge": {},
    "SquaredHinge": {},
    "Mean": None,
    "Sum": None,
    "MeanMetricWrapper": None,
    "Metric": None,
    "LogCoshError": {},
    "MeanAbsoluteError": {},
    "MeanAbsolutePercentageError": {},
    "MeanSquaredError": {},
    "MeanSquaredLogarithmicError": {},
    "Poisson": {},
    "R2Score": {},
    "RootMeanSquaredError": {},
}
"""Metrics of one output; None: those that take no targets."""
SEVERAL = {
    "CategoricalAccuracy": {},
    "CategoricalCrossentropy": {},
    "CategoricalHinge": {},
    "ConcordanceCorrelation": {},
    "CosineSimilarity": {},
    "F1Score": {"average": "weighted"},
    "FBetaScore": {"average": None},
    "KLDivergence": {},
    "OneHotIoU": {"num_classes": CLASSES, "target_class_ids": [0, 2]},
    "OneHotMeanIoU": {"num_classes": CLASSES},
    "PearsonCorrelation": {},
    "TopKCategoricalAccuracy": {"k": 2},
}
"""Metrics of one-hot classes."""
LABELS = {
    "IoU": {"num_classes": CLASSES, "target_class_ids": [1], "sparse_y_pred": False},
    "MeanIoU": {"num_classes": CLASSES, "sparse_y_pred": False},
    "SparseCategoricalAccuracy": {},
    "SparseCategoricalCrossentropy": {},
    "SparseTopKCategoricalAccuracy": {"k": 2},
}
"""Metrics of labels."""
KINDS = {"one": (ONE, "binary_crossentropy"), "several": (SEVERAL, "categorical_crossentropy")}
KINDS |= {"labels": (LABELS, "sparse_categorical_crossentropy")}


def test_every_metric_of_keras_is_compared():
    base = keras.metrics.Metric
    found = {n for n, m in vars(keras.metrics).items() if isinstance(m, type) and issubclass(m, base)}
    assert found == ONE.keys() | SEVERAL.keys() | LABELS.keys()


FEW = ("AUC", "Precision", "MeanSquaredError")


def made(kind, weighted=False, names=None):
    """A model with the metrics of a kind, weighted or not; a rate of zero leaves it as it is."""
    metrics, loss = KINDS[kind]
    keras.utils.set_random_seed(3)
    last = keras.layers.Dense(1, "sigmoid") if kind == "one" else keras.layers.Dense(CLASSES, "softmax")
    model = keras.Sequential([keras.Input((5,)), last])
    found = [
        getattr(keras.metrics, n)(name=n, **m)
        for n, m in metrics.items()
        if m is not None and n in (metrics if names is None else names)
    ]
    model.compile(keras.optimizers.SGD(0.0), loss, **{"weighted_metrics" if weighted else "metrics": found})
    return model


def rows(kind):
    generator = np.random.default_rng(5)
    X = generator.normal(size=(ROWS, 5)).astype("f4")
    X = X[np.argsort(X[:, 0])]  # blocks differ: some have few of a class
    labels = np.clip(np.round(X[:, 0] + generator.normal(size=ROWS) * 0.5) + 1, 0, CLASSES - 1).astype("i8")
    y = {"one": (labels > 1).astype("f4")[:, None], "several": np.eye(CLASSES, dtype="f4")[labels], "labels": labels}
    return X, y[kind], generator.random(ROWS).astype("f4")


def assert_same(found, wanted):
    assert found.keys() == wanted.keys()
    for name in wanted:
        np.testing.assert_allclose(found[name], wanted[name], rtol=2e-6, atol=1e-6, err_msg=name)


def compare(kind, weighted, names=None):
    X, y, weight = rows(kind)
    w = [weight] if weighted else []
    given = dict(zip(["sample_weight"], w, strict=False))
    targets = y[:, None] if y.ndim == 1 else y
    theirs = made(kind, weighted, names)
    wanted = theirs.evaluate(X, targets, batch_size=ROWS, verbose=0, return_dict=True, **given)
    lazy = wr.from_array(X, chunks=((100, 0, 100, 0, 500, 0), (5,)))  # empty chunks count nothing
    model = distribute(made(kind, weighted, names))
    assert_same(model.evaluate(lazy, y, return_dict=True, **given), wanted)
    keywords = {"batch_size": 60, "shards": 3, "average": 2, "validation_data": (lazy, y, *w), "verbose": 0}
    told = model.fit(X, y, **given, **keywords).history
    assert_same({n: v[0] for n, v in told.items() if not n.startswith("val_")}, wanted)
    assert_same({n.removeprefix("val_"): v[0] for n, v in told.items() if n.startswith("val_")}, wanted)


def test_metrics_are_those_of_all_rows():
    compare("one", True, ("AUC", "Precision", "R2Score"))


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.filterwarnings("ignore:You are passing weight as `float`")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighted", [False, True])
def test_every_metric_is_that_of_all_rows(kind, weighted):
    compare(kind, weighted)


def test_weights_must_weigh_something():
    X, y, _ = rows("one")
    model, lazy = distribute(made("one", names=FEW)), wr.from_array(X, chunks=(100, 5))
    for given in (X, lazy):
        with pytest.raises(wr.BadValue, match=r"evaluate: argument 'sample_weight' is 'zero for every row'"):
            model.evaluate(given, y, sample_weight=np.zeros(ROWS))
        with pytest.raises(wr.BadValue, match=r"fit: argument 'sample_weight' is 'zero for every row'"):
            model.fit(given, y, sample_weight=np.zeros(ROWS), shards=2)


def test_lists_are_in_the_order_of_keras():
    X, y, _ = rows("one")
    model = made("one", names=FEW)
    wanted = model.evaluate(X, y, verbose=0)
    for given in (X, wr.from_array(X, chunks=(100, 5))):
        np.testing.assert_allclose(distribute(made("one", names=FEW)).evaluate(given, y), wanted, rtol=1e-4, atol=1e-5)


def test_class_weights_count_in_weighted_metrics():
    X, y, _ = rows("one")
    weights = {0: 0.2, 1: 3.0}
    by_row = np.where(y[:, 0] > 0, 3.0, 0.2).astype("f4")
    wanted = made("one", True, FEW).evaluate(X, y, sample_weight=by_row, batch_size=ROWS, verbose=0, return_dict=True)
    model = distribute(made("one", True, FEW))
    told = model.fit(X, y, class_weight=weights, shards=3, batch_size=60, average="async").history
    assert_same({n: v[0] for n, v in told.items()}, wanted)


class Largest(keras.metrics.Metric):
    """The largest error: no sum."""

    def __init__(self, name="largest", **keywords):
        super().__init__(name=name, **keywords)
        self.most = self.add_weight(name="most", initializer="zeros")

    def update_state(self, y_true, y_pred, sample_weight=None):
        error = keras.ops.max(keras.ops.abs(keras.ops.cast(y_true, "float32") - y_pred))
        self.most.assign(keras.ops.maximum(self.most, error))

    def result(self):
        return self.most


class Hits(keras.metrics.Metric):
    """How many predictions are near: a sum, beside a number that stays."""

    def __init__(self, name="hits", **keywords):
        super().__init__(name=name, **keywords)
        self.found = self.add_weight(name="found", initializer="zeros")
        self.begin = self.add_weight(name="begin", initializer="ones")

    def update_state(self, y_true, y_pred, sample_weight=None):
        near = keras.ops.abs(keras.ops.cast(y_true, "float32") - y_pred) < 0.5
        self.found.assign_add(keras.ops.sum(keras.ops.cast(near, "float32")))

    def reset_state(self):
        self.found.assign(0.0)
        self.begin.assign(1.0)

    def result(self):
        return self.found / self.begin


def of_users(*metrics):
    keras.utils.set_random_seed(3)
    model = keras.Sequential([keras.Input((5,)), keras.layers.Dense(1, "sigmoid")])
    model.compile(keras.optimizers.SGD(0.0), "mse", metrics=list(metrics))
    return model


def test_metrics_of_users():
    X, y, _ = rows("one")
    lazy = wr.from_array(X, chunks=(100, 5))
    wanted = of_users(Hits(), Largest()).evaluate(X, y, batch_size=ROWS, verbose=0, return_dict=True)
    added = distribute(of_users(Hits()))
    assert_same(added.evaluate(lazy, y, return_dict=True), {n: wanted[n] for n in ("loss", "hits")})
    told = added.fit(lazy, y, shards=3, batch_size=60).history
    assert_same({n: v[0] for n, v in told.items()}, {n: wanted[n] for n in ("loss", "hits")})
    # What doesn't add up is evaluated in order, and told so.
    apart = distribute(of_users(Hits(), Largest()))
    with pytest.warns(UserWarning, match="'largest' keeps doesn't add up over blocks"):
        assert_same(apart.evaluate(lazy, y, return_dict=True), wanted)
    with pytest.warns(UserWarning, match="'largest' keeps doesn't add up over shards"):
        told = apart.fit(lazy, y, shards=3, batch_size=60).history
    assert 0 < told["largest"][0] <= wanted["largest"] * 1.000001
    np.testing.assert_allclose(told["hits"][0], wanted["hits"])


@keras.saving.register_keras_serializable("tests")
class Steps(keras.Model):
    """A model with steps of its own, which tell a number that is no metric."""

    def __init__(self, **keywords):
        super().__init__(**keywords)
        self.dense = keras.layers.Dense(1)

    def call(self, x):
        return self.dense(x)

    def test_step(self, *given):
        found = super().test_step(*given)
        logs = found[0] if isinstance(found, tuple) else found
        logs = {**logs, "twice": logs["loss"] * 2}
        return (logs, *found[1:]) if isinstance(found, tuple) else logs


def test_what_a_step_of_the_users_tells_is_a_mean_over_rows():
    X, y, _ = rows("one")
    keras.utils.set_random_seed(3)
    model = Steps()
    model.compile("sgd", "mse", metrics=[keras.metrics.AUC(name="auc")])
    model(X[:2])
    wanted = model.evaluate(X, y, batch_size=ROWS, verbose=0, return_dict=True)
    assert_same(distribute(model).evaluate(wr.from_array(X, chunks=(100, 5)), y, return_dict=True), wanted)


def test_a_copy_that_has_seen_no_row_tells_what_others_have_counted():
    X, y, _ = rows("one")
    few = tuple(r[:2] for r in (X, y))
    for names in (FEW, ()):  # without metrics there is nothing yet that counts more or less than is told
        model = made("one", names=names)
        wanted = model.evaluate(X, y, batch_size=ROWS, verbose=0, return_dict=True)
        counting, fresh = (Replica(Recipe.of(model).load()) for _ in range(2))
        known = counting.tells(few, lambda: few)
        counting.test((X, y), ROWS)
        assert_same(fresh.collect_metrics(known, {}, counting.counters.sums(), few), wanted)
