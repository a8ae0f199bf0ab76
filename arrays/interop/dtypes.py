"""Dtypes: what they promote to, what casts, what they can hold. No array is computed for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.errors import ArgumentError, DTypeError, bad
from ..base import ArrayBase, check_dtype

if TYPE_CHECKING:
    from ...graph.expr.expr import DType
    from ..typing import ArrayLike

__all__ = [
    "can_cast",
    "common_type",
    "finfo",
    "iinfo",
    "isdtype",
    "issubdtype",
    "min_scalar_type",
    "promote_types",
    "result_type",
]

issubdtype = np.issubdtype


class finfo:
    """Limits of a floating-point dtype, as Python floats; NumPy gives scalars of the dtype.

    Parameters
    ----------
    type : dtype or array
        A real or complex floating-point dtype, or an array of one.

    Raises
    ------
    DTypeError
        The dtype is not floating-point.

    Attributes
    ----------
    bits : int
    eps, max, min, smallest_normal : float
    dtype : numpy.dtype
        Of the real parts. Further attributes are `numpy.finfo`'s.

    >>> wr.finfo(wr.float32).max
    3.4028234663852886e+38
    """

    def __init__(self, type: Any, /) -> None:
        held = isinstance(type, ArrayBase | np.ndarray | np.generic)
        dtype = check_dtype("finfo", "type", type.dtype if held else type)
        if dtype.kind not in "fc":
            raise DTypeError(bad("finfo", "type", dtype, "a dtype of floats"))
        self._own: Any = np.finfo(dtype)
        self.bits, self.dtype = int(self._own.bits), self._own.dtype
        self.eps, self.max, self.min = float(self._own.eps), float(self._own.max), float(self._own.min)
        self.smallest_normal = float(self._own.smallest_normal)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._own, name)

    def __repr__(self) -> str:
        return f"finfo({self.dtype}, eps={self.eps}, min={self.min}, max={self.max})"


def iinfo(type: Any, /) -> np.iinfo[Any]:
    """Return the limits of an integer dtype, as Python integers.

    Parameters
    ----------
    type : dtype, integer or array
        An integer dtype, or an integer or an array of one; NumPy's own takes no arrays.

    Returns
    -------
    numpy.iinfo
        With the attributes `bits`, `max`, `min` and `dtype`.

    Raises
    ------
    ValueError
        The dtype is not of integers.

    >>> wr.iinfo(wr.int16).max, wr.iinfo(wr.ones(3, dtype="u1")).max
    (32767, 255)
    """
    return np.iinfo(type.dtype if isinstance(type, ArrayBase | np.ndarray) else type)


def _to_dtype(value: object) -> Any:
    """Return the dtype of a lazy array in place of the array."""
    return value.dtype if isinstance(value, ArrayBase) else value


def can_cast(from_: Any, to: Any, casting: str = "safe") -> bool:
    """Return whether elements may be cast from one dtype to another.

    Parameters
    ----------
    from_ : dtype or array
        To cast from; of an array, its dtype counts.
    to : dtype
        To cast to.
    casting : str
        The rule: "no", "equiv", "safe", "same_kind" or "unsafe".

    Returns
    -------
    bool
        Whether the rule allows the cast.

    Raises
    ------
    ArgumentError
        `casting` is unknown.
    DTypeError
        `from_` or `to` is not a NumPy dtype, or one of Python objects.

    >>> wr.can_cast(wr.int32, wr.float64), wr.can_cast(wr.ones(3), wr.int64)
    (True, False)
    """
    source = from_.dtype if isinstance(from_, ArrayBase | np.ndarray) else check_dtype("can_cast", "from_", from_)
    wanted = check_dtype("can_cast", "to", to)
    try:
        return bool(np.can_cast(source, wanted, casting=casting))  # type: ignore[arg-type]
    except ValueError as error:
        raise ArgumentError(bad("can_cast", "casting", casting, "one of NumPy's rules, such as 'safe'")) from error


def common_type(*arrays: ArrayLike) -> type:
    """Return the floating-point type that holds the elements of arrays.

    Parameters
    ----------
    *arrays : array_like
        The arrays; only their dtypes count.

    Returns
    -------
    type
        A NumPy scalar type, float64 for integers.

    Raises
    ------
    DTypeError
        An array is not of numbers.

    >>> wr.common_type(wr.arange(3), wr.ones(3, dtype="f4"))
    <class 'numpy.float64'>
    """
    plain = [np.empty(0, a.dtype) if isinstance(a, ArrayBase) else np.asarray(a) for a in arrays]
    try:
        common: type = np.common_type(*plain)
    except TypeError as error:
        raise DTypeError(bad("common_type", "arrays", [a.dtype for a in plain], "numbers")) from error
    return common


def min_scalar_type(a: ArrayLike) -> DType:
    """Return the smallest dtype that holds a scalar.

    Parameters
    ----------
    a : scalar or array_like
        The scalar; of an array the dtype is returned.

    Returns
    -------
    dtype
        The dtype. A lazy 0-d array isn't computed: its own dtype is returned.

    Raises
    ------
    ValueError
        `a` is a ragged sequence.

    >>> wr.min_scalar_type(300), wr.min_scalar_type(wr.ones(()))
    (dtype('uint16'), dtype('float64'))
    """
    return a.dtype if isinstance(a, ArrayBase) else np.min_scalar_type(a)


def isdtype(dtype: Any, kind: Any) -> bool:
    """Return whether a dtype is of a kind.

    Parameters
    ----------
    dtype : dtype
        The dtype.
    kind : dtype, str or tuple of them
        A dtype, or "bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating" or
        "numeric".

    Returns
    -------
    bool
        Whether it is of one of the kinds.

    Raises
    ------
    ArgumentError
        `kind` is unknown.
    DTypeError
        `dtype` is not a NumPy dtype, or one of Python objects.

    >>> wr.isdtype(wr.ones(3).dtype, ("real floating", "bool"))
    True
    """
    try:
        return bool(np.isdtype(check_dtype("isdtype", "dtype", dtype), kind))
    except (TypeError, ValueError) as error:
        raise ArgumentError(bad("isdtype", "kind", kind, "a dtype, a kind's name, or a tuple of them")) from error


def promote_types(type1: Any, type2: Any) -> DType:
    """Return the dtype to which two dtypes promote.

    Parameters
    ----------
    type1, type2 : dtype
        The dtypes.

    Returns
    -------
    dtype
        The smallest dtype to which both can be cast safely, as in NumPy 2.

    Raises
    ------
    DTypeError
        `type1` or `type2` is not a NumPy dtype, or one of Python objects. There is no common dtype.

    >>> wr.promote_types("i4", "f4")
    dtype('float64')
    """
    return result_type(check_dtype("promote_types", "type1", type1), check_dtype("promote_types", "type2", type2))


def result_type(*arrays_and_dtypes: Any) -> DType:
    """Return the dtype to which arrays, dtypes and scalars promote, as in NumPy 2.

    Parameters
    ----------
    *arrays_and_dtypes : array, dtype or scalar
        The operands. Python's numbers promote weakly; lazy arrays aren't computed.

    Returns
    -------
    dtype
        The dtype of an operation on them.

    Raises
    ------
    ArgumentError
        There are no operands.
    DTypeError
        There is no common dtype.

    >>> wr.result_type(wr.ones(3, dtype="f4"), 2.5), wr.result_type(wr.int32, wr.uint32)
    (dtype('float32'), dtype('int64'))
    """
    if not arrays_and_dtypes:
        raise ArgumentError(bad("result_type", "arrays_and_dtypes", (), "at least one array, dtype or scalar"))
    try:
        dtype: DType = np.result_type(*map(_to_dtype, arrays_and_dtypes))
    except TypeError as error:
        raise DTypeError(
            bad("result_type", "arrays_and_dtypes", arrays_and_dtypes, f"a common one ({error})")
        ) from error
    return dtype
