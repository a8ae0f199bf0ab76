"""The backend of joblib."""

from __future__ import annotations

import pickle
import threading
import time

import joblib
import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline

import windrow as wr
import windrow.ml
from support.waiting import until
from windrow.ml.linear_model import LogisticRegression as Logistic
from windrow.ml.linear_model import SGDClassifier as OnShards
from windrow.ml.preprocessing import MinMaxScaler, StandardScaler
from windrow.scheduler.session.cluster import session
from windrow.workers.wire.task_messages import BoardMessage


def parallel(n_jobs=2, **keywords):
    return joblib.Parallel(backend="windrow", n_jobs=n_jobs, **keywords)


def equal_results(one, other):
    assert one.keys() == other.keys()
    for name in one:
        if "time" not in name:
            assert np.array_equal(np.asarray(one[name]), np.asarray(other[name])), name


@pytest.mark.parametrize("order", ["C", "F"])
def test_grid_search_is_the_same(order):
    X, y = make_classification(3000, 10, random_state=0)
    X = np.asarray(X, order=order)
    search = GridSearchCV(SGDClassifier(max_iter=5, tol=None, random_state=0), {"alpha": [1e-4, 1e-2, 1.0]}, cv=3)
    wanted = search.fit(X, y).cv_results_
    with joblib.parallel_config("windrow"):
        equal_results(wanted, search.fit(X, y).cv_results_)


def test_other_users_of_joblib():
    X, y = make_classification(400, 8, random_state=0)
    model = SGDClassifier(max_iter=5, tol=None, random_state=0)
    random = RandomizedSearchCV(model, {"alpha": [1e-4, 1e-2, 1.0]}, n_iter=2, cv=3, random_state=0)
    forest = RandomForestClassifier(20, random_state=0, n_jobs=-1)
    wanted = random.fit(X, y).cv_results_, cross_val_score(model, X, y), forest.fit(X, y).predict_proba(X)
    with joblib.parallel_config("windrow"):
        found = random.fit(X, y).cv_results_, cross_val_score(model, X, y), forest.fit(X, y).predict_proba(X)
    equal_results(wanted[0], found[0])
    assert (wanted[1] == found[1]).all()
    np.testing.assert_allclose(wanted[2], found[2], rtol=1e-12)  # its trees are summed up in the order they end


def test_results_come_in_order_and_in_batches():
    def what(i):
        return i, threading.get_ident()

    found = parallel()(joblib.delayed(what)(i) for i in range(300))
    assert [i for i, _ in found] == list(range(300))
    seen = {thread for _, thread in found}
    assert 1 <= len(seen) <= wr.cluster().threads
    assert threading.get_ident() not in seen


def test_generators():
    ordered = parallel(return_as="generator")(joblib.delayed(pow)(i, 2) for i in range(50))
    assert next(ordered) == 0
    assert list(ordered) == [i**2 for i in range(1, 50)]
    found = parallel(return_as="generator_unordered")(joblib.delayed(pow)(i, 2) for i in range(50))
    assert sorted(found) == [i**2 for i in range(50)]


def test_errors_come_back_and_the_cluster_goes_on():
    def broken(i):
        if i == 3:
            raise KeyError(i)
        return np.full(100_000, i)

    with pytest.raises(KeyError) as caught:
        parallel()(joblib.delayed(broken)(i) for i in range(6))
    assert "in broken" in caught.value.__notes__[-1]
    found = parallel()(joblib.delayed(broken)(i) for i in range(3))
    assert [int(a[0]) for a in found] == [0, 1, 2]
    assert float(wr.ones(3).sum()) == 3.0


class Odd(Exception):
    def __init__(self, one, two):
        super().__init__(one)
        self.lock = threading.Lock()


def test_what_cannot_travel_is_named():
    def odd():
        raise Odd(1, 2)

    with pytest.raises(wr.WindrowError, match="Odd: 1"):
        parallel()(joblib.delayed(odd)() for _ in range(2))
    with pytest.raises(wr.WindrowError, match="can't be pickled"):
        parallel()(joblib.delayed(threading.Lock)() for _ in range(2))
    lock = threading.Lock()
    with pytest.raises(TypeError, match="pickle"):
        parallel()(joblib.delayed(id)(lock) for _ in range(2))


def test_failing_fits_are_scored_as_scikit_learn_does():
    X, y = make_classification(100, 5, random_state=0)
    search = GridSearchCV(SGDClassifier(random_state=0), {"alpha": [1e-3, -1.0]}, cv=2, error_score=-1.0)
    with joblib.parallel_config("windrow"), pytest.warns(match="fits failed"):
        found = search.fit(X, y).cv_results_["mean_test_score"]
    assert found[0] > 0
    assert found[1] == -1


