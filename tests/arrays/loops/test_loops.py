"""Loops that are traced once: the bits of the same loop written in Python, errors, memory."""

from __future__ import annotations

import os
import signal
import threading

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

import windrow as wr
from support.pairs import pairs


def plainly(begin, end, body, x):
    """The same loop in Python, on stored arrays."""
    for i in range(begin, end):
        x = body(np.int64(i), x)
        x = x.persist() if isinstance(x, wr.Array) else x
    return x


def smooth(i, x):
    wide = wr.pad(x, 1, mode="edge")
    return (wide[:-2] + wide[1:-1] + wide[2:]) / 3


def test_the_number_of_a_step_is_an_array():
    found = wr.fori_loop(3, 13, lambda i, x: x * 2 + i, wr.zeros(7, chunks=3))
    assert isinstance(found, wr.Array)
    assert found.chunks == ((3, 3, 1),)
    x = np.zeros(7)
    for i in range(3, 13):
        x = x * 2 + i
    assert found.compute().tobytes() == x.tobytes()
    assert wr.fori_loop(5, 5, smooth, wr.arange(3.0)).compute().tolist() == [0, 1, 2]
    assert wr.fori_loop(5, 2, smooth, wr.arange(3.0)).compute().tolist() == [0, 1, 2]


def test_structures():
    x = {"a": (wr.arange(4.0), 1), "b": [np.ones(2)]}
    found = wr.fori_loop(0, 3, lambda i, x: {"b": [x["b"][0] * 2], "a": (x["a"][0] + x["a"][1], x["a"][1] + i)}, x)
    assert list(found) == ["a", "b"]
    assert isinstance(found["a"], tuple)
    made = wr.compute(found)
    assert made["a"][0].tolist() == [4, 5, 6, 7]
    assert made["a"][1] == 4
    assert made["b"][0].tolist() == [8, 8]
    swapped = wr.fori_loop(0, 3, lambda i, x: (x[1], x[0]), (wr.zeros(2), wr.ones(2)))
    assert [a.tolist() for a in wr.compute(swapped)] == [[1, 1], [0, 0]]


def test_a_body_may_sort_reduce_and_take_from_outside():
    weights = wr.arange(10.0, chunks=4) ** 2

    def body(i, x):
        return wr.sort(x * -1.5) + weights / x.max()

    x = wr.arange(1.0, 11.0, chunks=3)
    found = wr.fori_loop(0, 4, body, x).compute()
    assert found.tobytes() == plainly(0, 4, body, x).compute().tobytes()


def test_a_loop_in_a_loop():
    def body(i, x):
        return wr.fori_loop(0, 3, lambda j, z: z + x * j, x)

    assert wr.fori_loop(0, 2, body, wr.ones(4)).compute().tolist() == [16] * 4


def test_a_condition_is_looked_at_before_each_step():
    x, steps = wr.while_loop(lambda x: x[0].max() < 100, lambda x: (x[0] * 2, x[1] + 1), (wr.arange(4), 0))
    assert [np.asarray(a).tolist() for a in wr.compute(x, steps)] == [[0, 64, 128, 192], 6]
    assert wr.while_loop(lambda x: x.sum() < 0, lambda x: x + 1, wr.ones(3)).compute().tolist() == [1, 1, 1]


@pytest.mark.parametrize("snapshot", [1, 3])
def test_snapshots_leave_no_trace(snapshot):
    x = wr.arange(50.0, chunks=7)
    found = wr.fori_loop(0, 10, smooth, x, snapshot=snapshot).compute()
    assert found.tobytes() == plainly(0, 10, smooth, x).compute().tobytes()


def test_nothing_is_left_of_the_steps():
    with wr.Cluster(threads=2, memory="32 MiB") as cluster:
        x = wr.ones((512, 512), chunks=(128, 512)).persist()  # 2 MiB
        y = wr.fori_loop(0, 100, lambda i, x: x.T + 1, x).persist()
        assert y[3, 4].compute() == 101
        del y
        (row,) = cluster.info()
        assert row["arena_used"] <= 8 << 20


