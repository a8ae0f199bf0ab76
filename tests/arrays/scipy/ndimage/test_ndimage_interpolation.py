"""Interpolation of arrays in chunks is SciPy's of whole ones."""

from __future__ import annotations

import numpy as np
import pytest

import windrow as wr
from support.beside_scipy import same

ndimage = pytest.importorskip("scipy.ndimage")

RNG = np.random.default_rng(0)
A = RNG.random((60, 50))
TURN = [[0.9, 0.3], [-0.3, 0.9]]
AROUND = RNG.random((2, 30, 20)) * 120 - 30
MODES = ("reflect", "constant", "nearest", "mirror", "wrap", "grid-wrap", "grid-constant", "grid-mirror")
CALLS = {
    "zoom": [((1.7,), {}), (((0.4, 2.3),), {"grid_mode": True}), ((1,), {})],
    "shift": [(((3.3, -70.2),), {}), ((-1,), {})],
    "affine_transform": [
        ((TURN, (5, -7)), {"output_shape": (80, 90)}),
        (([2, 0.5],), {"output_shape": (35, 220), "offset": 1}),
        ((np.array([[1.1], [0.7]]), (2, 3)), {"output_shape": (40,)}),
        ((np.array([[0.9, 0.1, 3], [0.2, 0.8, -2], [0, 0, 1]]),), {}),
    ],
    "rotate": [((33,), {}), ((-75.5,), {"reshape": False}), ((90,), {"axes": (0, 1)})],
    "map_coordinates": [((AROUND,), {}), ((AROUND[:, :5, 0].astype("i4"),), {})],
}


def often(order, mode):
    """Mark all as slow but an order of each mode."""
    return pytest.param(order, mode, marks=[] if order == MODES.index(mode) % 6 else pytest.mark.slow)


@pytest.mark.parametrize(("order", "mode"), [often(order, mode) for order in range(6) for mode in MODES])
@pytest.mark.parametrize("name", CALLS)
def test_each_mode_and_order(name, order, mode):
    prefilter = (order + MODES.index(mode)) % 2 == 0
    for number, (args, keywords) in enumerate(CALLS[name]):
        chunks = [(13, 50), (20, 17)][(number + order) % 2]
        keywords = {"mode": mode, "order": order, "cval": 0.7, "prefilter": prefilter} | keywords
        same("ndimage", name, [A], chunks, *args, rtol=1e-8, atol=1e-9, **keywords)


@pytest.mark.parametrize("dtype", "bBhHiIlfdFD")  # what rounds anywhere near 0 to True, or wraps around, is SciPy's
def test_dtypes(dtype):
    x = (RNG.random((40, 31)) * 100).astype(dtype)
    x = x * (1 - 2j) if dtype in "FD" else x
    cval = -3.7 + 1j if dtype in "FD" else -3.7
    for order, mode in ((0, "constant"), (1, "grid-constant"), (3, "mirror")):
        keywords = {"order": order, "mode": mode, "cval": cval, "rtol": 1e-5, "atol": 1e-4}
        same("ndimage", "zoom", [x], (9, 31), (1.3, 0.7), **keywords)
        same("ndimage", "shift", [x], (9, 10), (-2.25, 5), output=np.float32, **keywords)
        same("ndimage", "rotate", [x], 10, 20, **keywords)


@pytest.mark.parametrize(
    ("shape", "chunks"), [((200,), 30), ((1, 40), (1, 7)), ((5, 30, 26), (2, 11, 26)), ((3, 1, 4), 2)], ids=str
)
@pytest.mark.parametrize("mode", ["constant", "reflect", "wrap", "grid-wrap", "nearest", "grid-constant"])
def test_shapes(shape, chunks, mode):
    x = RNG.random(shape)
    for order in (1, 4):
        keywords = {"mode": mode, "order": order, "rtol": 1e-8, "atol": 1e-9}
        same("ndimage", "zoom", [x], chunks, 1.4, **keywords)
        same("ndimage", "shift", [x], chunks, 1.6, **keywords)
        if len(shape) > 1:
            same("ndimage", "rotate", [x], chunks, 25, (-1, -2), **keywords)
        if len(shape) == 3:
            same("ndimage", "rotate", [x], chunks, 25, (2, 0), **keywords)
        places = RNG.random((len(shape), 3, 2, 4)) * 20 - 5
        same("ndimage", "map_coordinates", [x], chunks, places, **keywords)


