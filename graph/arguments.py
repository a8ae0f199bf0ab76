"""What arguments are: integers, NumPy's scalars; all layers share it."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from .errors import ArgumentError, bad

if TYPE_CHECKING:
    from numpy.typing import NDArray


def is_integer(value: object) -> TypeGuard[int]:
    """Tell whether `operator.index` gives an integer that was meant as one; 0-d arrays may hold it."""
    if isinstance(value, int | np.integer):
        return not isinstance(value, bool)
    return getattr(value, "ndim", None) == 0 and getattr(getattr(value, "dtype", None), "kind", "") in ("i", "u")


def is_array(value: object) -> TypeGuard[NDArray[Any]]:
    """Tell whether a value is an array of NumPy's; type checkers know nothing of its dtype by `isinstance`."""
    return isinstance(value, np.ndarray)


def is_numpy_scalar(value: object) -> TypeGuard[np.generic[Any]]:
    return isinstance(value, np.generic)


def check_flag(operation: str, argument: str, value: object) -> bool:
    """Return an argument that is True or False; else raise: the text "False" is true."""
    if type(value) not in (bool, np.bool):
        raise ArgumentError(bad(operation, argument, value, "True or False"))
    return bool(value)


def check_integer(
    operation: str,
    argument: str,
    value: object,
    least: int | None = None,
    most: int | None = None,
    *,
    expected: str = "",
) -> int:
    """Return an argument that is an integer within bounds; `expected` says what was, where that is more than that."""
    if is_integer(value):
        number = operator.index(value)
        if (least is None or number >= least) and (most is None or number <= most):
            return number
    bounds = "" if least is None else f" from {least} on" if most is None else f" from {least} to {most}"
    raise ArgumentError(bad(operation, argument, value, expected or f"an integer{bounds}"))
