"""Computing on a cluster: expressions become jobs of its engine, and chunks are kept as long as somebody holds them."""

from __future__ import annotations

import itertools
import threading
import time
import weakref
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from ...graph.errors import ArgumentError, ClusterError, OutOfMemory
from ...graph.expr.expr import Expr, walk
from ...graph.kinds.anchor import copied, leaf, restored
from ...graph.kinds.elementwise import NumberInput
from ...graph.kinds.source import Host
from ...graph.lowering.lower import lower
from ...graph.lowering.plan_cache import PlanCache, scalars_of
from ...graph.lowering.stage import relations
from ...workers.config import config
from ..admission.refusal import check_room
from ..ledger.lineage_checkpoint import follow, is_due
from ..ledger.stage_record import ChunkState
from ..shared.pages.counting import count_additions, forget_additions
from .chunk_locations import find_places
from .html import size_text
from .job import Close, Job, Release, Submit, Uncache
from .pin import Pin
from .result_collector import ResultCollector, insist, writes_results

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ...graph.chunks.grid import Grid
    from ...graph.lowering.stage import Stage
    from ...workers.rank.rank import Rank
    from ...workers.wire.rpc import Calls
    from ...workers.wire.transport import Transport
    from ..engine.engine import Engine
    from .chunk_locations import Columns

Array = np.ndarray[Any, Any]
AHEAD, PAUSE, LONGEST_PAUSE = 64, 0.0005, 0.005
"""Stages under way beyond which what is to be kept waits: so many seconds for each time as many, up to a limit.

A loop that never asks for values would else run ahead of the engine by more than lineage is long (see
`lineage_checkpoint`)."""
LITTLE = 1 << 22
"""Bytes that the calling thread copies itself."""
_numbers = itertools.count()
T = TypeVar("T")


class Keeper(Protocol):
    """What keeps something as long as it is held."""

    def release(self) -> None: ...


