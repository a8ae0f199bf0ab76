"""What makes arrays run: compute, persist, wait, release."""

from __future__ import annotations

import contextlib
import importlib
import threading
import time
from concurrent.futures import Future
from concurrent.futures import wait as futures_wait
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.errors import ArgumentError, OutOfMemory, WaitTimeout, bad
from ...graph.expr.expr import remove_pins, walk
from ...graph.kinds.anchor import restored, spread_over
from ...graph.kinds.source import Host
from ...graph.passes.hold_sources import HELD
from ...scheduler.ledger.lineage import locate_chunks
from ...scheduler.session.cluster import session
from ...scheduler.session.pin import Pin
from ...scheduler.shared.pages.counting import count_additions
from ...scheduler.tasks.future import note_interrupt
from ...workers.config import config
from ..base import ArrayBase, LazyCalls, LazyWrites, make, wrap
from .deferred import evaluate, expand_recipes
from .holders import as_lists, can_hold, collect_held, map_held
from .scalar_reads import element
from .scalar_results import stays_array

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...graph.expr.expr import Expr
    from ..array import Array

__all__ = [
    "compute",
    "owners",
    "persist",
    "release",
    "wait",
]


def compute(*arrays: Any) -> Any:
    """Compute arrays together; work that they share is done once.

    Parameters
    ----------
    *arrays : Array or Delayed, or what holds them
        The arrays, lazy calls, and what `store` and `to_zarr` return with `compute=False`, which writes; and lists,
        tuples, deques, dicts, dataclasses, NumPy's arrays of Python objects, objects of xarray's (DataArray, Dataset,
        DataTree) and pandas' that hold some, one in another. A generator stands for the list of what it yields. What is
        dask's, beside these or in them, is computed by dask. Anything else is returned as it is.

    Returns
    -------
    tuple, or list, tuple or dict
        A tuple with a value for each argument, however many there are; for a sole list, tuple or dict one of those. An
        array's value is a NumPy array, new and writable, in the driver's memory; a NumPy scalar where there are no
        axes. `x.compute()` gives the value alone. A lazy call's value is what it returns. What holds arrays is given
        back with their values in place of them.

    Raises
    ------
    OutOfMemory
        The computation doesn't fit into the memory of the ranks.
    ClusterError
        The cluster is closed, or lost what it needs.
    Exception
        What a user's function raised, with a note that says where.

    >>> x = wr.arange(10)
    >>> wr.compute(x.sum(), x.max())
    (np.int64(45), np.int64(9))
    >>> wr.compute(x.sum())
    (np.int64(45),)
    >>> wr.compute([x[k] for k in (3, 5)])
    [np.int64(3), np.int64(5)]
    >>> wr.compute({"total": x.sum(), "ends": [x[0], x[-1]]})
    {'total': np.int64(45), 'ends': [np.int64(0), np.int64(9)]}
    """
    arrays = as_lists(arrays)
    lazy = collect_held(arrays, _COMPUTED)
    calls = [each for each in lazy if isinstance(each, LazyCalls)]
    futures = calls[0]._begin(calls) if calls else []  # they run beside the arrays
    try:
        return _fill(arrays, lazy, futures)
    except KeyboardInterrupt as error:
        note_interrupt(futures, error)
        futures.clear()  # nobody else has them
        raise


def _fill(arguments: tuple[Any, ...], lazy: list[Any], futures: list[Any]) -> Any:
    """Return the arguments with values in place of what is lazy in them; futures stand for lazy calls."""
    coming = iter(futures)
    values = iter(_values([each for each in lazy if isinstance(each, ArrayBase)]))
    by_dask = iter(_values_of_dask([each for each in lazy if isinstance(each, OfDask)]))

    def fill(each: Any) -> Any:
        if isinstance(each, OfDask):
            return next(by_dask)
        if isinstance(each, LazyWrites):
            return each.compute()
        return next(coming).result() if isinstance(each, LazyCalls) else _hand_out(each, next(values))

    return _as_asked(arguments, map_held(arguments, fill, _COMPUTED))


