"""Products of blocks, added up in order.

Blocks that are long along the one summed axis and narrow else are multiplied in panels. Whatever way a panel came, the
left one lies summed axis first and goes in as its transpose, the right one too and as it is: so tables of many rows
aren't copied, and the bits tell nothing of where the operands lay.
"""

from __future__ import annotations

import math
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from .buffers import Buffers
from .compiled.fixed.transposing import copy_tile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ...graph.kinds.contraction import Contract

Array = np.ndarray[Any, Any]
PANEL = 1 << 19
"""Elements of both operands that are multiplied at once, where these are narrow."""
NARROW = 1 << 9
"""Rows and columns of the result, together, up to which operands are narrow."""
LARGE = 64
"""Rows and columns, each, from which on a block is read where it lies."""
UNLOCKED = 512
"""Elements of a result from which on `np.matmul` lets go of Python's lock; `np.dot` always does."""
_products = Buffers(1 << 26)


class Block(Protocol):
    """A block of an operand, of which parts along an axis can be had in order."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The whole block's shape."""
        ...

    def whole(self) -> Array: ...

    def part(self, axis: int, begin: int, end: int) -> Array:
        """Return a part along an axis; it is valid until the next is asked for."""
        ...


class Lying:
    """A block that lies in memory."""

    def __init__(self, array: Array) -> None:
        self._array = array

    @property
    def shape(self) -> tuple[int, ...]:
        shape: tuple[int, ...] = self._array.shape
        return shape

    def whole(self) -> Array:
        return self._array

    def part(self, axis: int, begin: int, end: int) -> Array:
        return self._array[(slice(None),) * axis + (slice(begin, end),)]


def contract(op: Contract, pairs: Iterable[tuple[Block, Block]], out: Array) -> None:
    """Compute `out = sum of left * right` over pairs of blocks; each operand is brought to one layout first."""
    order, along, across, behind = _layouts(op)
    plain = order == op.out and out.flags.c_contiguous
    total = np.empty((0, 0, 0), out.dtype)
    is_own = len(op.out) == len(op.left) == len(op.right) == 2 and across.is_matrix != behind.is_matrix
    number = -1
    for number, (left, right, narrow) in enumerate(panel for pair in pairs for panel in _panels(op, *pair)):
        if is_own and left is right and min(left.shape) >= LARGE:  # BLAS makes half of it, to the other half's bits
            a = across.bring(left) if across.is_matrix else behind.bring(left).transpose(0, 2, 1)
            b = a.transpose(0, 2, 1)
        else:
            b = behind.bring(right)
            a = along.bring(left).transpose(0, 2, 1) if narrow else across.bring(left)
        if narrow and np.may_share_memory(a, b):  # NumPy has another kernel for a matrix by its own transpose
            own = _products.lend("right", b.shape, b.dtype)
            np.copyto(own, b)
            b = own
        shape = (a.shape[0], a.shape[1], b.shape[2])
        if number == 0:
            total = out.reshape(shape) if plain else np.empty(shape, out.dtype)
            _product(a, b, total)()
        else:
            scratch = _products.lend("product", shape, out.dtype)
            _product(a, b, scratch)()
            np.add(total, scratch, out=total)
    if number < 0:
        out.fill(0)
    elif not plain:
        sizes = dict(zip(op.out, out.shape, strict=True))
        product = total.reshape([sizes[label] for label in order])
        np.copyto(out, product.transpose([order.index(label) for label in op.out]))


def find_product(op: Contract, left: Array, right: Array, out: Array) -> Callable[[], object] | None:
    """Return the one call of NumPy's that `contract` makes for blocks in order; None where it makes others."""
    order, _, across, behind = _layouts(op)
    if order != op.out or not out.flags.c_contiguous or left is right or _panel_step(op, left, right) is not None:
        return None
    a, b = across.see(left), behind.see(right)
    return None if a is None or b is None else _product(a, b, out.reshape(a.shape[0], a.shape[1], b.shape[2]))


