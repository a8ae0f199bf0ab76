"""A rank's side of arrays that all ranks read and write: it makes, maps, keeps and gives up parts as the driver says.

What copies much runs on a thread of its own. Operations of other hosts' ranks are applied by the I/O thread.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.errors import ClusterError, WaitTimeout
from ...wire.one_sided_messages import (
    ApplyBatch,
    DropArray,
    EnterEpoch,
    KeepPart,
    MakePart,
    MapParts,
    PutKept,
    ReadPart,
    ReduceShare,
    TakeKept,
    WritePart,
)
from ...wire.rpc import Recalled
from ..segment import SharedSegment
from ..serial_thread import SerialThread
from .collective_reduce import fold
from .local_parts import PIECE, ArraySpec, LocalArray, Undone

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...wire.one_sided_messages import ArrayMessage
    from ...wire.protocol import Reply
    from ...wire.rpc import Calls, Question, Sent
    from ...wire.transport import Transport
    from ..segment import SegmentName

Array = np.ndarray[Any, Any]

_held: dict[bytes, LocalArray] = {}


def held(token: bytes) -> LocalArray:
    """Return what this process holds of an array, or raise a ClusterError."""
    local_array = _held.get(token)
    if local_array is None:
        raise ClusterError(
            "an array that all ranks write is gone, or another cluster's: nothing refers to it in the driver any more"
        )
    return local_array


class ArraySite:
    """A rank's arrays."""

    def __init__(self, calls: Calls, transport: Transport) -> None:
        self.calls, self.transport, self.rank = calls, transport, transport.rank
        self.changed = threading.Condition()
        self._here: dict[bytes, LocalArray] = {}
        self._worker = SerialThread("windrow-one-sided")
        calls.serve(ApplyBatch, self._apply)
        calls.serve(ReadPart, self._read)
        calls.serve(WritePart, self._write)
        calls.serve(DropArray, lambda question: self._drop(question.message.token, question.message.why))
        calls.serve(EnterEpoch, self._enter)
        calls.serve(MapParts, self._map)
        calls.serve(MakePart, self._later(self._make))
        calls.serve(KeepPart, self._later(self._keep))
        calls.serve(ReduceShare, self._later(self._reduce))

    @property
    def epoch(self) -> int:
        """The last death that this rank has heard of, by the scheduler's count."""
        return self.calls.epoch

    def ask(self, rank: int, message: ArrayMessage[Reply]) -> Reply:
        """Ask a rank's site; Undone where the rank is lost."""
        return self.begin(rank, message)()

    def begin(self, rank: int, message: ArrayMessage[Reply]) -> Callable[[], Reply]:
        """Ask a rank's site, and return what waits for the answer."""
        pending = self.calls.begin(rank, message)

        def answer() -> Reply:
            try:
                return pending.result()
            except WaitTimeout as error:
                raise ClusterError(str(error)) from None
            except Recalled:
                raise
            except ClusterError as error:
                if not self.calls.is_lost(rank):
                    raise
                text = held(message.token).spec.text
                raise Undone(f"{text} goes back to what its last sync() has kept: {error}") from None
            finally:
                pending.drop()

        return answer

    def close(self) -> None:
        for token in list(self._here):
            self._drop(token, "the cluster was closed")

    # ---------------------------------------------------------------- on the I/O thread

    def _enter(self, question: Question[EnterEpoch]) -> None:
        with self.changed:
            self.calls.epoch = max(self.epoch, question.message.number)
            for each in self._here.values():
                each.generation.live &= each.generation.number >= self.epoch
            self.changed.notify_all()

    def _map(self, question: Question[MapParts]) -> None:
        layout, each = question.message.layout, self._here[question.message.token]
        own = each.pending[layout.number]
        parts: dict[int, Array] = {}
        for k, (rank, place) in enumerate(zip(layout.ranks, question.message.places, strict=True)):
            is_own = rank == self.rank
            memory = own.memory if is_own else place.map_from(self.transport.peers[rank], write=True)
            if memory is not None:
                parts[k] = memory.view(each.spec.dtype)
        each.install(layout, parts)
        question.reply(None)

    def _drop(self, token: bytes, why: str) -> None:
        each = self._here.pop(token, None)
        _held.pop(token, None)
        if each is not None:
            each.end(why)

    def _present(self, token: bytes, number: int) -> LocalArray:
        each = held(token)
        if each.generation.number != number or not each.generation.live:
            raise Undone(f"{each.spec.text} is back at what its last sync() has kept: a rank was lost")
        return each

    def _apply(self, question: Question[ApplyBatch]) -> None:
        from .batches import apply_near

        batch = question.message
        each = self._present(batch.token, batch.number)
        question.reply(apply_near(each, each.generation, batch.operation, batch.places, batch.values, batch.others))

    def _read(self, question: Question[ReadPart]) -> None:
        piece = question.message
        part = self._present(piece.token, piece.number).generation.parts[piece.part]
        question.reply(part[piece.begin : piece.end].copy())

    def _write(self, question: Question[WritePart]) -> None:
        piece = question.message
        part = self._present(piece.token, piece.number).generation.parts[piece.part]
        part[piece.begin : piece.begin + len(piece.values)] = piece.values
        question.reply(None)

    # ---------------------------------------------------------------- on a thread of its own

    def _later(self, work: Callable[[Question[Sent]], None]) -> Callable[[Question[Sent]], None]:
        """Return what has the thread do something with a question."""

        def attempt(question: Question[Sent]) -> None:
            try:
                work(question)
            except BaseException as error:
                question.fail(error)

        return lambda question: self._worker.put(lambda: attempt(question))

    def _make(self, question: Question[MakePart]) -> None:
        """Make the own part, with what `sync` has kept, or else with what the array is filled with."""
        spec, layout = question.message.spec, question.message.layout
        kept, place = question.message.kept, question.message.place
        each = self._here.get(spec.token)
        if each is None:
            each = self._here[spec.token] = _held[spec.token] = LocalArray(spec, self)
        begin, end = layout.bounds(spec, layout.ranks.index(self.rank))
        part = SharedSegment.create("symmetric", (end - begin) * spec.dtype.itemsize)
        mine = part.memory.view(spec.dtype)
        if spec.copies and kept in each.kept:
            mine[:] = each.kept[kept]
        elif place is not None:
            self._copy(place, kept, spec, begin, mine, False)
        elif spec.fill != 0:
            mine[:] = spec.fill
        each.pending[layout.number] = part
        question.reply(part.name)

    def _keep(self, question: Question[KeepPart]) -> None:
        """Keep the own part: of copies here, else where the driver says."""
        message = question.message
        each = self._present(message.token, message.number)
        part = each.own_part(each.generation)
        mine = each.generation.parts[part]
        if message.place is None:
            each.kept = {k: v for k, v in each.kept.items() if k == message.before} | {message.kept: mine.copy()}
        else:
            begin, _ = each.generation.layout.bounds(each.spec, part)
            self._copy(message.place, message.kept, each.spec, begin, mine, True)
        question.reply(None)

    def _copy(self, place: SegmentName, kept: int, spec: ArraySpec, begin: int, mine: Array, keeps: bool) -> None:
        """Copy the own part to the driver's memory, or from there: in place on its host."""
        memory = place.map_from(self.transport.peers[0], write=True)
        if memory is not None:
            theirs = memory.view(spec.dtype)[begin : begin + len(mine)]
            if keeps:
                theirs[:] = mine
            else:
                mine[:] = theirs
            return
        step = max(1, PIECE // spec.dtype.itemsize)
        for at in range(0, len(mine), step):
            till = min(at + step, len(mine))
            if keeps:
                self.ask(0, PutKept(spec.token, kept, begin + at, mine[at:till]))
            else:
                mine[at:till] = self.ask(0, TakeKept(spec.token, kept, begin + at, begin + till))

    def _reduce(self, question: Question[ReduceShare]) -> None:
        message = question.message
        each = self._present(message.token, message.number)
        fold(each, each.generation, message.operation, message.share, message.shares)
        question.reply(None)
