"""What a program learns of a message that it has received or looked at."""

from __future__ import annotations

from typing import Any

from ..values import is_initialized, mpi, numpy_type, values


class Status:
    """mpi4py's `Status`, for programs that do without mpi4py; theirs is filled as well."""

    def __init__(self) -> None:
        constants = values()
        self.source = constants.any_source
        self.tag = constants.any_tag
        self.error = 0
        self.nbytes = 0

    @property
    def count(self) -> int:
        """The number of bytes."""
        return self.nbytes

    def Get_source(self) -> int:
        """Return who has sent it."""
        return self.source

    def Get_tag(self) -> int:
        """Return its tag."""
        return self.tag

    def Get_error(self) -> int:
        """Return 0: errors are raised."""
        return self.error

    def Get_count(self, datatype: Any = "B") -> int:
        """Return the number of elements of a type."""
        dtype = numpy_type(datatype)
        size = datatype.Get_size() if dtype is None else dtype.itemsize
        return self.nbytes // size if size and self.nbytes % size == 0 else values().undefined

    Get_elements = Get_count

    def Is_cancelled(self) -> bool:
        """Return False: messages can't be cancelled."""
        return False


def fill(status: Any, source: int, tag: int, nbytes: int) -> None:
    """Tell a status, ours or mpi4py's, of a message."""
    if status is None:
        return
    status.source = source
    status.tag = tag
    if isinstance(status, Status):
        status.nbytes = nbytes
    elif is_initialized():
        status.Set_elements(mpi().BYTE, nbytes)  # type: ignore[union-attr]
