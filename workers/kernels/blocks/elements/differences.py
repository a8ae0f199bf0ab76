"""Where elements differ."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def first(wrong: Array) -> Array:
    """Return the position of the first true element in C order, or -1, as a block of one."""
    position = int(wrong.argmax()) if wrong.size else 0
    return np.full((1,) * wrong.ndim, position if wrong.size and wrong.reshape(-1)[position] else -1)