@pytest.mark.parametrize("mode", ["constant", "mirror"])
def test_nothing(mode):
    for shape in ((0, 5), (4, 5)):
        x = np.ones(shape)
        same("ndimage", "zoom", [x], 2, (0, 1), mode=mode)
        same("ndimage", "affine_transform", [x], 2, [1, 1], output_shape=(3, 0), mode=mode)
    found = wr.ndimage.shift(wr.ones((0, 5), chunks=2), 1.5).compute()
    assert found.shape == (0, 5)


def test_places_that_are_lazy_and_not_numbers():
    places = wr.from_array(AROUND, chunks=(1, 7, 20)) + 0.25
    found = wr.ndimage.map_coordinates(wr.from_array(A, chunks=9), places)
    assert found.chunks == ((7, 7, 7, 7, 2), (20,))
    np.testing.assert_allclose(found, ndimage.map_coordinates(A, AROUND + 0.25), rtol=1e-8, atol=1e-9)
    some = AROUND[:, :4, :4].copy()
    some[0, 0, 0], some[1, 1, 1], some[1, 2, 2] = np.nan, np.inf, -np.inf
    found = wr.ndimage.map_coordinates(wr.from_array(A, chunks=9), some, order=1, cval=7).compute()
    assert found[0, 0] == found[1, 1] == found[2, 2] == 7


def test_a_task_reads_its_window_alone():
    read = []

    class Watched:
        shape, dtype = (4000, 50), np.dtype("f8")

        def __getitem__(self, key):
            read.append(key[0])
            return np.ones([s.stop - s.start for s in key])

    x = wr.from_array(Watched(), chunks=(100, 50), lock=True)
    turned = wr.ndimage.affine_transform(x, [[1, 0.2], [-0.2, 1]], (10, 10))
    wr.asarray(turned[2000:2050]).compute()
    rows = {row for key in read for row in range(key.start, key.stop)}
    assert len(rows) <= 500
    assert wr.ndimage.zoom(x, (1, 2)).chunksize[0] <= 4000


def test_a_diagonal_with_zero():
    found = wr.ndimage.affine_transform(wr.from_array(A, chunks=9), [2, 0], (0, 3))  # SciPy itself crashes
    np.testing.assert_allclose(found, ndimage.affine_transform(A, np.diag([2, 0]), (0, 3)), rtol=1e-8, atol=1e-9)


def test_many_blocks():
    x = RNG.random((90, 90))
    same("ndimage", "shift", [x], 2, 1.5, rtol=1e-8, atol=1e-9)
    assert wr.ndimage.shift(wr.from_array(x, chunks=2), 1.5).chunks == wr.from_array(x, chunks=2).chunks


def test_what_is_refused():
    x = wr.ones((6, 6), chunks=3)
    with pytest.raises(wr.ArgumentError, match="zoom: argument 'zoom'"):
        wr.ndimage.zoom(x, -1)
    with pytest.raises(wr.ArgumentError, match="rotate: argument 'axes'"):
        wr.ndimage.rotate(x, 10, axes=(0, 0))
    with pytest.raises(wr.ArgumentError, match="map_coordinates: argument 'coordinates'"):
        wr.ndimage.map_coordinates(x, np.zeros((3, 2)))
    for name, argument in (("zoom", 2), ("shift", 1), ("rotate", 10), ("affine_transform", np.eye(2))):
        for wrong in ({"order": 6}, {"mode": "round"}, {"output": np.ones((6, 6))}):
            with pytest.raises(wr.WindrowError, match=name):
                getattr(wr.ndimage, name)(x, argument, **wrong)
    for matrix in ([[1, 2, 3, 4]], np.ones((3, 2)), [[np.nan, 0], [0, 1]]):
        with pytest.raises(wr.WindrowError, match="affine_transform"):
            wr.ndimage.affine_transform(x, matrix)


@pytest.mark.parametrize("mode", ["reflect", "grid-mirror", "constant", "grid-constant", "nearest", "mirror", "wrap"])
def test_places_of_long_blocks_follow_from_their_ends(mode):
    line = np.random.default_rng(4).random(10_000)
    x = wr.from_array(line, chunks=5_000)
    for by in (0.4, -17.3, 6_000, -17_000.5):
        want = ndimage.shift(line, by, mode=mode)
        np.testing.assert_allclose(wr.ndimage.shift(x, by, mode=mode).compute(), want, atol=1e-9)
