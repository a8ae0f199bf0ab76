"""Lazy arrays where a shape, positions or a sequence is expected: computed at once, or refused at once."""

from __future__ import annotations

import numpy as np
import pytest

import windrow as wr

LINE = wr.arange(100_000, chunks=50_000)
X = wr.ones((6, 6), chunks=3)
TOO_LONG = {
    "zeros": lambda: wr.zeros(LINE),
    "ones": lambda: wr.ones(LINE),
    "empty": lambda: wr.empty(LINE),
    "full": lambda: wr.full(LINE, 1),
    "indices": lambda: wr.indices(LINE),
    "zeros_like": lambda: wr.zeros_like(X, shape=LINE),
    "broadcast_to": lambda: wr.broadcast_to(X, LINE),
    "resize": lambda: wr.resize(X, LINE),
    "tile": lambda: wr.tile(X, LINE),
    "roll": lambda: wr.roll(X, LINE),
    "roll_axis": lambda: wr.roll(X, 1, axis=LINE),
    "sliding_window_view": lambda: wr.sliding_window_view(X, LINE),
    "normalize_chunks": lambda: wr.normalize_chunks(3, LINE),
    "lexsort": lambda: wr.lexsort(LINE),
    "sort": lambda: wr.sort(X, order=LINE),
    "argsort": lambda: wr.argsort(X, order=LINE),
    "choose": lambda: wr.choose(LINE % 2, LINE),
    "piecewise": lambda: wr.piecewise(X, LINE > 1, [1, 2]),
    "ravel_multi_index": lambda: wr.ravel_multi_index(LINE, (3, 4)),
    "ravel_multi_index_dims": lambda: wr.ravel_multi_index(([1], [2]), LINE),
    "histogramdd": lambda: wr.histogramdd(X, LINE),
    "histogramdd_range": lambda: wr.histogramdd(X, range=LINE),
    "concatenate": lambda: wr.concatenate(LINE),
    "stack": lambda: wr.stack(LINE),
    "hstack": lambda: wr.hstack(LINE),
    "vstack": lambda: wr.vstack(LINE),
    "blockwise": lambda: wr.blockwise(np.add, LINE, X, "ij"),
    "spmd": lambda: wr.spmd(lambda comm: None, members=LINE),
    "multi_dot": lambda: wr.linalg.multi_dot(LINE),
    "zoom": lambda: wr.ndimage.zoom(X, LINE),
    "iqr": lambda: wr.stats.iqr(X, rng=LINE),
}


@pytest.fixture
def taken(monkeypatch):
    """The keys of elements that are taken from arrays one by one."""
    keys, getitem = [], wr.Array.__getitem__

    def counted(self, key):
        keys.append(key)
        assert len(keys) < 300, "element by element"
        return getitem(self, key)

    monkeypatch.setattr(wr.Array, "__getitem__", counted)
    return keys


@pytest.mark.parametrize("name", TOO_LONG)
def test_what_is_too_long_is_refused_at_once(name, taken):
    with pytest.raises((wr.WindrowError, TypeError), match=r"shape=\(100000,\)|100000"):
        TOO_LONG[name]()
    assert len(taken) < 10


def test_short_ones_are_taken_by_value():
    two = wr.asarray([2, 3], chunks=1)
    x = wr.arange(6).reshape(2, 3)
    assert wr.zeros(two).shape == wr.full(two, 1).shape == wr.broadcast_to(1, two).shape == wr.indices(two).shape[1:]
    np.testing.assert_array_equal(wr.roll(x, two, axis=two - 2).compute(), np.roll(x.compute(), (2, 3), (0, 1)))
    np.testing.assert_array_equal(wr.tile(x, two).compute(), np.tile(x.compute(), (2, 3)))
    np.testing.assert_array_equal(wr.lexsort(x).compute(), np.lexsort(x.compute()))
    np.testing.assert_array_equal(wr.stack(x, 1).compute(), np.stack(x.compute(), 1))
    assert (
        wr.ravel_multi_index(x[:, :2], two + 3).compute().tolist()
        == np.ravel_multi_index([[0, 1], [3, 4]], (5, 6)).tolist()
    )
    counts, _ = wr.histogramdd(x, bins=wr.asarray([2, 2, 2], chunks=2))
    assert counts.sum().compute() == 2


def test_many_positions_are_computed_once(taken):
    parts = wr.split(wr.arange(1000, chunks=400), wr.arange(5, 205, chunks=100))
    assert len(parts) == 201
    assert len(taken) < 210
