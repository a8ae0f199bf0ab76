"""Positions that are told by counts, runs and marks: values against NumPy, what is read of a source, what is built."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import windrow as wr
from windrow.graph.expr.token import token_of


class Recording:
    """A source that counts the elements it is asked for."""

    shape, dtype, ndim = (1000,), np.dtype("f8"), 1

    def __init__(self):
        self.read = 0

    def __getitem__(self, key):
        found = np.arange(1000.0)[key]
        self.read += found.size
        return found


COUNTS = np.arange(1000) % 3
MASK = np.arange(1000) % 3 == 0


@pytest.mark.parametrize(
    ("make", "most"),
    [
        (lambda m, x: m.delete(x, 5)[2:8], 6),
        (lambda m, x: m.delete(x, [5, 300, 500])[2:8], 6),
        (lambda m, x: m.delete(x, MASK)[2:8], 9),
        (lambda m, x: m.delete(x, slice(5, 995)), 10),
        (lambda m, x: m.insert(x, [5, 300], 1.0)[2:8], 6),
        (lambda m, x: m.insert(x, np.arange(0, 1000, 2), 1.0)[2:8], 6),
        (lambda m, x: m.repeat(x, 2)[5:8], 3),
        (lambda m, x: m.repeat(x, COUNTS)[5:8], 5),
        (lambda m, x: m.take(x, np.arange(999, 0, -1))[2:8], 6),
        (lambda m, x: m.repeat(x, COUNTS)[7], 1),
        (lambda m, x: m.repeat(x, COUNTS)[5:11:2], 8),
    ],
)
def test_a_slice_of_what_is_moved_reads_no_more_than_it_needs(make, most):
    source = Recording()
    found = make(wr, wr.from_array(source, chunks=100)).compute()
    np.testing.assert_array_equal(found, make(np, np.arange(1000.0)))
    assert source.read <= most


def step(rng, a, x):
    """Return what one operation, drawn by chance, makes of a NumPy array and of Windrow's."""
    n = len(a)
    kind = rng.integers(0, 6)
    if kind == 0:
        counts = rng.integers(0, rng.choice([2, 4, 300]), n) * (rng.random(n) < rng.choice([0.02, 0.5, 1]))
        a, x = np.repeat(a, counts, axis=0), wr.repeat(x, counts, axis=0)
    elif kind == 1:
        gone = rng.integers(-n, n, rng.integers(1, n + 1))
        a, x = np.delete(a, gone, axis=0), wr.delete(x, gone, axis=0)
    elif kind == 2:
        at = rng.integers(-n, n + 1, rng.integers(2, n + 2))
        new = rng.random(len(at)).reshape(-1, *[1] * (a.ndim - 1))
        a, x = np.insert(a, at, new, axis=0), wr.insert(x, at, new, axis=0)
    elif kind == 3:
        index = rng.integers(0, n, rng.integers(1, 2 * n + 1))
        a, x = np.take(a, index, axis=0), wr.take(x, index, axis=0)
    elif kind == 4:
        lo, hi, by = *np.sort(rng.integers(0, n + 1, 2)), rng.choice([1, 2, -1])
        a, x = a[lo:hi][::by], x[lo:hi][::by]
    else:
        times = int(rng.integers(1, 4))
        a, x = np.repeat(a, times, axis=0), wr.repeat(x, times, axis=0)
    if rng.random() < 0.6 and len(a):
        lo, count = int(rng.integers(0, len(a))), int(rng.integers(0, len(a) // 2 + 2))
        a, x = a[lo : lo + count], x[lo : lo + count]
    return (a.T, x.T) if a.ndim == 2 and rng.random() < 0.3 else (a, x)


@pytest.mark.parametrize("seed", range(4))
def test_moves_by_chance_one_after_the_other(seed):
    rng = np.random.default_rng(seed)
    for _ in range(40):
        shape = tuple(rng.integers(1, 300, 1)) if rng.random() < 0.7 else tuple(rng.integers(1, 30, 2))
        a = np.arange(float(np.prod(shape))).reshape(shape)
        chunks = tuple(max(1, n // int(rng.integers(1, 9))) for n in shape)
        x = wr.arange(float(a.size), chunks=chunks[0]) if a.ndim == 1 else wr.from_array(a, chunks=chunks)
        for _ in range(rng.integers(1, 4)):
            if not len(a) or a.size > 100_000:
                break
            a, x = step(rng, a, x)
        np.testing.assert_array_equal(x.compute(), a)


def test_counts_beyond_what_is_looked_at_together():
    """Many positions are told by a byte each, chunks that nothing comes from are not read."""
    counts = np.zeros(300_000, int)
    counts[[0, 64, 65, 127, 128, 100_000, 299_999]] = [1, 2, 0, 70_000, 3, 1, 5]
    source = np.arange(300_000.0)
    found = wr.repeat(wr.from_array(source, chunks=1000), counts)
    np.testing.assert_array_equal(found.compute(), np.repeat(source, counts))
    np.testing.assert_array_equal(found[69_990:70_010].compute(), np.repeat(source, counts)[69_990:70_010])


def test_repeat_by_counts_is_built_without_an_integer_for_each_result():
    n = 1_000_000
    x, counts = wr.zeros(n, chunks=100_000), np.full(n, 200)
    tracemalloc.start()
    try:
        assert wr.repeat(x, counts).shape == (200 * n,)
        assert tracemalloc.get_traced_memory()[1] < 4 * n
    finally:
        tracemalloc.stop()


def test_integers_are_named_by_their_values():
    n = 100_000
    base = np.arange(n)
    rng = np.random.default_rng(1)
    kinds = [base, base[::-1], base + 1, base * 300, base * 2**40, base % 7, rng.integers(-(2**63), 2**63 - 1, n)]
    kinds += [np.where(base == at, -1, base) for at in (0, 1, 32_767, 32_768, n - 1)]
    kinds += [base.reshape(10, -1), base[:-1], base.astype("u8"), base.astype("i4"), base.view("M8[s]")]
    assert len({token_of(each) for each in kinds}) == len(kinds)
    for each in kinds:
        assert token_of(each) == token_of(each.copy())
