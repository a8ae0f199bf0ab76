"""Reductions: sums, products, moments, extremes and their positions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.errors import ArgumentError, DTypeError, ShapeError, bad
from ...graph.kinds.reduction import Reduce, accumulator, reduced_grid
from ..core import as_array, check_axes, check_axis, check_dtype, make, no_keywords
from .elementwise import astype

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...graph.expr import DType
    from ...graph.grid import Grid
    from ..array import Array

__all__ = [
    "all",
    "amax",
    "amin",
    "any",
    "argmax",
    "argmin",
    "count_nonzero",
    "max",
    "mean",
    "min",
    "prod",
    "ptp",
    "std",
    "sum",
    "var",
]


@dataclass(frozen=True)
class Named:
    """What reductions have in common: the name of their function in NumPy, where it is documented."""

    name: str

    @property
    def __name__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"<windrow reduction {self.name!r}>"


@dataclass(frozen=True, repr=False)
class Reduction(Named):
    """A reduction over some axes, lazily.

    Parameters
    ----------
    name : str
    empty : bool
        Whether it has a value for no elements.

    Examples
    --------
    >>> import windrow as wr
    >>> x = wr.arange(6, chunks=4).reshape(2, 3)
    >>> wr.sum(x, axis=1).compute()
    array([ 3, 12])
    >>> wr.max(x).compute()
    np.int64(5)
    """

    empty: bool = True

    def __call__(
        self, x: Any, axis: int | Sequence[int] | None = None, *, keepdims: bool = False, **unknown: Any
    ) -> Array:
        """Reduce `x` over `axis` (None: all axes); `keepdims` leaves axes of length one in their place."""
        no_keywords(self.name, unknown, "axis and keepdims")
        return reduce_to(self.name, x, axis, keepdims, None, empty=self.empty)


@dataclass(frozen=True, repr=False)
class Accumulation(Named):
    """A reduction that takes a dtype to add or multiply in: sum, prod, mean.

    Examples
    --------
    >>> import windrow as wr
    >>> wr.mean(wr.arange(4)).compute()
    np.float64(1.5)
    >>> wr.sum(wr.ones(3, dtype="f4"), dtype="f8").dtype
    dtype('float64')
    """

    def __call__(
        self,
        x: Any,
        axis: int | Sequence[int] | None = None,
        dtype: Any = None,
        *,
        keepdims: bool = False,
        **unknown: Any,
    ) -> Array:
        """Reduce `x` over `axis` in `dtype`."""
        no_keywords(self.name, unknown, "axis, dtype and keepdims")
        wanted = None if dtype is None else check_dtype(self.name, "dtype", dtype)
        return reduce_to(self.name, x, axis, keepdims, wanted)


@dataclass(frozen=True, repr=False)
class Spread(Named):
    """Variance or standard deviation; `ddof` is taken off the number of elements.

    Examples
    --------
    >>> import windrow as wr
    >>> wr.var(wr.arange(4), ddof=1).compute()
    np.float64(1.6666666666666667)
    """

    def __call__(
        self,
        x: Any,
        axis: int | Sequence[int] | None = None,
        *,
        ddof: float = 0,
        keepdims: bool = False,
        **unknown: Any,
    ) -> Array:
        """Reduce `x` over `axis`."""
        no_keywords(self.name, unknown, "axis, ddof and keepdims")
        if isinstance(ddof, bool) or not isinstance(ddof, int | float | np.number):
            raise ArgumentError(bad(self.name, "ddof", ddof, "a number"))
        return reduce_to(self.name, x, axis, keepdims, None, ddof=float(ddof))


@dataclass(frozen=True, repr=False)
class Position(Named):
    """Where the least or greatest element is: along one axis, or in C order.

    Examples
    --------
    >>> import windrow as wr
    >>> wr.argmax(wr.arange(10, chunks=3)).compute()
    np.int64(9)
    """

    def __call__(self, x: Any, axis: Any = None, *, keepdims: bool = False, **unknown: Any) -> Array:
        """Find the position along `axis` (None: in the flattened array)."""
        no_keywords(self.name, unknown, "axis and keepdims")
        if axis is not None:
            axis = check_axis(self.name, axis, as_array(self.name, "x", x).ndim)
        return reduce_to(self.name, x, axis, keepdims, None, empty=False)


def reduce_to(
    name: str,
    x: Any,
    axis: Any,
    keepdims: bool,
    dtype: DType | None,
    *,
    ddof: float = 0.0,
    empty: bool = True,
) -> Array:
    """Return the array of a reduction."""
    array = as_array(name, "x", x)
    axes = check_axes(name, axis, array.ndim)
    if not isinstance(keepdims, bool | np.bool):
        raise ArgumentError(bad(name, "keepdims", keepdims, "True or False"))
    if not empty and math.prod(array.shape[a] for a in axes) == 0:
        raise ShapeError(f"{name}: array of shape {array.shape} has no elements along axis {axis!r}; expected some")
    target = _target(name, array.dtype, dtype)
    if array.dtype == np.float16 and name in ("sum", "mean", "var", "std"):
        wide = reduce_to(name, astype(array, np.float32), axes, keepdims, None, ddof=ddof)
        return astype(wide, target)
    grid: Grid = reduced_grid(array.expr.grid, axes, bool(keepdims))
    return make(Reduce(name, axes, bool(keepdims), ddof), (array,), grid, target)


def _target(name: str, source: DType, dtype: DType | None) -> DType:
    """Return the dtype of a reduction's result, as NumPy has it."""
    if name in ("any", "all"):
        return np.dtype(bool)
    if name in ("argmin", "argmax", "count_nonzero"):
        return np.dtype(np.int64)
    if source.kind not in "biufcmM" or (source.kind in "mM" and name not in ("min", "max", "sum", "mean")):
        raise DTypeError(bad(name, "x", source, "an array of numbers"))
    if name in ("min", "max"):
        return source
    if dtype is not None:
        return dtype
    if name in ("sum", "prod"):
        try:
            return accumulator(name, source)
        except TypeError as error:
            raise DTypeError(bad(name, "x", source, "an array of numbers")) from error
    wide = np.dtype(np.float64) if source.kind in "biu" else source
    return np.empty(0, wide).real.dtype if name in ("var", "std") else wide


sum = Accumulation("sum")
prod = Accumulation("prod")
mean = Accumulation("mean")
var = Spread("var")
std = Spread("std")
min = Reduction("min", empty=False)
max = Reduction("max", empty=False)
amin = min
amax = max
any = Reduction("any")
all = Reduction("all")
count_nonzero = Reduction("count_nonzero")
argmin = Position("argmin")
argmax = Position("argmax")


def ptp(x: Any, axis: int | Sequence[int] | None = None, *, keepdims: bool = False) -> Array:
    """Return the range from the least to the greatest element.

    Parameters
    ----------
    x : array
    axis : int, tuple of int or None
    keepdims : bool

    Returns
    -------
    Array

    Examples
    --------
    >>> import windrow as wr
    >>> wr.ptp(wr.arange(5)).compute()
    np.int64(4)
    """
    array = as_array("ptp", "x", x)
    found: Array = max(array, axis, keepdims=keepdims) - min(array, axis, keepdims=keepdims)
    return found
