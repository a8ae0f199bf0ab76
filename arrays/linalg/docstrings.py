"""What docstrings of linear algebra have in common."""

from __future__ import annotations

from ...workers.docstrings import Glossary
from ..docstrings import COMMON

LINALG = Glossary(
    """
{square}
a : array_like (..., M, M)
    Matrices of float32, float64, complex64 or complex128; integers and bool are computed as float64.
{DTypeError}
DTypeError
    The matrices have another dtype than float32, float64, complex64, complex128, integers and bool.
{ShapeError}
ShapeError
    The matrices aren't square.
""",
    COMMON,
)
