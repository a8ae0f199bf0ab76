"""The words users see: every name in reprs, plans, graphs and errors is what the user called."""

from __future__ import annotations

import pickle
import re
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

import windrow as wr
from support.loading import loaded
from windrow.graph.expr import origin
from windrow.graph.expr.expr import walk
from windrow.graph.lowering.lower import lower
from windrow.scheduler.session import session

ROOT = Path(__file__).parents[3]
INDEXING = {"getitem", "setitem", "blocks"}
"""What users write by brackets."""


def public_words() -> set[str]:
    """Names of functions and methods that users can write."""
    spaces = [wr, wr.linalg, wr.fft, wr.ndimage, wr.overlap, wr.random, wr.signal, wr.stats, wr.testing]
    found = {name for space in spaces for name in getattr(space, "__all__", dir(space))} | INDEXING
    for kind in (wr.Array, wr.random.Generator):
        found |= {name for name in dir(kind) if not name.startswith("_")}
    found |= {f"{name}.{part}" for name in found for part in ("reduce", "accumulate", "outer", "at", "reduceat")}
    return found


def words_of(name: str) -> set[str]:
    """The words of a stage's name: what was called, joined by "+", and its steps after a colon."""
    plain = re.sub(r" \(partial\)|\([\w<>]*\)", "", name)
    return {word for word in re.split(r"\+|: |, ", plain) if word}


@pytest.fixture
def seen(monkeypatch):
    """Names of all stages that are computed while a test runs."""
    names: set[str] = set()

    def spied(*args):
        stages = lower(*args)
        names.update(stage.name for stage in stages)
        return stages

    monkeypatch.setattr(session, "lower", spied)
    return names


def test_every_public_function_bears_its_name():
    made = loaded("docs", "make_operations.py")
    words, count = public_words(), 0
    aliases = {
        "as_gufunc",
        "copyto",
        "fromfunction",
        "gufunc",
        "jit",
        "scan",
    }  # they give what other functions, called by users or for them, made
    for name, function in made.public():
        for array in made.example(name, function):
            count += 1
            plain = name.rpartition(".")[2]
            shown = re.search(r"op=([\w.]+)", repr(array))[1]
            own = getattr(function, "__name__", plain)
            assert shown in {plain, own, "astype"} or plain in aliases, (name, repr(array))
            for node in walk([array.expr]):
                assert words_of(node.label) | words_of(node.step) <= words, (name, node.label, node.step)
    assert count > 400


def test_no_stage_that_runs_has_a_word_of_ours(seen):
    program = loaded("tests", "bits", "program.py")
    sources, words = program.lazy("C"), public_words()
    cases = program.cases(sources, lambda x: x)
    for path in sorted((ROOT / "tests" / "bits" / "cases").glob("*.py")):
        if path.stem in ("files", "linalg"):  # which call functions that aren't public
            continue
        cases |= runpy.run_path(str(path))["cases"](sources, lambda x: x)
    for name, array in cases.items():
        seen.clear()
        wr.compute(array)
        wrong = {stage for stage in seen if not words_of(stage) <= words}
        assert not wrong, (name, wrong)
    assert len(cases) > 150


def shown(array) -> str:
    return re.search(r"op=(.*)\)$", repr(array))[1]


def test_well_known_names():
    x = wr.arange(24, chunks=5).reshape(4, 6)
    generator = wr.random.default_rng(1)
    assert [shown(a) for a in wr.nonzero(x)] == ["nonzero"] * 2
    assert shown(x + 1) == shown(1 + x) == shown(np.add(x, 1)) == "add"
    assert shown(x[1:]) == shown(x[x > 2]) == shown(x[[0, 1], [1, 2]]) == "getitem"
    assert (shown(x @ x.T), shown(x.T), shown(wr.permute_dims(x, (1, 0)))) == ("matmul", "transpose", "transpose")
    assert (shown(x.std()), shown(np.std(x)), shown(wr.std(x, axis=0))) == ("std", "std", "std")
    assert (shown(wr.add.reduce(x)), shown(wr.add.accumulate(x)), shown(wr.add.outer(x, x))) == (
        "add.reduce",
        "add.accumulate",
        "add.outer",
    )
    assert (shown(wr.mgrid[0:3, 0:4]), shown(wr.zeros(3)), shown(wr.linspace(0, 1, 5))) == (
        "mgrid",
        "zeros",
        "linspace",
    )
    assert (shown(generator.normal(0, 1, 9)), shown(wr.cumsum(x)), shown(x.cumsum())) == ("normal", "cumsum", "cumsum")
    assert shown(wr.modf(x * 0.5)[0]) == "modf"
    assert shown(wr.vectorize(max)(x, 3)) == "vectorize(max)"
    assert shown(x.persist()) == shown(x)
    x[0] = 1
    assert shown(x) == "setitem"


