"""Products of blocks, added up in order."""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ...graph.kinds.contraction import Contract

Array = np.ndarray[Any, Any]
_local = threading.local()
KEPT = 1 << 26


def contract(op: Contract, pairs: list[tuple[Array, Array]], out: Array) -> None:
    """Compute `out = sum of left * right` over pairs of blocks; each operand is brought to one layout first."""
    batch = [label for label in op.out if label in op.left and label in op.right]
    rows = [label for label in op.out if label not in op.right]
    columns = [label for label in op.out if label not in op.left]
    order = [*batch, *rows, *columns]
    plain = order == list(op.out) and out.flags.c_contiguous
    total = np.empty((0, 0, 0), out.dtype)
    for number, (left, right) in enumerate(pairs):
        a = _arranged(left, op.left, (batch, rows, op.summed))
        b = _arranged(right, op.right, (batch, op.summed, columns))
        shape = (a.shape[0], a.shape[1], b.shape[2])
        if number == 0:
            total = out.reshape(shape) if plain else np.empty(shape, out.dtype)
            _multiply(a, b, total)
        else:
            scratch = _scratch(shape, out.dtype)
            _multiply(a, b, scratch)
            np.add(total, scratch, out=total)
    if not pairs:
        out.fill(0)
    elif not plain:
        sizes = dict(zip(op.out, out.shape, strict=True))
        made = total.reshape([sizes[label] for label in order])
        np.copyto(out, made.transpose([order.index(label) for label in op.out]))


def _scratch(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Return the thread's own buffer for one product: its pages are hot from task to task."""
    count = math.prod(shape) * dtype.itemsize
    held: Array | None = getattr(_local, "buffer", None)
    if held is None or held.nbytes < count:
        held = np.empty(count, np.uint8)
        if count <= KEPT:
            _local.buffer = held
    return held[:count].view(dtype).reshape(shape)


def _arranged(block: Array, labels: tuple[int, ...], groups: tuple[Any, ...]) -> Array:
    """Bring a block to (batch, rows, columns) in C order."""
    order = [labels.index(label) for group in groups for label in group]
    sizes = [math.prod(block.shape[labels.index(label)] for label in group) for group in groups]
    return np.ascontiguousarray(block.transpose(order)).reshape(sizes)


def _multiply(a: Array, b: Array, out: Array) -> None:
    if a.shape[0] == 1:
        np.matmul(a[0], b[0], out=out[0])
    else:
        np.matmul(a, b, out=out)
