"""Differences, filters, padding, turning, windows: against NumPy on random grids."""

import warnings

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import windrow as wr
from support.arrays import close
from support.pairs import pairs

GENERATOR = np.random.default_rng(3)
LINE = GENERATOR.standard_normal(60)


def cut(data, shape):
    """Uneven chunks, some of them without elements."""
    cuts = tuple(sorted(data.draw(st.lists(st.integers(0, n), max_size=4))) for n in shape)
    return tuple(tuple(np.diff([0, *c, n]).tolist()) for c, n in zip(cuts, shape, strict=True))


def drawn(data, dtypes=("f8", "i4", "?", "c16", "u1"), least=1, axes=3):
    """A NumPy array and its lazy twin."""
    shape = tuple(data.draw(st.lists(st.integers(least, 9), min_size=1, max_size=axes)))
    dtype = np.dtype(data.draw(st.sampled_from(dtypes)))
    x = np.random.default_rng(len(shape)).integers(0, 250, shape)
    x = (x > 120 if dtype.kind == "b" else x * 0.37 if dtype.kind == "f" else x).astype(dtype)
    return x, wr.from_array(x, chunks=cut(data, shape))


@given(st.data())
def test_diff(data):
    """Any order, axis and margins."""
    x, lazy = drawn(data)
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    n = data.draw(st.integers(0, 4))
    some = {k: v for k in ("prepend", "append") if (v := data.draw(st.sampled_from([None, 3, x]))) is not None}
    mine = {k: lazy if v is x else v for k, v in some.items()}
    assume(x.dtype.kind != "b" or not some)
    close(wr.diff(lazy, n, axis, **mine), np.diff(x, n, axis, **some))


@given(st.data())
def test_gradient(data):
    """Scalars and coordinates, both orders at the edges; on equal steps with NumPy's bits."""
    x, lazy = drawn(data, ("f8", "i4", "f4", "c16", "u1"), least=3)
    edge = data.draw(st.sampled_from([1, 2]))
    axes = tuple(data.draw(st.permutations(range(x.ndim)))[: data.draw(st.integers(1, x.ndim))])
    way = data.draw(st.sampled_from(["none", "one", "each"]))
    given_ = () if way == "none" else (0.3,)
    if way == "each":
        given_ = tuple(data.draw(st.sampled_from([2.0, np.sort(LINE[: x.shape[a]])])) for a in axes)
    found = wr.gradient(lazy, *given_, axis=axes, edge_order=edge)
    expected = np.gradient(x, *given_, axis=axes, edge_order=edge)
    for mine, other in zip(found if len(axes) > 1 else [found], expected if len(axes) > 1 else [expected], strict=True):
        close(mine, other, 1e-6 if x.dtype == np.float32 else 1e-12)
        if way != "each":
            np.testing.assert_array_equal(mine.compute(), other)


def test_gradient_of_lazy_coordinates_and_dates():
    """Coordinates in chunks of their own; dates give durations."""
    place = np.cumsum(np.arange(1, 61))
    found = wr.gradient(wr.from_array(LINE, chunks=7), wr.from_array(place, chunks=11))
    close(found, np.gradient(LINE, place))
    dates = np.array(["2020-01-01", "2020-01-04", "2020-01-05", "2020-01-11"], "M8[D]")
    close(wr.gradient(wr.from_array(dates, chunks=1)), np.gradient(dates))


@given(st.data())
def test_ediff1d(data):
    """Flattened, with something before and after."""
    x, lazy = drawn(data, ("f8", "i4"))
    some = {k: data.draw(st.none() | st.sampled_from([3, [1, 2]])) for k in ("to_end", "to_begin")}
    close(wr.ediff1d(lazy, **some), np.ediff1d(x, **some))


@given(st.data())
def test_trapezoid(data):
    """Samples at equal steps, on a line, or each in its place."""
    x, lazy = drawn(data, ("f8", "i4", "c16"))
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    way = data.draw(st.sampled_from(["dx", "line", "all"]))
    some = {"dx": 0.5} if way == "dx" else {"x": LINE[: x.shape[axis]] if way == "line" else x * 2}
    close(wr.trapezoid(lazy, axis=axis, **some), np.trapezoid(x, axis=axis, **some), 1e-11)


