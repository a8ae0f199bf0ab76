"""Bits packed into bytes."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

Array = np.ndarray[Any, Any]


def pack_bits(x: Array, axis: int, order: Literal["big", "little"]) -> Array:
    return np.packbits(x, axis, order)


def unpack_bits(x: Array, axis: int, order: Literal["big", "little"]) -> Array:
    return np.unpackbits(x, axis, bitorder=order)
