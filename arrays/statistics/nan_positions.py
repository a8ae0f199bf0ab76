"""Positions of extremes, ignoring NaN."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...graph.kinds.mapping import BlockFunction
from ..base import as_array, make
from ..ops.outputs import deliver_positions
from ..ops.reductions.extremes import position_of
from .docstrings import STATISTICS

if TYPE_CHECKING:
    from ..array import Array
    from ..typing import ArrayLike, OutLike

__all__ = [
    "nanargmax",
    "nanargmin",
]


def nanargmin(a: ArrayLike, axis: int | None = None, out: OutLike = None, *, keepdims: bool = False) -> Any:
    """Return the position of the least element that is not NaN.

    Parameters
    ----------
    a : array_like
        Numbers, dates or times.
    axis : int or None
        The axis along which to look; None: the array flattened in C order.
    {out}
    keepdims : bool
        Whether the reduced axis stays, as a size-1 axis.

    Returns
    -------
    Array of int64
        In the shape of `a` without `axis`; the first position of several.

    Raises
    ------
    ArgumentError
        `a` can't be read as an array; or `axis` isn't an integer.
    AxisError
        The array has no such axis.
    ShapeError
        There are no elements along the axis, or the result doesn't broadcast to `out`.
    ValueError
        When it is computed: all elements along the axis are NaN (NumPy raises at the call).

    >>> wr.nanargmin(wr.asarray([float("nan"), 3.0, 2.0])).compute()
    np.int64(2)
    """
    return deliver_positions("nanargmin", _position("nanargmin", a, axis, keepdims), out)


def nanargmax(a: ArrayLike, axis: int | None = None, out: OutLike = None, *, keepdims: bool = False) -> Any:
    """Return the position of the greatest element that is not NaN.

    {sections of nanargmin}

    >>> wr.nanargmax(wr.asarray([float("nan"), 3.0, 2.0])).compute()
    np.int64(1)
    """
    return deliver_positions("nanargmax", _position("nanargmax", a, axis, keepdims), out)


def _position(operation: str, a: ArrayLike, axis: int | None, keepdims: bool) -> Array:
    array = as_array(operation, "a", a)
    if array.dtype.kind not in "fc":
        return position_of(operation.removeprefix("nan"), array, axis, keepdims, operation)
    position = position_of(operation, array, axis, keepdims)
    return make(
        BlockFunction("elements.checks:check_found", (operation,)), (position,), position.expr.grid, position.dtype
    )


STATISTICS.fill(__name__)