def _as_asked(arguments: tuple[Any, ...], results: tuple[Any, ...]) -> Any:
    """Return the results of all arguments; those of a sole list, tuple or dict as one."""
    sole = len(arguments) == 1 and isinstance(arguments[0], list | tuple | dict)
    return results[0] if sole else results


def compute_array(array: ArrayBase) -> Any:
    """Return the value of one array: a NumPy array, or a scalar."""
    return _hand_out(array, _values([array])[0])


def _values(arrays: list[ArrayBase]) -> list[np.ndarray[Any, Any]]:
    """Compute arrays; a single element that is at hand is read where it lies."""
    if len(arrays) == 1 and arrays[0].ndim == 0:
        value = element(arrays[0])
        if value is not None:
            return [np.array(value, arrays[0].dtype)]
    if not arrays:
        return []
    with suggesting(arrays):
        return evaluate([a.expr for a in arrays])


@contextlib.contextmanager
def suggesting(arrays: Sequence[ArrayBase]) -> Iterator[None]:
    """Say in an error of what has no room which chunks have."""
    try:
        yield
    except OutOfMemory as error:
        with contextlib.suppress(Exception):  # the error that is told is the one that there was
            plan = importlib.import_module("..display.explain", __package__).explain(*arrays)
            if plan.suggestion is not None:
                error.args = (f"{error}; what has room: {plan.suggestion}",)
        raise


class _MarkedByDask(type):
    def __instancecheck__(cls, each: Any) -> bool:
        kind = type(each)
        return (
            hasattr(kind, "__dask_graph__")
            and kind.__module__.partition(".")[0] != "xarray"  # whose objects hold arrays of either
            and each.__dask_graph__() is not None
        )


class OfDask(metaclass=_MarkedByDask):
    """What dask computes: arrays, dataframes, and what xarray writes later (`to_zarr(compute=False)`)."""


def _values_of_dask(collections: list[Any]) -> tuple[Any, ...]:
    """Have dask compute what is dask's, all at once."""
    if not collections:
        return ()
    values: tuple[Any, ...] = importlib.import_module("dask").compute(*collections, traverse=False)
    return values


_COMPUTED = (ArrayBase, LazyCalls, LazyWrites, OfDask)


def _hand_out(array: ArrayBase, value: np.ndarray[Any, Any]) -> Any:
    """Hand out a scalar where NumPy's functions do."""
    return value if array.ndim or stays_array(array.expr) else value[()]


def persist(*arrays: Any, spread: bool | None = None) -> Any:
    """Start computing arrays, and keep their chunks in the memory of the ranks.

    Parameters
    ----------
    *arrays : Array or Delayed, or what holds them
        The arrays, and lazy calls; and what `compute` takes that holds some.
    spread : bool, optional
        Whether each rank keeps an equal run of the chunks, for `x.local` and rank programs, though few ranks are
        quicker where an array is small. None: in SPMD mode small arrays are spread; else chunks lie with the ranks that
        were free, or had the chunks that they are made from.

    Returns
    -------
    tuple, or list, tuple or dict
        A tuple with an array for each argument, however many there are; for a sole list, tuple or dict one of those.
        The arrays have the same elements; their chunks are kept as long as one of them lives, or until `release`. They
        are there at once; `wait` waits. In place of a lazy call, which begins to run, one that stands for its result.
        What holds arrays is given back with the kept ones. `x.persist()` gives the array alone.

    Raises
    ------
    ArgumentError
        An argument is no Windrow array or lazy call, nor of a kind that may hold some; or `spread` is no bool.
    ClusterError
        The cluster is closed.

    Notes
    -----
    Unlike dask's, the arrays stay lazy: an error of the computation is raised where the result is used or waited for.

    >>> x = wr.ones(1000) * 2
    >>> total, kept = wr.persist(x.sum(), x)
    >>> kept.sum().compute()
    np.float64(2000.0)
    """
    _check_spread(spread)
    arrays = as_lists(arrays)
    for each in arrays:
        if not isinstance(each, _KEPT) and not can_hold(each):
            raise ArgumentError(bad("persist", "arrays", each, "Windrow arrays, or what holds some"))
    lazy = collect_held(arrays, _KEPT)
    calls = [each for each in lazy if isinstance(each, LazyCalls)]
    kept = iter(_persist([each for each in lazy if not isinstance(each, LazyCalls)], spread))
    futures = iter(calls[0]._begin(calls) if calls else ())

    def fill(each: object) -> Any:
        return each._from(next(futures)) if isinstance(each, LazyCalls) else next(kept)

    return _as_asked(arrays, map_held(arrays, fill, _KEPT))


