"""Arguments that NumPy's users give: lazy levels, named branches, squares of bool, bool compared within a tolerance."""

from __future__ import annotations

import numpy as np
import pytest

import windrow as wr

RNG = np.random.default_rng(6)


def lazy(a, chunks=2):
    return wr.from_array(np.array(a), chunks=chunks)


@pytest.mark.parametrize("name", ["quantile", "percentile", "nanquantile", "nanpercentile"])
@pytest.mark.parametrize("axis", [None, 0, (0, 1), [1]])
@pytest.mark.parametrize("keepdims", [False, True])
def test_lazy_levels(name, axis, keepdims):
    a = RNG.standard_normal((6, 7))
    a[0, 0] = np.nan
    for q in (0.3, [0.1, 0.9], [[0.1, 0.2], [0.3, 0.4]], [1]):
        levels = np.array(q) * (100 if "percentile" in name else 1)
        for method in ("linear", "nearest"):
            options = {"keepdims": keepdims, "method": method}
            expected = getattr(np, name)(a, levels, axis=tuple(axis) if isinstance(axis, list) else axis, **options)
            found = getattr(wr, name)(lazy(a), lazy(levels, 1), axis=axis, **options)
            assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
            np.testing.assert_allclose(found.compute(), expected)


def test_lazy_levels_of_long_axes_with_weights_and_wrong_ones():
    a = RNG.standard_normal(300_000)
    found = wr.quantile(wr.from_array(a, chunks=30_000), wr.asarray([0.2, 0.5]))
    np.testing.assert_array_equal(found.compute(), np.quantile(a, [0.2, 0.5]))
    a, w = RNG.standard_normal((2, 6, 7))
    w = abs(w)
    found = wr.quantile(lazy(a), wr.asarray([0.2, 0.5]), weights=lazy(w), method="inverted_cdf", axis=0)
    np.testing.assert_array_equal(found, np.quantile(a, [0.2, 0.5], weights=w, method="inverted_cdf", axis=0))
    with pytest.raises(ValueError, match="quantile: argument 'q'"):
        wr.quantile(lazy(a), wr.asarray([2.0])).compute()
    with pytest.raises(ValueError, match="quantile: argument 'q'"):
        wr.quantile(lazy(a), wr.asarray([2j]))


def test_dasks_method_of_running_sums():
    x = wr.arange(5, chunks=2) + 1
    for method in ("sequential", "blelloch"):
        assert wr.cumsum(x, method=method).tolist() == [1, 3, 6, 10, 15]
        assert x.cumprod(method=method).tolist() == [1, 2, 6, 24, 120]
        assert wr.nancumsum(x, axis=0, method=method).tolist() == x.cumsum(method=method).tolist()
        assert wr.nancumprod(x, method=method).tolist() == [1, 2, 6, 24, 120]
    with pytest.raises(ValueError, match="cumsum: argument 'method' is 'tree'"):
        wr.cumsum(x, method="tree")


def test_bool_is_compared_within_a_tolerance():
    a, b = np.array([True, False]), np.array([True, True])
    assert wr.isclose(lazy(a), b).tolist() == np.isclose(a, b).tolist()
    assert wr.isclose(lazy(a), lazy(b)).tolist() == [True, False]
    assert bool(wr.allclose(lazy(a), a))
    assert bool(np.allclose(lazy(b), True))


def test_where_by_name():
    x = wr.arange(4, chunks=2)
    assert wr.where(x > 1, x=x, y=0).tolist() == [0, 0, 2, 3]
    assert wr.where(condition=x > 1, x=1, y=x).tolist() == [0, 1, 1, 1]
    for given in ({"x": 1}, {"y": 1}):
        with pytest.raises(ValueError, match="both x and y, or neither"):
            wr.where(x > 1, **given)


def test_expand_dims_wants_an_axis_as_in_numpy():
    with pytest.raises(TypeError, match="expand_dims: argument 'axis' is None"):
        wr.expand_dims(wr.ones(3), None)


def test_squares_of_small_dtypes_stay_small_as_in_numpy():
    for dtype in ("?", "i1", "u1", "i8", "f4", "f8", "c8"):
        a = np.array([0, 1, 1]).astype(dtype)
        for power in (0, 1, 2, 3, 2.0, 0.5, np.int8(2)):
            found, expected = lazy(a) ** power, a**power
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found.compute(), expected)
    a = np.array([-0.0, 4.0, np.inf])
    assert (lazy(a) ** 0.5).compute().tobytes() == (a**0.5).tobytes()


