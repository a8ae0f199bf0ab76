"""What SciPy makes of a whole array at once, which must lie in one chunk: nothing is gathered without a word."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.errors import ArgumentError, bad
from ....graph.kinds.mapping import BlockFunction
from ...base import make
from ..bridge import attempt, find, numbers, settled, whole
from ..documents import described
from .about import ABOUT
from .filters.local import output_dtype

if TYPE_CHECKING:
    from ...array import Array

__all__ = [
    "distance_transform_cdt",
    "distance_transform_edt",
]

ABOUT = ABOUT | {
    "input": "array_like: The array, which must lie in one chunk: `x.rechunk(x.shape)`.",
    "order": "int: Of the splines, 0 to 5.",
    "mode": "str: What lies beyond the ends, as in SciPy.",
    "metric": '{"chessboard", "taxicab"}: How distances are measured.',
    "sampling": "float or sequence of float, optional: Distances of neighbours along each axis.",
    "return_distances": "bool: Only True.",
    "return_indices": "bool: Only False.",
    "distances": "None: Arrays to fill are refused.",
    "indices": "None: Arrays to fill are refused.",
}
documented = described(ABOUT, "Lazy, in one chunk; what SciPy makes of the array.")


def make_whole(name: str, given: dict[str, Any], dtype: Any = None) -> Array:
    given = dict(given)
    x = whole(name, numbers(name, "input", given.pop("input")))
    if "output" in given and output_dtype(name, given["output"]) is None:
        del given["output"]
    keywords = settled(name, given)
    if dtype is None:
        small = np.ones((2,) * x.ndim, x.dtype)
        dtype = attempt(name, getattr(find("ndimage", name), name), small, **dict(keywords)).dtype
    op = BlockFunction("scipy.ndimage:whole", (f"ndimage.{name}", keywords, np.dtype(dtype).str))
    return make(op, [x], x.expr.grid, dtype)


@documented
def distance_transform_edt(
    input: Any,
    sampling: Any = None,
    return_distances: bool = True,
    return_indices: bool = False,
    distances: None = None,
    indices: None = None,
) -> Array:
    """Return how far each element is from the nearest one that is 0.

    >>> import windrow as wr
    >>> wr.ndimage.distance_transform_edt(wr.asarray([0, 1, 1, 1])).compute()
    array([0., 1., 2., 3.])
    """
    _only_distances("distance_transform_edt", return_distances, return_indices, distances, indices)
    return make_whole("distance_transform_edt", {"input": input, "sampling": sampling}, dtype=np.float64)


@documented
def distance_transform_cdt(
    input: Any,
    metric: Any = "chessboard",
    return_distances: bool = True,
    return_indices: bool = False,
    distances: None = None,
    indices: None = None,
) -> Array:
    """Return how many steps each element is from the nearest one that is 0.

    >>> import windrow as wr
    >>> wr.ndimage.distance_transform_cdt(wr.asarray([0, 1, 1, 1])).compute()
    array([0, 1, 2, 3], dtype=int32)
    """
    _only_distances("distance_transform_cdt", return_distances, return_indices, distances, indices)
    if metric not in ("chessboard", "taxicab", "cityblock", "manhattan"):
        raise ArgumentError(bad("distance_transform_cdt", "metric", metric, "'chessboard' or 'taxicab'"))
    return make_whole("distance_transform_cdt", {"input": input, "metric": metric}, dtype=np.int32)


def _only_distances(name: str, wanted: Any, places: Any, distances: Any, indices: Any) -> None:
    if not wanted or places or distances is not None or indices is not None:
        raise ArgumentError(f"{name}: indices and arrays to fill are refused; expected return_distances=True alone")
