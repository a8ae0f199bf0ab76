"""Filters that take the least, the greatest, or any rank of neighbours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .linear import Numbers, documented
from .local import filter_locally, footprint_reach, line_reach

if TYPE_CHECKING:
    from ....array import Array

__all__ = [
    "maximum_filter",
    "maximum_filter1d",
    "median_filter",
    "minimum_filter",
    "minimum_filter1d",
    "percentile_filter",
    "rank_filter",
]


@documented
def minimum_filter(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Numbers = 0,
    *,
    axes: Any = None,
) -> Array:
    """Take the least of neighbours.

    >>> import windrow as wr
    >>> wr.ndimage.minimum_filter(wr.arange(6, chunks=2), 3).compute()
    array([0, 0, 1, 2, 3, 4])
    """
    return filter_locally("minimum_filter", locals(), footprint_reach())


@documented
def maximum_filter(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Numbers = 0,
    *,
    axes: Any = None,
) -> Array:
    """Take the greatest of neighbours.

    >>> import windrow as wr
    >>> wr.ndimage.maximum_filter(wr.arange(6, chunks=2), footprint=[1, 0, 1]).compute()
    array([1, 2, 3, 4, 5, 5])
    """
    return filter_locally("maximum_filter", locals(), footprint_reach())


@documented
def minimum_filter1d(
    input: Any, size: int, axis: int = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, origin: int = 0
) -> Array:
    """Take the least of neighbours along an axis.

    >>> import windrow as wr
    >>> wr.ndimage.minimum_filter1d(wr.arange(6, chunks=2), 3).compute()
    array([0, 0, 1, 2, 3, 4])
    """
    return filter_locally("minimum_filter1d", locals(), line_reach("size"))


@documented
def maximum_filter1d(
    input: Any, size: int, axis: int = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, origin: int = 0
) -> Array:
    """Take the greatest of neighbours along an axis.

    >>> import windrow as wr
    >>> wr.ndimage.maximum_filter1d(wr.arange(6, chunks=2), 3).compute()
    array([1, 2, 3, 4, 5, 5])
    """
    return filter_locally("maximum_filter1d", locals(), line_reach("size"))


@documented
def rank_filter(
    input: Any,
    rank: int,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Numbers = 0,
    *,
    axes: Any = None,
) -> Array:
    """Take the element of a rank among neighbours.

    >>> import windrow as wr
    >>> wr.ndimage.rank_filter(wr.arange(6, chunks=2), -2, size=3).compute()
    array([0, 1, 2, 3, 4, 5])
    """
    return filter_locally("rank_filter", locals(), footprint_reach())


@documented
def median_filter(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Numbers = 0,
    *,
    axes: Any = None,
) -> Array:
    """Take the median of neighbours.

    >>> import windrow as wr
    >>> wr.ndimage.median_filter(wr.asarray([0, 9, 1, 2, 9, 3], chunks=2), 3).compute()
    array([0, 1, 2, 2, 3, 3])
    """
    return filter_locally("median_filter", locals(), footprint_reach())


@documented
def percentile_filter(
    input: Any,
    percentile: float,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Numbers = 0,
    *,
    axes: Any = None,
) -> Array:
    """Take a percentile of neighbours.

    >>> import windrow as wr
    >>> wr.ndimage.percentile_filter(wr.arange(6, chunks=2), 100, size=3).compute()
    array([1, 2, 3, 4, 5, 5])
    """
    return filter_locally("percentile_filter", locals(), footprint_reach())
