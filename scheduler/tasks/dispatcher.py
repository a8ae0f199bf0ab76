"""The board's I/O: orders go to ranks, ends come back, futures learn of them. One for each engine.

The board is touched under a lock, by threads that submit and by the engine's thread. Nothing is sent by who submits: it
wakes the engine's thread, which gives out what may run by then, to each rank in one message.
"""

# pyright: reportPrivateUsage=false
from __future__ import annotations

import contextlib
import math
import pickle
import threading
import time
import weakref
from collections import defaultdict, deque
from concurrent.futures import InvalidStateError, wait
from functools import partial
from typing import TYPE_CHECKING, Any

from ...graph.errors import ClusterError
from ...workers.tasks.current import current_task
from ...workers.tasks.lending import LIMIT
from ...workers.tasks.needs import Given, Made, Unread
from ...workers.wire.task_messages import (
    GIVEN_UP,
    KEPT,
    RETURNED,
    UNREAD,
    DropResults,
    GiveUp,
    InterruptTask,
    RunTasks,
    TakeBack,
    TaskEnd,
    TaskOrder,
    TasksEnded,
    TaskWaits,
)
from .arrays import NotYet
from .board import Board
from .errors import cancelled, deadly, read_error, unread
from .future import THERE, Future, FutureReference, called_until_now
from .record import NOBODY, CallState, Function, TaskRecord
from .remote_futures import RemoteFutures
from .snapshots import PlacedSnapshots

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...graph.chunks.grid import Index
    from ...workers.tasks.needs import MissingArgument
    from ...workers.wire.rpc import Question
    from ..engine.engine import Engine
    from ..ledger.stage_record import StageRecord

GRACE = 2.0
"""Seconds in which a function that is to be ended comes to its next line of Python."""
DELAY = 0.02
"""Seconds until a task is tried again whose arguments weren't to be had; a death is known by then."""
MOST_UNREAD = 250


