"""Making reductions: their nodes, axes and masks. `workers/kernels/reductions.py` says what each reduction is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ....graph.arguments import check_flag, is_integer
from ....graph.errors import ArgumentError, DTypeError, ShapeError, bad
from ....graph.kinds.reduction import Reduce, count_reduced, reduce_grid
from ....graph.kinds.source import Constant
from ....workers.kernels.reduction import NUMBERS, Reduction, native
from ....workers.kernels.reductions import REDUCTIONS
from ....workers.public_api import warn
from ...base import as_array, broadcast_shape, check_axes, check_dtype, make
from ...chunking.rechunk import drop_empty_chunks
from ...values import assigned, hold
from ..elementwise.nodes import cast, choose
from ..elementwise.ufuncs import UFUNCS
from ..moves.broadcasting import broadcast_to
from ..moves.sliding_window import reduce_windows
from ..outputs import deliver_reduced

if TYPE_CHECKING:
    from ....graph.expr.expr import DType
    from ...array import Array
    from ...typing import ArrayLike, AxisLike, DTypeLike, OutLike, WhereLike

Axes = int | Sequence[int] | None
_BY_UFUNC = {reduction.ufunc: reduction for reduction in REDUCTIONS.values() if reduction.ufunc is not None}


def mask_out(name: str, a: ArrayLike, where: WhereLike, neutral: Any) -> Array:
    """Return an array with a neutral value where a mask doesn't hold."""
    array = as_array(name, "a", a)
    mask = read_mask(name, where, array.shape)
    if mask is True:
        return array
    if array.dtype.kind in "SU" and not neutral:
        return choose(name, mask, array, np.zeros((), array.dtype)[()])  # an empty text
    return choose(name, mask, array, np.asarray(neutral).astype(array.dtype)[()])


def read_mask(name: str, where: WhereLike, shape: tuple[int, ...]) -> Array | Literal[True]:
    """Return a mask of the elements of an array; True where all count."""
    if where is True:
        return True
    mask = as_array(name, "where", where)
    if mask.dtype != np.bool:
        raise DTypeError(bad(name, "where", mask.dtype, "an array of bool"))
    if broadcast_shape(name, shape, mask.shape) != shape:
        raise ShapeError(bad(name, "where", mask.shape, f"a mask that broadcasts to the shape {shape}"))
    return mask


def find_axes(name: str, axis: Axes, ndim: int, *, divides: bool = False) -> tuple[int, ...]:
    """Return the axes that a reduction is over.

    As in NumPy, what has no axes may be told its first or last one, unless the reduction `divides` by a number of
    elements.
    """
    if ndim == 0 and is_integer(axis) and axis in (0, -1) and not divides:
        return ()
    return check_axes(name, axis, ndim)


def count_where(name: str, where: WhereLike, shape: tuple[int, ...], axis: Axes, keepdims: bool) -> Any:
    """Return how many elements a mask has over axes of a shape that it broadcasts to."""
    mask = read_mask(name, where, shape)
    if mask is True:
        return math.prod(shape[i] for i in find_axes(name, axis, len(shape), divides=True))
    return reduce_to("sum", broadcast_to(mask, shape), axis, keepdims, None, operation=name)


def reduce_to(
    name: str,
    x: ArrayLike,
    axis: AxisLike,
    keepdims: bool,
    dtype: DType | None,
    *,
    ddof: float = 0.0,
    operation: str = "",
) -> Array:
    """Return the array of a reduction; errors name the operation that was called, where that has another name."""
    reduction, operation = REDUCTIONS[name], operation or name
    array = as_array(operation, "a", x)
    check_flag(operation, "keepdims", keepdims)
    axes = find_axes(operation, axis, array.ndim, divides=bool(reduction.few))
    target = reduction.result_dtype(array.dtype, dtype, operation)
    if not reduction.empty:
        _check_some(operation, array, axes, axis)
    array = cast(array, native(array.dtype))
    if array.dtype == np.float16 and reduction.widens:
        wide = np.dtype(np.float32) if target == np.float16 else target  # to which elements are cast first
        return cast(reduce_to(name, cast(array, wide), axes, keepdims, wide, ddof=ddof, operation=operation), target)
    if reduction.few:
        warn_of_few(reduction.few, count_reduced(array.expr.grid.shape, axes), ddof)
    of_windows = None if keepdims else reduce_windows(name, array, axes, target)
    return make_reduction(name, array, axes, keepdims, target, ddof) if of_windows is None else of_windows


def make_reduction(
    name: str, array: Array, axes: tuple[int, ...], keepdims: bool, dtype: DType, ddof: float = 0.0
) -> Array:
    """Return the node of a reduction over elements as they are."""
    reduction = REDUCTIONS[name]
    if not reduction.empty:
        array = drop_empty_chunks(array, axes)
    op = Reduce(name, axes, bool(keepdims), ddof, reduction.partial_dtype(array.dtype, dtype))
    return make(op, (array,), reduce_grid(array.expr.grid, axes, op.keepdims), dtype)


