"""Pictures of operations and stages, and plans: boxes apart, arrows around them, words whole, room told of."""

from __future__ import annotations

import importlib.util
import xml.etree.ElementTree as ET
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from windrow.arrays.display.graph_layout import lay_out
from windrow.arrays.display.picture import LETTER, LINE, bends, break_lines

SPACE = "{http://www.w3.org/2000/svg}"


def along(points):
    """Many points on an arrow."""
    for piece in bends(tuple(points)):
        for t in np.linspace(0, 1, 21):
            if len(piece) == 2:
                (ax, ay), (bx, by) = piece
                yield ax + t * (bx - ax), ay + t * (by - ay)
            else:
                weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3)
                yield tuple(sum(w * p[i] for w, p in zip(weights, piece, strict=True)) for i in (0, 1))


def check(boxes, arrows):
    """No two boxes overlap, and no arrow runs through one."""
    for (ax, ay, aw, ah), (bx, by, bw, bh) in combinations(boxes, 2):
        assert ax + aw <= bx or bx + bw <= ax or ay + ah <= by or by + bh <= ay
    for points in arrows:
        for x, y in along(points):
            for left, top, width, height in boxes:
                assert not (left + 0.01 < x < left + width - 0.01 and top + 0.01 < y < top + height - 0.01)


@given(st.data())
def test_no_arrow_crosses_a_box(data):
    count = data.draw(st.integers(1, 14))
    names = [f"n{i}" for i in range(count)]
    inputs = {n: data.draw(st.lists(st.sampled_from(names[:i]), max_size=3)) for i, n in enumerate(names) if i}
    sizes = {n: (data.draw(st.integers(20, 300)), data.draw(st.integers(20, 80))) for n in names}
    laid = lay_out(sizes, inputs)
    assert list(laid.corners) == names
    assert len(laid.arrows) == sum(len(set(mine)) for mine in inputs.values())
    boxes = [(*laid.corners[n], *sizes[n]) for n in names]
    check(boxes, laid.arrows)
    assert max(x + w for x, _, w, _ in boxes) <= laid.width + 1e-9
    assert max(y + h for _, y, _, h in boxes) <= laid.height + 1e-9
    ends = {(points[0], points[-1]) for points in laid.arrows}
    for name, mine in inputs.items():
        for each in mine:
            (x, y), (w, h) = laid.corners[each], sizes[each]
            start = (x + w, y + h / 2)
            end = (laid.corners[name][0], laid.corners[name][1] + sizes[name][1] / 2)
            assert any(np.allclose(start, a) and np.allclose(end, b) for a, b in ends)


def some():
    x = wr.from_array(np.ones((30, 20)), chunks=(7, 20))
    y = (x - x.mean(axis=0)) / (x.std(axis=0) + 1)
    long = (y.T @ y).ravel() + wr.ones((90_000, 1), chunks=(9_000, 1))
    return wr.sort(long[:, :2].ravel())[:5].sum() + ((((x * 2 + 1) * 3 - y) / 2) + wr.sqrt(x)).sum()


def test_the_whole_picture():
    array = some()
    drawn = wr.visualize(array)
    check([(b.x, b.y, b.width, b.height) for b in drawn.boxes], drawn.arrows)
    for box in drawn.boxes:
        assert max(map(len, box.lines)) * LETTER < box.width
        assert len(box.lines) * LINE < box.height
    names = ["".join(line for line in box.lines if not line.startswith("float64")) for box in drawn.boxes]
    assert not [n for n in names if "…" in n or "..." in n]
    texts = {box.lines[0] for box in drawn.boxes}
    assert {"from_array", "mean", "std", "sort", "ravel: reshape", "matmul"} <= texts
    lines = {line for box in drawn.boxes for line in box.lines}
    assert {"float64 30×20", "5 chunks, 4.7 KiB", "the user's array, 4.7 KiB"} <= lines
    assert "planned when it runs, 1.4 MiB" in lines
    svg = ET.fromstring(array.visualize()._repr_svg_())
    assert len(list(svg.iter(f"{SPACE}rect"))) == len(drawn.boxes) + 1
    assert len([p for p in svg.iter(f"{SPACE}path") if p.get("marker-end")]) == len(drawn.arrows)
    assert "boxes" in repr(array.visualize())


def test_what_is_planned_later_is_between_what_it_reads_and_its_reader():
    x = wr.from_array(np.random.default_rng(0).random(100_000), chunks=10_000)
    drawn = wr.visualize(wr.sort(x * 2) + 1)
    (later,) = [b for b in drawn.boxes if b.lines[1].startswith("planned when it runs, ")]
    middle = later.y + later.height / 2
    assert any(np.allclose(points[-1], (later.x, middle)) for points in drawn.arrows)
    assert any(np.allclose(points[0], (later.x + later.width, middle)) for points in drawn.arrows)


def test_long_names_are_broken_and_whole():
    name = "+".join(["multiply", "add"] * 20)
    assert "".join(break_lines(name)) == name
    assert max(map(len, break_lines(name))) <= 34
    assert break_lines("x" * 99) == ["x" * 99]


