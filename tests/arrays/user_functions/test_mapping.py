"""Users' functions of chunks."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from windrow.graph.lowering.lower import lower

DATA = np.arange(70.0).reshape(10, 7)


def doubled(block):
    return block * 2


def test_map_blocks():
    for x in (
        wr.from_array(DATA, chunks=(4, 3)),
        wr.from_array(DATA, chunks=(4, 3)) + 0,
        wr.from_array(DATA),
    ):
        np.testing.assert_array_equal(wr.map_blocks(doubled, x).compute(), DATA * 2)
        np.testing.assert_array_equal((wr.map_blocks(doubled, x.T) + 1).sum(0).compute(), (DATA.T * 2 + 1).sum(0))
        assert wr.map_blocks(lambda b: b > 3, x).dtype == bool
        assert wr.map_blocks(doubled, x, dtype="f4").compute().dtype == np.float32


def test_several_arrays_and_further_arguments():
    x = wr.from_array(DATA, chunks=(4, 3))
    y = wr.from_array(DATA[0], chunks=2)
    got = wr.map_blocks(lambda a, b, c, d=0: a * b + c - d, x, y, 5, d=2)
    np.testing.assert_array_equal(got.compute(), DATA * DATA[0] + 3)
    got = wr.map_blocks(lambda a, b: a + b, x, wr.from_array(DATA[:, :1]))
    np.testing.assert_array_equal(got.compute(), DATA + DATA[:, :1])


def test_block_id_and_info():
    x = wr.zeros((10, 7), chunks=(4, 3))
    got = wr.map_blocks(lambda b, block_id=(): b + 10 * block_id[0] + block_id[1], x).compute()
    np.testing.assert_array_equal(got, 10 * (np.arange(10)[:, None] // 4) + np.arange(7) // 3)

    def corner(block, block_info):
        return block + block_info[0]["array-location"][0][0]

    np.testing.assert_array_equal(wr.map_blocks(corner, x, dtype=float).compute()[:, 0], np.arange(10) // 4 * 4)


def test_chunks_dropped_and_new_axes():
    x = wr.from_array(DATA, chunks=(4, 3))
    np.testing.assert_array_equal(wr.map_blocks(lambda b: b.sum(1), x, drop_axis=1).compute(), DATA.sum(1))
    got = wr.map_blocks(lambda b: b[:, None], x, new_axis=1)
    assert got.chunks == ((4, 4, 2), (1,), (3, 3, 1))
    np.testing.assert_array_equal(got.compute(), DATA[:, None])
    three = wr.map_blocks(lambda b: np.stack([b, b + 1, b + 2], axis=-1), x, new_axis=-1)
    assert three.chunks == ((4, 4, 2), (3, 3, 1), (3,))
    np.testing.assert_array_equal(three.compute(), np.stack([DATA, DATA + 1, DATA + 2], axis=-1))
    ends = wr.map_blocks(lambda b: np.stack([[b.min()] * 2, [b.max()] * 2]), x, drop_axis=(0, 1), new_axis=[0, 1])
    np.testing.assert_array_equal(ends.compute(), [[DATA.min()] * 2, [DATA.max()] * 2])
    wide = wr.map_overlap(lambda b: np.stack([b, -b]), x, depth=1, boundary=0, new_axis=0)
    assert wide.chunks == ((2,), (4, 4, 2), (3, 3, 1))
    np.testing.assert_array_equal(wide.compute(), np.stack([DATA, -DATA]))
    for function in (wr.map_blocks, wr.map_overlap):
        own: dict[str, Any] = {} if function is wr.map_blocks else {"depth": 1, "boundary": 0}
        with pytest.raises(ValueError, match=r"returned shape \(\d, \d, \d\) for block \(0, 0, \d\); expected"):
            function(lambda b: np.stack([b] * len(b)), x, new_axis=0, **own).compute()
    got = wr.map_blocks(lambda b: np.array([b.max()]), x.ravel(), chunks=((1,) * x.ravel().npartitions,))
    assert got.max().compute() == DATA.max()
    got = wr.map_blocks(lambda b: b.repeat(2, 0), x, chunks=((8, 8, 4), (3, 3, 1)))
    np.testing.assert_array_equal(got.compute(), DATA.repeat(2, 0))
    made = wr.map_blocks(lambda block_id: np.full((2,), block_id[0]), chunks=((2, 2, 2),), dtype="i8")
    np.testing.assert_array_equal(made.compute(), [0, 0, 1, 1, 2, 2])


def reference(function, data, depth, boundary):
    """The same over the whole array: pad, apply, cut."""
    modes: Any = {"periodic": "wrap", "reflect": "symmetric", "nearest": "edge"}
    if isinstance(boundary, str):
        padded = np.pad(data, depth, mode=modes[boundary])
    else:
        padded = np.pad(data, depth, constant_values=boundary)
    cut = tuple(slice(before, n - after) for (before, after), n in zip(depth, padded.shape, strict=True))
    return function(padded)[cut]


def blurred(block):
    return block + np.roll(block, 1, 0) + np.roll(block, -1, 1)


@pytest.mark.parametrize("boundary", ["periodic", "reflect", "nearest", 0.0, 5])
def test_map_overlap(boundary):
    for chunks in (-1, (4, 3), (3, 1)):
        x = wr.from_array(DATA, chunks=chunks)
        got = wr.map_overlap(blurred, x, depth=1, boundary=boundary)
        assert got.chunks == x.chunks
        np.testing.assert_array_equal(got.compute(), reference(blurred, DATA, [(1, 1)] * 2, boundary))


@given(st.data())
def test_margins_of_any_depth(data):
    n, chunk = data.draw(st.integers(1, 12)), data.draw(st.integers(1, 12))
    before, after = data.draw(st.integers(0, 5)), data.draw(st.integers(0, 5))
    boundary = data.draw(st.sampled_from(["periodic", "reflect", "nearest", 7]))
    values = np.arange(float(n))

    def window(block):
        parts = [np.roll(block, k) for k in range(-after, before + 1)]
        return sum(parts)

    x = wr.from_array(values, chunks=chunk)
    got = wr.map_overlap(window, x, depth={0: (before, after)}, boundary=boundary).compute()
    np.testing.assert_array_equal(got, reference(window, values, [(before, after)], boundary))


def test_no_margin_at_the_ends():
    x = wr.arange(10.0, chunks=4)
    sizes = wr.map_overlap(lambda b: np.full_like(b, len(b)), x, depth=2, boundary="none").compute()
    np.testing.assert_array_equal(sizes, [6] * 4 + [8] * 4 + [4] * 2)
    wide = wr.map_overlap(doubled, x, depth=2, boundary="none", trim=False)
    assert wide.chunks == ((6, 8, 4),)
    mixed = wr.map_overlap(doubled, wr.from_array(DATA, chunks=3), depth={1: 1}, boundary={0: "none", 1: 3})
    np.testing.assert_array_equal(mixed.compute(), DATA * 2)


def test_margins_and_block_id():
    x = wr.zeros(6, chunks=2)
    got = wr.map_overlap(lambda b, block_id=(): b + block_id[0], x, depth=1)
    np.testing.assert_array_equal(got.compute(), [0, 0, 1, 1, 2, 2])


def test_errors():
    x = wr.ones((4, 4), chunks=2)
    lock = threading.Lock()
    three: Any = wr.map_blocks

    def locked(block):
        with lock:
            return block

    cases = [
        (lambda: wr.map_blocks(locked, x), wr.ArgumentError, "map_blocks.*'locked'.*pickled"),
        (lambda: wr.map_overlap(locked, x, depth=1), wr.ArgumentError, "map_overlap.*'locked'.*pickled"),
        (lambda: three(3, x), wr.ArgumentError, "map_blocks.*'func' is 3"),
        (lambda: wr.map_blocks(doubled, x, chunks=(2,)), wr.ChunksError, "map_blocks.*'chunks'"),
        (lambda: wr.map_blocks(doubled, x, drop_axis=3), wr.AxisError, "drop_axis"),
        (
            lambda: wr.map_blocks(lambda b: b["no"], x),
            wr.DTypeError,
            "map_blocks: the function '<lambda>' raised IndexError.*with dtype=",
        ),
        (lambda: wr.map_blocks(doubled, x, other=x), wr.ArgumentError, "map_blocks.*'other'"),
        (lambda: wr.map_blocks(doubled), wr.ArgumentError, "chunks= and dtype="),
        (lambda: wr.map_overlap(doubled, x, depth=-1), wr.ShapeError, "map_overlap.*'depth'"),
        (
            lambda: wr.map_overlap(doubled, x, depth=1, boundary="odd"),
            wr.ArgumentError,
            "map_overlap.*'boundary'",
        ),
        (lambda: wr.map_overlap(doubled, 5, depth=1), wr.ArgumentError, "map_overlap.*'args'"),
    ]
    for call, kind, message in cases:
        with pytest.raises(kind, match=message):
            call()


OUTSIDE = wr.ones(3)


def uses_a_global(block):
    return block + OUTSIDE


def names_an_attribute(block, holder):
    return block + holder.OUTSIDE


def test_functions_that_use_lazy_arrays_are_refused():
    x = wr.ones(3)

    def uses_a_variable(block):
        return block + x

    for function, name in ((uses_a_global, "OUTSIDE"), (uses_a_variable, "x")):
        expected = f"the function '{function.__name__}' uses the Windrow array '{name}'"
        for dtype in (None, float):
            with pytest.raises(wr.ArgumentError, match=f"^map_blocks: {expected}"):
                wr.map_blocks(function, x, dtype=dtype)
            with pytest.raises(wr.ArgumentError, match=f"^map_overlap: {expected}"):
                wr.map_overlap(function, x, depth=1, dtype=dtype)
    held = SimpleNamespace(x=x)
    for call in (
        lambda: wr.map_blocks(doubled, x, others=[x], dtype=float),
        lambda: wr.map_blocks(lambda block: block + held.x, x, dtype=float),
        lambda: wr.map_overlap(lambda block: block + held.x, x, depth=1, dtype=float),
        lambda: wr.apply_gufunc(lambda block: block + held.x, "()->()", x, output_dtypes=float),
        lambda: wr.spmd(lambda part: part + held.x, x),
    ):
        with pytest.raises(
            wr.ArgumentError, match=r"^\w+: the function '(doubled|<lambda>)' uses what holds lazy arrays"
        ):
            call()
    assert wr.submit(lambda: float(held.x.sum())).result() == 3
    assert wr.map_blocks(names_an_attribute, x, SimpleNamespace(OUTSIDE=2)).sum().compute() == 9


def test_an_error_of_the_trial_call_names_the_function_and_what_avoids_it():
    x = wr.ones(4, dtype=int, chunks=2)
    told = r"the function 'fails' raised ZeroDivisionError: division by zero, when it was tried on .* to find the dtype"
    calls = {
        "map_blocks": lambda: wr.map_blocks(fails, x),
        "map_overlap": lambda: wr.map_overlap(fails, x, depth=1),
        "blockwise": lambda: wr.blockwise(fails, "i", x, "i"),
        "reduction": lambda: wr.reduction(x, fails, fails),
    }
    for name, call in calls.items():
        with pytest.raises(wr.DTypeError, match=f"^{name}: {told}.*; with dtype=, such as dtype='int64'") as caught:
            call()
        assert isinstance(caught.value.__cause__, ZeroDivisionError)
    with pytest.raises(wr.DTypeError, match=f"^vectorize: {told}.*; with otypes="):
        wr.vectorize(fails)(x)
    with pytest.raises(wr.DTypeError, match=f"^coarsen: {told} of what it returns$"):
        wr.coarsen(fails, x, {0: 2})
    with pytest.raises(wr.ArgumentError, match=r"^apply_gufunc: the function 'fails' raised Zero.*with output_dtypes="):
        wr.apply_gufunc(fails, "()->()", x)
    with pytest.raises(wr.ArgumentError, match=r"^apply_along_axis: the function 'fails' raised Zero.*with dtype= and"):
        wr.apply_along_axis(fails, 0, x)
    assert wr.map_blocks(fails, x, dtype=int).dtype == int  # isn't called


def fails(block, **keywords):
    return 1 / 0


def test_a_wrong_shape_is_told():
    with pytest.raises(Exception, match=r"returned shape \(1, 2\)"):
        wr.map_blocks(lambda b: b[:1], wr.ones((4, 4), chunks=2), dtype=float).compute()


def trims(block):
    return block[1:-1, 1:-1]


def trims_most(block):
    if min(block.shape) < 5:
        raise ValueError("too small")
    return block[2:-2, 2:-2] * 2


def trims_inside(block, block_id=None):
    return block[(0 if block_id[0] == 0 else 1) : (None if block_id[0] == 2 else -1)]


def trims_by_info(block, block_info=None):
    (at, *_), (count, *_) = block_info[0]["chunk-location"], block_info[0]["num-chunks"]
    return block[(0 if at == 0 else 1) : (None if at == count - 1 else -1)]


@pytest.mark.parametrize("boundary", ["periodic", "reflect", "nearest", 0.0])
def test_functions_that_trim_themselves(boundary):
    x = wr.from_array(DATA, chunks=(4, 3))
    got = wr.map_overlap(trims, x, depth=1, boundary=boundary, trim=False)
    assert got.chunks == x.chunks
    np.testing.assert_array_equal(got.compute(), DATA)
    got = wr.map_overlap(trims_most, x, depth=2, boundary=boundary, trim=False, dtype=DATA.dtype)
    assert got.chunks == x.chunks
    np.testing.assert_array_equal(got.compute(), DATA * 2)


@pytest.mark.parametrize("function", [trims_inside, trims_by_info])
def test_functions_that_trim_where_neighbours_are(function):
    values = np.arange(120.0).reshape(12, 10)
    x = wr.from_array(values, chunks=(4, 5))
    got = wr.map_overlap(function, x, depth={0: 1}, boundary="none", trim=False)
    assert got.chunks == x.chunks
    np.testing.assert_array_equal(got.compute(), values)


def test_margins_of_numbers_are_made_at_once():
    x = wr.from_array(DATA, chunks=(4, 3))
    assert (
        len(lower([wr.map_overlap(trims, x, depth=1, boundary=0.0, trim=False).expr], lambda t: t == x.expr.token)) == 1
    )
    mixed = wr.overlap.overlap(x, {0: 1, 1: 2}, {0: 3.0, 1: "periodic"})
    other = wr.overlap.overlap(wr.overlap.overlap(x, {1: 2}, {1: "periodic"}), {0: 1}, {0: 3.0})
    np.testing.assert_array_equal(mixed.compute(), other.compute())
    signed = wr.overlap.overlap(x * 1.0, 1, {0: 0.0, 1: -0.0})
    assert np.signbit(signed.compute()[:, 0]).all()
    assert not np.signbit(signed.compute()[0, 1:-1]).any()


KEPT: list[Any] = []


def keeps(block):
    KEPT.append(block[::2])
    return block


def test_what_a_function_keeps_is_not_written_again():
    KEPT.clear()
    values = np.random.default_rng(0).random((1200, 800))
    wr.map_overlap(keeps, wr.from_array(values, chunks=(400, -1)), depth={0: 1}, boundary=0.0, dtype="f8").compute()
    padded = np.pad(values, ((1, 1), (0, 0)))
    wanted = [padded[i : i + 402 : 2] for i in (0, 400, 800)]
    assert len(KEPT) == 3
    assert all(any(np.array_equal(kept, part) for kept in KEPT) for part in wanted)


@pytest.mark.parametrize("jit", ["on", "off"])
def test_numbers_drawn_for_a_function_that_keeps_them(jit):
    KEPT.clear()
    x = wr.random.default_rng(1).random((400, 450), chunks=(400, 90))
    with wr.config.set(jit=jit):
        wr.map_blocks(keeps, x, dtype="f8").compute()
        values = x.compute()
    assert all(any(np.array_equal(kept, part) for kept in KEPT) for part in np.hsplit(values[::2], 5))


def by_blocks(function, x):
    return wr.map_blocks(function, x, dtype=float)


def by_rank(function, x):
    def member(comm, x):
        function(np.asarray(x[0]))

    return wr.spmd(member, x)


@pytest.mark.parametrize(
    "call",
    [
        by_blocks,
        by_rank,
        lambda function, x: wr.map_overlap(function, x, depth=1, boundary=1.0, dtype=float),
        lambda function, x: wr.apply_gufunc(function, "()->()", x, output_dtypes=float),
        lambda function, x: wr.vectorize(function, otypes=[float])(x),
        lambda function, x: wr.fori_loop(0, 1, lambda i, u: by_blocks(function, u), x),
        lambda function, x: wr.submit(function, x).result(),
    ],
)
def test_functions_warn_of_what_numpy_warns_of(call):
    """That is of all but underflow, which `np.exp` of a standard score has."""
    x = wr.from_array(np.array([0.0, 1.0, 2.0, 3.0]), chunks=2)
    np.asarray(call(lambda b: np.exp(np.multiply(b, -1000.0)), x))
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        np.asarray(call(lambda b: np.divide(1.0, b), x))


def test_vectorize_finds_several_results() -> None:
    a = np.arange(12.0).reshape(3, 4)
    both = wr.vectorize(lambda x, y: (x + y, int(x) > 3))(wr.from_array(a, chunks=(2, 3)), 2)
    expected = np.vectorize(lambda x, y: (x + y, int(x) > 3))(a, 2)
    for one, other in zip(both, expected, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one.compute(), other)
    with pytest.raises(wr.DTypeError, match="vectorize"):
        wr.vectorize(lambda x: {"x": x})(wr.arange(3))
