"""What parameters of distributions must be: checked at the call where they are known, else when they are computed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.errors import ShapeError, bad

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
    "share below one": (lambda x: (x > 0) & (x < 1), "a number larger than 0 and smaller than 1"),
    "whole": (_whole, "a whole number from 0 to 2**53"),
    "whole and small": (lambda x: _whole(x) & (x < 1e9), "a whole number from 0 to 10**9 - 1"),
    "expectation": (lambda x: (x >= 0) & (x <= LARGEST_MEAN), "a number from 0 to 9.2e18"),
}


def check(operation: str, argument: str, value: Any, condition: str) -> None:
    """Raise unless all of a parameter's values are what they must be."""
    holds, text = CONDITIONS[condition]
    with np.errstate(invalid="ignore"):
        fine = np.asarray(holds(np.asarray(value)))
    if not fine.all():
        wrong = np.asarray(value)[~fine].flat[0] if np.ndim(value) else value
        raise ShapeError(bad(operation, argument, getattr(wrong, "item", lambda: wrong)(), text))
