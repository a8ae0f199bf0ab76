"""From expressions to stages: tokens, what fuses, who reads what, reduction trees, large graphs."""

from __future__ import annotations

import math
import subprocess
import sys
import tracemalloc
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.counting import count_calls
from windrow.graph.chunks.axismap import Slice
from windrow.graph.chunks.grid import Axis, Grid
from windrow.graph.expr.expr import Expr
from windrow.graph.expr.origin import Origin
from windrow.graph.expr.token import token_of
from windrow.graph.kinds.contraction import Contract, split_for
from windrow.graph.kinds.elementwise import Elementwise, Scalar
from windrow.graph.kinds.mapping import BlockFunction
from windrow.graph.kinds.move import Move, Route, join_operands, rechunk
from windrow.graph.kinds.reduction import Level, Reduce, expand, reduce_grid
from windrow.graph.kinds.source import Full, Random
from windrow.graph.lowering.lower import lower, name_stage
from windrow.graph.lowering.program import Apply, Call, Fused, Generate, Load, Product
from windrow.graph.passes.simplify import simplify

if TYPE_CHECKING:
    from windrow.graph.lowering.stage import Stage

F8 = np.dtype("f8")


def nothing(token: str) -> bool:
    return False


def grid_of(shape, chunks) -> Grid:
    return Grid([Axis.regular(n, c) for n, c in zip(shape, chunks, strict=True)])


def noise(grid: Grid, key: int = 0) -> Expr:
    return Expr(Random("random", (key, 1), 0), (), grid, F8)


def apply(name: str, *operands: Expr | float) -> Expr:
    nodes = [o for o in operands if isinstance(o, Expr)]
    args = tuple(nodes.index(o) if isinstance(o, Expr) else Scalar(o) for o in operands)
    return Expr(Elementwise(name, args), tuple(nodes), nodes[0].grid, F8)


def reduce(node: Expr, axes, head: str = "sum") -> Expr:
    return Expr(Reduce(head, axes, False), (node,), reduce_grid(node.grid, axes, False), F8)


def transpose(node: Expr) -> Expr:
    return Expr(Move("transpose", (Route(((1, Slice()), (0, Slice()))),)), (node,), Grid(node.grid.axes[::-1]), F8)


def matmul(a: Expr, b: Expr) -> Expr:
    return Expr(Contract((0, 1), (1, 2), (0, 2)), (a, b), Grid([a.grid.axes[0], b.grid.axes[1]]), F8)


SQUARE = grid_of((60, 60), (20, 15))


# -------------------------------------------------------------------- tokens


TOKENS = """
from windrow.graph.expr.token import token_of
from windrow.graph.chunks.grid import Axis, Grid
from windrow.graph.kinds.reduction import Reduce
import numpy as np
print(token_of("x", 1, 1.0, True, None, (1, "a"), np.dtype("f8"), np.arange(3), slice(1, None),
               Grid([Axis.regular(9, 2), Axis.of_sizes([1, 5, 2])]), Reduce("sum", (0,), False)))
"""


def test_tokens_are_the_same_in_every_process():
    found = set()
    for seed in "12":
        env = {"PYTHONPATH": ":".join(sys.path), "PYTHONHASHSEED": seed}
        done = subprocess.run([sys.executable, "-c", TOKENS], env=env, capture_output=True, text=True, check=True)
        found.add(done.stdout)
    assert len(found) == 1


def test_tokens_tell_apart():
    values = [
        1,
        1.0,
        True,
        "1",
        b"1",
        None,
        (1,),
        ((1,),),
        (1, 1),
        np.int64(1),
        np.float64(1),
        -0.0,
        0.0,
        1 + 0j,
    ]
    values += [np.array([1]), np.array([[1]]), np.array([1], "i4"), np.dtype("f4"), np.dtype([("a", "f4")])]
    values += [slice(1), slice(1, 1), Axis.regular(4, 2), Axis.regular(4, 3), Grid([Axis.regular(4, 2)])]
    values += [Reduce("sum", (0,), False), Reduce("sum", (0,), True), ("a", "b"), ("ab",)]
    assert len({token_of(v) for v in values}) == len(values)
    assert token_of("a", "b") != token_of("ab")


def test_equal_expressions_have_one_token():
    assert apply("add", noise(SQUARE), 1.0).token == apply("add", noise(SQUARE), 1.0).token
    assert apply("add", noise(SQUARE), 1.0).token != apply("add", noise(SQUARE, 1), 1.0).token
    assert Expr(Full(1.0), (), SQUARE, F8, "here").token == Expr(Full(1.0), (), SQUARE, F8, "there").token