def test_pad_takes_a_function():
    def margin(line, width, axis, kwargs):
        line[: width[0]] = kwargs.get("value", 10)
        if width[1]:
            line[-width[1] :] = line[width[0]] + axis

    a = np.arange(12).reshape(3, 4)
    for width in (2, ((1, 0), (0, 3)), ((0, 0), (2, 1))):
        for kwargs in ({}, {"value": 3}):
            found = wr.pad(lazy(a), width, margin, **kwargs)
            np.testing.assert_array_equal(found.compute(), np.pad(a, width, margin, **kwargs))
    with pytest.raises(ValueError, match="pad: argument 'mode' is 'round'; expected a function, or one of"):
        wr.pad(lazy(a), 1, "round")


def test_arange_has_numpys_dtypes():
    u, f = np.uint8, np.float32
    for args in [
        (u(3),),
        (u(3), u(13), u(2)),
        (3, u(9)),
        (f(5),),
        (f(1), f(5), f(2)),
        (np.int8(1), u(5)),
        (True, 5),
        (0, 5.0),
    ]:
        found, expected = wr.arange(*args), np.arange(*args)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found.compute(), expected)


def test_integers_are_rounded_before_the_point():
    a = np.arange(-120, 120)
    for dtype in ("i8", "i4", "u1"):
        x = a.astype(dtype)
        for decimals in (-2, -1, 0, 1):
            found = wr.round(lazy(x, 50), decimals)
            assert found.dtype == np.round(x, decimals).dtype
            np.testing.assert_array_equal(found.compute(), np.round(x, decimals))


def test_small_things_of_signatures():
    a = np.arange(6.0).reshape(2, 3)
    assert wr.matmul(lazy(a), lazy(a.T), dtype="f4").dtype == np.float32
    with pytest.raises(TypeError, match="'dtype'"):
        wr.matmul(lazy(a), lazy(a.T), dtype="i4")
    assert wr.permute_dims(wr.arange(3), 0).tolist() == [0, 1, 2]
    assert wr.transpose(wr.arange(3), axes=-1).tolist() == [0, 1, 2]
    assert wr.ravel(lazy(a), order="K").tolist() == a.ravel(order="K").tolist()
    with pytest.raises(ValueError, match="reshape: argument 'order'"):
        wr.reshape(lazy(a), (3, 2), order="K")
    with pytest.raises(TypeError, match="nanvar: argument 'dtype'"):
        wr.nanvar(lazy(a), dtype="i4")
    assert wr.percentile(wr.arange(5), 50, internal_method="tdigest").compute() == 2
    with pytest.raises(ValueError, match="percentile: argument 'internal_method'"):
        wr.percentile(wr.arange(5), 50, internal_method="p2")


PRODUCTS = {
    "a zero first": np.arange(400.0),
    "a zero last": np.arange(400.0)[::-1],
    "down and up": np.r_[np.full(1500, 0.5), np.full(1500, 2.0)],
    "up and down": np.r_[np.full(1500, 2.0), np.full(1500, 0.5)],
    "infinite": np.r_[np.ones(100), np.inf, np.ones(100), -1.0, 0.0, np.ones(50)],
    "nan": np.r_[np.full(100, 3.0), np.nan, np.zeros(10)],
    "large, then zero": np.r_[np.full(200, 1e3), 0.0, np.full(200, 1e3)],
}


@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("dtype", ["f8", "f4", "c16"])
def test_running_products_beyond_the_range_of_floats(name, dtype):
    a = PRODUCTS[name].astype(dtype)
    with np.errstate(all="ignore"):
        for function in ("cumprod", "nancumprod"):
            expected = getattr(np, function)(a)
            np.testing.assert_allclose(getattr(wr, function)(lazy(a, 30)).compute(), expected, rtol=1e-4)
        rows = np.stack([a, a[::-1], np.ones_like(a)], 1)
        np.testing.assert_allclose(wr.cumprod(lazy(rows, (40, 2)), 0).compute(), np.cumprod(rows, 0), rtol=1e-4)


def test_polyfit():
    rng = np.random.default_rng(4)
    x = np.sort(rng.random(200) * 4 - 1)
    y = np.stack([x**3 - 2 * x, 1 + x**2], 1) + rng.standard_normal((200, 2)) / 50
    w = rng.random(200) + 0.5
    for target in (y[:, 0], y):
        for options in ({}, {"w": w}, {"deg": 0}, {"cov": True}, {"cov": "unscaled", "w": w}, {"full": True}):
            given = {"deg": 3} | options
            expected = np.polyfit(x, target, **given)
            lazies = {k: lazy(v, 70) if k == "w" else v for k, v in given.items()}
            found = wr.polyfit(lazy(x, 70), lazy(target, 70), **lazies)
            if not isinstance(expected, tuple):
                found, expected = (found,), (expected,)
            for ours, theirs in zip(found, expected, strict=True):
                np.testing.assert_allclose(np.asarray(ours), theirs, rtol=1e-8, atol=1e-12)
    assert np.polyfit(lazy(x), lazy(y), 2).shape == (3, 2)
    for bad in ({"x": x[:3]}, {"x": y}, {"deg": -1}, {"w": w[:2]}):
        with pytest.raises(TypeError, match="polyfit: argument"):
            wr.polyfit(**({"x": x, "y": y, "deg": 2} | bad))