def test_each_level_is_drawn():
    x = wr.map_blocks(abs, wr.from_array(np.arange(4.0), chunks=2)).persist()
    wr.wait(x)
    y = x + x.sum()
    both, operations, stages, tasks = (y.visualize(level=level) for level in (None, "operations", "stages", "tasks"))
    assert len(both.boxes) == len(operations.boxes) + len(stages.boxes)
    assert [title for title, _ in both.titles] == ["operations", "stages"]
    assert [title for title, _ in tasks.titles] == ["tasks"]
    graph = wr.task_graph(y)
    assert (len(tasks.boxes), len(tasks.arrows)) == (graph.number_of_nodes(), graph.number_of_edges())
    check([(b.x, b.y, b.width, b.height) for b in tasks.boxes], tasks.arrows)
    lines = [" ".join(box.lines) for box in tasks.boxes]
    for number in (0, 1):
        assert sum(f"({number},)" in line and "stored on rank 0, 16 B" in line for line in lines) == 1
    assert sum("the user's array, 32 B" in line for line in lines) == 1
    with pytest.raises(wr.ArgumentError, match="visualize: argument 'level' is 'chunks'; expected None, 'operations'"):
        y.visualize(level="chunks")
    with pytest.raises(wr.ArgumentError, match="visualize: argument 'limit' is 2, and the stages have"):
        y.visualize(level="tasks", limit=2)
    with pytest.raises(wr.MissingFile, match=r"visualize: argument 'filename' is '/nowhere/a\.svg'"):
        y.visualize("/nowhere/a.svg")
    with pytest.raises(wr.ArgumentError, match="graph: argument 'level'"):
        y.graph(np.array([1, 2]))
    with pytest.raises(wr.ArgumentError, match="graph: argument 'limit' is -1"):
        y.graph(limit=-1)
    with pytest.raises(wr.ArgumentError, match="map_blocks: argument 'blocks'"):
        wr.map_blocks(abs, y, blocks=np.array([1, 2]))


def test_a_picture_fits_its_page_and_theme():
    drawn = some().visualize()
    page = ET.fromstring(drawn._repr_html_())
    (svg,) = page
    assert svg.get("viewBox") == f"0 0 {drawn.width:g} {drawn.height:g}"
    assert "max-width:100%;" in svg.get("style", "")
    assert "height:auto" in svg.get("style", "")
    assert len(list(svg.iter(f"{SPACE}rect"))) == len(drawn.boxes), "no ground of its own"
    lines = [each.get("stroke") for each in svg.iter(f"{SPACE}path") if each.get("marker-end")]
    assert set(lines) == {"currentColor"}
    texts = {each.get("fill") for each in svg.iter(f"{SPACE}text")}
    assert texts == {"currentColor", "#111"}, "titles are on the page's ground, other text on light boxes"
    (ground, *_) = ET.fromstring(drawn._repr_svg_()).iter(f"{SPACE}rect")
    assert (ground.get("width"), ground.get("fill")) == ("100%", "white")


def test_files_and_refusals(tmp_path):
    array = some()
    path = wr.visualize(array, tmp_path / "a.svg")
    assert path == str(tmp_path / "a.svg")
    assert ET.parse(path).getroot().tag.endswith("svg")
    assert array.visualize(filename=str(tmp_path / "b.svg")) == str(tmp_path / "b.svg")
    if importlib.util.find_spec("matplotlib"):
        assert (tmp_path / "x.png").exists() or array.visualize(tmp_path / "x.png")
        assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")
    for wrong in (("a.pdf",), ()):
        with pytest.raises(wr.ArgumentError, match="visualize"):
            wr.visualize(*wrong)
    with pytest.raises(wr.ArgumentError, match=r"visualize: argument 'filename' is 'a\.pdf'"):
        array.visualize("a.pdf")
    with pytest.raises(wr.ArgumentError, match="visualize: argument 'arrays'"):
        wr.visualize(array, 3)


def test_a_large_graph_takes_no_long_time():
    x = y = wr.ones(10, chunks=5)
    for _ in range(300):
        y = y * 2 + x  # each step is reached from the first box
    drawn = wr.visualize(y)
    assert len(drawn.boxes) > 600


def test_plans_tell_where_there_is_no_room():
    with wr.Cluster(threads=1, memory="64 MiB"):
        x = wr.ones((4000, 4000), chunks=(2000, 2000))
        large = wr.map_blocks(np.negative, wr.ones((4000, 4000), chunks=-1), dtype=float)
        (block,) = (large.sum() + large.max()).explain().notes
        assert block.startswith("ones+map_blocks(negative) at test_draw.py:")
        assert ": a block takes 122.1 MiB, and a rank's arena has 64.0 MiB: use smaller chunks" in block
        many = wr.linalg.norm(wr.fft.fft(wr.ones((4000, 4000), chunks=(4000, 100)), axis=0).rechunk(100))
        assert [n for n in many.explain().notes if "ones+fft" in n and "makes 244.1 MiB, and all arenas have 64" in n]
        assert (x + 1).explain().notes == ()  # the result is the user's own memory
        assert (x + 1).sum().explain().notes == ()


def test_plans_name_what_is_planned_later():
    x = wr.from_array(np.random.default_rng(0).random(100_000), chunks=10_000)
    plan = (wr.sort(x * 2) + 1).explain()
    names = [s.name for s in plan.stages]
    assert names.index("sort") < names.index("add")
    (sort,) = [s for s in plan.stages if s.planned]
    assert (sort.name, sort.tasks, sort.blocks, sort.bytes_held) == ("sort", 0, 10, 800_000)
    assert [s.name for s in wr.sort(x).explain().stages] == ["sort"]
    line = next(line for line in str(plan).splitlines() if line.startswith("sort"))
    assert line.split()[1:5] == ["?", "10", "?", "?"]
    (total,) = [line for line in str(plan).splitlines() if line.startswith("total")]
    assert total.split()[1] == f"{plan.tasks}+"
    assert plan.notes == ("sort: planned when it runs, from values found then",)
