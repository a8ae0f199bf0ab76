"""Graphs of stages and of chunk tasks, with what the ledger knows of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.arguments import check_integer, is_integer
from ...graph.errors import ArgumentError, IndexingError, bad
from ...scheduler.ledger.stage_record import WORDS, ChunkState
from ..execution.deferred import sketch_plan
from ..execution.holders import held_arrays
from .directed import sort_inputs_first
from .operation_graph import operation_graph
from .planned import PlannedStage, count_bytes_read, trace

if TYPE_CHECKING:
    from collections.abc import Sequence

    import networkx

    from ...graph.chunks.block_reads import Rows
    from ...graph.chunks.grid import Index
    from ..base import ArrayBase

__all__ = [
    "stage_graph",
    "task_graph",
]

LEVELS = ("operations", "stages", "tasks")

PLANNED = "planned"
"""The state of a task that the ledger doesn't know."""
_LARGEST = 10_000_000
"""Tasks of the largest stage of which a few are looked at: what its tasks read is found for all of them."""


def graph_of(array: ArrayBase, level: str, limit: int, block: int | tuple[int, ...] | None) -> networkx.DiGraph:
    """Return an array's graph of a level, or raise where arguments don't go together; see the method `graph`."""
    if not isinstance(level, str) or level not in LEVELS:
        raise ArgumentError(bad("graph", "level", level, ", ".join(map(repr, LEVELS))))
    check_integer("graph", "limit", limit, 1)
    if level == "tasks":
        return task_graph(array, limit=limit, block=block)
    if block is not None:
        raise ArgumentError(bad("graph", "block", block, f"None, or level='tasks' where level is {level!r}"))
    return operation_graph(array) if level == "operations" else stage_graph(array)


def stage_graph(*arrays: Any) -> networkx.DiGraph:
    """Return the graph of the stages that arrays are made by; nothing is computed.

    It is the plan of `compute`, `persist` and recovery: what would run, and behind chunks that are stored what they
    were made from.

    Parameters
    ----------
    *arrays : Array, or what holds some
        The arrays.

    Returns
    -------
    networkx.DiGraph
        A node for each stage, named by its token, with label, operations (those of its program), shape, dtype, chunks
        (numbers of chunks), bytes (of its result), tasks, states (how many tasks are in which state), owners (how many
        chunks each rank has) and origin (the user's line). Each edge has the bytes that are read. The graph's own
        attribute `arrays` has the tokens of the arrays.

    Raises
    ------
    ArgumentError
        An argument neither is a Windrow array nor holds one.
    ImportError
        networkx isn't installed.

    See Also
    --------
    task_graph : Tells what the states are.

    Notes
    -----
    An operation that is planned when it runs, such as `sort`, is one stage with one task.

    >>> x = wr.ones((4, 4), chunks=2)
    >>> stages = wr.stage_graph((x + x.T).sum())
    >>> for _, stage in stages.nodes(data=True):
    ...     print(stage["label"], stage["operations"], stage["states"])
    ones+transpose+add+sum ('full', 'full', 'add', 'sum') {'planned': 1}
    """
    import networkx

    lazy = held_arrays("stage_graph", arrays)
    traced = _trace_in_order(lazy)
    graph: Any = networkx.DiGraph(arrays=tuple(sketch_plan(a).token for a in lazy))
    for token, one in traced.items():
        chunks = _owners(one).repeat(one.blocks_per_task)[: one.stage.grid.nblocks]
        ranks, held = np.unique(chunks[chunks >= 0], return_counts=True)
        graph.add_node(
            token,
            **_describe(one),
            bytes=one.stage.grid.size * one.stage.dtype.itemsize,
            tasks=one.ntasks,
            states=_count_states(one),
            owners=dict(zip(ranks.tolist(), held.tolist(), strict=True)),
        )
    for token, one in traced.items():
        read = dict.fromkeys(one.inputs, 0)
        for number, count, _ in count_bytes_read(one.stage) if read else ():  # a copy's history may be forgotten
            read[one.inputs[number]] += count
        graph.add_edges_from((each, token, {"bytes": count}) for each, count in read.items())
    return graph


