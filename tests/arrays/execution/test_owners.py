"""Where the chunks of persisted arrays are."""

from __future__ import annotations

import json

import numpy as np
import pytest

import windrow as wr

PROGRAM = """
import json
import tempfile
from pathlib import Path

import numpy as np
import windrow as wr
from support.ranks import await_losses, kill_a_rank
from support.waiting import until

def meet(block, folder):
    # Waits until each rank has begun a task: where one comes late, others would have taken all.
    if not folder.exists():  # a chunk is made again
        return block
    (folder / str(wr.arena().rank)).touch()
    until(lambda: len(list(folder.iterdir())) == 3, "all ranks have begun")
    return block

def all_owners():
    return [x.owners().tolist(), small.owners().tolist(), y.owners().tolist()]

def held():
    return [[row["rank"], row["chunks"]] for row in wr.cluster().info()]

x = wr.random.default_rng(0).normal(size=(1200, 800), chunks=(100, 200))
with tempfile.TemporaryDirectory() as folder:
    x = x.map_blocks(meet, folder=Path(folder), dtype=float).persist()
    wr.wait(x)
small = wr.random.default_rng(1).random(100_000, chunks=10).persist()
y = wr.from_array(np.ones((400, 400)), chunks=200).persist()
wr.wait(x, small, y)
sums = [float(x.sum()), float(small.sum()), float(y.sum())]
before, chunks = all_owners(), held()
kill_a_rank()
await_losses()
assert sums == [float(x.sum()), float(small.sum()), float(y.sum())]
print(json.dumps([before, chunks, all_owners(), held(), wr.cluster().losses]))
"""


@pytest.mark.ranks
def test_owners_on_ranks_and_after_a_kill(launch):
    ended = launch(3, "-c", PROGRAM)
    assert ended.status == 0, ended.err[-2000:]
    before, chunks, after, left, losses = json.loads(ended.last)
    x, small, y = map(np.array, before)
    assert (x.shape, small.shape, y.shape) == ((12, 4), (10_000,), (2, 2))
    assert set(x.ravel()) == {0, 1, 2}

    def count(owners):
        everything = np.concatenate([np.ravel(each) for each in owners])
        assert everything.min() >= 0
        return np.bincount(everything, minlength=3).tolist()

    assert dict(chunks) == dict(enumerate(count(before)))
    lost = count(before)[2]
    assert lost
    assert f": {lost} chunks lost, {lost} recomputed" in losses[0]
    assert count(after)[2] == 0
    assert dict(left) == dict(enumerate(count(after)[:2]))
    for old, new in zip(before, after, strict=True):
        stay = np.array(old) != 2
        np.testing.assert_array_equal(np.array(old)[stay], np.array(new)[stay])


def test_owners_of_what_is_on_disk_or_read_in_place():
    with wr.Cluster(threads=1, memory="4 MiB") as cluster:
        large = wr.random.default_rng(0).random((1000, 1000), chunks=100).persist()
        wr.wait(large)
        (row,) = cluster.info()
        assert row["chunks"] == 100
        assert row["arena_used"] < large.nbytes
        np.testing.assert_array_equal(large.owners(), np.zeros((10, 10)))
        assert wr.from_array(np.ones(10), chunks=4).persist().owners().tolist() == [0, 0, 0]
        assert large.sum().persist().owners().shape == ()
    with pytest.raises(wr.ClusterError, match="closed"):
        large.owners()


def test_owners_of_a_file_and_of_what_is_not_there_yet(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(10.0))
    stored = wr.from_npy(tmp_path / "x.npy", chunks=5).persist()
    wr.wait(stored)
    assert stored.owners().tolist() == [0, 0]

    def slow(block):
        import time

        time.sleep(0.2)
        return block

    kept = wr.map_blocks(slow, wr.ones(3, chunks=1), dtype=float).persist()
    found = kept.owners()
    assert found.dtype.kind == "i"
    assert -1 in found.tolist()
    wr.wait(kept)
    assert kept.owners().tolist() == [0, 0, 0]


def test_what_has_no_owners():
    x = wr.ones(3)
    kept = x.persist()
    kept.release()
    for wrong in (x, kept, np.ones(3)):
        with pytest.raises(wr.ArgumentError, match="owners: argument 'array' is"):
            wr.owners(wrong)
