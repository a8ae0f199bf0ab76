"""The site's pages: their code runs and prints what stands below it, and every public name has a place in the API."""

from __future__ import annotations

import contextlib
import importlib
import io
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

import windrow as wr

DOCS = Path(__file__).parents[1] / "docs"
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
PAGES = [page for page in sorted(DOCS.rglob("*.md")) if BLOCK.search(page.read_text(encoding="utf-8"))]
ON_RANKS = {"ranks", "failures"}
ELSEWHERE = {"inside"}
"""What differs from run to run on its page is left out by tests/mpi/test_tour.py."""
NEEDS = {"from-mpi4jax": "jax"}
SPACES = ("dask", "linalg", "fft", "ndimage", "signal", "stats", "random", "overlap", "shared", "testing", "ml")
LEARNERS = ("linear_model", "naive_bayes", "neural_network", "preprocessing", "cluster", "decomposition", "search")


def blocks(page):
    """Return a page's code, and what stands below each piece as its output."""
    return BLOCK.findall(page.read_text(encoding="utf-8"))


def named(pages):
    return [pytest.param(page, id=str(page.relative_to(DOCS))) for page in pages]


@pytest.mark.parametrize("page", named(p for p in PAGES if p.stem not in ON_RANKS | ELSEWHERE))
def test_code_prints_what_stands_below_it(page, tmp_path, monkeypatch):
    if page.stem in NEEDS:
        pytest.importorskip(NEEDS[page.stem])
    monkeypatch.chdir(tmp_path)
    space = {"__name__": "__main__"}
    for code, expected in blocks(page):
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(code, page.name, "exec"), space)
        assert printed.getvalue() == expected, code


@pytest.mark.ranks
@pytest.mark.parametrize("page", named(p for p in PAGES if p.stem in ON_RANKS))
def test_code_on_ranks_prints_what_stands_below_it(page, tmp_path):
    code, expected = zip(*blocks(page), strict=True)
    (tmp_path / "page.py").write_text("\n".join(code))
    done = subprocess.run([sys.executable, "page.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "".join(expected)


def listed():
    """Return the names that the API's pages document, from their directives."""
    found = set()
    for page in (DOCS / "api").glob("*.rst"):
        space = ""
        for line in page.read_text(encoding="utf-8").splitlines():
            if match := re.match(r"\.\. (?:currentmodule|auto\w+):: (\S+)", line):
                space, name = (match[1], "") if "currentmodule" in line else (space, match[1])
                found.add(f"{space}.{name}")
            elif match := re.match(r"   (\w[\w.]*)$", line):
                found.add(f"{space}.{match[1]}")
    return found


def test_every_public_name_is_in_the_api():
    from_numpy = re.findall(r"``(\w+)``", (DOCS / "api" / "dtypes.rst").read_text(encoding="utf-8"))
    spaces = {name for name in dir(wr) if name.startswith("__")} | set(SPACES)
    names = {f"windrow.{name}" for name in set(dir(wr)) - spaces - set(from_numpy)}
    public = {(s, name) for s in SPACES for name in getattr(wr, s).__all__}
    names |= {f"windrow.{s}.{name}" for s, name in public if s != "ml" or name not in LEARNERS}
    if importlib.util.find_spec("sklearn"):
        for space in LEARNERS:
            module = importlib.import_module(f"windrow.ml.{space}")
            names |= {f"windrow.ml.{space}.{name}" for name in module.__all__}
    found = listed()
    assert sorted(names - found) == []


def test_settings_are_those_in_the_table():
    rows = re.findall(r"^\| `(\w+)` \| `(\w+)` \| `(.*?)` \|", (DOCS / "settings.md").read_text(), flags=re.MULTILINE)
    defaults = type(wr.config.settings)
    assert [(name, repr(getattr(defaults, name))) for name, _, _ in rows] == [(name, told) for name, _, told in rows]
    assert [name for name, _, _ in rows] == [field.name for field in fields(defaults)]
    assert all(variable == f"WINDROW_{name.upper()}" for name, variable, _ in rows)


def test_terms_name_what_implements_them():
    terms = re.findall(r"\{py:obj\}`(?:\w+ <)?~?([\w.]+)>?`", (DOCS / "glossary.md").read_text(encoding="utf-8"))
    assert len(terms) >= 40
    for term in terms:
        module, _, name = term.rpartition(".")
        assert hasattr(importlib.import_module(module), name), term


def test_functions_are_where_pages_say():
    found = 0
    for page in (DOCS.parent / "CONTRIBUTING.md", *DOCS.rglob("*.md"), *DOCS.parent.glob("*/README.md")):
        text = page.read_text(encoding="utf-8")
        for name, path in re.findall(r"`([\w.]+)`\s+in\s+`((?:arrays|graph|ml|scheduler|workers)/[\w/]+)\.py`", text):
            place = importlib.import_module(f"windrow.{path.replace('/', '.')}")
            for part in name.split("."):
                assert hasattr(place, part), f"{page.name}: {name} in {path}.py"
                place = getattr(place, part)
            found += 1
    assert found >= 30


def test_tests_that_show_what_is_said_are_there():
    rooms = ("graph", "scheduler", "workers", "arrays", "ml")
    text = "\n\n".join((DOCS.parent / room / "README.md").read_text(encoding="utf-8") for room in rooms)
    paths = set(re.findall(r"`(tests/[\w/.]+\.py)`", text))
    assert len(paths) >= 15
    assert [path for path in sorted(paths) if not (DOCS.parent / path).is_file()] == []
    for word in ("Arrow buffers", "MPI window", "task graph", "lineage", "a reduction,"):
        shown = [part for part in text.split("\n\n") if word in part]
        assert any("`tests/" in part for part in shown), word
