"""Results and errors of tasks as bytes, and what of them is small enough to go along with the word that it is there."""

from __future__ import annotations

import pickle
import traceback
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from ...graph.errors import WindrowError
from ..public_api import trim_context
from ..wire.exceptions import pickle_exception

SMALL = 1 << 14
"""Results of up to so many bytes go to the driver at once."""
_ATOMS = frozenset([type(None), bool, int, float, complex])
_FEW = 64


def pack_small(value: Any) -> bytes | None:
    """Return a result's pickle where it is small for sure, else None; nothing large is pickled to find out."""
    if weigh(value, _FEW) < 0:
        return None
    with suppress(Exception):
        packed = pickle.dumps(value, 5)
        return packed if len(packed) <= SMALL else None
    return None


def weigh(value: Any, parts: int) -> int:
    """Return how many more parts a value may have than it has; negative: too many, too large, or of another type."""
    kind = type(value)
    if kind in _ATOMS or isinstance(value, np.generic):
        return parts - 1
    if kind in (str, bytes):
        return parts - 1 if len(value) <= SMALL else -1
    if kind is np.ndarray:
        return parts - 1 if value.nbytes <= SMALL and not value.dtype.hasobject else -1
    if kind in (tuple, list, set, frozenset, dict):
        if len(value) > parts:
            return -1
        for each in value:
            parts = weigh(each, parts)
            if parts >= 0 and kind is dict:
                parts = weigh(value[each], parts)
            if parts < 0:
                return -1
        return parts - 1
    return -1


def size_of(value: Any) -> int:
    """Return about how many bytes a result has: what it says itself."""
    if isinstance(value, str | bytes | bytearray):
        return len(value)
    with suppress(Exception):  # asking what isn't ours runs its code
        nbytes = getattr(value, "nbytes", None)
        return nbytes if isinstance(nbytes, int) else 0
    return 0


class _Linked(NamedTuple):
    """An exception, pickled, and at which places of a list its cause and context are; -1: it has none."""

    packed: bytes
    cause: int
    context: int
    suppressed: bool


def pack_error(error: BaseException) -> bytes:
    """Return an exception with its causes and contexts, and its traceback, pickled; as text what can't travel."""
    trim_context(error)
    text = _format(error)
    chain = [error]
    for each in chain:
        for other in (each.__cause__, each.__context__):
            if other is not None and all(other is not known for known in chain):
                chain.append(other)
    places = {id(each): place for place, each in enumerate(chain)}
    linked = [
        _Linked(
            _pack_alone(each),
            places.get(id(each.__cause__), -1),
            places.get(id(each.__context__), -1),
            each.__suppress_context__,
        )
        for each in chain
    ]
    return pickle.dumps((text, linked), 5)


def _format(error: BaseException) -> str:
    """Return a traceback without notes, which travel with the exceptions: those of nested tasks have tracebacks."""
    described = traceback.TracebackException.from_exception(error, compact=True)
    pending: list[Any] = [described]
    while pending:
        each = pending.pop()
        each.__notes__ = None
        pending += [
            other
            for other in (each.__cause__, each.__context__, *(getattr(each, "exceptions", None) or ()))
            if other is not None
        ]
    return "".join(described.format())


def _pack_alone(error: BaseException) -> bytes:
    if packed := pickle_exception(error):
        return packed
    message = "".join(traceback.format_exception_only(error)).strip()  # error itself may be unable to say anything
    return pickle.dumps(WindrowError(message or type(error).__name__), 5)


def unpack_error(packed: bytes, unread: str) -> tuple[BaseException, str]:
    """Return what `pack_error` packed; errors that say `unread` in the place of those that can't be read here."""
    text, linked = pickle.loads(packed)
    chain: list[BaseException] = []
    for each in linked:
        error: BaseException = WindrowError(unread)
        with suppress(Exception):  # a class that only the rank could import
            error = pickle.loads(each.packed)
        chain.append(error)
    for error, each in zip(chain, linked, strict=True):
        error.__cause__ = chain[each.cause] if each.cause >= 0 else None
        error.__context__ = chain[each.context] if each.context >= 0 else None
        error.__suppress_context__ = each.suppressed
    return chain[0], text
