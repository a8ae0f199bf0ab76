"""Morphology of arrays of grey values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .linear import Numbers, documented
from .local import filter_locally, footprint_reach

if TYPE_CHECKING:
    from ....array import Array

__all__ = [
    "black_tophat",
    "grey_closing",
    "grey_dilation",
    "grey_erosion",
    "grey_opening",
    "morphological_gradient",
    "morphological_laplace",
    "white_tophat",
]


@documented
def grey_erosion(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    structure: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Numbers = 0,
    *,
    axes: Any = None,
) -> Array:
    """Erode: take the least of neighbours, the structuring element subtracted.

    >>> import windrow as wr
    >>> wr.ndimage.grey_erosion(wr.arange(6, chunks=2), size=3).compute()
    array([0, 0, 1, 2, 3, 4])
    """
    return filter_locally("grey_erosion", locals(), footprint_reach())


@documented
def grey_dilation(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    structure: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Numbers = 0,
    *,
    axes: Any = None,
) -> Array:
    """Dilate: take the greatest of neighbours, the structuring element added.

    >>> import windrow as wr
    >>> wr.ndimage.grey_dilation(wr.arange(6, chunks=2), size=3).compute()
    array([1, 2, 3, 4, 5, 5])
    """
    return filter_locally("grey_dilation", locals(), footprint_reach())


@documented
def grey_opening(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    structure: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Numbers = 0,
    *,
    axes: Any = None,
) -> Array:
    """Erode, then dilate.

    >>> import windrow as wr
    >>> wr.ndimage.grey_opening(wr.asarray([0, 5, 0, 3, 3, 3], chunks=2), size=3).compute()
    array([0, 0, 0, 3, 3, 3])
    """
    return filter_locally("grey_opening", locals(), footprint_reach(2))


@documented
def grey_closing(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    structure: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Numbers = 0,
    *,
    axes: Any = None,
) -> Array:
    """Dilate, then erode.

    >>> import windrow as wr
    >>> wr.ndimage.grey_closing(wr.asarray([5, 0, 5, 3, 3, 3], chunks=2), size=3).compute()
    array([5, 5, 5, 3, 3, 3])
    """
    return filter_locally("grey_closing", locals(), footprint_reach(2))


@documented
def morphological_gradient(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    structure: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Numbers = 0,
    *,
    axes: Any = None,
) -> Array:
    """Subtract the eroded array from the dilated one.

    >>> import windrow as wr
    >>> wr.ndimage.morphological_gradient(wr.arange(6, chunks=2), size=3).compute()
    array([1, 2, 2, 2, 2, 1])
    """
    return filter_locally("morphological_gradient", locals(), footprint_reach())


@documented
def morphological_laplace(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    structure: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Numbers = 0,
    *,
    axes: Any = None,
) -> Array:
    """Add the dilated and the eroded array, and subtract the array twice.

    >>> import windrow as wr
    >>> wr.ndimage.morphological_laplace(wr.arange(6, chunks=2) ** 2, size=3).compute()
    array([ 1,  2,  2,  2,  2, -9])
    """
    return filter_locally("morphological_laplace", locals(), footprint_reach())


@documented
def white_tophat(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    structure: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Numbers = 0,
    *,
    axes: Any = None,
) -> Array:
    """Subtract the opened array: what is bright and small stays.

    >>> import windrow as wr
    >>> wr.ndimage.white_tophat(wr.asarray([0, 5, 0, 3, 3, 3], chunks=2), size=3).compute()
    array([0, 5, 0, 0, 0, 0])
    """
    return filter_locally("white_tophat", locals(), footprint_reach(2))


@documented
def black_tophat(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    structure: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Numbers = 0,
    *,
    axes: Any = None,
) -> Array:
    """Subtract the array from the closed one: what is dark and small stays.

    >>> import windrow as wr
    >>> wr.ndimage.black_tophat(wr.asarray([5, 0, 5, 3, 3, 3], chunks=2), size=3).compute()
    array([0, 5, 0, 0, 0, 0])
    """
    return filter_locally("black_tophat", locals(), footprint_reach(2))