def test_errors_say_what_came():
    x = wr.ones(3, dtype="f4")
    with pytest.raises(wr.ArgumentError, match="known only when it runs"):
        wr.fori_loop(0, 2, lambda i, x: x if x.sum() > 0 else -x, x)
    with pytest.raises(wr.ShapeError, match=r"'body' made an array of shape \(2,\) of x; expected shape \(3,\)"):
        wr.fori_loop(0, 2, lambda i, x: x[:2], x)
    with pytest.raises(wr.DTypeError, match=r"dtype float64 of x\['a'\]; expected dtype float32"):
        wr.fori_loop(0, 2, lambda i, x: {"a": x["a"] * i}, {"a": x})
    with pytest.raises(wr.ArgumentError, match=r"expected \(array, array\)"):
        wr.fori_loop(0, 2, lambda i, x: list(x), (x, x))
    with pytest.raises(wr.ArgumentError, match=r"'end' is 1180591620717411303424; expected an integer of 64 bits"):
        wr.fori_loop(0, 2**70, lambda i, x: x, 0)
    with pytest.raises(wr.ArgumentError, match=r"'end' is 2\.5"):
        wr.fori_loop(0, 2.5, lambda i, x: x, x)
    with pytest.raises(wr.ArgumentError, match="'body' is 3; expected a function"):
        wr.fori_loop(0, 2, 3, x)
    with pytest.raises(wr.ShapeError, match="'cond' returned"):
        wr.while_loop(lambda x: x > 0, lambda x: x, x)


def test_an_error_of_a_block_is_the_users():
    def wrong(block):
        raise LookupError("of my own")

    with pytest.raises(LookupError, match="of my own"):
        wr.fori_loop(0, 3, lambda i, x: wr.map_blocks(wrong, x, dtype=x.dtype), wr.ones(4, chunks=2)).compute()


# ---------------------------------------------------------------- local bodies


def jacobi(i, x):
    wide = wr.pad(x, 1)
    return 0.25 * (wide[:-2, 1:-1] + wide[2:, 1:-1] + wide[1:-1, :-2] + wide[1:-1, 2:])


def edges(i, x):
    wide = wr.pad(x, ((1, 2), (2, 1)), mode="edge")
    return (wide[:-3, 2:-1] + wide[3:, 1:-2] * 0.5 - wide[1:-2, :-3]) / 3


def rolls(i, x):
    return wr.roll(x, 1, 0) * 0.5 + wr.roll(x, -2, 1) * i


def walls(i, x):
    y = x * 2 + 1
    y[0:1, :] = 0
    y[:, -1:] = x[:, -1:]
    z = wr.pad(y[1:-1, :] - y[:-2, :], ((1, 1), (0, 0)))
    return wr.sqrt(abs(z * z + wr.arange(float(x.shape[1])))) + wr.exp(-x * x)


def mirrors(i, x):
    wide, three = wr.pad(x, 2, mode="reflect"), wr.pad(x, 1, constant_values=3)
    return (wide[4:, 2:-2] + wide[:-4, 1:-3] + three[1:-1, 2:]) / 3


def deep(i, x):
    a = wr.roll(x, 1, 0) - x
    b = wr.roll(a * a, 1, 1) + a
    c = wr.roll(b * b, -1, 0) - b + wr.roll(b, 2, 1)
    return c * 0.1 + wr.roll(c, -1, 0) * wr.roll(c, 1, 1)


def choices(i, x):
    wide = wr.pad(x, ((1, 1), (0, 0)))
    return wr.where((wide[2:] > x) & (wr.maximum(wide[:-2], 0.5) < 0.9), x + 1 / (1 + x), wide[:-2])


def lines(i, x):
    y = x * 0.5
    y[0, :] = x[1, :] + x[2, :]
    y[:, -1] = y[:, -2] * 2 - 1
    y[-1] = 0.25
    return y + wr.pad(x, ((0, 0), (1, 0)))[:, :-1]


def rows(i, x):
    return x[::-1] * 0.5 + x.mean()


LOCAL = [jacobi, edges, rolls, walls, mirrors, deep, choices, lines]


@pytest.fixture
def counted(monkeypatch):
    """Count the loops that run as gangs."""
    from windrow.arrays.loops import runs

    found, run = [], runs.run_halos
    monkeypatch.setattr(runs, "run_halos", lambda *args: found.append(1) or run(*args))
    return found


@pytest.mark.parametrize(
    ("how", "body", "chunks"), pairs(["compiled", "interpreted", "messages"], LOCAL, [(10, 31), (5, 4)])
)
def test_local_bodies_run_as_gangs_with_the_same_bits(counted, monkeypatch, body, how, chunks):
    monkeypatch.setattr("windrow.arrays.loops.gangs.MAPPED", how != "messages")
    x = wr.from_array(np.random.default_rng(1).random((41, 31)), chunks=chunks)
    with wr.config.set(jit="off" if how == "interpreted" else "on"), wr.Cluster(threads=3, memory="64 MiB"):
        found = wr.fori_loop(0, 6, body, x, snapshot=4 if how == "messages" else None).compute()
        assert counted == [1]
        assert np.array_equal(found, plainly(0, 6, body, x).compute(), equal_nan=True)


