"""Keywords that a function doesn't have: some are taken and say nothing, others are refused with what they are here."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, TypeVar

from .errors import ArgumentError, bad
from .migration_hints import COMPUTING, HINTS, KEYWORDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from types import CodeType


F = TypeVar("F", bound="Callable[..., Any]")

ASIDE: set[CodeType] = set()
"""What functions between a call of the user's and the one that he means run: tracebacks leave their frames out."""


def aside(function: F) -> F:
    """Note that a function only hands a call on, or refuses it."""
    ASIDE.add(function.__code__)
    return function


def is_of_call(error: BaseException) -> bool:
    """Whether Python raised an error since the arguments of a call don't fit what is called: nothing has run there."""
    trace = error.__traceback__ and error.__traceback__.tb_next
    while trace is not None and trace.tb_frame.f_code in ASIDE:
        trace = trace.tb_next
    return type(error) is TypeError and trace is None


def near(name: str, names: Iterable[str]) -> str:
    """Return words that suggest the name that was probably meant; none where there is none like it."""
    import difflib

    known = {n.lower(): n for n in names}
    matches = difflib.get_close_matches(name.lower(), known, 1, 0.7)
    return f"did you mean {known[matches[0]]!r}?" if matches else ""


@aside
def refuse(operation: str, unknown: Mapping[str, object], expected: list[str]) -> None:
    """Raise for keywords that an operation doesn't have, but for hints that may be ignored."""
    ignored = (*HINTS, *(COMPUTING[1] if operation in COMPUTING[0] else ()))
    for name, value in unknown.items():
        if name in ignored:
            continue
        why = KEYWORDS.get(name) or near(name, expected)
        takes = f"only {', '.join(expected)}" if expected else "and no other"
        raise ArgumentError(bad(operation, name, value, f"no such keyword, {takes}") + (f"; {why}" if why else ""))


@aside
def drop_hints(function: Callable[..., Any], keywords: dict[str, Any], error: BaseException) -> dict[str, Any] | None:
    """Return the keywords to call a function with again, since Python refused the call for hints only.

    None: it wasn't the call that failed, or for another reason. A keyword that the function doesn't have, and that is
    no hint, is an ArgumentError.
    """
    if not keywords or not is_of_call(error):
        return None
    parameters = inspect.signature(function).parameters
    unknown = {name: value for name, value in keywords.items() if name not in parameters}
    if not unknown:
        return None
    expected = [n for n, p in parameters.items() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY) and n != "self"]
    refuse(function.__qualname__.removesuffix(".__init__").rpartition(".")[2], unknown, expected)
    return {name: value for name, value in keywords.items() if name not in unknown}
