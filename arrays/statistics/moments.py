"""Weighted means, covariances and correlations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.errors import ArgumentError, DTypeError, ShapeError, bad
from ...graph.kinds.mapping import BlockFunction
from ...workers.kernels.reduction import NUMBERS
from ...workers.public_api import warn
from ..base import ArrayBase, as_array, check_axes, check_dtype, make
from ..creation.diagonals import diagonal
from ..creation.filled import empty
from ..ops.elementwise.functions import astype, clip, imag, real
from ..ops.elementwise.ufuncs import conjugate, divide, multiply, sqrt, subtract
from ..ops.moves.axis_moves import squeeze, transpose
from ..ops.moves.broadcasting import broadcast_to
from ..ops.moves.joining import concatenate
from ..ops.products.matrices import matmul
from ..ops.reductions.nodes import reduce_to
from ..ops.reductions.sums import find_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...graph.expr.expr import DType
    from ..array import Array
    from ..typing import ArrayLike, DTypeLike

__all__ = [
    "average",
    "corrcoef",
    "cov",
]


def average(
    a: ArrayLike,
    axis: int | Sequence[int] | None = None,
    weights: ArrayLike | None = None,
    returned: bool = False,
    *,
    keepdims: bool = False,
) -> Any:
    """Return the weighted mean.

    Parameters
    ----------
    a : array_like
        Numbers.
    axis : int, tuple of int or None, optional
        The axes to reduce; None: all.
    weights : array_like, optional
        In the shape of `a`, or of its axes `axis`; None: the mean.
    returned : bool
        Whether to return the sum of the weights as well.
    keepdims : bool, optional
        Whether the reduced axes stay, as size-1 axes.

    Returns
    -------
    Array, or two of them
        The weighted mean, in the shape of `a` without `axis`, in the dtype of `a` and `weights` together (float64 for
        integers); with `returned` also the sums of the weights, in the same shape.

    Raises
    ------
    ArgumentError
        `a` or `weights` can't be read as an array; or `weights` has another shape than `a`, and no `axis` is given.
    AxisError
        The array has no such axis.
    ShapeError
        `weights` has neither the shape of `a` nor that of its axes.
    DTypeError
        `a` isn't numbers, or it holds times and there are weights.
    ZeroDivisionError
        The result has no elements, and there are no weights. When it is computed: the weights add up to zero somewhere.

    >>> wr.average(wr.arange(3), weights=[1, 1, 2]).compute()
    np.float64(1.25)
    """
    array = as_array("average", "a", a)
    if weights is None:
        mean = find_mean("average", array, axis=axis, keepdims=keepdims)
        if mean._unsized is None and not mean.size:
            raise ZeroDivisionError(f"average: argument 'a' has shape {array.shape}; expected some elements")
        if not returned:
            return mean
        return mean, broadcast_to(mean.dtype.type(array.size / mean.size), mean.shape)
    heavy = _weights_along(array, axis, as_array("average", "weights", weights))
    if array.dtype.kind == "m":
        raise DTypeError(bad("average", "weights", heavy.dtype, "None for times, whose mean takes no weights"))
    for argument, each in (("a", array), ("weights", heavy)):
        _check_numbers("average", argument, each.dtype)
    whole = [np.dtype(float)] if array.dtype.kind in "biu" else []
    dtype = np.result_type(array.dtype, heavy.dtype, *whole)
    total = reduce_to("sum", heavy, axis, keepdims, dtype, operation="average")
    total = make(BlockFunction("elements.checks:no_zero"), (total,), total.expr.grid, total.dtype)
    product = multiply(array, heavy, dtype=dtype)  # in the operands' own dtypes it might overflow
    mean = divide(reduce_to("sum", product, axis, keepdims, dtype, operation="average"), total)
    return (mean, broadcast_to(total, mean.shape)) if returned else mean


def _check_numbers(operation: str, argument: str, dtype: DType) -> None:
    if dtype.kind not in NUMBERS:
        raise DTypeError(bad(operation, argument, dtype, "a dtype of numbers"))


def _weights_along(array: Array, axis: Any, weights: Array) -> Array:
    """Return weights that broadcast to an array's shape, along the axes that they are for."""
    if weights.shape == array.shape:
        return weights
    if axis is None:
        raise ArgumentError(bad("average", "axis", None, "axes, since weights have another shape than a"))
    raw_axes = axis if isinstance(axis, tuple) else (axis,)
    check_axes("average", axis, array.ndim)
    axes = [i % array.ndim for i in raw_axes]
    expected = tuple(array.shape[i] for i in axes)
    if weights.shape != expected:
        raise ShapeError(bad("average", "weights", weights.shape, f"the shape of a, or {expected}"))
    ordered = transpose(weights, [int(i) for i in np.argsort(axes)])
    spread = ordered.reshape(tuple(n if i in axes else 1 for i, n in enumerate(array.shape)))
    return broadcast_to(spread, array.shape)


