"""The examples in the documentation of what users call."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil

import pytest

import windrow as wr
from windrow import arrays
from windrow.arrays.ops.ufunc import Ufunc

MODULES = ["windrow", "windrow.workers.config"] + [
    m.name for m in pkgutil.walk_packages(arrays.__path__, "windrow.arrays.")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    module = importlib.import_module(name)
    runner = doctest.DocTestRunner()
    for test in doctest.DocTestFinder().find(module, name):
        value = getattr(module, test.name.removeprefix(name).strip(".") or "__doc__", None)
        if not hasattr(value, "__wrapped__"):  # else its own module has it
            runner.run(test)
    assert runner.failures == 0


def test_everything_public_has_an_example():
    bare = []
    for name in wr.__all__:
        value = getattr(wr, name, None)
        value = inspect.unwrap(value) if inspect.isfunction(value) else value
        mine = str(getattr(value, "__module__", "")).startswith("windrow.arrays")
        if mine and (inspect.isfunction(value) or isinstance(value, Ufunc)) and ">>>" not in (value.__doc__ or ""):
            bare.append(name)
    assert bare == []
