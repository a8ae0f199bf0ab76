"""Filters that are sums of neighbours by weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...documents import described
from ..about import ABOUT
from .local import filter_locally, footprint_reach, line_reach, next_reach

if TYPE_CHECKING:
    from ....array import Array

__all__ = [
    "convolve",
    "convolve1d",
    "correlate",
    "correlate1d",
    "laplace",
    "prewitt",
    "sobel",
    "uniform_filter",
    "uniform_filter1d",
]

Numbers = int | Sequence[int]
FILTERED = "Lazy, in the shape and chunks of `input`; equal to what SciPy makes of the whole array."
documented = described(ABOUT, FILTERED)
weighted = footprint_reach(kernels=("weights",))


@documented
def correlate(
    input: Any,
    weights: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Numbers = 0,
    *,
    axes: Any = None,
) -> Array:
    """Correlate an array with weights.

    >>> import windrow as wr
    >>> wr.ndimage.correlate(wr.arange(5, chunks=2), [1, 0, 2]).compute()
    array([ 2,  4,  7, 10, 11])
    """
    return filter_locally("correlate", locals(), weighted)


@documented
def convolve(
    input: Any,
    weights: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Numbers = 0,
    *,
    axes: Any = None,
) -> Array:
    """Convolve an array with weights.

    >>> import windrow as wr
    >>> wr.ndimage.convolve(wr.arange(5, chunks=2), [1, 0, 2], mode="constant").compute()
    array([1, 2, 5, 8, 6])
    """
    return filter_locally("convolve", locals(), weighted)


@documented
def correlate1d(
    input: Any,
    weights: Any,
    axis: int = -1,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: int = 0,
) -> Array:
    """Correlate lines along an axis with weights.

    >>> import windrow as wr
    >>> wr.ndimage.correlate1d(wr.arange(5, chunks=2), [1, 0, 2]).compute()
    array([ 2,  4,  7, 10, 11])
    """
    return filter_locally("correlate1d", locals(), line_reach("weights"))


@documented
def convolve1d(
    input: Any,
    weights: Any,
    axis: int = -1,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: int = 0,
) -> Array:
    """Convolve lines along an axis with weights.

    >>> import windrow as wr
    >>> wr.ndimage.convolve1d(wr.arange(5, chunks=2), [1, 0, 2]).compute()
    array([ 1,  2,  5,  8, 10])
    """
    return filter_locally("convolve1d", locals(), line_reach("weights"))


@documented
def uniform_filter(
    input: Any,
    size: Numbers = 3,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Numbers = 0,
    *,
    axes: Any = None,
) -> Array:
    """Take the mean of neighbours.

    SciPy adds up along each line as it goes, so floating-point results differ by rounding from those of whole lines,
    and a NaN or infinity spoils what follows it in its chunk and margin, not in the whole line.

    >>> import windrow as wr
    >>> wr.ndimage.uniform_filter(wr.arange(6.0, chunks=3), 3).compute().round(3)
    array([0.333, 1.   , 2.   , 3.   , 4.   , 4.667])
    """
    return filter_locally("uniform_filter", locals(), footprint_reach())


@documented
def uniform_filter1d(
    input: Any,
    size: int,
    axis: int = -1,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: int = 0,
) -> Array:
    """Take the mean of neighbours along an axis; see `uniform_filter`.

    >>> import windrow as wr
    >>> wr.ndimage.uniform_filter1d(wr.arange(6, chunks=3), 3).compute()
    array([0, 1, 2, 3, 4, 4])
    """
    return filter_locally("uniform_filter1d", locals(), line_reach("size"))


@documented
def sobel(input: Any, axis: int = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0) -> Array:
    """Find edges along an axis by Sobel's filter.

    >>> import windrow as wr
    >>> wr.ndimage.sobel(wr.arange(6, chunks=3)).compute()
    array([1, 2, 2, 2, 2, 1])
    """
    return filter_locally("sobel", locals(), next_reach)


@documented
def prewitt(input: Any, axis: int = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0) -> Array:
    """Find edges along an axis by Prewitt's filter.

    >>> import windrow as wr
    >>> wr.ndimage.prewitt(wr.arange(6, chunks=3)).compute()
    array([1, 2, 2, 2, 2, 1])
    """
    return filter_locally("prewitt", locals(), next_reach)


@documented
def laplace(input: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, *, axes: Any = None) -> Array:
    """Sum the second differences along axes.

    >>> import windrow as wr
    >>> wr.ndimage.laplace(wr.arange(6, chunks=3) ** 2).compute()
    array([ 1,  2,  2,  2,  2, -9])
    """
    return filter_locally("laplace", locals(), next_reach)
