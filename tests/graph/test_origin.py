"""Origins: the public function that was called, and the user's line; what stands for code that was typed."""

from __future__ import annotations

import concurrent.futures
import sys
from types import SimpleNamespace

import pytest

from windrow.graph.expr import origin
from windrow.graph.expr.origin import NOWHERE, Origin, find_origin, is_spoken, name_prompt, publish, say, standing


@pytest.mark.parametrize(
    ("file", "typed"),
    [
        ("<stdin>", "prompt"),
        ("<console>", "prompt"),
        ("<string>", "-c"),
        ("<python-input-12>", "prompt input 12"),
        ("<python-input-x>", ""),
        ("script.py", ""),
        ("/home/me/<stdin>", ""),
    ],
)
def test_what_was_typed(monkeypatch, file, typed):
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert name_prompt(file) == typed
    where = Origin("f", file, 7).where
    assert where == (f"{typed}, line 7" if typed else f"{file}:7")


def test_cells_of_notebooks(monkeypatch):
    def named(file):
        return ("Cell", "In[3]") if file == "/tmp/ipykernel_1/3.py" else None

    shell = SimpleNamespace(compile=SimpleNamespace(format_code_name=named))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    assert Origin("f", "/tmp/ipykernel_1/3.py", 2).where == "cell In[3], line 2"
    assert Origin("f", "/home/me/script.py", 2).where == "/home/me/script.py:2"
    assert name_prompt("<stdin>") == "prompt"
    shell.compile = SimpleNamespace()
    assert name_prompt("/tmp/ipykernel_1/3.py") == ""
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: None))
    assert name_prompt("/tmp/ipykernel_1/3.py") == ""


def test_where_and_short():
    assert NOWHERE.where == NOWHERE.short == ""
    assert Origin("f", "/home/me/script.py", 3).short == "script.py:3"
    assert Origin("f", "script.py", 3).short == "script.py:3"


def package(*functions, name=origin.PACKAGE, file="<string>"):
    """Functions as if a module of a package had them."""
    module = {"__name__": f"{name}.some", "found": find_origin, "standing": standing}
    exec(compile("\n".join(functions), file, "exec"), module)
    return SimpleNamespace(**{k: v for k, v in module.items() if not k.startswith("__")})


def test_the_outermost_public_function_is_what_was_called():
    ours = package("def inner(): return found()", "def middle(): return inner()", "def outer(): return middle()")
    publish(ours.outer, "outer_word")
    publish(ours.inner, "inner_word")
    line = sys._getframe().f_lineno + 1
    assert ours.outer() == Origin("outer_word", __file__, line)
    assert ours.inner().call == "inner_word"
    assert ours.middle().call == "inner_word"
    publish(ours.inner, "another")
    assert ours.inner().call == "inner_word", "the first name stays"
    assert is_spoken("outer_word")
    assert not is_spoken("middle")
    say("said_word")
    assert is_spoken("said_word")


def test_a_name_may_follow_from_the_call():
    ours = package("def method(self): return found()")
    publish(ours.method, lambda frame: f"{frame.f_locals['self']}.method")
    assert ours.method("Model").call == "Model.method"


def test_other_packages_call_in_the_users_name():
    ours = package("def f(): return found()")
    publish(ours.f, "f_word")
    for file in (
        "/any/lib/python3.13/site-packages/xarray/core.py",
        concurrent.futures.__file__,
    ):  # installed, Python's
        library = package("def fit(f): return f()", name="library", file=file)
        line = sys._getframe().f_lineno + 1
        assert library.fit(ours.f) == Origin("f_word", __file__, line)
    own = package("def fit(f): return f()", name="mine")
    assert own.fit(ours.f) == Origin("f_word", "<string>", 1), "a user's package is the user's"


def test_what_is_made_later_comes_from_where_it_was_asked_for():
    ours = package("def f(): return found()")
    publish(ours.f, "f_word")
    there, here = Origin("sort", "a.py", 1), Origin("median", "b.py", 2)
    with standing(there):
        assert ours.f() == there
        with standing(here):
            assert ours.f() == here
        assert ours.f() == there
    assert ours.f().call == "f_word"
    with pytest.raises(ZeroDivisionError), standing(there):
        raise ZeroDivisionError
    assert ours.f().call == "f_word"
