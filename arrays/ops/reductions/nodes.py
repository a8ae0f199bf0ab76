"""Making reductions: the nodes, the dtypes of their results, masks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.arguments import is_integer
from ....graph.chunks.grid import Axis, Grid
from ....graph.errors import ArgumentError, DTypeError, ShapeError, bad
from ....graph.kinds.reduction import Reduce, accumulator, count_reduced, reduce_grid
from ....graph.kinds.source import Constant
from ....workers.kernels.functions import EMPTY, UNFREE
from ....workers.public_api import warn
from ...base import ArrayBase, as_array, broadcast_shape, check_axes, check_dtype, make
from ...chunking.rechunk import regrid
from ...values import assigned, hold
from ..elementwise.nodes import cast, choose
from ..elementwise.ufuncs import UFUNCS, add, maximum, minimum, multiply
from ..moves.broadcasting import broadcast_to
from ..moves.sliding_window import reduce_windows
from ..outputs import deliver_reduced

if TYPE_CHECKING:
    from ....graph.expr.expr import DType
    from ...array import Array

Axes = int | Sequence[int] | None

FOLDS = (
    "bitwise_and", "bitwise_or", "bitwise_xor", "fmax", "fmin", "gcd", "hypot", "lcm", "logaddexp", "logaddexp2",
    "logical_xor",
)  # fmt: skip
"""Further ufuncs of two operands that may be applied in any order; each has a head of its name."""


UNBEGUN = ("argmax", "argmin", "fmax", "fmin", "lcm", "max", "min", "nanargmax", "nanargmin")
"""Reductions that have no value for no elements."""


def drop_empty_chunks(x: Array, axes: Sequence[int]) -> Array:
    """Return an array without the empty chunks along axes; such as a mask leaves that holds nowhere in a chunk."""
    own = list(x.expr.grid.axes)
    for a in axes:
        sizes = np.asarray(own[a].sizes()) if not own[a].is_regular else None
        if sizes is not None and own[a].length and not sizes.all():
            own[a] = Axis.of_sizes(sizes[sizes > 0])
    return regrid(x, Grid(own))


def mask_out(name: str, a: Any, where: Any, neutral: Any) -> Array:
    """Return an array with a neutral value where a mask doesn't hold."""
    array = as_array(name, "a", a)
    if where is True:
        return array
    mask = as_array(name, "where", where)
    if broadcast_shape(name, array.shape, mask.shape) != array.shape:
        raise ShapeError(bad(name, "where", mask.shape, f"a mask that broadcasts to the shape {array.shape}"))
    if array.dtype.kind in "SU" and not neutral:
        return choose(name, mask, array, np.zeros((), array.dtype)[()])  # an empty text
    return choose(name, mask, array, np.asarray(neutral).astype(array.dtype)[()])


def find_axes(name: str, axis: Axes, ndim: int) -> tuple[int, ...]:
    """Return the axes that a reduction is over; as in NumPy, what has no axes may be told its first or last one."""
    if ndim == 0 and is_integer(axis) and axis in (0, -1) and name not in ("mean", "var", "std"):
        return ()
    return check_axes(name, axis, ndim)


def count_where(name: str, where: Any, shape: tuple[int, ...], axis: Axes, keepdims: bool) -> Any:
    """Return how many elements a mask has over axes of a shape that it broadcasts to."""
    if where is True:
        return math.prod(shape[i] for i in find_axes(name, axis, len(shape)))
    return reduce_to("sum", broadcast_to(as_array(name, "where", where), shape), axis, keepdims, None)


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
    array = as_array(name, "a", x)
    axes = find_axes(name, axis, array.ndim)
    check_keepdims(name, keepdims)
    if not empty and math.prod(array.shape[a] for a in axes) == 0:
        raise ShapeError(f"{name}: array of shape {array.shape} has no elements along axis {axis!r}; expected some")
    target = target_dtype(name, array.dtype, dtype)
    array = cast(array, native(array.dtype))
    if name in ("mean", "var", "std"):
        warn_of_few(name, count_reduced(array.expr.grid.shape, axes), ddof)
    if array.dtype == np.float16 and name in ("sum", "mean", "var", "std"):
        if target != np.float16:  # whose elements are cast first
            return reduce_to(name, cast(array, target), axes, keepdims, target, ddof=ddof)
        return cast(reduce_to(name, cast(array, np.float32), axes, keepdims, None, ddof=ddof), target)
    of_windows = None if keepdims else reduce_windows(name, array, axes, target)
    if of_windows is not None:
        return of_windows
    if name in UNBEGUN:
        array = drop_empty_chunks(array, axes)
    grid = reduce_grid(array.expr.grid, axes, bool(keepdims))
    return make(Reduce(name, axes, bool(keepdims), ddof), (array,), grid, target)


def check_keepdims(name: str, keepdims: Any) -> None:
    """Raise unless it is True or False."""
    if not isinstance(keepdims, bool | np.bool):
        raise ArgumentError(bad(name, "keepdims", keepdims, "True or False"))


def check_freedom(name: str, ddof: Any, correction: Any) -> float:
    """Return what is taken off the number of elements, which has two names."""
    if correction is not None and correction is not np._NoValue:
        if ddof != 0:
            raise ArgumentError(bad(name, "correction", correction, f"ddof or correction; ddof is {ddof!r}"))
        ddof = correction
    if isinstance(ddof, bool) or not isinstance(ddof, int | float | np.number):
        raise ArgumentError(bad(name, "ddof", ddof, "a number"))
    return float(ddof)


def is_usual(source: DType, dtype: DType) -> bool:
    """Whether variances in a dtype are those of elements that are cast to it.

    NumPy has a mean in the dtype, but takes it off elements as they are: in integers it is cut off, of complex numbers
    it may be the real part.
    """
    return dtype.kind == "c" or (dtype.kind == "f" and source.kind != "c")


