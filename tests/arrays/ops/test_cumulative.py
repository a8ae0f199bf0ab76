"""Running sums, products and extremes against NumPy, on random grids."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import windrow as wr
from support.arrays import close
from windrow.arrays.ops.reductions.cumulative import accumulate
from windrow.graph.expr.expr import walk
from windrow.graph.kinds.mapping import BlockFunction

UFUNCS = ("add", "multiply", "maximum", "minimum", "fmax", "fmin", "logical_and", "logical_or", "logical_xor")
UFUNCS += ("bitwise_and", "bitwise_or", "bitwise_xor", "subtract", "hypot")


def some(shape, dtype, seed=0):
    generator = np.random.default_rng(seed)
    kind = np.dtype(dtype).kind
    if kind == "b":
        return generator.random(shape) < 0.8
    if kind in "iu":
        return generator.integers(0, 120, shape).astype(dtype)
    found = generator.standard_normal(shape)
    return (found + 1j * generator.standard_normal(shape) if kind == "c" else found).astype(dtype)


def same(lazy, expected):
    inexact = expected.dtype.kind in "fc"
    close(lazy, expected, 60 * float(np.finfo(expected.dtype).eps) if inexact else 0.0, 1)


@st.composite
def arrays(draw, dtypes=("i1", "u2", "i8", "?", "f4", "f8", "c16")):
    """A NumPy array with its lazy twin in uneven chunks, some of them without elements."""
    shape = tuple(draw(st.lists(st.integers(0, 12), min_size=1, max_size=3)))
    x = some(shape, draw(st.sampled_from(dtypes)), draw(st.integers(0, 9)))
    cuts = tuple(sorted(draw(st.lists(st.integers(0, n), max_size=5))) for n in shape)
    chunks = tuple(tuple(np.diff([0, *c, n]).tolist()) for c, n in zip(cuts, shape, strict=True))
    return x, wr.from_array(x, chunks=chunks)


@given(arrays(), st.data())
def test_running_sums_and_products(pair, data):
    """All dtypes: integers overflow as NumPy's, small ones become wide."""
    x, lazy = pair
    axis = data.draw(st.none() | st.integers(-x.ndim, x.ndim - 1))
    dtype = data.draw(st.sampled_from([None, "f8", "i8", "c16", "u1"]))
    assume(dtype is None or np.can_cast(x.dtype, dtype, "same_kind") or dtype in ("f8", "c16"))
    assume(not (x.dtype.kind == "c" and dtype == "f8"))
    with np.errstate(all="ignore"):
        for name in ("cumsum", "cumprod"):
            # A product that overflows before it meets a zero is NaN, or 0 where the zero's chunk comes first.
            assume(np.isfinite(expected := getattr(np, name)(x, axis, dtype)).all())
            same(getattr(wr, name)(lazy, axis, dtype), expected)
            same(getattr(lazy, name)(axis), getattr(x, name)(axis))


@given(arrays(), st.data())
def test_cumulative_sum_and_prod(pair, data):
    """With and without what comes first."""
    x, lazy = pair
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    initial = data.draw(st.booleans())
    with np.errstate(all="ignore"):
        for name in ("cumulative_sum", "cumulative_prod"):
            expected = getattr(np, name)(x, axis=axis, include_initial=initial)
            same(getattr(wr, name)(lazy, axis=axis, include_initial=initial), expected)


@given(arrays(), st.data())
def test_any_ufunc_accumulates(pair, data):
    """In parts where they may be applied to parts first, else along whole lines."""
    x, lazy = pair
    ufunc = getattr(np, data.draw(st.sampled_from(UFUNCS)))
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    try:
        expected = ufunc.accumulate(x, axis=axis)
    except TypeError:
        with pytest.raises(TypeError, match="accumulate"):
            accumulate(ufunc, lazy, axis)
        return
    same(accumulate(ufunc, lazy, axis), expected)


def test_numpys_accumulate_dispatches():
    """The method of a ufunc, with its dtype: sums stay as narrow as they are told to."""
    x = some(50, "i1")
    lazy = wr.from_array(x, chunks=7)
    for ufunc, dtype in ((np.add, None), (np.add, "i1"), (np.multiply, "f4"), (np.maximum, None), (np.subtract, "i8")):
        same(ufunc.accumulate(lazy, dtype=dtype), ufunc.accumulate(x, dtype=dtype))


@given(arrays(dtypes=("f4", "f8", "c16", "i4")), st.data())
def test_nan_counts_as_nothing(pair, data):
    """In sums as zero, in products as one."""
    x, _ = pair
    x = x.copy()
    if x.dtype.kind != "i":
        x[np.random.default_rng(1).random(x.shape) < 0.3] = np.nan
    lazy = wr.from_array(x, chunks=5)
    axis = data.draw(st.none() | st.integers(-x.ndim, x.ndim - 1))
    for name in ("nancumsum", "nancumprod"):
        same(getattr(wr, name)(lazy, axis), getattr(np, name)(x, axis))


def test_nan_and_infinity_pass_on():
    """From one chunk to all that follow."""
    x = np.array([1.0, np.nan, 2.0, np.inf, 3.0])
    for chunks in (1, 2, 5):
        lazy = wr.from_array(x, chunks=chunks)
        for ufunc in (np.add, np.maximum, np.minimum, np.fmax):
            np.testing.assert_array_equal(accumulate(ufunc, lazy).compute(), ufunc.accumulate(x))


