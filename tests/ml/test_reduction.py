"""States that are reduced on the ranks: the bits of the driver's mean, what the driver reads, a rank killed at it."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from sklearn.linear_model import SGDRegressor
from sklearn.neural_network import MLPRegressor

import windrow as wr
from windrow.ml import Averaged, train
from windrow.ml.training import reduction
from windrow.ml.training import rounds as rounds_module
from windrow.ml.training.averages import outer_update
from windrow.ml.training.rounds import Rounds
from windrow.ml.training.shards import cut_shards
from windrow.ml.training.tasks import RoundMetrics

START = {
    "w": np.linspace(0, 1, 40_001, dtype="f4"),
    "z": np.zeros(5, "c8"),
    "half": np.ones(3, "f2"),
    "n": np.zeros((2, 2), np.int32),
    "on": np.array(False),
}


def work(state, own, at, X):
    """Give states whose mean rounds."""
    some = np.float32(X.sum() / 7)
    new = {
        "w": state["w"] * np.float32(0.9) + some,
        "z": state["z"] + np.complex64(some * 1j),
        "half": state["half"] + np.float16(some),
        "n": state["n"] + at.shard,
        "on": state["on"] | (at.shard == 1),
    }
    rows = 0.0 if at.shard == at.number else float(len(X))
    return new, {"seen": own["seen"] + X.sum()}, RoundMetrics(rows, {"some": float(some)})


@pytest.mark.parametrize("outer", [None, (0.5, 0.7, True)])
def test_a_reduction_on_the_ranks_has_the_bits_of_the_drivers_mean(monkeypatch, outer):
    parts = cut_shards("test", [np.random.default_rng(1).normal(size=(31, 3))], 3, True, 0)
    monkeypatch.setattr(reduction, "LEAST_PART", 4096)
    found = []
    for limit in (1 << 30, 0):
        monkeypatch.setattr(rounds_module, "SMALL", limit)
        update = None if outer is None else outer_update(START, *outer)
        rounds = Rounds(work, START, {"seen": np.zeros(2)}, parts, 0, ("some",), update=update)
        assert (limit == 0) == (not rounds.small)
        told = [rounds.run(0, number) for number in range(18)]
        state = rounds.state
        found.append(
            ([state[name].tobytes() for name in START], rounds.owns.tobytes(), [t.means["some"] for t in told])
        )
        assert state["n"][0, 0] >= 2
        assert bool(state["on"])
    assert found[0] == found[1]


def test_lineage_is_cut_after_some_rounds(monkeypatch):
    monkeypatch.setattr(rounds_module, "SMALL", 0)
    monkeypatch.setattr(rounds_module, "KEPT_ROUNDS", 4)
    parts = cut_shards("test", [np.random.default_rng(1).normal(size=(31, 3))], 3, True, 0)
    rounds = Rounds(work, START, {"seen": np.zeros(2)}, parts, 0, ("some",))
    depths = []
    for number in range(12):
        rounds.run(0, number)
        behind = rounds._state
        depths.append(0 if isinstance(behind, np.ndarray) else wr.stage_graph(behind).number_of_nodes())
    assert 0 < depths[0] < depths[1] < depths[2], "a round is made from those before it"
    assert depths[3] == 0, "the driver has read the state"
    assert depths == depths[:4] * 3


@pytest.mark.parametrize("nesterov", [False, True])
def test_outer_steps_are_those_of_the_papers(nesterov):
    """BMUF, and NBM, which goes on from where the momentum leads (Chen and Huo, 2016)."""
    momentum, rate = 0.6, 0.8
    X = np.arange(8.0)[:, None]

    def step(w, X):
        return w * 0.5 + X.mean()

    given = {"outer_momentum": momentum, "outer_learning_rate": rate, "outer_nesterov": nesterov}
    found, _ = train(step, np.zeros(1), X, epochs=6, shards=2, batch_size=4, shuffle=False, **given)
    whole, start, speed = 0.0, 0.0, 0.0
    for _ in range(6):
        mean = np.mean([start * 0.5 + 1.5, start * 0.5 + 5.5])
        speed = momentum * speed + rate * (mean - start)
        whole = whole + speed
        start = whole + momentum * speed if nesterov else whole
    np.testing.assert_allclose(found, start, rtol=1e-12)


def test_outer_steps_leave_counts_alone():
    X = np.random.default_rng(1).normal(size=(400, 2))
    model = Averaged(SGDRegressor(), epochs=3, shards=2, average=20, outer_momentum=0.3).fit(X, X[:, 0])
    assert model.estimator_.t_ == 1 + 3 * 400
    for name, value in (("outer_momentum", 1.0), ("outer_learning_rate", 0), ("outer_nesterov", 2)):
        with pytest.raises(wr.ArgumentError, match=name):
            Averaged(SGDRegressor(), **{name: value}).fit(X, X[:, 0])


def gradient(state, X, y):
    """Give the gradient of a mean square, and the loss."""
    off = X @ state["w"] - y
    return {"g": 2 * X.T @ off / len(y)}, {"loss": float((off**2).mean())}


def adam(state, gradient):
    """Make a step of Adam's."""
    t, g = state["t"] + 1, gradient["g"]
    m, v = 0.9 * state["m"] + 0.1 * g, 0.999 * state["v"] + 0.001 * g**2
    step = 0.1 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
    return {"w": state["w"] - step, "m": m, "v": v, "t": t}


