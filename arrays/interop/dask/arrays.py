"""Arrays from dask's to Windrow's and back, lazily, chunk by chunk; what `conversion` calls."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.chunks.grid import Axis, Grid
from ....graph.errors import ArgumentError, ShapeError, bad
from ....graph.kinds.mapping import MapBlocks
from ...base import check_dtype, make
from ...user_functions.travel.pickling import payload
from .chunks import ChunkTask, take_chunk
from .graphs import cull
from .kept import KeptKey, find_inner
from .layout import DataNode, import_arrays, optimize, order, read_graph

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...array import Array


def to_dask(x: Any) -> Any:
    """Return an array of dask's; see `Array.to_dask`."""
    name = f"windrow-{x.expr.token}"
    graph = {}
    for index in itertools.product(*map(range, x.numblocks)):
        key = (name, *index)
        graph[key] = ChunkTask(key, take_chunk, x.blocks[index] if index else x)
    chunks = tuple(tuple(math.nan if n is None else n for n in axis) for axis in x.chunks)
    return import_arrays().Array(graph, name, chunks, dtype=x.dtype)


class ChunkRun:
    """Runs what of a graph makes a chunk, in one task."""

    def __init__(self, nodes: Mapping[Any, Any], name: str) -> None:
        self.nodes, self.name = nodes, name

    def __call__(self, block_id: tuple[int, ...]) -> Any:
        key = (self.name, *block_id)
        nodes = cull(self.nodes, [key])
        places = order(nodes)
        users = Counter(dep for node in nodes.values() for dep in node.dependencies)
        users[key] += 1
        values: dict[Any, Any] = {}
        for each in sorted(nodes, key=places.__getitem__):
            values[each] = nodes[each](values)
            for dep in nodes[each].dependencies:
                users[dep] -= 1
                if not users[dep]:
                    del values[dep]
        return np.asanyarray(values[key])


def from_dask(x: Any) -> Array:
    """Return an array of Windrow's; see `conversion.from_dask`."""
    if not isinstance(x, import_arrays().Array):
        raise ArgumentError(bad("from_dask", "x", x, "a dask array"))
    if any(math.isnan(n) for axis in x.chunks for n in axis):
        raise ShapeError(f"from_dask: the array has chunks {x.chunks}; expected known ones: x.compute_chunk_sizes()")
    dtype = check_dtype("from_dask", "x.dtype", x.dtype)
    (x,) = optimize(x)
    nodes = cull(read_graph(x.__dask_graph__()), [(x.name, *i) for i in itertools.product(*map(range, x.numblocks))])
    if any(find_inner(node, ChunkTask) for node in nodes.values()):
        raise ArgumentError(
            bad("from_dask", "x", x, "one that isn't made from an array of Windrow's; persist it first")
        )
    nodes = {key: DataNode(key, node.value) if isinstance(node, KeptKey) else node for key, node in nodes.items()}
    packed = payload("from_dask", ChunkRun(nodes, x.name), (), {}, "from_dask")
    grid = Grid([Axis.of_sizes(axis) for axis in x.chunks])
    array: Array = make(MapBlocks(packed, (), ("block_id",)), (), grid, dtype)
    return array