def test_one_chunk_has_numpys_bits():
    """Nothing is done in parts there."""
    x = some(10_000, "f8")
    assert np.array_equal(wr.cumsum(wr.from_array(x, chunks=-1)).compute(), np.cumsum(x))


def test_nothing_waits_for_the_driver():
    """The graph is there at once, and no chunk grows by more than the scan of the totals."""
    x = wr.ones((1000, 100), chunks=(10, 100))
    made = [e.op.function for e in walk([wr.cumsum(x, axis=0).expr]) if isinstance(e.op, BlockFunction)]
    assert made == ["statistics.scans:total", "statistics.scans:scan", "statistics.scans:scan_from"]
    assert wr.cumsum(x, axis=0).chunks == x.chunks


def test_many_chunks():
    """More than a block of totals."""
    x = some(5000, "i8")
    same(wr.cumsum(wr.from_array(x, chunks=1)), np.cumsum(x))


def test_times_add_up():
    """Durations keep their unit."""
    x = np.arange(7).astype("m8[s]")
    same(wr.cumsum(wr.from_array(x, chunks=3)), np.cumsum(x))


@pytest.mark.parametrize("dtype", ["M8[D]", ">M8[s]", "m8[h]"])
@pytest.mark.parametrize("ufunc", [np.maximum, np.minimum, np.fmax, np.fmin])
def test_extremes_of_times(ufunc, dtype):
    x = np.array([[3, 1], [5, 0], [4, 7], [9, 2], [1, 8]]).astype(dtype)
    x[1, 0], x[3, 1] = "NaT", "NaT"
    for axis in (0, 1):
        same(ufunc.accumulate(wr.from_array(x, chunks=(2, 1)), axis), ufunc.accumulate(x, axis))


def test_scalars():
    """As NumPy's: a line of one."""
    same(wr.cumsum(wr.full((), 5)), np.cumsum(5))
    same(wr.cumulative_sum(wr.full((), 5)), np.cumulative_sum(5))


def test_numpys_functions_dispatch():
    """np.cumsum of a lazy array is lazy."""
    lazy = wr.arange(10, chunks=3)
    for name in ("cumsum", "cumprod", "nancumsum", "cumulative_sum", "cumulative_prod"):
        found = getattr(np, name)(lazy)
        assert isinstance(found, wr.Array)
        same(found, getattr(np, name)(np.arange(10)))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: wr.cumulative_sum(x), (ValueError, IndexError), "axis"),
        (lambda x: wr.cumsum(x, axis=2), IndexError, "axis"),
        (lambda x: wr.cumsum(x, axis=1.5), TypeError, "axis"),
        (lambda x: wr.cumulative_sum(x, axis=0, include_initial=1), TypeError, "include_initial"),
        (lambda x: wr.cumprod(wr.from_array(np.array(["a"]))), TypeError, "cumprod"),
        (lambda x: accumulate(np.bitwise_or, x), TypeError, "bitwise_or"),
    ],
)
def test_what_cannot_be_is_said_at_the_call(call, error, words):
    """Errors name operation and argument."""
    with pytest.raises(error, match=words):
        call(wr.ones((3, 3)))


@pytest.mark.parametrize("dtype", ["f4", "f2", "c8"])
@pytest.mark.parametrize("name", ["cumsum", "nancumsum", "cumulative_sum"])
def test_small_floats_make_no_step_at_chunk_borders(name, dtype):
    """Each element is the true one, rounded once; so the running sum of what isn't negative never falls."""
    n, size = (200_000, 25_000) if dtype != "f2" else (4000, 500)
    generator = np.random.default_rng(3)
    x = generator.random(n)
    x = (x / 100 if dtype == "f2" else x).astype(dtype)
    exact = np.cumsum(x.astype(np.result_type(dtype, "f8")))
    for lazy in (wr.from_array(x, chunks=size), wr.from_array(np.stack([x, x]), chunks=(1, size))):
        running = getattr(wr, name)(lazy, axis=lazy.ndim - 1).compute()
        assert running.dtype == dtype
        for line in running.reshape(-1, n):
            assert (np.abs(line - exact) <= 0.75 * np.finfo(dtype).eps * np.abs(exact)).all()
            if dtype != "c8":
                assert (line[1:] >= line[:-1]).all()


@pytest.mark.parametrize("dtype", ["m8[s]", "m8[ms]", "m8", "i8"])
def test_running_sums_of_durations_keep_their_unit(dtype):
    x = np.array([1500, 700, 3], "m8[ms]")
    running, expected = wr.cumsum(wr.from_array(x, chunks=2), dtype=dtype), np.cumsum(x, dtype=dtype)
    assert running.dtype == expected.dtype
    np.testing.assert_array_equal(running, expected)


def test_small_floats_that_leave_their_range():
    x = np.array([3e38, 3e38, -3e38, 1], "f4")
    with np.errstate(all="ignore"):
        assert wr.cumsum(wr.from_array(x, chunks=2)).compute().tolist()[1] == np.inf
    x = np.array([1e-30, 1e-30, 1e30, 1e30], "f4")
    for chunks in (1, 2, 4):
        np.testing.assert_allclose(wr.cumprod(wr.from_array(x, chunks=chunks)).compute(), np.cumprod(x))
