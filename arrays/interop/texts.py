"""NumPy's functions of texts whose results have a dtype that follows from the arguments: applied to each chunk."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.arguments import check_integer
from ...graph.errors import ArgumentError, DTypeError, bad
from ..base import ArrayBase, as_array
from ..user_functions.map_blocks import map_blocks

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..array import Array
    from ..typing import ArrayLike

KEEPING = ("upper", "lower", "swapcase", "capitalize", "title", "translate")
"""Functions of `numpy.strings` whose results are as wide as their texts."""
PADDING = ("center", "ljust", "rjust", "zfill")
"""Functions whose results are as wide as they are told, or as the longest text, where that is wider."""


def _texts(name: str, a: ArrayLike) -> Array:
    array = as_array(name, "a", a)
    if array.dtype.kind not in "US":
        raise DTypeError(bad(name, "a", array.dtype, "texts or bytes"))
    return array


def _kept(name: str, a: ArrayLike, *args: Any) -> Array:
    array = _texts(name, a)
    return map_blocks(getattr(np.strings, name), array, *args, dtype=array.dtype, name=name)


def _padded(name: str, a: ArrayLike, width: Any, *fill: Any, **named: Any) -> Array:
    array = _texts(name, a)
    if isinstance(width, ArrayBase | np.ndarray | list | tuple):
        raise ArgumentError(bad(name, "width", width, "one integer for all texts, or map_blocks() with a dtype="))
    wide, most = check_integer(name, "width", width), array.dtype.itemsize // np.dtype(f"{array.dtype.kind}1").itemsize
    if wide < most:
        expected = f"at least the {most} characters of {array.dtype}: else the longest text says how wide results are"
        raise ArgumentError(bad(name, "width", wide, f"{expected}; compute() first, or map_blocks() with a dtype="))
    dtype = np.dtype(f"{array.dtype.kind}{wide}")
    return map_blocks(getattr(np.strings, name), array, wide, *fill, *named.values(), dtype=dtype, name=name)


TEXTS: dict[Callable[..., Any], Callable[..., Any]] = {
    getattr(np.strings, name): functools.partial(applied, name)
    for names, applied in ((KEEPING, _kept), (PADDING, _padded))
    for name in names
}
"""What stands for functions of `numpy.strings`."""