@given(st.data())
def test_unwrap(data):
    """Floats and integers; jumps of exactly half a period."""
    x, lazy = drawn(data, ("f8", "i4"))
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    period = data.draw(st.sampled_from([2 * np.pi, 40.0, 10, 7]))
    discont = data.draw(st.sampled_from([None, 8.0]))
    close(wr.unwrap(lazy, discont, axis, period=period), np.unwrap(x, discont, axis, period=period), 1e-12)


@given(st.data())
def test_convolve_and_correlate(data):
    """Either may be the longer one; any mode, chunks and dtypes."""
    name = data.draw(st.sampled_from(["convolve", "correlate"]))
    mode = data.draw(st.sampled_from(["full", "same", "valid"]))
    pair = [drawn(data, ("f8", "i4", "c16", "f4"), axes=1) for _ in range(2)]
    expected = getattr(np, name)(pair[0][0], pair[1][0], mode)
    close(getattr(wr, name)(pair[0][1], pair[1][1], mode), expected, 1e-5 if expected.dtype == np.float32 else 1e-13)


def test_correlations_of_booleans_are_booleans():
    line, filter_ = np.array([True]), np.array([False, True, False, True])
    correlation = wr.correlate(wr.from_array(line), filter_, "same").compute()
    assert correlation.dtype == bool
    np.testing.assert_array_equal(correlation, np.correlate(line, filter_, "same"))


def test_zeros_outside_are_not_multiplied():
    """Infinity at an edge doesn't make NaN there."""
    x, v = np.array([1.0, 2, 3, 4]), np.array([np.inf, 1.0])
    np.testing.assert_array_equal(wr.convolve(wr.from_array(x, chunks=1), v).compute(), np.convolve(x, v))


@given(st.data())
def test_interp(data):
    """With ends and periods; points lazy or not."""
    x, lazy = drawn(data, ("f8", "i4"))
    xp, fp = np.array([1.0, 5, 20, 90, 91]), np.array([3.0, -1, 2, 2, 9])
    fp = fp + 1j if data.draw(st.booleans()) else fp
    some = data.draw(st.sampled_from([{}, {"left": 7.0, "right": -7.0}, {"period": 95.0}]))
    points = (wr.from_array(xp, chunks=2), wr.from_array(fp, chunks=3)) if data.draw(st.booleans()) else (xp, fp)
    close(wr.interp(lazy, *points, **some), np.interp(x, xp, fp, **some))


@given(st.data())
def test_pad(data):
    """All modes, margins wider than the array, both kinds of reflection."""
    x, lazy = drawn(data, ("f8", "i4", "u1"), axes=2)
    mode = data.draw(
        st.sampled_from(
            ["constant", "edge", "linear_ramp", "maximum", "mean", "median", "minimum", "reflect", "symmetric", "wrap"]
        )
    )
    width = st.tuples(*[st.integers(0, 12)] * 2)
    widths = tuple(data.draw(width) for _ in x.shape)
    pairs = tuple((i + 1, i + 2) for i in range(x.ndim))
    some = {
        "constant": [{}, {"constant_values": 7}, {"constant_values": pairs}],
        "linear_ramp": [{}, {"end_values": pairs}] if x.dtype.kind == "f" else [{}],
        "reflect": [{}, {"reflect_type": "odd"}],
        "symmetric": [{}, {"reflect_type": "odd"}],
    }.get(mode, [{}, {"stat_length": pairs}] if mode in ("maximum", "mean", "median", "minimum") else [{}])
    options = data.draw(st.sampled_from(some))
    expected = np.pad(x, widths, mode, **options)
    found = wr.pad(lazy, widths, mode, **options)
    if mode == "linear_ramp" and x.dtype.kind != "f":  # rounded down, after other sums
        assert np.abs(found.compute().astype(int) - expected).max() <= 1
    else:
        close(found, expected)


def test_pad_takes_all_forms_of_widths():
    """A number, a pair, pairs, a dict; margins of zeros without values."""
    x = np.arange(6).reshape(2, 3)
    lazy = wr.from_array(x, chunks=2)
    for widths in (1, (1, 2), ((1, 2), (3, 0)), {1: 2}, {-1: (1, 2)}):
        close(wr.pad(lazy, widths), np.pad(x, widths))
    assert wr.pad(lazy, 1, "empty").shape == (4, 5)
    assert wr.pad(lazy, 1, "empty").compute()[1:-1, 1:-1].tolist() == x.tolist()
    assert wr.pad(wr.ones(8, chunks=4), (1, 9)).chunks == ((5, 4, 4, 4, 1),)
    close(wr.pad(wr.ones(()), 3), np.pad(np.ones(()), 3))


