"""Documents of functions whose arguments are SciPy's: what each argument is stands in one place."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

F = TypeVar("F", bound="Callable[..., Any]")

RAISES = """\
ArgumentError
    An argument isn't what SciPy takes, or can't be done on chunks; the message names it.
ShapeError
    Arrays don't fit together.
DTypeError
    The function doesn't take elements of this dtype.
ImportError
    SciPy is not installed: `pip install "windrow[scipy]"`."""


def described(about: Mapping[str, str], returns: str, kind: str = "Array") -> Callable[[F], F]:
    """Put sections on arguments, results and errors into a function's document, before its examples.

    `about` has "type: text" for each argument.
    """

    def decorate(function: F) -> F:
        text = inspect.cleandoc(function.__doc__ or "")
        words, mark, examples = text.partition(">>>")
        parts = [words.strip(), "Parameters\n----------"]
        for name, parameter in inspect.signature(function).parameters.items():
            type_, _, description = about[name].partition(": ")
            starred = "**" if parameter.kind is parameter.VAR_KEYWORD else ""
            parts[-1] += f"\n{starred}{name} : {type_}\n    {description}"
        parts.append(f"Returns\n-------\n{kind}\n    {returns}")
        parts.append(f"Raises\n------\n{RAISES}")
        parts.append(f"Examples\n--------\n{mark}{examples}")
        function.__doc__ = "\n\n".join(parts) + "\n"
        return function

    return decorate
