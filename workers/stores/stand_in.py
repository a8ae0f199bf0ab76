"""What stands for arrays of other libraries that users hand in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...graph.expr import DType
    from ..host import Files

HOMES = ("zarr", "h5py", "netCDF4")


@dataclass(frozen=True)
class StandIn:
    """An array in a store: what it looks like, and what reads it: `file` on any rank, `source` on the driver alone."""

    source: Any
    file: Files | None
    shape: tuple[int, ...]
    dtype: DType
    chunks: tuple[int, ...] | None
    shards: tuple[int, ...] | None = None

    def __getitem__(self, where: Any) -> Any:
        return self.source[where]


def stand_in(label: str, array: Any) -> Any:
    """Return what stands for an array; what needs no such thing is returned as it is."""
    if not any(kind.__module__.partition(".")[0] in HOMES for kind in type(array).__mro__):
        return array
    from .sources import find

    return find(label, array)
