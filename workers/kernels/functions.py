"""Functions that programs name: NumPy's ufuncs, and the few others with the same manners (`out=` is filled)."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

import numpy as np

Array = np.ndarray[Any, Any]
F = TypeVar("F", bound=Callable[..., Any])

IN_PLACE = {
    "absolute", "add", "bitwise_and", "bitwise_or", "bitwise_xor", "divide", "fmax", "fmin", "invert", "logical_and",
    "logical_not", "logical_or", "logical_xor", "maximum", "minimum", "multiply", "negative", "positive", "reciprocal",
    "sqrt", "square", "subtract",
}  # fmt: skip
"""Functions that read each element before they write it, in any loop: an operand's buffer may take the result."""
_NAMED: dict[str, Callable[..., Any]] = {}
_ROOMS: dict[str, int] = {}


def kernel(*names: str, room: int = 1, in_place: bool = False) -> Callable[[F], F]:
    """Name a kernel, which fills `out`, as programs do.

    Beside the result it makes `room` arrays of a tile's size; `in_place` says whether it may go into `IN_PLACE`.
    """

    def register(function: F) -> F:
        for name in names:
            _NAMED[name], _ROOMS[name] = function, room
        if in_place:
            IN_PLACE.update(names)
        return function

    return register


def _filling(function: Callable[..., Any]) -> Callable[..., None]:
    """Return the kernel that fills `out` with what a function returns."""

    def fill(*args: Any, out: Array) -> None:
        np.copyto(out, function(*args))

    return fill


@kernel("copy", "cast", in_place=True)
def _cast(x: Any, *, out: Array) -> None:
    np.copyto(out, x, casting="unsafe")


@kernel("where")
def _where(condition: Any, a: Any, b: Any, *, out: Array) -> None:
    np.copyto(out, b, casting="unsafe")
    np.copyto(out, a, where=np.asarray(condition, bool), casting="unsafe")


@kernel("complex")
def _complex(x: Any, y: Any, *, out: Array) -> None:
    np.copyto(out.real, x)
    np.copyto(out.imag, y)


@kernel("view")
def _view(x: Any, *, out: Array) -> None:
    np.copyto(out, np.ascontiguousarray(x).view(out.dtype))


@kernel("choose")
def _choose(number: Any, *choices: Any, out: Array) -> None:
    np.choose(np.broadcast_to(number, out.shape), choices, out=out)  # `out` may be larger


@kernel("round", room=2)
def _round(x: Any, decimals: Any, *, out: Array) -> None:
    if out.dtype.kind in "iu" and decimals < 0:  # NumPy divides, and can't put that into integers
        np.copyto(out, np.round(x, decimals))
    else:
        np.round(x, decimals, out=out)


@kernel("pair")
def _pair(x: Any, counts: Any, *, out: Array) -> None:
    out["value"] = x
    out["counts"] = counts


EMPTY, UNFREE = "Mean of empty slice", "Degrees of freedom <= 0 for slice"
"""What NumPy warns of, word for word: by these filters know it."""


@kernel("divide_by_count")
def _divide_by_count(total: Any, count: Any, *, out: Array) -> None:
    if not np.all(count):
        warnings.warn(EMPTY, RuntimeWarning, stacklevel=2)
    np.true_divide(total, count, out=out)


@kernel("divide_by_freedom")
def _divide_by_freedom(total: Any, freedom: Any, *, out: Array) -> None:
    if not np.all(np.greater(freedom, 0)):
        warnings.warn(UNFREE, RuntimeWarning, stacklevel=2)
    np.true_divide(total, np.maximum(freedom, 0), out=out)


for _name, _function, _room in (
    ("real", np.real, 1),
    ("imag", np.imag, 1),
    ("angle", np.angle, 3),
    ("i0", np.i0, 8),
    ("sinc", np.sinc, 4),
    ("equal_records", operator.eq, 1),
    ("not_equal_records", operator.ne, 1),
):
    kernel(_name, room=_room)(_filling(_function))


@cache
def function(name: str) -> Callable[..., Any]:
    """Return the kernel of an elementwise function: `f(*args, out=array)`."""
    if name in _NAMED:
        return _NAMED[name]
    ufunc, _, part = name.partition(":")
    numpy_ufunc = getattr(np, ufunc)
    if not isinstance(numpy_ufunc, np.ufunc):
        raise KeyError(f"no kernel is named {name!r}")
    if not part:
        return numpy_ufunc
    return _one_output(numpy_ufunc, int(part))


def room_of_function(name: str) -> int:
    """Return how many arrays of a tile's size a function makes beside its result, at most."""
    return 0 if isinstance(function(name), np.ufunc) else _ROOMS.get(name, 1)


def _one_output(ufunc: np.ufunc, part: int) -> Callable[..., Any]:
    def pick(*args: Any, out: Array) -> None:
        wanted: list[Array | None] = [None] * ufunc.nout
        wanted[part] = out
        ufunc(*args, out=tuple(wanted))

    return pick
