"""Lazy arrays among the arguments of pandas' functions: computed, where pandas knows NumPy's arrays and lists alone.

Most of pandas asks for `__array__`, and needs nothing. What asks for the type of an array instead (masks, groups, keys,
values to look up) has a function of ours before it, from the first array on that is made when pandas is loaded.
"""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base import ArrayBase
from .placing import place

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

DEEP = 8
"""So many frames lie at most between a look at an array and pandas' function that asks for a mask."""
PLACES = (
    ("pandas.core.groupby.grouper", "_convert_grouper"),
    ("pandas.core.indexing", "check_bool_indexer"),
    ("pandas.core.frame", "check_bool_indexer"),
    ("pandas.core.series", "check_bool_indexer"),
    ("pandas.core.indexing", "_LocationIndexer.__setitem__"),
    ("pandas.core.frame", "DataFrame.__setitem__"),
    ("pandas.core.frame", "DataFrame.set_index"),
    ("pandas.core.frame", "DataFrame.isin"),
    ("pandas.core.frame", "DataFrame.pivot_table"),
    ("pandas.core.frame", "DataFrame._arith_method"),
    ("pandas.core.frame", "DataFrame._cmp_method"),
    ("pandas.core.frame", "DataFrame._logical_method"),
    ("pandas.core.series", "Series.map"),
    ("pandas.core.generic", "NDFrame.replace"),
    ("pandas.core.indexes.base", "Index.map"),
    ("pandas.core.algorithms", "isin"),
    ("pandas.core.algorithms", "factorize"),
    ("pandas.core.algorithms", "unique"),
    ("pandas", "factorize"),
    ("pandas", "unique"),
    ("pandas", "pivot_table"),
    ("pandas", "date_range"),
    ("pandas.core.arrays.categorical", "Categorical.__init__"),
)
"""Functions that are to see NumPy's arrays in place of lazy ones."""
_opened = False


def _computed(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def chosen(*args: Any, **kwargs: Any) -> Any:
        return original(*map(_value, args), **{name: _value(each) for name, each in kwargs.items()})

    return chosen


def _value(argument: Any) -> Any:
    """Return an argument with its arrays, also those in a list or a dict, as NumPy's; without axes as scalars."""
    if isinstance(argument, ArrayBase):
        return np.asarray(argument)[()]
    if type(argument) in (list, tuple) and any(isinstance(each, ArrayBase) for each in argument):
        return type(argument)(_value(each) if isinstance(each, ArrayBase) else each for each in argument)
    if type(argument) is dict and any(isinstance(each, ArrayBase) for each in argument.values()):
        return {key: _value(each) if isinstance(each, ArrayBase) else each for key, each in argument.items()}
    return argument


def open_gates() -> None:
    """Put ours before these functions of pandas, once, as soon as pandas is loaded as a whole."""
    global _opened
    if not _opened and hasattr(sys.modules["pandas"], "read_pickle"):
        _opened = True
        for module, name in PLACES:
            place(module, name, _computed)


def type_for_pandas(array: ArrayBase) -> str | None:
    """Return what pandas calls an array of its own around NumPy's, where it asks whether this one is a mask.

    None where it asks for something else, or the elements are no booleans.
    """
    if array.dtype.kind != "b":
        return None
    frame: FrameType | None = sys._getframe(1)
    for _ in range(DEEP):
        if frame is None or frame.f_code.co_name == "is_bool_indexer":
            return None if frame is None else "npy_extension"
        frame = frame.f_back
    return None
