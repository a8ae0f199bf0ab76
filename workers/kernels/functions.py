"""Functions that programs name: NumPy's ufuncs, and the few others with the same manners (`out=` is filled)."""

from __future__ import annotations

import warnings
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

Array = np.ndarray[Any, Any]


def _cast(x: Any, *, out: Array) -> None:
    np.copyto(out, x, casting="unsafe")


def _where(condition: Any, a: Any, b: Any, *, out: Array) -> None:
    np.copyto(out, b, casting="unsafe")
    np.copyto(out, a, where=np.asarray(condition, bool), casting="unsafe")


def _real(x: Any, *, out: Array) -> None:
    np.copyto(out, np.real(x))


def _imag(x: Any, *, out: Array) -> None:
    np.copyto(out, np.imag(x))


def _complex(x: Any, y: Any, *, out: Array) -> None:
    np.copyto(out.real, x)
    np.copyto(out.imag, y)


def _view(x: Any, *, out: Array) -> None:
    np.copyto(out, np.ascontiguousarray(x).view(out.dtype))


def _angle(x: Any, *, out: Array) -> None:
    np.copyto(out, np.angle(x))


def _choose(number: Any, *choices: Any, out: Array) -> None:
    np.choose(np.broadcast_to(number, out.shape), choices, out=out)  # `out` may be larger


def _round(x: Any, decimals: Any, *, out: Array) -> None:
    if out.dtype.kind in "iu" and decimals < 0:  # NumPy divides, and can't put that into integers
        np.copyto(out, np.round(x, decimals))
    else:
        np.round(x, decimals, out=out)


def _pair(x: Any, counts: Any, *, out: Array) -> None:
    out["value"] = x
    out["counts"] = counts


EMPTY, UNFREE = "Mean of empty slice", "Degrees of freedom <= 0 for slice"
"""What NumPy warns of, word for word: by these filters know it."""


def _divide_by_count(total: Any, count: Any, *, out: Array) -> None:
    if not np.all(count):
        warnings.warn(EMPTY, RuntimeWarning, stacklevel=2)
    np.true_divide(total, count, out=out)


def _divide_by_freedom(total: Any, freedom: Any, *, out: Array) -> None:
    if not np.all(np.greater(freedom, 0)):
        warnings.warn(UNFREE, RuntimeWarning, stacklevel=2)
    np.true_divide(total, np.maximum(freedom, 0), out=out)


def _same_records(x: Any, y: Any, *, out: Array) -> None:
    np.copyto(out, x == y)


def _other_records(x: Any, y: Any, *, out: Array) -> None:
    np.copyto(out, x != y)


def _i0(x: Any, *, out: Array) -> None:
    np.copyto(out, np.i0(x))


def _sinc(x: Any, *, out: Array) -> None:
    np.copyto(out, np.sinc(x))


_NAMED: dict[str, Callable[..., Any]] = {
    "copy": _cast,
    "cast": _cast,
    "where": _where,
    "real": _real,
    "imag": _imag,
    "angle": _angle,
    "complex": _complex,
    "view": _view,
    "choose": _choose,
    "pair": _pair,
    "divide_by_count": _divide_by_count,
    "divide_by_freedom": _divide_by_freedom,
    "round": _round,
    "equal_records": _same_records,
    "not_equal_records": _other_records,
    "i0": _i0,
    "sinc": _sinc,
}

_ROOMS = {"i0": 8, "sinc": 4, "angle": 3, "round": 2}
"""How many arrays of a tile's size functions make beside the result; NumPy's own loops none, others one."""

# One operand's buffer may be overwritten by the result: these read each element before they write it, in any loop.
IN_PLACE = frozenset(
    [
        "add",
        "subtract",
        "multiply",
        "divide",
        "sqrt",
        "square",
        "negative",
        "absolute",
        "minimum",
        "maximum",
        "fmin",
        "fmax",
        "positive",
        "reciprocal",
        "bitwise_and",
        "bitwise_or",
        "bitwise_xor",
        "invert",
        "logical_and",
        "logical_or",
        "logical_xor",
        "logical_not",
        "copy",
        "cast",
    ]
)


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