def task_graph(*arrays: Any, limit: int = 10_000, block: int | tuple[int, ...] | None = None) -> networkx.DiGraph:
    """Return the graph of the tasks that make the chunks of arrays; nothing is computed.

    It is the lineage of the chunks: of those that are stored, too. The edges are what the scheduler goes by. So
    `networkx.ancestors` of a task tells what its chunk was made from, and what would run again if all of it were lost.

    Parameters
    ----------
    *arrays : Array, or what holds some
        The arrays.
    limit : int
        How many tasks the graph may have.
    block : int or tuple of int, optional
        The index of a chunk of the one array that is given: the graph has the task that makes it, and what that is made
        from. None: all chunks of all arrays.

    Returns
    -------
    networkx.DiGraph
        A node for each task that has part in a chunk of the arrays, named (token of the stage, number of the task),
        with label, operations, dtype, block (index of the first block that it makes), blocks (numbers, in C order, of
        all that it makes), bytes, state, owner (the rank that has its chunks, or runs it; None: there is none), place
        ("arena", "disk" or "user": your own array or file; None: the chunks aren't there) and origin. An edge leads
        from each task to those that read its chunks. The graph's own attribute `arrays` has the tokens of the arrays,
        and `task`, where a block is given, the name of the task that makes it.

    Raises
    ------
    ArgumentError
        An argument neither is nor holds a Windrow array, there are more tasks than `limit`, or a block is wanted of
        several arrays.
    IndexingError
        The array has no such chunk.
    ImportError
        networkx isn't installed.

    Notes
    -----
    The states are the scheduler's: "waiting" for chunks, "ready", "running", "stored", "lost" (planned anew before
    long), "released" (not needed now, or no more). "planned" are tasks that it doesn't know yet. The chunks of small
    arrays are made by one task, many at once. An operation that is planned when it runs, such as `sort`, is one task.

    >>> import networkx as nx
    >>> import windrow as wr
    >>> x = wr.map_blocks(abs, wr.arange(4, chunks=2))
    >>> tasks = wr.task_graph(x + x.sum())
    >>> (one,) = [task for task in tasks if not tasks.out_degree(task)]
    >>> [tasks.nodes[task]["label"] for task in nx.topological_sort(tasks)]
    ['arange+map_blocks(abs) (0,)', 'arange+map_blocks(abs) (1,)', 'sum', 'add (0,) to (1,)']
    >>> len(nx.ancestors(tasks, one)), tasks.nodes[one]["state"]
    (3, 'planned')
    >>> first = wr.task_graph(x, block=0)
    >>> [data["block"] for _, data in first.nodes(data=True)]
    [(0,)]
    """
    return make_task_graph("task_graph", held_arrays("task_graph", arrays), limit, block)


def make_task_graph(
    operation: str, arrays: Sequence[ArrayBase], limit: int, block: int | tuple[int, ...] | None = None
) -> networkx.DiGraph:
    """Return the graph of tasks; errors name the operation."""
    import networkx

    check_integer(operation, "limit", limit, 1)
    traced = _trace_in_order(arrays)
    names = tuple(sketch_plan(a).token for a in arrays)
    wanted: dict[str, Index | None] = dict.fromkeys(names)
    graph: Any = networkx.DiGraph(arrays=names)
    if block is not None:
        if len(arrays) != 1:
            raise ArgumentError(bad(operation, "block", block, f"None, since {len(arrays)} arrays are given"))
        one = traced[names[0]]
        task = _read_block(operation, block, one.stage.grid.counts) // one.blocks_per_task
        wanted[names[0]] = np.array([task])
        graph.graph["task"] = names[0], task
    tasks, edges = _find_tasks(operation, traced, wanted, limit)
    for token, numbers in tasks.items():
        _add_tasks(graph, token, traced[token], numbers)
    for (source, token), (read, readers) in edges.items():
        pairs = zip(read.tolist(), readers.tolist(), strict=True)
        graph.add_edges_from(((source, a), (token, b)) for a, b in pairs)
    return graph


def _read_block(operation: str, block: int | tuple[int, ...], counts: tuple[int, ...]) -> int:
    """Return the number, in C order, of a chunk that is named by its index."""
    index = block if isinstance(block, tuple) else (block,)
    is_index = len(index) == len(counts) and all(map(is_integer, index))
    if not is_index or not all(-n <= k < n for k, n in zip(index, counts, strict=True)):
        raise IndexingError(bad(operation, "block", block, f"the index of a chunk, of {counts} along the axes"))
    number = 0
    for k, n in zip(index, counts, strict=True):
        number = number * n + int(k) % n
    return number