@given(st.data())
def test_roll_and_turn(data):
    """Several axes and shifts at once; right angles; mirrors."""
    x, lazy = drawn(data)
    axes = tuple(data.draw(st.lists(st.integers(-x.ndim, x.ndim - 1), min_size=1, max_size=3)))
    shifts = tuple(data.draw(st.integers(-20, 20)) for _ in axes)
    close(wr.roll(lazy, shifts, axes), np.roll(x, shifts, axes))
    close(wr.roll(lazy, 3, axes), np.roll(x, 3, axes))
    close(wr.roll(lazy, (3, -4), axes[0]), np.roll(x, (3, -4), axes[0]))
    close(wr.roll(lazy, 5), np.roll(x, 5))
    close(wr.flipud(lazy), np.flipud(x))
    start = data.draw(st.integers(-x.ndim, x.ndim))
    close(wr.rollaxis(lazy, axes[0], start), np.rollaxis(x, axes[0], start))
    if x.ndim > 1:
        k, plane = data.draw(st.integers(-5, 5)), data.draw(st.permutations(range(x.ndim)))[:2]
        close(wr.rot90(lazy, k, plane), np.rot90(x, k, plane))
        close(wr.fliplr(lazy), np.fliplr(x))


@pytest.mark.parametrize("count", [0, 1, 2, 5, 8, 31])
def test_windows(count):
    """Of any length, in chunks."""
    for name in ("bartlett", "blackman", "hamming", "hanning"):
        found = getattr(wr, name)(count, chunks=4)
        np.testing.assert_allclose(found.compute(), getattr(np, name)(count), atol=1e-15)
        assert found.dtype == np.float64
    np.testing.assert_allclose(wr.kaiser(count, 14.0, chunks=4).compute(), np.kaiser(count, 14.0), atol=1e-15)


@given(st.data())
def test_functions_of_elements(data):
    """sinc, i0, angle in degrees, polynomials."""
    x, lazy = drawn(data, ("f8", "i4", "f4"))
    close(wr.sinc(lazy), np.sinc(x))
    close(wr.i0(lazy / 100), np.i0(x / 100), 1e-6 if x.dtype == np.float32 else 1e-13)
    close(wr.angle(lazy - 3j, deg=True), np.angle(x - 3j, deg=True), 1e-6)
    for p in ([2, 0, 1], np.array([1.5, -2]), []):
        close(wr.polyval(p, lazy), np.polyval(p, x), 1e-6)
    close(wr.polyval(wr.arange(3, chunks=1), lazy), np.polyval(np.arange(3), x), 1e-6)


