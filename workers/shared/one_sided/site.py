"""A rank's side of arrays that all ranks read and write: it makes, maps, keeps and gives up parts as the driver says.

What copies much runs on a thread of its own. Operations of other hosts' ranks are applied by the I/O thread.
"""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.errors import ClusterError, WaitTimeout
from ...wire.rpc import Recalled
from ..serial_thread import SerialThread
from .collective_reduce import fold
from .local_parts import PIECE, ArraySpec, LocalArray, PartLayout, Undone
from .memory import OwnPart, find

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...wire.rpc import Calls, Question
    from ...wire.transport import Bytes, Transport
    from .memory import PartPlace

Array = np.ndarray[Any, Any]
PREFIX = "symmetric arrays: "

_held: dict[bytes, LocalArray] = {}


def held(token: bytes) -> LocalArray:
    """Return what this process holds of an array.

    Raises
    ------
    ClusterError
        Nothing.
    """
    local_array = _held.get(token)
    if local_array is None:
        raise ClusterError(
            "an array that all ranks write is gone, or another cluster's: nothing refers to it in the driver any more"
        )
    return local_array


class ArraySite:
    """A rank's arrays.

    Parameters
    ----------
    calls, transport
        Of the rank.
    """

    def __init__(self, calls: Calls, transport: Transport) -> None:
        self.calls, self.transport, self.rank = calls, transport, transport.rank
        self.changed = threading.Condition()
        self._here: dict[bytes, LocalArray] = {}
        self._worker = SerialThread("windrow-one-sided")
        at_once: dict[str, Callable[..., Any]] = {"apply": self._apply, "read": self._read, "write": self._write}
        at_once |= {"drop": self._drop, "epoch": self._enter, "map": self._map}
        for name, handler in at_once.items():
            calls.serve(PREFIX + name, partial(_answer, handler))
        later: dict[str, Callable[..., Any]] = {"make": self._make, "keep": self._keep, "fold": self._fold}
        for name, work in later.items():
            calls.serve(PREFIX + name, partial(self._later, work))

    @property
    def epoch(self) -> int:
        """The last death that this rank has heard of, by the scheduler's count."""
        return self.calls.epoch

    def ask(self, rank: int, service: str, *what: Any, limit: float = 60.0) -> Any:
        """Ask a rank's site.

        Raises
        ------
        Undone
            The rank is lost.
        """
        return self.begin(rank, service, *what, limit=limit)()

    def begin(self, rank: int, service: str, *what: Any, limit: float = 60.0) -> Callable[[], Any]:
        """Ask a rank's site, and return what waits for the answer."""
        pending = self.calls.begin(rank, PREFIX + service, *what)

        def answer() -> Any:
            try:
                return pending.result(limit)
            except WaitTimeout as error:
                raise ClusterError(str(error)) from None
            except Recalled:
                raise
            except ClusterError as error:
                if not self.calls.is_lost(rank):
                    raise
                text = held(what[0]).spec.text
                raise Undone(f"{text} goes back to what its last sync() has kept: {error}") from None
            finally:
                pending.drop()

        return answer

    def close(self) -> None:
        """Give up all arrays."""
        for token in list(self._here):
            self._drop(token, "the cluster was closed")

    # ---------------------------------------------------------------- on the I/O thread

    def _enter(self, epoch: int) -> None:
        """Note a death: memory from before doesn't count any more."""
        with self.changed:
            self.calls.epoch = max(self.epoch, epoch)
            for each in self._here.values():
                each.generation.live &= each.generation.number >= self.epoch
            self.changed.notify_all()

    def _map(self, token: bytes, layout: PartLayout, places: Sequence[PartPlace]) -> None:
        """Map the parts of this host's ranks, and have them count."""
        each = self._here[token]
        own = each.pending[layout.number]
        parts: dict[int, Array] = {}
        for k, (rank, place) in enumerate(zip(layout.ranks, places, strict=True)):
            memory: Bytes | None = own.bytes if rank == self.rank else None
            if memory is None and self.transport.peers[rank].route in ("own", "map"):
                memory = find(place)
            if memory is not None:
                parts[k] = memory.view(each.spec.dtype)
        each.install(layout, parts)

    def _drop(self, token: bytes, why: str = "nothing refers to it in the driver any more") -> None:
        each = self._here.pop(token, None)
        _held.pop(token, None)
        if each is not None:
            each.end(why)

    def _present(self, token: bytes, number: int) -> LocalArray:
        each = held(token)
        if each.generation.number != number or not each.generation.live:
            raise Undone(f"{each.spec.text} is back at what its last sync() has kept: a rank was lost")
        return each

    def _apply(self, token: bytes, number: int, name: str, places: Array, values: Array, others: Array) -> Array | None:
        """Apply an operation to own elements, whose positions are the array's."""
        from .batches import apply_near

        each = self._present(token, number)
        return apply_near(each, each.generation, name, places, values, others)

    def _read(self, token: bytes, number: int, part: int, begin: int, end: int) -> Array:
        elements: Array = self._present(token, number).generation.parts[part][begin:end].copy()
        return elements

    def _write(self, token: bytes, number: int, part: int, begin: int, values: Array) -> None:
        self._present(token, number).generation.parts[part][begin : begin + len(values)] = values

    # ---------------------------------------------------------------- on a thread of its own

    def _later(self, work: Callable[..., Any], question: Question) -> None:
        def answer() -> None:
            try:
                _answer(work, question)
            except BaseException as error:
                question.fail(error)

        self._worker.put(answer)

    def _make(self, spec: ArraySpec, layout: PartLayout, kept: int, place: PartPlace | None) -> PartPlace:
        """Make the own part, with what `sync` number `kept` has kept, or else with what the array is filled with."""
        each = self._here.get(spec.token)
        if each is None:
            each = self._here[spec.token] = _held[spec.token] = LocalArray(spec, self)
        begin, end = layout.bounds(spec, layout.ranks.index(self.rank))
        part = OwnPart(f"{spec.token.hex()}-{layout.number}-{self.rank}", (end - begin) * spec.dtype.itemsize)
        mine = part.bytes.view(spec.dtype)
        if spec.copies and kept in each.kept:
            mine[:] = each.kept[kept]
        elif place is not None:
            self._copy(place, kept, spec, begin, mine, False)
        elif spec.fill != 0:
            mine[:] = spec.fill
        each.pending[layout.number] = part
        return part.place

    def _keep(self, token: bytes, number: int, kept: int, before: int, place: PartPlace | None) -> None:
        """Keep the own part: of copies here, else where the driver says."""
        each = self._present(token, number)
        part = each.own_part(each.generation)
        mine = each.generation.parts[part]
        if place is None:
            each.kept = {k: v for k, v in each.kept.items() if k == before} | {kept: mine.copy()}
        else:
            begin, _ = each.generation.layout.bounds(each.spec, part)
            self._copy(place, kept, each.spec, begin, mine, True)

    def _copy(self, place: PartPlace, kept: int, spec: ArraySpec, begin: int, mine: Array, keeps: bool) -> None:
        """Copy the own part to the driver's memory, or from there: in place on its host."""
        memory = find(place) if self.transport.peers[0].route in ("own", "map") else None
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
                self.ask(0, "put", spec.token, kept, begin + at, mine[at:till])
            else:
                mine[at:till] = self.ask(0, "take", spec.token, kept, begin + at, begin + till)

    def _fold(self, token: bytes, number: int, operation: str | int, share: int, shares: int) -> None:
        each = self._present(token, number)
        fold(each, each.generation, operation, share, shares)


def _answer(work: Callable[..., Any], question: Question) -> None:
    question.reply(work(*question.what))
