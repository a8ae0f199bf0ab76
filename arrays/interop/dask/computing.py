"""What `get` and `persist` do: a graph becomes tasks, and its keys their results."""

from __future__ import annotations

import concurrent.futures
from typing import TYPE_CHECKING, Any

from ....graph.errors import ArgumentError, bad
from ....scheduler.tasks.record import CallState, Demand
from ....workers.rank.output import in_task
from ....workers.rank.task_context import own_rank
from ...tasks.calls import find_origin, own_dispatcher, own_session
from .chunks import compute_together
from .graphs import Entered, Maker, cull
from .kept import KeptKey
from .layout import get_here, local_callbacks, persist_by, read_annotations, read_graph
from .watching import CallbackGraph

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping

    from ....scheduler.tasks.dispatcher import Dispatcher


def get(dsk: Any, keys: Any, options: dict[str, Any]) -> Any:
    """Compute keys of a graph; see `Ranks.get`."""
    if own_rank() is not None or in_task():  # a task computes something of its own
        return get_here(dsk, keys, **options)
    wanted = list(_flatten(keys))
    if not wanted:
        return _lay_out(keys, {})
    nodes = read_graph(dsk)
    nodes.update(options.get("cache") or {})
    demands = _demands(options, read_annotations(dsk))
    with local_callbacks(options.get("callbacks")) as callbacks:
        if callbacks:
            watch = CallbackGraph(nodes, callbacks)
            entered = watch.run(lambda watch: _enter(nodes, wanted, demands, watch), cancel)
        else:
            entered = _enter(nodes, wanted, demands)
            _wait(entered)
    return _lay_out(keys, {key: entered.value(key) for key in wanted})


def persist(collections: Iterable[Any], optimize_graph: bool, options: dict[str, Any]) -> Any:
    """Begin to compute collections; see `Ranks.persist`."""

    def keep(dsk: Any, keys: Any, **options: Any) -> list[Any]:
        wanted = list(_flatten(keys))
        nodes = read_graph(dsk)
        entered = _enter(nodes, wanted, _demands(options, read_annotations(dsk)))
        return [_keep(key, entered) for key in keys]

    persisted: Any = persist_by(*collections, traverse=False, optimize_graph=optimize_graph, scheduler=keep, **options)
    return persisted


def _keep(key: Hashable, entered: Entered) -> Any:
    end = entered.follow(key)
    future = entered.futures.get(end)
    return entered.nodes[end].value if future is None else KeptKey(key, future)


def _enter(
    nodes: Mapping[Any, Any], wanted: list[Any], demands: Callable[[Any], Demand], watch: CallbackGraph | None = None
) -> Entered:
    active, board = own_session("dask.get"), own_dispatcher("dask.get")
    entered = Entered(cull(nodes, wanted))
    compute_together(entered.nodes)
    Maker(entered, board, active, demands, find_origin()).enter(wanted, watch)
    return entered


def _wait(entered: Entered) -> None:
    """Wait for the wanted keys; cancel the rest when one fails, or the user interrupts."""
    futures = list(entered.futures.values())
    try:
        done, _ = concurrent.futures.wait(futures, return_when=concurrent.futures.FIRST_EXCEPTION)
        for future in futures:
            if future in done:
                error = future.exception()
                if error is not None:
                    raise error
    except BaseException:
        cancel(entered)
        raise


def cancel(entered: Entered) -> None:
    """Cancel what of a graph hasn't begun."""
    records = list(entered.records.values())
    if not records:
        return
    board: Dispatcher = own_dispatcher("dask.get")
    for states in ((CallState.WAITING, CallState.READY), (CallState.SENT,)):
        for record in reversed(records):
            if record.state in states:
                board.cancel(record, False)


def _demands(options: Mapping[str, Any], annotations: Mapping[str, Mapping[Any, Any]]) -> Callable[[Any], Demand]:
    """Return what tells the demand of a key's task."""
    retries, priority = options.get("retries") or 0, options.get("priority") or 0
    common = _demand(retries, priority)
    of_keys = [annotations.get(name) or {} for name in ("retries", "priority")]
    if not any(of_keys):
        return lambda key: common
    return lambda key: _demand(of_keys[0].get(key, retries), of_keys[1].get(key, priority))


def _demand(retries: Any, priority: Any) -> Demand:
    if not isinstance(retries, int) or retries < 0:
        raise ArgumentError(bad("dask.get", "retries", retries, "an integer of 0 or more"))
    if not isinstance(priority, int | float) or priority != priority:
        raise ArgumentError(bad("dask.get", "priority", priority, "a number; larger ones go first"))
    return Demand(retries=retries, priority=float(priority), writable=True)


def _flatten(keys: Any) -> Iterable[Any]:
    if not isinstance(keys, list):
        yield keys
        return
    for each in keys:
        yield from _flatten(each)


def _lay_out(keys: Any, values: Mapping[Any, Any]) -> Any:
    return tuple(_lay_out(each, values) for each in keys) if isinstance(keys, list) else values[keys]
