"""Calls of any function as tasks of the graph: large arrays are operands, results are of any size.

A call is pickled without the large NumPy arrays among its arguments. These are operands of its task: sent to a rank
once, and read there in place. What the call gives comes back as bytes in a block of fixed room. If it needs more, the
rank keeps the bytes and tells how many there are; a second task, placed where the first one's block lies, hands them
out. Should that rank be gone, the second task makes the call again.

A call that is given lazy arrays is made by the driver, on the thread that asks for it: what it computes of them, such
as a fit over their chunks, runs on the ranks by itself.
"""

from __future__ import annotations

import io
import itertools
import pickle
import sys
import threading
import traceback
from collections import OrderedDict
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import cloudpickle
import numpy as np

from ..arrays.base import ArrayBase, make
from ..arrays.creation.from_data import from_array
from ..arrays.user_functions.travel.pickling import payload, pickler
from ..graph.chunks.grid import Axis, Grid
from ..graph.errors import WindrowError
from ..graph.kinds.mapping import MapBlocks
from ..scheduler.session.cluster import session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..arrays.array import Array

__all__ = ["Caller"]

Values = np.ndarray[Any, Any]
LARGE = 1 << 16
"""Arrays of at least so many bytes are operands."""
ROOM = 1 << 16
"""Bytes of the block in which a call's outcome comes back at first."""
HEAD = 8
KEPT = 8
"""Outcomes too large for their block that a rank keeps until they are asked for."""
_outcomes: OrderedDict[int, bytes] = OrderedDict()
_guard = threading.Lock()
_numbers = itertools.count()


class _HoldsLazyArray(Exception):
    """Ends the pickling of a call that the driver makes itself."""


class _Pickler(pickler()):  # type: ignore[misc] # made when it is needed
    """Pickles a call; large arrays are put aside, and numbered. A lazy array ends it."""

    def __init__(self, file: io.BytesIO, aside: list[Values]) -> None:
        super().__init__(file, protocol=5)
        self._aside = aside

    def persistent_id(self, value: Any) -> Any:
        if isinstance(value, ArrayBase):
            raise _HoldsLazyArray
        if type(value) is np.memmap and value.flags.writeable and _whole_file(value):
            order = "F" if value.flags.f_contiguous and not value.flags.c_contiguous else "C"
            return "file", str(value.filename), value.dtype, value.offset, value.shape, order
        if type(value) not in (np.ndarray, np.memmap) or value.nbytes < LARGE or value.dtype.hasobject:
            return None
        turned = value.flags.f_contiguous and not value.flags.c_contiguous
        for number, known in enumerate(self._aside):
            if known is value:
                return "aside", number, turned
        self._aside.append(value)
        return "aside", len(self._aside) - 1, turned


def _whole_file(value: np.memmap[Any, Any]) -> bool:
    """Whether an array is the mapping of a file itself, and no view of one: calls may write to it."""
    return value.filename is not None and type(value.base).__name__ == "mmap"


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, aside: tuple[Values, ...]) -> None:
        super().__init__(file)
        self._aside = aside

    def persistent_load(self, pid: Any) -> Any:
        if pid[0] == "file":
            _, name, dtype, offset, shape, order = pid
            return np.memmap(name, dtype, "r+", offset, shape, order)
        _, number, turned = pid
        return self._aside[number].T if turned else self._aside[number]


class _Call:
    """Makes a pickled call in a block, and gives its outcome as bytes."""

    def __init__(self, pickled: bytes, number: int, threads: int) -> None:
        self.pickled, self.number, self.threads = pickled, number, threads

    def __call__(self, *aside: Values) -> Values:
        outcome = self.outcome(aside)
        out = np.zeros(ROOM, np.uint8)
        out[:HEAD] = np.frombuffer(len(outcome).to_bytes(HEAD, "little"), np.uint8)
        if len(outcome) <= ROOM - HEAD:
            out[HEAD : HEAD + len(outcome)] = np.frombuffer(outcome, np.uint8)
            return out
        with _guard:
            _outcomes[self.number] = outcome
            while len(_outcomes) > KEPT:
                _outcomes.popitem(last=False)
        return out

    def outcome(self, aside: tuple[Values, ...]) -> bytes:
        """Return (whether it returned, what it returned or raised, the traceback), pickled."""
        try:
            function = _Unpickler(io.BytesIO(self.pickled), aside).load()
            with limit_threads(self.threads):
                returned = function()
        except Exception as error:
            return _pack_error(error)
        try:
            return bytes(cloudpickle.dumps((True, returned, "")))
        except Exception as error:
            message = f"joblib: what a call gave can't be pickled: {type(error).__name__}: {error}"
            return _pack_error(WindrowError(message))


def _pack_error(error: Exception) -> bytes:
    text = "".join(traceback.format_exception(error))
    with suppress(Exception):
        pickled = cloudpickle.dumps((False, error, text))
        pickle.loads(pickled)
        return bytes(pickled)
    return bytes(cloudpickle.dumps((False, WindrowError(f"{type(error).__name__}: {error}"), text)))


