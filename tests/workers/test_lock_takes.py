"""How often threads take Python's lock while the engine runs: counted by the library that benchmarks/lock.py loads."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "benchmarks" / "lock.c"
CHUNKS = 144
PROGRAM = f"""
import ctypes
import numpy as np
import windrow as wr

takes = ctypes.PyDLL(None).lock_takes
takes.restype = ctypes.c_long
with wr.Cluster(threads=8), wr.config.set(jit="on"):
    a = wr.asarray(np.ones((12 * 400, 12 * 400))).rechunk((400, 400)).persist()
    a.expr.pin.wait()
    for run in (lambda: (2 * a + 1 - a * a).sum(), lambda: a.sum(axis=0), lambda: a.max(axis=1)):
        found = []
        for _ in range(4):
            before = takes()
            run().compute()
            found.append(takes() - before)
        print(min(found) / {CHUNKS})
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="takes a C compiler")
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="LD_PRELOAD")
def test_a_reduction_takes_the_lock_about_once_a_chunk(tmp_path):
    library = str(tmp_path / "lock.so")
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", str(SOURCE), "-o", library, "-ldl"], check=True, timeout=60)
    environment = os.environ | {"LD_PRELOAD": library}
    made = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, timeout=120)
    assert made.returncode == 0, made.stderr
    if "undefined symbol" in made.stderr:
        pytest.skip("Python's functions aren't in a shared library")
    for each in made.stdout.split():
        assert float(each) < 1.5, made.stdout
