"""k-d trees: SciPy's answers, lazily."""

from __future__ import annotations

import numpy as np
import pytest

import windrow as wr

spatial = pytest.importorskip("scipy.spatial")
POINTS = np.random.default_rng(0).random((500, 3))
ASKED = np.random.default_rng(1).random((40, 3))


@pytest.fixture(scope="module")
def tree():
    """A tree where all ranks see it."""
    return wr.shared.KDTree(POINTS, leafsize=7)


@pytest.mark.parametrize("k", [1, 4])
@pytest.mark.parametrize("chunks", [(7, 3), (40, 2), (9, 1)])
def test_queries_over_lazy_points(tree, k, chunks):
    expected = spatial.KDTree(POINTS).query(ASKED, k=k)
    found = tree.query(wr.from_array(ASKED, chunks=chunks), k=k)
    for lazy, known in zip(found, expected, strict=True):
        assert (lazy.shape, lazy.dtype) == (known.shape, known.dtype)
        np.testing.assert_array_equal(lazy.compute(), known)
    for made, known in zip(tree.query(ASKED, k=k), expected, strict=True):
        np.testing.assert_array_equal(made, known)


def test_options_and_more_axes(tree):
    known = spatial.KDTree(POINTS)
    asked = ASKED.reshape(5, 8, 3)
    given = {"p": 1.0, "eps": 0.1, "distance_upper_bound": 0.1}
    distance, index = wr.compute(*tree.query(wr.from_array(asked, chunks=(2, 3, 3)), k=2, **given))
    for found, expected in zip((distance, index), known.query(asked, k=2, **given), strict=True):
        np.testing.assert_array_equal(found, expected)
    assert np.isinf(distance).any()
    counts = tree.count_neighbors(wr.from_array(ASKED, chunks=(7, 3)), 0.2)
    expected = known.query_ball_point(ASKED, 0.2, return_length=True)
    np.testing.assert_array_equal(counts.compute(), expected)
    np.testing.assert_array_equal(tree.count_neighbors(ASKED, 0.2), expected)


def test_functions_use_scipys_tree(tree):
    def look(block):
        assert type(tree).__name__ == "KDTree"
        return tree.query(block)[1]

    found = wr.map_blocks(look, wr.from_array(ASKED, chunks=(7, 3)), drop_axis=1, dtype=int)
    np.testing.assert_array_equal(found.compute(), spatial.KDTree(POINTS).query(ASKED)[1])
    assert (tree.n, tree.m) == (500, 3)
    assert tree.nbytes > POINTS.nbytes


def test_it_is_made_of_lazy_points():
    tree = wr.shared.KDTree(wr.from_array(POINTS, chunks=(100, 3)))
    np.testing.assert_array_equal(tree.query(POINTS[:5])[1], np.arange(5))


def test_bad_input_is_refused_at_the_call(tree):
    with pytest.raises(wr.ArgumentError, match="query: argument 'k' is 0"):
        tree.query(ASKED, k=0)
    for p in (-1, 0.5, float("nan")):
        with pytest.raises(wr.ArgumentError, match=r"query: argument 'p' is .* expected a number from 1 on"):
            tree.query(ASKED, p=p)
    with pytest.raises(wr.ShapeError, match=r"query: argument 'x' has shape \(4, 2\); expected points of 3 coord"):
        tree.query(wr.ones((4, 2)))
    with pytest.raises(wr.ArgumentError, match="KDTree: argument 'points' is of shape"):
        wr.shared.KDTree(np.ones(3))
    for texts in (np.full((4, 3), "a"), wr.from_array(np.full((4, 3), "a"))):
        with pytest.raises(wr.ArgumentError, match="query: argument 'x' has dtype <U1; expected real numbers"):
            tree.query(texts)


@pytest.mark.parametrize("name", ["r", "p", "eps"])
def test_what_holds_for_all_points_is_a_number(name):
    tree = wr.shared.KDTree([[0.0], [1.0]])
    for points in (np.zeros((4, 1)), wr.zeros((4, 1), chunks=2)):
        for odd in (np.array([1.0, 2.0]), "a", wr.ones(4)):
            with pytest.raises(wr.ArgumentError, match=f"count_neighbors: argument '{name}'"):
                tree.count_neighbors(points, **({"r": 1.0} | {name: odd}))