_KEPT = (ArrayBase, LazyCalls)


def persist_array(array: ArrayBase, spread: bool | None = None) -> Array:
    """Keep the chunks of one array."""
    _check_spread(spread)
    return _persist([array], spread)[0]


def _check_spread(spread: bool | None) -> None:
    if spread is not None and not isinstance(spread, bool):
        raise ArgumentError(bad("persist", "spread", spread, "True, False or None"))


def _persist(arrays: list[ArrayBase], spread: bool | None) -> list[Array]:
    if not arrays:
        return []
    if spread or (spread is None and session().place[1] > 1):
        arrays = [_spread(array) if spread or array.nbytes <= config.chunk_bytes else array for array in arrays]
    arrays = [_read_once(array) for array in arrays]
    plain = expand_recipes([a.expr for a in arrays])
    with suggesting(arrays):
        pins = session().keep(plain)
    return [_keep(remove_pins(a.expr), root, pin) for a, root, pin in zip(arrays, plain, pins, strict=True)]


def _spread(array: ArrayBase) -> ArrayBase:
    """Return an array whose chunks are dealt to all ranks in equal runs; what is kept lies where it lies."""
    ranks = session().ranks
    if ranks == 1 or array.npartitions == 1 or array.expr.pin is not None:
        return array
    return make(spread_over(ranks), (array,), array.expr.grid, array.dtype)


def _read_once(array: ArrayBase) -> ArrayBase:
    """Return an array whose chunks are held, not read again from the files, or the object, that it comes from."""
    op = array.expr.op
    if not isinstance(op, Host) or op.data.in_memory or array.expr.pin is not None:
        return array
    return make(HELD, (array,), array.expr.grid, array.dtype)


def _keep(bare: Expr, root: Expr, pin: Pin) -> Array:
    """Return an array that is kept; where its lineage is long, over a copy with which that begins anew."""
    copy = session().anchor(root, pin)
    return wrap(bare.over(bare.operands, pin) if copy is None else restored(bare, copy, pin))