def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Array:
    """Return the covariance matrix.

    Parameters
    ----------
    m : 1-D or 2-D array
        The observations: a variable in each row.
    y : array_like, optional
        Further variables, in the same form.
    rowvar : bool
        Whether each row is a variable and each column an observation; False: the other way round.
    bias : bool
        Whether to divide by the number of observations, not by one less.
    ddof : int, optional
        What is taken off the number of observations instead; overrides `bias`.
    fweights : array of int, optional
        How often each observation counts, 1-D; None: once.
    aweights : array_like, optional
        Weights of the observations, 1-D; None: all alike.
    dtype : dtype, optional
        In which to compute; None: that of the operands, at least float64.

    Returns
    -------
    Array
        The covariances of V variables, (V, V); 0-d for a single one.

    Raises
    ------
    ArgumentError
        `m` or `y` can't be read as an array.
    ShapeError
        `m` or `y` has more than two axes, or another number of observations; a weight is missing or negative; or `ddof`
        isn't an integer.
    DTypeError
        `m` or `y` isn't numbers, `fweights` isn't integers, or `aweights` isn't real numbers.

    Notes
    -----
    Negative weights raise only where they aren't lazy. As in NumPy, `RuntimeWarning` tells that no degrees of freedom
    are left; with weights it isn't given.

    >>> wr.cov(wr.asarray([[0.0, 1, 2], [2, 1, 0]])).compute()
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    if ddof is not None and ddof != int(ddof):
        raise ShapeError(bad("cov", "ddof", ddof, "an integer"))
    free = (0 if bias else 1) if ddof is None else int(ddof)
    return _covariances("cov", _observations("cov", {"m": m, "y": y}, rowvar, dtype), free, fweights, aweights)


def _covariances(operation: str, x: Array, free: int, fweights: Any, aweights: Any) -> Array:
    """Return the covariances of the rows of a matrix."""
    if x.shape[0] == 0:
        return empty((0, 0), x.dtype)
    weights, factor = None, None
    counts = _observation_weights("fweights", fweights, x.shape[1])
    others = _observation_weights("aweights", aweights, x.shape[1])
    if counts is not None or others is not None:
        weights = others if counts is None else counts if others is None else multiply(counts, others)
        mean, total = average(x, 1, weights, True)
        total = total[0]
        if free == 0:
            factor = total
        elif others is None:
            factor = total - free
        else:
            factor = total - free * reduce_to("sum", multiply(weights, others), None, False, None) / total
    else:
        mean = reduce_to("mean", x, 1, False, None)
        if x.shape[1] <= free:
            warn(f"{operation}: there are no degrees of freedom left", RuntimeWarning)
        factor = np.float64(max(0.0, x.shape[1] - free))
    x = astype(subtract(x, mean[:, None]), x.dtype)
    turned = transpose(x if weights is None else multiply(x, weights))
    product = matmul(x, conjugate(turned) if turned.dtype.kind == "c" else turned)
    with np.errstate(divide="ignore"):
        scale = float(np.true_divide(1, factor)) if weights is None else divide(1, factor)
    return squeeze(astype(multiply(product, scale), product.dtype))


def _observations(operation: str, variables: dict[str, ArrayLike | None], rowvar: bool, dtype: DTypeLike) -> Array:
    """Return all variables, one in each row; they come by the names of arguments."""
    arrays = []
    for argument, value in variables.items():
        if value is not None:
            array = as_array(operation, argument, value)
            _check_numbers(operation, argument, array.dtype)
            if array.ndim > 2:
                raise ShapeError(bad(operation, argument, array.shape, "a 1-D or 2-D array"))
            arrays.append(array)
    if dtype is None:
        known = np.result_type(*(a.dtype for a in arrays), np.float64)
    else:
        known = check_dtype(operation, "dtype", dtype)
        if known.kind not in "fc":
            raise DTypeError(bad(operation, "dtype", known, "a dtype of floating-point or complex numbers"))
    rows = []
    for i, array in enumerate(arrays):
        x = astype(array, known)
        x = x if x.ndim == 2 else x.reshape(1, x.size)
        turned = not rowvar and (arrays[0].ndim != 1 if i == 0 else x.shape[0] != 1)
        rows.append(transpose(x) if turned else x)
    if any(r.shape[1] != rows[0].shape[1] for r in rows):
        first = next(iter(variables))
        raise ShapeError(bad(operation, "y", arrays[1].shape, f"{rows[0].shape[1]} observations, as in {first}"))
    return concatenate(rows, 0)


def _observation_weights(argument: str, weights: Any, count: int) -> Array | None:
    if weights is None:
        return None
    array = as_array("cov", argument, weights)
    if array.ndim != 1 or array.shape[0] != count:
        raise ShapeError(bad("cov", argument, array.shape, f"a weight for each of {count} observations"))
    whole = array.dtype.kind in "iu" or (not isinstance(weights, ArrayBase) and bool(np.all(np.mod(weights, 1) == 0)))
    if array.dtype.kind not in "iuf" or (argument == "fweights" and not whole):
        expected = "integers" if argument == "fweights" else "real numbers"
        raise DTypeError(bad("cov", argument, array.dtype, expected))
    if not isinstance(weights, ArrayBase) and (np.asarray(weights) < 0).any():
        raise ShapeError(bad("cov", argument, weights, "weights that are not negative"))
    return astype(array, float)


def corrcoef(x: ArrayLike, y: ArrayLike | None = None, rowvar: bool = True, *, dtype: DTypeLike = None) -> Array:
    """Return the matrix of correlation coefficients.

    Parameters
    ----------
    x : 1-D or 2-D array
        The observations: a variable in each row.
    y : array_like, optional
        Further variables, in the same form.
    rowvar : bool
        Whether each row is a variable and each column an observation; False: the other way round.
    dtype : dtype, optional
        In which to compute; None: that of the operands, at least float64.

    Returns
    -------
    Array
        The coefficients of V variables, (V, V), from -1 to 1; 0-d for a single one. NaN where a variable is constant.

    Raises
    ------
    ArgumentError
        `x` or `y` can't be read as an array.
    ShapeError
        `x` or `y` has more than two axes, or another number of observations.
    DTypeError
        `x` or `y` isn't numbers.

    >>> wr.corrcoef(wr.asarray([[0.0, 1, 2], [2, 1, 0]])).compute()
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    c = _covariances("corrcoef", _observations("corrcoef", {"x": x, "y": y}, rowvar, dtype), 1, None, None)
    if c.ndim == 0:
        return divide(c, c)  # type: ignore[no-any-return]
    spread = sqrt(real(diagonal(c)))
    c = divide(divide(c, spread[:, None]), spread[None, :])
    if c.dtype.kind != "c":
        return clip(c, -1, 1)
    return astype(clip(real(c), -1, 1) + 1j * clip(imag(c), -1, 1), c.dtype)