def test_systems_of_several_axes():
    rng = np.random.default_rng(5)
    a, b = rng.random((2, 3, 6)) + np.eye(6).reshape(2, 3, 6), rng.random((2, 3))
    close = np.testing.assert_allclose
    close(wr.linalg.tensorsolve(lazy(a), lazy(b)).compute(), np.linalg.tensorsolve(a, b))
    turned = np.moveaxis(a, 2, 0)
    close(
        wr.linalg.tensorsolve(lazy(turned), lazy(b), axes=(0,)).compute(), np.linalg.tensorsolve(turned, b, axes=(0,))
    )
    close(wr.linalg.tensorinv(lazy(a)).compute(), np.linalg.tensorinv(a))
    close(np.linalg.tensorinv(lazy(a.reshape(6, 6)), 1).compute(), np.linalg.tensorinv(a.reshape(6, 6), 1))
    with pytest.raises(np.linalg.LinAlgError, match="tensorinv: argument 'a'"):
        wr.linalg.tensorinv(lazy(a), ind=1)
    with pytest.raises(ValueError, match="tensorinv: argument 'ind'"):
        wr.linalg.tensorinv(lazy(a), ind=0)
    with pytest.raises(np.linalg.LinAlgError, match="tensorsolve: argument 'a'"):
        wr.linalg.tensorsolve(lazy(a), np.ones((3, 2, 2)))


def test_what_ufuncs_tell_about_themselves():
    for name in ("add", "sin", "divmod", "maximum", "logical_and"):
        ours, theirs = getattr(wr, name), getattr(np, name)
        for attribute in ("nin", "nout", "nargs", "identity", "types", "__name__"):
            assert getattr(ours, attribute) == getattr(theirs, attribute)


def test_stacks_are_cast():
    a = np.arange(6.0).reshape(2, 3)
    for name in ("hstack", "vstack"):
        for options in ({"dtype": "f4"}, {"dtype": "i4", "casting": "unsafe"}):
            found, expected = getattr(wr, name)([lazy(a), a], **options), getattr(np, name)([a, a], **options)
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found.compute(), expected)
        with pytest.raises(TypeError, match="dtype"):
            getattr(wr, name)([lazy(a), a], dtype="i4")


@pytest.mark.parametrize("name", ["nanquantile", "nanpercentile"])
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0,)])
@pytest.mark.filterwarnings("ignore:Mean of empty slice")
def test_levels_of_nothing(name, shape):
    a = np.zeros(shape)
    for axis in (None, *range(len(shape))):
        for keepdims in (False, True):
            for q in (0.3, [0.1, 0.2]):
                expected = getattr(np, name)(a, q, axis=axis, keepdims=keepdims)
                found = getattr(wr, name)(lazy(a), q, axis=axis, keepdims=keepdims)
                assert found.shape == expected.shape
                np.testing.assert_array_equal(found, expected)


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
def test_mean_without_nan_of_complex_numbers_into_real_ones():
    z = RNG.standard_normal((3, 4)) + 1j
    z[0, 0] = np.nan
    for options in ({}, {"where": z.real > -1}):
        for dtype in ("f8", "f4", "c16"):
            expected, found = np.zeros(4, dtype), np.zeros(4, dtype)
            np.nanmean(z, 0, out=expected, **options)
            wr.nanmean(lazy(z), 0, out=found, **options)
            np.testing.assert_allclose(found, expected, rtol=1e-6)
        with pytest.raises(TypeError, match="nanmean: the result has dtype complex128"):
            wr.nanmean(lazy(z), 0, out=np.zeros(4, "i8"), **options)


@pytest.mark.parametrize("dtype", ["i1", "u8", "f4"])
def test_selected_integers_wrap_around_where_numpys_do(dtype):
    x = np.arange(6)
    y = x.astype(dtype)
    for choice, default in ((y, 300), (y, -1), (300 if dtype != "u8" else y, 0), (y, 2.5)):
        expected = np.select([x < 2, x > 4], [y, choice], default)
        found = wr.select([lazy(x) < 2, lazy(x) > 4], [lazy(y), lazy(y) if choice is y else choice], default)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
    with pytest.raises(OverflowError, match="select: argument 'choicelist'"):
        wr.select([lazy(x) < 2, lazy(x) > 4], [lazy(x.astype("u1")), 300])


