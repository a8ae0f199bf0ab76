"""Scattered positions of what lies in files: few reads, of little more than is needed."""

from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from windrow.workers.sources.file_arrays import GAP, gather_bytes
from windrow.workers.sources.stores.picking import read_picked

N = 200_000
VALUES = np.arange(N, dtype="f8")
CASES = {
    "scattered": np.sort(np.random.default_rng(0).permutation(N)[: N // 10]),
    "every tenth": np.arange(0, N, 10),
    "runs": np.flatnonzero(np.arange(N) % 50_000 < 5000),
}


def left_out(kept):
    return np.delete(np.arange(N), kept)


@pytest.mark.parametrize("case", CASES)
def test_few_reads_of_a_plain_file(case, tmp_path, monkeypatch):
    np.save(tmp_path / "x.npy", VALUES)
    read = []
    plain = os.preadv
    monkeypatch.setattr(os, "preadv", lambda *given: (read.append(found := plain(*given)), found)[1])
    for take in (lambda x: wr.delete(x, left_out(CASES[case])), lambda x: wr.take(x, CASES[case])):
        read.clear()
        np.testing.assert_array_equal(take(wr.from_npy(tmp_path / "x.npy", chunks=20_000)).compute(), CASES[case])
        assert len(read) < 50
        assert sum(read) < (VALUES.nbytes if case != "runs" else VALUES.nbytes // 8)


@pytest.mark.parametrize("case", CASES)
def test_few_reads_of_elements_that_hdf5_has_in_one_piece(case, tmp_path, monkeypatch):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["x"] = VALUES
    asked = []
    plain = h5py.Dataset.__getitem__
    monkeypatch.setattr(h5py.Dataset, "__getitem__", lambda self, *given: (asked.append(1), plain(self, *given))[1])
    y = wr.delete(wr.from_hdf5(tmp_path / "x.h5", "x", chunks=20_000), left_out(CASES[case]))
    asked.clear()
    np.testing.assert_array_equal(y.compute(), CASES[case])
    assert len(asked) < 50


def test_small_pieces_of_a_folders_chunks_are_no_reads_of_their_own(tmp_path, monkeypatch):
    values = np.random.default_rng(0).random((50, 40, 30))
    wr.save(tmp_path / "x", wr.from_array(values, chunks=(1, 40, 30)))
    read = []
    plain = os.preadv
    monkeypatch.setattr(os, "preadv", lambda *given: (read.append(1), plain(*given))[1])
    x = wr.load(tmp_path / "x")
    read.clear()
    np.testing.assert_allclose(x.rechunk((-1, 4, 5)).sum(axis=0).compute(), values.sum(0))
    assert len(read) < 3 * 50
    np.testing.assert_array_equal(x[:, 3:5, 7].compute(), values[:, 3:5, 7])


class Object:
    """Something with slices, which counts what it gives."""

    def __init__(self, values):
        self.values, self.shape, self.dtype, self.given = values, values.shape, values.dtype, 0

    def __getitem__(self, where):
        found = self.values[where]
        self.given += found.size
        return found

    def __reduce__(self):
        raise TypeError


def test_of_an_object_what_lies_around_is_left_out():
    source = Object(VALUES)
    kept = np.flatnonzero(np.arange(N) % 20_000 < 1000)
    np.testing.assert_array_equal(wr.delete(wr.from_array(source, chunks=20_000), left_out(kept)).compute(), kept)
    assert source.given == len(kept)


picks = st.lists(st.integers(0, 29), max_size=8).map(lambda p: np.array(p, np.int64))
steps = st.sampled_from([-2, -1, 1, 2, 4])
ranges = st.builds(lambda a, n, step: range(a, a + n * step, step), st.integers(8, 12), st.integers(1, 4), steps)
either = picks | ranges


@given(st.tuples(either, either), st.sampled_from([None, (1, 1), (4, 7)]))
def test_what_is_picked_is_what_numpy_takes(chosen, chunks):
    values = np.arange(30 * 40).reshape(30, 40)
    found = read_picked(lambda where: values[where], (slice(0, 30), slice(0, 40)), chosen, chunks, values.dtype)
    assert found.shape == tuple(map(len, chosen))
    if found.size:
        np.testing.assert_array_equal(found, values[np.ix_(*map(np.asarray, chosen))])


class Memory:
    def __init__(self, values):
        self.bytes = np.ascontiguousarray(values).reshape(-1).view(np.uint8)

    def fill(self, target, at):
        target.reshape(-1)[:] = self.bytes[at : at + target.size]


@given(st.tuples(either, either), st.booleans())
def test_bytes_at_any_places_are_those_that_numpy_takes(chosen, wide):
    values = np.random.default_rng(0).integers(0, 100, (30, 40 if not wide else GAP // 4), dtype="i2")
    found = gather_bytes(Memory(values), 2, 0, values.strides, chosen).view("i2")[..., 0]
    assert found.shape == tuple(map(len, chosen))
    if found.size:
        np.testing.assert_array_equal(found, values[np.ix_(*map(np.asarray, chosen))])
