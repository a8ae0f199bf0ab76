"""The example gives the right numbers, in little memory, on the embedded engine and on ranks."""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import sys
import time
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import numpy as np
import pytest

LAND = Path(__file__).parents[1] / "examples" / "land.py"
ROWS, COLUMNS = 21600, 43200
MB = 1 << 20
AS_ROOT = ("OMPI_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT")


@pytest.fixture(scope="module")
def shares():
    """Land cells in each row, counted without the library, and each row's weight."""
    archive = distribution("global-land-mask").locate_file("global_land_mask/globe_combined_mask_compressed.npz")
    counts = np.empty(ROWS, np.int64)
    with zipfile.ZipFile(str(archive)) as members:
        with members.open("lat.npy") as file:
            weight = np.cos(np.lib.format.read_array(file) * (np.pi / 180))
        with members.open("mask.npy") as file:
            assert np.lib.format.read_magic(file) == (1, 0)
            shape, fortran, dtype = np.lib.format.read_array_header_1_0(file)
            assert (shape, fortran, dtype) == ((ROWS, COLUMNS), False, np.dtype(bool))
            for row in range(0, ROWS, 600):
                block = np.frombuffer(file.read(600 * COLUMNS), bool).reshape(600, COLUMNS)
                counts[row : row + 600] = COLUMNS - np.count_nonzero(block, axis=1)
    return counts, weight


def pss(pid: int) -> int:
    """Bytes of a process and all its descendants, shared pages counted once."""
    total = 0
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                total = int(line.split()[1]) * 1024
        for task in Path(f"/proc/{pid}/task").iterdir():
            total += sum(pss(int(child)) for child in (task / "children").read_text().split())
    except OSError:
        pass
    return total


def run(command: list[str], folder: Path) -> tuple[list[str], int]:
    """The lines that a command prints, and the most memory it held at once."""
    environment = dict(os.environ)
    if os.geteuid() == 0:
        environment |= {name + end: "1" for name in AS_ROOT for end in ("", "_CONFIRM")}
    peak = 0
    out, err = folder / "stdout", folder / "stderr"
    with (
        out.open("w") as stdout,
        err.open("w") as stderr,
        subprocess.Popen(command, cwd=folder, env=environment, stdout=stdout, stderr=stderr) as process,
    ):
        try:
            while process.poll() is None:
                peak = max(peak, pss(process.pid))
                time.sleep(0.05)
        finally:
            process.kill()
    assert process.returncode == 0, err.read_text()
    return out.read_text().splitlines(), peak


def check(lines: list[str], folder: Path, shares) -> None:
    counts, weight = shares
    expected = math.fsum(counts * weight) / math.fsum(weight * COLUMNS)
    words = lines[-1].split()
    assert words[:2] == ["land", "share"]
    assert len(words[2]) == len("0.") + 12
    assert abs(float(words[2]) - expected) < 2e-12

    bands = (counts * weight).reshape(12, -1).sum(1) / (weight * COLUMNS).reshape(12, -1).sum(1)
    table = [line.split() for line in lines if " to " in line]
    assert [row[3] for row in table] == [f"{band:.1%}" for band in bands]
    assert (folder / "land.png").read_bytes().startswith(b"\x89PNG")


def test_land_embedded(tmp_path, shares):
    lines, peak = run([sys.executable, str(LAND)], tmp_path)
    check(lines, tmp_path, shares)
    assert peak < 1500 * MB


@pytest.mark.ranks
def test_land_on_ranks(tmp_path, shares):
    mpirun = shutil.which("mpirun", path=f"{sys.prefix}/bin{os.pathsep}{os.environ['PATH']}")
    assert mpirun, "mpirun: not found; install the extra mpi or an MPI of the machine"
    flags = ["--with-ft", "ulfm", "--oversubscribe", "--bind-to", "none", "-n", "4"]
    lines, peak = run([mpirun, *flags, sys.executable, "-m", "windrow", str(LAND)], tmp_path)
    check(lines, tmp_path, shares)
    assert peak < 3000 * MB
