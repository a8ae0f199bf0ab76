"""Filters by ranks: those of `windrow.ndimage`, with zeros beyond the ends of the array."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.arguments import is_integer
from ....graph.errors import ArgumentError, bad
from ...ops.moves.stacking import atleast_1d
from ..bridge import attempt, find_function, like_scipy, numbers, plain_value
from ..ndimage.filters import rank_filter

if TYPE_CHECKING:
    from ...array import Array

documented = like_scipy(
    "signal",
    dict.fromkeys(("volume", "a"), "array_like: Of integers, float32 or float64; chunks are read with a margin."),
    "Lazy, in the shape and chunks of the array; equal to what SciPy makes of the whole array.",
)


@documented
def medfilt(name: str, arguments: dict[str, Any]) -> Array:
    """Take the median of neighbours, with zeros beyond the ends.

    >>> import windrow as wr
    >>> wr.signal.medfilt(wr.asarray([0, 9, 1, 2, 9, 3], chunks=2), 3).compute()
    array([0, 1, 2, 2, 3, 3])
    """
    x = atleast_1d(numbers(name, "volume", arguments["volume"]))
    _try_on_one_element(name, x, 1)
    size = plain_value(name, "kernel_size", arguments["kernel_size"])
    sizes = [3 if size is None else size] * x.ndim if np.ndim(size) == 0 else list(size)
    if len(sizes) != x.ndim or not all(is_integer(n) and n > 0 and n % 2 for n in sizes):
        raise ArgumentError(bad(name, "kernel_size", size, f"an odd integer, or one for each of {x.ndim} axes"))
    return rank_filter(x, math.prod(sizes) // 2, size=sizes, mode="constant")


@documented
def order_filter(name: str, arguments: dict[str, Any]) -> Array:
    """Take the element of a rank among neighbours, with zeros beyond the ends.

    >>> import windrow as wr
    >>> wr.signal.order_filter(wr.asarray([0, 9, 1, 2, 9, 3], chunks=2), [1, 0, 1], 1).compute()
    array([9, 1, 9, 9, 3, 9])
    """
    x, rank = numbers(name, "a", arguments["a"]), arguments["rank"]
    domain = plain_value(name, "domain", arguments["domain"])
    _try_on_one_element(name, x, domain, rank)
    return rank_filter(x, rank, footprint=domain, mode="constant")


def _try_on_one_element(name: str, x: Array, *arguments: Any) -> None:
    """Raise now, under the function's name, what SciPy raises for a dtype or arguments."""
    attempt(name, find_function("signal", name), np.ones((1,) * x.ndim, x.dtype), *arguments)
