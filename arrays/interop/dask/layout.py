"""What of dask's inner parts is used: imported here alone, since they change between versions.

Tested with dask 2026.1.0 and 2026.8.0. What `scheduler=` gets is an expression; its `__dask_graph__()` is a dict of
nodes, each with a key and the keys it takes, called with their values.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ....graph.errors import WindrowError

if TYPE_CHECKING:
    from collections.abc import Callable

TESTED = ("2026.1.0", "2026.8.0")
"""The oldest and the newest version that tests have run with."""


class MissingDask(WindrowError, ImportError):
    """dask isn't installed, or isn't as it was in the versions that are known."""


def _load(module: str, *names: str) -> Any:
    try:
        imported = importlib.import_module(module)
        return [getattr(imported, name) for name in names]
    except (ImportError, AttributeError) as error:
        raise MissingDask(_trouble(error)) from error


def _trouble(error: Exception) -> str:
    try:
        version = importlib.import_module("dask").__version__
    except ImportError:
        return f'wr.dask: the package dask is missing ({error}); install it: pip install "dask[array]>={TESTED[0]}"'
    return f"wr.dask: dask {version} has other inner parts ({error}); expected {TESTED[0]} to {TESTED[1]}"


Alias, DataNode, GraphNode, Task, TaskRef, convert_legacy_graph, run_subgraph = _load(
    "dask._task_spec", "Alias", "DataNode", "GraphNode", "Task", "TaskRef", "convert_legacy_graph", "_execute_subgraph"
)
_load("dask._task_spec", "_is_dask_future")  # futures of other schedulers, by which persist keeps parts on ranks
(order,) = _load("dask.order", "order")
(local_callbacks,) = _load("dask.callbacks", "local_callbacks")
(get_here,) = _load("dask.local", "get_sync")
(key_split,) = _load("dask.utils", "key_split")
persist_by, optimize = _load("dask.base", "persist", "optimize")


def import_arrays() -> Any:
    """Return `dask.array`, which needs NumPy and takes its time."""
    return importlib.import_module("dask.array")


def read_graph(expr: Any) -> dict[Any, Any]:
    """Return the nodes of an expression, or of a graph in any older form, by their keys."""
    graph = expr if isinstance(expr, dict) or not hasattr(expr, "__dask_graph__") else expr.__dask_graph__()
    nodes: dict[Any, Any] = convert_legacy_graph(graph)
    return nodes


def read_annotations(expr: Any) -> dict[str, dict[Any, Any]]:
    """Return what `dask.annotate` says of keys, by what it is."""
    method: Callable[[], Any] | None = getattr(expr, "__dask_annotations__", None)
    return {} if method is None else dict(method() or {})
