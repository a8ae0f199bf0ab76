"""Elements in another order along an axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.axismap import Slice, Take
from ...graph.errors import ArgumentError, bad
from ...graph.grid import Axis
from ..core import Node, as_array, check_axes, check_axis
from .moving import Step, move, sliced_axis

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..array import Array

__all__ = [
    "flip",
    "take",
]


def flip(x: Any, axis: int | Sequence[int] | None = None) -> Array:
    """Reverse the order of elements along axes.

    Parameters
    ----------
    x : array
    axis : int, sequence of int or None
        None: all axes.

    Returns
    -------
    Array

    Examples
    --------
    >>> import windrow as wr
    >>> wr.flip(wr.arange(3)).compute()
    array([2, 1, 0])
    """
    array = as_array("flip", "x", x)
    turned = check_axes("flip", axis, array.ndim)
    steps: list[Step] = []
    axes = []
    for i, own in enumerate(array.expr.grid.axes):
        back = i in turned and own.length > 0
        steps.append((i, Slice(own.length - 1, -1) if back else Slice()))
        axes.append(sliced_axis(own, own.length - 1, -1, own.length) if back else own)
    return move("flip", array, steps, axes)


def take(x: Any, indices: Any, axis: int | None = None) -> Array:
    """Take elements along an axis by their positions.

    Parameters
    ----------
    x : array
    indices : array of int
        Known at the call: NumPy's, or computed there.
    axis : int or None
        None: positions in the flattened array.

    Returns
    -------
    Array

    Examples
    --------
    >>> import windrow as wr
    >>> wr.take(wr.arange(10) * 10, [3, -1]).compute()
    array([30, 90])
    """
    array = as_array("take", "x", x)
    if axis is None:
        array, axis = array.reshape(-1), 0
    at = check_axis("take", axis, array.ndim)
    found = np.asarray(indices.compute() if isinstance(indices, Node) else indices)  # type: ignore[attr-defined]
    if found.dtype.kind not in "iu" and found.size:
        raise ArgumentError(bad("take", "indices", found.dtype, "integers"))
    index = (slice(None),) * at + (found.astype(np.int64),)
    taken: Array = array[index]
    return taken


def taken(name: str, array: Node, axis: int, index: np.ndarray[Any, Any], out: Axis | None = None) -> Array:
    """Return the positions `index` (from 0 on) along an axis, in chunks about as large as the array's."""
    steps: list[Step] = [(i, Slice()) for i in range(array.ndim)]
    steps[axis] = (axis, Take(np.ascontiguousarray(index, np.int64)))
    axes = list(array.expr.grid.axes)
    axes[axis] = out if out is not None else Axis.regular(len(index), max(1, axes[axis].largest))
    return move(name, array, steps, axes)
