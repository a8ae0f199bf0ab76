"""Reductions: sums, products, moments, extremes and their positions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.errors import ArgumentError, DTypeError, bad
from ...graph.keywords import refuse
from ...graph.kinds.reduction import reduced_grid
from ...graph.kinds.source import Constant
from ..core import Node, as_array, check_axis, check_dtype, make
from .apply import cast
from .outputs import deliver
from .reducing import FOLDS, Axes, counted, masked, reduce_to, reduced_axes, target_dtype
from .ufuncs import UFUNCS, absolute, add, divide, maximum, minimum, multiply, sqrt, subtract

if TYPE_CHECKING:
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
class Logical(Named):
    """Whether any element holds, or all do.

    Examples
    --------
    >>> import windrow as wr
    >>> x = wr.arange(6, chunks=4).reshape(2, 3)
    >>> wr.any(x > 4, axis=1).compute()
    array([False,  True])
    """

    def __call__(
        self, a: Any, axis: Axes = None, out: Any = None, keepdims: bool = False, *, where: Any = True, **unknown: Any
    ) -> Array:
        """Reduce `a` over `axis` (None: all axes); `keepdims` leaves axes of length one in their place.

        With `where` elements count where it holds; with `out` the result goes there.
        """
        refuse(self.name, unknown, ["axis", "out", "keepdims", "where"])
        given = masked(self.name, a, where, self.name == "all")
        return deliver(self.name, reduce_to(self.name, given, axis, keepdims, None), out)  # type: ignore[no-any-return]


@dataclass(frozen=True, repr=False)
class Extreme(Named):
    """The least or the greatest element.

    Examples
    --------
    >>> import windrow as wr
    >>> wr.max(wr.arange(6, chunks=4)).compute()
    np.int64(5)
    >>> wr.max(wr.zeros((2, 0)), axis=1, initial=1).compute()
    array([1., 1.])
    """

    def __call__(
        self,
        a: Any,
        axis: Axes = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = True,
        **unknown: Any,
    ) -> Array:
        """Reduce `a` over `axis` (None: all axes); `keepdims` leaves axes of length one in their place.

        `initial` counts as an element everywhere; `where` asks for it, and then only elements where it holds count.
        """
        refuse(self.name, unknown, ["axis", "out", "keepdims", "initial", "where"])
        found = _started(self.name, a, axis, None, keepdims, initial, where)
        return deliver(self.name, found, out)  # type: ignore[no-any-return]


@dataclass(frozen=True, repr=False)
class Accumulation(Named):
    """A sum or a product.

    Examples
    --------
    >>> import windrow as wr
    >>> wr.sum(wr.ones((3, 2), dtype="f4"), axis=0, dtype="f8").compute()
    array([3., 3.])
    >>> wr.prod(wr.arange(5), where=wr.arange(5) > 0, initial=2).compute()
    np.int64(48)
    """

    def __call__(
        self,
        a: Any,
        axis: Axes = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = True,
        **unknown: Any,
    ) -> Array:
        """Add or multiply elements of `a` over `axis` (None: all axes) in `dtype`.

        `keepdims` leaves axes of length one in their place, `initial` is added or multiplied to every result, with
        `where` elements count where it holds.
        """
        refuse(self.name, unknown, ["axis", "dtype", "out", "keepdims", "initial", "where"])
        found = _started(self.name, a, axis, dtype, keepdims, initial, where)
        return deliver(self.name, found, out)  # type: ignore[no-any-return]


@dataclass(frozen=True, repr=False)
class Average(Named):
    """The mean.

    Examples
    --------
    >>> import windrow as wr
    >>> wr.mean(wr.arange(4)).compute()
    np.float64(1.5)
    """

    def __call__(
        self,
        a: Any,
        axis: Axes = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        *,
        where: Any = True,
        **unknown: Any,
    ) -> Array:
        """Average elements of `a` over `axis` (None: all axes), computed in `dtype`.

        `keepdims` leaves axes of length one in their place, with `where` elements count where it holds.
        """
        refuse(self.name, unknown, ["axis", "dtype", "out", "keepdims", "where"])
        wanted = None if dtype is None else check_dtype(self.name, "dtype", dtype)
        if where is True:
            return deliver(self.name, reduce_to(self.name, a, axis, keepdims, wanted), out)  # type: ignore[no-any-return]
        array = as_array(self.name, "a", a)
        target = target_dtype(self.name, array.dtype, wanted)
        wide = np.dtype(np.float32) if target == np.float16 else target
        total = reduce_to("sum", masked(self.name, array, where, 0), axis, keepdims, wide)
        count = counted(self.name, where, array.shape, axis, keepdims)
        return deliver(self.name, cast(divide(total, count), target), out)  # type: ignore[no-any-return]


@dataclass(frozen=True, repr=False)
class Spread(Named):
    """Variance or standard deviation; `ddof`, which the array API calls `correction`, is taken off the count.

    Examples
    --------
    >>> import windrow as wr
    >>> wr.var(wr.arange(4), ddof=1).compute()
    np.float64(1.6666666666666667)
    """

    def __call__(
        self,
        a: Any,
        axis: Axes = None,
        dtype: Any = None,
        out: Any = None,
        ddof: float = 0,
        keepdims: bool = False,
        *,
        where: Any = True,
        mean: Any = None,
        correction: float | None = None,
        **unknown: Any,
    ) -> Array:
        """Reduce `a` over `axis` (None: all axes), computed in `dtype`.

        `keepdims` leaves axes of length one in their place, with `where` elements count where it holds; `mean` is
        the mean where it is known, with its axes of length one.
        """
        refuse(self.name, unknown, ["axis", "dtype", "out", "ddof", "keepdims", "where", "mean", "correction"])
        if correction is not None:
            if ddof:
                raise ArgumentError(bad(self.name, "correction", correction, f"ddof or correction; ddof is {ddof!r}"))
            ddof = correction
        if isinstance(ddof, bool) or not isinstance(ddof, int | float | np.number):
            raise ArgumentError(bad(self.name, "ddof", ddof, "a number"))
        array = as_array(self.name, "a", a)
        if dtype is not None:
            wanted = check_dtype(self.name, "dtype", dtype)
            if wanted.kind not in "fc":
                raise DTypeError(bad(self.name, "dtype", wanted, "a dtype of floating-point numbers"))
            array = cast(array, wanted)
        if where is True and mean is None:
            found = reduce_to(self.name, array, axis, keepdims, None, ddof=float(ddof))
        else:
            found = self._about(array, axis, float(ddof), keepdims, where, mean)
        return deliver(self.name, found, out)  # type: ignore[no-any-return]

    def _about(self, array: Array, axis: Axes, ddof: float, keepdims: bool, where: Any, mean: Any) -> Array:
        """Add up squares of what is left when the mean is taken off."""
        target = target_dtype(self.name, array.dtype, None)
        wide = np.dtype(np.float32) if target == np.float16 else target
        if mean is None:
            mean = Average("mean")(array, axis, keepdims=True, where=where)
        rest = absolute(subtract(cast(array, np.result_type(array.dtype, wide)), mean))
        squares = masked(self.name, multiply(rest, rest), where, 0)
        count = counted(self.name, where, array.shape, axis, keepdims)
        found = divide(reduce_to("sum", squares, axis, keepdims, None), maximum(subtract(count, ddof), 0.0))
        return cast(sqrt(found) if self.name == "std" else found, target)


@dataclass(frozen=True, repr=False)
class Position(Named):
    """Where the least or greatest element is: along one axis, or in C order.

    Examples
    --------
    >>> import windrow as wr
    >>> wr.argmax(wr.arange(10, chunks=3)).compute()
    np.int64(9)
    """

    def __call__(
        self, a: Any, axis: int | None = None, out: Any = None, *, keepdims: bool = False, **unknown: Any
    ) -> Array:
        """Find the position along `axis` (None: in the flattened array)."""
        refuse(self.name, unknown, ["axis", "out", "keepdims"])
        array = as_array(self.name, "a", a)
        if axis is not None and (array.ndim or axis not in (0, -1)):
            axis = check_axis(self.name, axis, array.ndim)
        return deliver(self.name, reduce_to(self.name, array, axis, keepdims, None, empty=False), out)  # type: ignore[no-any-return]


@dataclass(frozen=True, repr=False)
class Count(Named):
    """The number of elements that are not zero.

    Examples
    --------
    >>> import windrow as wr
    >>> wr.count_nonzero(wr.arange(4)).compute()
    np.int64(3)
    """

    def __call__(self, a: Any, axis: Axes = None, *, keepdims: bool = False, **unknown: Any) -> Array:
        """Count over `axis` (None: all axes); `keepdims` leaves axes of length one in their place."""
        refuse(self.name, unknown, ["axis", "keepdims"])
        return reduce_to(self.name, a, axis, keepdims, None)


_STEPS = {"sum": add, "prod": multiply, "min": minimum, "max": maximum}
_NEUTRAL = {"sum": 0, "prod": 1, "lcm": 1}


def _started(name: str, a: Any, axis: Axes, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Array:
    """Reduce what a mask leaves, from an initial value on; NumPy's mark for no value stands for None."""
    if initial is np._NoValue:
        initial = None
    step = _STEPS.get(name, UFUNCS.get(getattr(np, name, None)))  # type: ignore[arg-type]
    assert step is not None
    if initial is not None and (isinstance(initial, Node) or np.ndim(initial) != 0):
        raise ArgumentError(bad(name, "initial", initial, "a number"))
    wanted = None if dtype is None else check_dtype(name, "dtype", dtype)
    array = as_array(name, "a", a)
    neutral = _NEUTRAL.get(name, step.ufunc.identity)
    if neutral is None:
        neutral = initial  # of functions that may take an element twice
    if where is not True and neutral is None:
        raise ArgumentError(bad(name, "initial", None, "a value for results that 'where' leaves no elements"))
    left = masked(name, array, where, neutral)
    axes = reduced_axes(name, axis, array.ndim)
    target = target_dtype(name, array.dtype, wanted)
    if math.prod(array.shape[i] for i in axes) == 0 and initial is not None:
        grid = reduced_grid(array.expr.grid, axes, bool(keepdims))
        return make(Constant(np.asarray(initial).astype(target)[()]), (), grid, target)
    empty = name in ("sum", "prod") or step.ufunc.identity is not None
    found = reduce_to(name, left, axis, keepdims, wanted, empty=empty)
    if initial is None:
        return found
    return step(found, np.asarray(initial).astype(target)[()])  # type: ignore[no-any-return]


