"""Central moments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...graph.arguments import check_integer
from ...graph.kinds.reduction import count_reduced
from ...workers.kernels.reductions import REDUCTIONS
from ..base import as_array, check_axes, check_dtype
from ..ops.elementwise.functions import astype
from ..ops.outputs import deliver
from ..ops.reductions.nodes import check_freedom, reduce_to
from ..ops.reductions.sums import find_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..array import Array
    from ..typing import ArrayLike, DTypeLike, OutLike

__all__ = [
    "moment",
]


def moment(
    a: ArrayLike,
    order: int,
    axis: int | Sequence[int] | None = None,
    dtype: DTypeLike = None,
    keepdims: bool = False,
    ddof: float = 0,
    out: OutLike = None,
) -> Array:
    """Return a central moment: the mean of a power of the deviations from the mean.

    Parameters
    ----------
    a : array_like
        Numbers.
    order : int
        The power, from 0 on: 2 is the variance.
    axis : int, tuple of int or None, optional
        The axes to reduce; None: all.
    dtype : dtype, optional
        In which to compute; None: that of the mean.
    keepdims : bool, optional
        Whether the reduced axes stay, as size-1 axes.
    ddof : number
        So much less than the number of elements the sum is divided by.
    out : Array or numpy.ndarray, optional
        Takes the result: a lazy array stands for it from then on, a NumPy array is filled at the call.

    Returns
    -------
    Array
        In the shape of `a` without `axis`; float64 for integers.

    Raises
    ------
    ArgumentError
        `a` can't be read as an array; `order` isn't an integer from 0 on; or `ddof` isn't a number.
    AxisError
        The array has no such axis.
    ShapeError
        An axis is named twice, or the result doesn't broadcast to `out`.
    DTypeError
        `a` isn't numbers, or `dtype` is no dtype.

    Notes
    -----
    NumPy has no such function; it is dask's, and `scipy.stats.moment` is like it but for `ddof`.

    >>> wr.moment(wr.asarray([1.0, 2.0, 6.0]), 3).compute()
    np.float64(6.0)
    """
    array = as_array("moment", "a", a)
    axes = check_axes("moment", axis, array.ndim)
    order = check_integer("moment", "order", order, 0)
    if dtype is not None:
        array = astype(array, check_dtype("moment", "dtype", dtype))
    REDUCTIONS["var"].result_dtype(array.dtype, operation="moment")
    away = array - find_mean("moment", array, axis=axes, keepdims=True)
    total = reduce_to("sum", away**order, axes, keepdims, None, operation="moment")
    free = count_reduced(array.shape, axes) - check_freedom("moment", ddof, None)
    return deliver("moment", total / free, out)  # type: ignore[no-any-return]
