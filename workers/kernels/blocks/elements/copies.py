"""Copies of blocks, made where they are to lie, and the arrays that are made from copies again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .. import filling

if TYPE_CHECKING:
    from ..files.files import Array


@filling
def copy(block: Array, *, out: Array) -> Array:
    np.copyto(out, block)
    return out


restore = copy


@filling
def hold(block: Array, parts: int, *, where: tuple[slice, ...], out: Array) -> Array:
    """Return a copy of a block, or of the part of it that lies `where`: axes that are cut have one block."""
    part = [own if n > own.stop - own.start else slice(None) for own, n in zip(where, block.shape, strict=True)]
    np.copyto(out, block[(*part,)])
    return out


@filling
def spread(block: Array, ranks: int, *, out: Array) -> Array:
    """Return a copy of a block, which is made on one of so many ranks."""
    np.copyto(out, block)
    return out
