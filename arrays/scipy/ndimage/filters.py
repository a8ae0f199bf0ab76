"""Filters that are sums of neighbours by weights, or the least, the greatest or any rank of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....graph.errors import ArgumentError, bad
from .local import (
    ROUND,
    Reach,
    filter_locally,
    filtered,
    footprint_reach,
    gaussian_reach,
    line_reach,
    local,
    next_reach,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...array import Array

correlate = local(
    "correlate",
    footprint_reach(kernels=("weights",)),
    "Correlate an array with weights.",
    "correlate(wr.arange(5, chunks=2), [1, 0, 2])",
    "array([ 2,  4,  7, 10, 11])",
)
convolve = local(
    "convolve",
    footprint_reach(kernels=("weights",)),
    "Convolve an array with weights.",
    'convolve(wr.arange(5, chunks=2), [1, 0, 2], mode="constant")',
    "array([1, 2, 5, 8, 6])",
)
correlate1d = local(
    "correlate1d",
    line_reach("weights"),
    "Correlate lines along an axis with weights.",
    "correlate1d(wr.arange(5, chunks=2), [1, 0, 2])",
    "array([ 2,  4,  7, 10, 11])",
)
convolve1d = local(
    "convolve1d",
    line_reach("weights"),
    "Convolve lines along an axis with weights.",
    "convolve1d(wr.arange(5, chunks=2), [1, 0, 2])",
    "array([ 1,  2,  5,  8, 10])",
)
uniform_filter = local(
    "uniform_filter",
    footprint_reach(),
    """Take the mean of neighbours.

    SciPy adds up along each line as it goes, so floating-point results differ by rounding from those of whole lines,
    and a NaN or infinity spoils what follows it in its chunk and margin, not in the whole line.
    """,
    "uniform_filter(wr.arange(6.0, chunks=3), 3).round(3)",
    "array([0.333, 1.   , 2.   , 3.   , 4.   , 4.667])",
)
uniform_filter1d = local(
    "uniform_filter1d",
    line_reach("size"),
    "Take the mean of neighbours along an axis; see `uniform_filter`.",
    "uniform_filter1d(wr.arange(6, chunks=3), 3)",
    "array([0, 1, 2, 3, 4, 4])",
)
sobel = local(
    "sobel",
    next_reach,
    "Find edges along an axis by Sobel's filter.",
    "sobel(wr.arange(6, chunks=3))",
    "array([1, 2, 2, 2, 2, 1])",
)
prewitt = local(
    "prewitt",
    next_reach,
    "Find edges along an axis by Prewitt's filter.",
    "prewitt(wr.arange(6, chunks=3))",
    "array([1, 2, 2, 2, 2, 1])",
)
laplace = local(
    "laplace",
    next_reach,
    "Sum the second differences along axes.",
    "laplace(wr.arange(6, chunks=3) ** 2)",
    "array([ 1,  2,  2,  2,  2, -9])",
)
gaussian_filter = local(
    "gaussian_filter",
    gaussian_reach,
    "Smooth an array by a Gaussian, or take derivatives of it.",
    "gaussian_filter(wr.arange(6.0, chunks=2), 1).round(2)",
    "array([0.43, 1.07, 2.  , 3.  , 3.93, 4.57])",
)
gaussian_filter1d = local(
    "gaussian_filter1d",
    gaussian_reach,
    "Smooth lines along an axis by a Gaussian, or take derivatives of it.",
    "gaussian_filter1d(wr.arange(6.0, chunks=2), 1, radius=1).round(2)",
    "array([0.27, 1.  , 2.  , 3.  , 4.  , 4.73])",
)


@filtered
def gaussian_laplace(name: str, arguments: dict[str, Any]) -> Array:
    """Sum the second derivatives of a Gaussian along axes.

    >>> import windrow as wr
    >>> wr.ndimage.gaussian_laplace(wr.arange(6.0, chunks=2), 1).compute().round(2)
    array([ 0.68,  0.28,  0.04, -0.04, -0.28, -0.68])
    """
    _refuse_mixed_modes(name, arguments["mode"])
    return filter_locally(name, arguments, gaussian_reach)


@filtered
def gaussian_gradient_magnitude(name: str, arguments: dict[str, Any]) -> Array:
    """Return the length of the gradient, of a Gaussian's derivatives along axes.

    >>> import windrow as wr
    >>> wr.ndimage.gaussian_gradient_magnitude(wr.arange(6.0, chunks=2), 1).compute().round(2)
    array([0.36, 0.85, 0.98, 0.98, 0.85, 0.36])
    """
    _refuse_mixed_modes(name, arguments["mode"])
    return filter_locally(name, arguments, _reach_along_all)


def _reach_along_all(arguments: Mapping[str, Any], ndim: int) -> Reach:
    """Derivatives are taken along some axes, each of an array that is smoothed along all."""
    return gaussian_reach({**arguments, "axes": None}, ndim)


def _refuse_mixed_modes(name: str, mode: Any) -> None:
    """Raise where only some axes go round their ends: SciPy takes each axis's mode for all axes in turn."""
    if len({one in ROUND for one in ([mode] if isinstance(mode, str) else mode)}) > 1:
        expected = "modes that all go round the ends, or none: SciPy takes each axis's for all axes in turn"
        raise ArgumentError(bad(name, "mode", mode, expected))


minimum_filter = local(
    "minimum_filter",
    footprint_reach(),
    "Take the least of neighbours.",
    "minimum_filter(wr.arange(6, chunks=2), 3)",
    "array([0, 0, 1, 2, 3, 4])",
)
maximum_filter = local(
    "maximum_filter",
    footprint_reach(),
    "Take the greatest of neighbours.",
    "maximum_filter(wr.arange(6, chunks=2), footprint=[1, 0, 1])",
    "array([1, 2, 3, 4, 5, 5])",
)
minimum_filter1d = local(
    "minimum_filter1d",
    line_reach("size"),
    "Take the least of neighbours along an axis.",
    "minimum_filter1d(wr.arange(6, chunks=2), 3)",
    "array([0, 0, 1, 2, 3, 4])",
)
maximum_filter1d = local(
    "maximum_filter1d",
    line_reach("size"),
    "Take the greatest of neighbours along an axis.",
    "maximum_filter1d(wr.arange(6, chunks=2), 3)",
    "array([1, 2, 3, 4, 5, 5])",
)
rank_filter = local(
    "rank_filter",
    footprint_reach(),
    "Take the element of a rank among neighbours.",
    "rank_filter(wr.arange(6, chunks=2), -2, size=3)",
    "array([0, 1, 2, 3, 4, 5])",
)
median_filter = local(
    "median_filter",
    footprint_reach(),
    "Take the median of neighbours.",
    "median_filter(wr.asarray([0, 9, 1, 2, 9, 3], chunks=2), 3)",
    "array([0, 1, 2, 2, 3, 3])",
)
percentile_filter = local(
    "percentile_filter",
    footprint_reach(),
    "Take a percentile of neighbours.",
    "percentile_filter(wr.arange(6, chunks=2), 100, size=3)",
    "array([1, 2, 3, 4, 5, 5])",
)
