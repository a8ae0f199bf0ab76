"""The tour of a run, `docs/guides/inside.md`, on 3 real ranks: it prints what stands on the page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "inside.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
VARIES = (r"0x[0-9a-f]+", r"(?<=chunk )\d+(?= is)", r"(?<=rank )\d+(?! of)(?!: 0x)", r"(?<=\()\d+(?=,\))")
VARIES += (r"(?<=host )\S+(?=, pid)", r"(?<=pid )\d+", r"\d+(?= chunks lost)", r"\d+(?= recomputed)")


def read():
    """Return the page's code as one script, and what it is to print."""
    found = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    return ["".join(text for kind, text in found if kind == wanted) for wanted in ("python", "text")]


def masked(text):
    """Return lines without what differs from run to run."""
    for each in VARIES:
        text = re.sub(each, "…", text)
    return text.splitlines()


@pytest.mark.ranks
@pytest.mark.parametrize("way", ["python -m windrow -n 3", "mpirun -n 3", "wr.Cluster(ranks=3)"])
def test_the_tour_prints_what_stands_on_its_page(launch, nothing_left, tmp_path, way):
    code, expected = read()
    assert code.count("cluster = wr.cluster()\n") == 1
    if way.startswith("wr"):
        code = code.replace("cluster = wr.cluster()\n", f"cluster = {way}\n")
    (tmp_path / "tour.py").write_text(code, encoding="utf-8")
    ranks, words = (3, ()) if "mpirun" in way else (0, way.split()[1:] if "-m" in way else ())
    ended = launch(ranks, *words, "tour.py")
    assert ended.status == 0, ended.err[-3000:]
    assert masked(ended.out) == masked(expected)


def test_the_page_shows_each_step():
    code, expected = read()
    for word in ("persist()", "owners()", '["window"]', "wr.arena()", "buffers()", "graph(", "os.kill", "losses"):
        assert word in code, word
    assert len(expected.splitlines()) > 20