@pytest.mark.parametrize("limit", [1 << 20, 0])
def test_averaged_gradients_are_one_process(monkeypatch, limit):
    monkeypatch.setattr(rounds_module, "SMALL", limit)
    X = np.random.default_rng(1).normal(size=(302, 3))
    y = X @ [1.0, -2.0, 0.5]
    start = {"w": np.zeros(3), "m": np.zeros(3), "v": np.zeros(3), "t": 0}
    how = {"average": "gradient", "update": adam, "shuffle": False}
    ours, history = train(gradient, start, X, y, epochs=3, batch_size=50, shards=3, **how)
    theirs, borders = start, np.cumsum([0, 101, 101, 100])
    for _ in range(3):
        for first in (0, 50, 100):  # the last batches have a row, a row and none
            rows = np.concatenate([np.arange(a, b)[first : first + 50] for a, b in pairwise(borders)])
            theirs = adam(theirs, gradient(theirs, X[rows], y[rows])[0])
    np.testing.assert_allclose(ours["w"], theirs["w"], rtol=1e-10)
    assert ours["t"] == 9
    assert history.history["loss"][-1] < history.history["loss"][0]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("how", [{"solver": "adam"}, {"solver": "sgd", "momentum": 0.9}])
def test_networks_averaged_by_gradients_are_one_process(how, weighted):
    generator = np.random.default_rng(1)
    X = generator.normal(size=(302, 3))
    y, weight = X @ [1.0, -2.0, 0.5], generator.random(302) if weighted else None
    network = MLPRegressor(hidden_layer_sizes=(5,), alpha=0.5, batch_size=60, random_state=0, **how)
    ours = Averaged(network, epochs=3, shards=3, shuffle=False, average="gradient").fit(X, y, sample_weight=weight)
    fresh = MLPRegressor(hidden_layer_sizes=(5,), alpha=0.5, batch_size=60, random_state=0, shuffle=False, **how)
    for _ in range(3):
        for k in range(6):
            parts = [(at, n * k // 6, n * (k + 1) // 6) for at, n in ((0, 101), (101, 101), (202, 100))]
            rows = np.concatenate([np.arange(begin, end) + at for at, begin, end in parts])
            fresh.set_params(batch_size=len(rows))
            fresh.partial_fit(X[rows], y[rows], **({} if weight is None else {"sample_weight": weight[rows]}))
    for a, b in zip(ours.estimator_.coefs_, fresh.coefs_, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-9)


def test_estimators_that_step_by_rows_have_no_gradient():
    with pytest.raises(wr.ArgumentError, match="only MLPClassifier and MLPRegressor"):
        Averaged(SGDRegressor(), average="gradient").fit(np.ones((4, 1)), np.arange(4.0))
    network = MLPRegressor(solver="sgd", learning_rate="invscaling")
    with pytest.raises(wr.ArgumentError, match="learning_rate"):
        Averaged(network, average="gradient").fit(np.ones((4, 1)), np.arange(4.0))


def test_gradients_of_integers_are_averaged():
    def count(state, X):
        return {"n": X.astype(int).sum(axis=0), "any": X[0] > 0}

    def take(state, gradient):
        return {"n": gradient["n"].astype(float), "any": gradient["any"].astype(float)}

    start = {"n": np.zeros(1), "any": np.zeros(1)}
    X = np.array([[1.0], [4.0], [0.0], [0.0]])
    found, _ = train(count, start, X, average="gradient", update=take, batch_size=4, shards=2, shuffle=False)
    assert (found["n"].tolist(), found["any"].tolist()) == ([2.5], [0.5])


def test_what_gradients_need_is_said():
    with pytest.raises(wr.ArgumentError, match="update"):
        train(gradient, {"w": np.zeros(1)}, np.ones((4, 1)), np.ones(4), average="gradient")
    with pytest.raises(wr.ArgumentError, match="update"):
        train(gradient, {"w": np.zeros(1)}, np.ones((4, 1)), np.ones(4), update=adam)
    with pytest.raises(wr.ArgumentError, match="outer_momentum"):
        train(gradient, START, np.ones((4, 1)), average="gradient", update=adam, outer_momentum=0.5)


SCRIPT = """
import hashlib, os, signal, sys
import numpy as np
import windrow as wr
import windrow.ml.training.rounds as rounds
from sklearn.linear_model import SGDClassifier
from sklearn.neural_network import MLPRegressor
from windrow.ml import Averaged, train

driver, folder, execution = os.getpid(), sys.argv[1], sys.modules["windrow.arrays.execution.compute"]
evaluate, read = execution.evaluate, [0]

def counted(exprs):
    found = evaluate(exprs)
    read[0] += sum(a.nbytes for a in found)
    return found

execution.evaluate = counted
X = wr.random.default_rng(1).normal(size=(3000, 4), chunks=(500, 4))
y = X[:, 0] - 2 * X[:, 1]
SIZE = 400_000

def step(w, X, y):
    if folder != "-" and os.getpid() != driver and w[0] != 0:
        try:
            os.close(os.open(folder + "/killed", os.O_CREAT | os.O_EXCL))
            import windrow.workers.kernels.blocks.statistics.averages as averages
            averages.mean_states = lambda *given: os.kill(os.getpid(), signal.SIGKILL)
        except FileExistsError:
            pass
    return w * np.float32(0.9) + np.float32(X.sum()) + 1, {"size": float(abs(X).max())}

X = X.persist()
w, history = train(step, np.zeros(SIZE, "f4"), X, y, epochs=5, shards=4, batch_size=1000)
assert SIZE * 4 <= read[0] < SIZE * 4 + 100_000, read
kinds = [w, np.array(history.history["size"])]
rounds.SMALL = 0
network = MLPRegressor(hidden_layer_sizes=(8,), random_state=0)
for estimator, target in ((SGDClassifier(), (y > 0).astype("i8")), (network, y)):
    model = Averaged(estimator, epochs=2, shards=4).fit(X, target).estimator_
    kinds += [*getattr(model, "coefs_", ()), getattr(model, "coef_", w)]
print(hashlib.sha256(b"".join(np.ascontiguousarray(k).tobytes() for k in kinds)).hexdigest(), len(wr.cluster().losses))
"""


@pytest.mark.ranks
def test_the_same_bits_on_any_ranks_and_after_a_kill_amid_a_reduction(launch, tmp_path):
    script = tmp_path / "s.py"
    script.write_text(SCRIPT)
    runs = [launch(n, script, "-") for n in (0, 3)] + [launch(4, script, str(tmp_path))]
    assert [done.status for done in runs] == [0] * 3, [done.err for done in runs]
    assert len({done.last.split()[0] for done in runs}) == 1
    assert [done.last.split()[1] for done in runs] == ["0", "0", "1"]
