"""What public functions take: arrays, dtypes, chunks, axes, shapes and keys, as type checkers and readers see them.

Each function checks what it is given and says what it expected; these aliases say it before a program runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence
    from types import EllipsisType

    import numpy as np
    import numpy.typing as npt

    from .base import ArrayBase

ArrayLike: TypeAlias = "npt.ArrayLike | ArrayBase | bool | int | float"
"""A lazy array, or what NumPy makes an array of: an array, a number, nested sequences, what has `__array__`."""
DTypeLike: TypeAlias = "npt.DTypeLike | None"
"""A dtype, a type of NumPy's or Python's, or a name; None: what the operation gives."""
ChunksLike: TypeAlias = "int | str | Sequence[int | str | Sequence[int] | None] | Mapping[int, Any] | None"
"""A size for all axes, "auto", bytes as text, one of these for each axis, or the sizes of all chunks."""
AxisLike: TypeAlias = "int | Sequence[int] | None"
"""An axis, several, or all."""
ShapeLike: TypeAlias = "int | np.integer[Any] | Sequence[int] | ArrayBase | np.ndarray[Any, Any] | None"
"""A length, or one for each axis; None where a function has a shape of its own."""
KeyLike: TypeAlias = "int | slice | EllipsisType | ArrayLike | tuple[Any, ...] | None"
"""What stands between brackets: positions, slices, masks, arrays of positions, or a tuple of these."""
TableLike: TypeAlias = "ArrayLike | Mapping[str, ArrayLike]"
"""What a table is written from: an array, or the columns by their names."""
OutLike: TypeAlias = "ArrayBase | np.ndarray[Any, Any] | tuple[Any, ...] | None"
"""An array that takes the result, or a tuple of one."""
WhereLike: TypeAlias = "ArrayLike | bool"
"""Where elements count: a mask, or True for all."""
PathLike: TypeAlias = "str | os.PathLike[str]"
"""A path, or a URL."""
