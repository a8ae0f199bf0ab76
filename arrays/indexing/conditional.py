"""Choosing elements by conditions, and replacing them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.chunks.grid import Axis, Grid
from ...graph.errors import ArgumentError, DTypeError, ShapeError, bad
from ...graph.kinds.mapping import BlockFunction
from ..base import ArrayBase, as_array, check_axes, check_shape, check_writable, make
from ..chunking.rechunk import regrid
from ..creation.filled import zeros, zeros_like
from ..execution.deferred import defer_unsized
from ..ops.elementwise.functions import astype, where
from ..ops.elementwise.nodes import cast_values, choose
from ..ops.elementwise.ufuncs import logical_not, logical_or, not_equal
from ..ops.moves.broadcasting import broadcast_to
from ..ops.moves.taking import flip
from ..ops.outputs import deliver
from ..ops.reductions import extremes
from ..values import copied, hold

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from ...graph.expr.expr import DType
    from ..array import Array
    from ..typing import ArrayLike, WhereLike

__all__ = [
    "copyto",
    "piecewise",
    "place",
    "putmask",
    "resize",
    "select",
    "trim_zeros",
]


def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Array:
    """Return each element from the first array whose condition holds.

    Parameters
    ----------
    condlist : sequence of array_like of bool
        The conditions.
    choicelist : sequence of array_like
        An array for each condition; all broadcast.
    default : array_like
        What there is where no condition holds.

    Returns
    -------
    Array
        Lazy, of the broadcast shape and the dtype that the choices promote to.

    Raises
    ------
    ArgumentError
        `condlist` or `choicelist` can't be read as arrays.
    ShapeError
        There are no conditions or not as many choices, or shapes don't broadcast.
    DTypeError
        A condition is not of bool, or the choices have no common dtype.

    >>> x = wr.arange(6)
    >>> wr.select([x < 2, x > 3], [x, x**2], 9).compute()
    array([ 0,  1,  9,  9, 16, 25])
    """
    if len(condlist) != len(choicelist) or not len(condlist):
        raise ShapeError(
            f"select: {len(condlist)} conditions for {len(choicelist)} choices; expected a choice for each"
        )
    conditions = [as_array("select", f"condlist[{i}]", c) for i, c in enumerate(condlist)]
    for i, condition in enumerate(conditions):
        if condition.dtype != bool:
            raise DTypeError(bad("select", f"condlist[{i}]", condition.dtype, "an array of bool"))
    choices = [c if np.ndim(c) == 0 else as_array("select", "choicelist", c) for c in (*choicelist, default)]
    plain = (np.asarray(c) if isinstance(c, str | bytes) else c for c in choices)  # otherwise a text names a dtype
    dtype = np.result_type(*(getattr(c, "dtype", c) for c in plain))
    choices = [_as_numpy_casts(c, dtype, is_default=i == len(conditions)) for i, c in enumerate(choices)]
    selected: Any = choices.pop()
    for condition, choice in zip(reversed(conditions), reversed(choices), strict=True):
        selected = where(condition, choice, selected)
    shape = np.broadcast_shapes(*(np.shape(c) for c in (*conditions, *choices)), selected.shape)
    return broadcast_to(astype(selected, dtype), shape)


def _as_numpy_casts(choice: Any, dtype: np.dtype[Any], is_default: bool) -> Any:
    """Return what NumPy's `select` makes of a Python integer: int64 first, which then wraps around as elements do."""
    if type(choice) is not int:
        return choice
    if dtype.kind == "i" or (dtype.kind == "u" and is_default):
        choice = hold("select", "choicelist", choice, np.dtype(np.int64)).astype(dtype)[()]
    return hold("select", "choicelist", choice, dtype)[()]


