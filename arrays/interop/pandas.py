"""Where pandas asks for the types of masks, and of what has groups: lazy arrays are taken, and computed for it."""

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
)
"""Functions of an index, and of what has an element for each of its labels."""


def _computed(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def chosen(index: Any, values: Any) -> Any:
        return original(index, np.asarray(values) if isinstance(values, ArrayBase) else values)

    return chosen


def open_gates() -> None:
    """Put ours before these functions of pandas, once."""
    for module, name in PLACES:
        place(module, name, _computed)


def type_for_pandas(array: ArrayBase) -> str | None:
    """Return what pandas calls an array of its own around NumPy's, where it asks whether this one is a mask.

    None where it asks for something else, or the elements are no booleans.
    """
    open_gates()
    if array.dtype.kind != "b":
        return None
    frame: FrameType | None = sys._getframe(1)
    for _ in range(DEEP):
        if frame is None or frame.f_code.co_name == "is_bool_indexer":
            return None if frame is None else "npy_extension"
        frame = frame.f_back
    return None
