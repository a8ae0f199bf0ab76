"""Sorting against NumPy, on random chunks: each method is reached, since what counts as a short axis is made small."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from support.chunks import chunks_kept_apart, cut
from windrow.arrays.sorting import dealing, samples
from windrow.workers.config import config
from windrow.workers.kernels.blocks.order import sorting as blocks
from windrow.workers.kernels.compiled.fixed import dealing as compiled

DTYPES = ["f8", "f4", "f2", "i8", "u1", "?", "c16", "M8[s]", "m8[ms]", "U2", "S3", "g", ">f8", ">M8[s]"]


@pytest.fixture(autouse=True, scope="module")
def short():
    """Let no axis be brought into one chunk that is longer than the chunks it has."""
    with chunks_kept_apart():
        yield


@st.composite
def lines(draw, dtypes=DTYPES, least=0):
    """An array of one axis with ties, NaN, NaT and both zeros, lazy and not."""
    n = draw(st.integers(least, 150))
    dtype = np.dtype(draw(st.sampled_from(dtypes)))
    generator = np.random.default_rng(draw(st.integers(0, 1000)))
    kinds = draw(st.sampled_from([1, 3, 1000]))
    x = generator.integers(0, kinds, n)
    x = (x - kinds // 2).astype(dtype) if dtype.kind in "fci" else x.astype(dtype)
    if draw(st.booleans()):
        some = generator.random(n) < 0.3
        if dtype.kind in "fc":
            x[some] = np.nan
            x[generator.random(n) < 0.3] *= -0.0
        elif dtype.kind in "mM":
            x[some] = "NaT"
    return x, wr.from_array(x, chunks=(draw(cut(n)),))


def same(found, wanted):
    """Equal to the bit: stable sorts leave no choice."""
    found = np.asarray(found.compute())
    assert found.dtype == wanted.dtype
    assert found.shape == wanted.shape
    if found.dtype.char == "g":  # its padding has no meaning
        assert np.array_equal(found, wanted, equal_nan=True)
    else:
        assert found.tobytes() == np.ascontiguousarray(wanted).tobytes()


def falling(x, axis=-1):
    """Positions of a stable descending sort, NaN first."""
    back = np.argsort(np.flip(x, axis), axis=axis, kind="stable")
    return np.flip(x.shape[axis] - 1 - back, axis)


@given(lines())
def test_lines_are_sorted_as_by_a_stable_sort(pair):
    x, lazy = pair
    same(wr.sort(lazy), np.sort(x, kind="stable"))
    same(wr.argsort(lazy), np.argsort(x, kind="stable"))
    order = falling(x)
    same(wr.argsort(lazy, descending=True), order)
    same(wr.sort(lazy, descending=True), x[order])


@given(lines(["f8", "f4", "f2", "i8", "u1"]), st.sampled_from([1, 4, 16]))
def test_runs_are_merged_in_parts(pair, part):
    x, lazy = pair
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "PART", part)
        same(wr.sort(lazy), np.sort(x, kind="stable"))
        same(wr.argsort(lazy), np.argsort(x, kind="stable"))


def numbers(dtype, n, seed):
    """Different numbers, mostly; if floating-point ones, with zeros of both signs, NaN of two kinds, and infinities."""
    generator = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind != "f":
        info = np.iinfo(dtype)
        return generator.integers(info.min, info.max, n, dtype, endpoint=True)
    x = (generator.choice([-1, 1], n) * np.exp(generator.normal(0, 1 + seed % 3 * 9, n))).astype(dtype)
    for value in (0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf):
        x[generator.integers(0, n, 4)] = value
    return x


@pytest.mark.parametrize("jit", ["off", "on"])
@given(st.sampled_from(["f8", "f4", "i8", "i4", "u8", "u4"]), st.integers(0, 99), st.data())
def test_numbers_in_memory_are_dealt(jit, dtype, seed, data):
    n = 4000
    x = numbers(dtype, n, seed)
    chunks = data.draw(cut(n))
    before = dealing._in_chunks
    done = []
    with pytest.MonkeyPatch.context() as patch, config.set(jit=jit):
        patch.setattr(dealing, "LEAST", 1)
        patch.setattr(dealing, "_in_chunks", lambda *given: done.append(before(*given)) or done[-1])
        same(wr.sort(wr.from_array(x, chunks=(chunks,))), np.sort(x, kind="stable"))
    assert done or max(chunks) == n


@pytest.mark.parametrize("jit", ["off", "on"])
def test_samples_that_mislead_are_no_matter(jit, monkeypatch):
    monkeypatch.setattr(dealing, "LEAST", 1)
    monkeypatch.setattr(dealing, "SAMPLE", 1000)
    x = np.full(20_000, 5.0)
    x[20::21] = np.arange(952) / 1000  # a sample takes just these: one bucket has all others
    x[:300:3] = np.nan
    before = dealing._in_chunks
    done = []
    monkeypatch.setattr(dealing, "_in_chunks", lambda *given: done.append(before(*given)))
    with config.set(jit=jit):
        same(wr.sort(wr.from_array(x, chunks=2940)), np.sort(x, kind="stable"))
    assert done == [None]


def test_a_bucket_of_many_small_chunks_is_not_sorted_for_each(monkeypatch):
    monkeypatch.setattr(dealing, "LEAST", 1)
    monkeypatch.setattr(dealing, "SAMPLE", 1000)
    x = np.full(20_000, 5.0)
    x[20::21] = np.arange(952) / 1000
    before = dealing._in_chunks
    done = []
    monkeypatch.setattr(dealing, "_in_chunks", lambda *given: done.append(before(*given)))
    same(wr.sort(wr.from_array(x, chunks=((19_938, *[1] * 62),))), np.sort(x))
    assert done == [None]


@pytest.mark.parametrize("depth", [63, 64, 65, 66])
def test_a_sort_deep_below_other_operations(depth, monkeypatch):
    monkeypatch.setattr(dealing, "LEAST", 1)
    x = np.random.default_rng(0).random(20_000)
    y = wr.sort(wr.from_array(x, chunks=3000))
    for _ in range(depth):
        y = y + 1.0
    np.testing.assert_allclose(y.compute(), np.sort(x) + depth)


@pytest.mark.parametrize("bad", [[-np.inf, 0.0], [-1.7e308, 1.7e308], [0.0, 5e-324]])
def test_splitters_that_no_table_of_cells_tells_apart(bad):
    x = np.array([*bad, 1.0, np.nan, -0.0])
    found = np.empty_like(x)
    with config.set(jit="on"):
        assert compiled.deal_numbers(x, np.array(bad), len(x), found) is None
    assert blocks.deal_into_buckets(x, np.array(bad), len(x))[-3:].view("i8").sum() == len(x)


@given(lines(), st.data())
def test_top(pair, data):
    x, lazy = pair
    k = data.draw(st.integers(0, len(x)))
    same(wr.argtopk(lazy, k), falling(x)[:k])
    same(wr.topk(lazy, k), x[falling(x)[:k]])
    if k:
        same(lazy.argtopk(-k), np.argsort(x, kind="stable")[:k])
        same(lazy.topk(-k), np.sort(x, kind="stable")[:k])


@given(st.data())
def test_lexsort(data):
    x, lazy = data.draw(lines(["f8", "i8", "U2"]))
    second = np.arange(len(x)) * 7 % 3
    same(wr.lexsort((lazy, second)), np.lexsort((x, second)))
    same(wr.lexsort((second, lazy, second > 1)), np.lexsort((second, x, second > 1)))


@given(st.data(), st.sampled_from([0, 1, 2, -1, None]), st.booleans())
def test_axes(data, axis, wide):
    generator = np.random.default_rng(data.draw(st.integers(0, 100)))
    x = generator.integers(0, 9, (3, 21, 2)).astype(data.draw(st.sampled_from(["f8", "i4"])))
    chunks = (data.draw(cut(3)), data.draw(cut(21)), 1)
    lazy = wr.from_array(x, chunks=-1 if wide else chunks)
    same(wr.sort(lazy, axis), np.sort(x, axis))
    same(wr.argsort(lazy, axis), np.argsort(x, axis, kind="stable"))
    if axis is not None:
        same(wr.sort(lazy, axis, descending=True), np.flip(np.sort(x, axis), axis))
        same(wr.argsort(lazy, axis, descending=True), falling(x, axis))
        same(wr.lexsort((lazy, lazy % 2), axis), np.lexsort((x, x % 2), axis))
        same(wr.argtopk(lazy, 2, axis), np.take(falling(x, axis), [0, 1], axis))


def test_many_lines_are_brought_into_one_chunk_each():
    x = np.random.default_rng(0).random((50, 90))
    lazy = wr.from_array(x, chunks=(7, 8))
    same(wr.sort(lazy, 1), np.sort(x, 1))
    assert wr.sort(lazy, 1).numblocks[1] == 1


@pytest.mark.parametrize("most", [1 << 20, 400])
def test_long_lines_in_place_chunks_stay(monkeypatch, most):
    monkeypatch.setattr(samples, "SAMPLES", most)
    generator = np.random.default_rng(3)
    for x in (
        generator.random(60_000),
        generator.integers(0, 3, 60_000),
        np.sort(generator.random(60_000))[::-1].copy(),
    ):
        lazy = wr.from_array(x, chunks=7001)
        found = wr.sort(lazy)
        assert found.chunks == lazy.chunks
        same(found, np.sort(x))
        same(wr.argsort(lazy), np.argsort(x, kind="stable"))


def test_zeros_and_nan_keep_their_bits_in_rows():
    x = np.array([[0.0, -0.0, 3, -1] * 3, [np.nan, 1, -np.nan, 0] * 3])
    same(wr.sort(wr.from_array(x, chunks=(1, -1))), np.sort(x, kind="stable"))
    x = np.array([[5, np.nan, 1.0]] * 2)
    same(wr.sort(wr.asarray(x)), np.sort(x, kind="stable"))


@pytest.mark.parametrize("dtype", ["f2", ">f2"])
def test_many_halves_with_zeros_of_both_signs(dtype):
    """NumPy's fastest sort leaves them out of order."""
    generator = np.random.default_rng(0)
    x = np.round(generator.normal(size=20000)).astype(dtype)
    lost = np.where(
        generator.random(20000) < 0.1, np.array([-np.nan, np.nan], dtype)[generator.integers(0, 2, 20000)], x
    )
    edges = np.array([-2, -0.5, 0, 0.5, 3])
    for chunks in (20000, 3001):
        lazy = wr.from_array(x, chunks=chunks)
        same(wr.sort(lazy), np.sort(x, kind="stable"))
        same(wr.sort(wr.from_array(lost, chunks=chunks)), np.sort(lost, kind="stable"))
        assert wr.unique(lazy).compute().tolist() == sorted(set(x.tolist()))
        np.testing.assert_array_equal(wr.percentile(lazy, [10, 50, 70]).compute(), np.percentile(x, [10, 50, 70]))
        np.testing.assert_array_equal(wr.histogram(lazy, edges)[0].compute(), np.histogram(x.astype("f4"), edges)[0])


