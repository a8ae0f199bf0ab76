"""zarr and HDF5 at S3's URLs, against a server on this machine: by one process and by ranks."""

from __future__ import annotations

from pathlib import Path

import pytest

moto = pytest.importorskip("moto.server")
s3fs = pytest.importorskip("s3fs")
pytest.importorskip("zarr")
pytest.importorskip("obstore")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

PROGRAM = str(Path(__file__).parent / "programs" / "s3_on_ranks.py")


@pytest.fixture
def server():
    """The URL of a server that has one bucket."""
    found = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    found.start()
    host, port = found.get_host_and_port()
    url = f"http://{host}:{port}"
    system = s3fs.S3FileSystem(endpoint_url=url, key="a", secret="b")
    if system.exists("bucket"):  # of another server of this process
        system.rm("bucket", recursive=True)
    system.mkdir("bucket")
    yield url
    found.stop()


@pytest.mark.parametrize("ranks", [0, pytest.param(3, marks=pytest.mark.ranks)])
def test_zarr_and_hdf5_at_urls(launch, server, ranks):
    ended = launch(ranks, PROGRAM, server)
    assert ended.status == 0, ended.err[-3000:]
    assert ended.last == "done"
