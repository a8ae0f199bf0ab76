"""The checks of plans: each names what was broken by hand, and what a pass may not do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from support import plan_checks as errors
from support import verified
from support.plan_checks import verify, verify_pass
from windrow.graph.chunks.axismap import Slice
from windrow.graph.chunks.block_reads import ByBlock
from windrow.graph.chunks.grid import Axis, Grid
from windrow.graph.expr.expr import Expr
from windrow.graph.kinds.contraction import Contract
from windrow.graph.kinds.elementwise import Elementwise
from windrow.graph.kinds.move import Move, Route, rechunk
from windrow.graph.kinds.reduction import Reduce, reduce_grid
from windrow.graph.kinds.source import Random
from windrow.graph.lowering import lower as lowering
from windrow.graph.lowering.lower import lower
from windrow.graph.lowering.program import Program

F8 = np.dtype("f8")
SQUARE = Grid([Axis.regular(60, 20), Axis.regular(60, 15)])
FINE = Grid([Axis.regular(60, 10), Axis.regular(60, 15)])


def nothing(token: str) -> bool:
    return False


def noise(grid: Grid = SQUARE, key: int = 0) -> Expr:
    return Expr(Random("normal", (key, 1), 0), (), grid, F8)


def add(a: Expr, b: Expr, token: str = "") -> Expr:
    return Expr(Elementwise("add", (0, 1)), (a, b), a.grid, F8, token=token)


def total_times_numbers() -> Expr:
    """Numbers; their sum along an axis; both multiplied."""
    x = noise()
    total = Expr(Reduce("sum", (0,), False), (x,), reduce_grid(x.grid, (0,), False), F8)
    return Expr(Contract((0,), (0, 1), (1,)), (total, x), Grid(x.grid.axes[1:]), F8)


def plan():
    return lower([total_times_numbers()], nothing)


def broken(number: int, **changes):
    """Return the plan with other fields of one of its stages."""
    stages = plan()
    stages[number] = replace(stages[number], **changes)
    return stages


def with_value(number: int, at: int, **changes):
    """Return the plan with other fields of one of its values."""
    program = plan()[number].program
    values = list(program.values)
    values[at] = replace(values[at], **changes)
    return broken(number, program=Program(tuple(values), program.level))


def with_level(number: int, **changes):
    """Return the plan with another level in one of its programs."""
    program = plan()[number].program
    return broken(number, program=Program(program.values, replace(program.level, **changes)))


def test_a_plan_that_is_right_passes():
    stages, root = plan(), total_times_numbers()
    assert [len(stage.inputs) for stage in stages] == [0, 1, 2]
    verify(stages, nothing, [root])
    verify(stages[1:], {stages[0].token}.__contains__, [root])
    verify([], {root.token}.__contains__, [root])


def test_what_was_asked_for_is_made_or_stored():
    stages, root = plan(), total_times_numbers()
    with pytest.raises(errors.UnmadeRoot, match=rf"{root.token}\) was asked for"):
        verify(stages[:-1], nothing, [root])
    with pytest.raises(errors.GridMismatch, match=r"has Grid.* makes Grid"):
        verify(stages, nothing, [Expr(root.op, root.operands, FINE, F8, token=root.token)])
    with pytest.raises(errors.DTypeMismatch, match=r"has dtype float32, .* makes float64"):
        verify(stages, nothing, [Expr(root.op, root.operands, root.grid, np.dtype("f4"), token=root.token)])


def test_dtypes_of_reader_and_writer():
    first, *others = with_value(0, 0, dtype=np.dtype("f4"))
    with pytest.raises(errors.DTypeMismatch, match=r"'sum'.*reads input 0 as float64; float32 is written"):
        verify([replace(first, dtype=np.dtype("f4")), *others], nothing, ())
    with pytest.raises(errors.DTypeMismatch, match=r"'normal'.*has dtype float32, its program makes float64"):
        verify(broken(0, dtype=np.dtype("f4")), nothing, ())
    with pytest.raises(errors.DTypeMismatch, match=r"'sum'.*reduces float64; expected int64"):
        verify(with_level(1, source=np.dtype("i8")), nothing, ())
    with pytest.raises(errors.DTypeMismatch, match=r"'sum'.*has dtype float64, its program makes float32"):
        verify(with_level(1, target=np.dtype("f4")), nothing, ())


def test_dtypes_of_reductions_of_one_read():
    x = noise(Grid([Axis.regular(10_000, 1)]))
    reductions = [
        Expr(Reduce(name, (0,), False), (x,), reduce_grid(x.grid, (0,), False), F8) for name in ("sum", "max")
    ]
    stages = lower(reductions, nothing)
    verify(stages, nothing, reductions)
    number, level = next((i, s.program.level) for i, s in enumerate(stages) if s.program.level.field is not None)
    program = replace(
        stages[number].program, level=replace(level, reduce=replace(level.reduce, partial=np.dtype("f4")))
    )
    stages[number] = replace(stages[number], program=program)
    with pytest.raises(errors.DTypeMismatch, match="reduces float64; expected float32"):
        verify(stages, nothing, reductions)


def test_a_read_that_nobody_writes():
    with pytest.raises(errors.UnwrittenRead, match=f"'sum'.*reads {plan()[0].token}, which no stage makes"):
        verify(plan()[1:], nothing, ())


def test_stages_that_make_the_same():
    stages = plan()
    with pytest.raises(errors.RepeatedStage, match="makes what is made already"):
        verify([*stages, stages[0]], nothing, ())
    with pytest.raises(errors.RepeatedStage, match="makes what is stored already"):
        verify(stages, {stages[0].token}.__contains__, ())


def test_a_stage_before_what_it_reads():
    first, *others = plan()
    with pytest.raises(errors.UnorderedPlan, match=r"'sum'.*comes before stage 'normal'"):
        verify([*others, first], nothing, ())


def test_stages_that_wait_for_each_other():
    first, second, last = plan()
    with pytest.raises(errors.CyclicPlan, match=r"normal -> sum -> normal|sum -> normal -> sum"):
        verify([replace(first, inputs=(second.token,), input_grids=(second.grid,)), second, last], nothing, ())
    with pytest.raises(errors.CyclicPlan):
        verify([replace(second, inputs=(second.token,))], nothing, ())


def test_grids_of_reader_and_writer():
    with pytest.raises(errors.GridMismatch, match=r"'sum'.*reads Grid.*'normal'.* makes Grid"):
        verify(broken(1, input_grids=(FINE,)), nothing, ())


def test_a_stage_that_makes_other_blocks():
    with pytest.raises(errors.GridMismatch, match="runs over"):
        verify(broken(0, grid=FINE), nothing, ())
    with pytest.raises(errors.GridMismatch, match=r"makes .* groups"):
        verify(broken(1, grid=SQUARE), nothing, ())


def test_blocks_that_an_access_does_not_find():
    for axes in ((1, 0), (0,), (0, None)):
        with pytest.raises(errors.GridMismatch, match="along its axes"):
            verify(with_value(1, 0, access=ByBlock(axes)), nothing, ())
    moved = Expr(rechunk(2), (noise(),), FINE, F8)
    (first, second) = lower([moved], nothing)
    load = replace(second.program.values[0], access=Move("transpose", (Route(((0, Slice()),)),)))
    with pytest.raises(errors.GridMismatch, match=r"moves arrays of \[1\] axes"):
        verify([first, replace(second, program=Program((load,)))], nothing, ())


def test_values_that_are_not_there():
    with pytest.raises(errors.UnwrittenRead, match="value 0 reads input 1 of 1"):
        verify(with_value(1, 0, inputs=(1,)), nothing, ())
    x = noise()
    (chain,) = lower([add(Expr(Elementwise("negative", (0,)), (x,), x.grid, F8), x)], {x.token}.__contains__)
    values = chain.program.values
    last = replace(values[-1], args=(0, len(values) - 1))
    with pytest.raises(errors.UnwrittenRead, match="which isn't there by then"):
        verify([replace(chain, program=Program((*values[:-1], last)))], {x.token}.__contains__, ())


def test_an_input_that_is_not_read():
    first, second, last = plan()
    wider = replace(second, inputs=(*second.inputs, "other"), input_grids=(*second.input_grids, SQUARE))
    with pytest.raises(errors.UnreadInput, match=r"'sum'.*reads nothing of its inputs \[1\]"):
        verify([first, wider, last], {"other"}.__contains__, ())


# -------------------------------------------------------------------- passes


def test_a_pass_returns_the_results_that_it_was_given():
    x = noise()
    verify_pass([x], [x], nothing)
    for after in ([], [noise(key=1)], [Expr(x.op, (), FINE, F8, token=x.token)], [Expr(x.op, (), SQUARE, "f4")]):
        with pytest.raises(errors.ChangedMeaning, match="a pass made"):
            verify_pass([x], after, nothing)


def test_a_token_names_one_thing():
    x = noise()
    other = Expr(x.op, (), FINE, F8, token=x.token)
    before = add(x, noise(key=1))
    with pytest.raises(errors.ChangedMeaning, match=x.token):
        verify_pass([before], [add(x, Expr(rechunk(2), (other,), SQUARE, F8), before.token)], nothing)


def test_an_expression_is_not_made_of_itself():
    x, y = noise(), noise(key=1)
    before = add(x, y)
    inner = Expr(Elementwise("negative", (0,)), (add(x, y),), SQUARE, F8)
    with pytest.raises(errors.CyclicPlan, match=r"add -> negative -> add|negative -> add -> negative"):
        verify_pass([before], [add(x, inner, before.token)], nothing)
    verify_pass([before], [add(x, inner, before.token)], {inner.token}.__contains__)


def test_plans_of_tests_are_verified():
    for name in verified.PASSES:
        assert getattr(lowering, name).__wrapped__.__module__.startswith("windrow.graph.passes."), name
    with pytest.raises(errors.ChangedMeaning):
        verified.checked_pass(lambda roots, stored: [noise(key=1)])([noise()], nothing)
    with pytest.raises(errors.RepeatedStage):
        verified.checked_writing([noise()], nothing, lambda roots, stored: (plan() * 2, {}))
    with pytest.raises(errors.UnmadeRoot):
        verified.checked_writing([noise()], nothing, lambda roots, stored: ([], {}))
    with pytest.raises(errors.UnmadeRoot):
        verified.checked_plan(None, [noise()], nothing, function=lambda self, roots, stored: [])