def test_results_of_any_size():
    records = session().calls.provided(BoardMessage).board.records
    before = set(records)
    found = parallel()(joblib.delayed(np.full)(n, 1.0) for n in (10, 1 << 13, 1 << 20))
    assert [a.sum() for a in found] == [10, 1 << 13, 1 << 20]
    deadline = time.monotonic() + 5
    while set(records) - before and time.monotonic() < deadline:
        session().transport.wake()
        time.sleep(0.01)
    assert set(records) <= before


def test_equal_calls_are_each_made():
    found = parallel(batch_size=1)(joblib.delayed(time.perf_counter)() for _ in range(20))
    assert len(set(found)) == 20


def test_large_arguments_are_sent_once_and_read_only():
    table = np.arange(100_000.0)

    def total(x, i):
        return float(x.sum() + i), x.flags.writeable

    found = parallel()(joblib.delayed(total)(table, i) for i in range(4))
    assert found == [(table.sum() + i, False) for i in range(4)]
    with parallel() as kept:
        first = kept(joblib.delayed(np.sum)(table) for _ in range(2))
        table[:] = 1
        assert kept(joblib.delayed(np.sum)(table) for _ in range(2)) == [100_000.0] * 2 != first


@pytest.mark.parametrize("order", ["C", "F"])
def test_mapped_files_are_written_to(tmp_path, order):
    out = np.memmap(tmp_path / "out", np.float64, "w+", shape=(4, 3), order=order)

    def put(target, i):
        target[i] = i

    parallel()(joblib.delayed(put)(out, i) for i in range(4))
    assert out.tolist() == [[i] * 3 for i in range(4)]


def test_calls_within_calls():
    def inner(i):
        return joblib.Parallel(n_jobs=2)(joblib.delayed(pow)(i, k) for k in range(3))

    def same(i):
        return parallel()(joblib.delayed(pow)(i, k) for k in range(3))

    for function in (inner, same):
        found = parallel()(joblib.delayed(function)(i) for i in range(4))
        assert found == [[1, i, i * i] for i in range(4)]


def test_threads_of_libraries():
    from threadpoolctl import threadpool_info

    def threads():
        return {(info["user_api"], info["num_threads"]) for info in threadpool_info()}

    before = threads()
    assert all(
        found == {("blas", 1), ("openmp", 1)} for found in parallel()(joblib.delayed(threads)() for _ in range(4))
    )
    with joblib.parallel_config("windrow", inner_max_num_threads=3):
        assert all(
            found == {("blas", 1), ("openmp", 3)}
            for found in joblib.Parallel()(joblib.delayed(threads)() for _ in range(4))
        )
    until(lambda: threads() == before, threads)


def users_of_joblib(X, y, jobs):
    """Return what parts of scikit-learn that use `Parallel` find, by name."""
    model, on_shards = Logistic(tol=1e-3), OnShards(max_iter=3, tol=None, random_state=0)
    grid = {"C": [0.1, 1.0], "class_weight": [None, "balanced"]}
    random = {"n_iter": 2, "cv": 3, "random_state": 0, "n_jobs": jobs}
    steps = [("scaled", StandardScaler(), [0, 1]), ("kept", MinMaxScaler(), [2])]
    return {
        "scores": cross_val_score(make_pipeline(StandardScaler(), model), X, y, cv=3, n_jobs=jobs),
        "predictions": cross_val_predict(model, X, y, cv=3, n_jobs=jobs),
        "grid": GridSearchCV(model, grid, cv=3, n_jobs=jobs).fit(X, y).cv_results_["mean_test_score"],
        "random": RandomizedSearchCV(on_shards, {"alpha": [1e-4, 1.0]}, **random).fit(X, y).best_score_,
        "columns": ColumnTransformer(steps, n_jobs=jobs).fit_transform(X),
    }


def test_calls_that_hold_lazy_arrays_are_made_by_the_driver():
    X, y = make_classification(600, 4, random_state=0)
    lazy = wr.from_array(X, chunks=(200, 4)), wr.from_array(y, chunks=200)
    wanted = users_of_joblib(*lazy, 1)
    with joblib.parallel_config("windrow"):
        found = users_of_joblib(*lazy, 2)
    for name, values in wanted.items():
        np.testing.assert_array_equal(np.asarray(found[name]), np.asarray(values), err_msg=name)
    assert parallel()(joblib.delayed(on_the_driver)(x) for x in (lazy[0], X)) == [True, False]


def on_the_driver(rows):
    """Tell whether a call runs on a thread of the driver, not on a compute thread."""
    return threading.current_thread().name.startswith("windrow-joblib")


