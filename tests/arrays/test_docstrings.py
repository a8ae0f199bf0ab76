"""Texts that docstrings of several functions share: written once, filled in where a docstring names them."""

from __future__ import annotations

import re
import subprocess
import sys
import types
from pathlib import Path

import pytest

from windrow.workers.docstrings import Glossary, head_examples

ROOT = Path(__file__).parents[2]
GLOSSARY = Glossary(
    """
{axis}
axis : int
    The axis.
{out}
out : Array
    Takes the result,
    which is returned.
""",
    Glossary("{axis}\naxis : any\n{AxisError}\nAxisError\n    There is none.\n"),
)
SOURCE = '''
def first(axis, out):
    """Return the first.

    Parameters
    ----------
    {axis, out}

    Raises
    ------
    {AxisError}

    Examples
    --------
    >>> {1, 2}
    {1, 2}
    """

def last(axis, out):
    """Return the last.

    {sections of first}

    Examples
    --------
    """

class Numbers:
    def middle(self, axis):
        """Return the middle one.

        Parameters
        ----------
        {axis}
        """
'''
FIRST = """Return the first.

    Parameters
    ----------
    axis : int
        The axis.
    out : Array
        Takes the result,
        which is returned.

    Raises
    ------
    AxisError
        There is none.

    Examples
    --------
    >>> {1, 2}
    {1, 2}
    """


@pytest.fixture
def module(monkeypatch):
    module = types.ModuleType("of_entries")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(SOURCE, vars(module))
    return module


def test_lines_that_name_entries_become_these(module):
    GLOSSARY.fill("of_entries")
    assert module.first.__doc__ == FIRST
    sections = FIRST.partition("first.")[2].partition("    >>>")[0]
    assert module.last.__doc__ == f"Return the last.{sections}    "
    assert module.Numbers.middle.__doc__.splitlines()[-3:] == [
        "        axis : int",
        "            The axis.",
        "        ",
    ]


def test_entries_name_others(module):
    module.last.__doc__ = "Return the last.\n\n    {result}\n    "
    Glossary("{result}\nArray\n{entry out, AxisError}\n", GLOSSARY).fill("of_entries")
    lines = [
        "Array",
        "out : Array",
        "    Takes the result,",
        "    which is returned.",
        "AxisError",
        "    There is none.",
    ]
    assert module.last.__doc__ == "\n    ".join(["Return the last.\n", *lines, ""])


def test_an_unknown_name_is_an_error(module):
    module.last.__doc__ = "Return the last.\n\n    {chunks}\n    "
    with pytest.raises(KeyError, match="chunks"):
        GLOSSARY.fill("of_entries")


def test_examples_get_their_heading_and_import():
    text = "Return it.\n\n    >>> wr.it()\n    >>> wr.it()\n    "
    headed = (
        "Return it.\n\n    Examples\n    --------\n    >>> import windrow as wr\n    >>> wr.it()\n    >>> wr.it()\n    "
    )
    assert [head_examples(each) for each in (text, headed, "Return it.", None)] == [headed, headed, "Return it.", None]


@pytest.mark.parametrize(
    "path",
    sorted(path for folder in ("arrays", "ml") for path in (ROOT / folder).rglob("docstrings.py")),
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_every_entry_is_named_by_several_docstrings(path):
    entries = re.findall(r"^\{(\w+)\}$", path.read_text(), re.MULTILINE)
    sources = [source.read_text() for source in path.parent.rglob("*.py") if source.name != "docstrings.py"]
    lines = re.findall(r"^ +\{([a-zA-Z][\w, ]*)\}$", "\n".join(sources), re.MULTILINE)
    named = [name for line in lines for name in line.split(", ")]
    assert entries
    assert len(set(entries)) == len(entries)
    assert [name for name in entries if named.count(name) < 2] == []


def test_without_docstrings_there_is_nothing_to_fill():
    code = "import windrow as wr; print(wr.fft.fft.__doc__, wr.linalg.norm(wr.ones(4)).compute())"
    done = subprocess.run([sys.executable, "-OO", "-c", code], capture_output=True, text=True, check=False, timeout=100)
    assert done.stdout == "None 2.0\n", done.stderr
