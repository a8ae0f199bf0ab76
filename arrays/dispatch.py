"""NumPy's functions called with lazy arrays: those of the same name here run instead."""

from __future__ import annotations

import importlib
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..graph.errors import ArgumentError
from .core import check_axes

if TYPE_CHECKING:
    from collections.abc import Callable

NAMESPACES = ("numpy", "numpy.linalg", "numpy.fft")
"""Modules of NumPy whose functions have namesakes here."""


def _size(a: Any, axis: Any = None) -> int:
    """Number of elements along some axes."""
    return math.prod(np.shape(a)[i] for i in check_axes("size", axis, np.ndim(a)))


ATTRIBUTES: dict[Callable[..., Any], Callable[..., Any]] = {
    np.shape: lambda a: a.shape,
    np.ndim: lambda a: a.ndim,
    np.size: _size,
}
"""Functions that tell what an array knows without being computed."""


def name_of(function: Any) -> str:
    """Return a function's name with its public modules: "numpy.linalg.norm"."""
    parts = [p for p in str(getattr(function, "__module__", None) or "").split(".") if p and not p.startswith("_")]
    return ".".join([*parts, str(getattr(function, "__name__", function))])


def replacement(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that stands for one of NumPy's.

    Raises
    ------
    ArgumentError
        When there is none.
    """
    if function in ATTRIBUTES:
        return ATTRIBUTES[function]
    name = getattr(function, "__name__", str(function))
    where = getattr(function, "__module__", "")
    if where in NAMESPACES:
        space: Any = importlib.import_module(where.replace("numpy", str(__package__).partition(".")[0], 1))
        found: Callable[..., Any] | None = getattr(space, name, None)
        if found is not None and str(getattr(found, "__module__", "")).startswith(str(__package__)):
            return found
    raise ArgumentError(
        f"{name_of(function)} doesn't take lazy arrays; "
        "Windrow has no such function yet: compute() first, or map_blocks()"
    )