def test_rows_longer_than_fast_sorts_need():
    generator = np.random.default_rng(1)
    for x in (generator.integers(0, 50, (2, 900)), generator.random((2, 900)).astype("f4"), np.full((2, 900), np.nan)):
        same(wr.argsort(wr.asarray(x)), np.argsort(x, kind="stable"))
        same(wr.argsort(wr.asarray(x), 0), np.argsort(x, 0, kind="stable"))


def test_partition_and_methods():
    x = np.random.default_rng(2).integers(0, 100, 70)
    lazy = wr.from_array(x, chunks=9)
    assert np.partition(lazy, 30).compute()[30] == np.sort(x)[30]
    assert x[lazy.argpartition([3, -1]).compute()[-1]] == x.max()
    same(lazy.argsort(), np.argsort(x, kind="stable"))
    other = lazy + 0
    assert other.sort() is None
    same(other, np.sort(x))
    same(lazy, x)
    assert lazy.partition(4) is None
    assert lazy.compute()[4] == np.sort(x)[4]
    same(other.searchsorted(50), np.searchsorted(np.sort(x), 50))


def test_arrays_without_elements_or_axes():
    for shape in ((0,), (0, 3), (3, 0)):
        same(wr.sort(wr.zeros(shape)), np.zeros(shape))
        same(wr.argsort(wr.zeros(shape)), np.zeros(shape, np.int64))
    same(wr.sort(wr.asarray(3.0), None), np.array([3.0]))
    with pytest.raises(wr.AxisError, match="sort: argument 'axis'"):
        wr.sort(wr.asarray(3.0))


