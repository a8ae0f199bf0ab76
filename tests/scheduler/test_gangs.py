"""Gangs in the ledger: all members at once or none, and what they make counts together, is lost and made together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.graph.chunks.grid import Axis, Grid
from windrow.graph.expr.expr import Expr
from windrow.graph.kinds.elementwise import Elementwise
from windrow.graph.kinds.gang import Filled, Gang, GangOutput, share
from windrow.graph.kinds.mapping import BlockFunction, Payload
from windrow.graph.kinds.source import Random
from windrow.graph.lowering.lower import lower
from windrow.scheduler.engine.spiller import victims
from windrow.scheduler.ledger.ledger import Ledger
from windrow.scheduler.ledger.stage_record import ChunkState

if TYPE_CHECKING:
    from windrow.scheduler.ledger.gangs import GangRun
    from windrow.scheduler.ledger.stage_record import Batch

F8 = np.dtype("f8")
MIB = 1 << 17


def source(chunks: int, key: int = 0) -> Expr:
    return Expr(Random("random", (key, 1), 0), (), Grid([Axis.regular(chunks * MIB, MIB)]), F8)


def gang(*operands: Expr, members: int = 3, number: int = 0) -> tuple[Expr, Expr]:
    """A gang, and the array of six chunks that it fills."""
    out = GangOutput(Grid([Axis.regular(6 * MIB, MIB)]), F8)
    op = Gang(Payload("f", b"", "f"), members, (out,), number)
    node = Expr(op, operands, op.grid(), np.dtype("u1"))
    raw = Expr(Filled(op, 0), (node,), Grid([Axis.regular(48 * MIB, 8 * MIB)]), np.dtype("u1"))
    return node, Expr(BlockFunction("elements.unbuffered:view_as", (F8,)), (raw,), out.grid, F8)


def held(*nodes: Expr, ranks: int = 3, arena: int = 1 << 30) -> Ledger:
    ledger = Ledger([arena] * ranks, [1] * ranks)
    ledger.add(lower(list(nodes), lambda token: False), False)
    for node in nodes:
        ledger.hold(node.token)
    ledger.plan()
    return ledger


def run_tasks(ledger: Ledger) -> None:
    """Run all that is no gang."""
    given = True
    while given:
        given = False
        for rank, alive in enumerate(ledger.alive):
            batch = ledger.take(rank) if alive else None
            if batch is not None:
                assert batch.record.stage.gang is None
                ledger.done(batch.number, 0.01)
                given = True


def finish(ledger: Ledger) -> int:
    """Run everything to its end; return how many gangs ran."""
    runs = 0
    while any(record.busy for record in ledger.records.values()):
        run_tasks(ledger)
        if (run := ledger.take_gang()) is not None:
            runs += 1
            for batch in run.batches:
                ledger.done(batch.number, 0.01)
        ledger.forget()
    return runs


def used(ledger: Ledger) -> int:
    return sum(arena.used for arena, alive in zip(ledger.arenas, ledger.alive, strict=True) if alive)


def test_members_begin_together_when_all_inputs_are_there():
    x = source(6)
    node, y = gang(x)
    ledger = held(x, y)
    assert ledger.take_gang() is None
    run_tasks(ledger)
    run = ledger.take_gang()
    assert sorted(run.ranks) == [0, 1, 2]
    assert [batch.tasks.tolist() for batch in run.batches] == [[0], [1], [2]]
    assert ledger.take_gang() is None
    record = ledger.records[node.token]
    for batch in run.batches[:2]:
        assert ledger.done(batch.number, 0.01) is None
        assert (record.state == ChunkState.RUNNING).all()
    found, tasks = ledger.done(run.batches[2].number, 0.01)
    assert (found, tasks.tolist()) == (record, [0, 1, 2])
    assert record.complete
    assert finish(ledger) == 0
    assert record.nstored == 0, "what is read by nobody any more is freed together"


def test_members_sit_where_their_chunks_are():
    x = source(6)
    _, y = gang(x)
    ledger = held(x, y)
    run_tasks(ledger)
    owners = ledger.records[x.token].owner
    run = ledger.take_gang()
    wanted = owners[share(6, 3)[:3]].tolist()
    assert sorted(wanted) == [0, 1, 2]
    assert list(run.ranks) == wanted


@pytest.mark.parametrize("arrived", [0, 1, 2])
def test_a_member_that_comes_to_nothing_takes_all_along(arrived):
    x = source(6)
    _, y = gang(x)
    ledger = held(x, y)
    run_tasks(ledger)
    before = used(ledger)
    run = ledger.take_gang()
    for batch in run.batches[:arrived]:
        ledger.done(batch.number, 0.01)
    ledger.note_refused(run.batches[2].number)
    ledger.plan()
    assert run.broken
    assert [batch.number for batch in run.left(ledger.batches)] == [batch.number for batch in run.batches[arrived:2]]
    for batch in run.left(ledger.batches):
        assert ledger.take_gang() is None
        ledger.done(batch.number, 0.01)  # it was through before it heard
    assert used(ledger) == before
    assert (ledger.gangs.base, ledger.gangs.runs) == (0, [])
    assert finish(ledger) == 1
    assert ledger.records[y.token].complete


@pytest.mark.parametrize("arrived", [(), (0,), (1,), (0, 1, 2)[:2]])
def test_a_rank_lost_meanwhile(arrived):
    x = source(6)
    _, y = gang(x)
    ledger = held(x, y)
    run_tasks(ledger)
    run = ledger.take_gang()
    for k in arrived:
        ledger.done(run.batches[k].number, 0.01)
    ledger.lose(1)
    for batch in run.left(ledger.batches):
        ledger.note_refused(batch.number)
    ledger.plan()
    assert finish(ledger) == 1
    assert ledger.records[y.token].complete
    assert ledger.records[x.token].complete
    assert (ledger.records[y.token].owner != 1).all()


def test_fewer_ranks_than_members_share_them():
    x = source(6)
    _, y = gang(x)
    ledger = held(x, y)
    ledger.lose(2)
    run_tasks(ledger)
    run = ledger.take_gang()
    assert [batch.tasks.tolist() for batch in run.batches] == [[0, 1], [2]]
    assert run.epoch == 1


def test_a_result_of_which_a_part_is_lost_is_made_again_as_a_whole():
    x = source(6)
    node, _ = gang(x)
    ledger = held(x, node)
    assert finish(ledger) == 1
    record = ledger.records[node.token]
    loss = ledger.lose(int(record.owner[1]))
    assert loss.lost >= 3
    assert not record.nstored
    assert finish(ledger) == 1
    assert record.complete


def test_what_reads_a_lost_gangs_result_reads_it_to_its_end():
    x = source(6)
    node, _ = gang(x)
    reader = Expr(Elementwise("invert", (0,)), (node,), node.grid, np.dtype("u1"))
    ledger = held(node, reader)
    while not ledger.gangs.runs:
        run_tasks(ledger)
        ledger.take_gang()
    for batch in ledger.gangs.runs[0].batches:
        ledger.done(batch.number, 0.01)
    record = ledger.records[node.token]
    batch = next(batch for rank in (0, 2) if (batch := ledger.take(rank)) is not None)
    task = int(batch.tasks[0])
    owner, offset = int(record.owner[task]), int(record.offset[task])
    dead = next(rank for rank in (1, 2, 0) if rank not in (batch.rank, owner))
    ledger.lose(dead)
    assert record.nstored == 0, "the dead rank had a part of it"
    assert any(rank == owner and at == offset for _, rank, at, _ in ledger.slabs.doomed)
    ledger.done(batch.number, 0.01)
    finish(ledger)
    assert record.complete
    assert ledger.records[reader.token].complete


def test_what_is_gathered_part_by_part_is_freed_together():
    node, _ = gang(source(6))
    ledger = Ledger([1 << 30] * 3, [1] * 3)
    ledger.add(lower([node], lambda token: False), False)
    claim = ledger.owe(node.token)
    ledger.plan()
    run_tasks(ledger)
    for batch in ledger.take_gang().batches:
        ledger.done(batch.number, 0.01)
    record = ledger.records[node.token]
    for task in range(3):
        assert record.complete
        ledger.note_gathered(claim, np.array([task]))
    assert (record.state == ChunkState.RELEASED).all()
    assert used(ledger) == 0


def test_results_that_do_not_fit_are_given_back():
    x = source(2)
    _, y = gang(x, members=2)
    ledger = held(y, ranks=2, arena=3 << 20)
    run_tasks(ledger)
    before = used(ledger)
    assert ledger.find_stuck_gang() is not None
    assert ledger.take_gang() is None
    assert used(ledger) == before


def gangs(*, members: int = 2, ranks: list[tuple[int, ...]]) -> list[Expr]:
    """Gangs without operands, on these ranks; none: the scheduler chooses."""
    ops = [Gang(Payload("f", b"", "f"), members, (), k + 1, ranks=named) for k, named in enumerate(ranks)]
    return [Expr(op, (), op.grid(), np.dtype("u1")) for op in ops]


def begin(ledger: Ledger) -> list[GangRun]:
    """Begin all gangs that can be."""
    while ledger.take_gang() is not None:
        pass
    return list(ledger.gangs.runs)


def end(ledger: Ledger, run: GangRun) -> None:
    for batch in run.batches:
        ledger.done(batch.number, 0.01)


def test_tasks_run_beside_a_gang():
    (node,) = gangs(members=3, ranks=[()])
    x = source(30, key=5)
    ledger = held(node, x)
    (run,) = begin(ledger)
    assert [ledger.load(rank) for rank in range(3)] == [0, 0, 0], "it has threads of its own"
    assert ledger.only_gangs
    run_tasks(ledger)
    assert ledger.records[x.token].complete
    assert not run.arrived
    end(ledger, run)
    assert ledger.records[node.token].complete


def test_gangs_on_different_ranks_run_side_by_side():
    nodes = gangs(ranks=[(0, 1), (3, 2), (1, 2), (0, 1)])
    ledger = held(*nodes, ranks=4)
    first, second = begin(ledger)
    assert (first.ranks, second.ranks) == ((0, 1), (3, 2)), "the first member on the first rank that is named"
    end(ledger, second)
    assert begin(ledger) == [first], "its ranks aren't free, nor those of the next"
    end(ledger, first)
    (third,) = begin(ledger)
    assert third.ranks == (1, 2)
    assert finish_runs(ledger) == 2
    assert all(ledger.records[node.token].complete for node in nodes)


def finish_runs(ledger: Ledger) -> int:
    """End all gangs that run, and those that come then; return how many."""
    count = 0
    while runs := begin(ledger):
        for run in runs:
            count += 1
            end(ledger, run)
    return count


def test_gangs_that_name_no_rank_take_what_is_free():
    nodes = gangs(ranks=[(1, 3), (), (), ()])
    ledger = held(*nodes, ranks=5)
    runs = begin(ledger)
    assert [set(run.ranks) for run in runs] == [{1, 3}, {0, 2}], "one rank is too few"
    assert finish_runs(ledger) == 4


def test_a_gang_that_waits_for_its_ranks_holds_up_no_other():
    ledger = held(*gangs(ranks=[(0, 1), (1, 2), (2, 3)]), ranks=4)
    assert [run.ranks for run in begin(ledger)] == [(0, 1), (2, 3)], "the first may wait for what the last one does"


@pytest.mark.parametrize("ranks", [1, 2])
def test_members_that_share_one_rank_have_threads_as_seats(ranks):
    nodes = gangs(ranks=[(0, 1), (2, 3), (1, 2), ()])
    ledger = held(*nodes, ranks=ranks) if ranks == 1 else held(nodes[0], ranks=2)
    if ranks == 2:
        ledger.lose(1)
        ledger.add(lower(nodes, lambda token: False), False)
        for node in nodes:
            ledger.hold(node.token)
        ledger.plan()
    runs = begin(ledger)
    assert [sorted(run.seats) for run in runs] == [[0, 1], [2, 3]]
    assert {run.ranks for run in runs} == {(0,)}
    assert finish_runs(ledger) == 4


def test_a_death_ends_all_gangs_which_run_again_when_none_of_them_is_left():
    nodes = gangs(ranks=[(0, 1), (2, 3), ()])
    ledger = held(*nodes, ranks=5)
    first, second = begin(ledger)
    ledger.done(first.batches[0].number, 0.01)
    ledger.lose(3)
    assert (first.broken, second.broken) == (True, True), "one may wait for what the other one does again"
    for run in (second, first):
        for batch in run.left(ledger.batches):
            assert not set(begin(ledger)) - {first, second}, "ranks leave the dead behind while no gang is in MPI"
            ledger.note_refused(batch.number)
    ledger.plan()
    runs = begin(ledger)
    assert [run.ranks for run in runs] == [(0, 1), (2,)]
    assert {run.base for run in runs} == {1}
    assert finish_runs(ledger) == 3


def test_an_error_of_one_gang_leaves_others_alone():
    nodes = gangs(ranks=[(0, 1), (2, 3), (2, 3)])
    ledger = held(*nodes, ranks=4)
    first, second = begin(ledger)
    ledger.unhold(nodes[1].token)
    for batch in second.batches:
        ledger.note_refused(batch.number)
    ledger.plan()
    assert not first.broken
    assert [run.ranks for run in begin(ledger)] == [(0, 1), (2, 3)]
    assert ledger.gangs.base == 0


def test_where_a_rank_finds_no_communicator_all_gangs_begin_anew():
    ledger = held(*gangs(ranks=[(0, 1), (2, 3)]), ranks=4)
    runs = begin(ledger)
    for _ in range(2):  # as ranks tell of it
        ledger.note_unmet(runs[1])
    assert ledger.gangs.base == 1
    assert all(run.broken for run in runs)
    for batch in [batch for run in runs for batch in run.batches]:
        ledger.note_refused(batch.number)
    ledger.plan()
    assert {run.base for run in begin(ledger)} == {1}


def test_a_named_rank_that_is_lost_is_done_without():
    nodes = gangs(members=3, ranks=[(3, 1, 2), (3,) * 3])
    ledger = held(nodes[0], ranks=4)
    ledger.lose(3)
    (run,) = begin(ledger)
    assert [(batch.rank, batch.tasks.tolist()) for batch in run.batches] == [(1, [0, 1]), (2, [2])]
    assert finish_runs(ledger) == 1
    ledger = held(nodes[1], ranks=4)
    ledger.lose(3)
    (run,) = begin(ledger)
    assert sorted(run.ranks) == [0, 1, 2], "where none is left, on others"


def test_what_goes_to_disk_beside_a_gang_frees_its_memory():
    x, y = source(4, key=1), source(4, key=2)
    (node,) = gangs(ranks=[()])
    ledger = held(node, x, y, ranks=2)
    run_tasks(ledger)
    (run,) = begin(ledger)
    assert victims(ledger, 0, 1), "it holds what the gang doesn't read"
    before = used(ledger)
    record = ledger.records[x.token]
    tasks = record.stored_on(0)
    ledger.note_spilled(0, record, tasks, record.offset[tasks].copy(), 7, np.arange(len(tasks)) * (8 * MIB))
    assert used(ledger) <= before - len(tasks) * 8 * MIB, "though the gang goes on"
    end(ledger, run)
    _, filled = gang(x)
    ledger.add(lower([filled], lambda token: token in ledger.records), False)
    ledger.hold(filled.token)
    ledger.plan()
    (run,) = begin(ledger)
    assert all(found is not record for found, _ in victims(ledger, 1, 1 << 40)), "what it reads stays where it is"


def test_a_gang_counts_among_what_may_have_ended_a_rank():
    (node,) = gangs(ranks=[()])
    ledger = held(node, ranks=2)
    (run,) = begin(ledger)
    ledger.lose(1)
    assert sum(run.record.deaths.values()) == 1


@given(
    st.integers(1, 5),
    st.integers(1, 4),
    st.lists(st.tuples(st.sampled_from(["refuse", "lose", "release"]), st.integers(0, 5)), max_size=4),
)
def test_whatever_happens_everything_wanted_is_stored_in_the_end(members, ranks, events):
    x = source(4)
    _, y = gang(x, members=members)
    _, z = gang(y, members=members, number=1)
    _, w = gang(source(4, key=3), members=min(members, 2), number=2)
    ledger = held(y, z, w, ranks=ranks)
    wanted = {y.token, z.token, w.token}

    def left() -> list[Batch]:
        return [batch for run in begin(ledger) for batch in run.left(ledger.batches)]

    for kind, when in events:
        for _ in range(when):
            run_tasks(ledger)
            for batch in left()[:1]:
                ledger.done(batch.number, 0.01)
        if kind == "refuse" and (found := left()):
            ledger.note_refused(found[-1].number)
        elif kind == "lose" and any(ledger.alive[1:]):
            ledger.lose(max(rank for rank, alive in enumerate(ledger.alive) if alive))
        elif kind == "release" and y.token in wanted:
            wanted.discard(y.token)
            ledger.unhold(y.token)
        ledger.plan()
        for batch in [batch for run in ledger.gangs.runs if run.broken for batch in run.left(ledger.batches)]:
            ledger.note_refused(batch.number)
        ledger.plan()
        taken = [seat for run in ledger.gangs.runs for seat in run.seats]
        assert len(taken) == len(set(taken))
        assert sum(ledger.gangs.counts) == sum(batch.record.stage.gang is not None for batch in ledger.batches.values())
    for batch in [batch for run in ledger.gangs.runs for batch in run.left(ledger.batches)]:
        ledger.done(batch.number, 0.01)
    finish(ledger)
    assert all(ledger.records[token].complete for token in wanted)
    for token in wanted:
        ledger.unhold(token)
    ledger.forget()
    assert not ledger.records
    assert used(ledger) == 0
