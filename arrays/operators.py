"""Python's operators on arrays."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from contextlib import suppress
from numbers import Number
from typing import TYPE_CHECKING, Any

import numpy as np

from ..graph.errors import ArgumentError, DTypeError, ShapeError, bad
from ..graph.kinds.elementwise import NumberInput
from ..graph.kinds.source import Full
from .base import SCALARS, ArrayBase, make
from .ops.elementwise import ufuncs as ew
from .ops.elementwise.nodes import apply, cast
from .ops.products.matrices import matmul

if TYPE_CHECKING:
    from .array import Array
    from .ops.elementwise.ufunc import Ufunc
    from .typing import ArrayLike

_OPERANDS = (*SCALARS, NumberInput, ArrayBase, np.ndarray, list, tuple, str, bytes)
Binary = Callable[[Any, Any], Any]


def _is_taken(operation: str, other: Any) -> bool:
    """Whether an operator takes an operand, or leaves it to the operand's own; dask's would leave it to Windrow's."""
    if isinstance(other, _OPERANDS):
        return True
    if type(other).__module__.startswith("dask.array."):
        raise ArgumentError(
            f"{operation}: an operand is a dask array; expected lazy arrays of one kind: windrow.from_dask(x) makes "
            "one of Windrow's, x.to_dask() one of dask's"
        )
    plain = hasattr(other, "__array__") or hasattr(other, "__arrow_c_array__")
    return plain and not any(hasattr(other, n) for n in ("__array_ufunc__", "__array_priority__"))


def _both(function: Ufunc) -> tuple[Binary, Binary]:
    def forward(self: ArrayBase, other: ArrayLike) -> Any:
        return function(self, other) if _is_taken(function.__name__, other) else NotImplemented

    def reflect(self: ArrayBase, other: ArrayLike) -> Any:
        return function(other, self) if _is_taken(function.__name__, other) else NotImplemented

    return forward, reflect


def _in_place(function: Binary, symbol: str) -> Binary:
    """An operator that sets all elements of an array, whose shape and dtype stay."""

    def forward(self: ArrayBase, other: ArrayLike) -> Any:
        if not _is_taken(symbol, other):
            return NotImplemented
        result = function(self, other)
        if not _same_places(result, self) and result.shape != self.shape:
            raise ShapeError(f"{symbol}: the result has shape {result.shape}; expected {self.shape}, the array's own")
        if not np.can_cast(result.dtype, self.dtype, casting="same_kind"):
            raise DTypeError(
                f"{symbol}: the result has dtype {result.dtype}, which doesn't go into an array of {self.dtype}; "
                f"write x = x {symbol[:-1]} y, or cast"
            )
        self._become(cast(result, self.dtype))
        return self

    return forward


def _same_places(found: ArrayBase, x: ArrayBase) -> bool:
    """Whether both are selected by one mask: they have one shape, which nobody needs to know yet."""
    both = [a._unsized.chosen if a._unsized is not None else None for a in (found, x)]
    return both[0] is not None and both[1] is not None and both[0].beside(both[1])


def _never_equal(dtype: Any, other: Any) -> bool:
    """Tell whether one is text, and the other bytes or numbers: NumPy's `==` says False for each element."""
    kind = getattr(other, "dtype", None) or (np.dtype(type(other)) if isinstance(other, _PLAIN) else None)
    if kind is None:
        return False
    kinds = {dtype.kind, kind.kind}
    return kinds == {"U", "S"} or (bool(kinds & {"U", "S"}) and bool(kinds & set("biufc")))


_PLAIN = (str, bytes, bool, int, float, complex)


def _equality(function: Ufunc, symbol: str) -> Binary:
    """A comparison that takes any object, as NumPy's; Python's own answer, where nobody has one, would be one bool."""

    def forward(self: ArrayBase, other: Any) -> Any:
        if self.dtype.names and getattr(getattr(other, "dtype", None), "names", None):
            compare = operator.eq if symbol == "__eq__" else operator.ne
            return apply(function.__name__, f"{function.__name__}_records", (self, other), compare)
        if _never_equal(self.dtype, other):
            rest: Any = (
                make(Full(np.bool(False)), (), other.expr.grid, np.bool) if isinstance(other, ArrayBase) else False
            )
            rest = np.zeros(np.shape(other), bool) if isinstance(other, np.ndarray) else rest
            return function(make(Full(np.bool(True)), (), self.expr.grid, np.bool), rest)
        if _is_taken(function.__name__, other):
            return function(self, other)
        if isinstance(other, Number):
            other = _as_plain(other)
        elif isinstance(other, Sequence):
            return function(self, np.asarray(other))
        elif not isinstance(other, type) and any(
            hasattr(other, n) for n in ("__array_ufunc__", "__array_priority__", "__iter__")
        ):
            comparison = getattr(type(other), symbol)(other, self)
            if comparison is NotImplemented:
                raise TypeError(bad(function.__name__, "x2", other, "an array, a number, or a sequence of them"))
            return comparison
        else:
            other = None
        return (
            make(Full(np.bool(symbol == "__ne__")), (), self.expr.grid, np.bool)
            if other is None
            else function(self, other)
        )

    return forward


