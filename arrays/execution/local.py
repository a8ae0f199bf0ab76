"""The chunks of a persisted array that lie with this process's rank, as NumPy arrays in place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.arguments import check_integer
from ...graph.errors import ArgumentError, bad
from ...scheduler.session.chunk_locations import cut
from ...scheduler.session.cluster import session
from ...scheduler.session.pin import Pin
from ...workers.gangs.local_chunks import LocalChunks
from ...workers.sources import source_reader
from ..base import ArrayBase
from .compute import owners

if TYPE_CHECKING:
    from ...graph.expr.expr import Expr
    from ...scheduler.session.chunk_locations import Columns
    from ...workers.rank.rank import Rank

Values = np.ndarray[Any, Any]


class _Holding:
    """Memory that stays as long as an array refers to it: what keeps the chunks in it goes with the last of these."""

    def __init__(self, memory: Values, pin: object) -> None:
        self.__array_interface__ = memory.__array_interface__
        self._memory, self._pin = memory, pin


class LocalParts(ArrayBase):
    """The part of `Array` that tells what lies where."""

    __slots__ = ()

    def owner(self, block: Any) -> int:
        """Return which rank has a chunk of a persisted array now.

        Parameters
        ----------
        block : int or tuple of int
            The chunk's number in C order, or its index along each axis.

        Returns
        -------
        int
            The rank; -1 where none has it now.

        Raises
        ------
        ArgumentError
            There is no such chunk, or the array was not persisted.

        >>> x = wr.ones((4, 6), chunks=(2, 3)).persist()
        >>> wr.wait(x)
        >>> x.owner(3), x.owner((0, 1))
        (0, 0)
        """
        return _owner(self, block)

    @property
    def local(self) -> LocalChunks:
        """This rank's chunks of a persisted array: NumPy arrays in place, with `blocks`, `slices` and `joined()`.

        They are read-only. It waits until the array is there. In SPMD mode each rank has its own; else these are rank
        0's.
        """
        return _local_chunks(self)

    @property
    def local_slices(self) -> tuple[tuple[slice, ...], ...]:
        """Where this rank's chunks of a persisted array lie in the whole."""
        return _local_chunks(self).slices


def _local_chunks(array: ArrayBase) -> LocalChunks:
    """Return this rank's chunks of a persisted array, in the order of blocks; waits until the array is there.

    They are what lies here now. Where a rank dies its chunks are made again on others, and only a new look finds them.
    """
    root = _persisted("local", array)
    columns, rank = session().find_own(root)
    chunks, numbers = [], []
    held: dict[tuple[int, int], Values] = {}
    for task, place in columns.rows():
        if place.owner < 0:
            mine = [(b, source_reader.read(_data(root), root.grid.block_slices(b))) for b in columns.blocks(task)]
        else:
            key = (place.owner, place.source)
            if key not in held:
                held[key] = _hold(rank, columns, task, root.pin)
            mine = cut(columns, task, held[key][place.offset : place.offset + int(columns.ends(task)[-1])])
        for block, chunk in mine:
            view = chunk.view()
            view.flags.writeable = False
            chunks.append(view)
            numbers.append(block)
    return LocalChunks(chunks, root.grid, numbers, root.dtype)


def _hold(rank: Rank, columns: Columns, task: int, pin: object) -> Values:
    places = dict(columns.rows())
    memory = rank.memory(places[task])
    assert memory is not None, "what a rank has it can read"
    return np.asarray(_Holding(memory, pin))


def _data(root: Expr) -> Any:
    op: Any = root.op
    return op.data


def _owner(array: ArrayBase, block: Any) -> int:
    """Return which rank has a chunk; -1 where none has it now."""
    _persisted("owner(block)", array)
    ranks = owners(array)  # type: ignore[arg-type] # it is an Array
    if isinstance(block, tuple):
        if len(block) != ranks.ndim:
            raise ArgumentError(bad("owner", "block", block, f"an index for each of {ranks.ndim} axes"))
        at = tuple(check_integer("owner", "block", k, -n, n - 1) for k, n in zip(block, ranks.shape, strict=True))
        return int(ranks[at])
    return int(ranks.reshape(-1)[check_integer("owner", "block", block, -ranks.size, ranks.size - 1)])


def _persisted(name: str, array: ArrayBase) -> Expr:
    pin = array.expr.pin
    if not isinstance(pin, Pin) or not pin.known:
        raise ArgumentError(bad(name, "array", array, f"an array that was persisted: y = x.persist(); y.{name}"))
    return array.expr
