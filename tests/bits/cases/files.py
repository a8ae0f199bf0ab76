"""What was written by ranks and is read by ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import windrow as wr

if TYPE_CHECKING:
    from collections.abc import Callable


def cases(a: dict[str, wr.Array], keep: Callable[[wr.Array], wr.Array]) -> dict[str, wr.Array]:
    """Write first, in the folder that the program runs in; then read."""
    y, z = a["y"], a["z"]
    (y * 2).save("saved", overwrite=True)
    z[:100].save("complex", overwrite=True)
    (y - 1).to_npy("saved.npy", overwrite=True)
    wr.to_parquet("table", {"first": y[:, 0] + 1, "last": y[:, -1]}, overwrite=True)
    table = wr.read_parquet("table")
    loaded = wr.load("saved")
    return {
        "load": loaded,
        "load-sum": (keep(wr.load("complex")) + 1).sum(axis=0),
        "load-moved": loaded.T.rechunk((19, 400)) * 3,
        "from_npy": wr.from_npy("saved.npy", chunks=(100, 37)).sum(axis=1),
        "read_parquet": table["last"] - table["first"],
    }
