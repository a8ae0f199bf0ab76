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

MOST = {
    "sort": 70, "qr": 44, "std": 14, "argmax": 10, "four": 38,
}  # fmt: skip
"""Takes of the lock a chunk, at most, on one thread: a few more than there are, for the engine's loop."""


def keep(*several):
    kept = wr.persist(*several)
    for one in kept:
        one.expr.pin.wait()
    return kept


def rows():
    """Return each row: an array, of how many chunks it is, and what is computed of it."""
    made = wr.random.default_rng(1)
    long, tall = made.random(16 << 18, chunks=1 << 18), made.random((16 << 13, 32), chunks=(1 << 13, 32))
    square = made.random((3000, 6000), chunks=1000)
    return {
        "sort": (long, 16, lambda x: keep(wr.sort(x))),
        "qr": (tall, 16, lambda x: keep(*wr.linalg.qr(x))),
        "std": (square, 18, lambda x: x.std(axis=0).compute()),
        "argmax": (square, 18, lambda x: x.argmax(axis=1).compute()),
        "four": (square, 18, lambda x: wr.compute(x.mean(axis=0), x.std(axis=0), x.min(axis=0), x.max(axis=0))),
    }


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
        for name, (array, chunks, run) in rows().items():
            (x,) = keep(array)
            counts = []
            for _ in range(4):
                before = takes()
                run(x)
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
