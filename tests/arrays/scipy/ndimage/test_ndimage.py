"""Filters and morphology of images give what SciPy gives for the whole array."""

from __future__ import annotations

import numpy as np
import pytest

import windrow as wr
from support.beside_scipy import same

ndimage = pytest.importorskip("scipy.ndimage")

RNG = np.random.default_rng(0)
A = RNG.random((13, 17))
MODES = ("reflect", "constant", "nearest", "mirror", "wrap", "grid-wrap", "grid-constant", "grid-mirror")
CHUNKS = ((3, 5), (1, 2), (13, 17), (13, 4))
FEW = ((3, 5), (13, 2))
SLOW = pytest.mark.slow
HOW = [(FEW[:1], m) if m in ("constant", "mirror") else (FEW, m) for m in ("reflect", "constant", "mirror", "wrap")]
HOW += [pytest.param(CHUNKS, m, marks=SLOW) for m in MODES]
CROSS = np.array([[1, 0, 1], [1, 1, 0]], bool)

FILTERS = {
    "correlate": [((A[:3, :5],), {"origin": (1, -2)}), (([[1.0]],), {})],
    "convolve": [((A[:4, :2],), {"origin": (-1, 0), "cval": 2.0})],
    "correlate1d": [(([1, 2, 3.0, 4],), {"axis": 0, "origin": 1})],
    "convolve1d": [(([1, 2, 3.0, 4],), {"origin": -2})],
    "uniform_filter": [(((3, 6),), {}), ((4,), {"origin": (1, -1), "axes": (1, 0)})],
    "uniform_filter1d": [((5,), {"axis": 0, "origin": 2})],
    "sobel": [((), {})],
    "prewitt": [((0,), {})],
    "laplace": [((), {}), ((), {"axes": (1,)})],
    "gaussian_filter": [
        ((1.3,), {}),
        (((0.5, 2),), {"order": (1, 0), "axes": (1, 0)}),
        ((3,), {"radius": (1, 2)}),
        ((6,), {}),
        ((-1,), {}),
        (((-3, 2),), {}),
    ],
    "gaussian_filter1d": [((2,), {"truncate": 2.0, "axis": 0})],
    "gaussian_laplace": [((1,), {}), ((1,), {"truncate": 2.0}), ((-2,), {})],
    "gaussian_gradient_magnitude": [((1,), {})],
    "minimum_filter": [((3,), {})],
    "maximum_filter": [(((2, 5),), {"origin": (-1, 2)}), ((5,), {"axes": (0,)})],
    "minimum_filter1d": [((4,), {"origin": -2})],
    "maximum_filter1d": [((4, 0), {})],
    "rank_filter": [((2,), {"size": 3})],
    "median_filter": [((), {"footprint": CROSS, "origin": (0, 1)}), ((3,), {"axes": (1,)})],
    "percentile_filter": [((30,), {"size": (3, 4)})],
    "grey_erosion": [((), {"size": 3})],
    "grey_dilation": [((), {"structure": A[:3, :2], "origin": (1, 0)})],
    "grey_opening": [(((3, 2),), {})],
    "grey_closing": [(((3, 2),), {"origin": (1, 0)})],
    "morphological_gradient": [((3,), {})],
    "morphological_laplace": [((3,), {})],
    "white_tophat": [((3,), {})],
    "black_tophat": [((4,), {"cval": 3.0})],
}


@pytest.mark.parametrize("name", FILTERS)
@pytest.mark.parametrize(("several", "mode"), HOW)
def test_filters_in_every_mode(name, several, mode):
    for args, keywords in FILTERS[name]:
        for chunks in several:
            same("ndimage", name, [A], chunks, *args, mode=mode, **keywords)


@pytest.mark.parametrize("name", FILTERS)
def test_modes_axis_by_axis(name):
    (args, keywords), *_ = FILTERS[name]
    own = name in ("gaussian_laplace", "gaussian_gradient_magnitude")
    for mode in (["wrap", "mirror"], ["constant", "wrap"], ["nearest"]):
        if own and "wrap" in mode:
            with pytest.raises(wr.ArgumentError, match=f"{name}: argument 'mode'"):
                getattr(wr.ndimage, name)(wr.from_array(A, chunks=5), *args, mode=mode)
        else:
            same("ndimage", name, [A], (3, 5), *args, mode=mode, **keywords)


@pytest.mark.parametrize("dtype", [*"?Blfd", *(pytest.param(d, marks=SLOW) for d in "bhHiILFD")])
def test_dtypes_are_those_of_scipy(dtype):
    x = (A * 100).astype(dtype)
    for name in ("gaussian_filter", "uniform_filter", "sobel", "median_filter", "grey_erosion", "laplace", "correlate"):
        (args, keywords), *_ = FILTERS[name]
        same("ndimage", name, [x], (3, 5), *args, rtol=1e-5, **keywords)
        same("ndimage", name, [x], (3, 5), *args, rtol=1e-5, output="f4", **keywords)
        same("ndimage", name, [x], (3, 5), *args, output=np.int16, **keywords)


@pytest.mark.parametrize("shape", [(0, 5), (7,), (5, 1, 4), (1,), (2, 2)])
def test_shapes(shape):
    x = RNG.random(shape)
    for name in ("gaussian_filter", "uniform_filter", "median_filter", "maximum_filter", "grey_opening"):
        for mode in ("reflect", "wrap", "constant"):
            same("ndimage", name, [x], 2, 5, mode=mode)


