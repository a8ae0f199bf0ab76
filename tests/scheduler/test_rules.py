"""The ledger's rules one by one: how much is given out, to whom, what goes to disk, what a death costs."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from windrow.graph.chunks.axismap import Slice
from windrow.graph.chunks.grid import Axis, Grid
from windrow.graph.expr.expr import Expr
from windrow.graph.kinds.contraction import Contract
from windrow.graph.kinds.elementwise import Elementwise
from windrow.graph.kinds.move import Move, Route, rechunk
from windrow.graph.kinds.reduction import Reduce, reduce_grid
from windrow.graph.kinds.source import Host, HostData, Random
from windrow.graph.lowering.lower import lower
from windrow.scheduler.admission.batch_size import BATCH_BYTES, BATCH_SECONDS
from windrow.scheduler.engine.spiller import victims
from windrow.scheduler.ledger.arena import ArenaAllocator
from windrow.scheduler.ledger.ledger import Batch, Ledger, Loss
from windrow.scheduler.ledger.planning import find_dependents
from windrow.scheduler.ledger.ready_queue import SPARE
from windrow.scheduler.ledger.slabs import Slabs
from windrow.scheduler.ledger.stage_record import ChunkState, StageRecord
from windrow.scheduler.session.job import Job
from windrow.scheduler.session.job_index import Jobs
from windrow.scheduler.session.progress import status

F8 = np.dtype("f8")
MIB = 1 << 17
"""Elements that take a mebibyte: each such chunk is a task."""


def numbers(chunks: int, key: int = 0) -> Expr:
    """An array whose chunks are made from nothing."""
    return Expr(Random("random", (key, 1), 0), (), Grid([Axis.regular(chunks * MIB, MIB)]), F8)


def root(of: Expr) -> Expr:
    return Expr(Elementwise("sqrt", (0,)), (of,), of.grid, F8)


def total(of: Expr) -> Expr:
    return Expr(Reduce("sum", (0,), False), (of,), reduce_grid(of.grid, (0,), False), F8)


def held(*nodes: Expr, ranks: int = 1, arena: int = 1 << 30, threads: int = 1, in_place: bool = True) -> Ledger:
    """A ledger in which nodes are persisted, and nothing has run."""
    ledger = Ledger([arena] * ranks, [threads] * ranks)
    ledger.add(lower(list(nodes), lambda token: False), in_place)
    for node in nodes:
        ledger.hold(node.token)
    ledger.plan()
    return ledger


def run(ledger: Ledger, rank: int = 0, seconds: float = 0.01) -> Batch:
    """Let a rank do what it is given next."""
    batch = ledger.take(rank)
    assert batch is not None
    ledger.done(batch.number, seconds)
    return batch


def run_all(ledger: Ledger, ranks: int = 1) -> None:
    while any(record.busy for record in ledger.records.values()):
        for rank in range(ranks):
            if batch := ledger.take(rank):
                ledger.done(batch.number, 0.01)


# -------------------------------------------------------------------- how much


def test_a_batch_takes_as_long_as_the_last_ones_tell():
    ledger = held(numbers(512))
    first = run(ledger, seconds=16 * BATCH_SECONDS / 4)
    assert len(first.tasks) == BATCH_BYTES >> 20
    assert len(run(ledger, seconds=4 * BATCH_SECONDS / 16).tasks) == 4
    mean = (BATCH_SECONDS / 4 + BATCH_SECONDS / 16) / 2
    assert len(run(ledger, seconds=1e6).tasks) == int(BATCH_SECONDS / mean)
    assert len(run(ledger).tasks) == 1, "a task that takes long is given out alone"


def test_what_is_left_is_shared_by_all_threads():
    ledger = held(numbers(40), ranks=2, threads=2)
    sizes = []
    while any(record.nready for record in ledger.records.values()):
        left = sum(record.nready for record in ledger.records.values())
        sizes.append(len(run(ledger, seconds=1e-3).tasks))
        assert sizes[-1] <= max(1, -(-left // 8))
    assert sizes[0] == 5
    assert sizes[-1] == 1


@pytest.mark.parametrize(("threads", "seconds", "most"), [(16, 1e-3, 36), (16, 1e-4, 12), (2, 1e-3, 24)])
def test_short_tasks_go_out_in_few_batches(threads, seconds, most):
    ledger, nbatches = held(numbers(144), threads=threads), 0
    while batch := ledger.take(0):
        ledger.done(batch.number, seconds * len(batch.tasks))
        nbatches += 1
    assert nbatches <= most


def test_products_and_wide_reductions_begin_with_one_task():
    grid = Grid([Axis.regular(1024, 128), Axis.regular(1024, 128)])
    a, b = (Expr(Random("random", (key, 1), 0), (), grid, F8) for key in (0, 1))
    product = Expr(Contract((0, 1), (1, 2), (0, 2)), (a, b), grid, F8)
    ledger = held(a, b, product)
    while (batch := ledger.take(0)) is not None:
        if batch.record.stage.token == product.token:
            assert len(batch.tasks) == 1
            break
        ledger.done(batch.number, 1e-6)
    assert batch is not None
    big = numbers(4096)
    ledger = held(Expr(Reduce("sum", (0,), False), (big,), reduce_grid(big.grid, (0,), False), F8))
    batch = ledger.take(0)
    assert batch is not None
    stage = batch.record.stage
    assert len(batch.tasks) * int(np.prod(stage.groups)) * stage.blocks_per_task <= 32, "32 MiB of what is read"


def test_only_what_fits_is_given_out():
    ledger = held(numbers(8), arena=3 * ArenaAllocator.pad_size(1 << 20))
    batch = ledger.take(0)
    assert batch is not None
    more = ledger.take(0)
    given = len(batch.tasks) + (0 if more is None else len(more.tasks))
    assert given == 3
    assert ledger.take(0) is None
    (record,) = ledger.records.values()
    assert record.nready == 5
    assert (record.state == ChunkState.READY).sum() == 5


def test_slabs_are_placed_in_order_and_none_behind_one_that_does_not_fit():
    slabs = Slabs([4096])
    assert slabs.place(0, np.array([1024, 2048, 2048, 64])).tolist() == [0, 1024]
    assert slabs.arenas[0].used == 3072
    assert slabs.place(0, np.array([64, 64, 64])).tolist() == [3072, 3136, 3200]
    slabs.give(0, np.array([0, 3136]), np.array([1024, 64]))
    assert slabs.arenas[0].used == 2048 + 2 * 64


def test_a_file_is_dropped_when_its_last_slab_goes():
    ledger = held(numbers(4))
    run_all(ledger)
    (record,) = ledger.records.values()
    token = record.stage.token
    tasks = np.array([0, 2])
    ledger.note_spilled(0, record, tasks, record.offset[tasks].copy(), 7, np.array([0, 1 << 20]))
    assert record.source.tolist() == [7, -1, 7, -1]
    assert ledger.arenas[0].used == 2 * ArenaAllocator.pad_size(1 << 20)
    ledger.note_spilled(0, record, np.array([1]), np.array([12345]), 8, np.array([0]))
    assert ledger.slabs.dropped == [(0, 8)], "it lies elsewhere by now: the file is of no use"
    ledger.slabs.dropped = []
    ledger.unhold(token)
    assert ledger.slabs.dropped == [(0, 7)]
    assert ledger.arenas[0].used == 0


def test_a_range_that_a_batch_reads_is_given_back_when_it_ends():
    x = numbers(4)
    ledger = held(x, root(x))
    while not ledger.records[x.token].complete:
        run(ledger)
    reader = ledger.take(0)
    assert reader is not None
    record = ledger.records[x.token]
    before = ledger.arenas[0].used
    ledger.note_spilled(0, record, np.array([0]), record.offset[[0]].copy(), 1, np.array([0]))
    assert ledger.arenas[0].used == before
    ledger.done(reader.number, 0.01)
    assert ledger.arenas[0].used == before - ArenaAllocator.pad_size(1 << 20)


# -------------------------------------------------------------------- to whom


def queues(record: StageRecord) -> dict[int, list[int]]:
    return {rank: sorted(t for run in queue for t in run.tolist()) for rank, queue in record.queues.items() if queue}


def test_tasks_without_inputs_are_dealt_out_in_equal_runs():
    ledger = held(numbers(12), ranks=3)
    (record,) = ledger.records.values()
    assert queues(record) == {0: [0, 1, 2, 3], 1: [4, 5, 6, 7], 2: [8, 9, 10, 11]}
    ledger.lose(1)
    assert queues(record) == {0: [0, 1, 2, 3, 4, 5], 2: [6, 7, 8, 9, 10, 11]}


def test_tasks_are_for_the_rank_that_has_their_first_input():
    x = numbers(12)
    ledger = held(x, ranks=3)
    record = ledger.records[x.token]
    order = [2, 0, 1, 1]
    while record.nready:
        order.append(order.pop(0))
        run(ledger, order[-1])
    where = {rank: np.flatnonzero(record.owner == rank).tolist() for rank in range(3)}
    assert all(where.values())
    ledger.add(lower([root(x)], lambda token: token == x.token), True)
    ledger.hold(root(x).token)
    ledger.plan()
    assert queues(ledger.records[root(x).token]) == where
    for rank in (1, 2, 0):
        batch = ledger.take(rank)
        assert batch is not None
        assert set(batch.tasks.tolist()) <= set(where[rank])


def test_what_is_read_in_place_tells_no_rank():
    data = HostData(np.zeros(8 * MIB), in_place=True)
    x = Expr(Host(data), (), Grid([Axis.regular(8 * MIB, MIB)]), F8)
    ledger = held(root(x), ranks=2)
    assert queues(ledger.records[root(x).token]) == {0: [0, 1, 2, 3], 1: [4, 5, 6, 7]}


def test_an_idle_rank_takes_from_the_longest_queue():
    ledger = held(numbers(12), ranks=3)
    (record,) = ledger.records.values()
    while queues(record).get(0):
        run(ledger, 0, seconds=1e6)
    run(ledger, 1)
    batch = ledger.take(0)
    assert batch is not None
    assert batch.tasks.tolist() == [8], "rank 2 has more left than rank 1"


def test_a_few_tasks_are_left_to_their_rank():
    ledger = held(numbers(15), ranks=3)
    (record,) = ledger.records.values()
    while queues(record).get(0):
        run(ledger, 0, seconds=1e-9)
    ahead = ledger.take(0, ahead=True)
    assert ahead is not None
    assert len(ahead.tasks) == 1
    assert ledger.take(0, ahead=True) is not None
    assert ledger.take(0, ahead=True) is None, "each other rank is left what it will soon have run"
    assert [len(tasks) for tasks in queues(record).values()] == [SPARE, SPARE]
    for spare in (SPARE, SPARE + 1, 100):
        assert not len(record.dequeue(0, 10, spare)[0])
    assert record.nready == 2 * SPARE
    assert ledger.take(0) is not None, "it has nothing to do"


# -------------------------------------------------------------------- what is kept, and what goes to disk


def test_what_goes_to_disk_is_held_and_oldest_and_no_more_than_is_asked_for():
    first, second = numbers(4), numbers(4, key=1)
    ledger = held(first, second)
    run_all(ledger)
    old, new = sorted(ledger.records.values(), key=lambda r: r.number)
    slab = int(old.bytes[0])

    def chosen(nbytes, rank=0):
        return [(record, tasks.tolist()) for record, tasks in victims(ledger, rank, nbytes)]

    assert chosen(0) == []
    assert chosen(1) == [(old, [0])]
    assert chosen(slab) == [(old, [0])]
    assert chosen(slab + 1) == [(old, [0, 1])]
    assert chosen(6 * slab) == [(old, [0, 1, 2, 3]), (new, [0, 1])]
    assert chosen(100 * slab) == [(old, [0, 1, 2, 3]), (new, [0, 1, 2, 3])]
    claim = ledger.owe(old.stage.token)
    assert ledger.gathering()
    ledger.note_gathered(claim, np.array([1, 3]))
    assert chosen(2 * slab) == [(old, [1, 3])], "what is being gathered stays"
    ledger.note_gathered(claim)
    assert not ledger.gathering()
    assert chosen(slab) == [(old, [0])]
    old.view(slice(None))
    assert chosen(slab) == [(new, [0])], "somebody looks at it where it lies"


def test_what_was_sent_of_the_users_array_is_kept_until_room_is_needed():
    x = Expr(Host(HostData(np.zeros(4 * MIB), in_place=True)), (), Grid([Axis.regular(4 * MIB, MIB)]), F8)
    ledger = held(root(x), in_place=False)
    run_all(ledger)
    sent, made = ledger.records[x.token], ledger.records[root(x).token]
    assert sent.complete
    assert made.complete
    assert [r for r, _ in victims(ledger, 0, 1 << 30)] == [made, sent], "what is held goes first"
    used = ledger.arenas[0].used
    assert ledger.evict()
    assert ledger.arenas[0].used == used // 2
    assert not ledger.evict(), "there is nothing left"
    assert not sent.nstored
    ledger.unhold(made.stage.token)
    assert ledger.arenas[0].used == 0
    assert ledger.forget() == [made.stage.token], "the user's array may be read again"
    ledger.uncache(x.token)
    assert ledger.forget() == [x.token]
    assert not ledger.records


def test_partial_results_are_freed_as_they_are_read():
    x = numbers(64)
    ledger = held(total(root(x)))
    most = 0
    while any(record.busy for record in ledger.records.values()):
        run(ledger)
        most = max(most, ledger.arenas[0].used)
    kept = sum(int(record.bytes.sum()) for record in ledger.records.values() if record.hold)
    assert ledger.arenas[0].used == kept
    assert most < 64 << 10


def test_what_nobody_is_to_read_any_more_goes_at_once():
    """Also where what reads the rest of it is yet to come."""
    x = numbers(4)
    half = Expr(Move("slice", (Route(((0, Slice()),)),)), (x,), Grid([Axis.regular(2 * MIB, MIB)]), F8)
    ledger = held(x, root(half))
    record = ledger.records[x.token]
    while not record.complete:
        run(ledger)
    ledger.unhold(x.token)
    assert (record.state == ChunkState.STORED).tolist() == [True, True, False, False]
    assert ledger.arenas[0].used == 2 * ArenaAllocator.pad_size(1 << 20)
    assert ledger.forget() == []
    run_all(ledger)
    assert not record.nstored
    assert ledger.forget() == [], "a lost chunk would be made from it again"
    ledger.unhold(root(half).token)
    assert set(ledger.forget()) == {x.token, root(half).token}
    assert ledger.arenas[0].used == 0


def test_what_waits_for_nobody_is_not_run():
    x = numbers(4)
    half = Expr(Move("slice", (Route(((0, Slice()),)),)), (x,), Grid([Axis.regular(2 * MIB, MIB)]), F8)
    ledger = held(root(x), root(half))
    ledger.unhold(root(x).token)
    left = ledger.records[root(half).token]
    assert ledger.waiting() == sum(r.nwaiting for r in {left, *(e.record for e in left.inputs)})
    run_all(ledger)
    assert left.complete
    assert not ledger.records[root(x).token].nstored


# -------------------------------------------------------------------- deaths and failures


def test_what_a_death_costs():
    ledger = held(numbers(16), ranks=2)
    (record,) = ledger.records.values()
    run(ledger, 1)
    stored = int(record.nstored)
    batch = ledger.take(1)
    assert batch is not None
    assert ledger.lose(1) == Loss(1, stored, stored)
    assert record.nstored == record.nrunning == 0
    assert record.nready == 16
    assert ledger.done(batch.number, 0.01) is None, "it counts no more"
    assert queues(record)[0] == list(range(16))


def test_a_death_costs_nothing_that_nobody_wants():
    x = numbers(4)
    ledger = held(total(x), ranks=2)
    run_all(ledger, 1)
    assert ledger.lose(1) == Loss(1, 0, 0)
    x, y = numbers(4), root(numbers(4))
    ledger = held(x, y, ranks=2)
    run_all(ledger, 2)
    here = len(ledger.records[x.token].stored_on(1))
    there = len(ledger.records[y.token].stored_on(1))
    assert here
    assert there
    ledger.unhold(y.token)
    assert ledger.lose(1) == Loss(1, here, here)


def test_what_a_rank_holds_is_what_it_has_stored():
    ledger = held(numbers(12), ranks=3)
    (record,) = ledger.records.values()
    there = [0, 0, 0]
    for rank in (0, 1, 1, 2):
        there[rank] += len(run(ledger, rank).tasks)
    failed, running = ledger.take(0), ledger.take(1)
    assert failed is not None
    assert running is not None
    ledger.note_refused(failed.number)
    assert [len(record.stored_on(rank)) for rank in range(3)] == there
    ledger.lose(1)
    assert [len(record.stored_on(rank)) for rank in range(3)] == [there[0], 0, there[2]]


def test_chunks_are_counted_though_a_task_makes_many():
    x = Expr(Random("random", (0, 1), 0), (), Grid([Axis.regular(50_000, 5)]), F8)
    ledger = held(x, ranks=3)
    record = ledger.records[x.token]
    assert record.ntasks == 3
    for rank in (1, 2, 2):
        run(ledger, rank)
    last = int(record.owner[2])
    assert [ledger.count_chunks(rank) for rank in range(3)] == [0, *(4096, 5904)[:: 1 if last == 2 else -1]]
    assert ledger.lose(last) == Loss(last, 5904, 5904)
    assert (ledger.count_chunks(last), ledger.waiting()) == (0, 5904)
    assert ledger.lose(3 - last) == Loss(3 - last, 4096, 4096)


def test_a_failure_concerns_what_waits_for_it():
    x = numbers(4)
    wide = Expr(rechunk(1), (root(x),), Grid([Axis.regular(4 * MIB, 2 * MIB)]), F8)
    shifted = Move("slice", (Route(((0, Slice(2 * MIB)),)),))
    late = Expr(shifted, (wide,), Grid([Axis.regular(2 * MIB, MIB)]), F8)
    ledger = held(x, wide, root(late))
    record = ledger.records[x.token]

    def concerned(task):
        found = find_dependents(record, np.array([task]))
        return {r.stage.token: tasks.tolist() for r, tasks in found.items()}

    assert concerned(0)[x.token] == [0]
    assert concerned(0)[wide.token] == [0]
    assert root(late).token not in concerned(0)
    assert concerned(3)[wide.token] == [1]
    assert concerned(3)[root(late).token] == [0, 1], "both read the second of what was made of it"
    run_all(ledger)
    assert concerned(3) == {x.token: [3]}, "nothing waits any more"


# -------------------------------------------------------------------- jobs


def test_a_job_counts_its_tasks_and_those_of_what_it_waits_for():
    x, other = numbers(4), numbers(6, key=1)
    ledger = held(x, root(x), other)
    jobs = Jobs()
    first, second = (Job([], [node.token], None, name="x") for node in (root(x), other))
    for job in (first, second):
        jobs.add(job)
        jobs.watch(job, ledger.records)
    assert (first.total, second.total) == (8, 6)
    assert jobs.wanting(other.token) == [(second, 0)]
    jobs.count_stored(x.token, np.array([0, 2]))
    assert (first.done, second.done) == (2, 0)
    assert jobs.find_affected(find_dependents(ledger.records[x.token], np.array([1]))) == [first]
    assert jobs.find_affected(find_dependents(ledger.records[other.token], np.array([1]))) == [second]
    jobs.finish(first)
    jobs.count_stored(x.token, np.array([1]))
    assert first.done == 2
    assert jobs.wanting(root(x).token) == []
    assert first not in jobs
    assert jobs.find_affected(find_dependents(ledger.records[x.token], np.array([1]))) == [first], (
        "it holds what is lost"
    )
    jobs.leave(first)
    assert not jobs.find_affected(find_dependents(ledger.records[x.token], np.array([1])))
    assert list(jobs) == [second]
    assert len(jobs) == 1


def test_a_loss_adds_to_what_a_job_counts():
    x = numbers(8)
    ledger = held(x, ranks=2)
    jobs, job = Jobs(), Job([], [x.token], None)
    jobs.add(job)
    jobs.watch(job, ledger.records)
    record = ledger.records[x.token]
    while record.nready:
        jobs.count_stored(x.token, run(ledger, record.nready % 2).tasks)
    assert job.done == job.total == 8
    lost = ledger.lose(1).lost
    assert lost
    jobs.watch_again(ledger.records)
    assert job.total == 8 + lost
    assert job.done == 8


def test_what_each_rank_has_been_at_for_longest():
    ledger = held(numbers(64), ranks=2)
    (record,) = ledger.records.values()
    first, later, other = (ledger.take(rank) for rank in (0, 0, 1))
    assert first is not None
    assert later is not None
    assert other is not None
    found = status(SimpleNamespace(ledger=ledger))
    last = len(first.tasks) - 1
    assert found.busy[0] == (first.number, 0, f"blocks (0,) to ({last},) of random")
    begin, end = int(other.tasks[0]), int(other.tasks[-1])
    assert found.busy[1:] == [(other.number, 1, f"blocks ({begin},) to ({end},) of random")]
    count = len(first.tasks) + len(later.tasks) + len(other.tasks)
    assert found.used == count * ArenaAllocator.pad_size(1 << 20)
    assert found.size == 2 << 30
    ledger.done(first.number, 1e6)
    ledger.lose(1)
    single = ledger.take(0)
    assert single is not None
    assert len(single.tasks) == 1
    found = status(SimpleNamespace(ledger=ledger))
    assert [busy.batch for busy in found.busy] == [later.number]
    assert found.size == 1 << 30
    ledger.done(later.number, 1e6)
    assert status(SimpleNamespace(ledger=ledger)).busy == [(single.number, 0, f"block ({single.tasks[0]},) of random")]
    assert record.nrunning == 1
