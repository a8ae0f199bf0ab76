"""Arrays of which every rank has a copy of its own, until all become one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.arguments import check_integer
from ....graph.errors import ArgumentError, bad
from ...rank.task_context import task_context
from ..docstrings import SHARED
from .base import OneSided, check_communicator, together
from .collective_reduce import fold

if TYPE_CHECKING:
    from .local_parts import Generation

Array = np.ndarray[Any, Any]


class Replicated(OneSided):
    """An array of which every rank has a whole copy to change; `windrow.shared.replicated` makes it.

    Members of a rank program that are threads of one rank have copies of their own, too.

    Attributes
    ----------
    shape : tuple of int
        Its shape.
    dtype : numpy.dtype
        Type of its elements.
    size, nbytes : int
        Number of elements of one copy, and their bytes.
    local : numpy.ndarray
        This rank's copy, writable.

    >>> best = wr.shared.replicated(2, "f8")
    >>> best.local[:] = [3.0, 1.0]
    >>> best.to_numpy()
    array([3., 1.])
    """

    @property
    def local(self) -> Array:
        """This rank's copy, writable, to be taken anew after each `sync`; in the driver rank 0's."""
        self._held.wrote = True
        return self._find(self._now())

    def _find(self, generation: Generation) -> Array:
        number, ranks = self._own(generation), len(generation.layout.ranks)
        own_copy = generation.parts[number] if number < ranks else self._held.more[number - ranks]
        return own_copy.reshape(self.shape)

    def _own(self, generation: Generation) -> int:
        """Return the number of the own copy; where members share a rank, see to it that each has one."""
        held, ranks = self._held, len(generation.layout.ranks)
        own = held.own_part(generation)
        if task_context().members > 1:
            with held.site.changed:
                while len(held.more) < task_context().members - 1:
                    held.more.append(generation.parts[own].copy())
        return own if task_context().member == 0 else ranks + task_context().member - 1

    def to_numpy(self) -> Array:
        """Return what this rank's copy holds.

        Returns
        -------
        numpy.ndarray
            With the array's shape, one's own.

        >>> wr.shared.replicated(2, "f8").to_numpy()
        array([0., 0.])
        """
        return self._whole()

    def _whole(self) -> Array:
        return self._find(self._now()).copy()

    def reduce_sum(self, comm: Any = None) -> None:
        """Make all copies their sum, element by element, in the order of ranks: the same bits each time.

        {together}

        >>> r = wr.shared.replicated(2, "i8")
        >>> def count(comm):
        ...     r.local[:] = comm.rank + 1, 10
        ...     r.reduce_sum(comm)
        ...     return r.local.tolist()
        >>> wr.spmd(count, members=2)
        [[3, 20], [3, 20]]
        """
        self._fold("reduce_sum", "sum", comm)

    def reduce_min(self, comm: Any = None) -> None:
        """Make all copies their least, element by element.

        {together}

        >>> r = wr.shared.replicated(2, "i8")
        >>> def work(comm):
        ...     r.local[:] = comm.rank
        ...     r.reduce_min(comm)
        ...     return r.local.tolist()
        >>> wr.spmd(work, members=2)
        [[0, 0], [0, 0]]
        """
        self._fold("reduce_min", "min", comm)

    def reduce_max(self, comm: Any = None) -> None:
        """Make all copies their greatest, element by element.

        {together}

        >>> r = wr.shared.replicated(2, "i8")
        >>> def work(comm):
        ...     r.local[:] = comm.rank
        ...     r.reduce_max(comm)
        ...     return r.local.tolist()
        >>> wr.spmd(work, members=2)
        [[1, 1], [1, 1]]
        """
        self._fold("reduce_max", "max", comm)

    def bcast(self, root: int = 0, comm: Any = None) -> None:
        """Make all copies the same as one.

        Parameters
        ----------
        root : int
            Whose: a member of `comm`, or without it a rank.
        comm : communicator, optional
            In a rank program the one that it was given: all members call it together. Elsewhere None.

        Raises
        ------
        ArgumentError
            There is no such member, or rank; it is called in a function of blocks, or in a rank program without `comm`.
        ClusterError
            A rank was lost meanwhile.

        >>> r = wr.shared.replicated(2, "f8")
        >>> r.local[:] = 5
        >>> r.bcast()
        >>> wr.spmd(lambda comm: r.local.tolist(), members=2)
        [[5.0, 5.0], [5.0, 5.0]]
        """
        check_communicator("bcast", comm)
        if comm is not None:
            root = check_integer("bcast", "root", root, 0, comm.size - 1)
            self._fold("bcast", int(comm.bcast(self._own(self._now()), root=root)), comm)
            return
        root = check_integer("bcast", "root", root, 0)
        ranks = self._now().layout.ranks
        if root not in ranks:
            raise ArgumentError(bad("bcast", "root", root, f"one of the ranks {', '.join(map(str, ranks))}"))
        self._fold("bcast", ranks.index(root), None)

    def _fold(self, operation: str, what: str | int, comm: Any) -> None:
        check_communicator(operation, comm)
        self._held.wrote = True
        if comm is None:
            together(operation, [self], None, what)
            return
        generation = self._now()
        self._own(generation)
        comm.Barrier()
        fold(self._held, generation, what, comm.rank, comm.size)
        comm.Barrier()

    def __repr__(self) -> str:
        return f"<replicated array: shape {self.shape}, {self.dtype}>"


SHARED.fill(__name__)
