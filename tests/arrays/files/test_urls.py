"""Writing to URLs, and reading back: whole or not at all, and never over what another operation made."""

from __future__ import annotations

import contextlib
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import windrow as wr

from .written_to_urls import KINDS, read, write

fsspec = pytest.importorskip("fsspec")
pytest.importorskip("h5py")

PROGRAM = Path(__file__).with_name("written_to_urls.py")


@pytest.fixture
def memory():
    """A file system in memory, and the URL of a folder in it."""
    system = fsspec.filesystem("memory")
    yield system, "memory://urls"
    if system.exists("/urls"):
        system.rm("/urls", recursive=True)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_written_is_read(memory, kind):
    system, url = memory
    assert read(kind, f"{url}/x", None) is None
    for value in (3, 4):
        write(kind, f"{url}/x", None, value)
        found = read(kind, f"{url}/x", None)
        assert found.size == 30_000
        assert (found == value).all()
    assert not [name for name in system.find("/urls") if ".partial" in name or "moving" in name]


@pytest.mark.parametrize(
    ("shape", "chunks"), [((), ()), ((0, 3), (1, 3)), ((1,), 1), ((7, 5), (3, 2)), ((4, 3, 5), (2, 2, 2))]
)
@pytest.mark.parametrize("dtype", ["?", "i1", ">i4", "f4", "c16", "U3", "M8[s]"])
def test_arrays_of_all_kinds(memory, shape, chunks, dtype):
    _, url = memory
    x = np.arange(int(np.prod(shape))).reshape(shape).astype(dtype)
    wr.to_npy(wr.from_array(x, chunks=chunks), f"{url}/x.npy")
    found = wr.from_npy(f"{url}/x.npy", chunks=2).compute()
    np.testing.assert_array_equal(found, x)
    assert found.dtype == x.dtype


def test_what_is_there_stays(memory):
    system, url = memory
    x = wr.arange(6, chunks=2)
    for write_it in (wr.to_parquet, wr.to_ipc, wr.to_csv, wr.to_npy_stack):
        place = f"{url}/{write_it.__name__}"
        write_it(place, x)
        with pytest.raises(wr.FileExists, match=f"{write_it.__name__}: .*which exists"):
            write_it(place, x)
        system.pipe_file(f"/urls/{write_it.__name__}/else", b"")
        with pytest.raises(wr.FileExists, match="didn't make"):
            write_it(place, x, overwrite=True)
    wr.to_npy(x, f"{url}/x.npy")
    with pytest.raises(wr.FileExists, match="which exists"):
        wr.to_npy(x, f"{url}/x.npy")
    with pytest.raises(wr.FileExists, match="a folder"):
        wr.to_npy(x, f"{url}/to_csv", overwrite=True)
    with pytest.raises(wr.FileExists, match="no HDF5 file"):
        wr.to_hdf5(f"{url}/x.npy", "x", x)
    wr.to_hdf5(f"{url}/x.h5", "x", x)
    wr.to_hdf5(f"{url}/x.h5", "y", x * 2)
    with pytest.raises(wr.FileExists, match="a data set 'y'"):
        wr.to_hdf5(f"{url}/x.h5", "y", x)
    assert (wr.from_hdf5(f"{url}/x.h5", "x") == x).all()
    assert (wr.from_hdf5(f"{url}/x.h5", "y") == 2 * x).all()


def test_a_failure_leaves_nothing(memory):
    system, url = memory

    def fail(block):
        raise ZeroDivisionError("mine")

    x = wr.arange(9, chunks=2).map_blocks(fail, dtype="i8")
    for write_it in (
        lambda: wr.to_npy(x, f"{url}/x"),
        lambda: wr.to_csv(f"{url}/y", x),
        lambda: wr.to_hdf5(f"{url}/z", "x", x),
        lambda: wr.to_npy_stack(f"{url}/w", x),
    ):
        with pytest.raises(ZeroDivisionError, match="mine"):
            write_it()
    assert system.find("/urls") == []


def test_what_is_half_moved_is_told(memory):
    system, url = memory
    for write_it, read_it in ((wr.to_csv, wr.read_csv), (wr.to_npy_stack, wr.from_npy_stack)):
        place = f"{url}/{read_it.__name__}"
        write_it(place, wr.arange(6))
        system.pipe_file(f"/urls/{read_it.__name__}/_windrow_moving", b"")
        with pytest.raises(wr.FileError, match="being moved"):
            read_it(place)
        write_it(place, wr.arange(6), overwrite=True)
        read_it(place)


def test_urls_that_nobody_opens():
    with pytest.raises(wr.ArgumentError, match="to_csv: argument 'path' is 'none://x'"):
        wr.to_csv("none://x", wr.arange(3))
    with pytest.raises(wr.ArgumentError, match="storage_options"):
        wr.to_npy(wr.arange(3), "memory://x", storage_options=3)


@pytest.fixture(scope="module")
def bucket():
    """fsspec's options for a server of S3's that has a bucket."""
    moto = pytest.importorskip("moto.server")
    s3fs = pytest.importorskip("s3fs")
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    options = {"key": "k", "secret": "s", "client_kwargs": {"endpoint_url": f"http://{host}:{port}"}}
    system = s3fs.S3FileSystem(**options)
    if not system.exists("urls"):
        system.mkdir("urls")
    yield options, system
    server.stop()


def kill_writer(command, environment, kind, url, options, moment):
    """Start a writer, kill it at some moment; what it left is whole, absent, or says that it was being moved."""
    arguments = [*command, str(PROGRAM), kind, url, json.dumps(options)]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, env=environment, start_new_session=True) as writer:
        line = writer.stdout.readline()
        time.sleep(moment)
        if command[-1] == "windrow":  # the driver, not what has started it
            found = subprocess.run(["pgrep", "-f", url], capture_output=True, text=True, check=False)
            os.kill(min(int(p) for p in found.stdout.split() if int(p) != writer.pid), 9)
        else:
            writer.kill()
        assert line == b"written\n"
    with contextlib.suppress(wr.FileError):
        found = read(kind, url, options)
        assert found is None or (found.size == 30_000 and len(np.unique(found)) == 1)
    write(kind, url, options, -1)
    assert (read(kind, url, options) == -1).all()


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", KINDS)
def test_twenty_kills_at_random_moments(bucket, programs, kind):
    options, system = bucket
    for number in range(20):
        url = f"s3://urls/{kind}{number}"
        kill_writer([sys.executable], programs.environment(), kind, url, options, random.random() * 0.4)
    left = [name for name in system.find("urls") if ".partial" in name or "moving" in name]
    assert left == []


@pytest.mark.slow
@pytest.mark.ranks
@pytest.mark.timeout(300)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", KINDS)
def test_kills_of_the_driver_on_ranks(bucket, programs, nothing_left, kind):
    options, _ = bucket
    command = [*programs.mpirun(3), sys.executable, "-m", "windrow"]
    for number in range(4):
        url = f"s3://urls/ranks_{kind}{number}"
        kill_writer(command, programs.environment(), kind, url, options, random.random() * 0.4)
