"""What parameters of distributions must be: checked at the call where they are known, else when they are computed."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.errors import ArgumentError, RangeError, bad

if TYPE_CHECKING:
    from collections.abc import Callable

Array = np.ndarray[Any, Any]
MOST = 2.0**53
LARGEST_MEAN = 9.2e18
"""Poisson numbers about this still fit an int64."""


def _whole(x: Any) -> Any:
    return (x >= 0) & (x <= MOST) & (np.floor(x) == x)


CONDITIONS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "finite": (np.isfinite, "a finite number"),
    "not negative": (lambda x: (x >= 0) & (x < np.inf), "a finite number that is not negative"),
    "positive": (lambda x: (x > 0) & (x < np.inf), "a finite positive number"),
    "more than one": (lambda x: (x > 1) & (x < np.inf), "a finite number larger than 1"),
    "share": (lambda x: (x >= 0) & (x <= 1), "a number from 0 to 1"),
    "positive share": (lambda x: (x > 0) & (x <= 1), "a number larger than 0 and at most 1"),
    "share below one": (lambda x: (x >= 0) & (x < 1), "a number from 0 on that is smaller than 1"),
    "whole": (_whole, "a whole number from 0 to 2**53"),
    "whole and small": (lambda x: _whole(x) & (x < 1e9), "a whole number from 0 to 10**9 - 1"),
    "expectation": (lambda x: (x >= 0) & (x <= LARGEST_MEAN), "a number from 0 to 9.2e18"),
}


ORDERED = {"uniform": ("low", "high"), "triangular": ("left", "mode", "right")}
"""Parameters of which none may be below the one before."""


def check(operation: str, argument: str, value: Any, condition: str) -> None:
    """Raise unless all of a parameter's values are what they must be."""
    holds, text = CONDITIONS[condition]
    with np.errstate(invalid="ignore"):
        fine = np.asarray(holds(np.asarray(value)))
    if not fine.all():
        wrong = np.asarray(value)[~fine].flat[0] if np.ndim(value) else value
        raise ArgumentError(bad(operation, argument, getattr(wrong, "item", lambda: wrong)(), text))


def check_order(operation: str, *values: Any) -> None:
    """Raise where one of the parameters that are `ORDERED` is below the one before, or infinitely far above it."""
    for (before, low), (argument, value) in pairwise(zip(ORDERED[operation], values, strict=True)):
        low, value = (np.asarray(x, np.float64) for x in (low, value))
        refuse(value < low, operation, argument, value, f"a number that is not below {before}=%s", low)
        with np.errstate(over="ignore"):
            wide = value - low == np.inf
        if wide.any():
            raise RangeError(bad(operation, argument, _first(value, wide), f"a finite distance from {before}"))


def check_range(low: Array, high: Array, endpoint: bool, limits: tuple[int, int], dtype: Any) -> None:
    """Raise where no integers are from low up to high, or where the dtype doesn't hold them."""
    held = f"what {dtype} can hold: numbers from {limits[0]} to {limits[1]}"
    refuse(low < limits[0], "integers", "low", low, held)
    refuse(high > limits[1] + (not endpoint), "integers", "high", high, held)
    refuse(high < low if endpoint else high <= low, "integers", "high", high, "a number above low=%s", low)


def refuse(wrong: Any, operation: str, argument: str, value: Array, text: str, other: Array | None = None) -> None:
    """Raise where a parameter is wrong; the text may say what another one is there."""
    if wrong.any():
        text = text if other is None else text % _first(other, wrong)
        raise ArgumentError(bad(operation, argument, _first(value, wrong), text))


def _first(values: Array, where: Array) -> Any:
    """Return the first value at a place where something holds, to which it broadcasts."""
    return np.broadcast_to(values, where.shape)[where].flat[0].item()
