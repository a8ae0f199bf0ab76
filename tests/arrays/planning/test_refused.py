"""What has no room is refused with who needs it and what would have room."""

from __future__ import annotations

import importlib
import subprocess
import sys

import numpy as np
import pytest

import windrow as wr

explaining = importlib.import_module("windrow.arrays.display.explain")


def refused(act):
    """Return what an error of too little memory tells."""
    with pytest.raises(wr.OutOfMemory) as caught:
        act()
    assert not getattr(caught.value, "__notes__", ())
    return str(caught.value)


FINER = {
    "product of whole rows": (lambda x: (x @ x).sum(), (1500, -1)),
    "median of one chunk": (lambda x: wr.median(x, 0), -1),
}


@pytest.mark.parametrize("name", FINER)
def test_chunks_are_suggested_where_others_follow_from_them(name):
    of, chunks = FINER[name]
    with wr.Cluster(memory="32 MiB", threads=2):

        def make(chunks):
            return of(wr.random.default_rng(0).random((2500, 2500), chunks=chunks))

        told = refused(make(-1).compute)
        suggestion = make(-1).explain().suggestion
        assert told.count(f"what has room: {suggestion}") == 1
        assert told.count("the operation was created at ") == 1
        assert make(suggestion.chunks).explain().fits
        found = make(suggestion.chunks).compute()
    with wr.Cluster(memory="1 GiB", threads=2):
        assert np.allclose(make(chunks).compute(), found)


def test_of_unknown_lengths_it_is_said_why_nothing_is_suggested():
    with wr.Cluster(memory="32 MiB", threads=2):
        x = wr.random.default_rng(0).random((2500, 2500), chunks=-1)
        plan = x[x[:, 0] > 0.5].explain()
        assert plan.suggestion is None
        assert not plan.fits
        (note,) = [note for note in plan.notes if "no other chunks are suggested" in note]
        assert note.startswith("getitem at test_refused.py:")
        assert "its length is found when it runs" in note
        small = wr.random.default_rng(0).random((2500, 2500), chunks=250)
        assert "no other chunks" not in str(small[small[:, 0] > 0.5].explain())


def test_what_needs_all_of_an_array_is_to_blame_for_its_block():
    with wr.Cluster(memory="16 MiB", threads=2):
        told = refused(wr.linalg.eigh(wr.ones((2000, 2000), chunks=500))[0].compute)
        assert told.startswith("eigh: it reads ones in one block, which needs 30.5 MiB; the arena has 16.0 MiB. Give ")
        assert not wr.linalg.eigh(wr.ones((2000, 2000), chunks=500))[0].explain().fits


def test_a_task_larger_than_memory_does_not_fit(monkeypatch):
    def make(chunks):
        return abs(wr.fft.fft(wr.random.default_rng(0).random((4000, 1000), chunks=chunks), axis=1)).sum()

    plan = make((2000, -1)).explain()
    assert plan.fits
    assert plan.suggestion is None
    limit = 100 << 20
    monkeypatch.setattr(explaining, "rank_limit", lambda ranks: limit)
    plan = make((2000, -1)).explain()
    assert not plan.fits
    assert any("a task takes up to " in note for note in plan.notes)
    finer = make(plan.suggestion.chunks).explain()
    assert finer.fits
    assert finer.peak_bytes <= limit < plan.peak_bytes


def test_results_that_the_process_may_not_hold_are_named():
    program = """
import resource, windrow as wr
wr.ones(3).sum().compute()
resource.setrlimit(resource.RLIMIT_DATA, (2 << 30, resource.RLIM_INFINITY))
try:
    wr.zeros((20_000, 20_000)).compute()
except wr.OutOfMemory as error:
    print(error)
assert wr.ones(3).sum().compute() == 3
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100, check=True)
    assert done.stdout.startswith("compute: the result of zeros takes 3.0 GiB, which the system refuses. Reduce it")
