"""Whether values that a caller brings fit the elements of a shared array."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...graph.errors import BadValue


def is_castable(operation: str, argument: str, values: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> bool:
    """Tell whether values are of a kind that a dtype takes; of integers their values count, not their type.

    Integers beyond the dtype's range are a BadValue.
    """
    if values.dtype.kind not in "iu" or dtype.kind not in "iu":
        return np.can_cast(values.dtype, dtype, "same_kind")
    if values.size and not np.can_cast(values.dtype, dtype):
        span = np.iinfo(dtype)
        for extreme in (values.min(), values.max()):
            if not span.min <= int(extreme) <= span.max:
                raise BadValue(f"{operation}: argument {argument!r} has {extreme}; expected what fits {dtype}")
    return True
