"""Stored chunks of sources: each is decoded once, whatever blocks need of it."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import windrow as wr

DATA = np.random.default_rng(3).random((48, 20, 12))
CHUNKS = (12, 20, 6)


class Stored:
    """Compressed chunks, which are decoded whole."""

    shape, dtype, ndim, chunks = DATA.shape, DATA.dtype, 3, CHUNKS

    def __init__(self):
        self.decoded, self._lock = (
            np.zeros([-(-n // c) for n, c in zip(DATA.shape, CHUNKS, strict=True)], int),
            threading.Lock(),
        )

    def __reduce__(self):
        raise TypeError("it stays where it is")

    def __getitem__(self, key):
        touched = tuple(slice(s.start // c, -(-s.stop // c)) for s, c in zip(key, CHUNKS, strict=True))
        with self._lock:
            self.decoded[touched] += 1
        return DATA[key]


OPERATIONS = {
    "as it is": (lambda x: x + 1, DATA + 1),
    "sum": (lambda x: x.sum(0), DATA.sum(0)),
    "pencils": (lambda x: x.rechunk((-1, 5, 3)) * 2, DATA * 2),
    "pencils, reduced": (lambda x: x.rechunk((-1, 5, 3)).std(0), DATA.std(0)),
    "transposed": (lambda x: (x.T.rechunk(5) + 1).sum(0), (DATA.T + 1).sum(0)),
    "median": (lambda x: wr.median(x, axis=0), np.median(DATA, axis=0)),
    "quantiles": (lambda x: wr.quantile(x, [0.1, 0.9], axis=0), np.quantile(DATA, [0.1, 0.9], axis=0)),
    "sorted": (lambda x: wr.sort(x, axis=0), np.sort(DATA, axis=0)),
    "differences": (lambda x: wr.diff(x, axis=0), np.diff(DATA, axis=0)),
    "halo": (lambda x: x.map_overlap(lambda b: b * 2, depth=1, boundary="reflect"), DATA * 2),
    "windows": (
        lambda x: wr.sliding_window_view(x, 5, axis=0).mean(-1),
        np.lib.stride_tricks.sliding_window_view(DATA, 5, axis=0).mean(-1),
    ),
    "running sums": (lambda x: x.cumsum(0), DATA.cumsum(0)),
    "two running sums of a slice": (
        lambda x: x[:, :5].cumsum(0) + (x[:, :5] > 0.5).cumsum(0),
        DATA[:, :5].cumsum(0) + (DATA[:, :5] > 0.5).cumsum(0),
    ),
    "flipped": (lambda x: x[::-1] + 0, DATA[::-1]),
    "rolled": (lambda x: wr.roll(x, 3, axis=0) + x, np.roll(DATA, 3, axis=0) + DATA),
    "every other, later": (lambda x: x[7::2].rechunk((5, 4, 4)), DATA[7::2]),
    "in one line": (lambda x: x.reshape(-1)[5:] + 1, DATA.reshape(-1)[5:] + 1),
    "products": (lambda x: x.reshape(48, -1) @ x.reshape(48, -1).T, DATA.reshape(48, -1) @ DATA.reshape(48, -1).T),
    "points": (lambda x: x[[3, 40, 3, 1], :, [5, 11, 0, 7]], DATA[[3, 40, 3, 1], :, [5, 11, 0, 7]]),
    "taken": (lambda x: wr.take(x, [47, 0, 3, 3, 20, 9], axis=0), DATA[[47, 0, 3, 3, 20, 9]]),
    "selected, mean": (lambda x: x[x > 0.5].mean(), DATA[DATA > 0.5].mean()),
    "selected, spread": (lambda x: (x[x > 0.5] * 2).std(), (DATA[DATA > 0.5] * 2).std()),
    "selected, greatest": (lambda x: np.max(x[x < 0.5]), DATA[DATA < 0.5].max()),
    "one element": (lambda x: x[5, 6, 7], DATA[5, 6, 7]),
}


def test_no_more_is_held_than_is_read():
    def held(x):
        return sum(stage.bytes_held for stage in wr.explain(x).stages if stage.name == "from_array")

    x = wr.from_array(Stored(), chunks=CHUNKS)
    assert held(x.rechunk((-1, 5, 3)).std(0)) == DATA.nbytes
    assert held(x[:, ::5, ::3].rechunk((-1, 1, 1)).std(0)) == DATA[:, ::5, ::3].nbytes
    assert held(x[x > 0.5].mean()) == held((x[x > 0.5] + 1).var()) == held(x[x > 0.5].sum()) == 0
    assert held(x[13:14].rechunk((-1, 1, 1)).std(0)) == DATA[13:14].nbytes
    assert held(x[3].rechunk((1, -1)).sum(0)) == DATA[3].nbytes
    assert held((x[:, ::5].rechunk((-1, 1, 1)) + x[:, 1::5].rechunk((-1, 1, 1))).std(0)) == DATA.nbytes
    np.testing.assert_allclose(x[5:44:3, ::5, 2].rechunk((-1, 1)).std(0).compute(), DATA[5:44:3, ::5, 2].std(0))
    small = Stored()
    small.chunks = (1, 20, 12)
    y = wr.from_array(small, chunks=(1, 20, 12))[4].rechunk((1, -1)).sum(0)
    np.testing.assert_allclose(y.compute(), DATA[4].sum(0))
    assert small.decoded.sum() == 2


@pytest.mark.parametrize("chunks", ["auto", (24, 20, 12), (10, 7, 12), CHUNKS], ids=str)
@pytest.mark.parametrize("name", OPERATIONS)
def test_each_is_decoded_once(name, chunks):
    operation, expected = OPERATIONS[name]
    source = Stored()
    x = wr.from_array(source, chunks=chunks)
    np.testing.assert_allclose(operation(x).compute(), expected, rtol=1e-12)
    assert source.decoded.max() == 1, source.decoded
    if chunks == (10, 7, 12):  # kept loops put the same plan together a third time
        for _ in range(3):
            np.testing.assert_allclose(operation(x).compute(), expected, rtol=1e-12)
        assert source.decoded.max() == 4


LARGE = np.random.default_rng(4).random((500, 60, 64))


class Large(Stored):
    """More than the arena holds."""

    shape, chunks = LARGE.shape, (16, 60, 64)

    def __init__(self):
        self.decoded, self._lock = np.zeros(-(-500 // 16), int), threading.Lock()

    def __getitem__(self, key):
        with self._lock:
            self.decoded[key[0].start // 16 : -(-key[0].stop // 16)] += 1
        return LARGE[key]


@pytest.mark.parametrize(
    ("chunks", "parts"), [((-1, 8, 16), 4), ((-1, -1, 5), 7), ((-1, 12, 64), 5), ((100, 60, 1), 7)], ids=str
)
def test_a_copy_on_disk_lies_in_the_parts_that_are_read(chunks, parts):
    """Else each column of blocks would have the disk read all of the copy."""
    source = Large()
    with wr.Cluster(memory="8 MiB", threads=2):
        x = wr.from_array(source, chunks=source.chunks).rechunk(chunks)
        held = [stage for stage in wr.explain(x).stages if stage.name == "from_array"]
        assert [stage.blocks for stage in held] == [32 * parts]
        assert [stage.tasks for stage in held] == [32]
        np.testing.assert_array_equal(x.compute(), LARGE)
        np.testing.assert_array_equal((x[7:, ::3] * 2).compute(), LARGE[7:, ::3] * 2)
        np.testing.assert_allclose(wr.median(x, axis=0).compute(), np.median(LARGE, axis=0))
    assert source.decoded.max() <= 3


def test_a_stage_may_read_an_array_of_fewer_axes_beside_what_lies_in_parts():
    source, last = Large(), np.arange(64.0)
    with wr.Cluster(memory="8 MiB", threads=2):
        x = wr.where(wr.asarray(last) > 3, wr.from_array(source, chunks=source.chunks), 0).rechunk((-1, 8, 16))
        held = [stage for stage in wr.explain(x).stages if stage.name == "from_array"]
        assert [stage.blocks > stage.tasks for stage in held] == [True]
        np.testing.assert_array_equal(x.compute(), np.where(last > 3, LARGE, 0))
