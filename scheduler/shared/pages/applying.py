"""Adding what blocks have added, in their order. Each thread has a part of the positions: bits don't tell of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.arguments import is_array
from ....workers.shared.pages import compiled
from ....workers.shared.pages.positions import picked
from ...session.resources import usable_cores

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ....workers.shared.pages.additions import Addition

Array = np.ndarray[Any, Any]
LARGE = 1 << 20
"""Additions from which on there are several threads."""


def apply_all(array: Array, additions: Sequence[Addition]) -> None:
    begin = 0
    while begin < len(additions):
        end = begin
        while end < len(additions) and _is_compiled(array, additions[end]):
            end += 1
        if end > begin:
            _add_compiled(array, additions[begin:end])
        else:
            _add(array, additions[begin].index, additions[begin].values)
            end = begin + 1
        begin = end


def _is_compiled(array: Array, addition: Addition) -> bool:
    """Whether there is a compiled loop for an addition; tried with no position at all."""
    index = addition.index
    return is_array(index) and compiled.add(array, index, addition.values, 0, 0)


def _add_compiled(array: Array, additions: Sequence[Addition]) -> None:
    count = min(usable_cores(), 16) if sum(a.index.size for a in additions) >= LARGE else 1
    borders = [len(array) * k // count for k in range(count + 1)]
    columns = _find_columns(additions)

    def work(part: int) -> None:
        for column in columns:
            for each in additions:
                compiled.add(array, each.index, each.values, borders[part], borders[part + 1], each.spans, column)

    if count == 1:
        work(0)
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(count) as pool:
        list(pool.map(work, range(count)))


def _find_columns(additions: Sequence[Addition]) -> Sequence[int]:
    """Return the columns that positions have, if each has a range of its own, or -1 for all at once.

    Where all additions go to a column's range before the next one's, less memory is in use at a time.
    """
    shapes = {each.index.shape[1:] for each in additions}
    spans = [each.spans for each in additions if each.spans is not None and each.index.ndim == 2]
    if len(shapes) > 1 or len(spans) < len(additions):
        return (-1,)
    every = np.stack(spans)
    within = np.stack([every[:, 0].min(axis=0), every[:, 1].max(axis=0)])
    return range(within.shape[1]) if compiled.are_apart(within) else (-1,)


def _add(array: Array, index: Any, values: Array) -> None:
    # NumPy 2.4 reads values beyond their end where they have fewer axes than what the index picks.
    values = np.broadcast_to(values, picked("add", index, array.shape)).copy()
    if is_array(index):
        index = np.ascontiguousarray(index)  # additions go in the order of positions, not of memory
        if index.dtype.kind in "iu" and array.ndim == 1 and index.ndim != 1:
            index, values = index.reshape(-1), values.reshape(-1)
    np.add.at(array, index, values)
