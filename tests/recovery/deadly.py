"""Functions that end the process that calls them. Arguments: what happens, the number of ranks to start (0: mpirun).

once: the first call ends its process, later ones don't. always: every call. alone: on rank 0, which is the only one
that is left to call it. built-in: rank 1 is killed twice while it runs a built-in function.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import threading
import time

import windrow as wr


def poison(block, block_id=(), path=""):
    """End the process: at one block, or at the first call where there is a path."""
    import os

    if path or block_id == (1,):
        if path:
            try:
                os.close(os.open(path, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                return block + 1
            os.kill(os.getpid(), 9)
        os._exit(3)
    return block + 1


def main(way: str) -> None:
    """Compute, and print what came of it."""
    x = wr.arange(8, chunks=2)
    if way == "once":
        path = os.path.join(tempfile.mkdtemp(), "called")
        total = int(wr.map_blocks(poison, x, path=path, dtype=int).sum())
        print("total", total, "lost", len(wr.cluster().losses))
    elif way == "always":
        try:
            wr.map_blocks(poison, x, dtype=int).compute()
        except wr.ClusterError as error:
            print("refused", error, *error.__notes__)
        print("after", int(x.sum()), "ranks", len(wr.cluster().info()))
    elif way == "alone":
        for row in wr.cluster().info()[1:]:
            os.kill(row["pid"], signal.SIGKILL)
        while len(wr.cluster().losses) < 2:
            time.sleep(0.05)
        print("alone", flush=True)
        wr.map_blocks(poison, x, dtype=int).compute()
    else:
        kill_twice()


def kill_twice() -> None:
    """Kill two of three other ranks while they multiply."""
    a = wr.random.default_rng(1).random((1200, 1200), chunks=150).persist()
    wr.wait(a)
    pids = [row["pid"] for row in wr.cluster().info()[1:3]]

    def strike() -> None:
        for pid in pids:
            time.sleep(0.15)
            os.kill(pid, signal.SIGKILL)

    thread = threading.Thread(target=strike)
    thread.start()
    total = float((a @ (a @ (a @ a))).sum())
    thread.join()
    while len(wr.cluster().losses) < 2:
        time.sleep(0.05)
    deaths = wr.cluster().engine.ask(lambda e: sum(len(r.deaths) for r in e.ledger.records.values()))
    print("total", total > 0, "deaths", deaths, "lost", len(wr.cluster().losses))


if sys.argv[2] != "0":
    wr.Cluster(ranks=int(sys.argv[2]))
main(sys.argv[1])
