"""Functions as methods: the array that they take is `self`, and their documents speak of "the array"."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, cast

from ..workers.public_api import unquote_annotations

if TYPE_CHECKING:
    from .base import ArrayBase

F = TypeVar("F", bound=Callable[..., Any])
P = ParamSpec("P")
R = TypeVar("R")

_SELF = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
_NEVER = (
    "can't be read as an array: an unknown object, a ragged sequence or a masked array.",
    "can't be read as an array;",
    "holds Python objects.",
    "is not a Windrow array.",
    "are no Windrow arrays,",
)
"""What is wrong with no array of Windrow's."""


def method(function: F) -> F:
    """Return a function as a method of the array that is its first argument: the same code, with a text of its own."""
    of = cast("FunctionType", function)
    unquote_annotations(of)
    copied = FunctionType(of.__code__, of.__globals__, of.__name__, of.__defaults__, of.__closure__)
    copied.__kwdefaults__, copied.__annotations__, copied.__module__ = of.__kwdefaults__, of.__annotations__, __name__
    copied.__qualname__ = of.__qualname__
    vars(copied).update(vars(of))  # what it was decorated with: its name in plans goes by that
    signature = inspect.signature(of)
    array, *rest = signature.parameters.values()
    copied.__doc__ = _speak_of_the_array(of, array.name)
    kind = inspect.Parameter.POSITIONAL_ONLY if rest and rest[0].kind == rest[0].POSITIONAL_ONLY else _SELF.kind
    vars(copied)["__signature__"] = signature.replace(parameters=[_SELF.replace(kind=kind), *rest])
    return cast("F", copied)


def documented(function: Callable[..., Any]) -> Callable[[F], F]:
    """Give a method, whose parameters come in another order or form, the document of its function."""

    def decorate(own: F) -> F:
        (array,) = inspect.signature(function).parameters.keys() - inspect.signature(own).parameters.keys()
        own.__doc__ = _speak_of_the_array(function, array)
        return own

    return decorate


def second(function: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[ArrayBase, Callable[..., Any], P], R]:
    """Return the method of a function whose array comes after another function."""

    @functools.wraps(function)
    def method(self: ArrayBase, func: Callable[..., Any], /, *args: P.args, **kwargs: P.kwargs) -> R:
        return cast("Callable[..., R]", function)(func, self, *args, **kwargs)

    unquote_annotations(function)
    parameters = inspect.signature(function).parameters.values()
    vars(method)["__signature__"] = inspect.signature(function).replace(parameters=[_SELF, *parameters])
    return method


def _speak_of_the_array(function: Callable[..., Any], name: str) -> str:
    """Return a function's document without the parameter that is the array, and without its name.

    Examples
    --------
    >>> def largest(a, k):
    ...     \"""Return the `k` largest elements of `a`.
    ...
    ...     Parameters
    ...     ----------
    ...     a : array_like
    ...         The array.
    ...     k : int
    ...         How many.
    ...     \"""
    >>> print(_speak_of_the_array(largest, "a"))
    Return the `k` largest elements of the array.
    <BLANKLINE>
    Parameters
    ----------
    k : int
        How many.
    """
    text = inspect.cleandoc(function.__doc__ or "") + "\n"
    text = re.sub(rf"^{name}, (?=.* : )", "", text, flags=re.MULTILINE)
    text = re.sub(rf"^{name} : .*\n(?: +.*\n)*", "", text, flags=re.MULTILINE)
    for error in _NEVER:
        words = r"\s+".join(map(re.escape, error.split()))
        text = re.sub(rf"`{name}` {words}(?: |\n +(?=\S))?", "", text)
    text = re.sub(r"^\w+\n +\n", "", text, flags=re.MULTILINE)  # an error that has no more reasons
    text = re.sub(r"^\w+\n-+\n(?=\n|\Z)\n?", "", text, flags=re.MULTILINE)  # a section without entries
    text = re.sub(rf"(^\S.*\n +|\. +)`{name}`", r"\1The array", text, flags=re.MULTILINE)
    return text.replace(f"`{name}`", "the array").strip()