@pytest.mark.parametrize("mode", ["reflect", "mirror", "nearest", "wrap", "constant"])
def test_filters_longer_than_their_line(mode):
    """SciPy reads beyond the ends of such lines; a plane of one row has the right result."""
    x = np.array([40, 36, 32, 7])
    for origin in (0, 2, -3):
        for args, size in (((2,), 7), ((-1,), 9)):
            plane = ndimage.rank_filter(x[None], *args, size=(1, size), origin=(0, origin), mode=mode)
            for chunks in (1, 3, 4):
                found = wr.ndimage.rank_filter(wr.from_array(x, chunks=chunks), *args, size, origin=origin, mode=mode)
                np.testing.assert_array_equal(found, plane[0])


def test_footprints_of_lines_may_have_holes():
    """SciPy 1.17 leaves out of account which elements of a line a footprint sees."""
    x = RNG.random(60)
    holes = np.array([1, 0, 0, 1, 1], bool)
    plane = ndimage.median_filter(x[None], footprint=holes[None])
    for chunks in (7, 60):
        found = wr.ndimage.median_filter(wr.from_array(x, chunks=chunks), footprint=holes)
        np.testing.assert_array_equal(found, plane[0])


BINARY = [
    {},
    {"structure": CROSS},
    {"structure": CROSS, "origin": (0, 1)},
    {"iterations": 3},
    {"iterations": 2, "border_value": 1},
    {"mask": A > 0.5, "iterations": 2},
    {"brute_force": True, "iterations": 2},
    {"axes": (0,)},
    {"structure": np.ones((2, 2)), "iterations": -1},
    {"iterations": 0, "border_value": 1},
    {"iterations": -1, "mask": A > 0.4},
    {"iterations": -1, "mask": A > 0.4, "border_value": 1},
    {"structure": CROSS, "iterations": 3, "mask": A > 0.4, "border_value": 1},
    {"iterations": 1.5},
    {"mask": A[:5] > 0.4},
    {"output": np.uint8},
]


@pytest.mark.parametrize("name", ["binary_erosion", "binary_dilation", "binary_opening", "binary_closing"])
@pytest.mark.parametrize("keywords", BINARY, ids=map(str, range(len(BINARY))))
def test_binary_morphology(name, keywords):
    x = A > 0.95 if name == "binary_dilation" else A > 0.3
    for chunks in FEW:
        same("ndimage", name, [x], chunks, **keywords)


@pytest.mark.parametrize("chunks", [*FEW, pytest.param((1, 2), marks=SLOW)], ids=str)
def test_binary_morphology_until_nothing_changes(chunks):
    for keywords in ({}, {"mask": A > 0.4}, {"mask": A > 0.4, "border_value": 1}, {"structure": np.ones((3, 3))}):
        same("ndimage", "binary_propagation", [A > 0.95], chunks, **keywords)
    for level in (0.3, 0.4, 0.55):
        for keywords in ({}, {"structure": np.ones((3, 3))}, {"axes": (1,)}, {"structure": CROSS, "origin": -1}):
            same("ndimage", "binary_fill_holes", [level < A], chunks, **keywords)
    same("ndimage", "binary_fill_holes", [np.where(A > 0.4, A, 0)], chunks)  # whatever isn't 0 is true
    for keywords in ({}, {"structure1": CROSS}, {"structure1": CROSS, "origin1": (1, 0), "origin2": (0, -1)}):
        same("ndimage", "binary_hit_or_miss", [A > 0.4], chunks, **keywords)


@pytest.mark.parametrize("structure", [[[1, 0]], [[1, 0, 0]], [[0, 1, 0], [1, 0, 1], [0, 1, 0]]])
def test_binary_morphology_until_nothing_changes_by_a_structure_without_its_place(structure):
    for name in ("binary_erosion", "binary_dilation", "binary_opening"):
        for x in (np.ones((14, 10), bool), np.zeros((14, 10), bool)):
            for border in (0, 1):
                same("ndimage", name, [x], (3, 9), structure=structure, iterations=0, border_value=border)


@pytest.mark.parametrize("axes", [(0,), (1,), (), None])
def test_gradients_along_some_axes_are_of_what_is_smoothed_along_all(axes):
    same("ndimage", "gaussian_gradient_magnitude", [A], (5, 6), 1.1, axes=axes)


def test_a_snake_through_all_chunks_is_followed():
    snake = np.zeros((21, 21), bool)
    snake[::2] = True
    snake[1::4, -1] = snake[3::4, 0] = True
    seed = np.zeros_like(snake)
    seed[0, 0] = True
    same("ndimage", "binary_propagation", [seed], 5, mask=snake)


def test_what_is_refused_names_the_argument():
    x = wr.from_array(A, chunks=5)
    with pytest.raises(wr.ArgumentError, match=r"gaussian_filter: argument 'output'"):
        wr.ndimage.gaussian_filter(x, 1, output=np.empty(A.shape))
    with pytest.raises(wr.DTypeError, match=r"median_filter: argument 'input'"):
        wr.ndimage.median_filter(wr.asarray(["a"]), 3)
    with pytest.raises(wr.ShapeError, match=r"binary_erosion: argument 'mask'"):
        wr.ndimage.binary_erosion(x > 0, mask=A[:3])


def test_filters_are_lazy_and_keep_chunks():
    computed = []

    def seen(block):
        computed.append(block.shape)
        return block

    x = wr.map_blocks(seen, wr.from_array(A, chunks=(3, 5)), dtype=float)
    y = wr.ndimage.gaussian_filter(x, 1)
    assert isinstance(y, wr.Array)
    assert y.chunks == x.chunks
    assert computed == []
