"""Axis maps, moves and reshapes: applied to NumPy arrays they give what NumPy's own indexing gives."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.graph.chunks.axismap import (
    Fixed,
    Halo,
    Slice,
    Spread,
    StridedPlace,
    Window,
    gather_segments,
    group_positions,
)
from windrow.graph.chunks.grid import Axis, Grid
from windrow.graph.chunks.positions import Periodic, Runs, Take
from windrow.graph.kinds.move import Move, Route, rechunk
from windrow.graph.kinds.reshape import Reshape, reshape_grid, reshape_groups

FILL = -7


@st.composite
def axes(draw, length=None, least=0):
    """An axis of a length (any if None), cut evenly or anyhow, chunks of size zero included."""
    if length is None:
        length = draw(st.integers(least, 20))
    if draw(st.booleans()):
        return Axis.regular(length, draw(st.integers(1, 6)))
    cuts = sorted(draw(st.lists(st.integers(0, length), max_size=5)))
    return Axis.of_sizes(np.diff([0, *cuts, length]).tolist())


@st.composite
def grids(draw, shape):
    return Grid([draw(axes(n)) for n in shape])


def apply(way, out: Axis, source: Axis) -> np.ndarray:
    """Build the result chunk by chunk from segments, each from its own block; compare `rows` on the way."""
    x = np.arange(source.length)
    result = np.full(out.length, FILL)
    rows = way.rows(out, source, np.arange(out.count))
    for chunk in range(out.count):
        segments = way.segments(out, source, chunk)
        assert sorted(rows.of(np.array([chunk])).tolist()) == sorted({s.block for s in segments})
        target = result[out.start(chunk) : out.stop(chunk)]
        for s in segments:
            block = x[source.start(s.block) : source.stop(s.block)]
            assert block[s.take].size, "a block is read for nothing"
            if s.seen is None:
                target[s.put] = block[s.take]
            else:
                target[s.put].reshape(s.seen)[:, s.within or slice(None)] = block[s.take][:, None]
    return result


@given(st.data(), axes(least=1))
def test_slice(data, source):
    index = slice(
        data.draw(st.none() | st.integers(-25, 25)),
        data.draw(st.none() | st.integers(-25, 25)),
        data.draw(st.none() | st.integers(-9, 25).filter(bool)),
    )
    start, stop, step = index.indices(source.length)
    out = data.draw(axes(len(range(start, stop, step))))
    assert np.array_equal(apply(Slice(start, step), out, source), np.arange(source.length)[index])


@given(st.data(), axes(least=1), st.integers(-6, 6), st.integers(0, 12))
def test_slice_beyond_the_source_leaves_the_fill(data, source, start, more):
    """Padding and joining: where the source has no such position, nothing is put."""
    out = data.draw(axes(source.length + more))
    position = start + np.arange(out.length)
    inside = (position >= 0) & (position < source.length)
    assert np.array_equal(apply(Slice(start), out, source), np.where(inside, position, FILL))


@given(st.data(), axes(least=1), st.integers(-6, 6))
def test_window(data, source, shift):
    out = data.draw(axes(data.draw(st.integers(1, 20))))
    first = data.draw(st.integers(max(0, -shift), 20))
    stop = data.draw(st.integers(first, max(first, min(out.length, source.length - shift))))
    position = np.arange(out.length)
    inside = (position >= first) & (position < stop)
    wanted = np.where(inside, position + shift, FILL)
    assert np.array_equal(apply(Window(first, stop, shift), out, source), wanted)


@given(st.data(), axes(least=1))
def test_take(data, source):
    index = np.array(data.draw(st.lists(st.integers(0, source.length - 1), max_size=20)), np.int64)
    out = data.draw(axes(len(index)))
    assert np.array_equal(apply(Take(index), out, source), index)


@given(st.data(), axes(), st.integers(0, 6), st.integers(1, 5), st.integers(0, 6))
def test_place(data, source, start, step, more):
    """What is set: source positions go to every step-th place; elsewhere nothing is put."""
    out = data.draw(axes(start + step * source.length + more))
    expected = np.full(out.length, FILL)
    expected[start : start + step * source.length : step] = np.arange(source.length)
    assert np.array_equal(apply(StridedPlace(start, step), out, source), expected)


@given(st.data(), st.integers(0, 8), st.integers(0, 6), st.integers(1, 5), st.integers(0, 6))
def test_spread(data, count, start, step, more):
    out = data.draw(axes(start + step * count + more))
    expected = np.full(out.length, FILL)
    expected[start : start + step * count : step] = 0
    assert np.array_equal(apply(Spread(start, step, count), out, Axis.regular(1, 1)), expected)


@given(st.data(), axes(least=1))
def test_runs(data, source):
    """Runs may be empty, overlap and come in any order."""
    runs = data.draw(st.lists(st.tuples(st.integers(0, source.length), st.integers(0, 8)), max_size=6))
    start = np.array([s for s, _ in runs], np.int64)
    length = np.array([min(n, source.length - s) for s, n in runs], np.int64)
    runs = [np.arange(s, s + n) for s, n in zip(start, length, strict=True)]
    expected = np.concatenate([np.zeros(0, np.int64), *runs])
    out = data.draw(axes(len(expected)))
    assert np.array_equal(apply(Runs(start, length), out, source), expected)


@given(st.data(), axes(least=1))
def test_runs_that_go_to_places(data, source):
    """What lies between them comes from elsewhere."""
    runs = data.draw(
        st.lists(st.tuples(st.integers(0, source.length), st.integers(0, 4), st.integers(0, 3)), max_size=6)
    )
    start = np.array([s for s, _, _ in runs], np.int64)
    length = np.array([min(n, source.length - s) for s, n, _ in runs], np.int64)
    at = np.cumsum([gap for *_, gap in runs]).astype(np.int64) + np.cumsum(length) - length
    out = data.draw(axes(int(at[-1] + length[-1]) + 2 if runs else 3))
    expected = np.full(out.length, FILL)
    for s, n, to in zip(start, length, at, strict=True):
        expected[to : to + n] = np.arange(s, s + n)
    assert np.array_equal(apply(Runs(start, length, at), out, source), expected)


@given(st.data(), st.integers(1, 6), st.booleans(), st.booleans())
def test_many_short_runs(data, most, ascend, apart):
    """They are taken position by position, and not one after the other."""
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    length, gaps = rng.integers(0, most + 1, 300), rng.integers(0, most + 1, 300)
    start = np.cumsum(length + gaps)
    source = data.draw(axes(int((start + length).max())))
    order = np.arange(300) if ascend else rng.permutation(300)
    start, length = start[order], length[order]
    at = np.cumsum(length) - length + (np.cumsum(rng.integers(0, 3, 300)) if apart else 0)
    out = data.draw(axes(int(at[-1] + length[-1])))
    expected = np.full(out.length, FILL)
    for s, n, to in zip(start, length, at, strict=True):
        expected[to : to + n] = np.arange(s, s + n)
    assert np.array_equal(apply(Runs(start, length, at if apart else None), out, source), expected)


@given(st.data(), axes(least=1), st.integers(1, 5), st.integers(0, 40), st.integers(0, 90))
def test_periodic(data, source, copies, start, count):
    out = data.draw(axes(count))
    expected = (start + np.arange(count)) // copies % source.length
    assert np.array_equal(apply(Periodic(copies, start), out, source), expected)
    runs = Periodic(copies, start).runs(source.length, count, 8)
    if runs is not None:
        assert [p + by for lo, hi, by in runs for p in range(lo, hi)] == expected.tolist()


@given(st.data(), st.integers(1, 4), st.integers(1, 4), st.integers(0, 7))
def test_periodic_along_two_axes(data, first, second, start):
    shape = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 6))
    source = data.draw(grids(shape))
    out = data.draw(grids((shape[0] * first + 1, shape[1] * second)))
    op = Move("tile", (Route(((0, Periodic(first, start)), (1, Periodic(second)))),))
    x = np.arange(math.prod(shape)).reshape(shape)
    rows = (start + np.arange(out.shape[0])) // first % shape[0]
    columns = np.arange(out.shape[1]) // second % shape[1]
    for block in range(out.nblocks):
        target = np.full(out.block_shape(block), FILL)
        for piece in op.pieces(out, (source,), block):
            part = x[source.block_slices(piece.block)][piece.take]
            if piece.shape is not None:
                lengths = iter(part.shape)
                part = part.reshape([next(lengths) if n == -1 else n for n in piece.shape])
            where = target if piece.into is None else target[piece.into.where].reshape(piece.into.shape)
            where[piece.put] = part
        assert np.array_equal(target, x[np.ix_(rows, columns)][out.block_slices(block)])


@given(st.data(), axes(least=1))
def test_fixed(data, source):
    index = data.draw(st.integers(0, source.length - 1))
    (segment,) = Fixed(index).segments(Axis.regular(1, 1), source, 0)
    assert source.start(segment.block) + segment.take == index
    assert Fixed(index).rows(Axis.regular(1, 1), source, np.zeros(3, np.int64)).items.tolist() == [segment.block] * 3


@given(
    st.integers(1, 12).flatmap(lambda n: st.tuples(st.just(n), st.integers(1, n))),
    st.integers(0, 5),
    st.integers(0, 5),
    st.sampled_from(["periodic", "reflect", "nearest", "constant", "none"]),
)
def test_halo(cut, before, after, boundary):
    source = Axis.regular(*cut)
    x = np.arange(source.length)
    mode = {"periodic": "wrap", "reflect": "symmetric", "nearest": "edge"}.get(boundary)
    padded = np.pad(x, (before, after), mode) if mode else np.pad(x, (before, after), constant_values=FILL)
    way = Halo(before, after, boundary)
    chunks = []
    for k in range(source.count):
        lo, hi = source.start(k), source.stop(k) + before + after
        inside = slice(max(lo, before), min(hi, before + source.length))
        chunks.append(padded[inside if boundary == "none" else slice(lo, hi)])
    assert way.axis(source).sizes() == tuple(map(len, chunks))
    assert np.array_equal(apply(way, way.axis(source), source), np.concatenate(chunks))


def assemble(op: Move | Reshape, domain: Grid, sources: list[tuple[Grid, np.ndarray]]) -> np.ndarray:
    """Make the result block by block from pieces; compare `rows` on the way."""
    result = np.full(domain.shape, FILL)
    all_grids = tuple(grid for grid, _ in sources)
    rows = op.rows(domain, all_grids, np.arange(domain.nblocks))
    for block in range(domain.nblocks):
        pieces = op.pieces(domain, all_grids, block)
        for number in range(len(sources)):
            read = sorted({p.block for p in pieces if p.operand == number})
            assert sorted(rows[number].of(np.array([block])).tolist()) == read
        target = np.full(op.target_shape(domain, block), FILL)
        for piece in pieces:
            grid, x = sources[piece.operand]
            found = x[grid.block_slices(piece.block)][piece.take]
            found = found if piece.order is None else found.transpose(piece.order)
            if piece.shape is not None:
                lengths = iter(found.shape)
                shape = [next(lengths) if n == -1 else n for n in piece.shape]
                found = found.reshape(shape)
            place = target if piece.into is None else target[piece.into.where].reshape(piece.into.shape)
            place[piece.put] = found
        result[domain.block_slices(block)] = target.reshape(domain.block_shape(block))
    return result


shapes = st.lists(st.integers(1, 7), min_size=1, max_size=3).map(tuple)


@given(st.data(), shapes)
def test_rechunk(data, shape):
    source, domain = data.draw(grids(shape)), data.draw(grids(shape))
    x = np.arange(math.prod(shape)).reshape(shape)
    assert np.array_equal(assemble(rechunk(len(shape)), domain, [(source, x)]), x)


@given(st.data(), shapes)
def test_transpose_with_slices_and_a_fixed_index(data, shape):
    source = data.draw(grids(shape))
    order = data.draw(st.permutations(range(len(shape))))
    steps = [data.draw(st.sampled_from([1, 2, -1, -3])) for _ in shape]
    index = tuple(slice(None, None, s) for s in steps)
    x = np.arange(math.prod(shape)).reshape(shape)
    starts = [n - 1 if s < 0 else 0 for n, s in zip(shape, steps, strict=True)]
    maps = [Slice(a, s) for a, s in zip(starts, steps, strict=True)]
    routes = tuple((order.index(i), maps[i]) for i in range(len(shape)))
    expected = x[index].transpose(order)
    domain = data.draw(grids(expected.shape))
    assert np.array_equal(assemble(Move("m", (Route(routes),)), domain, [(source, x)]), expected)
    at = data.draw(st.integers(0, shape[0] - 1))
    fixed = ((None, Fixed(at)), *((i, maps[i + 1]) for i in range(len(shape) - 1)))
    expected = x[(at, *index[1:])]
    domain = data.draw(grids(expected.shape))
    assert np.array_equal(assemble(Move("m", (Route(fixed),)), domain, [(source, x)]), expected)


@given(st.data(), st.integers(1, 6), st.integers(1, 6), st.integers(1, 4))
def test_concatenate(data, first, second, width):
    a, b = np.arange(first * width).reshape(first, width), -np.arange(second * width).reshape(second, width)
    sources = [(data.draw(grids(x.shape)), x) for x in (a, b)]
    domain = data.draw(grids((first + second, width)))
    routes = (Route(((0, Slice()), (1, Slice()))), Route(((0, Slice(-first)), (1, Slice()))))
    assert np.array_equal(assemble(Move("concat", routes), domain, sources), np.concatenate([a, b]))


@st.composite
def two_shapes(draw):
    """Two shapes of one size: one list of factors, grouped twice."""
    factors = draw(st.lists(st.integers(1, 4), min_size=1, max_size=5))
    found = []
    for _ in range(2):
        cuts = sorted(draw(st.sets(st.integers(1, len(factors) - 1)))) if len(factors) > 1 else []
        found.append(tuple(math.prod(p) for p in np.split(factors, cuts)))
    return tuple(tuple(int(n) for n in shape) for shape in found)


@given(st.data(), two_shapes())
def test_reshape(data, both):
    before, after = both
    source = data.draw(grids(before))
    groups = reshape_groups(before, after)
    for (slo, shi), (tlo, thi) in groups:
        assert math.prod(before[slo:shi]) == math.prod(after[tlo:thi])
    domain = reshape_grid(groups, source, after)
    x = np.arange(math.prod(before)).reshape(before)
    assert domain.shape == after
    assert np.array_equal(assemble(Reshape(groups), domain, [(source, x)]), x.reshape(after))


@pytest.mark.parametrize("outer", [Slice(1, 2), Slice(4, -1), Fixed(2)])
def test_composed_moves_are_one(outer):
    inner = Move("a", (Route(((1, Slice(5, -1)), (0, Slice(0, 2)))),))
    then = Move("b", (Route(((None if isinstance(outer, Fixed) else 1, outer), (0, Slice()))),))
    x = np.arange(6 * 10).reshape(6, 10)
    step1 = x[::-1, ::2].T
    expected = {Slice(1, 2): step1[1::2].T, Slice(4, -1): step1[4::-1].T, Fixed(2): step1[2]}[outer]
    composed = inner.compose(then)
    assert composed is not None
    got = assemble(composed, Grid.single(expected.shape), [(Grid([Axis.regular(6, 4), Axis.regular(10, 3)]), x)])
    assert np.array_equal(got, expected)


@pytest.mark.parametrize("most", [5, (1 << 16) - 1, 1 << 16, (1 << 16) + 5, 1 << 40])
def test_codes_are_grouped_whatever_their_size(most):
    """Numbers that agree in their last sixteen bits are different ones."""
    code = np.array([0, most, 3, 0, most - 1, 3, most, 1, most & 0xFFFF, 0])
    found = group_positions(code)
    assert [c for c, _ in found] == sorted(set(code.tolist()))
    for value, where in found:
        assert where.tolist() == np.flatnonzero(code == value).tolist(), "each once, in order"
    assert group_positions(code[:0]) == []
    assert [(c, w.tolist()) for c, w in group_positions(np.sort(code)[-2:] * 0 + most)] == [(most, [0, 1])]


def test_positions_in_many_chunks_are_taken_from_their_own():
    source = Axis.regular(300_000, 2)
    index = np.array([3, 131_073, 262_143, 2, 131_072, 131_074, 131_073])
    found = gather_segments(index, np.arange(len(index)), source)
    assert [s.block for s in found] == [1, 65_536, 65_537, 131_071]
    for s in found:
        assert (s.take + 2 * s.block).tolist() == index[s.put].tolist()
    assert sorted(p for s in found for p in s.put.tolist()) == list(range(len(index)))