def test_records_are_sorted_by_all_fields():
    x = np.array([(2, 1.0), (1, 3.0), (2, 0.0)] * 9, dtype=[("a", "i4"), ("b", "f8")])
    same(wr.sort(wr.from_array(x, chunks=5)), np.sort(x, kind="stable"))


def test_nothing_is_computed_at_the_call_and_errors_are():
    lazy = wr.map_blocks(lambda block: 1 // 0, wr.arange(10, chunks=3), dtype="i8")
    wr.sort(lazy), wr.argsort(lazy), wr.lexsort((lazy, lazy)), wr.topk(lazy, 3)
    x = wr.arange(10, chunks=3)
    for call, argument in (
        (lambda: wr.sort(x, kind="bubble"), "kind"),
        (lambda: wr.sort(x, order="a"), "order"),
        (lambda: wr.sort(x, descending=3), "descending"),
        (lambda: wr.partition(x, 10), "kth"),
        (lambda: wr.topk(x, 1.5), "k"),
        (lambda: x.argtopk("1"), "k"),
        (lambda: wr.lexsort(()), "keys"),
        (lambda: wr.lexsort((x, x[:3])), "keys"),
    ):
        with pytest.raises(wr.WindrowError, match=f"argument '{argument}'"):
            call()


@pytest.mark.parametrize("k", [11, -11, 10**30, -(10**30)])
def test_more_than_there_are_leading_elements_are_all(k):
    x = np.random.default_rng(0).random((4, 10))
    for chunks in ((2, 4), (4, 10)):
        lazy = wr.from_array(x, chunks=chunks)
        order = np.argsort(x, kind="stable")[:, :: 1 if k < 0 else -1]
        assert np.array_equal(wr.argtopk(lazy, k).compute(), order)
        assert np.array_equal(wr.topk(lazy, k).compute(), np.take_along_axis(x, order, 1))
        assert wr.topk(lazy, k, axis=0).shape == (4, 10)
