"""Views of sources lead positions back as NumPy's own indexing does."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from windrow.graph.chunks.axismap import Fixed, Slice
from windrow.graph.chunks.grid import Grid
from windrow.graph.chunks.positions import Take
from windrow.graph.expr.expr import Expr
from windrow.graph.kinds.move import Move, Route
from windrow.graph.kinds.points import TakePoints
from windrow.graph.kinds.reshape import Reshape, reshape_groups
from windrow.graph.kinds.source import Ramp
from windrow.graph.kinds.view import View, leads_back

shapes = st.lists(st.integers(1, 6), min_size=1, max_size=3).map(tuple)


def seen(view: View, shape: tuple[int, ...]) -> np.ndarray:
    """Look up each element of the view in an array of the source's shape."""
    x = np.arange(math.prod(view.shape)).reshape(view.shape)
    positions = view.inner(shape, list(np.ix_(*map(np.arange, shape))))
    found = x[tuple(positions)] if x.ndim else x
    return np.broadcast_to(found, shape) if shape else found.reshape(())


@given(st.data(), shapes)
def test_moves(data, shape):
    """A slice, a fixed position or positions along each axis, then a transposition."""
    x = np.arange(math.prod(shape)).reshape(shape)
    ways, index = [], []
    for n in shape:
        start, step = data.draw(st.sampled_from([(0, 1), (n - 1, -1), (n // 2, 2), (0, 3)]))
        picks = np.array(data.draw(st.lists(st.integers(0, n - 1), max_size=5)), np.int64)
        fixed = data.draw(st.integers(0, n - 1))
        way, how = data.draw(
            st.sampled_from(
                [(Slice(start, step), slice(start, None, step)), (Take(picks), picks), (Fixed(fixed), fixed)]
            )
        )
        ways.append(way)
        index.append(how)
    expected = x
    for axis in reversed(range(x.ndim)):
        expected = expected[(slice(None),) * axis + (index[axis],)]
    kept = [i for i, w in enumerate(ways) if not isinstance(w, Fixed)]
    order = data.draw(st.permutations(range(len(kept))))
    expected = expected.transpose([list(order).index(i) for i in range(len(kept))])
    routes = tuple((order[kept.index(i)] if i in kept else None, w) for i, w in enumerate(ways))
    view = View(Ramp(0, 1), shape, Move("m", (Route(routes),)))
    np.testing.assert_array_equal(seen(view, expected.shape), expected)


@given(st.data(), shapes)
def test_points(data, shape):
    count = data.draw(st.integers(1, 5))
    axes = sorted(data.draw(st.sets(st.integers(0, len(shape) - 1), min_size=1)))
    index = [np.array([data.draw(st.integers(0, shape[a] - 1)) for _ in range(count)]) for a in axes]
    at = data.draw(st.integers(0, len(shape) - len(axes)))
    x = np.arange(math.prod(shape)).reshape(shape)
    others = [a for a in range(len(shape)) if a not in axes]
    expected = np.moveaxis(x.transpose(axes + others)[tuple(index)], 0, at)
    view = View(Ramp(0, 1), shape, TakePoints(tuple(axes), tuple(index), (Slice(),) * len(others), at))
    np.testing.assert_array_equal(seen(view, expected.shape), expected)


@given(st.data(), st.integers(1, 4), st.integers(1, 4), st.integers(1, 4))
def test_reshapes(data, a, b, c):
    before, after = data.draw(st.permutations([(a, b, c), (a * b, c), (a, b * c), (a * b * c,), (1, a * b, c, 1)]))[:2]
    x = np.arange(a * b * c).reshape(before)
    view = View(Ramp(0, 1), before, Reshape(reshape_groups(before, after)))
    np.testing.assert_array_equal(seen(view, after), x.reshape(after))


def test_what_has_no_single_place_is_no_view():
    source = Expr(Ramp(0, 1), (), Grid.single((12,)), np.dtype("i8"))
    pairs = Reshape((((0, 2), (0, 1)),))
    folded = Expr(Reshape((((0, 1), (0, 2)),)), (source,), Grid.single((3, 4)), source.dtype)
    assert leads_back(folded)
    assert not leads_back(Expr(pairs, (folded,), Grid.single((12,)), source.dtype))  # would divide for each element
    filled = Move("pad", (Route(((0, Slice(-1)),)),), 0)
    joined = Move("concatenate", (Route(((0, Slice()),)), Route(((0, Slice(-12)),))))
    assert not leads_back(Expr(filled, (source,), Grid.single((14,)), source.dtype))
    assert not leads_back(Expr(joined, (source, source), Grid.single((24,)), source.dtype))