def test_other_backends_name_the_one_that_takes_lazy_arrays():
    x = wr.from_array(np.arange(12.0).reshape(6, 2), chunks=(2, 2))
    y = wr.asarray([0, 1] * 3)
    with pytest.raises(pickle.PicklingError) as caught, joblib.parallel_config("loky"):
        cross_val_score(SGDClassifier(max_iter=5, tol=None), x, y, cv=2, n_jobs=2)
    assert "within joblib.parallel_config('windrow'), after import windrow.ml" in str(caught.value.__cause__)
    with joblib.parallel_config("windrow"):
        assert len(cross_val_score(SGDClassifier(max_iter=5, tol=None), x, y, cv=2, n_jobs=2)) == 2


def test_numbers_of_jobs():
    most = wr.cluster().size * wr.cluster().threads
    backend = windrow.ml.joblib_backend.WindrowBackend()
    assert [backend.effective_n_jobs(n) for n in (None, -1, 1, 10**6)] == [most, most, 1, most]
    with pytest.raises(ValueError, match="no meaning"):
        backend.effective_n_jobs(0)


PROGRAM = """
import os, sys, threading, time
import joblib, numpy as np
from sklearn.datasets import make_classification
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import GridSearchCV
import windrow as wr, windrow.ml
from support.ranks import kill_a_rank

X, y = make_classification(6000, 20, random_state=0)
search = GridSearchCV(SGDClassifier(max_iter=40, tol=None, random_state=0), {"alpha": np.logspace(-5, 0, 8)}, cv=3)
wanted = search.fit(X, y).cv_results_["mean_test_score"]
def where(i):
    time.sleep(0.02)
    return os.getpid()
pids = joblib.Parallel(backend="windrow", batch_size=1)(joblib.delayed(where)(i) for i in range(12))
threading.Timer(0.1, kill_a_rank).start()
with joblib.parallel_config("windrow"):
    found = search.fit(X, y).cv_results_["mean_test_score"]
big = joblib.Parallel(backend="windrow")(joblib.delayed(np.full)(50_000, float(i)) for i in range(4))
from windrow.ml.linear_model import LogisticRegression
rows = [wr.from_array(a, chunks=(2000, *a.shape[1:])) for a in (X, y)]
lazy = GridSearchCV(LogisticRegression(tol=1e-2), {"C": [1e-3, 1.0]}, cv=3)
wanted = wanted.tolist() + lazy.fit(*rows).cv_results_["mean_test_score"].tolist()
with joblib.parallel_config("windrow"):
    found = found.tolist() + lazy.fit(*rows).cv_results_["mean_test_score"].tolist()
print(len(set(pids)), wanted == found, len(wr.cluster().losses), [a[0] for a in big])
"""


@pytest.mark.ranks
def test_a_rank_is_killed_amid_a_search(launch, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    done = launch(3, "program.py", limit=90)
    assert done.status == 0, done.err
    assert done.last == "3 True 1 [np.float64(0.0), np.float64(1.0), np.float64(2.0), np.float64(3.0)]"


LOST = """
import os, signal
import joblib, numpy as np
import windrow as wr, windrow.ml
from windrow.ml.joblib_backend import WindrowBackend

retrieve = WindrowBackend.retrieve_result_callback
def kill_first(self, batch):
    for rank in batch._record.holders - {0} if not wr.cluster().losses else ():
        os.kill(wr.cluster().info()[rank]["pid"], signal.SIGKILL)
    return retrieve(self, batch)
WindrowBackend.retrieve_result_callback = kill_first
found = joblib.Parallel(backend="windrow", batch_size=1)(joblib.delayed(np.full)(50_000, float(i)) for i in range(4))
print(len(wr.cluster().losses), all(a.sum() == 50_000 * i for i, a in enumerate(found)))
"""


@pytest.mark.ranks
def test_a_large_result_that_is_lost_is_made_again(launch, tmp_path):
    (tmp_path / "program.py").write_text(LOST)
    done = launch(3, "program.py", limit=60)
    assert done.status == 0, done.err
    assert done.last == "1 True"


INTERRUPTED = """
import os, signal, threading, time
import joblib
import windrow as wr, windrow.ml

threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
begin = time.monotonic()
try:
    joblib.Parallel(backend="windrow", n_jobs=2)(joblib.delayed(time.sleep)(0.2) for _ in range(1000))
except KeyboardInterrupt:
    took = time.monotonic() - begin
    print(took < 60, joblib.Parallel(backend="windrow", n_jobs=2)(joblib.delayed(pow)(i, 2) for i in range(3)))
"""


@pytest.mark.ranks
@pytest.mark.parametrize("ranks", [0, 2])
def test_an_interrupt_ends_a_call(launch, tmp_path, ranks):
    (tmp_path / "program.py").write_text(INTERRUPTED)
    done = launch(ranks, "program.py", limit=60)
    assert done.status == 0, done.err
    assert done.last == "True [0, 1, 4]"
