"""Keras models on shards: the traps of distributed training, each with the test that guards it."""

from __future__ import annotations

import gc
import io
import threading
import weakref
import zipfile

import keras
import numpy as np
import pytest

from windrow.ml import distribute
from windrow.ml.keras.models.recipe import Recipe
from windrow.ml.keras.models.replicas import Replica, borrow_replica
from windrow.ml.keras.models.state import Variables
from windrow.ml.training.rounds import Rounds

layers = keras.layers
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:.*steps an epoch:UserWarning")


@pytest.fixture(scope="module")
def data():
    generator = np.random.default_rng(0)
    X = generator.random((1024, 5), dtype="f4")
    return X, (X @ np.arange(1, 6, dtype="f4") + 1).astype("f4")


def model_of(stack, optimizer=None, loss="mse", metrics=()):
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((5,)), *stack()])
    model.compile(optimizer=optimizer or keras.optimizers.SGD(0.05), loss=loss, metrics=list(metrics))
    return model


def linear(**more):
    return model_of(lambda: [layers.Dense(1)], **more)


def bits(model):
    return b"".join(w.tobytes() for w in model.get_weights())


def kept_in(path):
    """What the shards of a checkpoint keep: a row of bytes each."""
    with zipfile.ZipFile(path) as archive, np.load(io.BytesIO(archive.read("windrow.npz"))) as found:
        return found["own"]


def test_a_copy_trains_on_the_rows_that_it_is_given_not_on_those_it_had_at_that_address(data):
    """Rows of another fit may lie where those of the one before lay."""
    replica = Replica(linear())
    X, y = data[0].copy(), data[1][:, None].copy()
    start = replica.variables.shared(), replica.variables.own()
    found = []
    for scale in (1, 2, 1):
        X[...] = data[0] * scale
        replica.train(lambda: replica.variables.put(*start), (X, y), 64, np.arange(16), None)
        found.append(bits(replica.model))
    assert found[0] == found[2] != found[1]


def test_a_copy_keeps_no_rows(data):
    X, y = data
    replica = Replica(linear())
    rows = X.copy(), y[:, None].copy()
    watched = [weakref.ref(r) for r in rows]
    replica.train(lambda: None, rows, 64, np.arange(16), None)
    del rows
    gc.collect()
    assert all(ref() is None for ref in watched)


def test_where_rows_lie_in_memory_does_not_change_bits(data):
    """Aligned rows are read in place, others from a copy of their blocks."""
    replica = Replica(linear(optimizer=keras.optimizers.Adam(0.01)))
    start = replica.variables.shared(), replica.variables.own()
    found = []
    for offset in (0, 4, 12):
        raw = np.zeros(data[0].nbytes + 128, np.uint8)
        begin = -raw.__array_interface__["data"][0] % 64 + offset
        X = raw[begin : begin + data[0].nbytes].view("f4").reshape(data[0].shape)
        X[...] = data[0]
        order = np.random.default_rng(1).permutation(16)
        replica.train(lambda: replica.variables.put(*start), (X, data[1][:, None]), 60, order, slice(1020, 1024))
        found.append(bits(replica.model))
    assert len(set(found)) == 1


def test_trap_7_slots_step_counts_and_the_learning_rate_are_not_averaged(data, tmp_path):
    X, y = data
    model = linear(optimizer=keras.optimizers.Adam(0.1))
    assert {w.dtype.kind for w in Variables(model).shared()["weights"]} == {"f"}
    shards = 3  # of 342, 341 and 341 rows: 11 batches each, the last one uneven
    path = tmp_path / "m.keras"
    distribute(model).fit(X, y, batch_size=32, epochs=2, shards=shards, average=4, checkpoint=path)
    assert int(model.optimizer.iterations) == 22
    assert float(model.optimizer.learning_rate) == np.float32(0.1)
    kept = kept_in(path)
    assert len(kept) == shards
    assert len({row.tobytes() for row in kept}) == shards