# -------------------------------------------------------------------- what fuses


def test_a_chain_and_the_head_of_its_reduction_are_one_stage():
    small = grid_of((10, 10), (5, 5))
    (stage,) = lower([reduce(apply("sqrt", apply("add", noise(small), 1.0)), (0, 1))], nothing)
    assert [type(v) for v in stage.program.values] == [Generate, Apply, Apply]
    assert stage.inputs == ()


def test_a_move_of_computed_data_cuts():
    first, second = lower([apply("add", transpose(apply("sqrt", noise(SQUARE))), 1.0)], nothing)
    assert second.inputs == (first.token,)
    assert [type(v) for v in second.program.values] == [Load, Apply]


def test_a_node_that_two_stages_read_is_computed_once():
    shared = apply("sqrt", noise(SQUARE))
    stages = lower([reduce(shared, (0,)), transpose(shared)], nothing)
    assert sum(s.token == shared.token for s in stages) == 1
    assert all(s.inputs == (shared.token,) for s in stages if s.token != shared.token)


def test_a_node_used_twice_in_one_stage_is_written_once():
    shared = apply("sqrt", noise(SQUARE))
    (stage,) = lower([apply("multiply", apply("add", shared, 1.0), shared)], nothing)
    assert len(stage.program.values) == 4


def test_what_is_stored_is_an_input():
    kept = apply("sqrt", noise(SQUARE))
    root = apply("add", kept, 1.0)
    (stage,) = lower([root], lambda token: token == kept.token)
    assert stage.inputs == (kept.token,)
    assert lower([kept], lambda token: token == kept.token) == []


def whole(*operands: Expr, axes=None, grid: Grid | None = None) -> Expr:
    """A built-in function of whole blocks."""
    return Expr(BlockFunction("signal.lines:f", (), axes), operands, grid or operands[0].grid, F8)


def test_elementwise_operands_of_functions_of_blocks_are_computed_with_them():
    (stage,) = lower([whole(apply("sqrt", noise(SQUARE)))], nothing)
    assert [type(v) for v in stage.program.values] == [Generate, Apply, Call]
    assert stage.inputs == ()


def test_what_functions_of_blocks_read_otherwise_is_a_stage_of_its_own():
    """A block of it is no block of theirs: transposed, of another grid, or a product."""
    square = grid_of((60, 60), (20, 20))
    root = apply("sqrt", noise(square))
    first, second = lower([whole(root, axes=((1, 0),))], nothing)
    assert second.inputs == (first.token,) == (root.token,)
    (load, _) = second.program.values
    assert load.access.axes == (1, 0)
    lengthwise = Grid([square.axes[0]])
    rows = apply("sqrt", noise(grid_of((60, 60), (20, 60))))
    first, second = lower([whole(rows, axes=((0, None),), grid=lengthwise)], nothing)
    assert second.inputs == (first.token,)
    *_, first, second = lower([whole(matmul(noise(square), noise(square, 1)))], nothing)
    assert isinstance(first.program.values[-1], Product)
    assert second.inputs == (first.token,)


def test_functions_of_blocks_that_several_read_run_once():
    made = whole(apply("sqrt", noise(SQUARE)))
    stages = lower([apply("multiply", apply("add", made, 1.0), made)], nothing)
    assert [s.token == made.token for s in stages] == [True, False]
    assert [type(v) for v in stages[1].program.values] == [Load, Apply, Apply]
    narrow = whole(noise(grid_of((1, 60), (1, 15))))
    row = Expr(Elementwise("add", (0, 1)), (noise(SQUARE), narrow), SQUARE, F8)
    stages = lower([row], nothing)
    assert narrow.token in {s.token for s in stages}, "broadcast, it would be called for each row of blocks"


def test_a_function_of_blocks_is_no_part_of_a_sum_over_many_blocks():
    made = whole(noise(grid_of((1000,), (1,))))
    stages = lower([reduce(made, (0,))], nothing)
    assert stages[0].token == made.token
    assert len(stages) == 2


def test_long_chains_are_cut():
    x = root = noise(SQUARE)
    for _ in range(200):
        x = apply("add", x, 1.0)
    stages = lower([x], nothing)
    assert 3 <= len(stages) <= 5
    assert all(len(s.program.values) <= 70 for s in stages)
    assert sum(isinstance(v, Apply) for s in stages for v in s.program.values) == 200
    assert root.token not in {s.token for s in stages}


