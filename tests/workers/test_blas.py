"""BLAS's threads while tasks run, and after."""

from __future__ import annotations

from types import SimpleNamespace

from windrow.workers.rank import blas


class Library:
    """What threadpoolctl has for a library."""

    def __init__(self, filepath, threads):
        self.filepath, self.num_threads = filepath, threads

    def set_num_threads(self, threads):
        self.num_threads = threads


def test_a_library_that_is_loaded_while_tasks_run_gets_its_threads_back(monkeypatch):
    first, second = Library("first", 4), Library("second", 8)
    loaded = [first]
    monkeypatch.setattr(blas, "_find_libraries", lambda modules: [SimpleNamespace(lib_controllers=loaded)])
    monkeypatch.setattr(blas, "_libraries", blas._Libraries())
    early, late, stages = blas.BlasLimit(), blas.BlasLimit(), [SimpleNamespace(whole=True)]
    early.before(stages)
    loaded.append(second)
    late.before(stages)
    assert (first.num_threads, second.num_threads) == (1, 1)
    late.after()
    assert (first.num_threads, second.num_threads) == (1, 1)
    early.after()
    assert (first.num_threads, second.num_threads) == (4, 8)
