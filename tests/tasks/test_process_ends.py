"""What executors were given is awaited at the end of the process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

GIVEN = """
import atexit, sys, tempfile, time
import numpy as np
import windrow as wr

def write(folder, k, *parts):
    time.sleep(0.2)
    with open(f"{folder}/{k}", "w") as file:
        file.write(str(sum(float(part.sum()) for part in parts)))

folder = tempfile.TemporaryDirectory()
x, shared = wr.ones(100, chunks=10).persist(), wr.shared.object(np.ones(10))
executor = wr.Executor()
for k in range(4):
    executor.submit(write, sys.argv[1], k, x, shared, wr.scatter(np.ones(3)))
    executor.submit(write, folder.name, k)
executor.shutdown(wait=False)
"""


@pytest.mark.parametrize("words", [[], ["-m", "windrow"], ["-m", "windrow", "-n", "3"]], ids=["plain", "run", "ranks"])
def test_what_executors_were_given_is_awaited(launch, tmp_path, words):
    (tmp_path / "given").mkdir()
    (tmp_path / "program.py").write_text(GIVEN)
    ended = launch(0, *words, "program.py", "given")
    assert (ended.status, ended.err) == (0, "")
    written = {path.name: path.read_text() for path in (tmp_path / "given").iterdir()}
    assert written == {str(k): "113.0" for k in range(4)}


ENDLESS = """
import time
import windrow as wr

executor = wr.Executor()
executor.submit(time.sleep, 50)
print("end", flush=True)
"""


def test_an_interrupt_ends_the_wait(programs):
    words = [sys.executable, "-c", ENDLESS]
    begun = subprocess.Popen(
        words, env=programs.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert begun.stdout.readline() == "end\n"
    time.sleep(0.5)
    assert begun.poll() is None, "it waits"
    os.kill(begun.pid, signal.SIGINT)
    _, err = begun.communicate(timeout=20)
    assert "KeyboardInterrupt" in err


FORKED = """
import os, sys
from pathlib import Path
import windrow as wr
from support.waiting import until

future = wr.Executor().submit(until, Path(sys.argv[1]).exists, "the fork has looked", 30)
if os.fork():
    os.wait()
    print(future.done())
    open(sys.argv[1], "x").close()
"""


def test_a_forked_child_waits_for_nothing(launch, tmp_path):
    ended = launch(0, "-W", "ignore", "-c", FORKED, str(tmp_path / "waited"))
    assert (ended.status, ended.last) == (0, "False"), ended.err
