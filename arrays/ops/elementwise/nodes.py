"""Makes elementwise nodes: separates arrays from scalars, aligns chunks, finds the dtype of the result."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.errors import DTypeError, RangeError, bad
from ....graph.kinds.elementwise import Arg, Elementwise, NumberInput, Scalar, sample_of
from ...base import SCALARS, ArrayBase, as_array, check_dtype, make
from ...chunking.rechunk import align_chunks
from ...values import hold, read
from .selections import over_chosen

if TYPE_CHECKING:
    from ....graph.expr.expr import DType
    from ...array import Array
    from ...typing import ArrayLike, DTypeLike
    from ...values import Rule

Sample = Callable[..., Any]
SMALL = 127
"""The largest integer that every dtype of integers holds."""
_KINDS = {
    "b": "bools",
    "i": "integers",
    "f": "floats",
    "c": "complex numbers",
    "M": "datetimes",
    "m": "timedeltas",
}
_LARGEST = {"b": "?", "i": "i8", "f": "f8", "c": "c16", "M": "M8[s]", "m": "m8[s]"}
_SAYS_NOTHING = re.compile("not supported for the input types|did not contain a loop|only defined for")
"""Parts of NumPy's error messages that name no cause: they only say that a ufunc refuses its operands."""


def split(operation: str, values: Sequence[Any]) -> tuple[list[Array], list[Arg]]:
    """Separate arrays from scalars; a 0-d NumPy array is a scalar with a dtype."""
    arrays: list[Array] = []
    args: list[Arg] = []
    for i, value in enumerate(values):
        scalar = _scalar(value)
        if scalar is not None:
            sample = sample_of(scalar.value)
            if type(sample) is not int:  # of any size; NumPy checks whether the other operands' dtype can hold it
                check_dtype(operation, f"x{i + 1}", np.asarray(sample).dtype)
            args.append(scalar)
        else:
            args.append(len(arrays))
            arrays.append(as_array(operation, f"x{i + 1}", value))
    if not arrays:
        first = args[0]
        assert isinstance(first, Scalar)
        arrays.append(as_array(operation, "x1", first.value))
        args[0] = 0
    return arrays, args


def _scalar(value: object) -> Scalar | None:
    if isinstance(value, (*SCALARS, NumberInput)):
        return Scalar(value)
    if isinstance(value, str | bytes):
        return Scalar(np.asarray(value)[()])
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return Scalar(value[()])
    return None


def sample_dtypes(operation: str, sample: Sample, arrays: Sequence[ArrayBase], args: Sequence[Arg]) -> list[DType]:
    """Return the dtypes of a function's results, found by calling it on arrays without elements."""
    if isinstance(sample, np.ufunc):
        kinds = tuple([_kind(sample_of(a.value)) if isinstance(a, Scalar) else arrays[a].dtype for a in args])
        if all(kind is not None for kind in kinds):
            with suppress(DTypeError):  # found below, where the message names the values
                return list(_known_dtypes(operation, sample, kinds))
    operands = [sample_of(a.value) if isinstance(a, Scalar) else arrays[a].dtype for a in args]
    return _find_dtypes(operation, sample, operands)


def _kind(value: object) -> Any:
    """Return the dtype or class of a scalar; None where the result's dtype depends on its value, too."""
    if type(value) is float:
        return float
    if type(value) is int and 0 <= value <= SMALL:
        return int
    return value.dtype if isinstance(value, np.generic) and value.dtype.kind in "biufc" else None


@lru_cache(1024)
def _known_dtypes(operation: str, sample: np.ufunc, kinds: tuple[Any, ...]) -> tuple[DType, ...]:
    return tuple(_find_dtypes(operation, sample, [kind(1) if isinstance(kind, type) else kind for kind in kinds]))


def _find_dtypes(operation: str, sample: Sample, operands: Sequence[Any]) -> list[DType]:
    """Return the dtypes of a function's results for operands that are dtypes, or scalars."""
    inputs = [np.empty(0, each) if isinstance(each, np.dtype) else each for each in operands]
    try:
        with np.errstate(all="ignore"):
            outputs = sample(*inputs)
    except TypeError as error:
        kinds = ", ".join(str(each) if isinstance(each, np.dtype) else repr(each) for each in operands)
        taken = _name_kinds(sample) if isinstance(sample, np.ufunc) else ""
        why = "" if taken and _SAYS_NOTHING.search(str(error)) else f" ({error})"
        raise DTypeError(
            f"{operation}: operands are {kinds}; expected {taken or 'dtypes that it takes'}{why}"
        ) from error
    except OverflowError as error:
        raise RangeError(f"{operation}: {error}; expected a number that the other operands' dtype can hold") from error
    return [np.asarray(f).dtype for f in (outputs if isinstance(outputs, tuple) else (outputs,))]


def _name_kinds(ufunc: np.ufunc) -> str:
    """Return words for the dtypes that a ufunc of NumPy takes, for an error message."""
    words = [word for kind, word in _KINDS.items() if _takes(ufunc, _LARGEST[kind])]
    loops = dict.fromkeys(tuple([np.dtype(c).kind for c in loop[: ufunc.nin]]) for loop in ufunc.types)
    mixed = [kinds for kinds in loops if len(set(kinds)) > 1 and _KINDS.keys() >= set(kinds)]
    words += [" with ".join(_KINDS[kind] for kind in kinds) for kinds in mixed]
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _takes(ufunc: np.ufunc, dtype: str) -> bool:
    try:
        with np.errstate(all="ignore"):
            ufunc(*[np.empty(0, dtype)] * ufunc.nin)
    except TypeError:
        return False
    return True


def apply(operation: str, function: str, values: Sequence[Any], sample: Sample) -> Array:
    """Return the array that a kernel with one result makes; `sample`, called on empty arrays, gives its dtype."""
    chosen = over_chosen(operation, lambda *given: apply(operation, function, given, sample), values)
    if chosen is not None:
        return chosen
    arrays, args = split(operation, values)
    (dtype,) = sample_dtypes(operation, sample, arrays, args)
    grid, fitted = align_chunks(operation, arrays)
    return make(Elementwise(function, tuple(args)), fitted, grid, dtype)


def cast(array: ArrayBase, dtype: DTypeLike) -> Array:
    """Return an array with its elements cast, or the array itself if it has the dtype."""
    wanted = np.dtype(dtype)
    if wanted == array.dtype:
        return array  # type: ignore[return-value]
    chosen = over_chosen("astype", lambda whole: cast(whole, wanted), (array,))
    if chosen is not None:
        return chosen
    return make(Elementwise("cast", (0,)), (array,), array.expr.grid, wanted)


def cast_values(operation: str, argument: str, value: object, dtype: DType, by: Rule = read) -> Array:
    """Return values to be stored in a dtype: arrays are cast to it, numbers and lists must fit into it."""
    if isinstance(value, (SCALARS, list, tuple, str, bytes)):
        value = hold(operation, argument, value, dtype, by)
    return cast(as_array(operation, argument, value), dtype)


def choose(operation: str, condition: ArrayLike, x: ArrayLike, y: ArrayLike) -> Array:
    """Return elements of `x` where a boolean condition holds, else of `y`. The node bears the name of the operation."""
    dtype = condition.dtype if isinstance(condition, ArrayBase) else np.asarray(condition).dtype
    if dtype != np.bool:
        raise DTypeError(bad(operation, "where", dtype, "an array of bool"))
    return apply(operation, "where", (condition, x, y), np.where)
