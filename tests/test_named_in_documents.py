"""Files, functions and classes that documents for maintainers name are there."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("graph", "scheduler", "workers", "arrays", "ml", "tests", "benchmarks", "examples", "docs", "src")
ROOMS = ("graph", "scheduler", "workers", "arrays", "ml")
PAGES = ["docs/engine.md", "docs/calls.md", "CONTRIBUTING.md", *(f"{room}/README.md" for room in ROOMS)]
ELSEWHERE = {"Attach", "Comm_dup", "Create_dynamic", "Win.Allocate_shared", "osc_base_init.c", "btl/ofi", "build/site"}
"""What belongs to MPI, or is made by a command."""
EXAMPLES = {"softplus"}
"""What a page tells how to add."""


@cache
def files() -> set[str]:
    return {f"/{path.relative_to(ROOT)}" for folder in FOLDERS for path in (ROOT / folder).rglob("*")}


@cache
def words() -> set[str]:
    texts = (path.read_text() for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
    return set().union(*(re.findall(r"\w+", text) for text in texts))


def is_there(name: str) -> bool:
    if name in ELSEWHERE | EXAMPLES:
        return True
    if re.fullmatch(r"[\w./-]+\.(py|md|c|rst)|[\w-]+/[\w/-]*", name):
        return (ROOT / name).exists() or any(path.endswith(f"/{name.rstrip('/')}") for path in files())
    if re.fullmatch(r"[A-Za-z_][\w.]*(\(\))?", name):
        return set(re.findall(r"[A-Za-z_]\w*", name)) <= words()
    return True  # code, or a command


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_names_is_there(page):
    text = re.sub(r"```.*?```", "", (ROOT / page).read_text(), flags=re.DOTALL)
    names = re.findall(r"`([^`\n]+)`", text)
    assert len(names) > 5
    assert [name for name in names if not is_there(name)] == []


def test_what_is_not_there_is_noticed():
    absent = "_".join(["prefers", "no", "rank"])  # this file is looked through, too
    names = ["graph/nowhere.py", "arrays/absent/", f"Ledger.{absent}", f"{absent}()"]
    assert [name for name in names if is_there(name)] == []
