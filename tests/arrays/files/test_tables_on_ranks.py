"""Stacks, tables and images on real ranks: read and written by all of them, and whole or absent after a kill."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import windrow as wr
from support.waiting import until

pytest.importorskip("tifffile")
pytest.importorskip("imageio")
PROGRAM = str(Path(__file__).parent / "programs" / "tables_on_ranks.py")


@pytest.mark.ranks
@pytest.mark.parametrize("words", [[], ["kill"]])
def test_on_ranks(launch, nothing_left, words):
    ended = launch(3, PROGRAM, *words)
    assert ended.status == 0, ended.err[-3000:]
    found = json.loads(ended.last)
    assert found["left"] == ["csv", "ipc", "parquet", "stack", "x.tif"]
    assert found["makers"] >= 2
    assert len(found["losses"]) == len(words)


def whole(folder: Path) -> None:
    """Raise where something that is there isn't what one call has written."""
    for name, read in (("parquet", wr.read_parquet), ("ipc", wr.read_ipc), ("csv", wr.read_csv)):
        if (folder / name).exists():
            matrix, _ = read(folder / name, matrix=True)
            found = matrix.compute()
            assert found.shape == (40, 50), name
            assert np.ptp(found) == 0, name
    if (folder / "stack").exists():
        found = wr.from_npy_stack(folder / "stack").compute()
        assert found.shape == (40, 50)
        assert np.ptp(found) == 0


def alive(word: str) -> bool:
    """Whether another process was started with a word in its command."""
    for each in Path("/proc").iterdir():
        if each.name.isdigit() and int(each.name) != os.getpid():
            with contextlib.suppress(OSError):
                if word.encode() in (each / "cmdline").read_bytes():
                    return True
    return False


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 21))])
def test_a_kill_leaves_whole_files_or_none(tmp_path, programs, seed):
    """The writer is killed at a random moment, in the midst of the first or of a later round."""
    ranks = 3 if seed % 4 == 3 else 0
    command = [sys.executable, PROGRAM, "loop", str(tmp_path)]
    if ranks:
        command = [*programs.mpirun(ranks), sys.executable, "-m", "windrow", *command[1:]]
    writer = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=programs.environment(), start_new_session=True
    )
    try:
        if seed % 2:
            assert writer.stdout is not None
            writer.stdout.readline()
        until(lambda: os.listdir(tmp_path), "something is written", 30, 0.001)
        time.sleep(random.Random(seed).uniform(0, 0.6))
    finally:
        os.killpg(writer.pid, signal.SIGKILL)
        writer.wait(20)
        if writer.stdout is not None:
            writer.stdout.close()
    until(lambda: not alive(str(tmp_path)), "the ranks end, as the launcher has")
    whole(tmp_path)
    for name, write in (("stack", wr.to_npy_stack), ("parquet", wr.to_parquet)):
        write(tmp_path / name, wr.ones((40, 50), chunks=(9, 50)), overwrite=True)
    whole(tmp_path)
    assert not [n for n in os.listdir(tmp_path) if n.startswith((".stack", ".parquet"))], "what was left is removed"
