"""What docstrings of statistics have in common."""

from __future__ import annotations

from ...workers.docstrings import Glossary
from ..docstrings import COMMON

STATISTICS = Glossary(
    """
{a}
a : array_like
    Numbers; dtypes without NaN are reduced as a whole.
{extreme_errors}
ArgumentError
    `a` can't be read as an array; or `where` is given without `initial`.
{entry AxisError}
ShapeError
    There are no elements, and no `initial`; `where` does not broadcast to the shape of `a`; or `out` has another shape
    than the result.
DTypeError
    `a` isn't numbers, dates or times, `where` isn't bool, or the result isn't cast to the dtype of `out`.
{histogram_errors}
ShapeError
    There are no dimensions; `bins` or `range` hasn't an entry for each; edges decrease or aren't 1-D; a range
    isn't finite or falls; or coordinates or weights have other lengths.
DTypeError
    Coordinates or weights aren't real numbers.
{sum_errors}
{entry ArgumentError, AxisError}
ShapeError
    `where` doesn't broadcast, an axis is named twice, or `out` has another shape than the result.
DTypeError
    `a` isn't numbers, `dtype` is no dtype, `where` isn't bool, or the result isn't cast to the dtype of `out`.
""",
    COMMON,
)
