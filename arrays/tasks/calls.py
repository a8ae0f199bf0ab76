"""From a function and arguments to a task's record: pickled when submitted, so that what can't travel fails there.

Futures, lazy arrays and large NumPy arrays among the arguments, however deep, are not pickled: the pickle has their
numbers.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import io
import itertools
import operator
import os
import pickle
import threading
from collections import ChainMap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...graph.arguments import check_integer, is_integer
from ...graph.errors import ArgumentError, BadValue, ClusterError, bad
from ...graph.expr import origin
from ...graph.kinds.move import Move
from ...scheduler.session.cluster import running, session
from ...scheduler.session.pin import Pin
from ...scheduler.session.resources import read_bytes
from ...scheduler.session.session import Session
from ...scheduler.tasks.arrays import ArrayArgument, ChunkViews
from ...scheduler.tasks.future import Future
from ...scheduler.tasks.record import NUMBERS, Demand, Function, TaskRecord
from ...scheduler.tasks.remote_runner import remote_runner
from ...workers.rank.output import in_task
from ...workers.rank.task_context import own_rank
from ...workers.shared.pickled_by_name import note_use, noting
from ...workers.tasks.current import current_task
from ...workers.tasks.lending import LARGE
from ...workers.tasks.needs import fill_in, fill_in_own
from ...workers.tasks.programs import run_program
from ...workers.wire.task_messages import BoardMessage
from ..base import ArrayBase
from ..execution.compute import persist_array
from ..user_functions.travel.pickling import find_state, name_of, pickler, refuse_captured
from .random_states import random_states

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ...scheduler.tasks.dispatcher import Dispatcher
    from ...scheduler.tasks.future import Runner


class _Numbers:
    """The numbers of tasks, functions and arguments; other ranks than the driver have some of their own."""

    def __init__(self) -> None:
        self._counts = {0: itertools.count(1)}
        self._rank = 0

    def __next__(self) -> int:
        return next(self._counts[self._rank])

    def begin(self, rank: int) -> None:
        """Have numbers be those of a rank; several threads may call this at once, and each number comes once."""
        self._counts.setdefault(rank, itertools.count(rank * NUMBERS + 1))
        self._rank = rank


numbers = _Numbers()
_threads = threading.local()
_PLAIN = frozenset([int, float, complex, bool, str, bytes, type(None), np.float64, np.int64, np.ndarray])


def own_session(operation: str) -> Session:
    """Return the present cluster's session; raise where this isn't the script of its driver."""
    everywhere = running()
    if everywhere is not None and everywhere.place[1] > 1 and not in_task():
        raise ClusterError(
            f"{operation}: SPMD mode has no single calls; each rank calls the function, or all by wr.spmd"
        )
    if own_rank() is not None or in_task():
        raise ClusterError(
            f"{operation}: tasks are submitted by the script, and by tasks from their own thread; "
            "other functions on ranks can't submit any"
        )
    current = session()
    assert isinstance(current, Session)
    current.check_open()
    return current


def own_dispatcher(operation: str) -> Dispatcher:
    """Return what runs tasks for the driver's script; see `own_session`."""
    board: Dispatcher = own_session(operation).calls.provided(BoardMessage)
    return board


def dispatcher(operation: str) -> Runner:
    """Return what runs tasks on the present cluster: within a task, on its own."""
    task = current_task()
    if task is None:
        return own_dispatcher(operation)
    rank = task.service.rank
    if own_rank() is None:  # the driver's process
        own: Dispatcher = rank.calls.provided(BoardMessage)
        return own
    numbers.begin(rank.rank)
    return remote_runner(rank)


def check_demand(operation: str, cores: Any, memory: Any, retries: Any, priority: Any, board: Runner) -> Demand:
    """Return what a task needs, checked against what ranks have."""
    cores = check_integer(operation, "cores", cores)
    nbytes = operator.index(memory) if is_integer(memory) else read_bytes(operation, "memory", memory)
    retries = check_integer(operation, "retries", retries)
    if not isinstance(priority, int | float) or priority != priority:
        raise ArgumentError(bad(operation, "priority", priority, "a number; larger ones go first"))
    most, room = board.largest()
    if not 1 <= cores <= most:
        raise BadValue(bad(operation, "cores", cores, f"from 1 to {most}, the threads of a rank"))
    if not 0 <= nbytes <= room:
        raise BadValue(bad(operation, "memory", memory, f"from 0 to {room:,} bytes, what a rank has"))
    if retries < 0:
        raise BadValue(bad(operation, "retries", retries, "0 or more"))
    return Demand(cores, nbytes, retries, float(priority))


