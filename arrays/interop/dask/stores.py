"""Tasks of `da.store`: they write on ranks where the target is one that every rank opens for itself, else here."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from .layout import DataNode, GraphNode, run_subgraph

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

WRITERS = frozenset(["load_store_chunk", "store_chunk", "load_chunk"])


def writes_here(node: object, nodes: Mapping[Any, Any]) -> bool:
    """Tell whether a node writes into what only this process has: arrays in memory, open files, objects of users."""
    for task in _tasks(node):
        function = task.func.func if isinstance(task.func, functools.partial) else task.func
        if getattr(function, "__name__", "") in WRITERS and str(function.__module__).startswith("dask."):
            return not any(_opens_anywhere(value) for value in values_of(node, nodes))
    return False


def _tasks(node: Any) -> Iterator[Any]:
    func = getattr(node, "func", None)
    if func is run_subgraph:
        for each in node.args[0].values():
            yield from _tasks(each)
    elif func is not None:
        yield node


def values_of(node: Any, nodes: Mapping[Any, Any]) -> Iterator[Any]:
    """Go through the data that a node has in it or takes."""
    if isinstance(node, DataNode):
        yield node.value
        return
    for dep in node.dependencies:
        if isinstance(nodes.get(dep), DataNode):
            yield nodes[dep].value
    for task in _tasks(node):
        more = task.func.keywords.values() if isinstance(task.func, functools.partial) else ()
        for part in (*task.args, *task.kwargs.values(), *more):
            if isinstance(part, GraphNode):
                yield from values_of(part, nodes)
            else:
                yield part
    if getattr(node, "func", None) is run_subgraph:
        for each in node.args[0].values():
            if isinstance(each, DataNode):
                yield each.value


def _opens_anywhere(value: object) -> bool:
    """Tell whether a target is an array of zarr's in a store that isn't in memory."""
    store = getattr(value, "store", None)
    if not type(value).__module__.startswith("zarr.") or store is None:
        return False
    return "Memory" not in type(store).__name__ and not isinstance(store, dict)
