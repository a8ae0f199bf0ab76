"""What arrays that all ranks read and write have in common, as users see them."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np

from ....graph.errors import ArgumentError, bad
from ...rank.task_context import task_context
from ...wire.one_sided_messages import ReduceCopies, SyncArrays
from ...wire.rpc import LIMIT
from ..pickled_by_name import note_use
from .local_parts import LocalArray, Undone
from .site import held

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from .local_parts import Generation

Array = np.ndarray[Any, Any]
Kind = TypeVar("Kind")


class OneSided:
    """An array outside lineage; it pickles as a name."""

    _held: LocalArray

    @classmethod
    def _of(cls, token: bytes) -> Self:
        """Return an array that this process holds."""
        array = cls()
        array._held = held(token)
        array._prepare()
        return array

    def _prepare(self) -> None:
        """Find once what each call needs."""

    def __reduce__(self) -> tuple[Any, ...]:
        note_use(self)
        return type(self)._of, (self._held.spec.token,)

    @property
    def shape(self) -> tuple[int, ...]:
        """Its shape."""
        return self._held.spec.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of its elements."""
        return self._held.spec.dtype

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return self._held.spec.size

    @property
    def nbytes(self) -> int:
        """Bytes of all elements, once."""
        return self._held.spec.nbytes

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of an array without axes")
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if copy is False:
            raise ValueError("a copy is made in any case: the elements lie on several ranks")
        return self._whole().astype(self.dtype if dtype is None else dtype, copy=False)

    def _whole(self) -> Array:
        """Return the elements, copied now."""
        raise NotImplementedError

    def sync(self, comm: Any = None) -> None:
        """Keep all elements as they are now: after a rank's death the array is as it was then.

        Parameters
        ----------
        comm : communicator, optional
            In a rank program the one that it was given: all members call it together, and what each has done before is
            kept. Elsewhere None: call it between computations that write.

        Raises
        ------
        ClusterError
            A death has undone what was written since the last time. The array is as it was then; write again.
        ArgumentError
            It is called in a function of blocks, or in a rank program without `comm`.

        >>> c = wr.shared.symmetric(4, "i8")
        >>> c.add(0, 5)
        >>> c.sync()
        """
        together("sync", [self], comm)

    def _read(self, read: Callable[[Generation], Kind]) -> Kind:
        """Return what is read; the driver reads again where a rank was lost meanwhile."""
        deadline = time.monotonic() + LIMIT
        while True:
            generation = self._now()
            try:
                return read(generation)
            except Undone:
                if task_context().epoch != math.inf or time.monotonic() > deadline:
                    raise
                time.sleep(0.002)  # until the array isn't taken for what it was any more

    def _now(self) -> Generation:
        """Return the memory that counts for what this thread computes."""
        generation = self._held.generation
        return generation if generation.live and task_context().epoch >= generation.number else self._held.bound()


def _do(_what: str, _about: Iterable[Any], act: Callable[[], Any]) -> Any:
    return act()


once: list[Any] = [_do]
"""How something is done once for all who run the script: `once[0](what, about, act)`, as `Session.once`."""


def check_communicator(operation: str, comm: Any) -> None:
    """Raise for what is neither None nor a communicator."""
    if comm is not None and not hasattr(comm, "Barrier"):
        raise ArgumentError(bad(operation, "comm", comm, "the communicator that a rank program was given, or None"))


def together(operation: str, arrays: Sequence[OneSided], comm: Any, how: str | int | None = None) -> None:
    """Have the driver keep arrays, or make the copies of one the same; with a communicator, when all members have come.

    `how` these become the same `fold` says. In SPMD mode scripts come to it together without a communicator, too: it is
    done once for all.
    """
    if comm is None and task_context().epoch != math.inf:
        raise ArgumentError(
            bad(operation, "comm", None, "the communicator, in a rank program; in functions of blocks it can't be")
        )
    check_communicator(operation, comm)
    tokens = tuple(array._held.spec.token for array in arrays)

    def ask() -> None:
        generations = [array._now() for array in arrays]
        began = None if comm is None else generations[0].number
        limit = 60 + sum(array.nbytes * len(g.layout.ranks) for array, g in zip(arrays, generations, strict=True)) / 1e8
        message = SyncArrays(tokens, began) if how is None else ReduceCopies(tokens[0], how)
        arrays[0]._held.site.calls.ask(0, message, limit)

    if comm is None:
        once[0](operation, (*tokens, how), ask)
        return
    comm.Barrier()
    if comm.rank == 0:
        ask()
    comm.Barrier()
