"""Products of blocks, added up in order."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .buffers import Buffers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...graph.kinds.contraction import Contract

Array = np.ndarray[Any, Any]
PANEL = 1 << 16
"""Elements of both operands that are multiplied at once, where these are narrow."""
NARROW = 1 << 9
"""Rows and columns of the result, together, up to which operands are narrow."""
_products = Buffers(1 << 26)


def contract(op: Contract, pairs: list[tuple[Array, Array]], out: Array) -> None:
    """Compute `out = sum of left * right` over pairs of blocks; each operand is brought to one layout first."""
    batch = [label for label in op.out if label in op.left and label in op.right]
    rows = [label for label in op.out if label not in op.right]
    columns = [label for label in op.out if label not in op.left]
    order = [*batch, *rows, *columns]
    plain = order == list(op.out) and out.flags.c_contiguous
    total = np.empty((0, 0, 0), out.dtype)
    for number, (left, right) in enumerate(panel for pair in pairs for panel in _panels(op, *pair)):
        a = _arrange(left, op.left, (batch, rows, op.summed))
        b = _arrange(right, op.right, (batch, op.summed, columns))
        shape = (a.shape[0], a.shape[1], b.shape[2])
        if number == 0:
            total = out.reshape(shape) if plain else np.empty(shape, out.dtype)
            _multiply(a, b, total)
        else:
            scratch = _products.lend("product", shape, out.dtype)
            _multiply(a, b, scratch)
            np.add(total, scratch, out=total)
    if not pairs:
        out.fill(0)
    elif not plain:
        sizes = dict(zip(op.out, out.shape, strict=True))
        made = total.reshape([sizes[label] for label in order])
        np.copyto(out, made.transpose([order.index(label) for label in op.out]))


def _panels(op: Contract, left: Array, right: Array) -> Iterator[tuple[Array, Array]]:
    """Cut blocks that are long along the one summed axis and narrow else: copies of a panel stay in cache."""
    if len(op.summed) != 1:
        yield left, right
        return
    i, j = op.left.index(op.summed[0]), op.right.index(op.summed[0])
    length = left.shape[i]
    width = (left.size + right.size) // max(1, length)
    step = PANEL // max(1, width) if width <= NARROW else length
    for begin in range(0, max(1, length), max(1, step)):
        where = slice(begin, begin + step)
        yield left[(slice(None),) * i + (where,)], right[(slice(None),) * j + (where,)]


def _arrange(block: Array, labels: tuple[int, ...], groups: tuple[Any, ...]) -> Array:
    """Bring a block to (batch, rows, columns) in C order."""
    order = [labels.index(label) for group in groups for label in group]
    sizes = [math.prod(block.shape[labels.index(label)] for label in group) for group in groups]
    return np.ascontiguousarray(block.transpose(order)).reshape(sizes)


def _multiply(a: Array, b: Array, out: Array) -> None:
    if a.shape[0] == 1:
        np.matmul(a[0], b[0], out=out[0])
    else:
        np.matmul(a, b, out=out)