class Session:
    """Computes expressions on one engine, until it is closed."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.closed = self._forked = False
        self._lock = threading.RLock()
        self._kept: dict[str, tuple[set[int], Job]] = {}
        self._watched: set[str] = set()
        self._comm: Any = None
        self._plans = PlanCache()

    @property
    def present(self) -> Session:
        """What computes for the calling thread: itself, but where one rank acts for all in SPMD mode."""
        return self

    @property
    def place(self) -> tuple[int, int]:
        """This script's rank and how many run it: rank 0 of 1, but in SPMD mode."""
        return 0, 1

    @property
    def comm(self) -> Any:
        """A communicator of all processes that run the script."""
        with self._lock:
            if self._comm is None:
                from ...workers.gangs.threads.thread_comm import make_comms

                self._comm = make_comms(1)[0]
            return self._comm

    @property
    def transport(self) -> Transport:
        """That of this process's rank."""
        return self.engine.transport

    @property
    def calls(self) -> Calls:
        """By which this process's rank asks others."""
        return self.engine.local.calls

    @property
    def arenas(self) -> tuple[int, ...]:
        """Bytes of each rank's arena."""
        return tuple(arena.size for arena in self.engine.ledger.arenas)

    @property
    def losses(self) -> list[str]:
        """What was reported of each rank that was lost."""
        return list(self.ask(_losses))

    @property
    def room(self) -> int:
        """Bytes of the smallest arena."""
        return min(self.arenas)

    def ask(self, question: Callable[[Engine], T]) -> T:
        """Return what a function finds, which runs on the engine's thread, wherever that is."""
        return self.engine.ask(question)

    def once(self, what: str, about: Iterable[object], act: Callable[[], T]) -> T:
        """Do something once for all who run the script, and return what it returns, to all of them.

        `what` names it, and `about` is what must be the same for all.
        """
        return act()

    def hold_once(self, what: str, make: Callable[[], tuple[T, Keeper]]) -> tuple[T, Keeper]:
        """Make something once for all who run the script; return it, and what keeps it as long as it lives.

        `make` returns it, and what lets go of it when nobody holds it any more.
        """
        return make()

    def find_own(self, root: Expr) -> tuple[Columns, Rank]:
        """Wait for a persisted array; return which of its chunks this process's rank has, and the rank."""
        self.check_open()
        kept: Any = root.pin
        kept.session.check_open()
        if kept.session is not self:
            raise ClusterError("local: the array is persisted on another cluster than the present one")
        while True:
            kept.wait()
            columns = self.engine.ask(partial(find_places, token=root.token, rank=0))
            if columns is not None:
                return columns, self.engine.local
            if not kept.held:
                raise ClusterError("local: the array was released meanwhile")

    def run(self, roots: Sequence[Expr]) -> list[Array]:
        """Compute expressions and return their values as arrays of the caller's own."""
        self.check_open()
        if not roots:
            return []
        unique = {root.token: root for root in roots}
        if self.place[1] == 1 and all(map(_is_at_hand, unique.values())):
            results = {token: _copy_of(root) for token, root in unique.items()}
        else:
            results = self._see_through(list(unique.values())).results
        values = [results[root.token] for root in roots]
        first = {id(value): place for place, value in reversed(list(enumerate(values)))}
        return [value if first[id(value)] == place else value.copy() for place, value in enumerate(values)]

    def hand_over(self, roots: Sequence[Expr], take: Callable[[int, Grid, int, Array], None]) -> None:
        """Compute expressions, and hand each block over as it comes, in whatever order, once; none is held.

        `take(number, grid, block, values)` is told of which root it is, of which of its grid's blocks, and gets values
        that aren't there any longer when it returns.
        """
        self.check_open()
        places: dict[str, list[int]] = {}
        for place, root in enumerate(roots):
            places.setdefault(root.token, []).append(place)
        named = list(places.values())

        def take_each(number: int, grid: Grid, block: int, values: Array) -> None:
            for place in named[number]:
                take(place, grid, block, values)

        if roots:
            self._see_through([roots[first] for first, *_ in named], take_each)

    def _see_through(
        self, roots: list[Expr], take: Callable[[int, Grid, int, Array], None] | None = None
    ) -> ResultCollector:
        gather = self._gather(roots, take)
        try:
            gather.start()
            gather.run()
        except BaseException:  # an interrupt outside of `gather.run`: the job must not stay
            gather.cancel()
            forget_additions(roots)
            raise
        count_additions(roots)
        return gather

    @property
    def embedded(self) -> bool:
        """Whether all is computed by threads of this process."""
        return self.engine.shared

    @property
    def living(self) -> tuple[int, ...]:
        return tuple(rank for rank, alive in enumerate(self.engine.ledger.alive) if alive)

    @property
    def ranks(self) -> int:
        """How many ranks live."""
        return len(self.living)

    @property
    def threads(self) -> int:
        """How many compute threads rank 0 has."""
        return self.engine.ledger.threads[0]

    def run_gang(self, root: Expr) -> list[bytes]:
        """Run a gang, and return what its members returned, pickled, rank by rank."""
        self.check_open()
        return self._see_through([root]).job.returned

    def _tell_engine(self, stages: Sequence[Stage]) -> None:
        for each in self.engine.on_submit:
            each(stages)

    def _gather(
        self, roots: list[Expr], take: Callable[[int, Grid, int, Array], None] | None = None
    ) -> ResultCollector:
        stages, relied = self._lower(roots)
        direct = self.engine.shared and take is None
        handed = {root.token for root in roots} if direct else ()
        check_room(stages, handed, sum(root.nbytes for root in roots) if take is None else 0, self.arenas)
        self._tell_engine(stages)
        results = [_room_for(root) if take is None else np.empty(0, root.dtype) for root in roots]
        self.engine.local.excess.grant(sum(result.nbytes for result in results))
        names = [root.token for root in roots]
        sinks: dict[str, Array] = {}
        if direct:
            stages, names, sinks = _with_sinks(stages, names, results)
        wanted = set(names)
        name = ", ".join(dict.fromkeys(stage.name for stage in stages if stage.token in wanted))
        made_by = [kept.job for kept in relied.values()]
        reads = relations(stages, _blocks_per_task(relied))
        job = Job(stages, names, results, reads, sinks, name=name, relied=made_by)
        self._watch(roots)
        return ResultCollector(self.engine, job, [root.token for root in roots], list(relied.values()), take)

    def keep(self, roots: Sequence[Expr]) -> list[Pin]:
        """Start computing expressions behind the caller's back, and keep their chunks; what they share is done once."""
        self.check_open()
        if (behind := self.engine.behind) > AHEAD:  # the engine gets Python's lock meanwhile
            time.sleep(min(PAUSE * behind / AHEAD, LONGEST_PAUSE))
        with self._lock:
            known = {root.token for root in roots if self.is_stored(root.token)}
            kept = [self._another(root.token) if root.token in known else None for root in roots]
            fresh = list({root.token: root for root in roots if root.token not in known}.values())
            stages, relied = self._lower(fresh)
            check_room(stages, (), 0, self.arenas)
            reads = relations(stages, _blocks_per_task(relied))
            by_token = {stage.token: stage for stage in stages}
            self._watch(fresh)
            jobs = tuple(
                Job([], [token], None, name=by_token[token].name, blocks_per_task=by_token[token].blocks_per_task)
                for token in (root.token for root in fresh)
            )
            if jobs:
                jobs[0].stages, jobs[0].reads = stages, reads
                jobs[0].relied = [kept.job for kept in relied.values()]
                for job in jobs:
                    follow(job, jobs[0].relied)
            entered = {one.token: one for one in self.enter(jobs)}
            return [
                one or (entered.pop(root.token) if root.token in entered else self._another(root.token))
                for root, one in zip(roots, kept, strict=True)
            ]

    def anchor(self, root: Expr, kept: Pin) -> Expr | None:
        """Return a copy on rank 0 of what is kept, where its lineage is long enough; it begins anew there."""
        if self.place[1] > 1 or not is_due(kept.job, root.nbytes):
            return None
        copy = copied(root)
        with self._lock:
            if not self.is_stored(root.token) or self.is_stored(copy.token):
                return None
            (stage,) = lower([copy], self.is_stored)
            (restore,) = lower([restored(root, leaf(copy, None))], lambda token: token == copy.token)
            job = Job([stage], [copy.token], None, name=stage.name, blocks_per_task=stage.blocks_per_task)
            job.relied, job.restore = [kept.job], restore
            (pin,) = self.enter((job,))
        kept.job.generation, kept.job.past = 0, 0.0
        return leaf(copy, pin)

    def enter(self, jobs: tuple[Job, ...]) -> list[Pin]:
        """Hand in jobs that each keep one target; return what keeps these."""
        with self._lock:
            for job in jobs:
                self._tell_engine(job.stages)
            try:
                if jobs:
                    self.engine.request(Submit(jobs))  # before others learn that it is stored
                    self._kept |= {job.targets[0]: (set(), job) for job in jobs}
                return [self._another(job.targets[0]) for job in jobs]
            except BaseException:  # an interrupt
                for job in jobs:
                    self.drop(job.targets[0], job, -1)
                raise

    def _another(self, token: str) -> Pin:
        users, job = self._kept[token]
        number = next(_numbers)
        try:
            users.add(number)  # first: a pin that is collected meanwhile doesn't count as the last one
            return Pin(self, token, job, number)
        except BaseException:  # an interrupt
            self.drop(token, job, number)
            raise

    def stages(self, roots: Sequence[Expr]) -> list[Stage]:
        """Return the stages that computing these expressions would run."""
        return lower(list(roots), self.is_stored, sum(self.arenas))

    def _lower(self, roots: Sequence[Expr]) -> tuple[list[Stage], dict[str, Pin]]:
        """Return the stages to run, and what is stored that they, or the caller, will read, by token.

        As long as these objects are there nobody releases it: until the job is handed in, after which its reads count.
        """
        pins: dict[str, Pin | None] = {}

        def is_kept(token: str) -> bool:
            if token not in pins:
                with self._lock:
                    pins[token] = self._another(token) if self.is_stored(token) else None
            return pins[token] is not None

        stages = self._plans.lower(list(roots), is_kept, config.plans, sum(self.arenas))
        for stage in stages:
            if any(isinstance(scalar.value, NumberInput) for scalar in scalars_of(stage.program)):
                raise ArgumentError(
                    f"compute: {stage.name} at {stage.origin} takes a number that was known only while a function was "
                    "traced; expected that the function returns what it makes, and keeps no array elsewhere"
                )
        return stages, {token: kept for token, kept in pins.items() if kept is not None}

    def chunk(self, root: Expr, block: int) -> Array:
        """Return one chunk of a persisted array, read-only and in place where it lies on this node."""
        chunk = self.chunk_here(root, block)
        if chunk is None:
            chunk = self.run([root])[0][root.grid.block_slices(block)]
            chunk.flags.writeable = False
        return chunk

    def chunk_here(self, root: Expr, block: int) -> Array | None:
        """Return one chunk of a persisted array, read-only and in place; None where it doesn't lie on this node."""
        kept = root.pin
        if not isinstance(kept, Pin) or not kept.held or kept.session is not self:
            raise ClusterError("chunk: the array is not persisted here")
        kept.wait()

        def look(engine: Engine) -> Array | None:
            record = engine.ledger.records.get(root.token)
            if record is None:
                raise ClusterError("chunk: the array was released meanwhile")
            stage = record.stage
            task, position = divmod(block, stage.blocks_per_task)
            if record.state[task] != ChunkState.STORED:  # a dead rank took it along: it is being made again
                return None
            record.view(np.array([task]))  # it stays where it is
            slab = engine.delivery.slab(record, task)
            if slab is None:
                return None
            at = int(stage.offsets(task)[position])
            shape = stage.grid.block_shape(block)
            return slab[at : at + int(np.prod(shape)) * stage.dtype.itemsize].view(stage.dtype).reshape(shape)

        chunk = self.engine.ask(look)
        if chunk is not None:
            chunk = chunk.view()
            chunk.flags.writeable = False
        return chunk

    def is_stored(self, token: str) -> bool:
        """Tell whether an expression's chunks are kept, or are being made; its name is its token."""
        entry = self._kept.get(token)
        if entry is None:
            return False
        if entry[1].error is not None:  # forget it: the error's traceback may keep the array alive for ever
            with self._lock:
                if self._kept.get(token) is entry:
                    del self._kept[token]
            return False
        return True

    def drop(self, token: str, job: Job, number: int) -> None:
        """Free what is kept when the last one who holds it lets go; may be called twice."""
        with self._lock:
            users, known = self._kept.get(token, (set(), job))
            if known is job:
                users.discard(number)
                if users:
                    return
                self._kept.pop(token, None)
        self.engine.request(Release(job))

    def _watch(self, roots: Sequence[Expr]) -> None:
        """Learn when the user's arrays go: what ranks were sent of them is kept until then, so it is sent once."""
        if self.engine.shared:
            return
        for node in walk(list(roots), lambda node: self.is_stored(node.token)):
            if isinstance(node.op, Host) and node.op.data.file is None and node.token not in self._watched:
                self._watched.add(node.token)
                weakref.finalize(node.op, insist, partial(self._unwatch, node.token))

    def _unwatch(self, token: str) -> None:
        self._watched.discard(token)
        self.engine.request(Uncache(token))

    def check_open(self) -> None:
        """Raise where nothing can be computed any more."""
        if self._forked:
            raise ClusterError(
                "the cluster is that of the process from which this one was forked; make one here, or start processes "
                "by multiprocessing.get_context('spawn')"
            )
        if self.closed or self.engine.over:
            raise ClusterError("the cluster is closed")

    def close(self) -> None:
        """End the engine: ranks leave, chunks are gone."""
        self.closed = True
        self.engine.request(Close())
        self.engine.thread.join(timeout=10)

    def disown(self) -> None:
        """Let go of the engine in a forked child, which has none of its threads, and no right to end its ranks."""
        self._lock = threading.RLock()
        self.closed = self._forked = self.engine.over = True
        self.engine.local.calls.disown()