def wait(*arrays: Any, timeout: float | None = None) -> None:
    """Wait until persisted arrays are there; chunks that were lost with a rank are waited for again.

    Parameters
    ----------
    *arrays : Array or Future, or list, tuple or dict of them
        What `persist` returned, and arrays made from that; futures, of whatever comes of them: what a task raised is
        raised by its `result`.
    timeout : float, optional
        Seconds after which to give up; None: never.

    Raises
    ------
    ArgumentError
        There is no argument, one was not persisted, or `timeout` is not a number of seconds.
    WaitTimeout
        Not all is there after so many seconds. The computation goes on.
    KeyboardInterrupt
        Ctrl-C ended the wait. What is persisted goes on, and calls do as long as their futures are held; then they are
        cancelled.
    Exception
        What the computation raised.

    >>> x = wr.persist(wr.arange(1000) ** 2)
    >>> wr.wait(x)
    >>> wr.wait(x, timeout=10)
    """
    if not arrays:
        raise ArgumentError(bad("wait", "arrays", arrays, "at least one persisted array"))
    number = isinstance(timeout, int | float | np.integer | np.floating) and not isinstance(timeout, bool)
    if timeout is not None and not (number and timeout >= 0):
        raise ArgumentError(bad("wait", "timeout", timeout, "None, or seconds"))
    deadline = None if timeout is None else time.monotonic() + min(float(timeout), threading.TIMEOUT_MAX)
    waited = [each for value in arrays for each in _to_wait_for(value)]
    futures = [each for each in waited if not isinstance(each, ArrayBase)]
    try:
        late = futures_wait(futures, None if deadline is None else max(0.0, deadline - time.monotonic())).not_done
    except KeyboardInterrupt as error:
        note_interrupt(futures, error)
        del arrays, waited, futures  # a kept exception's traceback has this frame
        raise
    if late:
        raise WaitTimeout(f"wait: after {timeout} s {len(late)} of {len(futures)} futures are not done; they go on")
    kept: dict[Pin, Expr] = {}
    for array in [each for each in waited if isinstance(each, ArrayBase)]:
        pins = {
            node.pin: node for node in walk([array.expr], _is_settled) if isinstance(node.pin, Pin) and node.pin.known
        }
        if not pins:
            raise ArgumentError(bad("wait", "arrays", array, "arrays that were persisted: y = x.persist(); wait(y)"))
        kept |= pins
    for place, (pin, node) in enumerate(kept.items()):
        if not pin.wait(deadline):
            origin_text = f", made at {node.origin.where}" if node.origin.where else ""
            raise WaitTimeout(
                f"wait: after {timeout} s {len(kept) - place} of {len(kept)} persisted arrays may not be there yet: "
                f"{node.label}{origin_text}, {pin.job.done} of {pin.job.total} tasks are done"
            )
    count_additions(list(kept.values()))


def _to_wait_for(value: object) -> list[Any]:
    """Return the arrays and futures that an argument of `wait` is or holds."""
    held = collect_held(value, (ArrayBase, Future))
    if not held:
        raise ArgumentError(bad("wait", "arrays", value, "persisted Windrow arrays, or futures"))
    return held


def _is_settled(node: Expr) -> bool:
    """Whether nothing below a node has to be waited for."""
    return node.pin is not None or not node.pinned


def release(array: Array) -> None:
    """Free the chunks that `persist` keeps; the array is computed again when it is used.

    Parameters
    ----------
    array : Array
        What `persist` returned.

    Raises
    ------
    ArgumentError
        `array` is not a Windrow array.

    >>> x = wr.ones(10).persist()
    >>> wr.release(x)
    """
    if not isinstance(array, ArrayBase):
        raise ArgumentError(bad("release", "array", array, "a Windrow array"))
    pin: Any = array.expr.pin
    if pin is not None:
        pin.release()
        array._replace(array.expr, array.expr.over(array.expr.operands, None))


def owners(array: Array) -> np.ndarray[Any, Any]:
    """Return which rank has each chunk of a persisted array now; nothing is computed, and nothing waited for.

    Parameters
    ----------
    array : Array
        What `persist` returned.

    Returns
    -------
    numpy.ndarray
        Integers, of the shape `array.numblocks`: the rank in whose memory, or on whose disk, a chunk is. -1: it isn't
        there now, since it waits to be computed, or was lost and is computed anew; or it is in a file of yours.

    Raises
    ------
    ArgumentError
        `array` was not persisted, or has been released.
    ClusterError
        Its cluster is closed.

    >>> x = wr.ones((4, 6), chunks=(2, 3)).persist()
    >>> wr.wait(x)
    >>> wr.owners(x)  # without other ranks all are on rank 0
    array([[0, 0],
           [0, 0]])
    """
    pin = array.expr.pin if isinstance(array, ArrayBase) else None
    if not isinstance(pin, Pin) or not pin.held:
        raise ArgumentError(bad("owners", "array", array, "an array that was persisted: y = x.persist(); y.owners()"))
    pin.session.check_open()
    ranks: np.ndarray[Any, Any] | None = pin.session.ask(partial(locate_chunks, token=array.expr.token))
    return np.full(array.numblocks, -1) if ranks is None else ranks.reshape(array.numblocks)
