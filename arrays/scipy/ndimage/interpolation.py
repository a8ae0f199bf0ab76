"""Interpolation as SciPy has it, of arrays in any chunks; `windows` makes the blocks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.chunks.grid import Axis, Grid
from ....graph.errors import ArgumentError, bad
from ....workers.kernels.blocks.scipy.interpolation import Affine, AxisPlaces
from ...base import as_array, check_axis, check_shape, few
from ...chunking.rechunk import regrid
from ...execution.deferred import defer
from ...ops.elementwise.functions import astype
from ..bridge import attempt, find_function, find_module, like_scipy, numbers, settled
from .local import ABOUT, result_dtype
from .windows import at_places, interpolate, of_nothing, prepare

if TYPE_CHECKING:
    from ...array import Array

ABOUT = {
    "input": "array_like: The array, in any chunks.",
    "output": ABOUT["output"],
    "mode": "str: What lies beyond the ends, as in SciPy.",
    "grid_mode": "bool: Whether elements are areas rather than points.",
}
SAME = "Lazy, in the shape and chunks of `input`; equal to what SciPy makes of the whole array, to rounding."
CHOSEN = (
    "Lazy; equal to what SciPy makes of the whole array, to rounding. In another shape than `input` chunks are chosen."
)
AT_PLACES = "Lazy, in the chunks of `coordinates`; equal to what SciPy makes of the whole array, to rounding."
documented = like_scipy("ndimage", ABOUT, CHOSEN)


@documented
def zoom(name: str, arguments: dict[str, Any]) -> Array:
    """Make an array longer or shorter along its axes.

    >>> import windrow as wr
    >>> wr.ndimage.zoom(wr.asarray([0.0, 2.0]), 1.5, order=1).compute()
    array([0., 1., 2.])
    """
    factors = _each(name, "zoom", arguments["zoom"], numbers(name, "input", arguments["input"]).ndim)
    if any(not math.isfinite(f) or f < 0 for f in factors):
        raise ArgumentError(bad(name, "zoom", arguments["zoom"], "numbers from 0 on"))
    x, dtype = _begin(name, arguments)
    shape = tuple(round(n * f) for n, f in zip(x.shape, factors, strict=True))
    if arguments["prefilter"] and all(f == 1 for f in factors):
        return astype(x, dtype)
    less = 0 if arguments["grid_mode"] else 1
    zooms = [1.0 if m == less else (n - less) / (m - less) for n, m in zip(x.shape, shape, strict=True)]
    places = AxisPlaces((0.0,) * x.ndim, tuple(zooms), bool(arguments["grid_mode"]))
    return interpolate(name, x, shape, places, range(x.ndim), dtype, arguments)


@like_scipy("ndimage", ABOUT, SAME)
def shift(name: str, arguments: dict[str, Any]) -> Array:
    """Move elements along axes, by any distance.

    >>> import windrow as wr
    >>> wr.ndimage.shift(wr.asarray([1.0, 2, 3]), 1, order=1).compute()
    array([0., 1., 2.])
    """
    x, dtype = _begin(name, arguments)
    by = _each(name, "shift", arguments["shift"], x.ndim)
    if not np.isfinite(by).all():
        raise ArgumentError(bad(name, "shift", arguments["shift"], "finite numbers"))
    places = AxisPlaces(tuple(-b for b in by), (1.0,) * x.ndim)
    return interpolate(name, x, x.shape, places, range(x.ndim), dtype, arguments)


@documented
def affine_transform(name: str, arguments: dict[str, Any]) -> Array:
    """Turn, stretch and move an array by a matrix.

    >>> import windrow as wr
    >>> wr.ndimage.affine_transform(wr.asarray([[1.0, 2], [3, 4]]), [[0, 1], [1, 0]], order=1).compute()
    array([[1., 3.],
           [2., 4.]])
    """
    wanted, matrix, offset = arguments["output_shape"], arguments["matrix"], arguments["offset"]
    shape = None if wanted is None else check_shape(name, wanted, "output_shape")
    ndim = numbers(name, "input", arguments["input"]).ndim
    x, dtype = _begin(name, arguments | {"output_shape": (1,) * (ndim if shape is None else len(shape))})
    shape = x.shape if shape is None else shape
    rows = np.asarray(matrix, np.float64)
    if rows.ndim == 2 and rows.shape[1] == x.ndim + 1 and rows.shape[0] in (x.ndim, x.ndim + 1):
        offset = rows[: x.ndim, x.ndim]
        rows = rows[: x.ndim, : x.ndim]
    moved = _each(name, "offset", offset, x.ndim)
    if not np.isfinite(rows).all() or not np.isfinite(moved).all():
        raise ArgumentError(bad(name, "matrix", matrix, "finite numbers, as for 'offset'"))
    if rows.ndim == 1 and np.all(rows):
        diagonal = tuple(map(float, rows))
        places: AxisPlaces | Affine = AxisPlaces(tuple(o / d for o, d in zip(moved, diagonal, strict=True)), diagonal)
    else:
        square = np.diag(rows) if rows.ndim == 1 else rows
        places = Affine(tuple(tuple(map(float, row)) for row in square), tuple(moved))
    return interpolate(name, x, shape, places, range(x.ndim), dtype, arguments)


@documented
def rotate(name: str, arguments: dict[str, Any]) -> Array:
    """Turn an array in the plane of two axes.

    >>> import windrow as wr
    >>> wr.ndimage.rotate(wr.asarray([[1.0, 2], [3, 4]]), 90, order=1).compute()
    array([[2., 4.],
           [1., 3.]])
    """
    angle, axes = arguments["angle"], arguments["axes"]
    ndim = numbers(name, "input", arguments["input"]).ndim
    plane = sorted(check_axis(name, axis, ndim) for axis in axes)
    if len(plane) != 2 or plane[0] == plane[1]:
        raise ArgumentError(bad(name, "axes", axes, "two axes"))
    x, dtype = _begin(name, arguments | {"axes": tuple(plane)})
    special = find_module("special", name)
    c, s = float(special.cosdg(angle)), float(special.sindg(angle))
    if not math.isfinite(c):
        raise ArgumentError(bad(name, "angle", angle, "a finite number"))
    turn = np.array([[c, s], [-s, c]])
    before = np.array([x.shape[axis] for axis in plane])
    after = before
    if arguments["reshape"]:
        corners = turn @ np.array([[0, 0, before[0], before[0]], [0, before[1], 0, before[1]]])
        after = (np.ptp(corners, axis=1) + 0.5).astype(int)
    offset = (before - 1) / 2 - turn @ ((after - 1) / 2)
    shape = list(x.shape)
    for axis, n in zip(plane, after.tolist(), strict=True):
        shape[axis] = n
    places = Affine(((c, s), (-s, c)), tuple(map(float, offset)))
    return interpolate(name, x, tuple(shape), places, plane, dtype, arguments)


@like_scipy("ndimage", ABOUT, AT_PLACES)
def map_coordinates(name: str, arguments: dict[str, Any]) -> Array:
    """Interpolate an array at places.

    A task reads what lies between the least and largest places of its chunk: all of `input` where they lie anywhere.

    >>> import windrow as wr
    >>> wr.ndimage.map_coordinates(wr.asarray([0.0, 2, 4]), [[0.5, 1.5]], order=1).compute()
    array([1., 3.])
    """
    places = as_array(name, "coordinates", arguments["coordinates"])
    x = numbers(name, "input", arguments["input"])
    if places.ndim < 2 or places.shape[0] != x.ndim or places.dtype.kind not in "biuf":
        expected = f"real numbers, an entry for each of {x.ndim} axes along the first, and more axes"
        raise ArgumentError(bad(name, "coordinates", (places.shape, str(places.dtype)), expected))
    x, dtype = _begin(name, arguments | {"coordinates": np.zeros((x.ndim, 1))})
    places = regrid(places, Grid([Axis.whole(x.ndim), *places.expr.grid.axes[1:]]))
    grid = Grid(places.expr.grid.axes[1:])
    if 0 in x.shape or 0 in places.shape:
        return of_nothing(name, x, grid.shape, dtype, arguments)
    wide, how = prepare(x, range(x.ndim), dtype, arguments)
    return defer(name, at_places, (wide, places), (how,), grid, dtype)


def _begin(name: str, arguments: dict[str, Any]) -> tuple[Array, np.dtype[Any]]:
    """Return the array and the result's dtype; what SciPy doesn't take is told now."""
    x = numbers(name, "input", arguments["input"])
    options = {key: value for key, value in arguments.items() if key != "input"}
    options["output"] = result_dtype(name, x, options["output"])
    small = np.ones((2,) * x.ndim, x.dtype)
    trial = attempt(name, find_function("ndimage", name), small, **dict(settled(name, options)))
    dtype: np.dtype[Any] = trial.dtype.newbyteorder("=")  # as all that is computed here
    return x, dtype


def _each(name: str, argument: str, value: Any, ndim: int) -> list[float]:
    value = few(name, argument, value, f"a number, or one for each of {ndim} axes")
    entries = [value] * ndim if np.ndim(value) == 0 else list(value)
    if len(entries) != ndim:
        raise ArgumentError(bad(name, argument, value, f"a number, or one for each of {ndim} axes"))
    return [float(v) for v in entries]