def test_trap_8_batch_normalisation_has_the_moments_of_all_rows(data):
    """The mean of shards' variances would leave out how far their means lie apart."""
    X, y = data
    X = X + np.repeat([0, 10], 512)[:, None].astype("f4")
    model = model_of(
        lambda: [layers.BatchNormalization(momentum=0.0), layers.Dense(1)], optimizer=keras.optimizers.SGD(0.0)
    )
    distribute(model).fit(X, y, batch_size=512, shards=2, shuffle=False)
    np.testing.assert_allclose(model.layers[0].moving_mean, X.mean(0), rtol=1e-5)
    np.testing.assert_allclose(model.layers[0].moving_variance, X.var(0), rtol=1e-3)
    assert X[:512].var(0).max() < 1 < X.var(0).min()


def test_trap_9_rows_sorted_by_their_label_are_shuffled_over_shards(data):
    X, y = data
    order = np.argsort(y)
    losses = []
    for rows, shuffle in ((order, True), (slice(None), True), (order, False)):
        model = linear(optimizer=keras.optimizers.SGD(0.1))
        distribute(model).fit(X[rows], y[rows], batch_size=8, epochs=8, shards=4, shuffle=shuffle)
        losses.append(np.mean((model.predict(X, verbose=0)[:, 0] - y) ** 2))
    assert losses[0] < 2 * losses[1] < losses[2] / 10, losses


def test_trap_10_a_target_of_one_axis_is_a_column(data):
    X, y = data
    found = []
    for target in (y, y[:, None]):
        model = linear()
        distribute(model).fit(X, target, batch_size=64, shards=2)
        found.append(bits(model))
    assert found[0] == found[1]


def test_trap_10_the_states_of_random_numbers_stay_with_their_shard(data, tmp_path):
    X, y = data
    model = model_of(lambda: [layers.Dropout(0.5), layers.Dense(1)], optimizer=keras.optimizers.SGD(0.0))
    seeds = next(v for v in model.variables if v.path.endswith("seed_generator_state"))
    before = np.asarray(seeds).copy()
    path = tmp_path / "m.keras"
    distribute(model).fit(np.tile(X[:32], (4, 1)), np.tile(y[:32], 4), batch_size=32, shards=4, checkpoint=path)
    assert (np.asarray(seeds)[0] == before[0]).all()  # the first shard's, one step on
    assert len({row.tobytes() for row in kept_in(path)}) == 4


def test_trap_11_callbacks_decide_by_the_metrics_of_all_rows(data):
    """Weighted by rows: shards of 342, 341 and 341, batches of 50 and a rest."""
    X, y = data
    model = linear(optimizer=keras.optimizers.SGD(0.0), metrics=["mae"])
    seen = []
    look = keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: seen.append(dict(logs)))
    distribute(model).fit(X, y, batch_size=50, shards=3, average=3, callbacks=[look], shuffle=False)
    wanted = model.evaluate(X, y[:, None], verbose=0, return_dict=True)
    assert seen[0].keys() == wanted.keys()
    for name, value in wanted.items():
        assert seen[0][name] == pytest.approx(value, rel=1e-5)


def test_callbacks_of_keras_see_averaged_weights_and_metrics(data, tmp_path):
    X, y = data
    callbacks = keras.callbacks
    model = linear()
    given = [
        callbacks.ReduceLROnPlateau(monitor="val_loss", factor=0.5, patience=0, min_delta=1e9),
        callbacks.ModelCheckpoint(tmp_path / "best.keras", monitor="loss", save_best_only=True),
        callbacks.CSVLogger(tmp_path / "log.csv"),
        callbacks.EarlyStopping(monitor="val_loss", patience=2, min_delta=1e9, restore_best_weights=True),
    ]
    firsts = []
    given.append(callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: firsts.append(bits(model))))
    told = distribute(model).fit(
        X, y, batch_size=64, epochs=9, shards=2, validation_data=(X[:100], y[:100]), callbacks=given
    )
    assert told.epoch == [0, 1, 2]
    assert told.history["learning_rate"] == pytest.approx([0.05, 0.05, 0.025])
    assert float(model.optimizer.learning_rate) == pytest.approx(0.0125)
    assert len(set(firsts)) == 3
    assert bits(model) == firsts[0]  # the best by so large a min_delta
    assert bits(keras.models.load_model(tmp_path / "best.keras")) == firsts[np.argmin(told.history["loss"])]
    lines = (tmp_path / "log.csv").read_text().splitlines()
    assert len(lines) == 4
    assert lines[0].startswith("epoch,")