def test_bits_of_one_number():
    for axis in (None, 0, -1):
        np.testing.assert_array_equal(wr.packbits(wr.asarray(np.True_), axis=axis), np.packbits(np.True_, axis=axis))
        five = np.uint8(5)
        np.testing.assert_array_equal(wr.unpackbits(wr.asarray(five), axis=axis), np.unpackbits(five, axis=axis))
    with pytest.raises(np.exceptions.AxisError, match="packbits"):
        wr.packbits(wr.asarray(np.True_), axis=1)
    with pytest.raises(ValueError, match="unpackbits: argument 'count' is -9"):
        wr.unpackbits(lazy(np.array([5], "u1")), count=-9)


@pytest.mark.parametrize("sizes", [(2, 3), (3, 2), (2, 2), (3, 3)])
def test_cross_products_of_two_elements(sizes):
    a, b = (RNG.standard_normal((4, n)) for n in sizes)
    a[0, 0], b[1, 0] = 0, np.inf
    for options in ({}, {"axisc": 0}):
        with np.errstate(invalid="ignore"):
            if sizes == (3, 3):
                expected, found = np.cross(a, b, **options), wr.cross(lazy(a), lazy(b), **options)
            else:
                with pytest.warns(DeprecationWarning, match="2-dimensional"):
                    expected = np.cross(a, b, **options)
                with pytest.warns(DeprecationWarning, match="two elements"):
                    found = wr.cross(lazy(a), lazy(b), **options)
            assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
            assert found.compute().tobytes() == np.ascontiguousarray(expected).tobytes()
    mixed = np.arange(12).reshape(4, 3)
    np.testing.assert_array_equal(wr.cross(lazy(mixed % 2 == 0), lazy(mixed)), np.cross(mixed % 2 == 0, mixed))
    with pytest.raises(ValueError, match=r"linalg.cross: argument 'x2' is .*three elements"):
        wr.linalg.cross(lazy(np.ones((2, 3))), lazy(np.ones((2, 2))))
    with pytest.raises(ValueError, match="vectors of two or three"):
        wr.cross(lazy(np.ones((2, 4))), lazy(np.ones((2, 4))))


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
@pytest.mark.parametrize("lazy", [False, True])
def test_take_of_an_empty_axis(mode, lazy):
    x = wr.zeros((0, 3), chunks=2)
    positions = wr.asarray([0, 1]) if lazy else [0, 1]
    for axis in (0, None):
        with pytest.raises(IndexError, match=r"^take: 2 positions are given; expected none, since the axis is empty"):
            wr.take(x, positions, axis=axis, mode=mode)
    assert wr.take(x, positions, axis=1, mode=mode).compute().shape == (0, 2)
    assert wr.take(x, [], axis=0, mode=mode).compute().shape == (0, 3)


def test_average_without_results_is_numpys_error():
    for keepdims in (False, True):
        with pytest.raises(
            ZeroDivisionError, match=r"^average: argument 'a' has shape \(0, 3\); expected some elements"
        ):
            wr.average(wr.zeros((0, 3)), axis=1, keepdims=keepdims)
    with pytest.warns(RuntimeWarning, match="Mean of empty slice"):
        assert np.isnan(wr.average(wr.zeros((0, 3)), axis=0).compute()).all()


@pytest.mark.parametrize("name", ["median", "nanmedian"])
def test_medians_of_nothing_warn(name):
    for axis in (None, 0):
        with pytest.warns(RuntimeWarning, match="Mean of empty slice"):
            assert np.isnan(getattr(wr, name)(wr.zeros((0, 3)), axis=axis).compute()).all()
    assert getattr(wr, name)(wr.zeros((0, 3)), axis=1).compute().shape == (0,)


@pytest.mark.parametrize(
    ("array", "error"), [(np.zeros((0, 2)), ValueError), (np.array([True]), TypeError), (np.array(["a"]), TypeError)]
)
def test_ptp_names_itself(array, error):
    with pytest.raises(error, match=r"^ptp: (array of shape|argument 'a')"):
        wr.ptp(wr.asarray(array))


def test_errors_of_users_linear_algebra_are_theirs():
    with pytest.raises(np.linalg.LinAlgError, match=r"^Singular matrix\n"):
        wr.map_blocks(np.linalg.inv, wr.zeros((4, 4), chunks=4), dtype=float).compute()
