"""A compiled loop that adds up squared distances from a mean, row after row, as NumPy's three loops do."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ..llvm.kernel_cache import ENTRY, ready
from ..llvm.text import Body, register

Array = np.ndarray[Any, Any]
LEAST = 1 << 10


def add_squares(x: Array, mean: Array) -> Array | None:
    """Add up squares of (n, rows, length) elements less (n, 1, length) means, over rows; None without a kernel."""
    n, rows, length = x.shape
    plain = x.dtype.kind == "f" and x.dtype.itemsize in (4, 8) and x.dtype.isnative and x.dtype == mean.dtype
    if not plain or rows * length < LEAST or not x[0].flags.c_contiguous or not x.flags.aligned:
        return None
    kernel = ready(_text(x.dtype), 1, 3 * x.size)
    if kernel is None:
        return None
    mean, out = np.ascontiguousarray(mean), np.empty((n, length), x.dtype)
    at, row, to = (a.__array_interface__["data"][0] for a in (x, mean, out))
    kernel(at, row, to, rows, length, n, x.strides[0])
    return out


@lru_cache(maxsize=2)
def _text(dtype: np.dtype[Any]) -> str:
    body, t = Body(), register(dtype)
    text = body.text
    with body.loop("0", "%blocks", "1") as block:
        block_at = text.set(f"getelementptr i8, ptr %x, i64 {text.set(f'mul i64 {block}, %stride')}")
        base = text.set(f"mul i64 {block}, %length")
        end = text.set(f"add i64 {base}, %length")
        with body.loop(base, end, "1") as i:
            text.store(dtype, "0.0", "%out", i)
        with body.loop("0", "%rows", "1") as row:
            shift = text.set(f"sub i64 {text.set(f'mul i64 {row}, %length')}, {base}")
            with body.loop(base, end, "1") as i:
                value = text.load(dtype, block_at, text.set(f"add nsw i64 {i}, {shift}"))
                distance = text.set(f"fsub {t} {value}, {text.load(dtype, '%mean', i)}")
                square = text.set(f"fmul {t} {distance}, {distance}")
                text.store(dtype, text.set(f"fadd {t} {text.load(dtype, '%out', i)}, {square}"), "%out", i)
    pointers = "ptr noalias readonly %x, ptr noalias readonly %mean, ptr noalias %out"
    return body.whole(f"define void @{ENTRY}({pointers}, i64 %rows, i64 %length, i64 %blocks, i64 %stride) {{")
