"""A rank's own chunks of a persisted array, and who runs the script: in one process, where rank 0 has all."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import windrow as wr


@pytest.fixture
def cluster():
    with wr.Cluster(threads=2, memory="64 MiB") as made:
        yield made


def test_local_chunks_lie_in_the_arena(cluster):
    x = wr.arange(24.0, chunks=10).reshape(24, 1).persist()
    local = x.local
    assert [chunk.shape for chunk in local] == [(10, 1), (10, 1), (4, 1)]
    assert local.blocks == ((0, 0), (1, 0), (2, 0))
    assert x.local_slices == local.slices == tuple((slice(a, b), slice(0, 1)) for a, b in [(0, 10), (10, 20), (20, 24)])
    np.testing.assert_array_equal(local.joined()[:, 0], np.arange(24.0))
    for chunk in local:
        assert not chunk.flags.writeable
        assert wr.arena().locate(chunk)[0] == 0


def test_chunks_stay_as_long_as_somebody_looks(cluster):
    x = wr.full(100_000, 7.0, chunks=50_000).persist()
    first = x.local[0]
    del x
    gc.collect()
    others = [wr.full(100_000, 10.0 + k, chunks=50_000).persist() for k in range(20)]
    wr.wait(others)
    assert (first == 7).all()
    used = cluster.info()[0]["arena_used"]
    del first
    gc.collect()
    wr.ones(3).sum().compute()
    assert cluster.info()[0]["arena_used"] < used


def test_local_chunks_as_arrow_lie_in_the_arena_too(cluster):
    pytest.importorskip("pyarrow")
    x = wr.arange(24.0, chunks=(10,)).persist()
    chunks = x.local.arrow()
    del x
    gc.collect()
    assert [len(chunk) for chunk in chunks] == [10, 10, 4]
    assert [wr.arena().locate(chunk)[0] for chunk in chunks] == [0, 0, 0]
    assert chunks[1].to_pylist() == list(range(10, 20))
    table = wr.arange(6, chunks=3).reshape(6, 1).persist().local.arrow()
    assert sum(len(chunk) for chunk in table) == 6


@pytest.mark.parametrize("dtype", ["M8[ns]", "?", "c16", [("a", "i4"), ("b", "f8")]], ids=str)
def test_local_chunks_have_the_dtype(cluster, dtype):
    data = np.zeros(10, dtype)
    x = (wr.from_array(data, chunks=4) if isinstance(dtype, list) else wr.zeros(10, dtype=dtype, chunks=4)).persist()
    assert [chunk.dtype for chunk in x.local] == [data.dtype] * 3
    np.testing.assert_array_equal(np.concatenate(list(x.local)), data)


def test_data_handed_in_is_looked_at_where_it_lies(cluster):
    data = np.arange(10.0)
    local = wr.from_array(data, chunks=4).persist().local
    assert np.shares_memory(local[1], data)
    assert not local[1].flags.writeable


def test_owners_of_single_chunks(cluster):
    x = wr.ones((4, 6), chunks=(2, 3)).persist()
    wr.wait(x)
    assert [x.owner(0), x.owner(-1), x.owner((1, 1))] == [0, 0, 0]
    with pytest.raises(wr.ArgumentError, match="owner: argument 'block' is 4; expected an integer from -4 to 3"):
        x.owner(4)
    with pytest.raises(wr.ArgumentError, match=r"owner: argument 'block' is \(1,\); expected an index for each of 2"):
        x.owner((1,))


def test_what_was_not_persisted_has_no_local_chunks():
    with pytest.raises(wr.ArgumentError, match=r"local: .* expected an array that was persisted: y = x.persist\(\)"):
        _ = wr.ones(3).local


def test_an_error_is_raised_where_it_is_looked_at(cluster):
    def wrong(block):
        raise LookupError("of the function")

    x = wr.map_blocks(wrong, wr.ones(4, chunks=2), dtype=float).persist()
    with pytest.raises(LookupError, match="of the function"):
        _ = x.local


def test_one_process_runs_the_script(cluster):
    assert (wr.rank(), wr.size()) == (0, 1)
    comm = wr.comm()
    assert comm is wr.comm()
    assert (comm.rank, comm.size, comm.allreduce(3)) == (0, 1, 3)
    told = wr.map_blocks(lambda block: block + wr.rank() + 10 * wr.size(), wr.zeros(2, chunks=1)).compute()
    assert told.tolist() == [10, 10]
    assert wr.size([1, 2]) == 2


def test_local_of_a_closed_cluster():
    with wr.Cluster(threads=1, memory="64 MiB"):
        kept = wr.ones(4).persist()
        wr.wait(kept)
    with pytest.raises(wr.ClusterError, match="is closed"):
        _ = kept.local


def test_owner_names_itself():
    with pytest.raises(wr.ArgumentError, match=r"^owner\(block\): argument 'array'"):
        wr.ones(4).owner(0)
