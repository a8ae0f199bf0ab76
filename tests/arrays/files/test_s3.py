"""Files in an S3 bucket, kept by a server on this machine: tables, stacks and pictures by fsspec and s3fs."""

from __future__ import annotations

import json
import textwrap

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import windrow as wr

moto = pytest.importorskip("moto.server")
s3fs = pytest.importorskip("s3fs")
pytest.importorskip("tifffile")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

PROGRAM = """
    import json, sys
    import windrow as wr

    options = json.loads(sys.argv[1])
    table, matrix = wr.read_parquet("s3://files/t/*.parquet", storage_options=options), None
    pictures = wr.from_tiff("s3://files/x.tif", storage_options=options, chunks=(1, 20, 30))
    print(int(table["n"].sum()), int(pictures.sum()), str(table["s"][-1].compute()))
"""


@pytest.fixture(scope="module")
def bucket(tmp_path_factory):
    """A server with a bucket that has files of each kind; what fsspec needs to find it."""
    import tifffile

    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    options = {
        "key": "k",
        "secret": "s",
        "client_kwargs": {"endpoint_url": f"http://{host}:{port}"},
    }
    folder = tmp_path_factory.mktemp("s3")
    data = np.arange(4 * 20 * 30, dtype="u2").reshape(4, 20, 30)
    tifffile.imwrite(folder / "x.tif", data, compression="zlib", photometric="minisblack")
    (folder / "t").mkdir()
    for i in range(3):
        part = pa.table({"n": np.arange(100) + 100 * i, "s": [f"row {100 * i + k}" for k in range(100)]})
        pq.write_table(part, folder / "t" / f"{i}.parquet", row_group_size=40)
    (folder / "x.csv").write_text("a,b\n" + "".join(f'{k},"text\n{k}"\n' for k in range(200)))
    wr.to_npy_stack(folder / "stack", wr.from_array(data, chunks=(1, 20, 30)))
    wr.to_ipc(folder / "ipc", {"n": wr.arange(50, chunks=20)})
    system = s3fs.S3FileSystem(**options)
    if system.exists("files"):  # of another server of this process: tests on ranks come last
        system.rm("files", recursive=True)
    system.mkdir("files")
    system.put(f"{folder}/", "files/", recursive=True)
    yield options, data, system
    server.stop()


def test_everything_is_read(bucket):
    options, data, _ = bucket
    with wr.config.set(chunk_bytes=1 << 10):
        assert (wr.from_tiff("s3://files/x.tif", storage_options=options).compute() == data).all()
    assert (wr.from_npy_stack("s3://files/stack", storage_options=options)[2, ::3].compute() == data[2, ::3]).all()
    table = wr.read_parquet("s3://files/t", storage_options=options)
    assert table["n"].numblocks == (9,)
    np.testing.assert_array_equal(table["n"].compute(), np.arange(300))
    assert wr.read_ipc("s3://files/ipc", storage_options=options)["n"].sum().compute() == 1225
    rows = wr.read_csv("s3://files/x.csv", blocksize=300, storage_options=options)
    assert rows["a"].sum().compute() == 19900
    assert rows["b"][150].compute() == "text\n150"


def test_errors_name_the_object(bucket):
    options, _, system = bucket
    with pytest.raises(wr.MissingFile, match=r"s3://files/none\.tif"):
        wr.from_tiff("s3://files/none.tif", storage_options=options)
    system.copy("files/t/0.parquet", "files/u.parquet")
    found = wr.read_parquet("s3://files/u.parquet", storage_options=options)["n"]
    system.pipe("files/u.parquet", b"other")
    with pytest.raises(wr.SourceChanged, match=r"s3://files/u\.parquet .*changed underneath"):
        found.compute()
    system.rm("files/u.parquet")
    with pytest.raises(wr.SourceChanged, match=r"s3://files/u\.parquet .*is gone"):
        found.compute()
    with pytest.raises(wr.FileError, match="s3://nofiles"):
        wr.from_tiff("s3://nofiles/x.tif", storage_options={**options, "secret": 5})


@pytest.mark.ranks
def test_on_ranks(bucket, launch, tmp_path):
    options, data, _ = bucket
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(PROGRAM))
    ended = launch(3, str(program), json.dumps(options))
    assert ended.status == 0, ended.err[-3000:]
    assert ended.last == f"{300 * 299 // 2} {data.sum()} row 299"
