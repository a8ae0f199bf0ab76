"""What docstrings of new arrays have in common."""

from __future__ import annotations

from ...workers.docstrings import Glossary
from ..docstrings import COMMON

CREATION = Glossary(
    """
{chunks_of_a}
chunks : int, str, tuple, dict or None
    Chunks of the result; None: those of `a`, or "auto" with another shape.
{dtype}
dtype : dtype, optional
    Of the result; None: float64.
{dtype_of_a}
dtype : dtype, optional
    Of the result; None: that of `a`.
{order}
order : str
    Accepted for NumPy and ignored: chunks are in C order.
{order_subok}
order, subok : str, bool
    Accepted for NumPy and ignored.
{shape}
shape : int or tuple of int
    Length of each axis.
{shape_of_a}
shape : int or tuple of int, optional
    Of the result; None: that of `a`.
{DTypeError}
DTypeError
    `dtype` is not a NumPy dtype, or one of Python objects.
{shape_errors}
ArgumentError
    `shape` is not an integer or a tuple of integers. `device` is neither None nor "cpu".
ShapeError
    `shape` has a negative length, or 2**63 elements or more.
{entry DTypeError, ChunksError}
""",
    COMMON,
)
