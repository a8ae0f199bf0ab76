"""Rank 0's death ends all ranks within 5 s, whatever they are doing, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.waiting import until
from windrow.workers.mpi.deaths.processes import children

PROGRAM = str(Path(__file__).with_name("driver.py"))
pytestmark = pytest.mark.ranks


def alive(pids: list[int]) -> list[int]:
    """The processes that are still there, not counting zombies."""
    found = []
    for pid in pids:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if state != "Z":
            found.append(pid)
    return found


@pytest.mark.parametrize("way", ["mpirun", "spawn"])
@pytest.mark.parametrize("delay", [0.0, 1.0])
def test_driver_killed(programs, nothing_left, way, delay):
    command = [sys.executable, PROGRAM, "spawn"]
    if way == "mpirun":
        command = [*programs.mpirun(4), sys.executable, "-m", "windrow", PROGRAM]
    command = ["timeout", "-k", "3", "60", *command]
    with subprocess.Popen(
        command, env=programs.environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as started:
        assert started.stdout is not None
        check([int(word) for word in started.stdout.readline().split()], delay)
        assert started.wait(timeout=10) not in (0, 124)


def check(pids: list[int], delay: float) -> None:
    """Kill the first of the ranks; all others, and their helpers, have to follow."""
    assert len(pids) == 4
    helpers = [pid for rank in pids for pid in children(rank)]
    time.sleep(delay)
    os.kill(pids[0], signal.SIGKILL)
    until(lambda: not alive(pids), lambda: f"ranks {alive(pids)} have ended", 5)
    until(lambda: not alive(helpers), lambda: f"helpers {alive(helpers)} have ended", 5)
