"""Copies of blocks, made where they are to lie, and the arrays that are made from copies again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .. import filling

if TYPE_CHECKING:
    from ..files.files import Array


@filling
def copy(block: Array, *, out: Array) -> Array:
    """Return a copy of a block."""
    np.copyto(out, block)
    return out


hold = restore = copy


@filling
def spread(block: Array, ranks: int, *, out: Array) -> Array:
    """Return a copy of a block, which is made on one of so many ranks."""
    np.copyto(out, block)
    return out
