"""Loops that are traced once: the bits of the same loop written in Python, errors, memory."""

from __future__ import annotations

import numpy as np
import pytest

import windrow as wr


def plainly(begin, end, body, x):
    """The same loop in Python, on stored arrays."""
    for i in range(begin, end):
        x = body(np.int64(i), x)
        x = wr.persist(x) if isinstance(x, wr.Array) else x
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
        assert row["arena_used"] <= 3 << 20


def test_errors_say_what_came():
    x = wr.ones(3, dtype="f4")
    with pytest.raises(wr.ArgumentError, match="known only when the loop runs"):
        wr.fori_loop(0, 2, lambda i, x: x if x.sum() > 0 else -x, x)
    with pytest.raises(wr.ShapeError, match=r"'body' made an array of shape \(2,\) of x; expected shape \(3,\)"):
        wr.fori_loop(0, 2, lambda i, x: x[:2], x)
    with pytest.raises(wr.DTypeError, match=r"dtype float64 of x\['a'\]; expected dtype float32"):
        wr.fori_loop(0, 2, lambda i, x: {"a": x["a"] * i}, {"a": x})
    with pytest.raises(wr.ArgumentError, match=r"expected \(array, array\)"):
        wr.fori_loop(0, 2, lambda i, x: list(x), (x, x))
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
