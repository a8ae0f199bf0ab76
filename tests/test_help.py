"""What `help` and `dir` show of the package: what users call, on a few screens."""

from __future__ import annotations

import importlib
import pydoc
import re
import subprocess
import sys
from operator import attrgetter
from pathlib import Path

import pytest

import windrow as wr


def shown(value):
    """Return the lines that `help` prints."""
    return pydoc.plain(pydoc.render_doc(value)).splitlines()


def test_help_of_the_package_fits_a_few_screens():
    assert len(shown(wr)) < 150
    assert 40 < len(str(wr.__doc__).splitlines()) < 80


def test_the_overview_names_what_is_there():
    pytest.importorskip("sklearn")
    lists = re.findall(r"^    (.+)$", str(wr.__doc__), re.MULTILINE)
    names = [name for line in lists for name in line.split(", ")]
    assert len(names) > 80
    for name in names:
        importlib.import_module(f"windrow.{name}") if name == "ml.linear_model" else None
        assert attrgetter(name.removeprefix("x."))(wr.ones(3) if name.startswith("x.") else wr) is not None, name


def test_help_of_a_ufunc_is_its_own():
    assert any("Add elements" in line for line in shown(wr.add))
    assert len(shown(wr.add)) < 80


def test_help_of_clusters_lists_what_users_call():
    named = {name for name in dir(wr.Cluster) if not name.startswith("_")}
    assert named == {"close", "closed", "info", "losses", "size", "threads"}
    assert named == {name for name in dir(wr.cluster()) if not name.startswith("_")}
    assert len(shown(wr.Cluster)) < 120


def test_all_names_come_with_a_star(tmp_path):
    (tmp_path / "star.py").write_text(
        "from windrow import *\n"
        "found = {name for name in dir() if not name.startswith('_')}\n"
        "import windrow\n"
        "print(sorted({n for n in dir(windrow) if not n.startswith('_')} - found), float(sum(ones(3))))\n"
        "print(sorted(found - {*dir(windrow)}))\n"
    )
    done = subprocess.run(
        [sys.executable, "star.py"], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
    )
    packages = sorted(p.name for p in Path(wr.__file__).parent.iterdir() if p.is_dir() and p.name[0] not in "_m")
    assert done.stdout.splitlines() == ["['ml'] 3.0", str(packages)], done.stderr


@pytest.mark.parametrize(("space", "name", "meant"), [("", "conctenate", "concatenate"), ("linalg", "nrm", "norm")])
def test_a_misspelt_name_is_told_with_what_was_meant(space, name, meant):
    with pytest.raises(AttributeError, match=f"did you mean '{meant}'"):
        attrgetter(f"{space}.{name}".lstrip("."))(wr)


@pytest.mark.parametrize("space", ["linalg", "random", "fft", "signal", "stats", "ndimage"])
def test_spaces_show_their_public_names_alone(space):
    module = getattr(wr, space)
    assert dir(module) == sorted(module.__all__)