def test_what_is_not_local_runs_step_by_step(counted):
    x = wr.from_array(np.random.default_rng(2).random((12, 9)), chunks=4)
    assert wr.fori_loop(0, 3, rows, x).compute().tobytes() == plainly(0, 3, rows, x).compute().tobytes()
    assert counted == []


def test_local_bodies_of_several_arrays_numbers_and_constants(counted):
    rng = np.random.default_rng(3)
    u, v = (wr.from_array(rng.random((20, 15)).astype("f4"), chunks=(4, 15)) for _ in range(2))
    depth = wr.from_array(rng.random((20, 15)).astype("f4"), chunks=7)
    force = wr.from_array(rng.random((20, 1)).astype("f4"))

    def body(i, x):
        flux = wr.roll(x["u"] * depth, 1, 1)
        u = x["u"] + x["dt"] * (flux - wr.roll(x["v"], -1, 0)) * force
        v = x["v"] * wr.float32(0.9) + wr.roll(u, 1, 0) * wr.pad(depth, ((0, 0), (1, 0)))[:, :-1]
        return {"u": u, "v": v, "dt": x["dt"] * wr.float32(0.5)}

    def same(i, x):
        return dict(zip(x, wr.persist(*body(i, x).values()), strict=True))

    x = {"u": u, "v": v, "dt": wr.asarray(np.float32(0.1))}
    body_in_numpy = x
    for i in range(5):
        body_in_numpy = same(i, body_in_numpy)
    found = wr.compute(wr.fori_loop(0, 5, body, x))
    wanted = wr.compute(body_in_numpy)
    assert counted == [1]
    assert [found[k].tobytes() for k in x] == [wanted[k].tobytes() for k in x]


def test_one_axis_and_three(counted):
    def line(i, x):
        return x + wr.roll(x, 1) * i

    def cube(i, x):
        wide = wr.pad(x, 1, mode="edge")
        return (wide[2:, 1:-1, 1:-1] + wide[1:-1, :-2, 1:-1] * wide[1:-1, 1:-1, 2:]) * 0.5

    for body, shape, chunks in ((line, (37,), 5), (cube, (9, 8, 7), (3, 8, 7)), (cube, (9, 8, 7), 4)):
        x = wr.from_array(np.random.default_rng(4).random(shape), chunks=chunks)
        assert wr.fori_loop(1, 5, body, x).compute().tobytes() == plainly(1, 5, body, x).compute().tobytes()
    assert counted == [1, 1, 1]


def inner(block):
    out = block.copy()
    out[1:-1, 1:-1] = (block[:-2, 1:-1] + block[2:, 1:-1] * block[1:-1, :-2]) / 2
    return out


def placed(a, b, block_id=None):
    return a * 0.5 + np.roll(b, 1, 0) * block_id[0]


BOUNDARIES = ["none", "periodic", "reflect", "nearest", 2.5, {0: "periodic", 1: "nearest"}, {0: 1.0, 1: "reflect"}]


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
@pytest.mark.parametrize("chunks", [(10, 31), (5, 4), (23, 31)], ids=["rows", "squares", "one"])
def test_functions_of_padded_blocks_run_in_gangs(counted, boundary, chunks):
    x = wr.from_array(np.random.default_rng(6).random((23, 31)), chunks=chunks)
    bodies = [
        lambda i, x: wr.map_overlap(inner, x, depth=2, boundary=boundary),
        lambda i, x: wr.map_overlap(inner, x, depth=1, boundary=boundary) * 0.5 + wr.sqrt(x * x) * i,
        lambda i, x: wr.map_overlap(placed, x, x, depth=[1, 1], boundary=boundary),
    ]
    for body in bodies:
        assert wr.fori_loop(0, 4, body, x).compute().tobytes() == plainly(0, 4, body, x).compute().tobytes()
    assert counted == [1] * 3


def test_a_function_of_blocks_that_fails_in_a_gang_shows_the_users_error(counted):
    def wrong(block):
        return block[block.shape[0], 0]

    x = wr.ones((6, 4), chunks=(2, 4))
    with pytest.raises(IndexError, match="out of bounds") as caught:
        wr.fori_loop(0, 3, lambda i, x: wr.map_overlap(wrong, x, depth=1, dtype=x.dtype), x).compute()
    assert counted == [1]
    assert any("in wrong" in note for note in caught.value.__notes__)


