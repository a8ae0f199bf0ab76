"""Which rank's arena a function computes with, and what lies where in it, on the embedded engine."""

from __future__ import annotations

import dataclasses
import threading
from itertools import pairwise

import numpy as np
import pytest

import windrow as wr


def place_of(found, size):
    return np.array([*(found or (-1, -1)), size])


def test_the_drivers_own_arena():
    with wr.Cluster(threads=1, memory="4 MiB") as cluster:
        own = wr.arena()
        (row,) = cluster.info()
        assert (own.rank, own.size, own.window) == (0, row["arena_size"], None)
        assert row["window"] is None
        assert own == wr.arena()
        assert "_mapped" not in repr(own)
        with pytest.raises(dataclasses.FrozenInstanceError):
            own.rank = 1


def test_blocks_are_located():
    def look(block):
        return place_of(wr.arena().locate(block), block.nbytes)[None]

    def rows(x, **keywords):
        made = wr.map_blocks(look, x, dtype=np.int64, chunks=((1,) * x.npartitions, (3,)), new_axis=1, **keywords)
        return made.compute().tolist()

    with wr.Cluster(threads=2):
        x = (wr.arange(1_000_000, chunks=200_001) * 2).persist()
        places = rows(x)
        assert places == rows(x, blocks="arrow")
        assert [rank for rank, *_ in places] == [0] * 5
        assert all(at % 64 == 0 for _, at, _ in places)
        ordered = sorted((at, at + size) for _, at, size in places)
        assert all(end <= begin for (_, end), (begin, _) in pairwise(ordered))
        flags = (x > 5).persist()
        assert rows(flags)[0][0] == 0
        assert rows(flags, blocks="arrow")[0][:2] == [-1, -1], "bits are a copy"


def test_parts_of_blocks_and_tensors():
    def look(block, block_id):
        own = wr.arena()
        rank, at = own.locate(block)
        assert own.address + at == block.__array_interface__["data"][0]
        assert own.locate(block[1:]) == (rank, at + block.strides[0])
        assert own.locate(block[::-1, ::2]) == (rank, at)
        assert own.locate(block[:0]) is None
        assert own.locate(block.copy()) is None
        return np.full(block.shape, at)

    def look_at_tensors(block):
        rank, at = wr.arena().locate(block)
        assert wr.arena().locate(block[1:]) == (rank, at + 400)
        return np.full((len(block), *block.type.shape), at)

    def look_in_vain(block):
        return np.full(block.shape, wr.arena().locate(block) is None)

    x = (wr.ones((90, 100), chunks=(30, 50)) + 1).persist()
    assert wr.map_blocks(look_in_vain, wr.ones(100, chunks=50), dtype=bool).all(), "what is made in the same pass"
    assert not wr.map_blocks(look_in_vain, x[7:], dtype=bool).any(), "rows of chunks are contiguous"
    for moved in (x.T, x.rechunk((45, 100))):
        assert wr.map_blocks(look_in_vain, moved, dtype=bool).all(), "other parts are brought together"
    found = wr.map_blocks(look, x, dtype=np.int64).compute()
    np.testing.assert_array_equal(found, wr.map_blocks(look_at_tensors, x, dtype=np.int64, blocks="arrow").compute())


def test_what_the_driver_is_handed_in_place():
    pa = pytest.importorskip("pyarrow")
    with wr.Cluster(threads=1):
        x = wr.arange(1000.0).persist()
        wr.wait(x)
        rank, at = wr.arena().locate(wr.to_arrow(x))
        assert (rank, at % 64) == (0, 0)
        assert wr.arena().locate(x.compute()) is None
        for made in ([1, None, 3], ["a", "bc"], [True, None], [], [None], [[1, 2], [3]], [{"a": 1}]):
            assert wr.arena().locate(pa.array(made)) is None, made


def test_each_cluster_has_its_own():
    def look(block):
        return place_of(wr.arena().locate(block), wr.arena().size)[None]

    def ask(x):
        return wr.map_blocks(look, x, dtype=np.int64, chunks=((1,), (3,)), new_axis=1)

    with wr.Cluster(threads=1, memory="4 MiB") as outer:
        x = wr.ones(1000).persist()
        first = ask(x).persist()
        wr.wait(first)
        with wr.Cluster(threads=1, memory="8 MiB"):
            assert wr.arena().size == 8 << 20
            assert ask(wr.ones(1000).persist()).compute()[0, ::2].tolist() == [0, 8 << 20]
        assert wr.arena().size == outer.info()[0]["arena_size"] == 4 << 20
        assert first.compute()[0, ::2].tolist() == [0, 4 << 20]


def test_a_thread_of_a_function_asks_too():
    def look(block):
        found = []
        thread = threading.Thread(target=lambda: found.append(wr.arena().locate(block)))
        thread.start()
        thread.join()
        return place_of(found[0], block.nbytes)[None]

    with wr.Cluster(threads=1):
        x = wr.ones(1000).persist()
        made = wr.map_blocks(look, x, dtype=np.int64, chunks=((1,), (3,)), new_axis=1)
        assert made.compute()[0, 0] == 0


NO_BLOCKS = {
    "none": None,
    "a number": 3,
    "a list": [1.0],
    "a text": "x",
    "a lazy array": wr.ones(3),
    "a scalar": np.float64(1),
    "a buffer": memoryview(b"abc"),
}


@pytest.mark.parametrize("wrong", NO_BLOCKS.values(), ids=NO_BLOCKS)
def test_what_is_no_block(wrong):
    with pytest.raises(wr.ArgumentError, match=r"locate: argument 'block' is .*; expected a NumPy array or a pyarrow"):
        wr.arena().locate(wrong)
