"""Filters that see near neighbours: each chunk is filtered by SciPy together with a margin.

At the array's own ends the margin ends too, and SciPy does what `mode` says there; margins are as wide as a filter
reaches to either side, so that what `mode` reflects lies in them as well. Where the array goes round its ends, the
margin does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.arguments import is_integer
from ....graph.errors import ArgumentError, ShapeError, bad
from ....graph.kinds.mapping import BlockFunction
from ....workers.kernels.blocks.scipy.ndimage import Filter
from ...base import ArrayBase, as_array, check_axis, check_dtype, make
from ...chunking.halo import with_halo
from ...chunking.rechunk import regrid
from ..bridge import attempt, find_function, like_scipy, numbers, row, settled

if TYPE_CHECKING:
    from ...array import Array
    from ...typing import AxisLike, OutLike

ROUND = ("wrap", "grid-wrap")
"""Modes by which an array goes round its ends."""

ABOUT = {
    "input": "array_like: The array; it keeps its chunks, each of which is read with a margin of its neighbours.",
    "output": "dtype, optional: Of the result; None: what SciPy makes of this input. Arrays to fill are refused.",
    "mode": (
        'str or sequence of str: For all axes or each, what lies beyond the ends: "reflect" (d c b a | a b c d), '
        '"constant", "nearest", "mirror" (d c b | a b c d), "wrap", or their "grid-" forms.'
    ),
    "kwargs": "scalar: `truncate` and `radius`, as `gaussian_filter` has them.",
}
filtered = like_scipy(
    "ndimage", ABOUT, "Lazy, in the shape and chunks of `input`; equal to what SciPy makes of the whole array."
)

Reach = Mapping[int, int]
"""How many elements to either side a filter looks along axes; it stays in place along others."""
Reacher = Callable[[Mapping[str, Any], int], Reach]


def local(name: str, reach: Reacher, text: str, example: str, result: str) -> Callable[..., Array]:
    """Return a filter by its name in SciPy and its reach: what it does, and an example with its result."""

    def compute(name: str, arguments: dict[str, Any]) -> Array:
        return filter_locally(name, arguments, reach)

    return row(filtered, compute, name, text, f"wr.ndimage.{example}.compute()", result)


def filter_locally(name: str, arguments: dict[str, Any], reach: Reacher, beside: tuple[str, ...] = ()) -> Array:
    """Return what SciPy's filter makes of an array.

    Parameters
    ----------
    name : str
        In `scipy.ndimage`.
    arguments : dict
        All arguments; `output` may be None or a dtype.
    reach : callable
        Of the arguments and the number of axes; what it raises is told as the arguments' fault.
    beside : tuple of str
        Arguments that are arrays in the shape of the first, or None.
    """
    arguments = dict(arguments)
    x = numbers(name, "input", arguments.pop("input"))
    if "output" in arguments:
        arguments["output"] = output_dtype(name, arguments["output"])
        if arguments["output"] is None:
            del arguments["output"]
    more = {n: like(name, n, arguments.pop(n), x) for n in beside if arguments.get(n) is not None}
    keywords = settled(name, arguments)
    small = np.ones((1,) * x.ndim, x.dtype)
    dtype = attempt(
        name,
        find_function("ndimage", name),
        small,
        **dict(keywords),
        **{n: np.ones((1,) * x.ndim, a.dtype) for n, a in more.items()},
    ).dtype
    depths = read_reach(name, x, dict(keywords), reach)
    periodic = tuple(
        mode in ROUND and x.numblocks[i] > 1 and depths[i] > 0
        for i, mode in enumerate(modes(arguments.get("mode"), x.ndim, arguments.get("axes")))
    )
    how = Filter(f"ndimage.{name}", tuple(more), keywords, depths, periodic, dtype.str)
    return spread(x, list(more.values()), how)


def spread(x: Array, more: Sequence[Array], how: Filter) -> Array:
    """Return what a filter makes of arrays with margins."""
    ends = tuple("periodic" if p else "none" for p in how.periodic)
    pairs = tuple((d, d) for d in how.depths)
    wide = [with_halo(a, pairs, ends) for a in (x, *more)]
    return make(BlockFunction("scipy.ndimage:filtered", (how,), where=True), wide, x.expr.grid, np.dtype(how.dtype))


def read_reach(name: str, x: Array, given: Mapping[str, Any], reach: Reacher) -> tuple[int, ...]:
    """Return the margin along each axis: none where a chunk has all elements."""
    try:
        margins = reach(given, x.ndim)
    except (TypeError, ValueError, IndexError) as error:
        raise ArgumentError(f"{name}: SciPy doesn't take these arguments: {error}") from error
    return tuple(int(margins.get(i, 0)) if x.numblocks[i] > 1 else 0 for i in range(x.ndim))


def like(operation: str, argument: str, value: object, x: Array) -> Array:
    """Return an array in the shape and chunks of another."""
    array = as_array(operation, argument, value)
    if array.shape != x.shape:
        raise ShapeError(bad(operation, argument, array.shape, f"the shape of the first argument, {x.shape}"))
    return regrid(array, x.expr.grid)


def output_dtype(operation: str, output: OutLike) -> Any:
    """Return the dtype that `output` names, as SciPy takes it."""
    if isinstance(output, ArrayBase | np.ndarray):
        expected = "None or a dtype: results are lazy, nothing is written into arrays that are given"
        raise ArgumentError(bad(operation, "output", f"an array of {output.dtype}", expected))
    return output


def result_dtype(operation: str, x: Array, output: OutLike) -> Any:
    """Return the dtype that `output` names, or None; results of complex numbers are complex, as in SciPy."""
    output_dtype(operation, output)
    if output is None:
        return None
    dtype = check_dtype(operation, "output", output)
    return np.promote_types(dtype, np.complex64) if x.dtype.kind == "c" and dtype.kind != "c" else dtype


def filter_axes(axes: AxisLike, ndim: int) -> tuple[int, ...]:
    """Return the axes that a filter runs along, in the order in which they were given."""
    if axes is None:
        return tuple(range(ndim))
    return tuple(check_axis("filter", a, ndim, "axes") for a in (axes if isinstance(axes, Iterable) else (axes,)))


def modes(mode: Any, ndim: int, axes: AxisLike) -> list[Any]:
    """Return the mode along each axis; SciPy has looked at what was given."""
    axis_modes: list[Any] = [None] * ndim
    along = filter_axes(axes, ndim)
    each = [mode] * len(along) if isinstance(mode, str) or mode is None else list(mode)
    for axis, one in zip(along, each, strict=False):
        axis_modes[axis] = one
    return axis_modes


def lengths(size: Any, axes: tuple[int, ...], *kernels: Any) -> dict[int, int]:
    """Return how long a filter is along its axes: by its size, or by what of kernels is given.

    Kernels have an axis for each of the filter's. Where axes were given in another order, each is as long as the
    longest.
    """
    shapes = [np.shape(k) for k in kernels if k is not None]
    if size is not None:
        shapes.append(tuple(size) if np.ndim(size) else (size,) * len(axes))
    if not shapes:
        return dict.fromkeys(axes, 3)
    if any(len(s) != len(axes) for s in shapes) or list(axes) != sorted(axes):
        return dict.fromkeys(axes, int(max(max(s, default=1) for s in shapes)))
    return {axis: int(max(s[i] for s in shapes)) for i, axis in enumerate(axes)}


def around(size: Mapping[int, int], origin: Any, times: int = 1) -> dict[int, int]:
    """Return how far filters of these lengths look, so many in a row, wherever their origin lies."""
    shift = 0 if origin is None else max((abs(int(o)) for o in np.ravel(origin)), default=0)
    return {axis: times * (length // 2 + shift + 1) for axis, length in size.items()}


def footprint_reach(times: int = 1, kernels: tuple[str, ...] = ("footprint", "structure")) -> Reacher:
    """Return the reach of a filter with `size` or a kernel, `origin` and `axes`."""

    def reach(given: Mapping[str, Any], ndim: int) -> Reach:
        axes = filter_axes(given.get("axes"), ndim)
        size = lengths(given.get("size"), axes, *(given.get(k) for k in kernels))
        return around(size, given.get("origin", 0), times)

    return reach


def line_reach(length: str | int) -> Reacher:
    """Return the reach of a filter along one axis: so long, or as long as an argument is or says."""

    def reach(given: Mapping[str, Any], ndim: int) -> Reach:
        size: Any = given[length] if isinstance(length, str) else length
        size = int(size) if is_integer(size) else len(size)
        return around({check_axis("filter", given["axis"], ndim): size}, given.get("origin", 0))

    return reach


def gaussian_radius(sigma: Any, truncate: Any, radius: Any) -> int:
    """Return how far a Gaussian reaches, as SciPy has it: one of a negative sigma leaves elements as they are."""
    if radius is None:
        return max(0, int(float(truncate) * float(sigma) + 0.5) + 1)
    return int(radius) + 1


def gaussian_reach(given: Mapping[str, Any], ndim: int) -> Reach:
    """Return the reach of Gaussians along axes."""
    axes = (check_axis("filter", given["axis"], ndim),) if "axis" in given else filter_axes(given.get("axes"), ndim)
    truncate: Any = given.get("truncate", 4.0)
    radius: Any = given.get("radius")
    sigmas = given["sigma"] if np.ndim(given["sigma"]) else [given["sigma"]] * len(axes)
    radii: Any = radius if np.ndim(radius) else [radius] * len(axes)
    return {a: gaussian_radius(s, truncate, r) for a, s, r in zip(axes, sigmas, radii, strict=True)}


def next_reach(given: Mapping[str, Any], ndim: int) -> Reach:
    """Return the reach of a filter that sees the next element to each side."""
    return dict.fromkeys(filter_axes(given.get("axes"), ndim), 2)
