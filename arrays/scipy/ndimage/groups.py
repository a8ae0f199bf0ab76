"""Measuring elements that share a label: each block measures its own, then groups are put together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.chunks.grid import Axis, Grid
from ....graph.errors import ArgumentError, DTypeError, bad
from ....graph.kinds.mapping import BlockFunction
from ....workers.kernels.blocks.statistics.measures import LabelGroups
from ...base import as_array, broadcast_shape, make
from ...chunking.rechunk import common_axes, regrid
from ...ops.moves.broadcasting import broadcast_to
from ..bridge import numbers

if TYPE_CHECKING:
    from ...array import Array
    from ...typing import ArrayLike, DTypeLike

PART = 1 << 20
"""About so many parts of groups are put together by one task."""


class Measured:
    """Elements with their labels, and the groups whose measures are asked for."""

    def __init__(self, name: str, input: ArrayLike, labels: ArrayLike | None, index: Any, kinds: str = "biuf") -> None:
        self.name, self.x = name, numbers(name, "input", input, kinds)
        self.labels: Array | None = None if labels is None else as_array(name, "labels", labels)
        self.shape: tuple[int, ...] = ()
        self.single = labels is None or index is None or np.ndim(index) == 0
        kind, wanted = "all", np.zeros(1)
        if self.labels is not None:
            self._match(self.labels)
            kind, wanted = ("positive", wanted) if index is None else self._read(index)
        sorted_ones, self.places = np.unique(wanted, return_inverse=True)
        self.groups = LabelGroups(kind, sorted_ones, self.x.expr.grid)

    def _match(self, labels: Array) -> None:
        if labels.dtype.kind not in "biuf":
            raise DTypeError(bad(self.name, "labels", labels.dtype, "real numbers"))
        shape = broadcast_shape(self.name, self.x.shape, labels.shape)
        x, labels = broadcast_to(self.x, shape), broadcast_to(labels, shape)
        grid = Grid(common_axes([x, labels], shape))
        self.x, self.labels = regrid(x, grid), regrid(labels, grid)

    def _read(self, index: ArrayLike | None) -> tuple[str, np.ndarray[Any, Any]]:
        labels = np.asarray(index)
        if labels.dtype.kind not in "biuf" and labels.size:
            raise DTypeError(bad(self.name, "index", labels.dtype, "labels, as numbers"))
        self.shape = labels.shape
        return ("one" if labels.ndim == 0 else "each"), labels.reshape(-1)

    def measure(
        self,
        function: str,
        how: str,
        dtype: DTypeLike,
        params: tuple[Any, ...] = (),
        *,
        more: tuple[int, ...] = (),
        first: Array | None = None,
        where: bool = False,
    ) -> Array:
        """Return an array with an entry for each group: what blocks measure, put together.

        `more` are lengths of further axes; `first` is an operand that each block gets before the elements.
        """
        x, ndim, count = self.x, self.x.ndim, self.groups.count
        operands = [x] if self.labels is None else [x, self.labels]
        own: tuple[tuple[int | None, ...], ...] = (tuple(range(ndim)),) * len(operands)
        if first is not None:
            operands, own = [regrid(first, Grid.single(first.shape)), *operands], ((None,) * first.ndim, *own)
        blocks = [Axis.regular(n, 1) for n in x.numblocks]
        tail = [Axis.whole(n) for n in more]
        op = BlockFunction(f"statistics.measures:{function}", (self.groups, *params), own, where=where)
        parts = make(op, operands, Grid([*blocks, Axis.whole(count), *tail]), dtype)
        nblocks = x.npartitions
        axis = Axis.regular(count, max(1, min(count, PART // max(1, nblocks))))
        parts = regrid(parts, Grid([*(Axis.whole(n) for n in x.numblocks), axis, *tail]))
        places = ((None,) * ndim + (0, *range(1, 1 + len(tail))),)
        return make(
            BlockFunction("statistics.measures:put_together", (ndim, how), places),
            (parts,),
            Grid([axis, *tail]),
            parts.dtype,
        )

    def field(self, found: Array, name: str, *, some: bool = False) -> Array:
        """Return a field for each group; `some`: a single group must have elements."""
        dtype = found.dtype[name]
        if some and self.single:
            return make(BlockFunction("statistics.measures:check", (self.name, name)), (found,), found.expr.grid, dtype)
        return make(BlockFunction("statistics.measures:field", (name,)), (found,), found.expr.grid, dtype)

    def answer(self, found: Array) -> Array:
        """Return what was measured in the shape of what was asked for."""
        if self.single:
            answer: Array = found[0]
            return answer
        answer = found[self.places.reshape(-1)]
        return answer.reshape((*self.shape, *found.shape[1:]))


def refuse_index(name: str, labels: ArrayLike | None, index: ArrayLike | None) -> None:
    """Raise where there is an index without labels."""
    if labels is None and index is not None:
        raise ArgumentError(bad(name, "labels", labels, "labels, since there is an index"))
