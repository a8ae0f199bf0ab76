"""Breadth-first search of a graph in which few vertices have most of the edges, by all ranks at once.

The graph is Graph500's kind (Kronecker, with a power of two of vertices). All ranks of a host read one copy of it. Who
the vertices were reached from lies in an array that all ranks write: whoever finds a vertex first claims it, by
`compare_and_swap`, and puts it into the queue for the next level, at a place that `fetch_add` gives to nobody else. So
parents differ from run to run, and levels don't: the lines that this prints are the same in one process and on any
number of ranks, but for the speed.

    python examples/bfs.py
    mpirun -n 2 python -m windrow examples/bfs.py --scale 20
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

import windrow as wr

EDGES = 16
SEED = 1


def draw_edges(scale: int) -> np.ndarray:
    """Draw both ends of the edges, as Graph500 does: the vertices' bits, one after the other."""
    rng = np.random.default_rng(SEED)
    ends = np.zeros((2, EDGES << scale), np.int64)
    for bit in range(scale):
        first = rng.random(ends.shape[1]) > 0.57 + 0.19
        second = rng.random(ends.shape[1]) > np.where(first, 0.19 / 0.24, 0.57 / 0.76)
        ends += np.array([first, second], np.int64) << bit
    return rng.permutation(1 << scale)[ends]


def build(edges: np.ndarray, vertices: int) -> dict[str, np.ndarray]:
    """Return each vertex's neighbours, one vertex after the other, and where they begin."""
    both = np.concatenate([edges, edges[::-1]], axis=1)
    both = both[:, both[0] != both[1]]
    pairs = np.unique(both[0] * vertices + both[1])
    source, target = np.divmod(pairs, vertices)
    return {"begins": np.searchsorted(source, np.arange(vertices + 1)), "neighbours": target}


def search(graph: Any, vertices: int, root: int) -> tuple[np.ndarray, list[int]]:
    """Return from which neighbour each vertex was reached (-1: not at all), and how many there are on each level."""
    parents = wr.shared.symmetric(vertices, np.int64, fill=-1)
    queue = wr.shared.symmetric(vertices, np.int64)
    tail = wr.shared.symmetric(1, np.int64)

    def program(comm: Any) -> list[int]:
        begins, neighbours = graph["begins"], graph["neighbours"]
        if comm.rank == 0:
            parents.set(root, root)
            queue.set(0, root)
            tail.set(0, 1)
        comm.Barrier()
        first, last, levels = 0, 1, []
        while first < last:
            levels.append(last - first)
            mine = queue.get(np.arange(first + comm.rank, last, comm.size))
            counts = begins[mine + 1] - begins[mine]
            source = np.repeat(mine, counts)
            behind = np.arange(len(source)) - np.repeat(np.cumsum(counts) - counts, counts)
            target = neighbours[np.repeat(begins[mine], counts) + behind]
            fresh = parents.get(target) == -1
            claimed = parents.compare_and_swap(target[fresh], -1, source[fresh]) == -1
            found = target[fresh][claimed]
            place = int(tail.fetch_add(0, len(found)))
            queue.set(place + np.arange(len(found)), found)
            comm.Barrier()
            first, last = last, int(tail.get(0))
            comm.Barrier()  # nobody adds to the tail before all have read it
        return levels

    levels = wr.spmd(program)[0]
    return parents.to_numpy(), levels


def find_levels(parents: np.ndarray, root: int) -> np.ndarray:
    """Return how far each vertex lies from the root, by its parents; -1: it can't be reached."""
    levels = np.where(parents < 0, -1, 0)
    at = np.where(parents < 0, root, np.arange(len(parents)))
    while (further := at != root).any():
        levels += further
        at = parents[at]
    return levels


def check(graph: dict[str, np.ndarray], parents: np.ndarray, root: int) -> None:
    """See to it that the parents are a tree of shortest ways: Graph500's rules."""
    levels = find_levels(parents, root)
    source = np.repeat(np.arange(len(parents)), np.diff(graph["begins"]))
    target = graph["neighbours"]
    assert ((levels[source] < 0) == (levels[target] < 0)).all(), "an edge leads out of what was reached"
    assert (np.abs(levels[source] - levels[target]) <= 1).all(), "an edge spans more than a level"
    reached = np.flatnonzero((parents >= 0) & (np.arange(len(parents)) != root))
    edges = source * len(parents) + target
    assert np.isin(reached * len(parents) + parents[reached], edges).all(), "a parent is no neighbour"


def main() -> None:
    """Search from the vertices that have the most neighbours."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=int, default=12, help="2**scale vertices")
    parser.add_argument("--roots", type=int, default=3, help="how many searches")
    options = parser.parse_args()
    vertices = 1 << options.scale
    graph = build(draw_edges(options.scale), vertices)
    shared = wr.shared.object(graph)
    degrees = np.diff(graph["begins"])
    edges = len(graph["neighbours"]) // 2
    print(f"graph           {vertices:,} vertices, {edges:,} edges, {degrees.max():,} at most at one")
    seconds = 0.0
    for root in np.argsort(-degrees, kind="stable")[: options.roots].tolist():
        begin = time.perf_counter()
        parents, levels = search(shared, vertices, root)
        seconds += time.perf_counter() - begin
        check(graph, parents, root)
        print(f"from {root:<10,} reached {int((parents >= 0).sum()):,} on levels of {levels}")
    ranks = len(wr.cluster().info())
    print(f"speed           {options.roots * edges / 1e6 / seconds:.3g} M edges/s on {ranks} ranks")


if __name__ == "__main__":
    main()
