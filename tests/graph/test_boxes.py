"""Boxes: the same pieces as arrays, so that nothing in Python is done for each of them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from windrow.graph.chunks.axismap import Fixed, Halo, Slice, StridedPlace, Window
from windrow.graph.chunks.grid import Axis, Grid
from windrow.graph.kinds.move import Move, Route, join_operands
from windrow.graph.kinds.reshape import Reshape, reshape_grid, reshape_groups

FILL = -7


@st.composite
def axes(draw, length):
    if draw(st.booleans()):
        return Axis.regular(length, draw(st.integers(1, 6)))
    cuts = sorted(draw(st.lists(st.integers(0, length), max_size=5)))
    return Axis.of_sizes(np.diff([0, *cuts, length]).tolist())


def by_pieces(op, domain, sources, arrays, block):
    target = np.full(op.target_shape(domain, block), FILL)
    for p in op.pieces(domain, sources, block):
        found = sources[p.operand].view(arrays[p.operand], p.block)[p.take]
        found = found if p.order is None else found.transpose(p.order)
        if p.into is not None:
            target[p.into.where].reshape(p.into.shape)[p.put] = found
        else:
            lengths = iter(found.shape)
            shape = p.shape and [next(lengths) if n == -1 else n for n in p.shape]
            target[p.put] = found if shape is None else found.reshape(shape)
    return target.reshape(-1)


def by_boxes(op, domain, sources, arrays, block):
    found = op.boxes(domain, sources, block)
    if found is None:
        return None
    target = np.full(int(np.prod(domain.block_shape(block))), FILL)
    for boxes in found:
        for k, number in enumerate(boxes.block.tolist()):
            part = sources[boxes.operand].view(arrays[boxes.operand], number)
            at = np.stack(np.indices(boxes.extent[k]), -1)
            values = part[tuple(np.moveaxis(boxes.start[k] + at * boxes.step, -1, 0))]
            target[boxes.offset[k] + at @ boxes.stride] = values
    return target


@st.composite
def moves(draw):
    """A move of one operand or two along each of whose axes a plain map leads, and the grids."""
    ndim = draw(st.integers(1, 3))
    order = draw(st.permutations(range(ndim)))
    lengths = [draw(st.integers(1, 9)) for _ in range(ndim)]
    sizes, maps = [0] * ndim, []
    for own, length in enumerate(lengths):
        step = draw(st.sampled_from([1, 1, 2, -1, -3]))
        start = draw(st.integers(-2, length))
        halo = Halo(1, 2, "constant")
        kind = draw(st.sampled_from(["slice", "window", "halo", "place"]))
        sizes[order[own]] = draw(st.integers(1, 12))
        if kind == "slice":
            maps.append(Slice(start, step))
        elif kind == "window":
            maps.append(Window(0, min(length, sizes[order[own]]), 0))
        elif kind == "place":
            maps.append(StridedPlace(1, 2))
        else:
            maps.append(halo)
    source = Grid([draw(axes(n)) for n in lengths])
    domain = [draw(axes(n)) for n in sizes]
    for own, each in enumerate(maps):
        if isinstance(each, Halo):
            domain[order[own]] = each.axis(source.axes[own])
    route = list(zip(order, maps, strict=True))
    if draw(st.booleans()):
        source = Grid([*source.axes, Axis.regular(4, 2)])
        route.append((None, Fixed(draw(st.integers(0, 3)))))
    return Move("test", (Route(tuple(route)),), FILL), Grid(domain), (source,)


@given(moves())
def test_boxes_of_moves_have_what_pieces_have(given_):
    op, domain, sources = given_
    arrays = [np.arange(grid.size).reshape(grid.shape) for grid in sources]
    for block in range(domain.nblocks):
        found = by_boxes(op, domain, sources, arrays, block)
        stepped = any(isinstance(axis_map, StridedPlace) for _, axis_map in op.routes[0].axes)
        assert found is not None or stepped
        if found is not None:
            np.testing.assert_array_equal(found, by_pieces(op, domain, sources, arrays, block))


@given(st.data())
def test_boxes_of_joins_have_what_pieces_have(data):
    lengths, rest = data.draw(st.lists(st.integers(1, 5), min_size=2, max_size=4)), data.draw(st.integers(1, 5))
    at = data.draw(st.integers(0, 1))
    op = join_operands("concatenate", lengths, 2, at)
    sources = tuple(Grid([data.draw(axes(n if i == at else rest)) for i in range(2)]) for n in lengths)
    domain = Grid([data.draw(axes(sum(lengths) if i == at else rest)) for i in range(2)])
    arrays = [np.arange(grid.size).reshape(grid.shape) + 100 * k for k, grid in enumerate(sources)]
    for block in range(domain.nblocks):
        found = by_boxes(op, domain, sources, arrays, block)
        np.testing.assert_array_equal(found, by_pieces(op, domain, sources, arrays, block))


@given(st.data())
def test_boxes_of_reshapes_have_what_pieces_have(data):
    pairs = [((4, 6), (24,)), ((24,), (2, 3, 4)), ((3, 4, 5), (5, 12)), ((2, 6, 5), (12, 5)), ((4, 3, 1), (2, 6))]
    shape, target = data.draw(st.sampled_from(pairs))
    source, groups = Grid([data.draw(axes(n)) for n in shape]), reshape_groups(shape, target)
    domain = reshape_grid(groups, source, target)
    values = [np.arange(source.size).reshape(shape)]
    for block in range(domain.nblocks):
        found = by_boxes(Reshape(groups), domain, (source,), values, block)
        np.testing.assert_array_equal(found, by_pieces(Reshape(groups), domain, (source,), values, block))
