"""What notebooks show: pictures of chunk grids, tables of what is known. Nothing is computed for it."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
import pytest

import windrow as wr
from support.counting import count_calls
from windrow.arrays.display.grid_picture import FRONT, LINES, NOWHERE, RIGHT, TOP, grid_svg
from windrow.scheduler.session.html import rank_colour


def parsed(html: str) -> ET.Element:
    """The page as a tree: it must be well-formed."""
    return ET.fromstring(f"<page>{html}</page>")


def cells(html: str) -> dict[str, str]:
    """The table's rows of two."""
    rows = [[cell.text or "" for cell in row] for row in parsed(html).iter("tr")]
    return {row[0]: row[1] for row in rows if len(row) == 2}


@pytest.mark.parametrize("shape", [(), (0,), (5,), (4, 6), (0, 3), (2, 3, 4), (2, 2, 3, 4), (1, 2, 2, 3, 4)])
def test_every_array_has_a_picture(shape):
    for chunks in wr.testing.chunkings(shape):
        x = wr.ones(shape, chunks=chunks) + 1
        html = x._repr_html_()
        found = cells(html)
        assert found["shape"] == str(shape)
        assert found["dtype"] == "float64"
        assert found["chunks"].startswith(f"{x.npartitions} of ")
        assert found["made by"].startswith("add: 1 stage, ")
        picture = parsed(html).find(".//svg")
        assert picture is not None
        axes = len(shape[-3:])
        assert len(list(picture.iter("polygon"))) == (3 if axes == 3 else 1)
        numbers = [text.text for text in picture.iter("text")]
        assert set(map(str, shape[-3:])) <= set(numbers)
        within = np.array([float(picture.get(side, "")) for side in ("width", "height")]) - 4
        for face in picture.iter("polygon"):
            corners = np.array([point.split(",") for point in face.get("points", "").split()], float)
            np.testing.assert_allclose(corners[0] + corners[2], corners[1] + corners[3], atol=0.2)
            assert (corners >= 0).all()
            assert (corners <= within).all()


def test_borders_are_drawn_where_they_are():
    svg = ET.fromstring(grid_svg(wr.ones(10, chunks=((1, 4, 5),)).expr.grid))
    at = sorted({float(line.get("x1", "")) for line in svg.iter("line") if line.get("x1") == line.get("x2")})
    assert at == [0.0, 12.0, 60.0, 120.0]


def test_a_million_chunks_take_a_few_lines():
    x = (wr.ones((10**6, 10**6, 4), chunks=(1000, 1000, 4)) + 1).sum(axis=2)
    html = x._repr_html_()
    few = (wr.ones((10**6, 10**6, 4), chunks=(20_000, 20_000, 4)) + 1).sum(axis=2)
    assert count_calls(x._repr_html_) < 2 * count_calls(few._repr_html_)
    assert html.count("<line") <= 2 * (LINES + 1)
    assert "1,000,000 of (1000, 1000), 7.6 MiB" in html
    uneven = wr.ones(10**6, chunks=(tuple([1, 3] * 250_000),))
    assert uneven._repr_html_().count("<line") <= LINES + 3


def fills(svg: str) -> list[str]:
    """The colours of a picture's faces, in the order in which they are drawn."""
    return [face.get("style", "").removeprefix("fill:") for face in parsed(svg).iter("polygon")]


def test_chunks_have_the_colours_of_their_ranks():
    a, b = rank_colour(0), rank_colour(1)
    two = wr.ones((4, 6), chunks=2).expr.grid
    assert fills(grid_svg(two, np.array([[0, 1, -1], [1, 1, 0]]))) == [FRONT, a, b, NOWHERE, b, b, a]
    assert fills(grid_svg(wr.ones(4, chunks=2).expr.grid, np.array([1, 0]))) == [FRONT, b, a]
    assert fills(grid_svg(wr.ones(()).expr.grid, np.array(1))) == [FRONT, b]
    box = np.arange(8).reshape(2, 2, 2)
    front, top, right = [0, 1, 2, 3], [0, 1, 4, 5], [1, 5, 3, 7]
    assert fills(grid_svg(wr.ones((2, 2, 2), chunks=1).expr.grid, box)) == [
        *(FRONT, *map(rank_colour, front)),
        *(TOP, *map(rank_colour, top)),
        *(RIGHT, *map(rank_colour, right)),
    ]
    many = wr.ones((2, 4, 4), chunks=(1, 2, 4)).expr.grid
    deep = wr.ones((2, 4, 4, 4), chunks=(1, 2, 4, 4)).expr.grid
    assert len(fills(grid_svg(many, np.zeros((2, 2, 1), int)))) == 3 + 2 + 2 + 4
    apart = np.stack([np.zeros((2, 1, 1), int), np.ones((2, 1, 1), int)])
    assert fills(grid_svg(deep, apart)) == [FRONT, TOP, RIGHT], "those behind each other lie on several ranks"


