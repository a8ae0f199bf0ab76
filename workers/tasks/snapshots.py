"""Arrays as they were when a call took them, in memory that every call has for itself without a copy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..shared.segment import SharedSegment

if TYPE_CHECKING:
    from ..wire.transport import Bytes

__all__ = ["TaskSnapshot"]

Values = np.ndarray[Any, Any]


class TaskSnapshot:
    """The elements of an array, in a file without a name; it travels as an array, and is a file again elsewhere.

    Parameters
    ----------
    array : numpy.ndarray
        Not empty, and without Python objects.

    Attributes
    ----------
    kept : numpy.ndarray
        The elements, read-only; in Fortran's order where the array has it.
    """

    def __init__(self, array: Values) -> None:
        self._segment = SharedSegment.create("argument", array.nbytes)
        self.nbytes, self._dtype, self._shape = array.nbytes, array.dtype, array.shape
        self._turned = array.flags.f_contiguous and not array.flags.c_contiguous
        self.kept = self._over(self._segment.memory)
        np.copyto(self.kept, array)
        self.kept.flags.writeable = False

    def own(self) -> Values:
        """Return the array for one call, which may write into it: what it writes to is copied, page by page."""
        return self._over(self._segment.map(private=True))

    def _over(self, memory: Bytes) -> Values:
        flat = memory.view(self._dtype)
        return flat.reshape(self._shape[::-1]).T if self._turned else flat.reshape(self._shape)

    def __reduce__(self) -> tuple[Any, ...]:
        return TaskSnapshot, (self.kept,)
