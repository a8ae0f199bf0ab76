"""Bodies of loops drawn by chance, and those that read rows, against NumPy's loop; what is looked at in their plans."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import windrow as wr
from windrow.arrays.loops import runs
from windrow.arrays.loops.tracing import trace_body
from windrow.graph.stencil.analysis import find_plan
from windrow.graph.stencil.checks import check_plan
from windrow.graph.stencil.plan import Paint, Point, Read, StencilLeaf

from .loop_bodies import draw


@pytest.fixture
def counted(monkeypatch):
    """Count the loops that run as gangs."""
    calls, run = [], runs.run_halos
    monkeypatch.setattr(runs, "run_halos", lambda *args: calls.append(1) or run(*args))
    return calls


def check(seeds, how="fori", jit="off"):
    with wr.config.set(jit=jit), wr.Cluster(threads=3, memory="64 MiB"):
        wrong = [program.report(how) for seed in seeds if (program := draw(seed)).wrong(how)]
    assert not wrong, f"{len(wrong)} of {len(seeds)}: {wrong[0]}"


def test_200_bodies_by_chance(counted):
    check(range(200))
    assert 80 < len(counted) < 160  # local ones and others


@pytest.mark.parametrize("how", ["while", "scan", "python"])
def test_other_loops_of_bodies_by_chance(how):
    check(range(200, 225), how)


def test_compiled_bodies_by_chance():
    check(range(225, 260), jit="on")


def test_bodies_by_chance_whose_slabs_send_messages(monkeypatch):
    monkeypatch.setattr("windrow.arrays.loops.gangs.MAPPED", False)
    check(range(260, 300))


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("begin", range(10_000, 12_000, 500))
def test_2000_bodies_by_chance(begin):
    check(range(begin, begin + 500))


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("how", ["while", "scan", "python", "compiled"])
def test_200_bodies_by_chance_in_other_ways(how):
    seeds = range(12_000, 12_200)
    if how == "compiled":
        check(seeds, jit="on")
    else:
        check(seeds, how)


ROWS = [
    "u - u[0]",
    "u + u[3]",
    "u - u[-1] * 2",
    "u + u[:, 1]",
    "u + u[:, 1, None]",
    "u + u[1][None]",
    "u + u[2, 1]",
    "u + u.take(2, axis=0)",
    "u + m.take(u, 1, 0)",
    "u * m.squeeze(u[1:2], 0)",
    "m.where(u[0] > 0, u, 1)",
    "m.where(u > 3, u[0], u[1])",
    "m.roll(u, 1, 0) - u[0]",
    "m.roll(u, 1, 1) - u[:, :1]",
    "m.pad(u, 1)[2:, 1:-1] - u[0]",
    "u + m.broadcast_to(u[1], u.shape)",
    "u[0] + u[1] + u * 0",
    "u + (u[0] - u[1])",
    "m.concatenate([u[1:], u[-1:]])",
    "m.concatenate([u[1:], u[:0], u[:1]])",
    "m.concatenate([u[:0], u])",
    "m.concatenate([u[:, 2:], u[:, 4:], u[:, :2]], axis=1)",
    "m.pad(u[1:], ((0, 1), (0, 0)))",
    "m.pad(u[1:], ((1, 0), (0, 0)), mode='edge')",
    "m.pad(u[1:1], ((4, 0), (0, 0)), constant_values=3) + u",
    "m.stack([u[1], u[0], u[2], u[3]])",
    "u[[1, 2, 3, 3]]",
    "u + u.max(0)",
    "u + u.min(1, keepdims=True)",
]


@pytest.mark.parametrize("text", ROWS)
def test_bodies_that_read_rows(text):
    values = np.arange(16).reshape(4, 4)[:, ::-1] % 7 + np.arange(4)
    body = eval(f"lambda m, u: ({text}) % 17")
    wanted = values
    for steps in range(1, 5):
        wanted = body(np, wanted)
        x = wr.from_array(values, chunks=((1, 2, 1), 3))
        assert np.array_equal(wr.fori_loop(0, steps, lambda i, u: body(wr, u), x).compute(), wanted)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_any_row_of_three_axes(axis):
    values = np.random.default_rng(7).integers(0, 9, (5, 4, 70))
    x = wr.from_array(values, chunks=(2, 3, 30))
    for k in (0, 1, 3, 63, 64, 69)[: 3 if axis < 2 else 6]:
        index = (slice(None),) * axis + (k,)
        rows = wr.fori_loop(0, 1, lambda i, u, at=index, a=axis: u - wr.expand_dims(u[at], a), x)
        assert np.array_equal(rows.compute(), values - np.expand_dims(values[index], axis))


def test_an_array_of_fewer_axes_from_outside_where_an_axis_has_length_one():
    values, line = np.arange(6).reshape(1, 6), np.arange(6) ** 2
    x, outside = wr.from_array(values, chunks=(1, 4)), wr.from_array(line, chunks=3)
    assert np.array_equal(wr.fori_loop(0, 1, lambda i, u: u + outside, x).compute(), values + line)
    assert np.array_equal(
        wr.fori_loop(0, 3, lambda i, u: u - wr.roll(outside, 1), x).compute(), values - 3 * np.roll(line, 1)
    )


def plan_of(body, x):
    """Return the plan of a body."""
    from windrow.arrays.loops.structures import LEAF

    trace = trace_body("fori_loop", body, [x], LEAF, wr.asarray(0))
    return find_plan(trace.roots, trace.carried, trace.captured)


def smooth(i, x):
    y = x * 2
    y[:2] = x[:2]
    wide = wr.pad(y, 1, mode="edge")
    return wide[:-2] + wide[2:]


def changed(plan, kind, change):
    """Return a plan whose items of one kind are changed."""
    return replace(plan, items=tuple(change(item) if isinstance(item, kind) else item for item in plan.items))


def test_a_plan_that_reads_elsewhere_is_refused():
    x = wr.arange(10.0, chunks=4)
    plan = plan_of(smooth, x)
    check_plan(plan)
    wide = next(number for number, item in enumerate(plan.items) if item.box != ((0, 10),))

    def further(item):
        return replace(item, args=tuple(replace(a, shift=(2,)) if isinstance(a, Read) else a for a in item.args))

    with pytest.raises(AssertionError, match="isn't defined everywhere there"):
        check_plan(changed(plan, Point, further))
    with pytest.raises(AssertionError, match="isn't defined in"):
        check_plan(changed(plan, Paint, lambda item: replace(item, parts=item.parts[:-1])))
    padded = plan_of(lambda i, x: wr.pad(x, 1, mode="edge")[2:], x)
    with pytest.raises(AssertionError, match="aren't filled"):
        check_plan(changed(padded, StencilLeaf, lambda item: replace(item, fills=())))
    with pytest.raises(AssertionError, match=r"reads Read"):
        check_plan(
            changed(
                padded, StencilLeaf, lambda item: replace(item, fills=((item.fills[0][0], Read(0, (11,))), *item.fills))
            )
        )
    with pytest.raises(AssertionError, match="don't lie in"):
        check_plan(replace(plan, outs=(wide,)))


def test_shapes_that_do_not_fit_name_the_operation():
    x = wr.ones((4, 3), chunks=2)
    with pytest.raises(wr.ShapeError, match=r"add: .*\(4, 3\).*\(3, 3\)"):
        wr.fori_loop(0, 2, lambda i, u: u + u[1:], x)
    with pytest.raises(wr.ShapeError, match=r"subtract: .*\(4, 3\).*\(4,\)"):
        wr.fori_loop(0, 2, lambda i, u: u - u[:, 0], x)
