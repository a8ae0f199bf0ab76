"""Documents of functions that are SciPy's by name: what SciPy says of an argument is said of it here, too."""

from __future__ import annotations

import importlib
import inspect
import re
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

F = TypeVar("F", bound="Callable[..., Any]")

RAISES = """\
ArgumentError
    An argument isn't what SciPy takes, or can't be done on chunks; the message names it. This may be a dtype, where
    SciPy's own error is no TypeError.
ShapeError
    Arrays don't fit together.
DTypeError
    The elements aren't numbers, or have a dtype that SciPy refuses by a TypeError.
ImportError
    SciPy is not installed: `pip install "windrow[scipy]"`; or its version lacks the function."""


def described(about: Mapping[str, str], returns: str, kind: str = "Array", module: str = "") -> Callable[[F], F]:
    """Put sections on arguments, results and errors into a function's document, before its examples.

    `about` has "type: text" for each argument; what it leaves out is as the function of that name in SciPy's `module`
    has it.
    """

    def decorate(function: F) -> F:
        texts = scipy_texts(module, function.__name__) if module else {}
        for name, entry in about.items():
            type_, _, description = entry.partition(": ")
            texts[name] = type_, description
        text = inspect.cleandoc(function.__doc__ or "")
        words, mark, examples = text.partition(">>>")
        parts = [words.strip(), "Parameters\n----------"]
        for name, parameter in inspect.signature(function).parameters.items():
            type_, description = texts.get(name, ("object", "As in SciPy."))
            starred = "**" if parameter.kind is parameter.VAR_KEYWORD else ""
            parts[-1] += f"\n{starred}{name} : {type_}\n    {description}"
        parts.append(f"Returns\n-------\n{kind}\n    {returns}")
        parts.append(f"Raises\n------\n{RAISES}")
        parts.append(f"Examples\n--------\n{mark}{examples}")
        function.__doc__ = "\n\n".join(parts) + "\n"
        return function

    return decorate


def scipy_texts(module: str, name: str) -> dict[str, tuple[str, str]]:
    """Return type and text of each argument that SciPy's document has; none where SciPy has no such function."""
    try:
        function = getattr(importlib.import_module(f"scipy.{module}"), name)
    except (ModuleNotFoundError, AttributeError):
        return {}
    _, _, rest = (inspect.getdoc(function) or "").partition("Parameters\n----------\n")
    section, *_ = re.split(r"\n\n[A-Z][\w ]*\n---", rest)
    section = re.sub(r" \[\d+\]_|\n+ *\.\. versionadded::.*", "", section)  # references and versions are of SciPy's
    section = re.sub(r"(?<!`)`([^`\n]+)`(?!`)", r"``\1``", section)  # single backticks would lead to what is Windrow's
    texts = {}
    for entry in re.split(r"\n+(?=\S)", section):
        head, _, description = entry.partition("\n")
        names, mark, type_ = (part.strip() for part in head.partition(":"))
        for each in names.split(",") if mark else ():
            texts[each.strip(" *")] = type_, description.strip()
    return texts
