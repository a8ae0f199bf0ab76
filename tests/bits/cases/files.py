"""What was written by ranks and is read by ranks."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from typing import TYPE_CHECKING

import windrow as wr

if TYPE_CHECKING:
    from collections.abc import Callable


def cases(a: dict[str, wr.Array], keep: Callable[[wr.Array], wr.Array]) -> dict[str, wr.Array]:
    """Write first, to a folder that lasts as long as the program; then read."""
    y, z = a["y"], a["z"]
    folder = tempfile.mkdtemp(prefix="bits-")
    atexit.register(shutil.rmtree, folder)
    (y * 2).save(f"{folder}/saved")
    z[:100].save(f"{folder}/complex")
    (y - 1).to_npy(f"{folder}/saved.npy")
    wr.to_parquet(f"{folder}/table", {"first": y[:, 0] + 1, "last": y[:, -1]})
    table = wr.read_parquet(f"{folder}/table")
    loaded = wr.load(f"{folder}/saved")
    return {
        "load": loaded,
        "load-sum": (keep(wr.load(f"{folder}/complex")) + 1).sum(axis=0),
        "load-moved": loaded.T.rechunk((19, 400)) * 3,
        "from_npy": wr.from_npy(f"{folder}/saved.npy", chunks=(100, 37)).sum(axis=1),
        "read_parquet": table["last"] - table["first"],
    }
