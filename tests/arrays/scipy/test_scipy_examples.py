"""The examples in documents of SciPy's functions give what they say."""

from __future__ import annotations

import doctest
import inspect

import pytest

import windrow as wr

pytest.importorskip("scipy")

FUNCTIONS = [f"{space}.{name}" for space in ("ndimage", "signal", "stats") for name in getattr(wr, space).__all__]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_example(name):
    space, _, own = name.partition(".")
    function = inspect.unwrap(getattr(getattr(wr, space), own))
    (test,) = doctest.DocTestFinder(recurse=False).find(function, name, module=False, globs={})
    assert test.examples
    assert doctest.DocTestRunner(verbose=False).run(test).failed == 0
