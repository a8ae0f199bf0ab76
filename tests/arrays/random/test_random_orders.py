"""Random orders, choices and bytes."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from windrow.graph.expr.expr import walk
from windrow.workers.kernels.randoms.permuting import SORTED, Permutation

GRIDS = st.lists(st.integers(1, 9), min_size=1, max_size=3).flatmap(
    lambda shape: st.tuples(st.just(tuple(shape)), st.tuples(*(st.integers(1, n) for n in shape)))
)


def surprise(counts: np.ndarray, expected: np.ndarray) -> float:
    """Chi-square in standard deviations beyond its mean."""
    freedom = counts.size - 1
    return float((((counts - expected) ** 2 / expected).sum() - freedom) / math.sqrt(2 * freedom))


@given(st.integers(0, 300), st.integers(0, 2**60), st.sampled_from([0, SORTED, 10**6, 10**13]))
def test_permutations_are_undone(n, offset, more):
    permutation = Permutation(((3, 4), 1, offset), n + more)
    positions = np.arange(n)
    values = permutation.forward(positions)
    np.testing.assert_array_equal(permutation.backward(values), positions)
    assert not n or (0 <= values.min() <= values.max() < n + more)


def test_every_order_is_equally_likely():
    orders = list(itertools.permutations(range(4)))
    counts = np.zeros(24)
    for seed in range(6000):
        counts[orders.index(tuple(Permutation(((9, 9), 0, seed), 4).forward(np.arange(4)).tolist()))] += 1
    assert abs(surprise(counts, np.full(24, 250.0))) < 4.5


@pytest.mark.parametrize("n", [SORTED, SORTED + 1, 300_007])
def test_large_permutations_look_random(n):
    order = Permutation(((1, 2), 0, 77), n).forward(np.arange(n))
    assert np.array_equal(np.sort(order), np.arange(n))
    bins = 16
    counts, *_ = np.histogram2d(np.arange(n), order, bins=bins)
    assert abs(surprise(counts.reshape(-1), np.full(bins * bins, n / bins**2))) < 4.5
    root = math.isqrt(n - 1) + 1
    for step in (1, 2, root - 1, root, root + 1):  # neighbours in one row, and in one column
        pairs, *_ = np.histogram2d(order[:-step], order[step:], bins=bins)
        assert abs(surprise(pairs.reshape(-1), np.full(bins * bins, (n - step) / bins**2))) < 4.5
        apart = (order[step:] - order[:-step]) % n
        assert abs(surprise(np.histogram(apart, 64, (0, n))[0], np.full(64, (n - step) / 64))) < 4.5
        same = np.count_nonzero(order[step:] // root == order[:-step] // root)
        assert abs(same - n / root) < 5 * math.sqrt(n / root)
    assert abs((order[1:] > order[:-1]).mean() - 0.5) < 4.5 * math.sqrt(1 / 12 / n)
    assert abs(np.corrcoef(np.arange(n), order)[0, 1]) < 4.5 / math.sqrt(n)
    assert np.count_nonzero(order == np.arange(n)) < 8
    seen, cycles = np.zeros(n, bool), 0
    follows = order.tolist()
    for start in range(n):
        if not seen[start]:
            cycles += 1
            at = start
            while not seen[at]:
                seen[at] = True
                at = follows[at]
    assert abs(cycles - (math.log(n) + 0.577)) < 4.5 * math.sqrt(math.log(n))


@given(GRIDS, st.data())
def test_permutation_of_chunks(grid, data):
    shape, chunks = grid
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    x = np.arange(math.prod(shape)).reshape(shape)
    order = wr.random.default_rng(8).permutation(shape[axis]).compute()
    lazy = wr.from_array(x, chunks=chunks)
    found = wr.random.default_rng(8).permutation(lazy, axis)
    assert found.chunks == lazy.chunks
    np.testing.assert_array_equal(found.compute(), x.take(order, axis))
    wr.random.default_rng(8).shuffle(lazy, axis)
    np.testing.assert_array_equal(lazy.compute(), x.take(order, axis))


def test_permutation_of_many():
    n = 200_003
    x = wr.arange(n, chunks=30_000) * 2
    order = wr.random.default_rng(8).permutation(n, chunks=7001).compute()
    made = wr.random.default_rng(8).permutation(x)
    np.testing.assert_array_equal(made.compute(), order * 2)
    assert made[:10].compute().tolist() == (order[:10] * 2).tolist()
    uneven = x.rechunk(((1, 0, 100_000, 100_000, 2),))
    np.testing.assert_array_equal(wr.random.default_rng(8).permutation(uneven).compute(), order * 2)
    fine = wr.arange(5000, chunks=2)
    coarse = wr.arange(5000, chunks=700)
    made = wr.random.default_rng(8).permutation(fine)
    assert made.chunks == fine.chunks
    np.testing.assert_array_equal(made.compute(), wr.random.default_rng(8).permutation(coarse).compute())
    assert wr.random.default_rng(8).permutation(wr.zeros((0, 3))).compute().shape == (0, 3)
    assert wr.random.default_rng(8).permutation(0).compute().shape == (0,)


@pytest.mark.parametrize(("mib", "count", "joined"), [(8, 1000, 64), (1024, 1000, 250), (2**16, 8000, 1000)])
def test_small_chunks_are_joined_before_each_sends_to_each(mib, count, joined):
    x = wr.zeros(mib << 17, chunks=(mib << 17) // count)
    made = wr.random.default_rng(8).permutation(x)
    assert made.chunks == x.chunks
    counts = [node.grid.axes[0].count for node in walk([made.expr])]
    assert joined * 0.9 <= min(counts) <= joined * 1.1


def test_sizes_that_depend_on_data():
    line = wr.arange(1000, chunks=300)
    chosen = line[line % 3 == 0]
    assert sorted(wr.random.default_rng(8).permutation(chosen).tolist()) == list(range(0, 1000, 3))
    assert set(wr.random.default_rng(8).choice(line[line % 3 == 0], 50).tolist()) <= set(range(0, 1000, 3))
    found = wr.random.default_rng(8).poisson(line[line % 3 == 0])
    assert found.shape == (334,)
    other = line[line % 3 == 0]
    wr.random.default_rng(8).shuffle(other)
    assert sorted(other.tolist()) == list(range(0, 1000, 3))


def test_shuffle():
    rng = wr.random.default_rng(8)
    x, y = np.arange(50), list(range(50))
    rng.shuffle(x)
    rng.shuffle(y)
    assert sorted(x) == sorted(y) == list(range(50))
    assert list(x) != y
    z = wr.arange(50)
    other = z + 0
    rng.shuffle(z)
    assert sorted(z.tolist()) == list(range(50))
    assert other.tolist() == list(range(50))


@pytest.mark.parametrize("chunks", [-1, (7, 3), (1, 20)])
def test_permuted(chunks):
    x = np.arange(600).reshape(30, 20)
    lazy = wr.from_array(x, chunks=chunks)
    for axis in (0, 1, -1):
        made = wr.random.default_rng(8).permuted(lazy, axis=axis).compute()
        np.testing.assert_array_equal(np.sort(made, axis), x)
        np.testing.assert_array_equal(made, wr.random.default_rng(8).permuted(x, axis=axis).compute())
        lines = np.moveaxis(made, axis, -1) % 20 if axis else made.T // 20
        assert len({tuple(line) for line in lines.tolist()}) == len(lines)
    made = wr.random.default_rng(8).permuted(lazy)
    assert made.shape == x.shape
    assert sorted(made.compute().reshape(-1)) == list(range(600))


def test_choice():
    rng = wr.random.default_rng(9)
    x = rng.choice(5, 50_000, chunks=9000).compute()
    assert abs(surprise(np.bincount(x, minlength=5), np.full(5, 10_000.0))) < 4.5
    p = np.array([0.1, 0.0, 0.2, 0.7])
    for weights in (p, wr.from_array(p, chunks=3), p.tolist()):
        x = rng.choice(4, (250, 200), p=weights, chunks=(90, 70)).compute()
        counts = np.bincount(x.reshape(-1), minlength=4)
        assert counts[1] == 0
        assert abs(surprise(counts[[0, 2, 3]], 50_000 * p[[0, 2, 3]])) < 4.5
    once = rng.choice(100_000, 1000, replace=False, chunks=300).compute()
    assert len(set(once.tolist())) == 1000
    assert abs(once.mean() - 50_000) < 4.5 * 100_000 / math.sqrt(12_000)
    letters = np.array(list("abcdef"))
    assert set(rng.choice(letters, 200).compute()) == set("abcdef")
    assert sorted(rng.choice(letters, 6, replace=False).compute()) == list("abcdef")
    table = np.arange(60).reshape(5, 12)
    found = rng.choice(wr.from_array(table, chunks=4), 7, axis=1).compute()
    assert found.shape == (5, 7)
    assert (found % 12 == found[0]).all()
    assert rng.choice(table, (2, 3), axis=0).shape == (2, 3, 12)
    assert rng.choice(3).compute() in (0, 1, 2)
    assert rng.choice(letters).compute() in letters


def test_weighted_choice_without_replacement():
    p = np.array([0.5, 0.2, 0.2, 0.1, 0.0])
    rng, theirs = wr.random.default_rng(9), np.random.default_rng(9)
    drawn = [rng.choice(5, 2, replace=False, p=p) for _ in range(240)]
    ours = np.array(wr.compute(drawn))
    assert (ours[:, 0] != ours[:, 1]).all()
    reference = np.array([theirs.choice(5, 2, replace=False, p=p) for _ in range(9600)])
    for place in (0, 1):
        counts = np.bincount(ours[:, place], minlength=5)[:4]
        expected = np.bincount(reference[:, place], minlength=5)[:4] / 40
        assert abs(surprise(counts, expected)) < 4.5


def test_bytes():
    rng = wr.random.default_rng(12)
    made = rng.bytes(80_001)
    assert isinstance(made, bytes)
    assert len(made) == 80_001
    counts = np.bincount(np.frombuffer(made, np.uint8), minlength=256)
    assert abs(surprise(counts, np.full(256, len(made) / 256))) < 4.5
    assert rng.bytes(8) != rng.bytes(8)
    assert rng.bytes(0) == b""
