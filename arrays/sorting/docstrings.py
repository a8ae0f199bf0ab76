"""What docstrings of sorting, selecting and searching have in common."""

from __future__ import annotations

from ...workers.docstrings import Glossary
from ..docstrings import COMMON

SORTING = Glossary(
    """
{method}
method : str
    How to choose where elements surround a quantile: inverted_cdf, averaged_inverted_cdf, closest_observation,
    interpolated_inverted_cdf, hazen, weibull, linear, median_unbiased, normal_unbiased, lower, higher,
    midpoint, nearest.
{overwrite_input}
overwrite_input : bool
    As in NumPy; nothing is overwritten.
{weights}
weights : array_like, optional
    How much each element counts, or each position along the one axis, for `method="inverted_cdf"` alone; None:
    all alike. The axes are brought into one chunk then.
{nan_quantile_errors}
{entry AxisError}
ShapeError
    `weights` has neither the shape of `a` nor the length of the one axis, or the result doesn't broadcast to
    `out`.
DTypeError
    `a` isn't real numbers, dates or times, or the result isn't cast to the dtype of `out`.
{quantile_errors}
{entry AxisError}
ShapeError
    There are no elements along the axes; `weights` has neither the shape of `a` nor the length of the one axis,
    or the result doesn't broadcast to `out`.
DTypeError
    `a` isn't real numbers, dates or times, or the result isn't cast to the dtype of `out`.
{set_errors}
ArgumentError
    `ar1` or `ar2` can't be read as an array.
DTypeError
    The elements can't be compared, such as dates and numbers.
{sort_errors}
ArgumentError
    `a` can't be read as an array; `axis`, `kind`, `order` or `descending` isn't what it may be.
{entry AxisError}
DTypeError
    `a` has a dtype without an order, or holds Python objects.
{exact}
Exact, unlike dask's. A long axis, or the whole of a large array, is searched in a few passes and not sorted; if
there are more than 32 such axes side by side, each is brought into one chunk.
""",
    COMMON,
)