PERSISTED = """
import numpy as np, windrow as wr
x = wr.random.default_rng(1).random((600, 600), chunks=(100, 300)).persist()
wr.wait(x)
from windrow.scheduler.session.html import rank_colour
owners, html = x.owners(), x._repr_html_()
named = [f"rank {r}</span> {(owners == r).sum()} chunks" in html for r in np.unique(owners)]
faces = [f"fill:{rank_colour(r)}" in html for r in np.unique(owners)]
task = {rank_colour(r) for r in np.unique(owners)}
print([len(named), all(named + faces), {b.colour for b in x.visualize(level="tasks").boxes} == task])
"""


@pytest.mark.parametrize("ranks", [0, pytest.param(3, marks=pytest.mark.ranks)])
def test_a_persisted_array_shows_where_its_chunks_are(launch, ranks, tmp_path):
    (tmp_path / "s.py").write_text(PERSISTED)
    ended = launch(ranks, "s.py")
    assert ended.last == f"[{ranks or 1}, True, True]", ended.err


def test_nothing_is_computed():
    ran = []
    x = wr.map_blocks(lambda block: ran.append(1) or block, wr.arange(9, chunks=3), dtype=int)
    unsized = x[x > 4]
    assert cells(unsized._repr_html_()) == {"shape": "(?,)", "dtype": "int64", "size": "found when something needs it"}
    assert repr(unsized) == "Array(shape=(None,), dtype=int64, chunksize=None, op=getitem)"
    x._repr_html_()
    x.explain()._repr_html_()
    assert ran == []
    assert unsized.shape == (None,)
    kept = x.persist()
    wr.wait(kept)
    assert cells(kept._repr_html_())["made by"].endswith(", persisted")


def test_long_graphs_are_not_lowered():
    x = wr.ones(3)
    for _ in range(1200):
        x = x + 1
    assert "more than 1,000 operations" in x._repr_html_()


def test_text_is_escaped():
    x = wr.from_array(np.zeros(2, [("<b>&", "f8")]))
    assert "&lt;b&gt;&amp;" in x._repr_html_()
    assert cells(x._repr_html_())["dtype"] == str(x.dtype)


def test_explanations_and_clusters():
    plan = (wr.ones((8, 8), chunks=4) + 1).sum(axis=0).explain()
    rows = [[cell.text or "" for cell in row] for row in parsed(plan._repr_html_()).iter("tr")]
    assert rows[0][0] == "stage"
    assert [row[0] for row in rows[1:-1]] == [stage.name for stage in plan.stages]
    assert rows[-1][:2] == ["total", str(plan.tasks)]
    with wr.Cluster(threads=1, memory="16 MiB") as cluster:
        html = cluster._repr_html_()
        assert "<Cluster" not in html
        rows = [[cell.text or "" for cell in row] for row in parsed(html).iter("tr")]
        assert rows[1][0] == "0"
        assert rows[1][5].endswith("of 16.0 MiB")
    assert parsed(cluster._repr_html_()).findtext("p") == "<Cluster: closed>"


def test_looking_starts_no_cluster(launch):
    code = """
import windrow as wr
from windrow.scheduler.session.cluster import running
x = (wr.ones((10, 10), chunks=5) + 1).T
assert "transpose" in x._repr_html_()
repr(x), x[x[:, 0] > 1]._repr_html_()
print(running())
"""
    ended = launch(0, "-c", code)
    assert ended.last == "None", ended.err
