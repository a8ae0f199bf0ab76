"""Results and errors of tasks as bytes, and what of them is small enough to go along with the word that it is there."""

from __future__ import annotations

import pickle
import traceback
from contextlib import suppress
from typing import Any

import cloudpickle
import numpy as np

from ...graph.errors import WindrowError
from ..boundary import trim_context
from .orders import SMALL

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


def pack_error(error: BaseException) -> bytes:
    """Return an exception and its traceback, pickled; by its name where it can't travel."""
    trim_context(error)
    text = "".join(traceback.format_exception(error))
    with suppress(Exception):
        packed = cloudpickle.dumps((error, text), 5)
        pickle.loads(packed)
        return bytes(packed)
    told = text.strip().rpartition("\n")[2]  # error itself may be unable to say anything
    return pickle.dumps((WindrowError(told or type(error).__name__), text), 5)