def _as_plain(number: Any) -> int | float | complex | None:
    """Return Python's own number that equals another, such as a fraction; None where there is none."""
    for kind in (int, float, complex):
        with suppress(ValueError, OverflowError, TypeError):
            if (plain := kind(number)) == number:
                return plain
    return None


def _one(function: Ufunc) -> Callable[[Any], Array]:
    def forward(self: ArrayBase) -> Array:
        result: Array = function(self)
        return result

    return forward


class Operators(ArrayBase):
    """Arithmetic, comparison and bitwise operators; each is one of the elementwise functions."""

    __slots__ = ()

    __add__, __radd__ = _both(ew.add)
    __sub__, __rsub__ = _both(ew.subtract)
    __mul__, __rmul__ = _both(ew.multiply)
    __truediv__, __rtruediv__ = _both(ew.divide)
    __floordiv__, __rfloordiv__ = _both(ew.floor_divide)
    __mod__, __rmod__ = _both(ew.remainder)
    __divmod__, __rdivmod__ = _both(ew.divmod)
    __rpow__ = _both(ew.power)[1]
    __and__, __rand__ = _both(ew.bitwise_and)
    __or__, __ror__ = _both(ew.bitwise_or)
    __xor__, __rxor__ = _both(ew.bitwise_xor)
    __lshift__, __rlshift__ = _both(ew.left_shift)
    __rshift__, __rrshift__ = _both(ew.right_shift)
    __lt__, __gt__ = _both(ew.less)[0], _both(ew.greater)[0]
    __le__, __ge__ = _both(ew.less_equal)[0], _both(ew.greater_equal)[0]
    __eq__, __ne__ = _equality(ew.equal, "__eq__"), _equality(ew.not_equal, "__ne__")
    __neg__, __pos__ = _one(ew.negative), _one(ew.positive)
    __abs__, __invert__ = _one(ew.absolute), _one(ew.invert)

    __iadd__, __isub__ = _in_place(ew.add, "+="), _in_place(ew.subtract, "-=")
    __imul__, __itruediv__ = _in_place(ew.multiply, "*="), _in_place(ew.divide, "/=")
    __ifloordiv__, __imod__ = _in_place(ew.floor_divide, "//="), _in_place(ew.remainder, "%=")
    __ipow__, __imatmul__ = _in_place(ew.power, "**="), _in_place(matmul, "@=")
    __iand__, __ior__ = _in_place(ew.bitwise_and, "&="), _in_place(ew.bitwise_or, "|=")
    __ixor__ = _in_place(ew.bitwise_xor, "^=")
    __ilshift__, __irshift__ = _in_place(ew.left_shift, "<<="), _in_place(ew.right_shift, ">>=")

    def __pow__(self, other: Any) -> Any:
        """As in NumPy: squares and square roots have functions of their own, and a square keeps small dtypes."""
        if type(other) is int and other == 2 and self.dtype.kind in "biufc":
            return ew.square(self)
        if type(other) is float and other == 0.5 and self.dtype.kind in "fc":
            return ew.sqrt(self)
        return ew.power(self, other) if _is_taken("power", other) else NotImplemented

    def __matmul__(self, other: ArrayLike) -> Any:
        return matmul(self, other) if _is_taken("matmul", other) else NotImplemented

    def __rmatmul__(self, other: ArrayLike) -> Any:
        return matmul(other, self) if _is_taken("matmul", other) else NotImplemented

    def __hash__(self) -> int:
        raise TypeError(
            "unhashable type: 'windrow.Array', as NumPy's arrays are; compute() first, or go by id(): "
            "set(x.compute().tolist())"
        )
