"""The example of a search finds what SciPy finds, in one process and on ranks, and so do its parents."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

import windrow as wr

SCRIPT = Path(__file__).parents[1] / "examples" / "bfs.py"


@pytest.fixture(scope="module")
def example():
    """The example as a module."""
    spec = importlib.util.spec_from_file_location("example_bfs", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def shortest(graph, root):
    """What SciPy finds."""
    size = len(graph["begins"]) - 1
    ones = np.ones(len(graph["neighbours"]), np.int8)
    matrix = csr_array((ones, graph["neighbours"], graph["begins"]), shape=(size, size))
    found = dijkstra(matrix, indices=root, unweighted=True)
    return np.where(np.isinf(found), -1, found).astype(int)


def test_levels_are_scipys(example):
    vertices = 1 << 10
    graph = example.build(example.draw_edges(10), vertices)
    shared = wr.shared.object(graph)
    for root in (int(np.argmax(np.diff(graph["begins"]))), 5):
        parents, levels = example.search(shared, vertices, root)
        expected = shortest(graph, root)
        np.testing.assert_array_equal(example.find_levels(parents, root), expected)
        assert levels == np.bincount(expected[expected >= 0]).tolist()
        example.check(graph, parents, root)
        wrong = parents.copy()
        wrong[np.flatnonzero(expected == 2)[:1]] = root
        if levels[2:]:
            with pytest.raises(AssertionError, match=r"no neighbour|spans more"):
                example.check(graph, wrong, root)


@pytest.mark.parametrize("ranks", [0, pytest.param(2, marks=pytest.mark.ranks)])
def test_prints_what_scipy_finds(example, launch, ranks, tmp_path):
    ended = launch(ranks, str(SCRIPT), "--scale", "11")
    assert ended.status == 0, ended.err
    graph = example.build(example.draw_edges(11), 1 << 11)
    first, *searches, last = ended.out.splitlines()
    assert first.startswith(f"graph           2,048 vertices, {len(graph['neighbours']) // 2:,} edges")
    assert len(searches) == 3
    for line in searches:
        root, levels = re.match(r"from ([\d,]+) +reached .* on levels of \[(.*)\]", line).groups()
        expected = shortest(graph, int(root.replace(",", "")))
        assert [int(n) for n in levels.split(", ")] == np.bincount(expected[expected >= 0]).tolist()
    assert last.startswith("speed")
    assert list(tmp_path.iterdir()) == []
