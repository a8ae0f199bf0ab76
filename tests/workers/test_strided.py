"""Kernels that read at offsets: NumPy's elements, and the interpreter's bits, wherever inputs lie."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from windrow.graph.lowering.lower import lower
from windrow.graph.lowering.program import Load
from windrow.workers.config import config
from windrow.workers.kernels.compiled.fixed.gathering import BlockPieces
from windrow.workers.kernels.compiled.fused import strided

pytest.importorskip("llvmlite")

MODES = ["constant", "edge", "wrap", "reflect", "symmetric"]


@pytest.fixture(autouse=True, scope="module")
def small_blocks():
    """Take blocks of any size."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(strided, "LEAST_BLOCK", 1)
        yield


@pytest.fixture
def ran(monkeypatch):
    """Count the blocks that strided kernels have computed."""
    found = []
    layout = strided.find_layout

    def count(frame, *rest):
        found.append(frame.stage.name)
        return layout(frame, *rest)

    monkeypatch.setattr(strided, "find_layout", count)
    return found


def computed(make):
    """Compute what `make` returns, by compiled kernels and interpreted."""
    results = []
    for jit in ("on", "off"):
        with config.set(jit=jit):
            results.append(make().compute())
    assert results[0].tobytes() == results[1].tobytes()
    return results[0]


def cut(draw, length):
    """Draw chunks of an axis, empty ones included."""
    borders = sorted(draw(st.lists(st.integers(0, length), max_size=4)))
    return tuple(np.diff([0, *borders, length]).tolist())


@st.composite
def stencils(draw):
    """Draw an array in chunks, and a function of it that shifts, pads and joins, for NumPy and for lazy arrays."""
    shape = draw(st.sampled_from([(3000,), (41, 67), (2, 1500), (60, 1), (11, 13, 17)]))
    dtype = draw(st.sampled_from(["f8", "f4", "i4", "u1", "?"]))
    steps = []
    for _ in range(draw(st.integers(1, 4))):
        axis = draw(st.integers(0, len(shape) - 1))
        kind = draw(st.sampled_from(["roll", "pad", "shift", "set"]))
        before, after = draw(st.integers(0, 2)), draw(st.integers(0, 2))
        steps.append((kind, axis, before, after, draw(st.sampled_from(MODES)), draw(st.integers(-70, 70))))
    chunks = tuple(cut(draw, n) for n in shape)
    return shape, dtype, chunks, steps


def stencil(lib, x, steps):
    """Do the steps; each adds what it has moved."""
    for kind, axis, before, after, mode, by in steps:
        n = x.shape[axis]
        if kind == "roll":
            moved = lib.roll(lib.roll(x, by, axis=axis), before, axis=x.ndim - 1)
        elif kind == "set":
            moved = x.copy()
            inner = tuple(slice(min(before, 1), m) if a == axis else slice(None) for a, m in enumerate(x.shape))
            moved[inner] = x[inner] | x[inner] if x.dtype.kind == "b" else x[inner] + x[inner]
        else:
            width = [(before, after) if a == axis else (0, 0) for a in range(x.ndim)]
            if mode in ("reflect", "wrap", "symmetric") and n < 4:
                mode = "edge"
            wide = lib.pad(x, width, mode=mode)
            at = tuple(slice(before + after, before + after + n) if a == axis else slice(None) for a in range(x.ndim))
            moved = wide[tuple(slice(0, n) if a == axis else slice(None) for a in range(x.ndim))]
            if kind == "shift" and before == 0:
                moved = wide[at] if wide[at].shape == x.shape else moved
        x = x ^ moved if x.dtype.kind == "b" else x + moved
    return x


@settings(max_examples=60, deadline=None)
@given(stencils())
def test_any_stencil_is_numpys(drawn):
    shape, dtype, chunks, steps = drawn
    data = np.random.default_rng(0).integers(0, 100, shape).astype(dtype)
    wanted = stencil(np, data, steps)
    found = computed(lambda: stencil(wr, wr.asarray(data).rechunk(chunks), steps))
    assert found.dtype == wanted.dtype
    assert np.array_equal(found, wanted)