def double(block):
    return block * 2


def test_a_users_function_is_named_in_what_took_it():
    x = wr.ones(6, chunks=3)
    assert shown(wr.map_blocks(double, x)) == "map_blocks(double)"
    assert shown(wr.map_overlap(double, x, depth=1)) == "map_overlap(double)"
    assert shown(wr.apply_along_axis(sum, 0, x)) == "apply_along_axis(sum)"
    assert shown(wr.map_overlap(double, x, depth=1, name="mine")) == "map_overlap(mine)"
    assert [s.name for s in wr.map_blocks(double, x).explain().stages] == ["ones+map_blocks(double)"]
    for given, names in (({}, ("max", "nanmax", "amin")), ({"name": "mine"}, ("mine",))):
        plan = wr.reduction(
            wr.arange(8, chunks=1), np.max, np.amin, combine=np.nanmax, split_every=3, **given
        ).explain()
        assert {s.name.rpartition("+")[2] for s in plan.stages} == {f"reduction({name})" for name in names}


def test_stages_are_named_in_the_order_in_which_they_run():
    x = wr.ones((1000, 1000), chunks=100)
    assert [s.name for s in (x * 2 + 1).sum().explain().stages] == ["ones+multiply+add+sum (partial)", "sum"]
    y = wr.from_array(np.ones((400, 3)), chunks=(100, 3)).persist()
    assert {s.name for s in wr.cov(y, rowvar=False).explain().stages} >= {"cov: getitem, subtract, matmul"}


def test_recipes_make_what_was_asked_for(seen):
    """What is made while it is computed bears the name and line of the operation, not of `compute`."""
    x = wr.from_array(np.random.default_rng(0).random(1000), chunks=100)
    ordered = wr.sort(x)
    line = sys._getframe().f_lineno - 1
    assert ordered.expr.origin == ("sort", __file__, line)
    ordered.compute()
    assert {word for name in seen for word in words_of(name)} <= {"sort", "from_array", "concatenate", "rechunk"}
    chosen = x[x > 0.5]
    line = sys._getframe().f_lineno - 1
    assert len(chosen) == int((x > 0.5).sum())
    assert chosen.expr.origin == ("getitem", __file__, line)


def test_several_names_for_one_thing_share_it():
    a, b = wr.zeros(3), wr.full(3, 0.0)
    assert a.expr.token == b.expr.token
    assert (shown(a), shown(b)) == ("zeros", "full")


def test_where_lines_come_from():
    line = origin.Origin("sum", "/a/b/script.py", 12)
    assert (line.where, line.short) == ("/a/b/script.py:12", "script.py:12")
    assert origin.Origin("sum", "<stdin>", 3).where == "prompt, line 3"
    assert origin.Origin("sum", "<python-input-7>", 1).where == "prompt input 7, line 1"
    assert origin.NOWHERE.where == origin.NOWHERE.short == ""


def test_public_functions_are_still_themselves():
    import inspect

    assert list(inspect.signature(wr.cumsum).parameters)[:2] == ["a", "axis"] or "axis" in str(
        inspect.signature(wr.cumsum)
    )
    for function in (wr.cumsum, wr.linalg.norm, wr.fft.fft, wr.testing.assert_equal):
        assert pickle.loads(pickle.dumps(function)) is function
        assert function.__doc__
        assert inspect.getsource(function).startswith("def ")
    assert inspect.signature(wr.Array.sum).parameters["axis"].default is None


def test_deep_callers_name_no_library():
    """What NumPy or scikit-learn call in the user's name is the user's."""
    x = wr.ones((4, 3), chunks=2)
    made = np.mean(x, axis=0)
    assert made.expr.origin[:2] == ("mean", __file__)
