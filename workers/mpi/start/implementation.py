"""Which MPI this process would use, found without starting it. For reports; ranks have no need of it."""

from __future__ import annotations

import re
from pathlib import Path


def library() -> dict[str, str]:
    """Return versions and places: `mpi4py`, `library` (the first line of what MPI says) and `path`.

    ImportError or RuntimeError: there is no mpi4py, or mpi4py finds no MPI.
    """
    import mpi4py

    mpi4py.rc.initialize = False
    from mpi4py import MPI

    said = MPI.Get_library_version().replace("\0", "").strip().splitlines()[0]
    return {"mpi4py": mpi4py.__version__, "library": said.partition(",")[0], "path": _find_loaded_library()}


def _find_loaded_library() -> str:
    """Return the file of the MPI library in this process's memory; empty when it isn't seen there."""
    try:
        text = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    match = re.search(r"(/\S*/libmpi(?:ch)?\.so\S*)", text)
    return match[1] if match else ""
