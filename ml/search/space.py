"""Search spaces: points of grids and random points."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import ParameterGrid, ParameterSampler

from ...graph.errors import ArgumentError, bad

__all__ = ["every", "random"]


def every(operation: str, space: Any) -> list[dict[str, Any]]:
    """Return every point of a grid, in scikit-learn's order."""
    _check(operation, "param_grid", space, distributions=False)
    return list(ParameterGrid(space))


def random(operation: str, space: Any, count: int, seed: int) -> list[dict[str, Any]]:
    """Return `count` points drawn from lists and distributions; from lists alone they are different, at most all."""
    _check(operation, "param_distributions", space, distributions=True)
    parts = [space] if isinstance(space, dict) else list(space)
    if not any(hasattr(values, "rvs") for part in parts for values in part.values()):
        count = min(count, len(ParameterGrid(space)))
    return list(ParameterSampler(space, count, random_state=seed))


def _check(operation: str, argument: str, space: Any, *, distributions: bool) -> None:
    parts = [space] if isinstance(space, dict) else space
    what = "lists of values" + (" or distributions" if distributions else "")
    expected = f"a dict of {what} by the names of parameters, or a list of such dicts"
    if not isinstance(parts, list | tuple) or not parts or not all(isinstance(p, dict) and p for p in parts):
        raise ArgumentError(bad(operation, argument, space, expected))
    each = "a list with at least one value" + (", or a distribution, which has rvs()" if distributions else "")
    for part in parts:
        for name, values in part.items():
            if not isinstance(name, str):
                raise ArgumentError(bad(operation, argument, name, expected))
            if distributions and hasattr(values, "rvs"):
                continue
            listed = isinstance(values, list | tuple) or (isinstance(values, np.ndarray) and values.ndim == 1)
            if not listed or not len(values):
                raise ArgumentError(bad(operation, f"{argument}[{name!r}]", values, each))
