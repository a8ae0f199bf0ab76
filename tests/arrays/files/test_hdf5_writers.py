"""HDF5 files that others write, too: nothing of theirs is lost, and names that can't be are refused."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import windrow as wr
from windrow.arrays.files.chunked import hdf5 as files
from windrow.arrays.files.writing import atomic_write

h5py = pytest.importorskip("h5py")


def left(folder):
    """Names in a folder, hidden ones as well."""
    return sorted(os.listdir(folder))


def test_a_file_that_is_open_for_writing_is_refused(tmp_path):
    def computed(block):
        raise AssertionError("computed")

    path = tmp_path / "x.h5"
    x = wr.map_blocks(computed, wr.ones(3), dtype=float)
    with h5py.File(path, "w") as file:
        with pytest.raises(wr.FileError, match=r"x\.h5' is open for writing in this process"):
            wr.to_hdf5(path, "x", x)
        file["after"] = 2
    with h5py.File(path) as file:
        assert list(file) == ["after"]
        wr.to_hdf5(path, "x", wr.ones(3))  # who reads has what there was
        assert list(file) == ["after"]
    text = "import h5py, sys; f = h5py.File(sys.argv[1], 'r+', locking=True); print(flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", text, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        other.stdout.readline()
        with pytest.raises(wr.FileError, match=r"x\.h5' is open for writing elsewhere"):
            wr.to_hdf5(path, "y", x)
        other.kill()
    assert left(tmp_path) == ["x.h5"]


def test_what_others_write_meanwhile_stays(tmp_path):
    path = tmp_path / "x.h5"

    def meddle(block):
        with h5py.File(path, "a") as file:
            file["b"] = 1
        return block

    x = wr.map_blocks(meddle, wr.ones(3), dtype=float)
    with pytest.raises(wr.FileExists, match="exists"):
        wr.to_hdf5(path, "a", x)
    with h5py.File(path, "r+") as file:
        assert list(file) == ["b"]
        del file["b"]
    with pytest.raises(wr.FileError, match=r"x\.h5' changed while 'a' came into a copy of it"):
        wr.to_hdf5(path, "a", x)
    with h5py.File(path) as file:
        assert list(file) == ["b"]
    assert left(tmp_path) == ["x.h5"]


@pytest.mark.parametrize("there", [True, False])
def test_of_two_writers_at_a_time_none_is_lost(tmp_path, monkeypatch, there):
    path = tmp_path / "x.h5"
    if there:
        wr.to_hdf5(path, "first", wr.ones(3))
    swap, both = atomic_write._swap, threading.Barrier(2)

    def slow(*given):
        time.sleep(0.2)  # the other one could look at the place meanwhile
        swap(*given)

    def together(*given):
        both.wait(20)
        write_data_sets(*given)

    def write(name):
        try:
            wr.to_hdf5(path, name, wr.ones(3))
        except wr.FileError:
            return []
        return [name]

    monkeypatch.setattr(atomic_write, "_swap", slow)
    write_data_sets = files.write_data_sets
    monkeypatch.setattr(files, "write_data_sets", together)
    with ThreadPoolExecutor(2) as pool:
        written = [name for names in pool.map(write, ["a", "b"]) for name in names]
    with h5py.File(path) as file:
        assert sorted(file) == sorted(["first", *written] if there else written)
    assert len(written) == 1
    assert left(tmp_path) == ["x.h5"]


def test_names_that_cannot_be(tmp_path):
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        file["x"], file["none"], file["type"] = [1], h5py.Empty("f8"), np.dtype("f8")
        for name in ("x/y", "type/z/y"):
            with pytest.raises(wr.FileExists, match=r"'(x|type)' in .*x\.h5 is no group; expected another name than"):
                files._refuse_names(file, str(path), (name,), True)
    with pytest.raises(wr.FileExists, match=r"'x' in .*x\.h5 is no group; expected another name than 'x/y'"):
        wr.to_hdf5(path, "/x/y", wr.ones(3))
    wr.to_hdf5(tmp_path / "other.h5", "g/y", wr.ones(3))
    with h5py.File(path, "r+") as file:
        file["g"] = h5py.ExternalLink("other.h5", "/g")
    with pytest.raises(wr.FileExists, match=r"'g' in .*x\.h5 is a link to another file"):
        wr.to_hdf5(path, "g/y", wr.ones(3), overwrite=True)
    with pytest.raises(wr.ArgumentError, match="'a/b'; expected another name: 'a' is to be a data set"):
        wr.to_hdf5(path, {"a/b": wr.ones(3), "a": wr.ones(3)})
    with pytest.raises(wr.ArgumentError, match="a name of its own"):
        wr.to_hdf5(path, {"a": wr.ones(3), "/a": wr.ones(3)})
    with pytest.raises(wr.ArgumentError, match=r"'none'; expected a data set; it is h5py\.Empty"):
        wr.from_hdf5(path, "none")
    with pytest.raises(wr.ArgumentError, match="'type'; expected a data set; it is a type"):
        wr.from_hdf5(path, "type")
    with h5py.File(path) as file, pytest.raises(wr.ArgumentError, match=r"'x' is 'h5py\.Empty'"):
        wr.from_array(file["none"])
