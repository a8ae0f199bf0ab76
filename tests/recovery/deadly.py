"""Functions that end the process that calls them. Arguments: what happens, the number of ranks to start (0: mpirun).

once: the first call ends its process, later ones don't. always: every call on one block. every: every call. alone: on
rank 0, which is the only one that is left to call it. outside: harmless calls, but all others are killed meanwhile, one
after another. built-in: two ranks are killed while they run a built-in function.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import threading
import time

import windrow as wr
from support.ranks import await_losses


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


def end(block):
    """End the process, whatever the block."""
    import os

    os._exit(3)


def slow(block):
    """Take a while."""
    import time

    time.sleep(0.05)
    return block + 1


def refused(x) -> str:
    """Return what a computation says that fails."""
    try:
        x.compute()
    except wr.ClusterError as error:
        return " ".join(["refused", str(error), *error.__notes__])
    return "computed"


def main(way: str) -> None:
    """Compute, and print what came of it."""
    x = wr.arange(8, chunks=2)
    if way == "once":
        path = os.path.join(tempfile.mkdtemp(), "called")
        total = int(wr.map_blocks(poison, x, path=path, dtype=int).sum())
        print("total", total, "lost", len(wr.cluster().losses))
    elif way == "always":
        print(refused(wr.map_blocks(poison, x, dtype=int)))
        print("after", int(x.sum()), "ranks", len(wr.cluster().info()))
    elif way == "every":
        wr.map_blocks(slow, x, dtype=int).compute()  # from here on calls begin, and end, well within rank 0's patience
        y = wr.map_blocks(end, wr.ones(100, chunks=10), dtype=float).sum()
        for _ in range(2):
            print(refused(y))
        print("after", int(wr.map_blocks(slow, x, dtype=int).sum()), "ranks", len(wr.cluster().info()))
    elif way == "outside":
        pids = [row["pid"] for row in wr.cluster().info()[1:]]
        total = killed_meanwhile(pids, 0.7, lambda: int(wr.map_blocks(slow, wr.arange(150, chunks=1), dtype=int).sum()))
        print("total", total, "lost", len(wr.cluster().losses))
    elif way == "alone":
        for row in wr.cluster().info()[1:]:
            os.kill(row["pid"], signal.SIGKILL)
        await_losses(2)
        print("alone", flush=True)
        wr.map_blocks(poison, x, dtype=int).compute()
    else:
        kill_twice()


def killed_meanwhile(pids, pause, compute):
    """Compute while ranks are killed, each after a pause; return the result when all losses are known."""

    def strike() -> None:
        for pid in pids:
            time.sleep(pause)
            os.kill(pid, signal.SIGKILL)

    thread = threading.Thread(target=strike)
    thread.start()
    total = compute()
    thread.join()
    await_losses(len(pids))
    return total


def kill_twice() -> None:
    """Kill two of three other ranks while they multiply."""
    a = wr.random.default_rng(1).random((1200, 1200), chunks=150).persist()
    wr.wait(a)
    pids = [row["pid"] for row in wr.cluster().info()[1:3]]
    total = killed_meanwhile(pids, 0.15, lambda: float((a @ (a @ (a @ a))).sum()))
    deaths = wr.cluster()._session.engine.ask(lambda e: sum(len(r.deaths) for r in e.ledger.records.values()))
    print("total", total > 0, "deaths", deaths, "lost", len(wr.cluster().losses))


if sys.argv[2] != "0":
    wr.Cluster(ranks=int(sys.argv[2]))
main(sys.argv[1])