def jacobi(lib, u, mode):
    p = lib.pad(u, 1, mode=mode)
    return 0.25 * (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("chunks", [(200, 150), (70, 40), ((1, 99, 100), (0, 149, 1))])
def test_steps_with_margins(mode, chunks, ran):
    data = np.random.default_rng(1).random((200, 150))
    wanted = data
    for _ in range(3):
        wanted = jacobi(np, wanted, mode)

    def lazy():
        u = wr.asarray(data).rechunk(chunks)
        for _ in range(3):
            u = jacobi(wr, u, mode)
        return u

    assert np.array_equal(computed(lazy), wanted)
    assert ran


def test_padding_and_slices_are_one_stage():
    u = wr.asarray(np.zeros((400, 300)), chunks=100)
    for mode in MODES:
        stage = lower([jacobi(wr, u, mode).expr], lambda token: token == u.expr.token)
        assert len(stage) == 1
        assert set(stage[0].inputs) == {u.expr.token}
    rolled = wr.roll(wr.roll(u, 1, axis=0), 1, axis=1)
    assert len(lower([(u + rolled).expr], lambda token: token == u.expr.token)) == 1


def test_what_several_stages_shift_is_read_by_each():
    u = wr.asarray(np.ones((40, 30)), chunks=10)
    shifted = wr.roll(u, 1, axis=0)
    a = shifted + 1
    stages = lower([(a + wr.roll(a, 1, axis=1)).expr, (shifted * 2).expr], lambda token: token == u.expr.token)
    assert sorted(s.name for s in stages) == ["roll+add", "roll+add", "roll+multiply"]


def test_zeros_keep_their_signs():
    u = np.ones((30, 40))

    def padded(value):
        return lambda: wr.pad(wr.asarray(u, chunks=(10, 40)), 1, constant_values=value)[:-2, 1:-1] * u

    for value in (0.0, -0.0, 0.0):
        wanted = np.pad(u, 1, constant_values=value)[:-2, 1:-1] * u
        assert computed(padded(value)).tobytes() == wanted.tobytes()


def test_rows_and_columns_are_broadcast(ran):
    data = np.random.default_rng(2).random((300, 200)).astype("f4")
    column, row = np.arange(300, dtype="f4")[:, None], np.arange(200, dtype="f4")
    wanted = (data * column + np.roll(row, 3)) / (np.roll(data, 1, axis=0) + 1)

    def lazy():
        x = wr.asarray(data, chunks=(90, 70))
        return (x * column + wr.roll(wr.asarray(row, chunks=50), 3)) / (wr.roll(x, 1, axis=0) + 1)

    assert np.array_equal(computed(lazy), wanted)
    assert ran


@pytest.mark.parametrize("layout", ["F", "strided", "backwards"])
def test_a_users_array_may_lie_in_any_way(layout):
    data = np.random.default_rng(3).random((160, 180))
    lying = {
        "F": np.asfortranarray(data),
        "strided": np.repeat(data, 2, 1)[:, ::2],
        "backwards": data[::-1].copy()[::-1],
    }
    found = computed(lambda: jacobi(wr, wr.asarray(lying[layout]), "edge"))
    assert np.array_equal(found, jacobi(np, data, "edge"))


def test_where_inputs_lie_is_found_once(monkeypatch):
    made = []
    lay_out = strided.lay_out
    monkeypatch.setattr(strided, "lay_out", lambda *args, **kw: made.append(1) or lay_out(*args, **kw))
    data = np.random.default_rng(4).random((200, 200))
    with config.set(jit="on"):
        u = wr.asarray(data).rechunk((100, 200)).persist()
        for _ in range(6):
            u = (wr.roll(u, 7, axis=0) + u * 0.125).persist()
    assert len(made) <= 2
    assert all(isinstance(v, Load) for v in lower([u.expr], lambda token: False)[0].program.values)


def moved(lib, x, how, axis, by):
    """Move without arithmetic."""
    n = x.shape[axis]
    if how == "roll":
        return lib.roll(x, by, axis=axis)
    if how == "pad":
        return lib.pad(x, [(2, 1) if a == axis else (0, 0) for a in range(x.ndim)], mode="constant", constant_values=1)
    if how == "concatenate":
        return lib.concatenate([x, x[:1] if axis == 0 else x, x], axis=axis if axis == 0 else x.ndim - 1)
    return x[tuple(slice(min(1, n - 1), n) if a == axis else slice(None) for a in range(x.ndim))]


@settings(max_examples=60, deadline=None)
@given(
    shape=st.sampled_from([(3000,), (41, 67), (2, 1500), (11, 13, 17)]),
    dtype=st.sampled_from(["f8", "f4", "i2", "u1", "?", "c16", "M8[s]"]),
    how=st.sampled_from(["roll", "pad", "concatenate", "slice"]),
    by=st.integers(-70, 70),
    data=st.data(),
)
def test_what_is_only_moved_keeps_its_bits(shape, dtype, how, by, data):
    axis = data.draw(st.integers(0, len(shape) - 1))
    chunks, others = (tuple(cut(data.draw, n) for n in shape) for _ in range(2))
    values = np.random.default_rng(0).integers(0, 2, (*shape, np.dtype(dtype).itemsize), np.uint8)
    if dtype != "?":
        values *= np.random.default_rng(1).integers(0, 256, values.shape, np.uint8)  # NaN of any bits among them
    x = values.view(dtype)[..., 0]
    if how == "pad" and dtype == "M8[s]":
        how = "roll"
    wanted = moved(np, x, how, axis, by)
    found = computed(lambda: moved(wr, wr.asarray(x).rechunk(chunks).persist(), how, axis, by))
    assert found.tobytes() == wanted.tobytes()
    found = computed(lambda: wr.asarray(x).rechunk(chunks).persist().rechunk(others).persist())
    assert found.tobytes() == x.tobytes()


def test_rows_become_columns_by_a_kernel(ran):
    data = np.random.default_rng(0).random((64, 80))
    with config.set(jit="on"):
        kept = wr.asarray(data).rechunk((8, 80)).persist()
        found = kept.rechunk((64, 16)).persist()
        np.testing.assert_array_equal(found.compute(), data)
        assert len(ran) == 5
        np.testing.assert_array_equal(kept.T.rechunk((80, 64)).persist().compute(), data.T)  # no rows, no kernel
    assert len(ran) == 5


@settings(max_examples=40, deadline=None)
@given(
    shape=st.sampled_from([(300_000,), (700, 401), (3, 500, 211)]),
    dtype=st.sampled_from(["f8", "f4", "i2", "?"]),
    axis=st.sampled_from([None, 0, -1]),
    add=st.booleans(),
    data=st.data(),
)
def test_blocks_of_many_pieces_are_gathered_tile_by_tile(shape, dtype, axis, add, data):
    cuts = tuple(tuple(np.diff([0, *sorted(data.draw(st.lists(st.integers(0, n), max_size=9))), n])) for n in shape)
    values = np.random.default_rng(0).integers(0, 2 if dtype == "?" else 100, shape).astype(dtype)
    fill = data.draw(st.booleans())

    def make():
        moved = wr.asarray(values).rechunk(cuts).persist()
        moved = wr.pad(moved, 1, constant_values=1) if fill else moved
        moved = moved.rechunk(moved.shape)
        return ((moved * moved if add else moved).sum(axis=axis), moved.max(axis=axis))

    wide = np.pad(values, 1, constant_values=1) if fill else values
    for part, whole in enumerate(((wide * wide if add else wide).sum(axis=axis), wide.max(axis=axis))):
        found = computed(lambda part=part: make()[part])
        np.testing.assert_allclose(found, whole, rtol=1e-5)


def test_sums_of_columns_gather_rows_by_a_kernel(monkeypatch):
    filled = []
    fill = BlockPieces.fill
    monkeypatch.setattr(BlockPieces, "fill", lambda self, *given: (filled.append(1), fill(self, *given))[1])
    values = np.random.default_rng(0).random((1000, 300))
    for jit in ("on", "off"):
        with config.set(jit=jit):
            kept = wr.asarray(values).rechunk((50, 300)).persist()
            found = kept.rechunk((1000, 150)).sum(axis=0).compute()
        np.testing.assert_allclose(found, values.sum(axis=0))
    assert len(filled) == 4  # two blocks in two tiles each
