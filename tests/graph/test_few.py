"""What is done with few elements comes to what NumPy's functions do."""

import numpy as np
import pytest

from windrow.graph import few


@pytest.mark.parametrize("seed", range(8))
def test_positions_and_distinct_numbers_are_numpys(seed):
    rng = np.random.default_rng(seed)
    for size in (0, 1, 2, 31, 32, 33, 600):
        for most in (1, 20, 10_000):
            values = rng.integers(-most, most, size)
            ordered = np.sort(rng.integers(-most, most, rng.integers(0, 700)))
            assert np.array_equal(few.positions_in(ordered, values), np.searchsorted(ordered, values))
            assert np.array_equal(few.distinct(values), np.unique(values))
            assert few.distinct(values).dtype == values.dtype
            column, expected = np.zeros(2 * most, np.int32), np.zeros(2 * most, np.int32)
            few.add_each(column, values + most, 3)
            np.add.at(expected, values + most, 3)
            assert np.array_equal(column, expected)


@pytest.mark.parametrize(
    "bounds",
    [(0, 0), (3, 1), (0, 5), (7, 501), (7, 9_000), (-3, 4), (16_380, 16_390), (20_000, 20_003), (20_000, 29_000)],
)
def test_numbers_that_ascend(bounds):
    found = few.ascending(*bounds)
    assert np.array_equal(found, np.arange(*bounds))
    assert found.dtype == np.int64


@pytest.mark.parametrize("shape", [(), (3,), (501,), (4, 600), (40, 1000), (0, 7)])
@pytest.mark.parametrize("dtype", ["f8", "i4", "c16", "?", "U3", "O", [("value", "f4"), ("index", "i8")]])
def test_what_is_put_and_stacked_is_what_it_was(shape, dtype):
    rng = np.random.default_rng(1)
    parts = [rng.integers(0, 100, shape).astype(str if dtype == "U3" else "i8") for _ in range(3)]
    parts = [np.asarray(p).astype(dtype) for p in parts]
    for part in parts:
        into = np.zeros(shape, dtype)
        few.put(into, part)
        assert np.array_equal(into, part)
    assert np.array_equal(few.stack(parts), np.stack(parts))
    turned = [p.T for p in parts]
    assert np.array_equal(few.stack(turned), np.stack(turned))


def test_what_is_put_takes_the_type_and_the_order_of_where_it_goes():
    part = np.arange(1200.0).reshape(30, 40) + 0.5
    for into in (np.zeros((30, 40), np.int32), np.zeros((40, 30)).T, np.zeros((30, 80))[:, ::2]):
        few.put(into, part)
        assert np.array_equal(into, part.astype(into.dtype))
