"""Each kind of files that arrays are read from does what `SourceTests` asks."""

from __future__ import annotations

import numpy as np
import pytest

import windrow as wr
from support.sources import SourceTests


class TestNpy(SourceTests):
    def write(self, path):
        with open(path, "wb") as file:
            np.save(file, self.values)

    def open(self, path, **chunks):
        return wr.from_npy(path, **chunks)


class TestFortranNpy(TestNpy):
    values = np.asfortranarray(SourceTests.values)


class TestMemmap(TestNpy):
    def open(self, path, **chunks):
        if not path.exists():
            pytest.skip("NumPy opens it")
        return wr.from_array(np.load(path, mmap_mode="r"), **chunks)


class TestFolder(SourceTests):
    """What `save` writes: Arrow files."""

    def write(self, path):
        wr.save(path, wr.from_array(self.values, chunks=(4, 3)))

    def open(self, path, **chunks):
        return wr.load(path, **chunks)

    def part(self, path):
        return min(path.glob("*.arrow"))


class TestStack(SourceTests):
    chunks = None

    def write(self, path):
        wr.to_npy_stack(path, wr.from_array(self.values, chunks=(4, 3)))

    def open(self, path, **chunks):
        return wr.from_npy_stack(path, **chunks)

    def part(self, path):
        return path / "1.npy"


class TestZarr(SourceTests):
    form = {"chunks": (5, 3)}  # noqa: RUF012

    def write(self, path):
        pytest.importorskip("zarr")
        wr.from_array(self.values).to_zarr(path, **self.form)

    def open(self, path, **chunks):
        return wr.from_zarr(path, **chunks)

    def part(self, path):
        return max(p for p in (path / "c").rglob("*") if p.is_file())


class TestShardedZarr(TestZarr):
    form = {"chunks": (2, 3), "shards": (6, 6)}  # noqa: RUF012


class TestHdf5(SourceTests):
    form = {"chunks": (5, 3), "compression": "gzip"}  # noqa: RUF012

    def write(self, path):
        h5py = pytest.importorskip("h5py")
        with h5py.File(path, "w") as file:
            file.create_dataset("x", data=self.values, **self.form)

    def open(self, path, **chunks):
        return wr.from_hdf5(path, "x", **chunks)


class TestPlainHdf5(TestHdf5):
    """In one piece, without chunks."""

    form = {}  # noqa: RUF012


class TestNetcdf(SourceTests):
    """Packed numbers, which are unpacked as they are read."""

    def write(self, path):
        netcdf = pytest.importorskip("netCDF4")
        with netcdf.Dataset(path, "w") as file:
            file.createDimension("t", 12)
            file.createDimension("y", 10)
            variable = file.createVariable("x", "i2", ("t", "y"), chunksizes=(5, 3))
            variable.scale_factor = 0.5
            variable[:] = self.values

    def open(self, path, **chunks):
        return wr.from_hdf5(path, "x", **chunks)


class TestTiff(SourceTests):
    values = SourceTests.values.astype("u2")
    form = {"compression": "zlib", "rowsperstrip": 5}  # noqa: RUF012

    def write(self, path):
        pytest.importorskip("tifffile").imwrite(path, self.values, photometric="minisblack", **self.form)

    def open(self, path, **chunks):
        return wr.from_tiff(path, **chunks)


class TestPlainTiff(TestTiff):
    form = {}  # noqa: RUF012


class TestImages(SourceTests):
    values = np.random.default_rng(1).integers(0, 200, (12, 10, 11)).astype("u1")
    chunks = None

    def write(self, path):
        imageio = pytest.importorskip("imageio.v3")
        path.mkdir()
        for number, image in enumerate(self.values):
            imageio.imwrite(path / f"{number}.png", image)

    def open(self, path, **chunks):
        return wr.imread(path / "*.png", **chunks)

    def part(self, path):
        return path / "3.png"


class TestParquet(SourceTests):
    values = SourceTests.values[:, 0].copy()
    chunks = 5

    def write(self, path):
        path.mkdir()
        wr.to_parquet(path / "x.parquet", {"a": wr.from_array(self.values, chunks=5), "b": wr.arange(12, chunks=5)})

    def open(self, path, **chunks):
        return wr.read_parquet(path, **chunks)["a"]

    def part(self, path):
        return next(p for p in path.rglob("*.parquet") if p.is_file())


class TestParquetMatrix(TestParquet):
    """Columns side by side."""

    values = SourceTests.values[:, :6].copy()
    chunks = None

    def write(self, path):
        path.mkdir()
        wr.to_parquet(path / "x.parquet", dict(zip("abcdef", map(wr.from_array, self.values.T), strict=True)))

    def open(self, path, **chunks):
        return wr.read_parquet(path, matrix=True, **chunks)[0]


class TestIpc(TestParquet):
    def write(self, path):
        path.mkdir()
        wr.to_ipc(path / "x.arrow", {"a": wr.from_array(self.values, chunks=5)})

    def open(self, path, **chunks):
        return wr.read_ipc(path, **chunks)["a"]

    def part(self, path):
        return next(p for p in path.rglob("*.arrow") if p.is_file())


class TestCsv(TestParquet):
    def write(self, path):
        path.mkdir()
        wr.to_csv(path / "x.csv", {"a": wr.from_array(self.values, chunks=5), "b": wr.arange(12, chunks=5)})

    def open(self, path, **chunks):
        return wr.read_csv(path, **chunks)["a"]

    def part(self, path):
        return next(p for p in path.rglob("*.csv") if p.is_file())