def warn_of_few(name: str, count: int, ddof: float) -> None:
    """Warn, in NumPy's words, where there are too few elements to divide by their number."""
    if name == "mean" and count == 0:
        warn(EMPTY, RuntimeWarning)
    elif name != "mean" and ddof >= count:
        warn(UNFREE, RuntimeWarning)


def native(dtype: DType) -> DType:
    """Return a dtype in this machine's byte order, in which ufuncs compute and NumPy's reductions answer."""
    return dtype.newbyteorder("=") if dtype.kind in "biufcmM" else dtype


def target_dtype(name: str, source: DType, dtype: DType | None, operation: str = "") -> DType:
    """Return the dtype of a reduction's result, as NumPy has it; errors name the operation that was called."""
    operation = operation or name
    if name in ("any", "all"):
        return np.dtype(bool)
    if name in ("argmin", "argmax", "nanargmin", "nanargmax", "count_nonzero"):
        return np.dtype(np.int64)
    if name in FOLDS:
        try:
            return native(getattr(np, name).reduce(np.ones(1, source)).dtype)
        except TypeError as error:
            raise DTypeError(bad(operation, "a", source, f"a dtype that it takes ({error})")) from error
    taken = {"m": ("min", "max", "sum", "mean"), "M": ("min", "max")}.get(source.kind, (name,))
    if source.kind not in "biufcmM" or name not in taken:
        raise DTypeError(bad(operation, "a", source, "an array of numbers"))
    if name in ("min", "max"):
        return native(source)
    if source.kind == "m" and (dtype is None or dtype.kind != "m" or dtype == np.dtype("m8")):
        if dtype is not None and dtype.kind == "M":
            raise DTypeError(bad(operation, "dtype", dtype, f"a dtype of durations, as {source} is"))
        return native(source)  # as in NumPy, whatever else is asked for
    if dtype is not None:
        if dtype.kind not in "biufc" and source.kind != "m":
            raise DTypeError(bad(operation, "dtype", dtype, f"a dtype of numbers, as those of {source}"))
        return native(dtype)
    if name in ("sum", "prod"):
        try:
            return accumulator(name, source)
        except TypeError as error:
            raise DTypeError(bad(operation, "a", source, "an array of numbers")) from error
    wide = np.dtype(np.float64) if source.kind in "biu" else native(source)
    return np.empty(0, wide).real.dtype if name in ("var", "std") else wide


_STEPS = {"sum": add, "prod": multiply, "min": minimum, "max": maximum}
_NEUTRAL = {"sum": 0, "prod": 1, "lcm": 1}


def reduce_from(name: str, a: Any, axis: Axes, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Array:
    """Reduce what a mask leaves, from an initial value on; NumPy's mark for no value stands for None."""
    if initial is np._NoValue:
        initial = None
    step = _STEPS.get(name, UFUNCS.get(getattr(np, name, None)))  # type: ignore[arg-type]
    assert step is not None
    if initial is not None and (isinstance(initial, ArrayBase) or np.ndim(initial) != 0):
        raise ArgumentError(bad(name, "initial", initial, "a number"))
    wanted = None if dtype is None else check_dtype(name, "dtype", dtype)
    array = as_array(name, "a", a)
    target = target_dtype(name, array.dtype, wanted)
    if initial is not None:
        initial = hold(name, "initial", initial, target, assigned)[()]
    neutral = _NEUTRAL.get(name, step.ufunc.identity)
    if neutral is None:
        neutral = initial  # of functions that may take an element twice
    if where is not True and neutral is None:
        raise ArgumentError(bad(name, "initial", None, "a value for results that 'where' leaves no elements"))
    left = mask_out(name, array, where, neutral)
    axes = find_axes(name, axis, array.ndim)
    if math.prod(array.shape[i] for i in axes) == 0 and initial is not None:
        grid = reduce_grid(array.expr.grid, axes, bool(keepdims))
        return make(Constant(initial), (), grid, target)
    empty = name in ("sum", "prod") or step.ufunc.identity is not None
    reduction = reduce_to(name, left, axis, keepdims, wanted, empty=empty)
    return reduction if initial is None else step(reduction, initial)


_REDUCTIONS = {"add": "sum", "multiply": "prod", "minimum": "min", "maximum": "max"}
_LOGICAL = {"logical_and": "all", "logical_or": "any"}


def reduce_by(ufunc: str, a: Any, axis: Any, dtype: Any, out: Any, keepdims: bool, initial: Any, where: Any) -> Array:
    """Return a ufunc's `reduce`."""
    if ufunc in _LOGICAL and dtype in (None, bool, np.bool) and initial in (None, np._NoValue):
        masked = mask_out(ufunc, a, where, ufunc == "logical_and")
        return deliver_reduced(ufunc, reduce_to(_LOGICAL[ufunc], masked, axis, keepdims, None), out)  # type: ignore[no-any-return]
    name = _REDUCTIONS.get(ufunc, ufunc)
    if name == ufunc and (name not in FOLDS or dtype is not None):
        raise ArgumentError(
            f"{ufunc}.reduce doesn't take lazy arrays"
            + (" with dtype: astype() first" if name in FOLDS else "; its order matters: rechunk() the axis to one "
               f"chunk, then map_blocks() numpy.{ufunc}.reduce")
        )  # fmt: skip
    if name in ("min", "max") and dtype is not None:
        a, dtype = cast(as_array(ufunc, "a", a), check_dtype(ufunc, "dtype", dtype)), None
    return deliver_reduced(ufunc, reduce_from(name, a, axis, dtype, keepdims, initial, where), out)  # type: ignore[no-any-return]
