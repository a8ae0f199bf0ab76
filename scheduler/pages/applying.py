"""Adding what blocks have added, in their order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ...workers.pages.additions import Addition

Array = np.ndarray[Any, Any]


def apply_all(array: Array, blocks: list[list[Addition]]) -> None:
    """Add additions of blocks one after the other."""
    for additions in blocks:
        for index, values in additions:
            _add(array, index, values)


def _add(array: Array, index: Any, values: Array) -> None:
    if isinstance(index, np.ndarray) and index.dtype.kind in "iu" and array.ndim == 1 and index.ndim != 1:
        values = np.broadcast_to(values, index.shape).reshape(-1)
        index = index.reshape(-1)
    np.add.at(array, index, values)
