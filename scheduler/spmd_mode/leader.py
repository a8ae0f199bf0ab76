"""Rank 0's part in collective calls: when all have come it runs them on the engine, and answers all ranks."""

from __future__ import annotations

import logging
import sys
import threading
import time
from contextlib import contextmanager
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakValueDictionary

from ...graph.errors import ClusterError
from ...graph.expr import names
from ...graph.expr.expr import walk
from ...workers.config import config
from ..session.chunk_locations import find_places
from ..shared.pages.counting import count_additions
from .messages import AnotherFailed, AskEngine, AwaitPersisted, CallTogether, LocateChunks, ResultRead, ScriptEnded
from .reports import Answer, dump_error, dumps, name_ranks
from .roll import LATE, Roll

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from ...graph.expr.expr import Expr
    from ...workers.shared.segment import SegmentName
    from ...workers.wire.rpc import Question
    from ..session.chunk_locations import Columns
    from ..session.pin import Pin
    from ..session.session import Keeper, Session
    from .agreed_arrays import LedArray
    from .messages import SlowMessage, Value
    from .reports import RankReport

log = logging.getLogger("windrow")
T = TypeVar("T")
SMALL = 1 << 18
"""Bytes of results that come with the answer; of larger ones the places do."""
TICK = 0.25
GRACE = 10.0
"""Seconds in which the other scripts may end when one has failed."""
PAUSE = 0.01