class PackedCall:
    """A pickle, and what it names: futures, arrays, and what must live as long as it does.

    Of what goes to a `board` time and again, large NumPy arrays are placed there, once.
    """

    def __init__(self, operation: str, name: str, value: object, board: Runner | None = None) -> None:
        try:
            with noting() as used:
                self.pickled = _dumps(value, board)
        except Exception as error:
            raise ArgumentError(
                f"{operation}: the function {name!r} with its arguments can't be pickled: {type(error).__name__}: "
                f"{error}; expected what can travel to other processes"
            ) from error
        self.operation = operation
        self.needs = tuple({id(f._record): f._record for f in used if isinstance(f, Future)}.values())
        self.futures = tuple(each for each in used if isinstance(each, Future))
        self.arrays = tuple(each for each in used if isinstance(each, _Taken))
        self.used = tuple(each for each in used if not isinstance(each, Future | _Taken))

    def check_futures(self, board: Runner) -> None:
        """Raise for a large result of a future that lies with another cluster, whose ranks nobody here can ask."""
        for future in self.futures:
            record = future._record
            if record.value is not None or record.error is not None:
                continue
            if future._dispatcher is not board:
                raise ClusterError(
                    f"{self.operation}: the future {future.name} among the arguments is of another cluster, or of one "
                    "that is closed; expected one of the present cluster: hand over its result() instead"
                )


def pack_with_futures(
    operation: str, board: Runner, name: str, value: object, futures: dict[int, Future]
) -> PackedCall:
    """Return a pickle in which some objects, by their identity, stand for futures."""
    _threads.futures = futures
    try:
        return PackedCall(operation, name, value, board)
    finally:
        _threads.futures = {}


@dataclass(frozen=True)
class InPlace:
    """A chunk of a persisted array among the arguments of a task that never writes into it, nor keeps it.

    It arrives as a view of where it lies, if the task can run where that can be seen.
    """

    chunk: ArrayBase


class _Taken:
    """A lazy array that a pickle names."""

    def __init__(self, array: ArrayBase, in_place: bool) -> None:
        self.number, self.array, self.in_place = next(numbers), array, in_place


def _dumps(value: object, board: Runner | None) -> bytes:
    file = io.BytesIO()
    task_pickler = _task_pickler()(file, protocol=5)
    task_pickler.board = board
    task_pickler.dump(value)
    return file.getvalue()


@functools.cache
def _task_pickler() -> Any:
    base = pickler()

    class TaskPickler(base):  # type: ignore[misc, valid-type] # loaded when it is needed
        dispatch_table: ClassVar = ChainMap(random_states(), base.dispatch_table)
        board: Runner | None = None

        def reducer_override(self, obj: object) -> Any:
            if isinstance(obj, ArrayBase | InPlace):
                taken = _Taken(obj.chunk, True) if isinstance(obj, InPlace) else _Taken(obj, False)
                note_use(taken)
                return fill_in, (taken.number,)
            stands = obj if isinstance(obj, Future) else getattr(_threads, "futures", {}).get(id(obj))
            if stands is not None:
                note_use(stands)
                return fill_in, (stands._record.number,)
            if self.board is not None and isinstance(obj, np.ndarray) and _is_large(obj):
                placed = self.board.snapshots.find(obj, next(numbers))
                note_use(placed)
                return fill_in_own, (placed._record.number,)
            return super().reducer_override(obj)

    return TaskPickler


def pack_arguments(operation: str, board: Runner, name: str, args: tuple[Any, ...]) -> PackedCall | bytes:
    """Return the pickle of a call's arguments; that of plain values is quick."""
    if all(type(a) in _PLAIN and not (type(a) is np.ndarray and (a.dtype.hasobject or _is_large(a))) for a in args):
        return pickle.dumps((None, args, {}), 5)
    return PackedCall(operation, name, (None, args, {}), board)


def _is_large(value: object) -> bool:
    """Whether a value is an array that is placed: one as large as what ranks lend each other."""
    return type(value) is np.ndarray and value.nbytes >= LARGE and not value.dtype.hasobject