def test_broadcast_operands_run_along_the_last_axes():
    row, column = noise(grid_of((60,), (15,)), 1), noise(grid_of((60, 1), (20, 1)), 2)
    rows = apply("sqrt", row)
    added = Expr(Elementwise("add", (0, 1)), (noise(SQUARE), rows), SQUARE, F8)
    both = Expr(Elementwise("add", (0, 1)), (added, column), SQUARE, F8)
    (stage,) = lower([both], nothing)
    generated = [v for v in stage.program.values if isinstance(v, Generate)]
    assert [v.axes for v in generated] == [(0, 1), (1,), (0, None)]
    assert [v.full for v in generated] == [(True, True), (False, True), (True, False)]


def test_transposes_go_into_contractions():
    a, b = noise(grid_of((60, 40), (20, 10)), 1), noise(grid_of((60, 30), (20, 15)), 2)
    product = matmul(transpose(a), b)
    (simple,) = simplify([product], nothing)
    assert simple.token == product.token
    assert simple.operands == (a, b)
    assert (simple.op.left, simple.op.right, simple.op.out) == ((1, 0), (1, 2), (0, 2))
    kept = transpose(a)
    (simple,) = simplify([matmul(kept, b)], lambda token: token == kept.token)
    assert simple.operands == (kept, b)
    assert simple.op.left == (0, 1)
    turned = Expr(rechunk(2), (transpose(a),), Grid([Axis.regular(40, 40), Axis.regular(60, 20)]), F8)
    (simple,) = simplify([matmul(turned, b)], nothing)
    assert simple.operands[0].grid == turned.grid, "other chunks have to be made first"


