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
