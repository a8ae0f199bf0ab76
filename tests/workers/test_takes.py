"""How often a chunk takes Python's lock: on many cores each time costs more than what it brings, so it is counted."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import windrow as wr

pytest.importorskip("llvmlite")
SOURCE = Path(__file__).parents[2] / "benchmarks" / "lock.c"

MOST = {"sort": 70}
"""Takes of the lock a chunk, at most, on one thread: a few more than there are, for the engine's loop."""


def keep(*several):
    kept = wr.persist(*several)
    for one in kept:
        one.expr.pin.wait()
    return kept


def rows():
    """Return each row: its arrays, what is computed of them, and of how many chunks."""
    made = wr.random.default_rng(1)
    long = made.random(16 << 18, chunks=1 << 18)
    return {"sort": ((long,), lambda x: keep(wr.sort(x)), 16)}


def count():
    """Print takes a chunk for each row; a process of its own runs this."""
    import ctypes
    import time

    takes = ctypes.CDLL(None).lock_takes
    takes.restype = ctypes.c_long
    before = takes()
    for _ in range(5):
        time.sleep(0)
    if takes() == before:  # a Python whose library isn't shared calls its own functions
        print(json.dumps(None))
        return
    found = {}
    with wr.Cluster(threads=1), wr.config.set(jit="on"):
        for name, (arrays, run, chunks) in rows().items():
            inputs = keep(*arrays)
            counts = []
            for _ in range(4):
                before = takes()
                run(*inputs)
                counts.append((takes() - before) / chunks)
            found[name] = min(counts)
    print(json.dumps(found))


@pytest.fixture(scope="module")
def takes(tmp_path_factory):
    compiler = shutil.which("cc")
    if compiler is None or not sysconfig.get_config_var("Py_ENABLE_SHARED"):
        pytest.skip("needs a C compiler, and Python as a shared library")
    library = str(tmp_path_factory.mktemp("lock") / "lock.so")
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", str(SOURCE), "-o", library, "-ldl"], check=True, timeout=60)
    told = subprocess.run(
        [sys.executable, __file__],
        check=True,
        env=os.environ | {"LD_PRELOAD": library},
        stdout=subprocess.PIPE,
        timeout=100,
        text=True,
    )
    found = json.loads(told.stdout)
    return found or pytest.skip("the lock's functions can't be stood before")


@pytest.mark.parametrize("row", MOST)
def test_a_chunk_takes_the_lock_seldom(takes, row):
    assert takes[row] <= MOST[row]


if __name__ == "__main__":
    count()
