"""NumPy's functions called with lazy arrays: those of the same name here run instead."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..graph.errors import ArgumentError
from . import align, creation, handed, ranges
from .ops import (
    broadcasting,
    diagonals,
    elementwise,
    joining,
    moving,
    products,
    reductions,
    reshaping,
    taking,
    ufuncs,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

MODULES: tuple[ModuleType, ...] = (
    ufuncs,
    elementwise,
    reductions,
    moving,
    broadcasting,
    taking,
    reshaping,
    joining,
    products,
    diagonals,
    creation,
    ranges,
    handed,
    align,
)
"""Where functions of NumPy's names are."""


def replacement(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that stands for one of NumPy's.

    Raises
    ------
    ArgumentError
        When there is none.
    """
    name = getattr(function, "__name__", str(function))
    if getattr(function, "__module__", "") == "numpy":
        for module in MODULES:
            found: Callable[..., Any] | None = getattr(module, name, None)
            if found is not None and getattr(found, "__module__", "").startswith(__package__ or ""):
                return found
    raise ArgumentError(
        f"numpy.{name} doesn't take lazy arrays; expected a function of the windrow namespace; "
        "use one of those, map_blocks for functions of chunks, or compute() first"
    )
