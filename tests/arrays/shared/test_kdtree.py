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


# ---------------------------------------------------------------------- trees that change


class Known:
    """The points of a tree that changes, and SciPy's answers of a tree of them all."""

    def __init__(self, points):
        self.points, self.there = points, np.ones(len(points), bool)

    def insert(self, points):
        self.points = np.concatenate([self.points, points])
        self.there = np.concatenate([self.there, np.ones(len(points), bool)])

    def erase(self, indexes):
        self.there[indexes] = False

    def query(self, asked, k=1, **how):
        kept = np.append(np.flatnonzero(self.there), len(self.points))
        distance, index = spatial.KDTree(self.points[self.there]).query(asked, k=k, **how)
        return distance, kept[index]

    def count(self, asked, r):
        return spatial.KDTree(self.points[self.there]).query_ball_point(asked, r, return_length=True)


def agree(tree, known, asked, **how):
    for k in (1, 3):
        for points in (asked, wr.from_array(asked, chunks=(7, asked.shape[1]))):
            for found, wanted in zip(tree.query(points, k=k, **how), known.query(asked, k=k, **how), strict=True):
                assert found.dtype == wanted.dtype
                np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-14)
    lazily = tree.count_neighbors(wr.from_array(asked, chunks=(7, asked.shape[1])), 0.2)
    np.testing.assert_array_equal(lazily, known.count(asked, 0.2))
    assert (len(tree), tree.n) == (known.there.sum(), len(known.points))


@pytest.mark.parametrize("few", [10, 4096])
def test_points_come_in_and_go(monkeypatch, few):
    monkeypatch.setattr("windrow.arrays.shared.trees.FEW", few)
    rng = np.random.default_rng(5)
    tree, known = wr.shared.KDTree(POINTS[:100], leafsize=4), Known(POINTS[:100])
    for turn in range(12):
        if turn % 3 < 2:
            fresh = rng.random((1 + 5 * turn, 3))
            np.testing.assert_array_equal(tree.insert(fresh), len(known.points) + np.arange(len(fresh)))
            known.insert(fresh)
        else:
            nearest = np.unique(known.query(ASKED[:5], k=4)[1])  # those that are asked for next
            gone = np.union1d(nearest, rng.choice(np.flatnonzero(known.there), 9, replace=False))
            tree.erase(rng.permutation(gone) if turn % 2 else wr.from_array(gone, chunks=4))
            known.erase(gone)
        agree(tree, known, ASKED)
    agree(tree, known, ASKED, distance_upper_bound=0.1)
    agree(tree, known, ASKED, p=1.0)


def test_what_is_lazy_sees_the_points_that_were_there():
    tree = wr.shared.KDTree([[0.0], [5.0]])
    asked = wr.from_array(np.array([[2.0], [4.0]]), chunks=1)
    versions = [tree.query(asked)[1]]
    tree.insert([[2.5]])
    versions.append(tree.query(asked)[1])
    tree.erase([1])
    versions.append(tree.query(asked)[1])
    tree.erase([0, 2])
    versions.append(tree.query(asked)[1])
    tree.insert([[4.0]])
    versions.append(tree.query(asked)[1])
    assert [v.compute().tolist() for v in versions] == [[0, 1], [2, 1], [2, 2], [3, 3], [3, 3]]
    assert tree.query(asked)[0].compute().tolist() == [2.0, 0.0]
    assert tree.insert(np.zeros((0, 1))).shape == (0,)
    tree.erase([])
    assert repr(tree) == "<shared KDTree: 1 points of 1 coordinates>"


def test_functions_ask_a_tree_that_has_changed():
    tree, known = wr.shared.KDTree(POINTS), Known(POINTS)
    fresh = POINTS[:50] + 1e-3
    tree.insert(fresh), known.insert(fresh)
    tree.erase([3, 502]), known.erase([3, 502])

    def look(block):
        _, index = tree.query(block, k=[2, 3])
        near = tree.query_ball_point(block[0], 0.3)
        distance = np.linalg.norm(known.points - block[0], axis=1)
        assert sorted(near) == np.flatnonzero(known.there & (distance <= 0.3)).tolist()
        assert tree.query_ball_point(block, 0.3)[0] == sorted(near)
        assert tree.query_ball_point(block[0], 0.3, return_length=True) == len(near)
        assert tree.query(block[0])[1].shape == ()
        return index

    found = wr.map_blocks(look, wr.from_array(ASKED, chunks=(7, 3)), chunks=((7,) * 5 + (5,), (2,)), dtype=int)
    np.testing.assert_array_equal(found.compute(), known.query(ASKED, k=[2, 3])[1])


def test_a_tree_of_a_torus_stays_one():
    tree = wr.shared.KDTree([[0.1], [0.5]], boxsize=1.0)
    tree.insert([[0.95]])
    assert tree.query([[0.99], [0.05]])[1].tolist() == [2, 0]
    with pytest.raises(wr.ArgumentError, match=r"insert: argument 'points' is of shape .* boxsize=1.0: SciPy says"):
        tree.insert([[1.5]])
    assert len(tree) == 3


def test_bad_changes_are_refused_before_anything_changes():
    tree = wr.shared.KDTree(POINTS)
    tree.erase(7)
    for wrong, error in (([7], IndexError), ([500], IndexError), ([-1], IndexError), ([1, 1], ValueError)):
        with pytest.raises(error, match="erase: argument 'indexes'"):
            tree.erase(wrong)
    for wrong in ([0.5], [True], ["a"]):
        with pytest.raises(wr.ArgumentError, match=r"erase: argument 'indexes' is .* expected integers"):
            tree.erase(wrong)
    with pytest.raises(wr.ShapeError, match=r"insert: argument 'points' is \(4, 2\); expected a row of 3 coord"):
        tree.insert(np.zeros((4, 2)))
    with pytest.raises(wr.ShapeError, match=r"insert: argument 'points' is \(3,\)"):
        tree.insert(np.zeros(3))
    with pytest.raises(wr.ArgumentError, match="insert: argument 'points' has dtype <U1; expected real numbers"):
        tree.insert(np.full((4, 3), "a"))
    with pytest.raises(wr.ArgumentError, match="insert: argument 'points'"):
        tree.insert(np.full((1, 3), np.nan))
    assert (len(tree), tree.n) == (499, 500)


PROGRAM = """
import numpy as np, windrow as wr
from scipy.spatial import KDTree

points = np.random.default_rng(0).random((500, 2))
asked = np.random.default_rng(1).random((60, 2))
tree = wr.shared.KDTree(points[:400])
lazy = wr.from_array(asked, chunks=(10, 2))
before = tree.query(lazy)[1]
tree.insert(points[400:])
tree.erase(np.arange(0, 500, 7))
after = tree.query(lazy)[1]
there = np.setdiff1d(np.arange(500), np.arange(0, 500, 7))
right = [(before.compute() == KDTree(points[:400]).query(asked)[1]).all()]
right.append((after.compute() == there[KDTree(points[there]).query(asked)[1]]).all())
print([bool(r) for r in right], len(tree))
"""


@pytest.mark.ranks
@pytest.mark.parametrize("words", [[], ["--spmd"]], ids=["driver", "spmd"])
def test_trees_change_on_ranks(launch, tmp_path, words):
    (tmp_path / "program.py").write_text(PROGRAM)
    done = launch(3, *words, "program.py", limit=60)
    assert done.status == 0, done.err
    assert "[True, True] 428" in done.out
