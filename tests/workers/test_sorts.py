"""Rows in order, by each of the ways that a processor may choose: the bits of NumPy's stable sort."""

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow.workers.config import config
from windrow.workers.kernels import sorts
from windrow.workers.kernels.blocks.order import quantiles, sorting
from windrow.workers.kernels.compiled.fixed import bracketing, spreading

pytest.importorskip("llvmlite")

WIDE = ["f8", "f4", "i8", "i4", "u8", "u4"]
OTHERS = ["f2", "i2", "u2", "i1", "u1", "?", "M8[s]", "m8[ns]", ">f8", ">i4"]
SHAPES = ["even", "normal", "tails", "few", "spread", "alike", "ordered", "reversed", "outlier", "tiny"]
LENGTHS = [2047, 2048, 20_000]


@pytest.fixture(params=["numpy", "compiled", "off"])
def way(request, monkeypatch):
    """Let one way win; "off" has no kernels at all."""
    monkeypatch.setattr(sorts, "_is_faster", lambda *_: request.param == "compiled")
    with config.set(jit="off" if request.param == "off" else "on"):
        yield request.param


def numbers(shape, n, dtype, seed=0):
    r = np.random.default_rng(seed)
    x = {
        "even": lambda: r.random(n) * 1000,
        "normal": lambda: r.standard_normal(n) * 1000,
        "tails": lambda: r.standard_cauchy(n),
        "few": lambda: r.integers(-3, 3, n).astype(float),
        "spread": lambda: np.exp(r.standard_normal(n) * 20),
        "alike": lambda: np.ones(n),
        "ordered": lambda: np.arange(n) / 7,
        "reversed": lambda: -np.arange(n) / 7,
        "outlier": lambda: np.where(np.arange(n) == n // 2, 1e30, r.random(n)),
        "tiny": lambda: r.integers(0, 50, n) * 5e-324,
    }[shape]()
    dtype = np.dtype(dtype)
    with np.errstate(all="ignore"):
        if dtype.kind in "iu?" or dtype.kind in "mM":
            info = np.iinfo("i8" if dtype.kind in "mM?" else dtype)
            x = np.clip(x, float(info.min), float(info.max) * (1 - 1e-9)).astype(info.dtype)
        return x.astype(dtype)


def specials(x, seed=0):
    """Put in zeros of both signs, infinities, NaN of several payloads; NaT."""
    r, n = np.random.default_rng(seed), len(x)
    if x.dtype.kind in "mM":
        x[r.integers(0, n, n // 5)] = "NaT"
    if x.dtype.kind == "f":
        for value in (0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan):
            x[r.integers(0, n, n // 10)] = value
        bits = x.view(x.dtype.str.replace("f", "u"))
        bits[np.isnan(x)] += r.integers(1, 9, np.count_nonzero(np.isnan(x))).astype(bits.dtype)
    if x.dtype.kind in "iu":
        x[r.integers(0, n, 9)], x[r.integers(0, n, 9)] = np.iinfo(x.dtype).min, np.iinfo(x.dtype).max
    return x


def check(x):
    wanted = np.sort(x, kind="stable")
    out = np.empty_like(x)
    for found in (sorting.sort(x), sorting.sort(x, out=out)):
        assert found.dtype == x.dtype
        assert found.tobytes() == wanted.tobytes()
    order = np.argsort(x, kind="stable")
    np.testing.assert_array_equal(sorting.argsort(x), order)
    back = len(x) - 1 - np.argsort(x[::-1], kind="stable")[::-1]
    np.testing.assert_array_equal(sorting.argsort(x, descending=True), back)
    assert sorting.sort(x, descending=True).tobytes() == x[back].tobytes()


@pytest.mark.parametrize("dtype", WIDE + OTHERS)
@pytest.mark.parametrize("shape", SHAPES)
def test_rows_have_the_bits_of_a_stable_sort(way, shape, dtype):
    for n in LENGTHS:
        check(numbers(shape, n, dtype))
        check(specials(numbers(shape, n, dtype)))


@pytest.mark.parametrize("dtype", WIDE)
@pytest.mark.parametrize("shape", SHAPES)
def test_long_rows_go_by_buckets(monkeypatch, shape, dtype):
    monkeypatch.setattr(sorts, "_is_faster", lambda *_: True)
    monkeypatch.setattr(spreading, "MOST", 4000)
    with config.set(jit="on"):
        check(numbers(shape, 50_000, dtype))
        check(specials(numbers(shape, 50_000, dtype)))


def test_all_nan(way):
    check(specials(np.full(5000, np.nan)))
    check(np.full(5000, -np.nan))


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_lines_of_several_axes(way, axis):
    shape = [3, 2]
    shape.insert(axis, 2100)
    x = specials(numbers("normal", 3 * 2100 * 2, "f8")).reshape(shape)
    assert sorting.sort(x, axis).tobytes() == np.sort(x, axis, kind="stable").tobytes()
    np.testing.assert_array_equal(sorting.argsort(x, axis), np.argsort(x, axis, kind="stable"))


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(WIDE), st.integers(32, 5000), st.integers(0, 2**32 - 1))
def test_any_bits(dtype, n, seed):
    """Floats of random bits lie at all exponents, and some are NaN."""
    x = np.frombuffer(np.random.default_rng(seed).bytes(n * np.dtype(dtype).itemsize), dtype)
    wanted = np.sort(x, kind="stable")
    with pytest.MonkeyPatch.context() as patch, config.set(jit="on"):
        patch.setattr(sorts, "_is_faster", lambda *_: True)
        patch.setattr(sorts, "LONG", 32)
        assert sorting.sort(x).tobytes() == wanted.tobytes()
        np.testing.assert_array_equal(sorts.order_row(x), np.argsort(x, kind="stable"))


def test_the_compiled_way_is_taken_and_ends(way):
    """What lies evenly is done by the kernel alone, without a sort of NumPy's; what has far outliers is not."""
    if way != "compiled":
        return
    for dtype in WIDE:
        run, x = spreading.kernel(np.dtype(dtype), 1), numbers("even", 5000, dtype)
        out = np.empty_like(x)
        assert spreading.sort_numbers(run, x, out) == spreading.DONE
        assert out.tobytes() == np.sort(x).tobytes()
    run, x = spreading.kernel(np.dtype("f8"), 1), numbers("outlier", 5000, "f8")
    assert spreading.sort_numbers(run, x, x.copy()) == spreading.UNENDED
    x[7] = -np.nan
    assert spreading.sort_numbers(run, x, x.copy()) == spreading.LOST


def test_ways_are_tried_once(monkeypatch):
    monkeypatch.setattr(sorts, "_won", {})
    tried, time_ = [], sorts._time
    monkeypatch.setattr(sorts, "_time", lambda way, row: tried.append(row.dtype) or time_(way, row))
    x = numbers("normal", 5000, "f8")
    with config.set(jit="on"):
        threads = [threading.Thread(target=check, args=(x,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        check(x)
    assert len(tried) == 4  # two ways to sort, two to find the order
    assert set(sorts._won) == {("sort", x.dtype), ("order", x.dtype)}


def test_nothing_is_tried_without_kernels(monkeypatch):
    monkeypatch.setattr(sorts, "_won", {})
    with config.set(jit="off"):
        check(numbers("normal", 5000, "f8"))
    assert not sorts._won


@pytest.mark.parametrize("dtype", [*WIDE, "i2", "f2"])
@pytest.mark.parametrize("jit", ["on", "off"])
def test_elements_beside_borders(jit, dtype):
    r = np.random.default_rng(3)
    x = specials(numbers("normal", 4097, dtype))
    usable = x[x == x]
    for count in (1, 2, 7, 8, 15, 16, 40):
        values = np.sort(r.choice(usable, count))
        after = r.random(count) < 0.5
        order = np.lexsort((after, values))
        values, after = values[order], after[order]
        part = sum((x > v) if a else (x >= v) for v, a in zip(values, after, strict=True)).astype(int)
        part[x != x] = -1
        chosen = np.unique(r.integers(0, count + 1, 3))
        with config.set(jit=jit):
            below = quantiles.below(x, values, after)[0]
            inside = quantiles.inside(x, values, after, chosen)
        wanted = [np.count_nonzero(x <= v if a else x < v) for v, a in zip(values, after, strict=True)]
        assert below.tolist() == wanted
        expected = x[np.isin(part, chosen)]
        assert np.sort(inside, kind="stable").tobytes() == np.sort(expected, kind="stable").tobytes()


def test_borders_are_compiled():
    """Every dtype of 4 or 8 bytes, and up to as many borders of a kind as there are places, has a kernel."""
    x = numbers("normal", 3000, "f8")
    with config.set(jit="on"):
        for dtype in WIDE:
            row = x.astype(dtype)
            for count in bracketing.PLACES:
                values, after = np.sort(row[:count]), np.zeros(count, bool)
                assert bracketing.count_below(row, values, after) is not None
                assert bracketing.mark_inside(row, values, after, np.array([0])) is not None
        assert bracketing.count_below(x, np.sort(x[:9]), np.zeros(9, bool)) is None


@settings(max_examples=60, deadline=None)
@given(st.sampled_from([*WIDE, "f2", "M8[s]", "U3"]), st.integers(1, 300), st.integers(0, 1000), st.data())
def test_what_stands_at_ranks(dtype, n, seed, data):
    r = np.random.default_rng(seed)
    x = (r.integers(-2, 3, n)).astype(dtype)
    if x.dtype.kind == "f":
        x[r.random(n) < 0.4] *= -0.0
    ranks = np.array(data.draw(st.lists(st.integers(0, n - 1), max_size=20)), np.int64)
    with config.set(jit="off"):
        assert quantiles.at_ranks(x, ranks).tobytes() == np.sort(x, kind="stable")[ranks].tobytes()