def test_the_learning_rate_that_a_callback_sets_is_taken(data):
    X, y = data
    still = linear()
    rates = keras.callbacks.LearningRateScheduler(lambda epoch, rate: 0.0 if epoch else rate)
    watched = []
    look = keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: watched.append(bits(still)))
    distribute(still).fit(X, y, batch_size=64, epochs=3, shards=2, callbacks=[rates, look])
    assert watched[0] == watched[1] == watched[2] == bits(still)


def test_two_fits_at_a_time_and_models_of_one_configuration_do_not_mix(data):
    X, y = data
    targets = y, y * -3
    wanted = []
    for target in targets:
        model = linear()
        distribute(model).fit(X, target, batch_size=64, epochs=3, shards=2)
        wanted.append(bits(model))
    models = [linear(), linear()]

    def fit(model, target):
        distribute(model).fit(X, target, batch_size=64, epochs=3, shards=2)

    threads = [threading.Thread(target=fit, args=pair) for pair in zip(models, targets, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [bits(m) for m in models] == wanted


def test_a_model_compiled_anew_is_trained_by_its_new_loss(data):
    X, y = data
    found = {}
    model = linear(optimizer=keras.optimizers.SGD(0.0))
    for loss in ("mse", "mae", "mse"):
        model.compile(optimizer=keras.optimizers.SGD(0.0), loss=loss)
        told = distribute(model).fit(X, y, batch_size=64, shards=2).history["loss"][0]
        assert found.setdefault(loss, told) == told
    assert found["mse"] != found["mae"]


def test_copies_are_shared_by_models_of_one_configuration_whatever_their_learning_rate():
    one, other = linear(), linear(optimizer=keras.optimizers.SGD(0.001))
    assert Recipe.of(one).name == Recipe.of(other).name != Recipe.of(linear(loss="mae")).name
    with borrow_replica(Recipe.of(one)) as copy, borrow_replica(Recipe.of(one)) as second:
        assert copy is not second
    with borrow_replica(Recipe.of(other)) as again:
        assert again in (copy, second)


def test_a_second_fit_goes_on_with_the_optimizer(data):
    X, y = data
    runs = []
    for parts in ((4,), (2, 2)):
        model = linear(optimizer=keras.optimizers.SGD(0.01, momentum=0.9))
        for epochs in parts:
            distribute(model).fit(X, y, batch_size=64, epochs=epochs, shards=1, shuffle=False)
        runs.append(bits(model))
    assert runs[0] == runs[1]


@pytest.mark.parametrize("average", ["epoch", 3])
def test_resumed_training_gives_the_weights_of_one_that_never_stopped(data, tmp_path, average):
    X, y = data
    path = tmp_path / "m.keras"

    def fit(epochs, **more):
        model = linear(optimizer=keras.optimizers.Adam(0.02))
        momentum = 0.0 if average == "epoch" else 0.5
        fixed = {"batch_size": 50, "shards": 3, "average": average, "outer_momentum": momentum, "seed": 4}
        told = distribute(model).fit(X, y, epochs=epochs, **fixed, **more)
        return bits(model), told

    wanted, _ = fit(4)
    fit(2, checkpoint=path)
    found, told = fit(4, resume=path)
    assert told.epoch == [2, 3]
    assert found == wanted
    assert keras.models.load_model(path).count_params() == 6


def test_averaging_each_batch_is_one_process_with_a_batch_of_all_shards(data):
    """Gradient averaging, as Horovod does it."""
    X, y = data
    shards, size = 4, 16
    ours, theirs = linear(), linear()
    distribute(ours).fit(
        X, y, batch_size=size, shards=shards, average="batch", shuffle=False, scale_learning_rate=False
    )
    blocks = np.arange(1024).reshape(shards, -1, size).transpose(1, 0, 2).ravel()
    theirs.fit(X[blocks], y[blocks][:, None], batch_size=shards * size, shuffle=False, verbose=0)
    for a, b in zip(ours.get_weights(), theirs.get_weights(), strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-6)


def test_scaling_the_learning_rate_is_a_larger_rate_and_leaves_the_models(data):
    X, y = data
    scaled, large = linear(optimizer=keras.optimizers.SGD(0.01)), linear(optimizer=keras.optimizers.SGD(0.02))
    distribute(scaled).fit(X, y, batch_size=64, shards=2, scale_learning_rate=True)
    distribute(large).fit(X, y, batch_size=64, shards=2, scale_learning_rate=False)
    assert bits(scaled) == bits(large)
    assert float(scaled.optimizer.learning_rate) == np.float32(0.01)


def test_a_batch_size_found_by_measuring_changes_nothing_else(data):
    X, y = data
    model, again = (
        model_of(lambda: [layers.Dropout(0.2), layers.Dense(1)], keras.optimizers.Adam(0.01)) for _ in range(2)
    )
    ours = distribute(model)
    ours.fit(X, y, batch_size="auto", epochs=2, shards=2)
    assert ours.batch_size_ == 32  # of 512 rows a shard, so that there are 16 steps
    distribute(again).fit(X, y, batch_size=ours.batch_size_, epochs=2, shards=2)
    assert bits(model) == bits(again)


@pytest.mark.parametrize("optimizer", [keras.optimizers.Adam(0.02), keras.optimizers.SGD(0.02, momentum=0.9)])
def test_averaged_gradients_are_one_process_with_one_optimizer(data, optimizer):
    X, y = data
    shards, size = 4, 48  # the last batch of each shard has 16 rows
    config = optimizer.get_config()
    ours, theirs = (linear(optimizer=type(optimizer).from_config(config)) for _ in range(2))
    theirs.set_weights(ours.get_weights())
    for _ in range(2):  # the second goes on with the optimizer's slots
        distribute(ours).fit(X, y, batch_size=size, shards=shards, average="gradient", shuffle=False)
        for first in range(0, len(X) // shards, size):
            rows = np.arange(len(X)).reshape(shards, -1)[:, first : first + size].ravel()
            theirs.train_on_batch(X[rows], y[rows][:, None])
    assert int(ours.optimizer.iterations) == int(theirs.optimizer.iterations)
    for a, b in zip(ours.get_weights(), theirs.get_weights(), strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-5)


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_what_was_averaged_before_an_error_is_in_the_model(data, error, monkeypatch):
    X, y = data
    model, whole = linear(), linear()
    distribute(whole).fit(X, y, epochs=1, shards=2)
    epoch = Rounds.epoch

    def fail(self, number, *more):
        if number == 1:
            raise error
        return epoch(self, number, *more)

    monkeypatch.setattr(Rounds, "epoch", fail)
    with pytest.raises(error):
        distribute(model).fit(X, y, epochs=3, shards=2)
    assert bits(model) == bits(whole)


@pytest.mark.parametrize("compiled", [False, True])
def test_large_weights_are_read_where_they_lie_and_steps_leave_them(compiled):
    model = keras.Sequential([keras.Input((200,)), keras.layers.Dense(200)])
    model.compile("adam", "mse")
    copy = Replica(model)
    weights, slots = copy.variables.shared()["weights"], copy.variables.slots()
    large = [a for a in (*weights, *slots) if a.nbytes > 1 << 16]
    assert len(large) == 3
    assert not any(a.flags.owndata for a in large)
    before = [a.copy() for a in large]
    if compiled:
        rows = tuple(np.ones((64, 200), "f4") for _ in range(2))
        copy.train(lambda: None, rows, 32, np.arange(2), None)
    else:
        copy.apply([np.ones_like(w) for w in weights])
    assert all(np.array_equal(a, b) for a, b in zip(large, before, strict=True))
    now = [*copy.variables.shared()["weights"], *copy.variables.slots()]
    assert not any(np.array_equal(a, b) for a, b in zip([a for a in now if a.nbytes > 1 << 16], before, strict=True))
