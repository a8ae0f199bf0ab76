"""Functions whose own arrays are lazy: `np.zeros(n)` in them makes an array that can be set to what is traced.

NumPy's functions of arrays are handed to lazy arrays by NumPy itself, but those that make arrays see none. So a
function that is traced, and whose tracing fails as values are needed, is made again with other globals: NumPy's module
stands there with functions of Windrow's in place of those that make arrays, and so for the functions of its module that
it calls.
"""

from __future__ import annotations

import dis
import types
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..creation import filled, ranges

if TYPE_CHECKING:
    from collections.abc import Callable

MAKERS: dict[str, Any] = {
    make.__name__: make
    for make in (
        filled.empty,
        filled.full,
        filled.ones,
        filled.zeros,
        ranges.arange,
        ranges.eye,
        ranges.identity,
        ranges.linspace,
    )
}
"""What makes arrays of nothing but numbers, by the names that it has in NumPy, too."""


def with_own_arrays(function: Callable[..., Any]) -> Callable[..., Any] | None:
    """Return a function that does the same with lazy arrays of its own; None where it can't be made.

    It is one of Python's, refers to NumPy by a global name, and sets no globals, nor do functions of its module that it
    names.
    """
    if isinstance(function, types.MethodType):
        inner = with_own_arrays(function.__func__)
        return None if inner is None else types.MethodType(inner, function.__self__)
    if not isinstance(function, types.FunctionType):
        return None
    helpers = _find_helpers(function)
    replaced = _replaced(function.__globals__)
    if not replaced or any(_sets_globals(each.__code__) for each in (function, *helpers.values())):
        return None
    names = function.__globals__ | replaced
    names.update({name: _with_globals(helper, names) for name, helper in helpers.items()})
    return _with_globals(function, names)


def _find_helpers(function: types.FunctionType) -> dict[str, types.FunctionType]:
    """Return the functions of its module that a function names, and those that these name, by their names."""
    helpers: dict[str, types.FunctionType] = {}
    names = _names_of(function.__code__)
    while names:
        name = names.pop()
        helper = function.__globals__.get(name)
        if (
            isinstance(helper, types.FunctionType)
            and helper.__globals__ is function.__globals__
            and name not in helpers
        ):
            helpers[name] = helper
            names |= _names_of(helper.__code__)
    return helpers


def _names_of(code: types.CodeType) -> set[str]:
    """Return the names that a code looks up, and those of functions within it."""
    inner = [_names_of(const) for const in code.co_consts if isinstance(const, types.CodeType)]
    return set(code.co_names).union(*inner)


def _replaced(names: dict[str, Any]) -> dict[str, Any]:
    """Return what stands for NumPy's module, and for its functions that make arrays, under the names that they have."""
    makers = {id(getattr(np, name)): make for name, make in MAKERS.items()}
    module = {name: _numpy() for name, value in names.items() if value is np}
    return module | {name: makers[id(value)] for name, value in names.items() if id(value) in makers}


@cache
def _numpy() -> types.ModuleType:
    """Return a module that has NumPy's names."""
    module = types.ModuleType("numpy", np.__doc__)
    module.__dict__.update(MAKERS)
    module.__getattr__ = lambda name: getattr(np, name)  # type: ignore[method-assign]
    return module


def _with_globals(function: types.FunctionType, names: dict[str, Any]) -> types.FunctionType:
    other = types.FunctionType(function.__code__, names, function.__name__, function.__defaults__, function.__closure__)
    other.__kwdefaults__ = function.__kwdefaults__
    other.__dict__.update(function.__dict__)
    other.__module__, other.__qualname__ = function.__module__, function.__qualname__
    return other


def _sets_globals(code: types.CodeType) -> bool:
    if any(each.opname in ("STORE_GLOBAL", "DELETE_GLOBAL") for each in dis.get_instructions(code)):
        return True
    return any(_sets_globals(const) for const in code.co_consts if isinstance(const, types.CodeType))