def piecewise(x: ArrayLike, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Array:
    """Apply to each element the function whose condition holds.

    Parameters
    ----------
    x : array_like
        The array.
    condlist : sequence of array_like of bool
        The conditions, of the shape of `x`; where several hold, the last counts.
    funclist : sequence of callable or scalar
        One for each condition, and perhaps one for where none holds; zero else.
    *args : any
        Passed on to the functions.
    **kw : any
        Passed on to the functions.

    Returns
    -------
    Array
        Lazy, of the shape and dtype of `x`.

    Raises
    ------
    ArgumentError
        `x` or `condlist` can't be read as an array: an unknown object, a ragged sequence or a masked array.
    ShapeError
        There are neither as many functions as conditions nor one more.
    DTypeError
        `x` or `condlist` holds Python objects.

    Notes
    -----
    Each function gets the whole of `x` as a lazy array, whereas NumPy passes only the elements where its condition
    holds: elementwise functions give the same result, others (a mean) don't.

    >>> x = wr.arange(-2, 3)
    >>> wr.piecewise(x, [x < 0, x > 1], [lambda v: -v, 7]).compute()
    array([2, 1, 0, 0, 7])
    """
    array = as_array("piecewise", "x", x)
    listed: Any = condlist
    if isinstance(listed, ArrayBase | np.ndarray):
        one = listed.ndim == array.ndim
        if not one and isinstance(listed, ArrayBase) and listed.shape[0] not in (len(funclist), len(funclist) - 1):
            expected = f"as many conditions as functions ({len(funclist)}), or one less"
            raise ShapeError(bad("piecewise", "condlist", listed, expected))
    else:
        one = not isinstance(listed, list | tuple)
        one = one or (array.ndim > 0 and not isinstance(listed[0], list | tuple | ArrayBase | np.ndarray))
    masks = [listed] if one else list(condlist)
    conditions = [astype(as_array("piecewise", f"condlist[{i}]", c), bool) for i, c in enumerate(masks)]
    if len(funclist) == len(conditions) + 1:
        some = conditions[0]
        for condition in conditions[1:]:
            some = logical_or(some, condition)
        conditions.append(logical_not(some))
    if len(funclist) != len(conditions):
        n = len(conditions)
        raise ShapeError(bad("piecewise", "funclist", f"{len(funclist)} functions", f"{n} or {n + 1}"))
    result: Array = zeros_like(array)
    for condition, function in zip(conditions, funclist, strict=True):
        value = function(array, *args, **kw) if callable(function) else function
        result = where(condition, cast_values("piecewise", "funclist", value, array.dtype), result)
    return result


def lazy_target(operation: str, argument: str, array: ArrayLike) -> Array:
    """Return the array whose elements are to be replaced."""
    if not isinstance(array, ArrayBase):
        raise ArgumentError(bad(operation, argument, type(array).__name__, "a Windrow array"))
    return array  # type: ignore[return-value]


def _replace(operation: str, array: Array, found: Array) -> None:
    """Replace an array's elements."""
    check_writable(operation, array)
    array.expr = regrid(astype(found, array.dtype), array.expr.grid).expr


def copyto(dst: Any, src: ArrayLike, casting: str = "same_kind", where: WhereLike = True) -> None:
    """Copy the elements of one array into another.

    Parameters
    ----------
    dst : Array or numpy.ndarray
        The array, whose elements are set; for one of NumPy's `src` is computed.
    src : array_like
        It broadcasts to `dst`.
    casting : str
        NumPy's rule for casting to the dtype of `dst`: "no", "equiv", "safe", "same_kind" or "unsafe".
    where : array_like of bool
        Which elements are copied.

    Raises
    ------
    ArgumentError
        `src` can't be read as an array: an unknown object, a ragged sequence or a masked array. `dst` is not an array.
    ShapeError
        `src` or `where` doesn't broadcast to `dst`.
    DTypeError
        `src` holds Python objects. `casting` doesn't allow the cast, or `where` is not of bool.

    >>> x = wr.arange(4)
    >>> wr.copyto(x, 9, where=x > 2)
    >>> x.compute()
    array([0, 1, 2, 9])
    """
    if not isinstance(dst, ArrayBase | np.ndarray):
        raise ArgumentError(bad("copyto", "dst", type(dst).__name__, "a Windrow or NumPy array"))
    if isinstance(src, bool | int | float | complex):  # Python's numbers take the precision of the array
        source = cast_values("copyto", "src", src, np.result_type(src, dst.dtype), copied)
    else:
        source = as_array("copyto", "src", src)
    values = source if where is True else choose("copyto", where, source, dst)
    grid = dst.expr.grid if isinstance(dst, ArrayBase) else None
    deliver("copyto", values, dst, casting, broadcasts=True)
    if isinstance(dst, ArrayBase) and grid is not None:
        dst._replace(dst.expr, regrid(dst, grid).expr)


def putmask(a: ArrayLike, mask: ArrayLike, values: ArrayLike) -> None:
    """Set elements where a mask holds, each to the value at its own position.

    Parameters
    ----------
    a : Array
        The array, whose elements are set.
    mask : array_like of bool
        Of the shape of `a`.
    values : array_like
        Of the shape of `a`; of another, they repeat in C order.

    Raises
    ------
    ArgumentError
        `mask` or `values` can't be read as an array: an unknown object, a ragged sequence or a masked array. `a` is not
        a Windrow array.
    ShapeError
        `mask` has another number of elements.
    DTypeError
        `mask` or `values` holds Python objects, or `values` is an array that isn't cast safely to the dtype of `a`.
    RangeError
        `values` has a number of Python's that the dtype can't hold.

    >>> x = wr.arange(5)
    >>> wr.putmask(x, x > 1, [-1, -2])
    >>> x.compute()
    array([ 0,  1, -1, -2, -1])
    """
    target = lazy_target("putmask", "a", a)
    chosen = _mask("putmask", mask, target)
    source = _filling("putmask", "values", values, target.dtype)
    if source.size == 0:
        return
    if source.size != 1 and source.shape != target.shape:
        source = resize(source, target.shape)
    elif source.size == 1:
        source = source.reshape(())
    _replace("putmask", target, where(chosen, source, target))


def _filling(operation: str, argument: str, values: ArrayLike, dtype: DType) -> Array:
    """Return values in the dtype of the array that they are set in; arrays must cast to it safely, as in NumPy."""
    if isinstance(values, ArrayBase | np.ndarray) and not np.can_cast(values.dtype, dtype):
        raise DTypeError(bad(operation, argument, values.dtype, f"a dtype that is cast safely to {dtype}; or astype()"))
    return cast_values(operation, argument, values, dtype)


def _mask(operation: str, mask: ArrayLike, target: Array) -> Array:
    chosen = as_array(operation, "mask", mask)
    if chosen.size != target.size:
        raise ShapeError(bad(operation, "mask", chosen.shape, f"the shape of the array, {target.shape}"))
    return astype(chosen if chosen.shape == target.shape else chosen.reshape(target.shape), bool)


def place(arr: ArrayLike, mask: ArrayLike, vals: ArrayLike) -> None:
    """Set elements where a mask holds to values one after the other.

    Parameters
    ----------
    arr : Array
        The array, whose elements are set.
    mask : array_like of bool
        Of the shape of `arr`.
    vals : array_like
        The first goes to the first position of the mask in C order, and so on; they repeat where there are fewer. They
        are brought into one chunk.

    Raises
    ------
    ArgumentError
        `mask` or `vals` can't be read as an array: an unknown object, a ragged sequence or a masked array. `arr` is not
        a Windrow array.
    ShapeError
        `mask` has another number of elements, or `vals` has none.
    DTypeError
        `mask` or `vals` holds Python objects, or `vals` is an array that isn't cast safely to the dtype of `arr`.
    RangeError
        `vals` has a number of Python's that the dtype can't hold.

    >>> x = wr.arange(5)
    >>> wr.place(x, x > 1, [-1, -2])
    >>> x.compute()
    array([ 0,  1, -1, -2, -1])
    """
    target = lazy_target("place", "arr", arr)
    chosen = _mask("place", mask, target).reshape(-1)
    values = _filling("place", "vals", vals, target.dtype).reshape(-1)
    if values.size == 0:
        raise ShapeError(bad("place", "vals", values.shape, "at least one element"))
    flat = target.reshape(-1)
    chosen = regrid(chosen, flat.expr.grid)
    each = Grid([Axis.regular(flat.npartitions, 1)])
    counts = regrid(
        make(BlockFunction("elements.masks:count"), (chosen,), each, "i8"), Grid.single((flat.npartitions,))
    )
    before = regrid(make(BlockFunction("elements.choosing:before"), (counts,), counts.expr.grid, "i8"), each)
    op = BlockFunction("elements.choosing:place_values", (), ((0,), (0,), (0,), (None,)))
    operands = (flat, chosen, before, regrid(values, Grid.single(values.shape)))
    _replace("place", target, make(op, operands, flat.expr.grid, target.dtype).reshape(target.shape))


def resize(a: ArrayLike, new_shape: int | Sequence[int]) -> Array:
    """Return an array of another shape and size, in which the elements repeat.

    Parameters
    ----------
    a : array_like
        The array.
    new_shape : int or tuple of int
        Shape of the result.

    Returns
    -------
    Array
        Lazy: the elements in C order, over and over; zeros if there are none.

    Raises
    ------
    ArgumentError
        `a` can't be read as an array: an unknown object, a ragged sequence or a masked array. `new_shape` is not an
        integer or a tuple of integers.
    ShapeError
        `new_shape` has a negative length, or 2**63 elements or more.
    DTypeError
        `a` holds Python objects.

    >>> wr.resize(wr.arange(3), (2, 4)).compute()
    array([[0, 1, 2, 0],
           [1, 2, 0, 1]])
    """
    array = as_array("resize", "a", a).reshape(-1)
    shape = check_shape("resize", new_shape, "new_shape")
    size = int(np.prod(shape, dtype=object))
    if size == 0 or array.size == 0:
        return zeros(shape, array.dtype)
    copies = -(-size // array.size)
    if copies > 1:
        array = broadcast_to(array, (copies, array.size)).reshape(-1)
    return array[:size].reshape(shape)


def trim_zeros(filt: Any, trim: str = "fb", axis: int | Sequence[int] | None = None) -> Array:
    """Return the array without zeros at its ends.

    Parameters
    ----------
    filt : array_like
        The array.
    trim : {"f", "b", "fb"}
        Whether to cut at the front, the back or both.
    axis : int, sequence of int or None
        The axes to cut along; None: all.

    Returns
    -------
    Array
        Lazy. Lengths of the axes are None until they are needed, and are computed then.

    Raises
    ------
    ArgumentError
        `filt` can't be read as an array: an unknown object, a ragged sequence or a masked array. `axis` is not an
        integer.
    ShapeError
        `trim` is unknown, or an axis is named twice.
    AxisError
        The array has no such axis.
    DTypeError
        `filt` holds Python objects.

    >>> wr.trim_zeros(wr.asarray([0, 0, 5, 0, 3, 0])).compute()
    array([5, 0, 3])
    """
    array = as_array("trim_zeros", "filt", filt)
    ends = trim.lower() if isinstance(trim, str) else trim
    if ends not in ("f", "b", "fb", "bf"):
        raise ShapeError(bad("trim_zeros", "trim", trim, "'f', 'b' or 'fb'"))
    axes = check_axes("trim_zeros", axis, array.ndim)
    if not axes:
        return array
    if array.size == 0:
        return array[tuple(slice(0 if i in axes else None) for i in range(array.ndim))]
    shape = tuple(None if i in axes else n for i, n in enumerate(array.shape))
    return defer_unsized("trim_zeros", _trim, (array,), (ends, axes), shape, array.dtype)


def _trim(x: Array, ends: str, axes: tuple[int, ...]) -> Generator[Any, Any, Array]:
    """Return the first and the last position along each axis that isn't all zeros."""
    there = not_equal(x, np.zeros((), x.dtype)[()])
    asked = [extremes.any(there)]
    for axis in axes:
        along = extremes.any(there, tuple(i for i in range(x.ndim) if i != axis))
        asked += [extremes.argmax(along), extremes.argmax(flip(along))]
    some, *places = yield tuple(asked)
    key = [slice(None)] * x.ndim
    for axis, first, behind in zip(axes, places[::2], places[1::2], strict=True):
        start = int(first) if "f" in ends else 0
        stop = x.shape[axis] - int(behind) if "b" in ends else x.shape[axis]
        key[axis] = slice(start, stop) if some else slice(0, 0)
    return x[tuple(key)]
