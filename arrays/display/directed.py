"""Directed graphs of named things, each of which has inputs: their layers, an order, and the longest way through."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import networkx


def directed_graph(names: Iterable[str], inputs: Mapping[str, Sequence[str]]) -> networkx.DiGraph:
    """Return the graph with an edge from each input, of those that are named, to its user."""
    import networkx

    graph: Any = networkx.DiGraph()
    graph.add_nodes_from(names)
    graph.add_edges_from((each, name) for name in list(graph) for each in inputs.get(name, ()) if each in graph)
    return graph


def find_depths(names: Iterable[str], inputs: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Put each name one layer behind the last of its inputs.

    Examples
    --------
    >>> find_depths(["a", "b", "c"], {"b": ["a"], "c": ["a", "b"]})
    {'a': 0, 'b': 1, 'c': 2}
    """
    import networkx

    layers = networkx.topological_generations(directed_graph(names, inputs))
    return {name: depth for depth, layer in enumerate(layers) for name in layer}


def sort_inputs_first(names: Iterable[str], inputs: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the names in an order in which each comes after its inputs.

    Examples
    --------
    >>> sort_inputs_first(["b", "a"], {"b": ["a"]})
    ['a', 'b']
    """
    import networkx

    return list(networkx.topological_sort(directed_graph(names, inputs)))


def find_longest_path(weights: Mapping[str, float], inputs: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the names, each an input of the next, whose weights have the largest sum.

    Examples
    --------
    >>> find_longest_path({"a": 1, "b": 5, "c": 2, "d": 1}, {"c": ["a", "b"], "d": ["c"]})
    ['b', 'c', 'd']
    """
    import networkx

    graph: Any = directed_graph(weights, inputs)
    for _, name, edge in graph.edges(data=True):
        edge["weight"] = weights[name]
    start = object()  # leads to all, so that the first one's weight counts; and is no longest path where all is 0
    graph.add_weighted_edges_from([(start, name, weight + 1) for name, weight in weights.items()])
    return list(networkx.dag_longest_path(graph))[1:]
