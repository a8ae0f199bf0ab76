"""What docstrings of statistics have in common."""

from __future__ import annotations

from ...workers.docstrings import Glossary
from ..docstrings import COMMON

STATISTICS = Glossary(
    """
{a}
a : array_like
    Numbers; dtypes without NaN are reduced as a whole.
{histogram_errors}
ShapeError
    There are no dimensions; `bins` or `range` hasn't an entry for each; edges decrease or aren't 1-D; a range
    isn't finite or falls; or coordinates or weights have other lengths.
DTypeError
    Coordinates or weights aren't real numbers.
""",
    COMMON,
)
