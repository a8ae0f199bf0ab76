"""What is neither a file nor a folder is refused: whoever opens a pipe waits."""

from __future__ import annotations

import os

import pytest

import windrow as wr


@pytest.mark.parametrize(
    "read",
    [
        wr.from_npy,
        wr.read_csv,
        wr.read_parquet,
        wr.read_ipc,
        wr.from_tiff,
        wr.imread,
        lambda path: wr.from_hdf5(path, "x"),
        lambda path: wr.read_csv([path]),
    ],
)
def test_pipes_and_devices_are_refused(tmp_path, read):
    pytest.importorskip("h5py")
    os.mkfifo(tmp_path / "x.csv")
    with pytest.raises(wr.FileError, match=r"x\.csv', which is a pipe \(FIFO\); expected a regular file"):
        read(tmp_path / "x.csv")
    with pytest.raises(wr.FileError, match="'/dev/zero', which is a device; expected a regular file"):
        read("/dev/zero")
    with pytest.raises(wr.FileExists, match="no HDF5 file"):
        wr.to_hdf5(tmp_path / "x.csv", "x", wr.ones(3), overwrite=True)


def test_a_pipe_in_a_folder_is_named(tmp_path):
    (tmp_path / "a.csv").write_text("x\n1\n")
    os.mkfifo(tmp_path / "b.csv")
    with pytest.raises(wr.FileError, match=r"b\.csv', which is a pipe"):
        wr.read_csv(tmp_path)


@pytest.mark.parametrize(
    "writer", ["save", "to_npy", "to_npy_stack", "to_zarr", "to_hdf5", "to_parquet", "to_ipc", "to_csv"]
)
@pytest.mark.parametrize("overwrite", ["no", "False", 2, 0.0])
def test_what_is_neither_true_nor_false_replaces_nothing(tmp_path, writer, overwrite):
    path = str(tmp_path / "there")
    tables = writer in ("to_parquet", "to_ipc", "to_csv")

    def write(value, **more):
        x = wr.full(4, float(value)) if tables else wr.full((4, 4), float(value))
        if writer == "to_hdf5":
            wr.to_hdf5(path, {"/x": x}, **more)
        elif tables:
            getattr(wr, writer)(path, {"x": x}, **more)
        elif writer == "save":
            wr.save(path, x, **more)
        else:
            getattr(wr, writer)(*((path, x) if writer == "to_npy_stack" else (x, path)), **more)

    def content():
        files = sorted(p for p in tmp_path.rglob("*") if p.is_file())
        return [(str(p), p.read_bytes()) for p in files]

    write(1)
    before = content()
    with pytest.raises(wr.ArgumentError, match=f"{writer}: argument 'overwrite' is .*; expected True or False"):
        write(0, overwrite=overwrite)
    assert content() == before