class Dispatcher:
    """Has an engine's ranks run tasks."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._calls = engine, engine.local.calls
        self._transport = engine.transport
        cores = list(engine.ledger.threads)
        self.board = Board(
            cores, [arena.size for arena in engine.ledger.arenas], lambda argument: argument.find_holder(engine)
        )
        self.lock = threading.RLock()
        self._made = threading.Condition(self.lock)
        self._released: deque[TaskRecord] = deque()
        self._watches: dict[int, FutureReference] = {}
        self._functions_gone: deque[tuple[int, set[int]]] = deque()
        self._placed_gone: deque[tuple[int, set[int]]] = deque()
        self._late: deque[tuple[float, TaskRecord]] = deque()
        """Tasks whose arguments weren't to be had, with the time at which they are tried again."""
        self._absent: dict[str, dict[int | None, list[TaskRecord]]] = {}
        """Tasks that take what isn't computed yet: by the stage, and the block, None: all of it."""
        self.functions: weakref.WeakKeyDictionary[Any, tuple[tuple[Any, ...], Function]] = weakref.WeakKeyDictionary()
        """What was sent of users' functions that can't change, as long as these live, with what tells that."""
        self.snapshots = PlacedSnapshots(self)
        self.awaited: set[Future] = set()
        """What executors were given and hasn't ended: it is awaited before the process ends."""
        self._calls.serve(TasksEnded, self._on_ended)
        self._calls.serve(TaskWaits, self._on_waits)
        self._calls.when_lost(self._on_lost)
        self.remote = RemoteFutures(self, self._calls)
        self._calls.before_sending(self._pump)
        self._closed = False
        engine.on_exit.append(self.wait_for_awaited)
        engine.max_waits.append(self._delay)
        engine.on_stored.append(self._on_stored)

    # ---------------------------------------------------------------- the user's threads

    def watch(self, function: Function) -> Function:
        weakref.finalize(function, self._functions_gone.append, (function.number, function.known))
        return function

    def enter(self, records: Sequence[TaskRecord]) -> list[Future]:
        futures: list[Future] = []
        with self.lock:
            if self._closed:
                raise ClusterError("submit: the cluster is closed")
            task = current_task()
            nested = task is not None and task.service is self._engine.local.tasks
            parent = self.find_parent(task.order.number, task.order.run) if task is not None and nested else None
            for record in records:
                if record.wanted:
                    future = Future(record, self)
                    self._watch_future(future, record)
                    futures.append(future)
            ended = self._add(records, parent)
        self._complete(ended)
        self._transport.wake()
        return futures

    def find_parent(self, number: int, run: int) -> TaskRecord:
        """Return a task that submits others, or raise where that run of it doesn't count any more; under the lock."""
        parent = self.board.find(number, run)
        if parent is None:
            raise ClusterError("submit: the task that submits was cancelled, or is run again elsewhere")
        return parent

    def enter_for(self, records: Sequence[TaskRecord], parent: TaskRecord) -> None:
        """Enter tasks whose futures are on other ranks, submitted there by a task; under the lock."""
        self._complete(self._add(records, parent))
        self._transport.wake()

    def _add(self, records: Sequence[TaskRecord], parent: TaskRecord | None) -> list[tuple[TaskRecord, Any]]:
        ended: list[tuple[TaskRecord, Any]] = []
        for record in records:
            failed = next((n for n in record.needs if n.state in (CallState.FAILED, CallState.CANCELLED)), None)
            self.board.add(record, parent)
            if failed is not None and failed.error is not None:
                ended += self._end(record, failed.error, failed.state)
        return ended

    def place(self, record: TaskRecord, value: Any) -> Future:
        """Enter a value that the driver has, as if a task had returned it."""
        with self.lock:
            if self._closed:
                raise ClusterError("scatter: the cluster is closed")
            future = Future(record, self)
            self._watch_future(future, record)
            self.place_for(record, value)
        future.set_result(value)
        return future

    def place_for(self, record: TaskRecord, value: Any) -> None:
        """Enter a value whose future is on another rank."""
        with self.lock:
            self._engine.local.tasks.keep_copy(record.number, value)
            self.board.records[record.number] = record
            record.holders, record.placed = frozenset((0,)), True
            record.note_copy(0)
            weakref.finalize(record, self._placed_gone.append, (record.number, record.copies))
            self.board.settle(record)

    def largest(self) -> tuple[int, int]:
        sites = self.board.sites
        return max(site.cores for site in sites), max(site.memory for site in sites)

    def look(self, record: TaskRecord) -> CallState:
        return record.state

    def fetch(self, record: TaskRecord) -> Any:
        """Return a result that is on ranks; wait for it to be made again where they are lost."""
        while True:
            self._calls.check()
            with self._made:
                while record.state not in (CallState.DONE, CallState.FAILED, CallState.CANCELLED):
                    self._made.wait(1.0)
                    if self._closed:
                        raise ClusterError(f"result: the cluster was closed; {record.title} is gone")
                if record.error is not None:
                    raise record.error
                value, holders = record.value, tuple(record.holders)
            if value is not None:
                return pickle.loads(value)
            with contextlib.suppress(Unread):
                return Made(record.number, holders, record.title).bring(self._engine.local)
            time.sleep(0.001)  # its rank was just lost

    def cancel(self, record: TaskRecord, running: bool) -> bool:
        """Cancel a task that hasn't begun, or with `running` one that runs; tell whether it is cancelled."""
        with self.lock:
            rank, run = record.rank, record.run
            if record.state in (CallState.WAITING, CallState.READY):
                self._complete(self._end(record, cancelled(record), CallState.CANCELLED))
                return True
            if record.state is not CallState.SENT:
                return _is_cancelled(record)
        with contextlib.suppress(ClusterError):
            if self._calls.ask(rank, TakeBack([record.number])):
                with self.lock:
                    ended = self._end(record, cancelled(record), CallState.CANCELLED) if record.run == run else []
                self._complete(ended)
                return _is_cancelled(record)
        return running and self._interrupt(record, rank, run)

    def _interrupt(self, record: TaskRecord, rank: int, run: int) -> bool:
        """End a task that runs; after a while with its rank. Tell whether it is cancelled."""
        self.interrupt(record)
        for limit in (GRACE, LIMIT):
            with self._made:
                if self._made.wait_for(lambda: record.state is not CallState.SENT or record.run != run, limit):
                    break
            if not rank:
                break
            self._engine.ask(partial(_kill, rank=rank))
        return _is_cancelled(record)

    def abandon(self, record: TaskRecord) -> None:
        """Cancel a task that nobody wants any more, and what was called for it alone."""
        several = [record]
        while several and not self._closed:
            each = several.pop()
            with self.lock:
                if each.waiting or each.number in self._watches:
                    continue  # another call takes it, or somebody holds its future
                needs = each.needs
            self.interrupt(each)
            several += needs

    def interrupt(self, record: TaskRecord) -> None:
        """Cancel a task, or have it end at its next line of Python; nothing waits for that, and no rank ends."""
        until = time.monotonic() + GRACE
        while not self.cancel(record, False) and record.state is CallState.SENT and time.monotonic() < until:
            with self.lock:
                record.doomed = True
            try:
                if self._calls.ask(record.rank, InterruptTask(record.number)):
                    break
            except ClusterError:
                break
            time.sleep(0.001)  # it is on its way to its rank, or has just ended there

    def wait_for_awaited(self) -> None:
        """Wait until all that executors were given has ended, and what is called for it."""
        waited = bool(self.awaited)
        while self.awaited and not self._closed and not self._engine.over:
            wait(list(self.awaited), 1.0)
        called = called_until_now() if waited else None
        while called is not None and not (called.wait(1.0) or self._closed or self._engine.over):
            pass

    def _watch_future(self, future: Future, record: TaskRecord) -> None:
        record.future = self._watches[record.number] = FutureReference(future, self, record)

    def release(self, record: TaskRecord) -> None:
        """Note that a task's future is gone, on the thread of `FutureReference`."""
        self._watches.pop(record.number, None)
        if record.interrupted:
            self.abandon(record)
        self._released.append(record)
        if record.holders and not self._closed:
            self._transport.wake()

    # ---------------------------------------------------------------- the engine's thread

    def _pump(self) -> None:
        """Give out what may run, take back what waits behind others, drop what nobody wants."""
        board = self.board
        if not (
            board.records or self._late or self._released or board.freed or self._placed_gone or self._functions_gone
        ):
            return
        orders: dict[int, list[TaskOrder]] = defaultdict(list)
        functions: dict[int, list[tuple[int, bytes]]] = defaultdict(list)
        ended: list[tuple[TaskRecord, Any]] = []
        with self.lock:
            while self._released:
                board.release(self._released.popleft())
            now = time.monotonic()
            while self._late and self._late[0][0] <= now:
                board.resume(self._late.popleft()[1])
            for rank, record in board.assign():
                order = self._order(record, ended)
                if order is None:
                    continue
                orders[rank].append(order)
                function = record.function
                if function is not None and rank not in function.known:
                    function.known.add(rank)
                    functions[rank].append((function.number, function.packed))
            while board.hopeless:
                lost = board.hopeless.pop()
                ended += self._end(lost, deadly(lost))
            stops = self._stop_orphans(ended)
            drops = self._drops()
            back = board.find_stuck(now)
        self._complete(ended)
        for rank, numbers in drops.items():  # before what makes the same again
            self._calls.tell(rank, DropResults(*numbers))
        for rank, rank_orders in orders.items():
            self._calls.tell(rank, RunTasks(functions[rank], rank_orders))
        for rank, stuck in back.items():
            self._calls.tell(rank, GiveUp(stuck))
        for rank, number in stops:
            self._calls.tell(rank, GiveUp([number]))
            self._calls.tell(rank, InterruptTask(number))

    def _delay(self) -> float:
        """Return the seconds until the first that was held back is due."""
        return max(0.0, self._late[0][0] - time.monotonic()) if self._late else math.inf

    def _on_stored(self, token: str, stage: StageRecord | None, tasks: Index | None) -> None:
        """Go on with tasks that wait for what is stored now; see `Engine.on_stored`."""
        by_block = self._absent.get(token)
        if by_block is None:
            return
        blocks: list[int | None] = list(by_block)
        if stage is not None and tasks is not None:
            blocks = [block for task in tasks.tolist() for block in stage.stage.blocks(task) if block in by_block]
            blocks += [None] if None in by_block and stage.complete else []
        with self.lock:
            for block in blocks:
                for record in by_block.pop(block):
                    self.board.resume(record)
        if not by_block:
            del self._absent[token]
        if blocks:
            self._transport.wake()

    def _stop_orphans(self, ended: list[tuple[TaskRecord, Any]]) -> list[tuple[int, int]]:
        """Cancel what was submitted by tasks that ended without a result; return those to be stopped, with ranks."""
        stops: list[tuple[int, int]] = []
        while self.board.orphans:
            record = self.board.orphans.pop()
            if record.state in (CallState.WAITING, CallState.READY):
                ended += self._end(record, cancelled(record), CallState.CANCELLED)
            elif record.state is CallState.SENT:
                record.doomed = True
                stops.append((record.rank, record.number))
        return stops

    def _order(self, record: TaskRecord, ended: list[tuple[TaskRecord, Any]]) -> TaskOrder | None:
        """Return what a rank is told of a task; None where an array that it takes isn't there, now or ever."""
        needs: list[tuple[int, MissingArgument]] = []
        for each in record.needs:
            if each.value is not None:
                needs.append((each.number, Given(each.value)))
            else:
                each.note_copy(record.rank)
                name = each.title
                needs.append((each.number, Made(each.number, tuple(each.holders), name, record.demand.writable)))
        try:
            needs += [(number, array.place(self._engine)) for number, array in record.arrays]
        except NotYet as absent:
            self._absent.setdefault(absent.token, {}).setdefault(absent.block, []).append(record)
            self.board.hold_back(record)
            return None
        except Exception as error:
            ended += self._end(record, error)
            return None
        function = 0 if record.function is None else record.function.number
        return TaskOrder(record.number, record.run, function, record.call, tuple(needs), record.name)

    def _drops(self) -> dict[int, tuple[list[int], list[int]]]:
        """Return for each rank which results and functions it may let go of."""
        drops: dict[int, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
        while self.board.freed:
            record = self.board.freed.pop()
            if record.state is not CallState.DROPPED:  # it is wanted again
                record.copies = {*record.copies, *record.holders}
                continue
            for rank in record.holders | record.copies:
                if not self._calls.is_lost(rank):
                    drops[rank][0].append(record.number)
            record.holders, record.copies = frozenset(), NOBODY
        while self._placed_gone:
            number, copies = self._placed_gone.popleft()
            for rank in copies:
                if not self._calls.is_lost(rank):
                    drops[rank][0].append(number)
        while self._functions_gone:
            number, known = self._functions_gone.popleft()
            for rank in known:
                if not self._calls.is_lost(rank):
                    drops[rank][1].append(number)
        return drops

    def _on_ended(self, question: Question[TasksEnded]) -> None:
        ended: list[tuple[TaskRecord, Any]] = []
        stale: list[int] = []
        with self.lock:
            self.board.sites[question.rank].moved = time.monotonic()
            for end in question.message.ends:
                record = self.board.find(end.number, end.run)
                if record is not None:
                    ended += self._take(record, end)
                elif end.how == KEPT and end.number not in self.board.records:
                    stale.append(end.number)
            self._made.notify_all()
        if stale:
            self._calls.tell(question.rank, DropResults(stale, []))
        self._complete(ended)

    def _on_waits(self, question: Question[TaskWaits]) -> None:
        message = question.message
        with self.lock:
            record = self.board.find(message.number, message.run)
            if record is not None:
                (self.board.pause if message.waits else self.board.go_on)(record)
        self._transport.wake()  # one's own questions come after what is done before sending

    def _take(self, record: TaskRecord, end: TaskEnd) -> list[tuple[TaskRecord, Any]]:
        """Note how a task ended; return what futures are to be told."""
        board = self.board
        if end.how in (RETURNED, KEPT):
            value = end.packed if end.how == RETURNED else None
            board.done(record, value, end.nbytes, end.seconds)
            return [(record, pickle.loads(end.packed) if value is not None else THERE)]
        if record.doomed:
            return self._end(record, cancelled(record), CallState.CANCELLED)
        if end.how == UNREAD:
            record.unread += 1
            if record.unread > MOST_UNREAD:
                return self._end(record, unread(record))
            self._hold_back(record)
            return []
        if end.how == GIVEN_UP:
            if record.recalled == record.run:
                board.again(record)
            else:  # the rank has no thread for it: not again at once
                self._hold_back(record)
            return []
        record.failures += 1
        if record.failures <= record.demand.retries:
            board.again(record)
            return []
        return self._end(record, read_error(record, end.packed, self._transport.peers[record.rank]))

    def _hold_back(self, record: TaskRecord) -> None:
        """Have a task tried again, some time later."""
        self._late.append((time.monotonic() + DELAY, record))
        self.board.hold_back(record)

    def _end(
        self, record: TaskRecord, error: BaseException, state: CallState = CallState.FAILED
    ) -> list[tuple[TaskRecord, Any]]:
        """End a task without a result, and those that take it; return what futures are to be told."""
        ended = [(each, error) for each in self.board.fail(record, error, state)]
        if self.board.orphans:
            self._transport.wake()
        return ended

    def _complete(self, ended: list[tuple[TaskRecord, Any]]) -> None:
        """Tell futures; not under the lock, but callbacks are on a thread of their own anyway."""
        for record, outcome in ended:
            future = record.future() if record.future is not None else None
            if future is None or future.done():
                continue
            with contextlib.suppress(InvalidStateError):
                if record.state is CallState.CANCELLED:
                    future._note_cancelled()
                elif record.state is CallState.FAILED:
                    future.set_exception(outcome)
                else:
                    future.set_result(outcome)
        if ended:
            with self._made:
                self._made.notify_all()

    def _on_lost(self, ranks: tuple[int, ...]) -> None:
        ended: list[tuple[TaskRecord, Any]] = []
        with self.lock:
            for rank in ranks:
                if not self.board.sites[rank].alive:
                    continue
                doomed = [r for r in self.board.sites[rank].at.values() if r.doomed]
                for record in doomed:
                    ended += self._end(record, cancelled(record), CallState.CANCELLED)
                for record in self.board.lose(rank):
                    ended += self._end(record, deadly(record))
            self._made.notify_all()
        self._complete(ended)

    def close(self) -> None:
        ended: list[tuple[TaskRecord, Any]] = []
        with self.lock:
            self._closed = True
            for record in list(self.board.records.values()):
                if record.state is not CallState.DONE:
                    error = ClusterError(f"the cluster was closed before task {record.title} had ended")
                    ended += self._end(record, error)
            self._made.notify_all()
        self._complete(ended)
        self.snapshots.close()


def _is_cancelled(record: TaskRecord) -> bool:
    return record.state is CallState.CANCELLED


def _kill(engine: Engine, rank: int) -> None:
    if engine.ledger.alive[rank]:
        engine.transport.declare_dead(rank)
