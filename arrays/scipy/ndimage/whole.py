"""What SciPy makes of a whole array at once, which must lie in one chunk: nothing is gathered without a word."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.errors import ArgumentError, bad
from ....graph.kinds.mapping import BlockFunction
from ...base import make
from ..bridge import attempt, find_function, like_scipy, numbers, row, settled, whole
from .local import ABOUT, output_dtype

if TYPE_CHECKING:
    from ...array import Array
    from ...typing import DTypeLike

documented = like_scipy(
    "ndimage",
    {
        "input": "array_like: The array, which must lie in one chunk: `x.rechunk(x.shape)`.",
        "output": ABOUT["output"],
        "return_distances": "bool: Only True.",
        "return_indices": "bool: Only False.",
        "distances": "None: Arrays to fill are refused.",
        "indices": "None: Arrays to fill are refused.",
    },
    "Lazy, in one chunk; what SciPy makes of the array.",
)


@documented
def distance_transform_edt(name: str, arguments: dict[str, Any]) -> Array:
    """Return how far each element is from the nearest one that is 0.

    >>> import windrow as wr
    >>> wr.ndimage.distance_transform_edt(wr.asarray([0, 1, 1, 1])).compute()
    array([0., 1., 2., 3.])
    """
    return _make_whole(name, _only_distances(name, **arguments), dtype=np.float64)


@documented
def distance_transform_cdt(name: str, arguments: dict[str, Any]) -> Array:
    """Return how many steps each element is from the nearest one that is 0.

    >>> import windrow as wr
    >>> wr.ndimage.distance_transform_cdt(wr.asarray([0, 1, 1, 1])).compute()
    array([0, 1, 2, 3], dtype=int32)
    """
    wanted = _only_distances(name, **arguments)
    if wanted["metric"] not in ("chessboard", "taxicab", "cityblock", "manhattan"):
        raise ArgumentError(bad(name, "metric", wanted["metric"], "'chessboard' or 'taxicab'"))
    return _make_whole(name, wanted, dtype=np.int32)


def _only_distances(
    name: str, return_distances: Any, return_indices: Any, distances: Any, indices: Any, **others: Any
) -> dict[str, Any]:
    """Return the other arguments, where these ask for distances alone."""
    if not return_distances or return_indices or distances is not None or indices is not None:
        raise ArgumentError(f"{name}: indices and arrays to fill are refused; expected return_distances=True alone")
    return others


def _make_whole(name: str, arguments: dict[str, Any], dtype: DTypeLike = None) -> Array:
    x = whole(name, numbers(name, "input", arguments.pop("input")))
    if "output" in arguments and output_dtype(name, arguments["output"]) is None:
        del arguments["output"]
    keywords = settled(name, arguments)
    if dtype is None:
        small = np.ones((2,) * x.ndim, x.dtype)
        dtype = attempt(name, find_function("ndimage", name), small, **dict(keywords)).dtype
    op = BlockFunction("scipy.ndimage:whole", (f"ndimage.{name}", keywords, np.dtype(dtype).str))
    return make(op, [x], x.expr.grid, dtype)


fourier_gaussian = row(
    documented,
    _make_whole,
    "fourier_gaussian",
    "Multiply a Fourier transform by that of a Gaussian.",
    "wr.ndimage.fourier_gaussian(wr.ones(3), 1.0).compute().round(3)",
    "array([1.   , 0.112, 0.112])",
)
fourier_uniform = row(
    documented,
    _make_whole,
    "fourier_uniform",
    "Multiply a Fourier transform by that of a box.",
    "wr.ndimage.fourier_uniform(wr.ones(4), 2.0).compute().round(3)",
    "array([1.   , 0.637, 0.   , 0.637])",
)
fourier_ellipsoid = row(
    documented,
    _make_whole,
    "fourier_ellipsoid",
    "Multiply a Fourier transform by that of an ellipsoid; of three axes at most.",
    "wr.ndimage.fourier_ellipsoid(wr.ones(4), 2.0).compute().round(3)",
    "array([1.   , 0.637, 0.   , 0.637])",
)
fourier_shift = row(
    documented,
    _make_whole,
    "fourier_shift",
    "Multiply a Fourier transform by that of a shift; the result is complex.",
    "wr.ndimage.fourier_shift(wr.ones(4), 1).compute().round(3).tolist()",
    "[(1+0j), -1j, (-1+0j), 1j]",
)