@lru_cache(maxsize=256)
def _layouts(op: Contract) -> tuple[tuple[int, ...], _Layout, _Layout, _Layout]:
    """Return the labels of the result as a product has them, and how operands are brought to order.

    That are the left one's ways, summed axes before its rows and behind them, and the right one's.
    """
    batch = [label for label in op.out if label in op.left and label in op.right]
    rows = [label for label in op.out if label not in op.right]
    columns = [label for label in op.out if label not in op.left]
    along, across = (_Layout(op.left, groups, "a") for groups in ((batch, op.summed, rows), (batch, rows, op.summed)))
    return (*batch, *rows, *columns), along, across, _Layout(op.right, (batch, op.summed, columns), "b")


class _Layout:
    """The order in which an operand's axes are brought together to (batch, rows, columns).

    What is brought to it is valid until the next is, of the same name.
    """

    def __init__(self, labels: tuple[int, ...], groups: tuple[Sequence[int], ...], name: str) -> None:
        self._name = name
        self._order = [labels.index(label) for group in groups for label in group]
        self._groups = [[labels.index(label) for label in group] for group in groups]
        self.is_matrix = self._groups == [[], [0], [1]]

    def bring(self, block: Array) -> Array:
        """Bring a block to C order, unless it can be seen as it lies."""
        seen = self.see(block)
        if seen is not None:
            return seen
        turned = block.transpose(self._order)
        ordered = _products.lend(self._name, turned.shape, turned.dtype)
        copy_tile(ordered, turned)
        return ordered.reshape(self._sizes(block))

    def see(self, block: Array) -> Array | None:
        """Return a block as it lies, in C order or a large one whose rows lie so; None where it has to be copied."""
        if self.is_matrix and (block.flags.c_contiguous or _has_rows(block)):
            return block[None]
        turned = block.transpose(self._order)
        return turned.reshape(self._sizes(block)) if turned.flags.c_contiguous else None

    def _sizes(self, block: Array) -> list[int]:
        return [math.prod(block.shape[i] for i in group) for group in self._groups]


def _has_rows(block: Array) -> bool:
    """Whether a block is a large one whose rows lie in order, at equal distances: BLAS reads these as they lie.

    The bits are those of a copy. With few rows or columns they needn't be: BLAS has loops of their own for them.
    """
    (rows, columns), (apart, each), size = block.shape, block.strides, block.itemsize
    return min(rows, columns) >= LARGE and each == size and apart >= columns * size and apart % size == 0


def panel_length(length: int, *blocks: int) -> int:
    """Return how much of a summed axis is multiplied at once, for operands' blocks of so many elements."""
    width = sum(blocks) // max(1, length)
    return max(1, PANEL // max(1, width)) if width <= NARROW else length


def _panels(op: Contract, left: Block, right: Block) -> Iterator[tuple[Array, Array, bool]]:
    """Cut blocks that are long along the one summed axis and narrow else: copies of a panel stay in cache."""
    step = _panel_step(op, left, right)
    if step is None:
        yield *_wholes(left, right), False
        return
    i, j = op.left.index(op.summed[0]), op.right.index(op.summed[0])
    for begin in range(0, left.shape[i], step):
        yield left.part(i, begin, begin + step), right.part(j, begin, begin + step), True


def _panel_step(op: Contract, left: Block | Array, right: Block | Array) -> int | None:
    """Return how long the panels of blocks are; None where these aren't cut."""
    if len(op.summed) != 1:
        return None
    length = left.shape[op.left.index(op.summed[0])]
    step = panel_length(length, math.prod(left.shape), math.prod(right.shape))
    return step if step < length else None


def _wholes(left: Block, right: Block) -> tuple[Array, Array]:
    whole = left.whole()
    return whole, whole if right is left else right.whole()


def _product(a: Array, b: Array, out: Array) -> Callable[[], object]:
    """Return the call of NumPy's that multiplies matrices: by a single number `np.dot` makes 0 of NaN * 0."""
    if len(a) != 1:
        return partial(np.matmul, a, b, out=out)
    small = min(a.size, b.size) > 1 and out.size < UNLOCKED and out.dtype.char in "fdFD"
    return partial(np.dot if small else np.matmul, a[0], b[0], out=out[0])