def test_where_memory_is_short_a_local_body_goes_step_by_step(counted):
    with wr.Cluster(threads=2, memory="16 MiB"):
        x = wr.ones((512, 512), chunks=(64, 512)).persist()  # 2 MiB; a gang takes 6
        assert wr.fori_loop(0, 3, jacobi, x).compute().shape == x.shape
        assert counted == [1]
        large = wr.ones((1024, 512), chunks=(64, 512))
        assert wr.fori_loop(0, 3, lambda i, x: wr.roll(x, 1, 0) + 1, large).sum().compute() == 4 << 19
        assert counted == [1]


@hypothesis.settings(max_examples=25, deadline=None)
@hypothesis.given(st.data())
def test_bodies_made_of_parts(data):
    height, width = data.draw(st.integers(3, 12)), data.draw(st.integers(3, 9))
    chunks = data.draw(st.integers(1, height)), data.draw(st.integers(1, width))
    parts = data.draw(st.lists(st.tuples(st.sampled_from("rpeslw"), st.integers(-2, 2), st.integers(0, 1)), max_size=4))

    def body(i, x):
        found = x
        for kind, by, axis in parts:
            n = abs(by)
            sides = [(0, 0), (0, 0)]
            sides[axis] = (n, n)
            cut = [slice(None), slice(None)]
            cut[axis] = slice(n + by, n + by + x.shape[axis])
            if kind == "r":
                found = found + wr.roll(x * found, by, axis)
            elif kind in "pe":
                mode = "edge" if kind == "e" else "constant"
                found = found * 0.5 + wr.pad(found, sides, mode=mode)[tuple(cut)]
            elif kind == "s":
                other = found * 1
                other[tuple(slice(0, max(1, n)) if a == axis else slice(None) for a in (0, 1))] = by
                found = other - x
            elif kind == "l":
                other = found * 1
                other[(slice(None),) * axis + (by,)] = x[(slice(None),) * axis + (n,)] * 2
                found = other
            else:
                found = wr.where(found > 1, x, found)
        return found

    x = wr.from_array(np.random.default_rng(5).random((height, width)), chunks=chunks)
    with wr.config.set(jit="off"):
        found = wr.fori_loop(0, 3, body, x).compute()
    assert np.array_equal(found, plainly(0, 3, body, x).compute(), equal_nan=True)


def test_an_interrupt_ends_a_gang(monkeypatch):
    x = wr.ones((60, 40), chunks=(20, 40)).persist()
    wr.wait(x)
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        wr.fori_loop(0, 10**7, jacobi, x, snapshot=10**7).compute()
    assert wr.fori_loop(0, 2, jacobi, x).compute().shape == x.shape


@pytest.mark.parametrize("loop", ["fori", "while"])
def test_a_body_that_adds_to_a_shared_array_is_an_error(loop):
    weights = wr.shared.array(np.zeros(4))

    def push(block):
        weights.add_at([0], 1.0)
        return block + 1

    def body(x):
        return wr.map_blocks(push, x, dtype=float)

    x = wr.zeros(4, chunks=2)
    found = (
        wr.fori_loop(0, 3, lambda i, x: body(x), x) if loop == "fori" else wr.while_loop(lambda x: x[0] < 3, body, x)
    )
    with pytest.raises(wr.ArgumentError, match=r"add_at: it is for the function .* in no loop's body"):
        found.compute()
    assert weights[0] == 0
    before = wr.fori_loop(0, 3, lambda i, x: x * 2, body(x))
    assert before.compute().tolist() == [8.0] * 4
    assert weights[0] == 2  # the function before the loop, once for each chunk


def test_a_short_last_slab_has_all_rows_that_its_margin_mirrors():
    mine = np.arange(5.0) * 2 + 1, np.arange(5, dtype="f4") * 3, np.arange(5, dtype="i4") * 7
    outside = np.arange(5.0) + 0.5

    def body(m, x, outside):
        mirrored = m.pad(x[1], 1, mode="reflect")
        capped = x[2] * 1
        capped[0:2] = 1
        ring = m.pad(m.roll(outside, 100), 1, mode="wrap")
        inner = ring[2:] * ring[1:-1]
        inner[1:-1] = x[0][1:-1]
        inner = m.pad(inner, 1)
        first = m.floor(m.minimum(mirrored[2:] * mirrored[2:], capped) * 0.01) - 3.7
        return first, (inner[2:] - inner[1:-1]).astype("f4"), x[2] * 1

    expected = mine
    for _ in range(2):
        expected = body(np, expected, outside)
    with wr.Cluster(threads=3, memory="64 MiB"):
        x = tuple(wr.from_array(a, chunks=2) for a in mine)
        lazy = wr.from_array(outside, chunks=2)
        found = wr.compute(*wr.fori_loop(0, 2, lambda i, x: body(wr, x, lazy), x))
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)
