"""Measurements of elements that share a label."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ....graph.arguments import check_integer
from ....graph.chunks.grid import Axis, Grid
from ....graph.errors import ArgumentError, bad
from ....graph.kinds.mapping import BlockFunction
from ....workers.kernels.blocks.statistics.measures import record
from ...base import make
from ...ops.elementwise.ufuncs import sqrt
from ..documents import described
from .groups import Measured, refuse_index

if TYPE_CHECKING:
    from ...array import Array
    from ...typing import ArrayLike

EACH = "Lazy: a value for each label of `index`, in its shape; 0-d without a sequence of labels."
PLACES = "Lazy: places along a last axis, for each label of `index`; of equal elements the first counts."
ABOUT = {
    "input": "array_like: The elements, real numbers.",
    "labels": "array_like, optional: A label for each element, in the shape of `input`; None: all have the same.",
    "index": "int or sequence of int, optional: Labels that are measured; None: all elements whose label isn't 0.",
}
measured = described(ABOUT, EACH)
placed = described(ABOUT, PLACES)


@measured
def sum_labels(input: ArrayLike, labels: ArrayLike | None = None, index: ArrayLike | None = None) -> Array:
    """Sum elements by their labels.

    >>> import windrow as wr
    >>> wr.ndimage.sum_labels(wr.arange(5, chunks=2), [1, 1, 2, 2, 2], [1, 2, 3]).compute()
    array([1., 9., 0.])
    """
    return _sum(Measured("sum_labels", input, labels, index, "biufc"))[1]


@measured
def sum(input: ArrayLike, labels: ArrayLike | None = None, index: ArrayLike | None = None) -> Array:
    """Sum elements by their labels; see `sum_labels`.

    >>> import windrow as wr
    >>> wr.ndimage.sum(wr.arange(5, chunks=2), [1, 1, 2, 2, 2], 2).compute()
    np.int64(9)
    """
    return _sum(Measured("sum", input, labels, index, "biufc"))[1]


@measured
def mean(input: ArrayLike, labels: ArrayLike | None = None, index: ArrayLike | None = None) -> Array:
    """Return means of elements by their labels; NaN for a label that no element has.

    >>> import windrow as wr
    >>> wr.ndimage.mean(wr.arange(5, chunks=2), [1, 1, 2, 2, 2], [1, 2]).compute()
    array([0.5, 3. ])
    """
    count, total = _sum(Measured("mean", input, labels, index, "biufc"))
    return _divide(total, count)


@measured
def variance(input: ArrayLike, labels: ArrayLike | None = None, index: ArrayLike | None = None) -> Array:
    """Return variances of elements by their labels.

    >>> import windrow as wr
    >>> wr.ndimage.variance(wr.arange(5, chunks=2), [1, 1, 2, 2, 2], [1, 2]).compute().round(3)
    array([0.25 , 0.667])
    """
    return _variance(Measured("variance", input, labels, index))


@measured
def standard_deviation(input: ArrayLike, labels: ArrayLike | None = None, index: ArrayLike | None = None) -> Array:
    """Return standard deviations of elements by their labels.

    >>> import windrow as wr
    >>> wr.ndimage.standard_deviation(wr.arange(5, chunks=2), [1, 1, 2, 2, 2], [1, 2]).compute().round(3)
    array([0.5  , 0.816])
    """
    deviations: Array = sqrt(_variance(Measured("standard_deviation", input, labels, index)))
    return deviations


@measured
def minimum(input: ArrayLike, labels: ArrayLike | None = None, index: ArrayLike | None = None) -> Array:
    """Return the least of elements by their labels; 0 for a label in a sequence that no element has.

    >>> import windrow as wr
    >>> wr.ndimage.minimum(wr.arange(5, chunks=2), [1, 1, 2, 2, 2], [1, 2]).compute()
    array([0, 2])
    """
    return _extreme("minimum", input, labels, index)[0]


@measured
def maximum(input: ArrayLike, labels: ArrayLike | None = None, index: ArrayLike | None = None) -> Array:
    """Return the greatest of elements by their labels; 0 for a label in a sequence that no element has.

    >>> import windrow as wr
    >>> wr.ndimage.maximum(wr.arange(5, chunks=2), [1, 1, 2, 2, 2], [1, 2]).compute()
    array([1, 4])
    """
    return _extreme("maximum", input, labels, index)[1]


@placed
def minimum_position(input: ArrayLike, labels: ArrayLike | None = None, index: ArrayLike | None = None) -> Array:
    """Return where the least of elements are, by their labels.

    >>> import windrow as wr
    >>> wr.ndimage.minimum_position(wr.arange(4, chunks=2).reshape(2, 2), [[1, 2], [2, 1]], [1, 2]).compute()
    array([[0, 0],
           [0, 1]])
    """
    return _extreme("minimum_position", input, labels, index)[2]


@placed
def maximum_position(input: ArrayLike, labels: ArrayLike | None = None, index: ArrayLike | None = None) -> Array:
    """Return where the greatest of elements are, by their labels.

    >>> import windrow as wr
    >>> wr.ndimage.maximum_position(wr.arange(4, chunks=2).reshape(2, 2)).compute()
    array([1, 1])
    """
    return _extreme("maximum_position", input, labels, index)[3]


@described(ABOUT, "Least and greatest elements, and their places; see `minimum_position`.", "tuple of Array")
def extrema(
    input: ArrayLike, labels: ArrayLike | None = None, index: ArrayLike | None = None
) -> tuple[Array, Array, Array, Array]:
    """Return the least and the greatest of elements by their labels, and where they are.

    >>> import windrow as wr
    >>> least, greatest, _, at = wr.ndimage.extrema(wr.arange(5, chunks=2) % 4)
    >>> wr.compute(least, greatest, at)
    (np.int64(0), np.int64(3), array([3]))
    """
    return _extreme("extrema", input, labels, index)


@placed
def center_of_mass(input: ArrayLike, labels: ArrayLike | None = None, index: ArrayLike | None = None) -> Array:
    """Return means of places, weighted by the elements, by their labels.

    >>> import windrow as wr
    >>> wr.ndimage.center_of_mass(wr.ones((2, 3), chunks=2)).compute()
    array([0.5, 1. ])
    """
    measured = Measured("center_of_mass", input, labels, index)
    ndim = measured.x.ndim
    moments = measured.answer(measured.measure("moments", "sum", float, more=(ndim + 1,), where=True))
    return _divide(moments[..., 1:], moments[..., :1])


@described(ABOUT, "Lazy, int64: counts along a last axis, for each label of `index`.", module="ndimage")
def histogram(
    input: ArrayLike, min: float, max: float, bins: int, labels: ArrayLike | None = None, index: ArrayLike | None = None
) -> Array:
    """Count elements in bins of one width, by their labels.

    >>> import windrow as wr
    >>> wr.ndimage.histogram(wr.arange(5, chunks=2), 0, 4, 2, [1, 1, 2, 2, 2], [1, 2]).compute()
    array([[2, 0],
           [0, 3]])
    """
    refuse_index("histogram", labels, index)
    count = check_integer("histogram", "bins", bins, 1)
    if not min <= max:
        raise ArgumentError(bad("histogram", "min", min, f"at most max, {max!r}"))
    measured = Measured("histogram", input, labels, index)
    edges = np.linspace(min, max, count + 1)
    return measured.answer(measured.measure("histogram", "sum", np.int64, (edges,), more=(count,)))


def _sum(given: Measured) -> tuple[Array, Array]:
    """Return the number of elements, and their sum."""
    dtype = np.zeros(1, given.x.dtype).sum().dtype if given.single else np.dtype(float)
    if not given.single and given.x.dtype.kind == "c":
        raise ArgumentError(bad(given.name, "input", given.x.dtype, "real numbers where there are several labels"))
    both = given.measure("sums", "sums", np.dtype([("n", np.int64), ("sum", dtype)]), (dtype.str,))
    return given.answer(given.field(both, "n")), given.answer(given.field(both, "sum"))


def _divide(a: Array, b: Array) -> Array:
    quotient: Array = a / b.astype(float)
    return quotient


def _variance(given: Measured) -> Array:
    dtype = np.zeros(1, given.x.dtype).sum().dtype if given.single else np.dtype(float)
    both = given.measure("sums", "sums", np.dtype([("n", np.int64), ("sum", dtype)]), (dtype.str,))
    counts, totals = given.field(both, "n"), given.field(both, "sum")
    kept = np.result_type(given.x.dtype, np.float32) if given.x.dtype.kind == "f" and given.single else np.dtype(float)
    off = given.measure("squares", "sum", kept, (kept.str,), first=_divide(totals, counts))
    return given.answer(_divide(off, counts))


def _extreme(
    name: str, input: ArrayLike, labels: ArrayLike | None, index: ArrayLike | None
) -> tuple[Array, Array, Array, Array]:
    """Return the least and the greatest elements, and their places."""
    measured = Measured(name, input, labels, index)
    how = "spread" if measured.single else "last"
    extremes = measured.measure("extremes", how, record(measured.x.dtype), where=True)
    least, greatest = (measured.field(extremes, n, some=True) for n in ("least", "greatest"))
    at = [_unravel(measured, measured.field(extremes, n, some=True)) for n in ("least_at", "greatest_at")]
    return measured.answer(least), measured.answer(greatest), measured.answer(at[0]), measured.answer(at[1])


def _unravel(given: Measured, at: Array) -> Array:
    grid = Grid([*at.expr.grid.axes, Axis.whole(given.x.ndim)])
    return make(BlockFunction("statistics.measures:unravel", (given.x.shape,), ((0,),)), (at,), grid, np.int64)
