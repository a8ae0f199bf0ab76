"""The page of operations lists every public function, as the kind that it is."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "docs" / "make_operations.py"


@pytest.fixture(scope="module")
def made():
    spec = importlib.util.spec_from_file_location("make_operations", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look there
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def rows(made):
    return made.rows()


def test_the_page_is_up_to_date(made, rows):
    wrong = made.stale(made.PAGE.read_text(encoding="utf-8"), rows)
    assert not wrong, "\n".join([*wrong, "run python docs/make_operations.py"])


def test_a_stale_page_is_noticed(made):
    found = [made.Row("sum", "reduction", "–", "–", "Adds."), made.Row("flip", "move", "–", "–", "Turns.")]
    page = made.page(found)
    assert made.stale(page, found) == []
    assert made.stale(page.replace("`sum`", "`total`"), found) == [
        "sum: not listed, now reduction: Adds.",
        "total: reduction: Adds., now gone",
    ]
    assert made.stale(page.replace("| move |", "| blocks |"), found) == ["flip: blocks: Turns., now move: Turns."]
    assert made.stale(page.replace("Turns.", "Turned."), found) == ["flip: move: Turned., now move: Turns."]


def test_well_known_functions_are_what_they_are(rows):
    kinds = {row.name: (row.kind, row.fuses, row.moves) for row in rows}
    assert kinds["add"] == ("elementwise", "inputs and users", "nothing")
    assert kinds["sum"] == ("reduction", "inputs", "partial results")
    assert kinds["transpose"][:2] == ("move", "users")
    assert kinds["ones"] == ("source", "users", "nothing")
    assert kinds["nonzero"][0] == "size found later"
    assert kinds["save"][0] == "at once"
