"""Results of several kinds that lie side by side in records."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def field(records: Array, name: str) -> Array:
    """Return one field: its own axes come last."""
    return np.ascontiguousarray(records[name]).reshape(records.shape + records.dtype[name].shape)
