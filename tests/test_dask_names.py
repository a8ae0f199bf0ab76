"""The table of dask's names has all of them, and what it says of ours is so."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

pytest.importorskip("dask.array")
pytest.importorskip("distributed")

SCRIPT = Path(__file__).parents[1] / "docs" / "make_dask_names.py"


@pytest.fixture(scope="module")
def table():
    """The script that writes the page, and the page's names by section."""
    spec = importlib.util.spec_from_file_location("make_dask_names", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sections = re.split(r"^## (.*)$", module.PAGE.read_text(), flags=re.MULTILINE)[1:]
    return module, {path: set(re.findall(r"`(\w+)`", text)) for path, text in zip(*[iter(sections)] * 2, strict=True)}


def test_every_name_is_in_the_table(table):
    module, names = table
    assert set(names) == set(module.SPACES)
    for path in module.SPACES:
        assert set(module.public(path)) <= names[path], "run docs/make_dask_names.py"


def test_every_name_is_here_or_explained(table):
    module, _ = table
    text = module.page()  # ends the program for a name that is neither
    assert "| `PerformanceWarning` |" in text
    assert "`map_blocks`" in text
    assert "| `from_delayed` | the same, of known lengths" in text
