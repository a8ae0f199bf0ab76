"""From a graph of dask's to tasks: each node is a task, which takes the results of others; small data go along."""

from __future__ import annotations

import contextlib
import copyreg
import functools
import io
import pickle
from collections import ChainMap, Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import cloudpickle

from ....graph.errors import ArgumentError, ClusterError
from ....scheduler.tasks.arrays import ArrayArgument, ChunkViews
from ....scheduler.tasks.record import Demand, Function, TaskRecord
from ....workers.shared.pickled_by_name import noting
from ....workers.tasks.needs import LocalCall
from ....workers.tasks.packing import weigh
from ...execution.compute import persist_array
from ...tasks.calls import PackedCall, make_record, numbers
from ...tasks.random_states import random_states
from .chunks import ChunkTask, run_with_chunks
from .kept import KeptKey, find_inner
from .layout import Alias, DataNode, GraphNode, Task, key_split, order, run_subgraph
from .lazy import holds_lazy, takes_lazy
from .running import NodeValues, SharedFunction, run_node, run_task
from .stores import writes_here
from .watching import EndNotice

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping

    from ....scheduler.session.session import Session
    from ....scheduler.tasks.dispatcher import Dispatcher
    from ....scheduler.tasks.future import Future
    from .watching import CallbackGraph

FEW = 64
"""Data of so many parts at most, none large, go along with each task that takes them."""


def cull(nodes: Mapping[Any, Any], keys: Iterable[Any]) -> dict[Any, Any]:
    """Return what some keys take of a graph: KeyError where it lacks a key, ValueError where it lacks an input."""
    culled: dict[Any, Any] = {}
    pending = list(keys)
    for key in pending:
        if key not in nodes:
            raise KeyError(key)
    while pending:
        key = pending.pop()
        if key in culled:
            continue
        node = nodes[key]
        culled[key] = node = node if isinstance(node, GraphNode) else DataNode(key, node)
        for each in node.dependencies:
            if each not in nodes:
                raise ValueError(f"Missing dependency {each} for dependents {{{key!r}}}")
            pending.append(each)
    return culled


@dataclass
class Entered:
    """A graph's tasks: records by key, in the order in which they were made."""

    nodes: dict[Any, Any]
    records: dict[Any, TaskRecord] = field(default_factory=dict)
    futures: dict[Any, Future] = field(default_factory=dict)
    """Of the keys that are wanted, and of those that were persisted before."""
    ends: set[Any] = field(default_factory=set)
    """Keys that are wanted, but for other names of them."""

    def follow(self, key: Hashable) -> Any:
        """Return the key for which one may be another name."""
        node = self.nodes[key]
        while isinstance(node, Alias):
            key = node.target
            node = self.nodes[key]
        return key

    def value(self, key: Hashable) -> Any:
        """Return the value of a wanted key, or raise what its task raised."""
        key = self.follow(key)
        node = self.nodes[key]
        return node.value if type(node) is DataNode else self.futures[key].result()

    def forget(self, key: Hashable) -> None:
        """Let go of a result that nobody has asked for."""
        if key not in self.ends:
            self.futures.pop(key, None)


