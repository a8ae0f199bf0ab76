"""What `help` and `dir` show of the package: what users call, on a few screens."""

from __future__ import annotations

import importlib
import inspect
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
    assert len(shown(wr.Cluster)) < 130


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


METHODS = [name for name in dir(wr.Array) if name[0] != "_" and inspect.isfunction(getattr(wr.Array, name))]


@pytest.mark.parametrize("name", METHODS)
def test_a_method_has_a_text_of_its_own(name):
    method = getattr(wr.Array, name)
    text, (own, *_) = inspect.getdoc(method) or "", inspect.signature(method).parameters
    assert not text.startswith("See ")
    assert own == "self"
    if inspect.isfunction(function := getattr(wr, name, None)):
        left_out = inspect.signature(function).parameters.keys() - inspect.signature(method).parameters.keys()
        if len(left_out) == 1:  # else the parameters are others
            assert not re.search(rf"`{min(left_out)}`|^{min(left_out)} : ", text, re.MULTILINE)


def test_a_method_says_what_its_function_says():
    lines = shown(wr.Array.mean)
    assert lines[2].startswith("mean(self, axis: Axes = None, dtype: DTypeLike = None, out: Any = None, keepdims: bool")
    assert [line.strip() for line in lines[3:7]] == [
        "Return the arithmetic mean over axes.",
        "",
        "Parameters",
        "----------",
    ]
    assert lines[7].strip() == "axis : int, tuple of int or None, optional"
    examples = [inspect.getdoc(each).partition("Examples")[2] for each in (wr.Array.mean, wr.mean)]
    assert examples[0] == examples[1] != ""
    x = wr.arange(6).reshape(2, 3)
    assert str(inspect.signature(x.swapaxes)) == "(axis1: int, axis2: int) -> Array"
    with pytest.raises(TypeError, match=r"^swapaxes\(\) missing 1 required positional argument: 'axis2'"):
        x.swapaxes(1)
    with pytest.raises(wr.ArgumentError, match=r"^sum: argument 'foo' is 3; .*, only axis, dtype, out"):
        x.sum(foo=3)
    assert x.repeat(repeats=2, axis=0).shape == (4, 3)


@pytest.mark.parametrize("space", ["", "linalg", "random", "fft", "signal", "stats", "ndimage"])
def test_annotations_are_shown_as_they_are_written(space):
    module = getattr(wr, space) if space else wr
    for name in module.__all__ if space else dir(wr):
        value = getattr(module, name)
        for each in [value, *(vars(value).values() if inspect.isclass(value) else ())]:
            if inspect.isfunction(each) and each.__module__.startswith("windrow") and each.__name__[0] != "_":
                signature = inspect.signature(each)
                written = [p.annotation for p in signature.parameters.values()] + [signature.return_annotation]
                texts = [inspect.formatannotation(a) for a in written if a is not inspect.Signature.empty]
                assert not re.search(r"['\"]|windrow\.", " ".join(texts)), (name, texts)


def test_methods_are_known_by_their_own_names():
    x = wr.ones((4, 4, 1), chunks=2)
    made = {"ravel": x.ravel(), "swapaxes": x.swapaxes(0, 1), "transpose": x.T, "squeeze": x.squeeze(), "sum": x.sum()}
    assert {name: array.expr.origin.call for name, array in made.items()} == {name: name for name in made}
