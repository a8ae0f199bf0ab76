"""Coefficients of splines in chunks are those of whole lines, to rounding."""

from __future__ import annotations

import numpy as np
import pytest

import windrow as wr
from support.beside_scipy import same

pytest.importorskip("scipy.ndimage")

RNG = np.random.default_rng(0)
MODES = ("reflect", "constant", "nearest", "mirror", "wrap", "grid-wrap", "grid-constant", "grid-mirror")
CASES = [
    ((150,), 37),
    ((90,), 1),
    ((130,), ((1, 1, 0, 1, 127),)),
    ((90, 70), ((1, 50, 39), 30)),
    ((9, 8), (2, 3)),
    ((9, 50, 8), (4, 20, 8)),
    ((0, 5), (1, 2)),
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("shape", "chunks"), CASES, ids=str)
def test_coefficients_are_those_of_whole_lines(shape, chunks, mode):
    x = RNG.random(shape)
    order = MODES.index(mode) % 4 + 2
    same("ndimage", "spline_filter", [x], chunks, order, mode=mode)
    same("ndimage", "spline_filter1d", [x], chunks, 5, 0, mode=mode)


@pytest.mark.parametrize("dtype", "?bBhHiIlLfdFD")
def test_dtypes(dtype):
    x = (RNG.random((40, 31)) * 100).astype(dtype)
    x = x * (1 - 2j) if dtype in "FD" else x
    for output in (np.float64, np.float32, np.complex64):
        same("ndimage", "spline_filter", [x], (9, 31), rtol=1e-5, atol=1e-5, output=output)
        same("ndimage", "spline_filter1d", [x], (9, 10), 1, output=output)
    assert wr.ndimage.spline_filter(wr.from_array(x, chunks=9)).chunks == ((9, 9, 9, 9, 4), (9, 9, 9, 4))


def test_lines_in_one_chunk_have_the_same_bits():
    ndimage = pytest.importorskip("scipy.ndimage")
    x = RNG.random((30, 200))
    for order in (2, 5):
        found = wr.ndimage.spline_filter1d(wr.from_array(x, chunks=(7, -1)), order, 1)
        np.testing.assert_array_equal(found, ndimage.spline_filter1d(x, order, 1))


def test_what_is_refused():
    for order in (1, 6, -1, 2.5, "3"):
        with pytest.raises(wr.WindrowError, match="spline_filter"):
            wr.ndimage.spline_filter(wr.ones(3), order)
    with pytest.raises(wr.WindrowError, match="spline_filter: "):
        wr.ndimage.spline_filter(wr.ones(3), mode="round")
    with pytest.raises(wr.AxisError, match="spline_filter1d"):
        wr.ndimage.spline_filter1d(wr.ones(3), axis=1)
    with pytest.raises(wr.ArgumentError, match="spline_filter1d: argument 'output'"):
        wr.ndimage.spline_filter1d(wr.ones(3), output=np.ones(3))
