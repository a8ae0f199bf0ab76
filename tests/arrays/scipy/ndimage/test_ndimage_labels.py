"""Labels across chunks, and measurements by labels, as SciPy has them of the whole array."""

from __future__ import annotations

import numpy as np
import pytest

import windrow as wr
from support.beside_scipy import alike, computed, outcome, same

ndimage = pytest.importorskip("scipy.ndimage")

RNG = np.random.default_rng(0)
A = RNG.random((13, 17))
CHUNKS = ((3, 5), (1, 2), (13, 17), (13, 4))
FEW = ((3, 5), (13, 2))
LABELS = ndimage.label(A > 0.6)[0]


@pytest.mark.parametrize("level", [0.2, 0.35, 0.45, 0.6, 0.8, 1.1, -1])
@pytest.mark.parametrize("chunks", [*FEW, pytest.param((1, 2), marks=pytest.mark.slow)], ids=str)
def test_labels_are_numbered_as_scipy_does(level, chunks):
    for structure in (None, np.ones((3, 3)), [[0, 0, 0], [1, 1, 1], [0, 0, 0]], [[1, 0, 0], [0, 1, 0], [0, 0, 1]]):
        same("ndimage", "label", [level < A], chunks, structure)


@pytest.mark.parametrize("shape", [(4, 5, 6), (9,), (0, 3), (5, 0), (2, 1, 3, 4)])
def test_labels_of_other_shapes(shape):
    x = RNG.random(shape) > 0.5
    same("ndimage", "label", [x], 2)
    same("ndimage", "label", [x], 2, np.ones((3,) * len(shape)))


def test_a_spiral_is_one():
    spiral = np.zeros((15, 15), int)
    spiral[0], spiral[:, -1], spiral[-1], spiral[2:, 0], spiral[2, :-2] = 1, 1, 1, 1, 1
    spiral[4, 4:8] = 3
    for chunks in (2, 7):
        same("ndimage", "label", [spiral], chunks)


def test_labels_that_are_refused():
    x = wr.from_array(A > 0.5, chunks=4)
    with pytest.raises(wr.ShapeError, match="label: argument 'structure'"):
        wr.ndimage.label(x, np.ones((2, 2)))
    with pytest.raises(wr.ArgumentError, match="label: argument 'structure'"):
        wr.ndimage.label(x, [[0, 0, 0], [0, 1, 1], [0, 0, 0]])
    board = np.indices((30, 30)).sum(0) % 2
    same("ndimage", "label", [board], 7, None, np.int8)
    same("ndimage", "label", [board], 7, None, np.int16)
    same("ndimage", "label", [board], 7, None, np.float64)


@pytest.mark.parametrize("chunks", CHUNKS, ids=str)
def test_find_objects(chunks):
    for labels in (LABELS, LABELS * 2, LABELS * 0):
        x = wr.from_array(labels, chunks=chunks)
        assert wr.ndimage.find_objects(x) == ndimage.find_objects(labels)
        assert wr.ndimage.find_objects(x, 3) == ndimage.find_objects(labels, 3)
        assert wr.ndimage.find_objects(x, 50) == ndimage.find_objects(labels, 50)


INDEX = [None, 1, 3, 0, [1, 2, 3], [5, 1, 1, 0], [[1, 2], [3, 99]], [], -4]
SCALARS = ["sum_labels", "sum", "mean", "variance", "standard_deviation", "minimum", "maximum"]
PLACES = ["minimum_position", "maximum_position", "center_of_mass"]


def measured(name, x, labels, index, chunks):
    """Compare a measurement with SciPy's; what is a tuple or list there is an array here."""
    args = () if labels is None else (labels,) if index is None else (labels, index)
    want = outcome(getattr(ndimage, name), x, *args)
    lazy = [wr.from_array(a, chunks=chunks) if isinstance(a, np.ndarray) and a.ndim else a for a in (x, *args)]
    got = outcome(lambda: computed(getattr(wr.ndimage, name)(*lazy)))
    told = f"{name} {index} {chunks} {x.dtype}"
    if isinstance(want, Exception):
        assert isinstance(got, Exception), told
        return
    assert not isinstance(got, Exception), (told, got)
    if name in PLACES:
        want = np.asarray(want, got.dtype).reshape(got.shape)
    alike(want, got, told)


@pytest.mark.parametrize("name", SCALARS + PLACES)
@pytest.mark.parametrize("index", INDEX, ids=str)
def test_measurements(name, index):
    if name in PLACES and np.ndim(index) == 2:
        pytest.skip("SciPy turns round the axes of such an index")
    for x in (A, np.argsort(A.reshape(-1)).reshape(A.shape).astype(np.int16)):
        for chunks in CHUNKS[:3:2]:
            measured(name, x, LABELS, index, chunks)
    measured(name, A, None, None, (3, 5))
    if np.ndim(index) < 2:
        measured(name, A, LABELS - 5, index, (3, 5))
        measured(name, A, LABELS / 2, index, (3, 5))


def test_extrema_and_histograms():
    for index in (None, 2, [2, 1, 7]):
        args = () if index is None else (LABELS, index)
        want = ndimage.extrema(A, *args)
        got = wr.compute(*wr.ndimage.extrema(wr.from_array(A, chunks=4), *args))
        for one, other in zip(want, got, strict=True):
            np.testing.assert_array_equal(np.asarray(one).reshape(other.shape), other)
        want = ndimage.histogram(A, 0.2, 0.9, 5, *args)
        want = want if index is None or np.ndim(index) == 0 else np.stack(list(want))
        np.testing.assert_array_equal(wr.ndimage.histogram(wr.from_array(A, chunks=4), 0.2, 0.9, 5, *args), want)


def test_missing_values_count_as_in_scipy():
    x = A.copy()
    x[2, 3] = x[8, 8] = np.nan
    labels = (np.indices(x.shape).sum(0) % 3).astype(int)
    for name in ("sum", "mean", "minimum", "maximum"):
        for index in (None, 1, [0, 1, 2]):
            measured(name, x, labels, index, (3, 5))