_REDUCTIONS = {"add": "sum", "multiply": "prod", "minimum": "min", "maximum": "max"}
_LOGICAL = {"logical_and": "all", "logical_or": "any"}


def reduce_by(ufunc: str, a: Any, axis: Any, dtype: Any, out: Any, keepdims: bool, initial: Any, where: Any) -> Array:
    """Return a ufunc's `reduce`."""
    if ufunc in _LOGICAL and dtype in (None, bool, np.bool) and initial in (None, np._NoValue):
        given = masked(ufunc, a, where, ufunc == "logical_and")
        return deliver(ufunc, reduce_to(_LOGICAL[ufunc], given, axis, keepdims, None), out)  # type: ignore[no-any-return]
    name = _REDUCTIONS.get(ufunc, ufunc)
    if name == ufunc and (name not in FOLDS or dtype is not None):
        raise ArgumentError(
            f"{ufunc}.reduce doesn't take lazy arrays"
            + (" with dtype: astype() first" if name in FOLDS else "; its order matters: rechunk() the axis to one "
               f"chunk, then map_blocks() numpy.{ufunc}.reduce")
        )  # fmt: skip
    if name in ("min", "max") and dtype is not None:
        a, dtype = cast(as_array(ufunc, "a", a), check_dtype(ufunc, "dtype", dtype)), None
    return deliver(ufunc, _started(name, a, axis, dtype, keepdims, initial, where), out)  # type: ignore[no-any-return]


sum = Accumulation("sum")
prod = Accumulation("prod")
mean = Average("mean")
var = Spread("var")
std = Spread("std")
min = Extreme("min")
max = Extreme("max")
amin = min
amax = max
any = Logical("any")
all = Logical("all")
count_nonzero = Count("count_nonzero")
argmin = Position("argmin")
argmax = Position("argmax")


def ptp(a: Any, axis: Axes = None, out: Any = None, keepdims: bool = False) -> Array:
    """Return the range from the least to the greatest element.

    Parameters
    ----------
    a : array
    axis : int, tuple of int or None
    out : Array or numpy.ndarray, optional
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
    array = as_array("ptp", "a", a)
    found = subtract(max(array, axis, keepdims=keepdims), min(array, axis, keepdims=keepdims))
    return deliver("ptp", found, out)  # type: ignore[no-any-return]
