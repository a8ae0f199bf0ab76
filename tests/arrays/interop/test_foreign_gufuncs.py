"""Other people's functions of core axes, and ufuncs that can't travel: numba's, numbagg's."""

from __future__ import annotations

import numpy as np
import pytest

import windrow as wr

numba = pytest.importorskip("numba")

DATA = np.random.default_rng(2).random((6, 8))


@pytest.fixture
def total():
    """A sum; numba takes seconds to compile it, so not when the tests are collected."""

    @numba.guvectorize(["void(float64[:], float64[:])"], "(n)->()")
    def total(line, out):
        out[0] = 0
        for k in range(line.shape[0]):
            out[0] += line[k]

    return total


@pytest.fixture
def add_to_first():
    @numba.guvectorize(["void(float64[:], float64, float64[:])"], "(n),()->(n)")
    def add_to_first(line, number, out):
        out[:] = line
        out[0] += number

    return add_to_first


def test_functions_of_core_axes(total, add_to_first):
    x = wr.from_array(DATA, chunks=(2, 3))
    for keywords in ({}, {"axis": 0}, {"axis": -2, "keepdims": True}, {"axes": [0]}, {"axes": [(1,), ()]}):
        found = total(x, **keywords)
        assert isinstance(found, wr.Array)
        np.testing.assert_allclose(found.compute(), total(DATA, **keywords), rtol=1e-14)
    for keywords in ({}, {"axes": [0, (), 0]}, {"axis": 0}):
        found = add_to_first(x, 2.0, **keywords)
        np.testing.assert_array_equal(found.compute(), add_to_first(DATA, 2.0, **keywords))
    with pytest.raises(ValueError, match="total: argument 'dtype'"):
        total(x, dtype="f4")
    with pytest.raises(wr.AxisError):
        total(x, axis=2)


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.slow  # numbagg compiles
def test_numbagg():
    numbagg = pytest.importorskip("numbagg")
    data = np.where(DATA < 0.3, np.nan, DATA)
    x = wr.from_array(data, chunks=(2, 3))
    for call in (
        lambda a: numbagg.nanquantile(a, 0.4, axis=0),
        lambda a: numbagg.nanmedian(a, axis=1),
        lambda a: numbagg.ffill(a, axis=0),
        lambda a: numbagg.move_mean(a, window=3, min_count=1, axis=0),
    ):
        found = call(x)
        assert isinstance(found, wr.Array)
        np.testing.assert_allclose(found.compute(), call(data), rtol=1e-14)


PROGRAM = """
import functools
import numba
import numpy as np
import windrow as wr

@functools.cache
def made():
    return numba.vectorize(["float64(float64)"], target="parallel")(lambda x: x * 2)

@numba.vectorize(["float64(float64)"], target="parallel")
def here(x):
    return x * 2

@numba.vectorize(["float64(float64)"])
def alone(x):
    return x * 2

x = wr.arange(40.0, chunks=10)
assert (wr.map_blocks(lambda block: made()(block), x).compute() == np.arange(40) * 2).all()
assert (alone(x).compute() == np.arange(40) * 2).all()
try:
    wr.map_blocks(lambda block: here(block), x).compute()
    assert wr.size() == 1 or len(set(wr.map_blocks(lambda b: b * 0 + wr.rank(), x).compute())) == 1
except wr.ArgumentError as error:
    assert "'here' was made by the script" in str(error)
print("right")
"""


@pytest.mark.ranks
@pytest.mark.slow
def test_parallel_ufuncs_on_ranks(launch, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    ended = launch(3, "program.py")
    assert (ended.status, ended.last) == (0, "right"), ended.err


@pytest.mark.parametrize("chunks", [(12, 2), (5, 1), ((1, 1, 4, 6), 2)])
def test_push(chunks):
    plain = np.random.default_rng(8).normal(size=(12, 2))
    plain[np.random.default_rng(9).random((12, 2)) < 0.6] = np.nan
    x = wr.from_array(plain, chunks=chunks)
    for n in (None, 0, 1, 2, 7, 12, 40):
        expected = plain.copy()
        for j in range(2):
            gap = 99
            for i in range(12):
                gap = gap + 1 if np.isnan(plain[i, j]) else 0
                if 0 < gap <= min(i, 99 if n is None else n):
                    expected[i, j] = plain[i - gap, j]
        np.testing.assert_array_equal(wr.push(x, n, 0).compute(), expected)
    days = plain.astype("M8[D]")
    filled = wr.push(wr.from_array(days, chunks=chunks), axis=0).compute()
    np.testing.assert_array_equal(np.isnat(filled), np.isnan(wr.push(x, axis=0).compute()))
    with pytest.raises(TypeError, match="push: argument 'array' is dtype"):
        wr.push(wr.arange(3))
