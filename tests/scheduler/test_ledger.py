"""The ledger against a model of ranks: random graphs, orders, deaths, refusals, cancellations and spills.

The model keeps what each byte range of each arena and spill file holds. A batch must find its inputs under
the places it was given, from the moment it is given out until it ends, whatever happens in between.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

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
from windrow.scheduler.engine.spiller import victims
from windrow.scheduler.ledger.arena import ArenaAllocator
from windrow.scheduler.ledger.ledger import Batch, Claim, Ledger
from windrow.scheduler.ledger.planning import Stopped
from windrow.scheduler.ledger.stage_record import AWAITED, ChunkState, StageRecord

F8 = np.dtype("f8")
Name = tuple[str, int]
Place = tuple[int, int, int]
"""Owner, source (-1: the arena), offset."""


def random_grid(rng: random.Random, shape: tuple[int, ...]) -> Grid:
    return Grid([Axis.regular(n, rng.randint(-(-n // 5), n)) for n in shape])


def random_nodes(rng: random.Random) -> list[Expr]:
    """Return nodes that share each other; nothing of it is ever computed, so blocks may be large."""
    side = rng.choice([40, 700])
    grid = random_grid(rng, (side, side))
    data = HostData(np.zeros((side, side)), in_place=True)
    nodes = [Expr(Random("random", (i, rng.getrandbits(32)), 0), (), grid, F8) for i in range(2)]
    nodes.append(Expr(Host(data), (), grid, F8))
    for _ in range(rng.randint(2, 9)):
        a, b = rng.choice(nodes), rng.choice(nodes)
        kind = rng.choice(["add", "add", "rechunk", "transpose", "matmul", "sum"])
        if kind == "add" and a.grid == b.grid:
            nodes.append(Expr(Elementwise("add", (0, 1)), (a, b), a.grid, F8))
        elif kind == "rechunk":
            nodes.append(Expr(rechunk(2), (a,), random_grid(rng, a.shape), F8))
        elif kind == "transpose":
            move = Move("transpose", (Route(((1, Slice()), (0, Slice()))),))
            nodes.append(Expr(move, (a,), Grid(a.grid.axes[::-1]), F8))
        elif kind == "matmul" and a.grid.axes[1] == b.grid.axes[0]:
            product = Grid([a.grid.axes[0], b.grid.axes[1]])
            nodes.append(Expr(Contract((0, 1), (1, 2), (0, 2)), (a, b), product, F8))
        elif kind == "sum":
            axes = rng.choice([(0,), (1,), (0, 1)])
            nodes.append(Expr(Reduce("sum", axes, True), (a,), reduce_grid(a.grid, axes, True), F8))
    return nodes


@dataclass
class Flight:
    """A batch under way, and what it reads where."""

    batch: Batch
    reads: list[tuple[Place, Name]]


@dataclass(eq=False)
class Job:
    """What a user asked for: chunks held, or gathered (then with claims)."""

    tokens: list[str]
    claims: list[Claim] = field(default_factory=list)


class Simulation:
    """Ranks, users and a disk around one ledger."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = random.Random(seed)
        self.nodes = random_nodes(rng)
        ranks = rng.randint(1, 4)
        largest = max(n.nbytes for n in self.nodes)
        arena = int(largest * rng.choice([0.3, 1, 3, 30])) + (1 << 16)
        self.ledger = Ledger([arena] * ranks, [rng.randint(1, 2)] * ranks)
        self.shared = ranks == 1
        self.memory: list[dict[int, tuple[int, Name]]] = [{} for _ in range(ranks)]
        self.files: dict[tuple[int, int], dict[int, Name]] = {}
        self.flights: dict[int, Flight] = {}
        self.strays: dict[int, Flight] = {}
        self.spills: list[tuple[int, StageRecord, np.ndarray, np.ndarray]] = []
        self.copies: list[tuple[Claim, int, Place, Name]] = []
        self.jobs: list[Job] = []
        self.held: dict[str, int] = {}
        self.ended: set[int] = set()
        self.gave_up = 0

    # ------------------------------------------------------------ the model of memory

    def holds(self, place: Place) -> Name | None:
        owner, source, offset = place
        if source >= 0:
            return self.files.get((owner, source), {}).get(offset)
        return self.memory[owner].get(offset, (0, None))[1]

    def write(self, rank: int, offset: int, nbytes: int, name: Name) -> None:
        end = offset + nbytes
        assert end <= self.ledger.arenas[rank].size
        for flight in [*self.flights.values(), *self.strays.values()]:
            for (owner, source, start), read in flight.reads:
                if owner == rank and source < 0 and start in self.memory[rank]:
                    stop = self.memory[rank][start][0]
                    assert stop <= offset or end <= start, f"{name} overwrites {read}, which is being read"
        cells = self.memory[rank]
        for start in [s for s, (stop, _) in cells.items() if s < end and offset < stop]:
            del cells[start]
        cells[offset] = (end, name)

    def place(self, record: StageRecord, task: int) -> Place:
        return int(record.owner[task]), int(record.source[task]), int(record.offset[task])

    # ------------------------------------------------------------ what happens

    def submit(self) -> None:
        roots = self.rng.sample(self.nodes, self.rng.randint(1, 3))
        stages = lower(roots, self.held.__contains__)
        self.ledger.add(stages, in_place=self.shared)
        job = Job([r.token for r in roots])
        if self.rng.random() < 0.5:
            for token in job.tokens:
                self.ledger.hold(token)
                self.held[token] = self.held.get(token, 0) + 1
        else:
            job.claims = [self.ledger.owe(token) for token in job.tokens]
        self.jobs.append(job)
        patience = self.rng.choice([0, 1, 3, 1000, 1000, 1000])

        def stop() -> bool:
            nonlocal patience
            patience -= 1
            return patience < 0

        try:
            self.ledger.plan(stop)
        except Stopped:
            self.end(job)
            return
        for claim in job.claims:
            self.arrive(claim, np.flatnonzero(claim.record.state == ChunkState.STORED))

    def arrive(self, claim: Claim, tasks: np.ndarray) -> None:
        record = claim.record
        self.copies += [(claim, t, self.place(record, t), (record.stage.token, t)) for t in tasks.tolist()]

    def copy(self) -> None:
        claim, task, place, name = self.copies.pop(self.rng.randrange(len(self.copies)))
        if claim.open[task]:
            assert place[0] == -2 or self.holds(place) == name
            self.ledger.note_gathered(claim, np.array([task]))

    def end(self, job: Job | None = None) -> None:
        job = job or self.rng.choice(self.jobs)
        self.jobs.remove(job)
        if job.claims:
            for claim in job.claims:
                self.ledger.note_gathered(claim)
        else:
            for token in job.tokens:
                self.ledger.unhold(token)
                self.held[token] -= 1
                if not self.held[token]:
                    del self.held[token]
            if self.rng.random() < 0.5:
                return
        self.ledger.plan()
        self.ledger.forget()

    def dispatch(self) -> bool:
        rank = self.rng.choice([r for r, ok in enumerate(self.ledger.alive) if ok])
        batch = (self.rng.random() < 0.5 and self.ledger.take(rank, ahead=True)) or self.ledger.take(rank)
        if batch is None:
            return False
        record, reads = batch.record, []
        for edge in record.inputs:
            for task in np.unique(edge.reads.of(batch.tasks)).tolist():
                name = (edge.record.stage.token, task)
                assert edge.record.state[task] == ChunkState.STORED
                place = self.place(edge.record, task)
                if place[0] != -2:
                    assert self.holds(place) == name
                    reads.append((place, name))
        self.flights[batch.number] = Flight(batch, reads)
        for task, offset in zip(batch.tasks.tolist(), batch.offsets.tolist(), strict=True):
            self.write(rank, offset, int(record.bytes[task]), (record.stage.token, task))
        return True

    def finish(self) -> None:
        number = self.rng.choice(list(self.flights))
        flight = self.flights.pop(number)
        for place, name in flight.reads:
            assert self.holds(place) == name
        self.ended.add(number)
        done = self.ledger.done(number, self.rng.choice([1e-5, 0.01]))
        assert done is not None
        record, tasks = done
        for claim in [c for job in self.jobs for c in job.claims if c.record is record]:
            self.arrive(claim, tasks)

    def refuse(self) -> None:
        number = self.rng.choice(list(self.flights))
        del self.flights[number]
        self.ended.add(number)
        self.ledger.note_refused(number)
        self.ledger.plan()

    def leave(self) -> None:
        """A batch is left to its thread: nobody waits for it, but it reads and writes on."""
        number = self.rng.choice(list(self.flights))
        flight = self.strays[number] = self.flights.pop(number)
        flight.reads = [(place, name) for place, name in flight.reads if place[1] < 0]  # a file stays mapped
        token, rank = flight.batch.record.stage.token, flight.batch.rank
        for task, offset in zip(flight.batch.tasks.tolist(), flight.batch.offsets.tolist(), strict=True):
            if flight.batch.record.bytes[task]:
                flight.reads.append(((rank, -1, offset), (token, task)))
        self.ended.add(number)
        self.ledger.leave(number)

    def come_home(self) -> None:
        number = self.rng.choice(list(self.strays))
        for place, name in self.strays.pop(number).reads:
            assert self.holds(place) == name
        assert self.ledger.end_stray(number)

    def die(self) -> None:
        rank = self.rng.choice([r for r, ok in enumerate(self.ledger.alive) if ok and r])
        self.ended |= {n for n, f in self.flights.items() if f.batch.rank == rank}
        self.flights = {n: f for n, f in self.flights.items() if f.batch.rank != rank}
        self.strays = {n: f for n, f in self.strays.items() if f.batch.rank != rank}
        self.spills = [s for s in self.spills if s[0] != rank]
        self.ledger.lose(rank)

    def late(self) -> None:
        assert self.ledger.done(self.rng.choice(list(self.ended)), 0.01) is None

    def spill(self) -> None:
        rank = self.rng.choice([r for r, ok in enumerate(self.ledger.alive) if ok])
        for record, tasks in victims(self.ledger, rank, self.rng.choice([1, 1 << 20, 1 << 24])):
            self.spills.append((rank, record, tasks, record.offset[tasks].copy()))

    def spilled(self) -> None:
        rank, record, tasks, offsets = self.spills.pop(self.rng.randrange(len(self.spills)))
        source = next(n for n in range(len(self.files) + 1) if (rank, n) not in self.files)
        places = np.arange(len(tasks)) * 1000
        names = [(record.stage.token, t) for t in tasks.tolist()]
        self.files[rank, source] = dict(zip(places.tolist(), names, strict=True))
        self.ledger.note_spilled(rank, record, tasks, offsets, source, places)

    def drop(self) -> None:
        for file in self.ledger.slabs.dropped:
            del self.files[file]
        self.ledger.slabs.dropped = []

    # ------------------------------------------------------------ what must always hold

    def check(self) -> None:
        used = [0] * len(self.memory)
        for record in self.ledger.records.values():
            todo = np.isin(record.state, [ChunkState.WAITING, ChunkState.READY, ChunkState.RUNNING])
            assert record.nstored == (record.state == ChunkState.STORED).sum()
            assert record.nrunning == (record.state == ChunkState.RUNNING).sum()
            assert record.nready == (record.state == ChunkState.READY).sum()
            assert record.nready == sum(len(run) for queue in record.queues.values() for run in queue)
            assert record.gathers_owed == record.gathers.sum()
            missing = np.zeros(record.ntasks, int)
            for edge in record.inputs:
                absent = edge.record.state[edge.reads.items] != ChunkState.STORED
                np.add.at(missing, edge.reads.row_numbers()[absent], 1)
            waiting = record.state == ChunkState.WAITING
            assert (record.inputs_missing[waiting] == missing[waiting]).all()
            assert (missing[waiting] > 0).all()
            assert not missing[record.state == ChunkState.READY].any()
            left = record.gathers.astype(int)
            for user, edge in record.users.items():
                busy = np.isin(user.state, [ChunkState.WAITING, ChunkState.READY, ChunkState.RUNNING])
                left += np.bincount(edge.reads.of(np.flatnonzero(busy)), minlength=record.ntasks)
            assert (record.readers_left == left).all()
            if not record.in_place:
                inside = (record.state == ChunkState.RUNNING) | (
                    (record.state == ChunkState.STORED) & (record.source < 0)
                )
                for task in np.flatnonzero(inside).tolist():
                    used[record.owner[task]] += ArenaAllocator.pad_size(int(record.bytes[task]))
                idle = (record.state == ChunkState.STORED) & (left == 0)
                assert record.hold or record.cached or not idle.any(), "a chunk is kept that nobody wants"
            assert record.hold or (left[waiting | (record.state == ChunkState.READY)] > 0).all(), (
                "a task waits for nobody"
            )
            if record.hold:
                assert (todo | (record.state == ChunkState.STORED)).all(), "a held chunk is neither there nor to come"
            self.check_pressing(record)
        ready = self.ledger.ready
        for leading in (False, True):
            listed = list(ready.candidates(0, ahead=False, leading=leading))
            assert set(listed) == {record for record in self.ledger.records.values() if record.nready}
            awaited = [record.pressing == AWAITED if leading else record.pressing > 0 for record in listed]
            assert awaited == sorted(awaited, reverse=True)
        for _, rank, _, nbytes in self.ledger.slabs.doomed:
            used[rank] += ArenaAllocator.pad_size(nbytes)
        for rank, ok in enumerate(self.ledger.alive):
            assert not ok or self.ledger.arenas[rank].used == used[rank]

    def check_pressing(self, record: StageRecord) -> None:
        assert record.pressing == 0 or record.busy
        assert (record in self.ledger.ready.pressing) == (record.pressing > 0)
        if record.busy and (record.awaited or any(user.pressing == AWAITED for user in record.users)):
            assert record.pressing == AWAITED

    def watch(self) -> None:
        """Somebody waits for what is held."""
        self.ledger.watch(self.rng.choice(self.jobs).tokens)

    def relieve(self) -> None:
        """Do what the engine does when nothing runs and nothing fits."""
        if self.ledger.gathering():
            assert self.copies, "waits for a gather that never comes"
            return
        alive = [r for r, ok in enumerate(self.ledger.alive) if ok]
        for rank in alive:
            for record, tasks in victims(self.ledger, rank, self.ledger.arenas[rank].size // 2):
                self.spills.append((rank, record, tasks, record.offset[tasks].copy()))
        if not self.spills:
            self.gave_up += 1
            self.end()

    def satisfied(self, job: Job) -> bool:
        if job.claims:
            return not any(c.open.any() for c in job.claims)
        return all(self.ledger.records[t].complete for t in job.tokens)

    def run(self, steps: int) -> None:
        """Let things happen at random; then let all that is under way come to its end, and take all back."""
        rng, jobs, deaths, refusals, strays = self.rng, 6, 2, 4, 4
        for _ in range(steps):
            choices = [self.dispatch] * 4
            choices += [self.finish] * 4 if self.flights else []
            choices += [self.copy] * 3 if self.copies else []
            choices += [self.spilled] * 2 if self.spills else []
            choices += [self.submit] if jobs else []
            choices += [self.late] if self.ended else []
            choices += [self.come_home] if self.strays else []
            choices += [self.drop, self.ledger.evict]
            choices += [self.watch] if self.jobs else []
            if rng.random() < 0.25:
                choices = [self.spill] * 4 if not self.spills else [self.dispatch]
                choices += [self.end] if self.jobs else []
                choices += [self.refuse] if self.flights and refusals else []
                choices += [self.leave] if self.flights and strays else []
                choices += [self.die] if deaths and any(self.ledger.alive[1:]) else []
            act = rng.choice(choices)
            jobs -= act == self.submit
            deaths -= act == self.die
            refusals -= act == self.refuse
            strays -= act == self.leave
            act()
            if rng.random() < 0.5:
                self.check()
        self.drain()
        while self.jobs:
            self.end()
            self.check()
        for token in list(self.ledger.records):
            self.ledger.uncache(token)
        self.ledger.forget()
        self.drop()
        assert not {rank for rank, _ in self.files if self.ledger.alive[rank]}
        assert not any(a.used for a, ok in zip(self.ledger.arenas, self.ledger.alive, strict=True) if ok)
        assert not self.ledger.records

    def drain(self) -> None:
        while self.strays:
            self.come_home()
        while not all(self.satisfied(job) for job in self.jobs) or self.flights or self.spills or self.copies:
            moved = self.dispatch()
            for act, things in (
                (self.finish, self.flights),
                (self.copy, self.copies),
                (self.spilled, self.spills),
            ):
                if things and self.rng.random() < 0.7:
                    act()
                    moved = True
            if not moved and not (self.flights or self.spills or self.copies):
                stuck = any(r.nready for r in self.ledger.records.values())
                assert stuck or all(self.satisfied(job) for job in self.jobs), "nothing runs, something is wanted"
                if stuck:
                    self.relieve()
            self.drop()
        self.check()


@pytest.mark.parametrize("first", range(0, 300, 100))
def test_random_histories(first):
    for seed in range(first, first + 100):
        Simulation(seed).run(100)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("first", range(1000, 11000, 1000))
def test_many_random_histories(first):
    for seed in range(first, first + 1000):
        Simulation(seed).run(300)
