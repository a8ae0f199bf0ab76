"""Elementwise operations: NumPy's ufuncs and what behaves like them, with NumPy 2's promotion."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..arguments import is_numpy_scalar
from ..expr.expr import DType, Op


@dataclass(frozen=True)
class Scalar:
    """A scalar argument. Python's own numbers promote weakly, as NumPy 2 has it."""

    value: Any


@dataclass(frozen=True, eq=False, repr=False)
class NumberInput:
    """A number that is known when a traced function is called: what stands for it as the value of a `Scalar`.

    Only operations of arrays take it. Whatever else would need its value raises, so that nothing depends on the
    `sample` of which the function was traced.
    """

    sample: Any
    number: int = field(default_factory=itertools.count().__next__)

    asked: list[bool] = field(default_factory=list[bool])
    """Not empty where its value was asked for, whatever came of the refusal."""

    def _refuse(self, *_: object, **__: object) -> Any:
        self.asked.append(True)
        raise TypeError("the value of a number isn't known while a function is traced")

    def _combine(self, other: object) -> Any:
        """Leave it to an array; whatever else would need the value."""
        return NotImplemented if hasattr(type(other), "__array_ufunc__") else self._refuse()

    def __getattr__(self, name: str) -> Any:
        """Refuse what the number has."""
        if hasattr(self.sample, name):
            self._refuse()
        raise AttributeError(name)

    def __deepcopy__(self, _: object = None) -> NumberInput:
        """Be the only one, as numbers are."""
        return self

    __copy__ = __deepcopy__
    __bool__ = __int__ = __float__ = __index__ = __complex__ = __hash__ = _refuse
    __array__ = __str__ = __repr__ = __format__ = __reduce_ex__ = _refuse
    __neg__ = __pos__ = __abs__ = __invert__ = __round__ = __trunc__ = __floor__ = __ceil__ = _refuse
    __add__ = __sub__ = __mul__ = __truediv__ = __floordiv__ = __mod__ = __divmod__ = __pow__ = __matmul__ = _combine
    __radd__ = __rsub__ = __rmul__ = __rtruediv__ = __rfloordiv__ = __rmod__ = __rdivmod__ = __rpow__ = _combine
    __lshift__ = __rshift__ = __and__ = __or__ = __xor__ = _combine
    __rlshift__ = __rrshift__ = __rand__ = __ror__ = __rxor__ = _combine
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse

    def __getattribute__(self, name: str) -> Any:
        """Show the number's type as the class: it is known, since it names the trace."""
        if name != "__class__":
            return super().__getattribute__(name)
        return type(object.__getattribute__(self, "sample"))  # pyright: ignore[reportUnknownVariableType]

    def token_key(self) -> tuple[object, ...]:
        """Name by number."""
        return (self.number,)


Arg = int | Scalar


@dataclass(frozen=True)
class Elementwise(Op):
    """`function(*args)` for each element; an integer argument is the number of an operand.

    The function is named: a ufunc of NumPy, or an entry of `workers.kernels.functions`.
    """

    function: str
    args: tuple[Arg, ...]

    @property
    def form(self) -> object:
        """See `Op`: of scalars their types."""
        return self.function, tuple([kind_of(a.value) if isinstance(a, Scalar) else a for a in self.args])

    @property
    def given(self) -> tuple[object, ...]:
        """See `Op`: the scalars' values."""
        return tuple([a.value for a in self.args if isinstance(a, Scalar)])

    @property
    def label(self) -> str:
        name = self.function.partition(":")[0]
        return "astype" if name == "cast" else name


def sample_of(value: Any) -> Any:
    """Return a scalar that is computed with as this one is."""
    return value.sample if isinstance(value, NumberInput) else value


def kind_of(value: object) -> object:
    """Return what tells how a scalar is computed with, whatever its value."""
    value = sample_of(value)
    return value.dtype if is_numpy_scalar(value) else type(value).__name__


def result_dtype(function: str, args: list[DType | bool | int | float | complex | np.generic]) -> DType:
    """Return the dtype that a ufunc of NumPy gives for dtypes and scalars; TypeError where it has no loop for them."""
    name, _, part = function.partition(":")
    ufunc = getattr(np, name)
    arg_types: list[Any] = []
    for arg in args:
        if isinstance(arg, np.dtype):
            arg_types.append(arg)
        elif isinstance(arg, np.generic):
            arg_types.append(arg.dtype)
        elif isinstance(arg, bool):
            arg_types.append(np.dtype(bool))
        else:
            arg_types.append(type(arg))
    dtypes = ufunc.resolve_dtypes(tuple(arg_types) + (None,) * ufunc.nout)
    dtype: DType = dtypes[ufunc.nin + (int(part) if part else 0)]
    return dtype
