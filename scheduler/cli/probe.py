"""What `doctor` tries out in processes of their own, since MPI ends or hangs the process that it fails in.

`python -m windrow.scheduler.cli.probe library|ranks` prints one line of JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import asdict
from typing import Any

from ...workers.mpi.deaths.processes import name_of
from ...workers.mpi.messages.listening_sockets import doors
from ...workers.mpi.start.spawning import launchers

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
    from ..session.cluster import Cluster, session

    begin = time.monotonic()
    with Cluster(2, memory="16 MiB") as cluster:
        rows = cluster.info()
        seconds = time.monotonic() - begin
        peers = session().engine.transport.peers
        info: dict[str, Any] = {
            "seconds": seconds,
            "ranks": len(rows),
            "routes": [peer.route for peer in peers],
            "window": None if peers[0].window is None else asdict(peers[0].window),
            "doors": listening([*(row["pid"] for row in rows), *launchers()]),
        }
    if info["window"] is not None and info["window"]["alone"] is None:
        with Cluster(2, memory="16 MiB", transport="get"):  # where all memory is mapped nobody tries
            tried = session().engine.transport.peers[0].window
            info["window"]["alone"] = tried is not None and tried.alone
    return info


def listening(pids: list[int]) -> list[str]:
    """Return what other hosts can reach of some processes: name, pid and port of each."""
    ports = {(x.pid, x.port) for x in doors(pids) if x.open}
    return [f"{name_of(pid)} (pid {pid}, port {port})" for pid, port in sorted(ports)]


def _main() -> None:
    from ...workers.mpi.start.implementation import library

    try:
        info: dict[str, Any] = library() if sys.argv[1] == "library" else ranks()
    except Exception as error:
        info = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(info))


if __name__ == "__main__":
    _main()
