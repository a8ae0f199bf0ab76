"""Whether a node of dask's has lazy arrays of Windrow's in it, which its function gets computed."""

from __future__ import annotations

import functools
import gc
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from ...base import ArrayBase
from .stores import values_of

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST = 2000
"""So many objects within one are looked at."""
_BARE = (str, bytes, bytearray, int, float, complex, type(None), type, ModuleType, BuiltinFunctionType, CodeType)
_KNOWN = frozenset(["numpy", "pandas", "pyarrow", "dask", "threading", "_thread"])
"""Packages whose objects have no arrays of ours in them, or are gone through otherwise."""


def takes_lazy(node: object, nodes: Mapping[Any, Any]) -> bool:
    """Tell whether what a node has in it, or data that it takes, have lazy arrays in them."""
    return any(holds_lazy(value) for value in values_of(node, nodes))


def holds_lazy(value: object) -> bool:
    """Tell whether there are lazy arrays in an object, however deep."""
    seen: dict[int, Any] = {}
    pending = [value]
    while pending and len(seen) < MOST:
        each = pending.pop()
        if isinstance(each, ArrayBase):
            return True
        if isinstance(each, _BARE) or id(each) in seen:
            continue
        seen[id(each)] = each
        pending += _inner(each)
    return False


def _inner(each: object) -> list[Any]:
    if isinstance(each, FunctionType):  # its globals are everything
        return list(each.__closure__ or ())
    if isinstance(each, list | tuple | set | frozenset | dict | functools.partial):
        return gc.get_referents(each)
    if type(each).__module__.partition(".")[0] in _KNOWN:
        return []
    return gc.get_referents(each)
