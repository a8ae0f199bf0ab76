"""The graph of operations, for people and analyses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...graph.expr.expr import Expr, walk
from ..execution.deferred import sketch_plan
from ..execution.holders import held_arrays

if TYPE_CHECKING:
    import networkx

    from ..base import ArrayBase

__all__ = [
    "operation_graph",
]


def operations(*arrays: ArrayBase) -> list[Expr]:
    """Return all operations behind arrays, operands before their users."""
    return list(walk([sketch_plan(a) for a in arrays]))


def operation_graph(*arrays: Any) -> networkx.DiGraph:
    """Return the graph of operations behind arrays.

    Parameters
    ----------
    *arrays : Array, or what holds some
        The arrays.

    Returns
    -------
    networkx.DiGraph
        A node for each operation, named by its token, with label (what the user called), operation (what it does
        inside), shape, dtype, chunks (numbers of chunks), bytes and origin (the user's line); an edge from each operand
        to its user. The graph's own attribute `arrays` has the tokens of the arrays.

    Raises
    ------
    ArgumentError
        An argument neither is nor holds a Windrow array.
    ImportError
        networkx isn't installed.

    See Also
    --------
    stage_graph, task_graph : What runs, by stage and by chunk.

    Notes
    -----
    No graph has a cycle: an operation's operands are there before it is, and none can be given another operand.

    >>> graph = (wr.ones(3) + 1).graph()
    >>> [graph.nodes[n]["label"] for n in graph]
    ['ones', 'add']
    """
    import networkx

    lazy = held_arrays("operation_graph", arrays)
    graph: Any = networkx.DiGraph(arrays=tuple(sketch_plan(a).token for a in lazy))
    for node in operations(*lazy):
        graph.add_node(
            node.token,
            label=node.label,
            operation=node.op.label,
            shape=node.shape,
            dtype=node.dtype,
            chunks=node.grid.counts,
            bytes=node.nbytes,
            origin=node.origin.where,
        )
        graph.add_edges_from((child.token, node.token) for child in node.operands)
    return graph
