"""Elements of shared arrays at lazy positions: `v[lazy]`, on the ranks that have the positions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.arguments import is_integer
from ...graph.errors import IndexingError, bad
from ..base import ArrayBase
from ..indexing.nonzero import nonzero
from ..ops.moves.broadcasting import broadcast_arrays
from ..user_functions.map_blocks import map_blocks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...scheduler.shared.pages.shared_array import SharedArray
    from ..array import Array

EXPECTED = "positions along the first axes, lazy ones among them, then slices"


def pick(shared: SharedArray, index: Any) -> Array:
    """Return what an index with lazy arrays in it picks, lazily, from the version that is there now."""
    parts = index if isinstance(index, tuple) else (index,)
    rest = next((k for k, part in enumerate(parts) if isinstance(part, slice) or part is Ellipsis), len(parts))
    positions, slices = _positions(parts[:rest], shared.shape), parts[rest:]
    ellipsis = [k for k, part in enumerate(slices) if part is Ellipsis]
    if any(not isinstance(part, slice) and part is not Ellipsis for part in slices) or len(ellipsis) > 1:
        raise IndexingError(bad("shared array", "index", _shown(parts), EXPECTED))
    left = shared.ndim - len(positions)
    if len(slices) - len(ellipsis) > left:
        raise IndexingError(bad("shared array", "index", _shown(parts), f"at most {shared.ndim} axes"))
    added = np.broadcast_to(np.uint8(0), shared.shape[len(positions) :])[slices].shape
    lazy = broadcast_arrays(*positions) if len(positions) > 1 else positions
    ndim = lazy[0].ndim
    return map_blocks(
        _pick_block,
        *lazy,
        array=shared,
        slices=slices,
        dtype=shared.dtype,
        new_axis=tuple(range(ndim, ndim + len(added))) or None,
        chunks=(*lazy[0].chunks, *((n,) for n in added)) if added else None,
        name="pick",
    )


def _positions(parts: Sequence[Any], shape: tuple[int, ...]) -> list[Any]:
    """Return positions along the first axes; a mask is the positions of what is true in it."""
    positions: list[Any] = []
    for part in parts:
        if is_integer(part) or isinstance(part, list | np.ndarray):
            part = np.asarray(part)
            part = part if part.size else part.astype(np.intp)
        kind = part.dtype.kind if isinstance(part, ArrayBase | np.ndarray) else ""
        if kind == "b":
            own = shape[len(positions) : len(positions) + part.ndim]
            if not part.ndim or part.shape != own:
                raise IndexingError(bad("shared array", "index", f"a mask of shape {part.shape}", f"one of {own}"))
            positions += nonzero(part) if isinstance(part, ArrayBase) else np.nonzero(part)
        elif kind and kind in "iu":
            positions.append(part)
        else:
            raise IndexingError(bad("shared array", "index", _shown(parts), EXPECTED))
    return positions


def _shown(parts: Sequence[Any]) -> str:
    return ", ".join(f"a lazy {each.dtype}" if isinstance(each, ArrayBase) else repr(each) for each in parts)


def _pick_block(*positions: Any, array: Any, slices: tuple[Any, ...]) -> Any:
    return np.asarray(array[(*positions, *slices)])
