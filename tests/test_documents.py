"""The documents of what people call: every part is there, and every example gives what it says."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import inspect
import pkgutil
import re
import warnings
from typing import TYPE_CHECKING, Any

import pytest
from numpydoc.docscrape import NumpyDocString

import windrow as wr
from windrow import ml
from windrow.arrays.ops.elementwise.ufunc import Ufunc

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

SPACES = [wr, wr.fft, wr.linalg, wr.ndimage, wr.overlap, wr.random, wr.shared, wr.signal, wr.stats, wr.testing]
LEARNERS = ("linear_model", "naive_bayes", "neural_network", "preprocessing", "cluster", "decomposition", "search")
SPACES += [ml, *(importlib.import_module(f"windrow.ml.{name}") for name in LEARNERS)]


def ours(value: Any) -> bool:
    """Whether Windrow defines it."""
    return isinstance(value, Ufunc) or str(getattr(value, "__module__", "")).startswith("windrow")


def of_class(name: str, kind: type) -> Iterator[tuple[str, Any]]:
    """A class and its own public methods."""
    yield name, kind
    for base in kind.__mro__:
        if str(base.__module__).startswith("windrow"):
            for key, value in vars(base).items():
                value = value.__func__ if isinstance(value, classmethod | staticmethod) else value
                if not key.startswith("_") and inspect.isfunction(value) and getattr(kind, key, None) is not None:
                    yield f"{name}.{key}", value


def public() -> dict[str, Any]:
    """What people call, by the shortest name that it has."""
    found: dict[str, Any] = {}
    seen: set[int] = set()

    def add(name: str, value: Any) -> None:
        if id(value) not in seen:
            seen.add(id(value))
            found[name] = value

    for space in SPACES:
        for key in getattr(space, "__all__", dir(space)):
            value, name = getattr(space, key), f"{re.sub('^windrow.arrays(.scipy)?', 'windrow', space.__name__)}.{key}"
            if not ours(value):
                continue
            if inspect.isclass(value):
                for entry in of_class(name, value):
                    add(*entry)
            elif callable(value):
                add(name, value)
    return found


PUBLIC = public()

RAISE_NOTHING = {
    "windrow.Array",
    "windrow.Array.byteswap",
    "windrow.Array.copy",
    "windrow.isscalar",
    "windrow.iterable",
}
"""What takes whatever it is given."""


def is_error(value: Any) -> bool:
    """Whether it is an exception's class, which nobody calls."""
    return inspect.isclass(value) and issubclass(value, BaseException)


def parameters(value: Any) -> list[inspect.Parameter]:
    """What a caller may give."""
    try:
        given = inspect.signature(value).parameters.values()
    except ValueError:
        return []
    catches = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [p for p in given if p.name != "self" and not (p.kind in catches and p.name in ("unknown", "_"))]


def missing(name: str, value: Any) -> list[str]:
    """What a document doesn't say."""
    text = inspect.getdoc(value) or ""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parts = NumpyDocString(text)
    found = []
    if not " ".join(parts["Summary"]).strip().endswith("."):
        found.append("a summary that is a sentence")
    described = {}
    for entry in [*parts["Parameters"], *parts["Other Parameters"]]:
        for one in entry.name.split(","):
            described[one.strip().lstrip("*")] = " ".join(entry.desc).strip()
    given = parameters(value)
    found += [f"parameter {p.name}" for p in given if p.name not in described]
    found += [f"what {p} is" for p, about in described.items() if not about]
    names = {p.name for p in given} | {p.name for p in inspect.signature(value).parameters.values()} if given else set()
    if not any(p.kind is p.VAR_KEYWORD for p in given):
        found += [f"no parameter {p}" for p in described if p not in names]
    returns = [*parts["Returns"], *parts["Yields"]]
    if inspect.isroutine(value) or isinstance(value, Ufunc):
        annotated = getattr(value, "__annotations__", {}) if inspect.isroutine(value) else {}
        nothing = annotated.get("return", "something") in ("None", None)
        if not nothing and (not returns or not all(" ".join(r.desc).strip() for r in returns)):
            found.append("what is returned")
    if given and not parts["Raises"] and name not in RAISE_NOTHING:
        found.append("what it raises")
    of_an_estimator = name.count(".") - name.count("ml.") > 2
    if not of_an_estimator and ">>>" not in text:
        found.append("an example")
    return found


def test_entries_are_filled_in():
    line = re.compile(r"^ *\{[a-zA-Z]\w*(, \w+)*( of [\w.]+)?\}$", re.MULTILINE)
    assert [name for name, value in PUBLIC.items() if line.search(value.__doc__ or "")] == []


@pytest.mark.parametrize("name", [n for n, v in PUBLIC.items() if not is_error(v)])
def test_every_part_is_there(name):
    assert missing(name, PUBLIC[name]) == []


if importlib.util.find_spec("mpi4py"):  # modules are looked at: MPI would leave shared memory behind
    importlib.import_module("mpi4py").rc.initialize = False
MODULES = [m.name for m in pkgutil.walk_packages(wr.__path__, "windrow.") if "__main__" not in m.name]


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # Keras converts so
@pytest.mark.parametrize("name", ["windrow", *MODULES])
def test_examples(name):
    module: ModuleType = importlib.import_module(name)
    runner = doctest.DocTestRunner()
    for test in doctest.DocTestFinder().find(module, name):
        value = getattr(module, test.name.removeprefix(name).strip(".") or "__doc__", None)
        if getattr(value, "__module__", None) in (None, name):  # else its own module has it
            runner.run(test)
    assert runner.failures == 0
