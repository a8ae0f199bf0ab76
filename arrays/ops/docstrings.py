"""Parts that docstrings of operations share."""

from __future__ import annotations

from ...workers.docstrings import Glossary
from ..docstrings import COMMON

OPS = Glossary(
    """
{casting}
casting : str
    NumPy's rule for casting to `dtype`: "no", "equiv", "safe", "same_kind" or "unsafe".
{dtype}
dtype : dtype, optional
    Of the result; None: to which the arrays' dtypes promote.
{method}
method : {"sequential", "blelloch"}
    Accepted for dask; both give the same.
{ShapeError}
ShapeError
    `out` doesn't have the result's shape.
{spread_errors}
ArgumentError
    `a` can't be read as an array; `ddof` isn't a number, or is given with `correction`; `keepdims` isn't True or False;
    or `out` isn't an array.
{entry AxisError}
ShapeError
    `where` or `mean` doesn't broadcast to the shape of `a`, an axis is named twice, or `out` has another shape than the
    result.
DTypeError
    `a` isn't numbers or bool, `dtype` isn't of numbers, `where` isn't bool, or the result isn't cast to the dtype of
    `out`.
{truth_errors}
ArgumentError
    `a` can't be read as an array; `keepdims` isn't True or False; or `out` isn't an array.
{entry AxisError}
ShapeError
    `where` doesn't broadcast, an axis is named twice, or `out` has another shape than the result.
DTypeError
    `where` isn't bool, or the result isn't cast to the dtype of `out`.
""",
    COMMON,
)
