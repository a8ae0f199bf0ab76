"""What `doctor` tries out in processes of their own, since MPI ends or hangs the process that it fails in.

`python -m windrow.scheduler.probe library|ranks` prints one line of JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Any

LIMIT = 60.0


def probe(what: str) -> dict[str, Any]:
    """Try something out and return what it found; `error` says why it found nothing."""
    command = [sys.executable, "-m", __spec__.name if __name__ == "__main__" else __name__, what]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=LIMIT, check=False, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        return {"error": f"no answer within {LIMIT:.0f} s"}
    try:
        return dict(json.loads(done.stdout.strip().splitlines()[-1]))
    except (ValueError, IndexError):
        said = done.stderr.replace("\0", "").strip().splitlines() or [f"ended with status {done.returncode}"]
        return {"error": said[-1]}


def ranks() -> dict[str, Any]:
    """Start two ranks, have them tell how they reach each other, and stop them."""
    from .cluster import Cluster

    begin = time.monotonic()
    with Cluster(2, memory="16 MiB") as cluster:
        rows = cluster.info()
        return {
            "seconds": time.monotonic() - begin,
            "ranks": len(rows),
            "routes": [peer.route for peer in cluster.engine.transport.peers],
        }


def _main() -> None:
    from ..workers.mpi.implementation import library

    try:
        found: dict[str, Any] = library() if sys.argv[1] == "library" else ranks()
    except Exception as error:
        found = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(found))


if __name__ == "__main__":
    _main()
