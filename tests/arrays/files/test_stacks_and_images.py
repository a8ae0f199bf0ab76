"""Stacks of `.npy` files, TIFF and images: what others wrote is read, at paths and at URLs; errors say where."""

from __future__ import annotations

import os
import pickle

import numpy as np
import pytest

import windrow as wr

fsspec = pytest.importorskip("fsspec")
RNG = np.random.default_rng(0)


def in_memory(folder, name):
    """Copy a folder to fsspec's memory, and return its URL."""
    system = fsspec.filesystem("memory")
    if system.exists(f"/{name}"):
        system.rm(f"/{name}", recursive=True)
    system.put(f"{folder}/", f"/{name}", recursive=True)
    return f"memory://{name}"


# -------------------------------------------------------------------- stacks


@pytest.mark.parametrize("shape", [(0,), (7,), (5, 6), (4, 3, 5), (3, 0, 2)])
@pytest.mark.parametrize("dtype", ["f8", ">i4", "?", "c8", "M8[D]", "U3", "S2"])
def test_stacks_come_back(tmp_path, shape, dtype):
    data = np.arange(np.prod(shape, dtype=int)).astype("i8").reshape(shape).astype(dtype)
    for axis in range(len(shape)):
        for k, chunks in enumerate(wr.testing.chunkings(shape)):
            x, path = wr.from_array(data, chunks=chunks), tmp_path / f"{axis}-{k}"
            wr.to_npy_stack(path, x, axis=axis)
            found = wr.from_npy_stack(path)
            assert found.chunks[axis] == x.chunks[axis]
            assert found.dtype == data.dtype
            np.testing.assert_array_equal(found.compute(), data)
    assert not [n for n in os.listdir(tmp_path) if n.startswith(".")]


def test_dask_reads_our_stacks_and_we_read_its(tmp_path):
    da = pytest.importorskip("dask.array")
    data = RNG.normal(size=(7, 5, 3))
    wr.to_npy_stack(tmp_path / "ours", wr.from_array(data, chunks=(2, 3, 2)), axis=-2)
    theirs = da.from_npy_stack(str(tmp_path / "ours"))
    assert theirs.chunks == ((7,), (3, 2), (3,))
    np.testing.assert_array_equal(theirs.compute(), data)
    da.to_npy_stack(str(tmp_path / "dask"), da.from_array(np.asfortranarray(data), chunks=(3, 5, 3)))
    for path in (tmp_path / "dask", f"file://{tmp_path}/dask", in_memory(tmp_path / "dask", "stack")):
        found = wr.from_npy_stack(path)
        assert found.chunks == ((3, 3, 1), (5,), (3,))
        np.testing.assert_array_equal(found[::-1, [4, 0], 1:].compute(), data[::-1, [4, 0], 1:])


def test_broken_stacks(tmp_path):
    path = tmp_path / "s"
    wr.to_npy_stack(path, wr.ones((6, 4), chunks=(2, 4)))
    x = wr.from_npy_stack(path)
    with pytest.raises(wr.FileExists, match="overwrite=True"):
        wr.to_npy_stack(path, x)
    wr.to_npy_stack(path, x + 1, overwrite=True)
    with pytest.raises(wr.SourceChanged, match=r"0\.npy|1\.npy|2\.npy"):
        x.compute()
    whole = (path / "1.npy").read_bytes()
    (path / "1.npy").write_bytes(whole[:-5])
    with pytest.raises(wr.FileFormatError, match=r"1\.npy is truncated: it has .* bytes; expected"):
        wr.from_npy_stack(path).compute()
    (path / "1.npy").write_bytes(b"hello" * 30)
    with pytest.raises(wr.FileFormatError, match=r"1\.npy is no \.npy file"):
        wr.from_npy_stack(path).compute()
    np.save(path / "1.npy", np.ones((2, 3)))
    with pytest.raises(wr.FileFormatError, match=r"1\.npy has shape \(2, 3\) .*expected \(2, 4\)"):
        wr.from_npy_stack(path).compute()
    (path / "1.npy").unlink()
    with pytest.raises(wr.MissingFile, match=r"incomplete: there is no 1\.npy of 3"):
        wr.from_npy_stack(path)
    for wrong in (b"", pickle.dumps(print), pickle.dumps({"chunks": ((2,), (2,)), "dtype": np.dtype("O"), "axis": 0})):
        (path / "info").write_bytes(wrong)
        with pytest.raises(wr.FileFormatError, match="doesn't describe a stack"):
            wr.from_npy_stack(path)
    with pytest.raises(wr.MissingFile, match="there is nothing"):
        wr.from_npy_stack(tmp_path / "none")
    with pytest.raises(wr.AxisError, match="to_npy_stack: argument 'axis' is 2"):
        wr.to_npy_stack(tmp_path / "none", x, axis=2)
    (path / "mine.txt").write_text("years")
    with pytest.raises(wr.FileExists, match="stays as it is"):
        wr.to_npy_stack(path, x, overwrite=True)