def _losses(engine: Engine) -> list[str]:
    return engine.losses


def _blocks_per_task(kept: dict[str, Pin]) -> dict[str, int]:
    return {token: one.job.blocks_per_task for token, one in kept.items()}


def _is_at_hand(root: Expr) -> bool:
    """Whether a value lies in this process's memory, and is copied sooner than the engine is told."""
    data = root.op.data if isinstance(root.op, Host) else None
    if data is None or not data.at_hand or root.nbytes > LITTLE:
        return False
    return type(data.array) is np.ndarray and data.array.dtype == root.dtype


def _copy_of(root: Expr) -> Array:
    assert isinstance(root.op, Host)
    copy = _room_for(root)
    copy[...] = root.op.data.array
    return copy


def _room_for(root: Expr) -> Array:
    """Return memory for a result, which lies outside of the arenas."""
    try:
        return np.empty(root.shape, root.dtype)
    except MemoryError as error:
        raise OutOfMemory(
            f"compute: the result of {root.label} takes {size_text(root.nbytes)}, which the system refuses. Reduce it, "
            "or write it to a file in place of computing it (to_zarr, save)"
        ) from error


def _with_sinks(
    stages: list[Stage], names: list[str], results: list[Array]
) -> tuple[list[Stage], list[str], dict[str, Array]]:
    """Let kernels write targets that nobody else reads straight into the results, under names of their own.

    Small blocks take the common way: many of them are run and copied at once.
    """
    read = {token for stage in stages for token in stage.inputs}
    numbers = {name: number for number, name in enumerate(names)}
    sinks: dict[str, Array] = {}
    renamed: dict[str, Stage] = {}
    for stage in stages:
        if stage.token in numbers and stage.token not in read and writes_results(stage):
            result = results[numbers[stage.token]]
            token = f"{stage.token}/{next(_numbers)}"
            renamed[stage.token] = stage.rename(token)
            sinks[token] = result
    stages = [renamed.get(s.token, s) for s in stages]
    names = [renamed[n].token if n in renamed else n for n in names]
    return stages, names, sinks