@pytest.mark.parametrize("count", [64, 65, 200])
def test_joins_of_many_become_trees(count):
    parts = [noise(grid_of((2,), (1,)), k) for k in range(count)]
    root = Expr(join_operands("concatenate", [2] * count, 1, 0), tuple(parts), grid_of((2 * count,), (3,)), F8)
    (simple,) = simplify([root], nothing)
    assert simple.token == root.token
    assert simple.grid == root.grid
    if count == 64:
        assert simple.operands == tuple(parts)
        return
    assert len(simple.operands) == -(-count // 64)
    assert sum(e.shape[0] for e in simple.operands) == 2 * count
    begins = [-route.axes[0][1].start for route in simple.op.routes]
    assert begins == [128 * k for k in range(len(begins))]
    leaves = [leaf for e in simple.operands for leaf in (e.operands or (e,))]
    assert leaves == parts
    borders = {3 * k for k in range(2 * count)} | {128 * k for k in range(4)}
    for at, each in zip(begins, simple.operands, strict=True):
        if each.operands:
            assert {at + b for b in np.cumsum(each.grid.axes[0].sizes()).tolist()} <= borders | {2 * count}


def test_what_is_only_renamed_is_copied():
    x = noise(SQUARE)
    (simple,) = simplify([Expr(rechunk(2), (x,), SQUARE, F8)], nothing)
    assert isinstance(simple.op, Elementwise)
    assert simple.op.function == "copy"
    (simple,) = simplify([Expr(rechunk(2), (x,), grid_of((60, 60), (15, 20)), F8)], nothing)
    assert isinstance(simple.op, Move)


def test_stages_are_named_by_all_that_runs_in_them():
    called = Origin("cumsum", "script.py", 3)
    other = Origin("mean", "script.py", 4)
    x = noise(SQUARE)
    one = Expr(Elementwise("sqrt", (0,)), (x,), SQUARE, F8, called)
    two = Expr(Elementwise("negative", (0,)), (one,), SQUARE, F8, other)
    assert name_stage([x, one]) == "random+cumsum"
    assert name_stage([one, two, one]) == "cumsum+mean"
    (stage,) = lower([two], nothing)
    assert stage.name == "random+cumsum+mean"
    assert stage.origin == "script.py:4"
    partial, final = lower([reduce(noise(grid_of((10**6,), (1000,))), (0,))], nothing)
    assert partial.name.endswith(" (partial)")
    assert "partial" not in final.name


def test_cheap_sources_are_generated_where_they_are_used():
    ones = Expr(Full(1.0), (), SQUARE, F8)
    stages = lower([apply("add", ones, noise(SQUARE)), apply("multiply", ones, noise(SQUARE))], nothing)
    assert ones.token not in {s.token for s in stages}
    assert ones.token not in {t for s in stages for t in s.inputs}


def test_stages_come_before_their_readers():
    a = noise(SQUARE)
    root = matmul(transpose(apply("sqrt", a)), Expr(rechunk(2), (a,), grid_of((60, 60), (15, 7)), F8))
    known: set[str] = set()
    for stage in lower([reduce(root, (0, 1))], nothing):
        assert known.issuperset(stage.inputs)
        known.add(stage.token)


def test_simplify_composes_moves_and_keeps_the_token():
    root = transpose(transpose(noise(SQUARE)))
    (simple,) = simplify([root], nothing)
    assert simple.token == root.token
    assert not isinstance(simple.op, Move)
    assert simple.operands[0].token == noise(SQUARE).token
    (kept,) = simplify([root], lambda token: token == root.operands[0].token)
    assert kept.operands[0] is root.operands[0]


# -------------------------------------------------------------------- who reads what


def read_by_brute_force(stage: Stage, number: int, blocks_per_task: int) -> list[set[int]]:
    tasks = []
    for task in range(stage.ntasks):
        read: set[int] = set()
        for block in (d for b in stage.blocks(task) for d in stage.domain_blocks(b)):
            read |= read_of_block(stage, number, block)
        tasks.append({b // blocks_per_task for b in read})
    return tasks


def read_of_block(stage: Stage, number: int, block: int) -> set[int]:
    read: set[int] = set()
    for value in stage.program.values:
        if isinstance(value, Product):
            grids = [stage.operand_grid(operand) for operand in value.operands]
            for pair in value.op.reads(stage.domain, *grids, block):
                for operand, b in zip(value.operands, pair, strict=True):
                    if isinstance(operand, Fused):
                        read |= read_of_block(stage.fused(operand), number, b)
                    elif operand == number:
                        read.add(b)
        elif isinstance(value, Load) and number in value.inputs:
            grids = tuple(stage.input_grids[i] for i in value.inputs)
            if value.frame is None:
                read.add(value.access.source_block(stage.domain, grids[0], block))
            else:
                frame, within = value.frame_blocks(stage.domain, np.array([block]))
                pieces = value.access.pieces(frame, grids, int(within[0]))
                read |= {p.block for p in pieces if value.inputs[p.operand] == number}
    return read


grids = st.tuples(st.integers(9, 60), st.integers(7, 60)).map(lambda c: grid_of((60, 60), c))


@given(grids, grids, st.integers(1, 9))
def test_reads_agree_with_pieces(first, second, blocks_per_task):
    a, b = noise(first), Expr(rechunk(2), (noise(first, 1),), second, F8)
    product = matmul(a, Expr(rechunk(2), (noise(first, 2),), Grid([first.axes[1], second.axes[1]]), F8))
    moved = apply("add", b, transpose(Expr(rechunk(2), (a,), Grid(second.axes[::-1]), F8)))
    for stage in lower([product, moved, reduce(b, (0,)), reduce(moved, (0, 1))], nothing):
        for number in range(len(stage.inputs)):
            rows = stage.reads(number, blocks_per_task)
            assert [set(rows.of(np.array([t])).tolist()) for t in range(stage.ntasks)] == read_by_brute_force(
                stage, number, blocks_per_task
            )
            nitems = -(-stage.input_grids[number].nblocks // blocks_per_task)
            back = rows.inverse(nitems)
            pairs = set(zip(rows.row_numbers().tolist(), rows.items.tolist(), strict=True))
            assert pairs == set(zip(back.items.tolist(), back.row_numbers().tolist(), strict=True))


@given(st.integers(1, 6), st.integers(1, 6), st.integers(1, 6), st.integers(1, 4))
def test_contraction_rows_agree_with_reads(m, k, n, split):
    left, right = grid_of((m, k), (1, 1)), grid_of((k, n), (1, 1))
    split = min(split, k)
    op = Contract((0, 1), (1, 2), (0, 2), split)
    domain = grid_of((split, m, n) if split > 1 else (m, n), (1,) * (3 if split > 1 else 2))
    rows = op.rows(domain, left, right, np.arange(domain.nblocks))
    multiplied = []
    for block in range(domain.nblocks):
        pairs = op.reads(domain, left, right, block)
        multiplied += [(block % (m * n), a, b) for a, b in pairs]
        for side in (0, 1):
            assert rows[side].of(np.array([block])).tolist() == [p[side] for p in pairs]
    expected = {(i * n + j, i * k + s, s * n + j) for i in range(m) for j in range(n) for s in range(k)}
    assert len(multiplied) == len(expected)
    assert set(multiplied) == expected
    assert 1 <= split_for(m * n, k) <= max(1, k)


# -------------------------------------------------------------------- reduction trees


@given(
    st.lists(st.tuples(st.integers(1, 14), st.integers(1, 6)), min_size=1, max_size=3)
    | st.lists(st.tuples(st.integers(1, 9000), st.integers(1, 9)), min_size=1, max_size=1),
    st.data(),
)
def test_a_tree_covers_every_block_once(cut, data):
    shape, chunks = zip(*cut, strict=True)
    operand = noise(grid_of(shape, chunks))
    axes = tuple(sorted(data.draw(st.sets(st.integers(0, len(shape) - 1), min_size=1))))
    root = reduce(operand, axes)
    top = expand(root, operand)
    assert top.token == root.token
    assert expand(root, operand).operands[0].token == top.operands[0].token
    levels = [top]
    while levels[-1].operands[0] is not operand:
        levels.append(levels[-1].operands[0])
    assert [lv.op.final for lv in levels] == [True] + [False] * (len(levels) - 1)
    assert [lv.op.leaf for lv in levels] == [False] * (len(levels) - 1) + [True]
    covered = [[b] for b in range(operand.grid.nblocks)]
    for stage in lower([root], nothing):
        if stage.program.level is None:
            continue
        groups = [stage.domain_blocks(b) for b in range(stage.grid.nblocks)]
        assert sorted(b for g in groups for b in g) == list(range(stage.domain.nblocks))
        covered = [[leaf for b in g for leaf in covered[b]] for g in groups]
    assert sorted(b for group in covered for b in group) == list(range(operand.grid.nblocks))
    assert len(covered) == root.grid.nblocks


def test_a_level_is_not_a_round_trip_for_a_handful_of_blocks():
    top = expand(reduce(noise(grid_of((4096,), (1,))), (0,)), noise(grid_of((4096,), (1,))))
    assert isinstance(top.op, Level)
    assert top.op.leaf


# -------------------------------------------------------------------- tasks and their slabs


@given(grids)
def test_tasks_slabs_and_offsets(grid):
    (stage,) = lower([noise(grid)], nothing)
    blocks = [b for t in range(stage.ntasks) for b in stage.blocks(t)]
    assert blocks == list(range(grid.nblocks))
    sizes = stage.slab_bytes(np.arange(stage.ntasks))
    for task in range(stage.ntasks):
        offsets = stage.offsets(task)
        each = [math.prod(grid.block_shape(b)) * 8 for b in stage.blocks(task)]
        assert np.diff(offsets).tolist() == each
        assert sizes[task] % 64 == 0
        assert offsets[-1] <= sizes[task] < offsets[-1] + 64 + 64 * (offsets[-1] == 0)


def test_small_chunks_are_folded_and_large_ones_are_not():
    small, large = (lower([noise(grid_of((10**6,), (c,)))], nothing)[0] for c in (100, 250_000))
    assert small.blocks_per_task > 100
    assert large.blocks_per_task == 1


# -------------------------------------------------------------------- what a large graph costs


@pytest.mark.parametrize(("shape", "chunks"), [((10**8,), (100,)), ((10**5, 10**5), (100, 100))])
def test_a_million_chunks_cost_no_more_than_a_few(shape, chunks):
    """As many calls as for a hundred, or few more, and 20 MB."""

    def build(chunks=chunks) -> list[Stage]:
        x = Expr(Full(1.0), (), grid_of(shape, chunks), F8)
        stages = lower([reduce(apply("multiply", apply("add", x, 1.0), 2.0), tuple(range(len(shape))))], nothing)
        for stage in stages:
            for number in range(len(stage.inputs)):
                stage.reads(number, stages[0].blocks_per_task)
        return stages

    stages = build()
    few = tuple(n // (100 if len(shape) == 1 else 10) for n in shape)
    assert count_calls(build) < 2 * count_calls(lambda: build(few))
    tracemalloc.start()
    build()
    assert tracemalloc.get_traced_memory()[1] < 20 << 20
    tracemalloc.stop()
    assert stages[0].domain.nblocks == 10**6
    assert len(stages) <= 4