def _trace_in_order(arrays: Sequence[ArrayBase]) -> dict[str, PlannedStage]:
    """Return the stages, inputs before their readers."""
    traced = trace(arrays)
    order = sort_inputs_first(reversed(traced), {token: one.inputs for token, one in traced.items()})
    return {token: traced[token] for token in order}


def _find_tasks(
    operation: str, traced: dict[str, PlannedStage], wanted: dict[str, Index | None], limit: int
) -> tuple[dict[str, Index], dict[tuple[str, str], tuple[Index, Index]]]:
    """Return the tasks of each stage that have part in the wanted ones, and the pairs (read, reader) of two stages."""
    need = {token: np.zeros(one.ntasks, bool) for token, one in traced.items() if token not in wanted}
    tasks: dict[str, Index] = {}
    edges: dict[tuple[str, str], tuple[Index, Index]] = {}
    count = 0
    for token, one in reversed(traced.items()):
        chosen = wanted[token] if token in wanted else np.flatnonzero(need[token])
        count += one.ntasks if chosen is None else len(chosen)
        if count > limit or one.ntasks > max(limit, _LARGEST):
            total = sum(each.ntasks for each in traced.values())
            raise ArgumentError(
                f"{operation}: argument 'limit' is {limit}, and the stages have {total:,} tasks; expected a limit as "
                "high, or fewer chunks, such as those of x.blocks[0]"
            )
        tasks[token] = np.arange(one.ntasks) if chosen is None else chosen
        others = [traced[each] for each in one.inputs]
        for each, rows in zip(one.inputs, one.reads(others), strict=True):
            read, readers = _pairs(rows, tasks[token])
            edges[each, token] = read, readers
            if each not in wanted:
                need[each][read] = True
    return {token: tasks[token] for token in traced}, edges


def _pairs(rows: Rows, tasks: Index) -> tuple[Index, Index]:
    """Return what some tasks read, and which of them reads it."""
    return rows.of(tasks), tasks.repeat(rows.lengths[tasks])


def _add_tasks(found: Any, token: str, one: PlannedStage, numbers: Index) -> None:
    about, grid = _describe(one), one.stage.grid
    del about["shape"], about["chunks"]
    name, user = about.pop("label"), one.stage.data is not None
    states, owners = _states(one, numbers), _owners(one)[numbers].tolist()
    disk = [False] * len(numbers) if one.known is None else one.known.on_disk[numbers].tolist()
    sizes = [grid.size * one.stage.dtype.itemsize] if one.later else one.stage.task_bytes(numbers).tolist()
    for task, state, owner, on_disk, count in zip(numbers.tolist(), states, owners, disk, sizes, strict=True):
        blocks = one.blocks(task)
        first, last = grid.index(blocks[0]), grid.index(blocks[-1])
        where = "" if grid.nblocks == 1 else f" {first}" if first == last else f" {first} to {last}"
        stored = state == WORDS[ChunkState.STORED]
        found.add_node(
            (token, task),
            label=name + where,
            **about,
            block=first,
            blocks=blocks,
            bytes=count,
            state=state,
            owner=owner if owner >= 0 else None,
            place=("user" if user else "disk" if on_disk else "arena") if stored else None,
        )


def _describe(one: PlannedStage) -> dict[str, Any]:
    stage = one.stage
    return {
        "label": stage.name,
        "operations": stage.program.operations or (stage.name,),
        "shape": stage.grid.shape,
        "dtype": stage.dtype,
        "chunks": stage.grid.counts,
        "origin": stage.origin,
    }


def _count_states(one: PlannedStage) -> dict[str, int]:
    if one.known is None:
        return {PLANNED: one.ntasks}
    counts = np.bincount(one.known.state, minlength=len(WORDS)).tolist()
    return {word: count for word, count in zip(WORDS, counts, strict=True) if count}


def _states(one: PlannedStage, tasks: Index) -> list[str]:
    if one.known is None:
        return [PLANNED] * len(tasks)
    return [WORDS[state] for state in one.known.state[tasks].tolist()]


def _owners(one: PlannedStage) -> Index:
    return np.full(one.ntasks, -1) if one.known is None else one.known.owner