class Leader:
    """Compares what ranks ask for, and has the engine do it; see the package's docstring."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._led = threading.local()
        self.engine = session.engine
        self.roll = Roll(self.engine.transport.size, lambda: config.late_limit)
        self.kept: dict[str, Any] = {}
        self.arrays: WeakValueDictionary[str, LedArray] = WeakValueDictionary()
        """Shared arrays by their tokens, as long as a script has one."""
        self._holders: dict[str, set[int]] = {}
        self._reading: dict[int, tuple[list[Pin], set[int]]] = {}
        self._guard = threading.Lock()
        self._aside: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._failed: float | None = None
        self.status = self._adopted = 0
        calls = self.engine.local.calls
        calls.serve(CallTogether, self._on_call)
        calls.serve(ResultRead, self._on_read)
        calls.serve(AwaitPersisted, self._on_wait)
        calls.serve(LocateChunks, self._on_places)
        calls.serve(AskEngine, lambda question: question.reply(question.message.function(self.engine)))
        calls.serve(ScriptEnded, self._on_ended)
        calls.serve(AnotherFailed, lambda question: self._answer_aside(question, self.another_failed))
        calls.when_lost(self._on_lost)
        threading.Thread(target=self._watch, name="windrow-spmd", daemon=True).start()

    # ---------------------------------------------------------------- collective calls

    def lead(self, told: RankReport, roots: Sequence[Expr], act: Callable[[], T]) -> tuple[T, Answer]:
        """Wait until all ranks have come to a call, run it, answer them; return its value and what all are told.

        What stops it is raised here too.
        """
        self._note_drops(0, told)
        meeting = self.roll.come(0, told, lambda answer: None)
        try:
            while not meeting.decided.wait(1.0):
                self.session.check_open()
            if meeting.error is not None:
                raise meeting.error
            self._raise_failed(roots)
            value, versions = act(), self._renew()
        except BaseException as error:
            if meeting.error is None:
                self.roll.fail(told.number, dump_error(error))
            raise
        self._hold(told)
        answer = Answer(dumps(value), False, self._settle(), self.roll.living, versions)
        for reply in meeting.replies.values():
            reply(answer)
        self.roll.leave(told.number)
        return value, answer

    def _renew(self) -> tuple[tuple[str, SegmentName], ...]:
        """Return the names of shared arrays' versions that are new."""
        if not self.arrays:
            return ()
        with self.acting():
            renewed = [(token, led.renew()) for token, led in self.arrays.items()]
        return tuple((token, name) for token, name in renewed if name is not None)

    def _note_drops(self, rank: int, told: RankReport) -> None:
        with self._guard:
            for name in told.dropped:
                self._holders.get(name, set()).discard(rank)

    def _hold(self, told: RankReport) -> None:
        """Note that all ranks hold what they persist together."""
        if told.kind == "persist":
            with self._guard:
                self._holders |= {name: set(self.roll.living) for name in told.names}

    def _settle(self) -> tuple[str, ...]:
        """Let go of what no rank holds any more; return its names, which all ranks are told."""
        living = set(self.roll.living)
        with self._guard:
            gone = tuple(name for name, holders in self._holders.items() if not holders & living)
            for name in gone:
                del self._holders[name]
        for name in gone:
            pin = self.kept.pop(name, None)
            if pin is not None:
                pin.release()
        return gone

    def _raise_failed(self, roots: Sequence[Expr]) -> None:
        """Raise what stopped a persisted array that is needed."""
        for node in walk(list(roots), lambda node: node.token in self.kept):
            pin = self.kept.get(node.token)
            if pin is not None and pin.job.error is not None:
                pin.wait()

    # ---------------------------------------------------------------- what they do

    @property
    def acts(self) -> bool:
        """Whether this thread does what rank 0 does for all."""
        return bool(getattr(self._led, "acting", False))

    @contextmanager
    def acting(self) -> Generator[None]:
        """While rank 0 acts for all, what it does is its own."""
        self._led.acting = True
        try:
            with names.alone():
                yield
        finally:
            self._led.acting = False

    def compute(self, number: int, roots: list[Expr]) -> list[Any]:
        """Return values where they are few bytes, else where their chunks lie."""
        others = [rank for rank in self.roll.living if rank]
        if sum(root.nbytes for root in roots) <= SMALL or not others:
            return self.session.run(roots)
        kept = self.session.keep(roots)
        columns = [self.locate(each) for each in kept]
        count_additions(roots)
        with self._guard:
            self._reading[number] = (kept, {0, *others})
        return columns

    def persist(self, roots: Sequence[Expr]) -> None:
        """Keep the chunks of expressions until all ranks have let go of them."""
        fresh = [root for root in roots if root.token not in self.kept or self.kept[root.token].job.error is not None]
        self.kept |= {root.token: kept for root, kept in zip(fresh, self.session.keep(fresh), strict=True)}

    def adopt(self, what: str, keeper: Keeper) -> str:
        """Keep something until all ranks have let go of it; return the name by which they do."""
        self._adopted += 1
        key = f"{what} {self._adopted}"
        self.kept[key] = keeper
        with self._guard:
            self._holders[key] = set(self.roll.living)
        return key

    def locate(self, kept: Pin, rank: int | None = None, block: int | None = None) -> Columns:
        """Wait for chunks, and return where they lie: all, a rank's, or one."""
        while True:
            kept.wait()
            columns: Columns | None = self.engine.ask(partial(find_places, token=kept.token, rank=rank, block=block))
            if columns is not None:
                return columns
            if not kept.held:
                raise ClusterError("the array was released meanwhile")
            time.sleep(PAUSE)

    def has_read(self, rank: int, number: int) -> None:
        """Let go of a result that all have read."""
        with self._guard:
            kept, readers = self._reading.get(number, ([], set()))
            readers.discard(rank)
            if not readers:
                self._reading.pop(number, None)
        if not readers:
            for each in kept:
                each.release()

    # ---------------------------------------------------------------- questions of other ranks, on the I/O thread

    def _on_call(self, question: Question[CallTogether]) -> None:
        rank_report = question.message.report
        self._note_drops(question.rank, rank_report)

        def reply(answer: Answer | bytes) -> None:
            question.reply(answer if isinstance(answer, Answer) else Answer(answer, True, (), ()))

        self.roll.come(question.rank, rank_report, reply)

    def _on_read(self, question: Question[ResultRead]) -> None:
        self._aside.put(lambda: self.has_read(question.rank, question.message.number))

    def _on_wait(self, question: Question[AwaitPersisted]) -> None:
        token, seconds = question.message.token, question.message.seconds
        deadline = None if seconds is None else time.monotonic() + seconds
        self._answer_aside(question, lambda: bool(self.find(token).wait(deadline)))

    def _on_places(self, question: Question[LocateChunks]) -> None:
        asked = question.message
        self._answer_aside(question, lambda: self.locate(self.find(asked.token, asked.number), asked.rank, asked.block))

    def find(self, name: str, number: int = -1) -> Pin:
        """Return what keeps an array's chunks: the persisted one, or a call's result that is being read."""
        reading, _ = self._reading.get(number, ([], set()))
        pin: Pin | None = next((each for each in reading if each.token == name), self.kept.get(name))
        if pin is None:
            raise ClusterError("the array is not persisted any more")
        return pin

    @staticmethod
    def _answer_aside(question: Question[SlowMessage[Value]], find: Callable[[], Value]) -> None:

        def answer() -> None:
            try:
                question.reply((find(), b""))
            except BaseException as error:
                question.reply((None, dump_error(error)))

        threading.Thread(target=answer, name="windrow-spmd-wait", daemon=True).start()

    def _on_ended(self, question: Question[ScriptEnded]) -> None:
        end = question.message
        self.end(question.rank, end.status, end.how, end.shown)

    def _on_lost(self, ranks: tuple[int, ...]) -> None:
        self._aside.put(lambda: self._lose(ranks))

    def _lose(self, ranks: tuple[int, ...]) -> None:
        self.roll.lose(ranks)
        for number in list(self._reading):
            for rank in ranks:
                self.has_read(rank, number)

    # ---------------------------------------------------------------- the end

    def another_failed(self) -> bool:
        """Tell whether a script has shown its traceback; whoever fails for that shows none."""
        return self.roll.another_failed(GRACE / 2)

    def end(self, rank: int, status: int, how: str, shown: bool) -> None:
        """Note that a rank's script is over, how, and whether its traceback was shown."""
        self.status = max(self.status, status)
        if status and self._failed is None:
            self._failed = time.monotonic()
        self.roll.end(rank, how, shown)

    def wait_for_ends(self) -> int:
        """Wait until all scripts are over, and return the job's status."""
        begin, named = time.monotonic(), False
        while not self.roll.wait_for_ends(TICK):
            waited = time.monotonic() - begin
            if waited > LATE and not named:
                named = True
                log.warning(f"rank 0's script has ended; {name_ranks(self.roll.missing())} goes on")
            if waited > config.late_limit:
                self._give_up(f"has not ended {waited:.0f} s after rank 0's script (the setting late_limit)")
        return self.status

    def _watch(self) -> None:
        """Release, look who is late, end a job of which a part has failed."""
        while not self.session.closed:
            try:
                self._aside.get(timeout=TICK)()
            except Empty:
                pass
            except Exception:  # the cluster was closed meanwhile
                log.debug("spmd", exc_info=True)
            now = time.monotonic()
            self.roll.look(now)
            if self._failed is not None and now - self._failed > GRACE and self.roll.missing():
                self._give_up(f"has not ended {GRACE:.0f} s after another rank's script has failed")

    def _give_up(self, why: str) -> None:
        """End the whole job: the janitor kills all ranks."""
        from ...workers.mpi.deaths.exits import end_rank

        text = f"windrow: the script of {name_ranks(self.roll.missing())} {why}: the job is ended"
        print(text, file=sys.stderr, flush=True)
        sys.stdout.flush()
        end_rank(max(1, self.status))
