"""Values that go into arrays of a dtype: what the dtype can't hold is refused, each time by a rule of NumPy's own.

Python's numbers have no dtype: NumPy raises where one can't be held. Numbers of a dtype are cast, which wraps; only
where they are set by their place do signed integers refuse them, too. Which rule holds depends on the function.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..graph.errors import BadValue, DTypeError, RangeError, bad

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..graph.expr.expr import DType

    Values = np.ndarray[Any, Any]
    Rule = Callable[[Any, DType], Values]


def read(value: object, dtype: DType) -> Values:
    """Read a value, or lists of values, as `asarray` does; so do `insert`, `put`, masks and positions that are set."""
    return np.asarray(value, dtype)


def copied(value: Any, dtype: DType) -> Values:
    """Copy a value as `copyto` and `full` do: what has a fraction, and NaN, is cast."""
    array = np.empty(np.shape(value), dtype)
    np.copyto(array, value, casting="unsafe")
    return array


def assigned(value: object, dtype: DType) -> Values:
    """Set a value as `x[0] = value` and `x[:] = value` do, and the `initial` of a reduction."""
    array = np.empty((), dtype)
    array[()] = value
    return array


def hold(operation: str, argument: str, value: object, dtype: DType, by: Rule = read) -> Values:
    """Return values as an array of NumPy's of a dtype.

    Raises
    ------
    RangeError
        The dtype has no such number.
    BadValue
        The dtype has no such value: NaN among integers, or a text that is no number.
    DTypeError
        The dtype has none of its kind.
    """
    try:
        return by(value, dtype)
    except OverflowError as error:
        raise RangeError(bad(operation, argument, value, f"values that {dtype} can hold")) from error
    except ValueError as error:
        raise BadValue(bad(operation, argument, value, f"values that {dtype} can hold")) from error
    except TypeError as error:
        raise DTypeError(bad(operation, argument, value, f"values that {dtype} can hold")) from error
