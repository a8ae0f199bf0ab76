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
""",
    COMMON,
)