def test_numpys_functions_dispatch():
    """NumPy's own functions, with their names for arguments, are lazy on lazy arrays."""
    lazy = wr.from_array(LINE, chunks=13)
    cases = [
        (np.diff, {"n": 2}),
        (np.gradient, {}),
        (np.ediff1d, {"to_end": 1.0}),
        (np.trapezoid, {"dx": 2.0}),
        (np.unwrap, {"period": 1.0}),
        (np.convolve, {"v": np.ones(3), "mode": "same"}),
        (np.correlate, {"v": np.ones(3)}),
        (np.interp, {"xp": np.arange(3.0), "fp": np.ones(3)}),
        (np.pad, {"pad_width": 2, "mode": "edge"}),
        (np.roll, {"shift": 3}),
        (np.flipud, {}),
        (np.sinc, {}),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for function, some in cases:
            found = function(lazy, **some)
            assert isinstance(found, wr.Array), function
            close(found, function(LINE, **some))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: wr.diff(x, -1), ValueError, "'n'"),
        (lambda x: wr.diff(wr.ones(())), ValueError, "'a'"),
        (lambda x: wr.gradient(x, edge_order=3), TypeError, "edge_order"),
        (lambda x: wr.gradient(x, 1.0, 2.0, 3.0), TypeError, "varargs"),
        (lambda x: wr.gradient(x, np.ones(3), 1.0), ValueError, "varargs"),
        (lambda x: wr.gradient(wr.ones(1)), ValueError, "at least 2"),
        (lambda x: wr.ediff1d(wr.arange(3), to_end=1.5), TypeError, "to_end"),
        (lambda x: wr.convolve(x, x), ValueError, "1-D array"),
        (lambda x: wr.convolve(x[0], []), ValueError, "'v'"),
        (lambda x: wr.correlate(x[0], x[0], "half"), TypeError, "'mode'"),
        (lambda x: wr.interp(x, [1, 2], [1]), ValueError, "'fp'"),
        (lambda x: wr.interp(x, [1, 2], [1, 2], period=0), TypeError, "'period'"),
        (lambda x: wr.polyval(x, x), ValueError, "'p'"),
        (lambda x: wr.pad(x, -1), ValueError, "pad_width"),
        (lambda x: wr.pad(x, 1.5), TypeError, "pad_width"),
        (lambda x: wr.pad(x, ((1, 2), (1, 2), (1, 2))), ValueError, "pad_width"),
        (lambda x: wr.pad(x, 1, "half"), TypeError, "'mode'"),
        (lambda x: wr.pad(x, 1, "edge", constant_values=1), TypeError, "constant_values"),
        (lambda x: wr.pad(x, 1, "reflect", reflect_type="none"), TypeError, "reflect_type"),
        (lambda x: wr.pad(wr.ones((0, 2)), 1, "edge"), ValueError, "elements"),
        (lambda x: wr.roll(x, (1, 2, 3), (0, 1)), ValueError, "'shift'"),
        (lambda x: wr.rot90(x, axes=(0, 0)), ValueError, "'axes'"),
        (lambda x: wr.rollaxis(x, 0, 5), IndexError, "'start'"),
        (lambda x: wr.fliplr(x[0]), ValueError, "two axes"),
        (lambda x: wr.sliding_window_view(x, (4, 2, 0), (0, 0, 0)), ValueError, "'window_shape'"),
        (lambda x: wr.hanning(2.5), TypeError, "'M'"),
    ],
)
def test_what_cannot_be_is_said_at_the_call(call, error, words):
    """Errors name the argument."""
    with pytest.raises(error, match=words):
        call(wr.ones((4, 4)))


def test_odd_reflections_of_unequal_margins():
    """The pattern goes on from where it was, whatever the other side has had."""
    x = np.array([43.66, 46.99])
    for mode in ("symmetric", "reflect"):
        for width in ((1, 8), (9, 2), (5, 5)):
            close(
                wr.pad(wr.from_array(x, chunks=1), width, mode, reflect_type="odd"),
                np.pad(x, width, mode, reflect_type="odd"),
            )


@given(st.data())
def test_windows_that_slide(data):
    """Any lengths and axes, also an axis twice."""
    x, lazy = drawn(data)
    axes = data.draw(st.one_of(st.none(), st.lists(st.integers(-x.ndim, x.ndim - 1), min_size=1, max_size=3)))
    along = range(x.ndim) if axes is None else axes
    lengths = tuple(data.draw(st.integers(0, min(4, x.shape[a]))) for a in along)
    view = np.lib.stride_tricks.sliding_window_view
    try:
        expected = view(x, lengths, axes)
    except ValueError:
        with pytest.raises(wr.ShapeError, match="sliding_window_view"):
            wr.sliding_window_view(lazy, lengths, axes)
        return
    close(wr.sliding_window_view(lazy, lengths, axes), expected)
    close(view(lazy, lengths, axes), expected)