def make_record(
    packed: PackedCall | bytes,
    function: Function | None,
    name: str,
    same: str,
    demand: Demand,
    where: str,
    board: Runner,
) -> TaskRecord:
    """Return a task's record; its arrays begin to be computed."""
    if isinstance(packed, bytes):
        return TaskRecord(next(numbers), name, packed, function, (), (), (), demand, same, where)
    packed.check_futures(board)
    arrays = [(taken.number, _argument(packed.operation, taken)) for taken in packed.arrays]
    used = (*packed.used, *((function,) if function else ()))
    return TaskRecord(
        next(numbers), name, packed.pickled, function, packed.needs, tuple(arrays), used, demand, same, where
    )


def _argument(operation: str, taken: _Taken) -> ArrayArgument:
    """Return how a task finds an array, which begins to be computed; a chunk of what is kept is read from that."""
    expr = taken.array.expr
    if expr.pin is None and isinstance(expr.op, Move) and len(expr.operands) == expr.grid.nblocks == 1:
        whole = expr.operands[0]
        index = expr.op.first_block(expr.grid, whole.grid)
        if index is not None and isinstance(whole.pin, Pin) and whole.pin.held and whole.pin.session is session():
            owner = own_session(operation)
            (pin,) = owner.keep([whole])
            block = int(whole.grid.number(index))
            return ArrayArgument(owner, whole, ChunkViews(owner.engine), block, pin, taken.in_place)
    kept, owner = persist_array(taken.array), own_session(operation)
    return ArrayArgument(owner, kept.expr, ChunkViews(owner.engine))


def check_function(operation: str, fn: Any) -> tuple[Callable[..., Any], str, str]:
    """Return a function, its name, and what calls of it have in common; a list of words is a program."""
    if isinstance(fn, list | tuple):
        words = [os.fspath(w) if isinstance(w, os.PathLike) else w for w in fn]
        if not words or not all(isinstance(w, str) for w in words):
            raise ArgumentError(bad(operation, "fn", fn, "a function, or a program and its arguments as texts"))
        name = os.path.basename(words[0])
        return functools.partial(run_program, words), name, f"program {words[0]}"
    if not callable(fn):
        raise ArgumentError(bad(operation, "fn", fn, "a function, or a program and its arguments as texts"))
    refuse_captured(operation, fn)
    name = name_of(fn)
    code = getattr(fn, "__code__", None)
    line = code.co_firstlineno if code is not None else ""
    return fn, name, f"{getattr(fn, '__module__', '')}.{getattr(fn, '__qualname__', name)}:{line}"


def find_origin() -> str:
    """Return the user's line, for messages."""
    return origin.find_origin().where


def pack_call(
    operation: str, board: Runner, called: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[PackedCall | bytes, Function | None]:
    """Return a call's pickle; where its function can't change, that is sent once, and returned beside it."""
    state = None if kwargs else find_state(called)
    if state is None:
        return PackedCall(operation, name, (called, args, kwargs), board), None
    known = board.functions.get(called)
    if known is None or len(known[0]) != len(state) or any(a is not b for a, b in zip(known[0], state, strict=True)):
        packed = PackedCall(operation, name, called)
        known = board.functions[called] = state, board.watch(Function(next(numbers), packed.pickled, name))
    return pack_arguments(operation, board, name, args), known[1]


def map_packed(
    operation: str, board: Runner, fn: Any, calls: Sequence[tuple[Any, ...]], demand: Demand
) -> list[Future]:
    """Submit calls of one function, which is pickled once."""
    called, name, same = check_function(operation, fn)
    where = find_origin()
    packed = PackedCall(operation, name, called)
    function = board.watch(Function(next(numbers), packed.pickled, name))
    with _nothing_collected():
        if packed.needs or packed.arrays:  # the function itself refers to what other tasks made
            packed_calls = [PackedCall(operation, name, (called, args, {}), board) for args in calls]
            records = [make_record(each, None, name, same, demand, where, board) for each in packed_calls]
        else:
            records = [
                make_record(pack_arguments(operation, board, name, args), function, name, same, demand, where, board)
                for args in calls
            ]
            for record in records if packed.used else ():
                record.used = (*record.used, *packed.used)
        return board.enter(records)


@contextlib.contextmanager
def _nothing_collected() -> Iterator[None]:
    """Have Python's collector of garbage wait: it would look at thousands of new tasks, all in use, time and again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
