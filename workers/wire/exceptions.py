"""Exceptions as bytes, of the classes that they have."""

from __future__ import annotations

import io
import pickle
from contextlib import suppress
from typing import Any

import cloudpickle


def pickle_exception(error: BaseException) -> bytes:
    """Return an exception's pickle, of which a like one can be made; empty where there is none.

    Python makes an exception by its class from `args`. Where the class takes other arguments, that fails, or makes one
    that says something else: such an exception is made as it was, without its class's `__init__`.
    """
    unlike = b""
    for pickler in (cloudpickle.Pickler, _WithoutInit):
        with suppress(Exception):
            file = io.BytesIO()
            pickler(file, 5).dump(error)  # by value: a script's own classes exist on rank 0 alone
            packed = file.getvalue()
            if words(pickle.loads(packed)) == words(error):
                return packed
            unlike = unlike or packed
    return unlike


def words(error: BaseException) -> str:
    """Return what an exception says; the user's own may fail at that."""
    try:
        return str(error)
    except Exception as other:
        return f"(what it says can't be told: {type(other).__name__})"


class _WithoutInit(cloudpickle.Pickler):  # type: ignore[misc] # it has no types
    """Pickles exceptions such that none of their classes' own code runs when they are read."""

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, BaseException):
            reduced: Any = obj.__reduce_ex__(5)
            if reduced[0] is type(obj):
                return remake, reduced[:2], *reduced[2:]
        return super().reducer_override(obj)


def remake(kind: type[BaseException], args: tuple[Any, ...]) -> BaseException:
    """Return an exception with its `args`, as the built-in class that it is of makes it; called by pickles."""
    error = kind.__new__(kind, *args)
    builtin: Any = next(each for each in kind.__mro__ if each.__module__ == "builtins")
    builtin.__init__(error, *args)
    return error