# -------------------------------------------------------------------- TIFF

tifffile = pytest.importorskip("tifffile")
STORED = {
    "plain": {},
    "zlib": {"compression": "zlib"},
    "tiles": {"tile": (16, 32)},
    "packed tiles": {"tile": (16, 32), "compression": "zlib", "predictor": True},
    "strips": {"rowsperstrip": 7},
    "packed strips": {"rowsperstrip": 7, "compression": "zlib"},
    "big-endian": {"bigtiff": True, "byteorder": ">"},
}
SERIES = {
    "a page": ((50, 70), {}),
    "pages": ((3, 50, 70), {}),
    "axes": ((2, 3, 50, 70), {"metadata": {"axes": "TCYX"}}),
    "OME": ((2, 3, 50, 70), {"ome": True, "metadata": {"axes": "TCYX"}}),
    "colours": ((50, 70, 3), {"photometric": "rgb"}),
    "planes": ((3, 50, 70), {"photometric": "rgb", "planarconfig": "separate"}),
    "pages of colours": ((4, 50, 70, 3), {"photometric": "rgb"}),
}


@pytest.mark.parametrize("stored", STORED)
@pytest.mark.parametrize("kind", SERIES)
def test_tiff_series(tmp_path, kind, stored):
    shape, how = SERIES[kind]
    data = (RNG.random(shape) * 60_000).astype("u2")
    path = tmp_path / "x.ome.tif"
    tifffile.imwrite(path, data, **how, **STORED[stored])
    x = wr.from_tiff(path)
    assert x.shape == data.shape
    np.testing.assert_array_equal(x.compute(), data)
    x = wr.from_tiff(path, chunks=tuple(n // 3 + 1 for n in shape))
    key = (*(slice(None, None, -2),) * (len(shape) - 2), slice(5, 33, 3), [2, 1, -1])
    np.testing.assert_array_equal(x[key].compute(), data[key])


def test_tiff_chunks_are_whole_tiles(tmp_path):
    tifffile.imwrite(
        tmp_path / "x.tif", np.zeros((4, 640, 480), "f4"), tile=(64, 64), photometric="minisblack", compression="zlib"
    )
    with wr.config.set(chunk_bytes=64 * 200 * 4):
        assert wr.from_tiff(tmp_path / "x.tif").chunksize == (1, 64, 192)
    with wr.config.set(chunk_bytes=2 * 640 * 480 * 4):
        assert wr.from_tiff(tmp_path / "x.tif").chunksize == (2, 640, 480)


def test_tiff_levels_series_imagej_and_urls(tmp_path):
    big, other = (RNG.random((128, 96)) * 255).astype("u1"), np.arange(30.0).reshape(5, 6)
    with tifffile.TiffWriter(tmp_path / "x.tif", ome=True) as file:
        file.write(big, tile=(16, 16), subifds=1)
        file.write(big[::2, ::2], tile=(16, 16), subfiletype=1)
        file.write(other)
    assert wr.from_tiff(tmp_path / "x.tif").shape == big.shape
    np.testing.assert_array_equal(wr.from_tiff(tmp_path / "x.tif", level=1).compute(), big[::2, ::2])
    np.testing.assert_array_equal(wr.from_tiff(tmp_path / "x.tif", 1).compute(), other)
    for argument, value in (("series", 2), ("level", 2)):
        with pytest.raises(wr.ArgumentError, match=f"from_tiff: argument '{argument}' is 2; expected .* to 1"):
            wr.from_tiff(tmp_path / "x.tif", **{argument: value})
    hyper = (RNG.random((2, 3, 40, 60)) * 255).astype("u1")
    tifffile.imwrite(tmp_path / "j.tif", hyper, imagej=True)
    url = in_memory(tmp_path, "tiffs")
    for path in (tmp_path / "j.tif", url + "/j.tif"):
        np.testing.assert_array_equal(wr.from_tiff(path).compute(), hyper)
    np.testing.assert_array_equal(wr.from_tiff(url + "/x.tif", level=1).compute(), big[::2, ::2])


def ome(number):
    """What each of two files says of both."""
    ids = [f"urn:uuid:00000000-0000-0000-0000-00000000000{k}" for k in range(2)]
    planes = "".join(
        f'<TiffData IFD="0" FirstT="{t}" PlaneCount="1"><UUID FileName="t{t}.ome.tif">{ids[t]}</UUID></TiffData>'
        for t in range(2)
    )
    return (
        f'<OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06" UUID="{ids[number]}"><Image ID="Image:0">'
        '<Pixels ID="Pixels:0" DimensionOrder="XYCZT" Type="uint16" '
        'SizeX="30" SizeY="20" SizeC="1" SizeZ="1" SizeT="2">'
        f'<Channel ID="Channel:0:0" SamplesPerPixel="1"/>{planes}</Pixels></Image></OME>'
    ).encode()


@pytest.mark.filterwarnings("ignore")  # tifffile's files beside the first
def test_pages_of_a_tiff_in_several_files(tmp_path, caplog):
    data = np.arange(2 * 20 * 30, dtype="u2").reshape(2, 20, 30)
    for i, page in enumerate(data):
        tifffile.imwrite(tmp_path / f"t{i}.ome.tif", page, description=ome(i), metadata=None, compression="zlib")
    x = wr.from_tiff(tmp_path / "t0.ome.tif", chunks=(1, 20, 30))
    np.testing.assert_array_equal(x.compute(), data)
    url = in_memory(tmp_path, "parts")
    with pytest.raises(wr.FileFormatError, match=r"1 pages of series 0 are missing; .*t1\.ome\.tif"):
        wr.from_tiff(url + "/t0.ome.tif")
    (tmp_path / "t1.ome.tif").unlink()
    with pytest.raises(wr.SourceChanged, match=r"t1\.ome\.tif of the array is gone"):
        x.compute()
    with pytest.raises(wr.FileFormatError, match=r"1 pages of series 0 are missing; .*t1\.ome\.tif"):
        wr.from_tiff(tmp_path / "t0.ome.tif")


def test_broken_tiffs(tmp_path):
    path = tmp_path / "x.tif"
    path.write_text("hello")
    with pytest.raises(wr.FileFormatError, match=r"x\.tif is no TIFF file"):
        wr.from_tiff(path)
    tifffile.imwrite(path, RNG.random((40, 50)), compression="zlib", rowsperstrip=10)
    x, whole = wr.from_tiff(path), path.read_bytes()
    status = path.stat()
    middle = len(whole) // 2
    path.write_bytes(whole[:middle] + bytes(200) + whole[middle + 200 :])
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    with pytest.raises(wr.FileError, match=r"x\.tif can't be read: series 0, level 0: .*rror"):
        x.compute()
    path.write_bytes(whole + b"more")
    with pytest.raises(wr.SourceChanged, match="changed underneath"):
        x.compute()
    path.write_bytes(whole[: len(whole) - 100])
    with pytest.raises((wr.FileError, wr.FileFormatError), match=r"x\.tif"):
        wr.from_tiff(path).compute()
    tifffile.imwrite(path, np.zeros((40, 50), "u1"), compression="zlib")
    raw = bytearray(path.read_bytes())
    with tifffile.TiffFile(path) as file:
        place = file.pages[0].tags[259].valueoffset
    raw[place : place + 2] = (34887).to_bytes(2, "little")  # LERC
    path.write_bytes(raw)
    with pytest.raises(wr.FileFormatError, match=r"x\.tif is compressed by .*LERC.*imagecodecs"):
        wr.from_tiff(path)


# -------------------------------------------------------------------- images

imageio = pytest.importorskip("imageio.v3")


@pytest.fixture
def pictures(tmp_path):
    data = (RNG.random((11, 6, 5, 3)) * 255).astype("u1")
    for i, picture in enumerate(data):
        imageio.imwrite(tmp_path / f"day-{i}.png", picture)
    return tmp_path, data


def grey(picture):
    return picture.astype("f4").mean(axis=-1)


def test_images_in_the_order_of_their_numbers(pictures):
    folder, data = pictures
    paths = [folder / f"day-{i}.png" for i in range(11)]
    for name in (folder / "day-*.png", str(folder / "day-*.png"), paths, in_memory(folder, "pictures") + "/*.png"):
        x = wr.imread(name)
        assert x.chunks == ((1,) * 11, (6,), (5,), (3,))
        np.testing.assert_array_equal(x.compute(), data)
        np.testing.assert_array_equal(x[10, ::-2, [0, 2], 1].compute(), data[10, ::-2, [0, 2], 1])
    assert wr.imread(paths[3]).shape == (1, 6, 5, 3)


def test_images_by_functions(pictures):
    folder, data = pictures
    x = wr.imread(str(folder / "*.png"), imread=imageio.imread, preprocess=grey)
    assert (x.shape, x.dtype) == ((11, 6, 5), np.float32)
    np.testing.assert_allclose(x.compute(), data.astype("f4").mean(-1))
    np.testing.assert_array_equal(wr.imread(str(folder / "*.png"), preprocess=grey).compute(), x.compute())


def test_images_as_dask_reads_them(pictures):
    image = pytest.importorskip("dask.array.image")
    folder, _ = pictures
    pattern = str(folder / "day-?.png")
    theirs = image.imread(pattern, imageio.imread, grey)
    ours = wr.imread(pattern, imageio.imread, grey)
    assert ours.chunks == theirs.chunks
    np.testing.assert_array_equal(ours.compute(), theirs.compute())


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # imageio leaves open what it can't read
def test_images_that_do_not_fit(pictures):
    folder, _ = pictures
    x = wr.imread(folder / "*.png")
    imageio.imwrite(folder / "day-3.png", np.zeros((6, 4, 3), "u1"))
    with pytest.raises(wr.SourceChanged, match=r"day-3\.png changed underneath"):
        x.compute()
    for more in ({}, {"preprocess": np.asarray}):
        with pytest.raises(wr.ShapeError, match=r"day-3\.png has shape \(6, 4, 3\).*expected \(6, 5, 3\)"):
            wr.imread(folder / "*.png", **more).compute()
    (folder / "day-3.png").write_text("hello")
    with pytest.raises(wr.FileError, match=r"day-3\.png can't be read"):
        wr.imread(folder / "*.png").compute()
    with pytest.raises(wr.MissingFile, match=r"imread: argument 'filename' is .*no file that it matches"):
        wr.imread(str(folder / "*.bmp"))
    with pytest.raises(wr.MissingFile, match="there is nothing"):
        wr.imread(folder / "none.png")
    with pytest.raises(wr.ArgumentError, match="imread: argument 'preprocess' is 3"):
        wr.imread(folder / "*.png", preprocess=3)


def test_urls_that_lead_nowhere():
    with pytest.raises(wr.ArgumentError, match="a URL that fsspec opens"):
        wr.imread("nowhere://x/*.png")
    with pytest.raises(wr.MissingFile):
        wr.from_tiff("memory://none.tif")
    with pytest.raises(wr.ArgumentError, match="storage_options"):
        wr.from_tiff("memory://none.tif", storage_options=[1])