@pytest.mark.parametrize("length", [1, 2, 3, 5, 28, 31, 32, 64, 65, 100])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i4", "?", "u1"])
def test_windows_are_reduced(dtype, length):
    """By doubling where they are short, by runs where they are long; a mean is a sum's."""
    a = np.random.default_rng(length).random((130, 6))
    a = a > 0.5 if dtype == "?" else (a * (1 if dtype == "f2" else 100)).astype(dtype)
    windows = np.lib.stride_tricks.sliding_window_view
    for axis, turned in ((0, a), (1, a.T)):
        x = wr.from_array(turned, chunks=(40, 4) if axis == 0 else (4, 40))
        for name in ("sum", "mean", "min", "max"):
            found = getattr(wr.sliding_window_view(x, length, axis), name)(-1)
            wanted = getattr(windows(turned, length, axis), name)(-1)
            assert found.dtype == wanted.dtype
            tolerance = {"f2": 4e-3, "f4": 3e-5}.get(found.dtype.str[1:], 1e-12)
            np.testing.assert_allclose(found.compute(), wanted, rtol=tolerance)
    wide = np.ones(130)
    wide[10], wide[11:13] = 1e-300, 1e200
    with np.errstate(all="ignore"):
        found = wr.sliding_window_view(wr.from_array(wide, chunks=130), length).prod(-1).compute()
        np.testing.assert_allclose(found, windows(wide, length).prod(-1), rtol=1e-12)
    holes = np.where(np.arange(130)[:, None] % 71 == 5, np.nan, a.astype("f8"))
    found = wr.sliding_window_view(wr.from_array(holes, chunks=(50, 6)), length, 0).sum(-1)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(windows(holes, length, 0).sum(-1)))


def test_chunks_of_windows_hardly_grow():
    x = wr.ones((1000, 1000), chunks=500)
    found = wr.sliding_window_view(x, (5, 5))
    assert found.shape == (996, 996, 5, 5)
    assert found.chunksize == (100, 100, 5, 5)
    assert wr.sliding_window_view(wr.ones(100_000, chunks=1000), 7).numblocks == (100, 1)  # windows of 56 kB a chunk
    assert wr.sliding_window_view(wr.ones(1 << 20, chunks=1 << 16), 32).chunksize == (4096, 32)  # of 1 MiB
    with pytest.raises(wr.BadValue, match="writeable"):
        wr.sliding_window_view(x, (5, 5), writeable=True)
    with pytest.raises(wr.ShapeError, match="a length for each of 2 axes"):
        wr.sliding_window_view(x, 3)


@pytest.mark.parametrize(
    ("dtype", "chunks", "length"),
    pairs(["f4", "f8", "i2", "bool"], [(500, 6), (64, 4), (7, 6)], [33, 64, 499, 500]),
)
def test_sums_and_extremes_of_long_windows(dtype, chunks, length):
    values = np.random.default_rng(3).normal(1, 0.5, (500, 6)).astype(dtype)
    if np.dtype(dtype).kind == "f":
        values[::90, 2], values[77, 3] = np.nan, np.inf
    x = wr.from_array(values, chunks=chunks)
    for axis, own in ((0, values), (1, values.T)):
        lazy = wr.sliding_window_view(x if axis == 0 else x.T, length, axis, automatic_rechunk=False)
        for name in ("sum", "prod", "min", "max"):
            expected = getattr(np.lib.stride_tricks.sliding_window_view(own.astype(lazy.dtype), length, axis), name)(-1)
            found = getattr(lazy, name)(axis=-1).compute()
            assert found.dtype == expected.dtype
            np.testing.assert_allclose(found, expected, rtol=1e-4 if dtype == "f4" else 1e-12)


def test_errors_say_what_is_wrong():
    with pytest.raises(wr.AxisError, match="pad_width"):
        wr.pad([1, 2], {3: 1})
    with pytest.raises(wr.DTypeError, match="numbers"):
        wr.polyval(["a"], [1])
    with pytest.raises(wr.DTypeError, match="numbers"):
        wr.polyfit(["a"], [1], 0)


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "symmetric", "wrap", "maximum", "linear_ramp"])
@pytest.mark.parametrize("part", [slice(2, 5), slice(7, 1, -2), slice(3, None), slice(None, -4)])
def test_pad_of_a_slice(mode, part):
    """What is beyond a slice is no margin of it."""
    x = np.arange(1.0, 13) ** 2
    for chunks in (2, 5, 12):
        got = wr.pad(wr.from_array(x, chunks=chunks)[part], (2, 1), mode=mode)
        np.testing.assert_array_equal(got.compute(), np.pad(x[part], (2, 1), mode=mode))
    table = np.arange(30.0).reshape(5, 6)
    got = wr.pad(wr.from_array(table, chunks=2)[1:4, ::-2], ((1, 2), (2, 0)), mode=mode)
    np.testing.assert_array_equal(got.compute(), np.pad(table[1:4, ::-2], ((1, 2), (2, 0)), mode=mode))