@dataclass
class Maker:
    """Makes the tasks of a graph.

    `demands` tells what a key's task needs, `where` the user's line.
    """

    entered: Entered
    board: Dispatcher
    active: Session
    demands: Any
    where: str
    functions: dict[int, Function | None] = field(default_factory=dict)
    placed: dict[Any, Future] = field(default_factory=dict)
    labels: dict[Any, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.alone = self.active.engine.shared
        self.by_value = bool(cloudpickle.list_registry_pickle_by_value())
        self.run_node, self.run_task = (
            self.board.watch(Function(next(numbers), cloudpickle.dumps(each), each.__name__))
            for each in (run_node, run_task)
        )
        self.users: dict[Any, int] = {}
        self.heads = Counter(id(_head(node)) for node in self.entered.nodes.values() if type(node) is Task)
        self.staying: set[Any] = set()

    def enter(self, wanted: Iterable[Any], watch: CallbackGraph | None = None) -> None:
        """Enter all tasks, and note the futures of some keys."""
        entered, nodes = self.entered, self.entered.nodes
        entered.ends = {entered.follow(key) for key in wanted}
        for node in nodes.values():
            for each in node.dependencies:
                self.users[each] = self.users.get(each, 0) + 1
        places = order(nodes)
        for key in sorted(nodes, key=places.__getitem__):
            node = nodes[key]
            if isinstance(node, KeptKey):
                self._check(node)
                entered.futures[key] = node.future
            elif not isinstance(node, Alias | DataNode):
                entered.records[key] = record = self._record(key, node)
                record.wanted = key in entered.ends
                if watch is not None:
                    record.wanted = record.wanted or watch.values
                    record.future = EndNotice(key, watch.ended)
        new_futures = iter(self.board.enter(list(entered.records.values())))
        for key, record in entered.records.items():
            if record.future is not None and not isinstance(record.future, EndNotice):
                entered.futures[key] = future = next(new_futures)
                if watch is not None:
                    future.add_done_callback(EndNotice(key, watch.ended).set_result)

    def _check(self, node: KeptKey) -> None:
        if node.future._dispatcher is not self.board:
            raise ClusterError(f"dask.get: {node.key!r} was persisted on another cluster, or one that is closed")

    def _record(self, key: Hashable, node: object) -> TaskRecord:
        name, demand = self._label(key), self.demands(key)
        if not writes_here(node, self.entered.nodes) and not (self.alone and not takes_lazy(node, self.entered.nodes)):
            with contextlib.suppress(ArgumentError):
                return self._packed(key, node, name, demand)
        return self._held(node, name, replace(demand, here=not self.alone))  # what it takes can't travel, or needn't

    def _gather(self, node: Any, by_reference: bool) -> tuple[dict[Any, Any], dict[Any, TaskRecord], list[Any]]:
        """Return what a node takes: the values at hand, the tasks of others, what must live as long as the task."""
        known: dict[Any, Any] = {}
        needs: dict[Any, TaskRecord] = {}
        used: list[Any] = []
        for dep in node.dependencies:
            dependency = self._find(dep, used, by_reference)
            if isinstance(dependency, TaskRecord):
                needs[dep] = dependency
            else:
                known[dep] = dependency.value
        return known, needs, used

    def _find(self, dep: Any, used: list[Any], by_reference: bool) -> Any:
        """Return the task that has what a node takes, or the node of data that go along."""
        key = self.entered.follow(dep)
        node = self.entered.nodes[key]
        if isinstance(node, KeptKey):
            used.append(node.future)
            return node.future._record
        if not isinstance(node, DataNode):
            return self.entered.records[key]
        if by_reference or self.users.get(key, 0) < 2 or weigh(node.value, FEW) >= 0 or holds_lazy(node.value):
            return node
        if key not in self.placed:
            self._try_pickle(key, node.value)
            self.placed[key] = self.board.place(
                TaskRecord(next(numbers), self._label(key), b"", None, (), (), (), Demand(), "data"), node.value
            )
        used.append(self.placed[key])
        return self.placed[key]._record

    def _try_pickle(self, key: Hashable, value: object) -> None:
        if key in self.staying:
            raise ArgumentError(f"dask.get: {key!r} can't be pickled")
        try:
            cloudpickle.dumps(value, 5, buffer_callback=lambda _: None)
        except Exception as error:
            self.staying.add(key)
            raise ArgumentError(
                f"dask.get: the data {key!r}, a {type(value).__name__}, can't be pickled: {type(error).__name__}: "
                f"{error}; expected what can travel to other processes"
            ) from error

    def _label(self, key: Hashable) -> str:
        first = key[0] if type(key) is tuple and key else key
        label = self.labels.get(first)
        if label is None:
            label = self.labels[first] = str(key_split(first))
        return label

    def _held(self, node: object, name: str, demand: Demand) -> TaskRecord:
        known, needs, used = self._gather(node, True)
        for each in find_inner(node, KeptKey):  # their values must be there
            self._check(each)
            needs[each] = each.future._record
            used.append(each.future)
        names = [(key, record.number) for key, record in needs.items()]
        chunks = [(next(numbers), each) for each in find_inner(node, ChunkTask)]

        def make(values: dict[int, Any]) -> Any:
            taken = known | {key: values[number] for key, number in names}
            if not chunks:
                return run_node, (node, taken), {}
            return run_with_chunks, (node, taken, {id(each): values[number] for number, each in chunks}), {}

        arrays = tuple(
            (number, ArrayArgument(self.active, self._expr(each.args[0]), ChunkViews(self.active.engine)))
            for number, each in chunks
        )
        unique = tuple({id(r): r for r in needs.values()}.values())
        return TaskRecord(
            next(numbers), name, LocalCall(make), None, unique, arrays, tuple(used), demand, f"dask {name}", self.where
        )

    def _common(self, node: Any) -> Function | None:
        """Return what a task has in common with others, if it has and that pickles without futures and arrays."""
        head = id(_head(node))
        if self.heads[head] < 2:
            return None
        if head not in self.functions:
            self.functions[head] = None
            with contextlib.suppress(ArgumentError):
                packed = PackedCall("dask.get", "", SharedFunction(node.func, node.args[: _count_first(node)]))
                if not (packed.needs or packed.arrays or packed.used):
                    function = Function(next(numbers), packed.pickled, "task")
                    self.functions[head] = self.board.watch(function)
        return self.functions[head]

    def _expr(self, chunk: Any) -> Any:
        held: Any = chunk if self.alone else persist_array(chunk)
        return held.expr

    def _packed(self, key: Hashable, node: Any, name: str, demand: Demand) -> TaskRecord:
        known, needs, used = self._gather(node, False)
        values = NodeValues(known, tuple(needs), tuple(record.number for record in needs.values()))
        call: Any = (None, (node, values), {})
        function = self._common(node) if type(node) is Task else None
        if function is not None:
            call = (None, (node.args[_count_first(node) :], node.kwargs, values), {})
        elif type(node) is Task:
            function, call = self.run_task, (None, (node.func, node.args, node.kwargs, values), {})
        else:
            function = self.run_node
        unique = tuple({id(r): r for r in needs.values()}.values())
        packed = None if self.by_value else _quickly(call)
        if packed is not None:
            return TaskRecord(
                next(numbers),
                name,
                packed,
                function,
                unique,
                (),
                (*used, function),
                demand,
                f"dask {name}",
                self.where,
            )
        slow = PackedCall("dask.get", str(key), call)
        record = make_record(slow, function, name, f"dask {name}", demand, self.where, self.board)
        record.needs = tuple({id(r): r for r in (*record.needs, *unique)}.values())
        record.used = (*record.used, *used, *slow.futures)
        return record


def _head(node: Any) -> Any:
    """Return what tells a task's function: for what was fused, the nodes in it."""
    return node.args[0] if node.func is run_subgraph else node.func


def _count_first(node: Any) -> int:
    """Return how many of the first arguments belong to the function: of what was fused, all but what it takes."""
    return 3 if node.func is run_subgraph else 0


def _quickly(call: Any) -> bytes | None:
    """Pickle what has no function of the script's, no future and no array in it; None for the rest."""
    file = io.BytesIO()
    quick = pickle.Pickler(file, 5)
    quick.dispatch_table = _table()
    with noting() as used:
        try:
            quick.dump(call)
        except Exception:  # PackedCall tells what it is
            return None
    packed = file.getvalue()
    return None if used or b"__main__" in packed else packed


@functools.cache
def _table() -> Any:
    return ChainMap(random_states(), copyreg.dispatch_table)
