"""What SciPy makes of a whole array at once, which must lie in one chunk: nothing is gathered without a word."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.errors import ArgumentError, bad
from ...graph.grid import Grid
from ...graph.kinds.mapping import BlockFunction
from ..base import as_array, check_shape, make
from ..borrowed.documents import described
from ..borrowed.scipy_calls import attempt, find, numbers, settled, whole
from ..chunking.rechunk import regrid
from .about import ABOUT
from .local import output_dtype

if TYPE_CHECKING:
    from ..array import Array

__all__ = [
    "affine_transform",
    "distance_transform_cdt",
    "distance_transform_edt",
    "map_coordinates",
    "shift",
    "zoom",
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


def make_whole(name: str, given: dict[str, Any], shape: Any = None, dtype: Any = None, also: str = "") -> Array:
    given = dict(given)
    x = whole(name, numbers(name, "input", given.pop("input")))
    if "output" in given and output_dtype(name, given["output"]) is None:
        del given["output"]
    more = {also: as_array(name, also, given.pop(also))} if also else {}
    keywords = settled(name, given)
    if dtype is None:
        small = np.ones((2,) * x.ndim, x.dtype)
        places = {n: np.zeros((a.shape[0], *(1,) * (a.ndim - 1)), a.dtype) for n, a in more.items()}
        tried = {k: v for k, v in dict(keywords).items() if k != "output_shape"}
        dtype = attempt(name, getattr(find("ndimage", name), name), small, **tried, **places).dtype
    operands = [x, *(regrid(a, Grid.single(a.shape)) for a in more.values())]
    axes = tuple((None,) * o.ndim for o in operands)
    op = BlockFunction("ndimage:whole", (f"ndimage.{name}", tuple(more), keywords, np.dtype(dtype).str), axes)
    return make(op, operands, Grid.single(x.shape if shape is None else tuple(shape)), dtype)


def _each(name: str, argument: str, value: Any, ndim: int) -> list[float]:
    found = [value] * ndim if np.ndim(value) == 0 else list(value)
    if len(found) != ndim:
        raise ArgumentError(bad(name, argument, value, f"a number, or one for each of {ndim} axes"))
    return [float(v) for v in found]


@documented
def zoom(
    input: Any,
    zoom: Any,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
    *,
    grid_mode: bool = False,
) -> Array:
    """Make an array longer or shorter along its axes.

    >>> import windrow as wr
    >>> wr.ndimage.zoom(wr.asarray([0.0, 2.0]), 1.5, order=1).compute()
    array([0., 1., 2.])
    """
    given = dict(locals())
    x = numbers("zoom", "input", input)
    factors = _each("zoom", "zoom", zoom, x.ndim)
    if any(not math.isfinite(f) or f < 0 for f in factors):
        raise ArgumentError(bad("zoom", "zoom", zoom, "numbers from 0 on"))
    return make_whole("zoom", given, [round(n * f) for n, f in zip(x.shape, factors, strict=True)])


@documented
def shift(
    input: Any,
    shift: Any,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
) -> Array:
    """Move elements along axes, by any distance.

    >>> import windrow as wr
    >>> wr.ndimage.shift(wr.asarray([1.0, 2, 3]), 1, order=1).compute()
    array([0., 1., 2.])
    """
    return make_whole("shift", dict(locals()))


@documented
def affine_transform(
    input: Any,
    matrix: Any,
    offset: Any = 0.0,
    output_shape: Any = None,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
) -> Array:
    """Turn, stretch and move an array by a matrix.

    >>> import windrow as wr
    >>> wr.ndimage.affine_transform(wr.asarray([[1.0, 2], [3, 4]]), [[0, 1], [1, 0]], order=1).compute()
    array([[1., 3.],
           [2., 4.]])
    """
    given = dict(locals())
    shape = None if output_shape is None else check_shape("affine_transform", output_shape, "output_shape")
    return make_whole("affine_transform", given, shape)


@documented
def map_coordinates(
    input: Any,
    coordinates: Any,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
) -> Array:
    """Interpolate an array at places.

    >>> import windrow as wr
    >>> wr.ndimage.map_coordinates(wr.asarray([0.0, 2, 4]), [[0.5, 1.5]], order=1).compute()
    array([1., 3.])
    """
    given = dict(locals())
    places = as_array("map_coordinates", "coordinates", coordinates)
    x = numbers("map_coordinates", "input", input)
    if places.ndim < 1 or places.shape[0] != x.ndim or places.dtype.kind not in "biuf":
        expected = f"real numbers, an entry for each of {x.ndim} axes along the first"
        raise ArgumentError(bad("map_coordinates", "coordinates", (places.shape, str(places.dtype)), expected))
    return make_whole("map_coordinates", given, places.shape[1:], also="coordinates")


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
