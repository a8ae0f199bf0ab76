"""Ranks that end, and lines of the launcher's."""

from __future__ import annotations

import os
import platform
import signal

import windrow as wr
from support.waiting import until

NOISE = ("[warn] Epoll", f"[{platform.node()}:")
"""Lines of mpirun's own, of connections that end, begin so."""


def kill_a_rank(choose=lambda rows: rows[-1]):
    """Kill a rank that isn't the driver, and return its row of `info`: the last one, unless another is chosen."""
    row = choose([row for row in wr.cluster().info() if row["rank"]])
    os.kill(row["pid"], signal.SIGKILL)
    return row


def kill_after(condition, what):
    """Kill a rank once a condition holds."""
    until(condition, what)
    kill_a_rank()


def await_losses(count=1):
    """Wait until the cluster has noticed that ranks are lost."""
    until(lambda: len(wr.cluster().losses) >= count, f"{count} lost ranks are noticed")


def without_noise(text: str) -> str:
    """Return a job's words without what Open MPI's launcher adds now and then."""
    lines = text.replace("\0", "").splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith(NOISE))