class _Rest:
    """Hands out an outcome that its first block had no room for; makes the call again where it isn't known."""

    def __init__(self, call: _Call, size: int) -> None:
        self.call, self.size = call, size

    def __call__(self, first: Values, *aside: Values) -> Values:
        with _guard:
            outcome = _outcomes.pop(self.call.number, None)
        if outcome is None:
            outcome = self.call.outcome(aside)
        if len(outcome) > self.size:
            message = f"joblib: a call was made again, gave {len(outcome)} bytes instead of {self.size}"
            outcome = _pack_error(WindrowError(f"{message}; expected the same result for the same call"))
        out = np.zeros(self.size, np.uint8)
        out[: len(outcome)] = np.frombuffer(outcome, np.uint8)
        return out


# ---------------------------------------------------------------- threads of libraries

_limits: dict[int, tuple[int, Any, Any]] = {}
_running: list[Any] = []


def _controllers() -> tuple[Any, Any]:
    """Return what sets the threads of BLAS and of OpenMP; looked for again when modules were imported."""
    from threadpoolctl import ThreadpoolController

    loaded = len(sys.modules)
    known = _limits.get(0)
    if known is None or known[0] != loaded:
        every = ThreadpoolController()
        known = _limits[0] = loaded, every.select(user_api="blas"), every.select(user_api="openmp")
    return known[1:]


@contextmanager
def limit_threads(threads: int) -> Iterator[None]:
    """Hold OpenMP to so many threads, and BLAS to one: calls are what runs in parallel.

    OpenMP's number is each thread's own. That of BLAS is the process's: the first call sets it, the last one out puts
    it back.
    """
    with _guard:
        blas, openmp = _controllers()
        _running.append(blas.limit(limits=1))
    try:
        with openmp.limit(limits=threads):
            yield
    finally:
        with _guard:
            if len(_running) == 1:
                _running.pop().restore_original_limits()
            else:  # the first one's setting is what there was before
                _running.pop(1)


# ---------------------------------------------------------------- the driver's side


class Caller:
    """Makes calls on the present cluster, and keeps what they share.

    Parameters
    ----------
    threads : int
        Threads that OpenMP may use within a call; BLAS has one.
    """

    def __init__(self, threads: int = 1) -> None:
        self.threads = threads
        self._lock = threading.Lock()
        self._arrays: dict[tuple[Any, ...], tuple[Values, Array]] = {}
        self._open: set[Any] = set()

    def call(self, function: Callable[[], Any]) -> Any:
        """Call a function on some rank, or here where it holds lazy arrays; return or raise what it does."""
        aside: list[Values] = []
        file = io.BytesIO()
        try:
            _Pickler(file, aside).dump(function)
        except _HoldsLazyArray:
            return function()
        operands = [self._operand(a) for a in aside]
        call = _Call(file.getvalue(), next(_numbers), self.threads)
        first = self._make("call", call, operands, ROOM)
        head = self._bytes(first)
        size = int.from_bytes(head[:HEAD], "little")
        if size <= ROOM - HEAD:
            content = head[HEAD : HEAD + size]
        else:
            content = self._bytes(self._make("result", _Rest(call, size), [first, *operands], size))
        good, outcome, text = pickle.loads(content)
        if good:
            return outcome
        outcome.add_note("remote traceback:\n" + text.rstrip())
        raise outcome

    def cancel(self) -> None:
        """Drop calls that haven't begun; those that run go on, and are dropped when they end."""
        with self._lock:
            calls, self._open = list(self._open), set()
        for kept in calls:
            kept.job.fail(WindrowError("the call was cancelled"))
            kept.release()

    def forget(self) -> None:
        """Let go of arguments."""
        with self._lock:
            self._arrays.clear()

    def _make(self, name: str, function: Any, operands: list[Array], size: int) -> Array:
        operand_axes = tuple((None,) * a.ndim for a in operands)
        packed = payload("joblib", function, (), {}, name)
        return make(MapBlocks(packed, operand_axes), operands, Grid([Axis.whole(size)]), np.uint8).persist()

    def _bytes(self, made: Array) -> bytes:
        """Return a persisted block when it is there."""
        kept: Any = made.expr.pin
        with self._lock:
            self._open.add(kept)
        try:
            kept.wait()
            return session().chunk(made.expr, 0).tobytes()
        finally:
            with self._lock:
                self._open.discard(kept)

    def _operand(self, array: Values) -> Array:
        """Return the lazy array of an argument, in C order; it is kept, so that it is sent once."""
        if array.flags.f_contiguous and not array.flags.c_contiguous:
            array = array.T
        key = (array.__array_interface__["data"][0], array.shape, array.strides, array.dtype.str)
        with self._lock:
            known = self._arrays.get(key)
            if known is None:
                known = self._arrays[key] = (array, from_array(array, chunks=-1))
            return known[1]
