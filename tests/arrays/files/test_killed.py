"""A writer that is killed at a random moment leaves what was there, or what it wrote, or nothing; never a part."""

from __future__ import annotations

import importlib.util
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import windrow as wr

zarr = pytest.importorskip("zarr")
pytest.importorskip("h5py")

PROGRAM = Path(__file__).parent / "programs" / "written_over.py"
told = importlib.util.spec_from_file_location("written_over", PROGRAM)
written_over = importlib.util.module_from_spec(told)
told.loader.exec_module(written_over)


def found_at(kind, path):
    """What is there: an array, or None."""
    try:
        if kind == "hdf5":
            return wr.from_hdf5(path, "g/x").compute()
        if kind == "elsewhere":
            return wr.from_zarr(written_over.elsewhere(path), "x").compute()
        return wr.from_zarr(path, "g/x" if kind == "sharded" else None).compute()
    except wr.MissingFile:
        return None
    except wr.FileFormatError:
        if kind != "elsewhere":
            raise
        return None  # the writer was killed amid the description


def kill_writer(command, environment, path, kind, moment):
    """Start a writer, kill it at some moment, look at what it left."""
    with subprocess.Popen(
        [*command, str(PROGRAM), kind, str(path)], stdout=subprocess.PIPE, env=environment, start_new_session=True
    ) as writer:
        line = writer.stdout.readline()
        time.sleep(moment)
        if command[-1] == "windrow":  # the driver, not what has started it
            found = subprocess.run(["pgrep", "-f", str(path)], capture_output=True, text=True, check=False)
            drivers = [int(p) for p in found.stdout.split() if int(p) != writer.pid]
            os.kill(min(drivers), 9)
        else:
            writer.kill()
        assert line == b"written\n"
    found = found_at(kind, path)
    if kind == "region":  # each object whole
        for i in range(0, 60, 20):
            for j in range(0, 50, 10):
                assert len(np.unique(found[i : i + 20, j : j + 10])) == 1, found[i : i + 20, j : j + 10]
    else:
        assert kind == "elsewhere" or found is not None
        assert found is None or len(np.unique(found)) == 1, found
    written_over.write(kind, str(path), -1)
    assert (found_at(kind, path) == -1).all()
    hidden = [name for name in os.listdir(path.parent) if name.startswith(".")]
    assert hidden == [], {
        name: os.listdir(path.parent / name) if (path.parent / name).is_dir() else "" for name in hidden
    }


@pytest.mark.parametrize("kind", written_over.KINDS)
def test_a_kill_at_a_random_moment(tmp_path, programs, kind):
    kill_writer([sys.executable], programs.environment(), tmp_path / "x", kind, random.random() * 0.3)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", written_over.KINDS)
def test_twenty_kills_at_random_moments(tmp_path, programs, kind):
    for number in range(20):
        folder = tmp_path / str(number)
        folder.mkdir()
        kill_writer([sys.executable], programs.environment(), folder / "x", kind, random.random() * 0.4)


@pytest.mark.slow
@pytest.mark.ranks
@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", written_over.KINDS)
def test_kills_of_the_driver_on_ranks(tmp_path, programs, nothing_left, kind):
    for number in range(4):
        folder = tmp_path / str(number)
        folder.mkdir()
        command = [*programs.mpirun(3), sys.executable, "-m", "windrow"]
        kill_writer(command, programs.environment(), folder / "x", kind, random.random() * 0.4)


def test_a_description_that_a_killed_writer_left_half_is_replaced(tmp_path):
    """Stores set what they have at once; fsspec's local files are emptied first."""
    written_over.write("elsewhere", str(tmp_path / "x"), 1)
    (tmp_path / "x" / "x" / "zarr.json").write_text("")
    assert found_at("elsewhere", str(tmp_path / "x")) is None
    written_over.write("elsewhere", str(tmp_path / "x"), 2)
    assert (found_at("elsewhere", str(tmp_path / "x")) == 2).all()