def _check_some(name: str, array: Array, axes: tuple[int, ...], axis: AxisLike, expected: str = "some") -> None:
    """Raise where there are no elements to reduce; `axis` is what the user gave."""
    if count_reduced(array.shape, axes) == 0:
        raise ShapeError(
            f"{name}: array of shape {array.shape} has no elements along axis {axis!r}; expected {expected}"
        )


def check_target(name: str, dtype: DTypeLike) -> DType:
    """Return a dtype to reduce in; which kinds of elements it suits is told later, as in NumPy."""
    wanted = check_dtype(name, "dtype", dtype)
    if wanted.kind not in NUMBERS + "m":
        raise DTypeError(bad(name, "dtype", wanted, "a dtype of numbers or durations"))
    return wanted


def check_no_text(name: str, argument: str, source: DType, wanted: DType) -> None:
    """Raise for texts that would be read as numbers; NumPy does it for some ufuncs, and not for others."""
    if source.kind in "SU" and wanted.kind != "b":
        raise DTypeError(bad(name, argument, source, f"an array of numbers; astype({str(wanted)!r}) reads texts"))


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


def warn_of_few(words: str, count: int, ddof: float = 0.0) -> None:
    """Warn, in NumPy's words, where there are too few elements to divide by their number."""
    if ddof >= count:
        warn(words, RuntimeWarning)


def reduce_from(
    name: str,
    a: ArrayLike,
    axis: Axes,
    dtype: DTypeLike,
    keepdims: bool,
    initial: Any,
    where: WhereLike,
    operation: str = "",
) -> Array:
    """Reduce by a ufunc what a mask leaves, from an initial value on.

    As in NumPy, None begins with the first element, and so does `np._NoValue`, which stands for no argument, where the
    ufunc has no identity.
    """
    reduction, operation = REDUCTIONS[name], operation or name
    assert reduction.ufunc is not None
    wanted = None if dtype is None else check_target(operation, dtype)
    array = as_array(operation, "a", a)
    if wanted is not None and not reduction.casts:
        array, wanted = _cast_elements(reduction, operation, array, wanted), None
    check_flag(operation, "keepdims", keepdims)
    where = read_mask(operation, where, array.shape)
    axes = find_axes(operation, axis, array.ndim)
    target = reduction.result_dtype(array.dtype, wanted, operation)
    neutral = None if initial is None else reduction.neutral
    begins = initial is not None and initial is not np._NoValue
    if begins:
        assert initial is not None
        if np.ndim(initial) != 0:
            raise ArgumentError(bad(operation, "initial", initial, "a number"))
        initial = hold(operation, "initial", initial, target, assigned)[()]
        neutral = initial if neutral is None else neutral
    if where is not True and neutral is None:
        raise ArgumentError(bad(operation, "initial", None, "a value for results that 'where' leaves no elements"))
    left = mask_out(operation, array, where, neutral)
    if neutral is None:
        _check_some(operation, array, axes, axis, "some, or initial=")
    if begins and count_reduced(array.shape, axes) == 0:
        return make(Constant(initial), (), reduce_grid(array.expr.grid, axes, bool(keepdims)), target)
    reduced = reduce_to(name, left, axis, keepdims, wanted, operation=operation)
    return UFUNCS[reduction.ufunc](reduced, initial) if begins else reduced


def _cast_elements(reduction: Reduction, operation: str, array: Array, dtype: DType) -> Array:
    """Return elements cast to a dtype that is asked for, for a reduction that computes in theirs."""
    wanted = native(dtype)
    check_no_text(operation, "a", array.dtype, wanted)
    if wanted.kind == "m":
        wanted = reduction.result_dtype(array.dtype, wanted, operation)
    if reduction.result_dtype(wanted, operation=operation) != wanted:
        raise DTypeError(bad(operation, "dtype", wanted, "a dtype that it gives"))
    return cast(array, wanted)


def reduce_by(
    ufunc: np.ufunc,
    a: ArrayLike,
    axis: AxisLike,
    dtype: DTypeLike,
    out: OutLike,
    keepdims: bool,
    initial: Any,
    where: WhereLike,
) -> Array:
    """Return a ufunc's `reduce`."""
    operation = f"{ufunc.__name__}.reduce"
    reduction = _BY_UFUNC.get(ufunc)
    if reduction is None:
        raise ArgumentError(
            f"{operation} doesn't take lazy arrays; its order matters: rechunk() the axis to one chunk, then "
            f"map_blocks() numpy.{operation}"
        )
    reduced = reduce_from(reduction.name, a, axis, dtype, keepdims, initial, where, operation)
    return deliver_reduced(operation, reduced, out)  # type: ignore[no-any-return]
