"""What users of chunked arrays look for: overlap, coarsen, shuffle, store, vindex, blocks, moments, missing values."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest

import windrow as wr
from support.arrays import same
from windrow.graph.expr.expr import walk

DATA = np.random.default_rng(3).standard_normal((12, 10))
CHUNKS = [-1, (5, 4), ((1, 7, 4), (3, 3, 4))]
some = pytest.mark.parametrize("chunks", CHUNKS)

PROGRAM = """
import numpy as np
import windrow as wr

data = np.arange(120.0).reshape(12, 10)
x = wr.from_array(data, chunks=(5, 4)) + 0

def counted(block, axis, keepdims):
    return {"n": np.ones_like(block).sum(axis=axis, keepdims=keepdims), "t": block.sum(axis=axis, keepdims=keepdims)}

def together(parts, axis, keepdims):
    return {name: part.sum(axis=axis, keepdims=keepdims) for name, part in parts.items()}

def share(parts, axis, keepdims):
    return parts["t"].sum(axis=axis, keepdims=keepdims) / parts["n"].sum(axis=axis, keepdims=keepdims)

assert x.reduction(counted, share, combine=together, split_every=2).compute() == data.mean()
assert (wr.coarsen(np.max, x, {0: 3, 1: 2}).compute() == data.reshape(4, 3, 5, 2).max((1, 3))).all()
assert (x.vindex[[0, 11, 3], [9, 0, 4]].compute() == data[[0, 11, 3], [9, 0, 4]]).all()
assert (wr.cumreduction(np.cumsum, np.add, 0, x, 0).compute() == data.cumsum(0)).all()
target = np.zeros((12, 10))
with wr.config.set(chunk_bytes=100):  # so that it comes in several goes
    x.store(target)
assert (target == data).all()
smooth = x.map_overlap(lambda b: b[1:-1] + b[2:] + b[:-2], {0: 1}, "periodic", trim=False)
assert (smooth.compute() == data + np.roll(data, 1, 0) + np.roll(data, -1, 0)).all()
print("right")
"""


@some
def test_coarsen(chunks):
    x = wr.from_array(DATA, chunks=chunks)
    same(wr.coarsen(np.mean, x, {0: 3, 1: 2}), DATA.reshape(4, 3, 5, 2).mean((1, 3)), 1e-14)
    same(wr.coarsen(np.max, x, {1: 3}, trim_excess=True), DATA[:, :9].reshape(12, 3, 3).max(2))
    same(wr.coarsen(np.std, x, {-1: 10}, ddof=1), DATA.std(1, ddof=1, keepdims=True), 1e-14)
    for axes, error in (({1: 3}, ValueError), ({2: 2}, np.exceptions.AxisError), ({0: 0}, TypeError)):
        with pytest.raises(error, match=r"coarsen|out of bounds"):
            wr.coarsen(np.mean, x, axes)
    with pytest.raises(TypeError, match=r"coarsen.*'reduction'"):
        wr.coarsen(3, x, {0: 2})  # type: ignore[arg-type]


@some
def test_shuffle(chunks):
    x = wr.from_array(DATA, chunks=chunks)
    groups = [[11, 0], [5], [4, 3, 3, 7]]
    found = x.shuffle(groups, axis=0)
    same(found, DATA[[11, 0, 5, 4, 3, 3, 7]])
    stops, borders = np.cumsum(found.chunks[0]).tolist(), {0, 2, 3, 7}
    assert set(stops) <= borders
    for wrong in ([[12]], [[-1]], [3], "ab"):
        with pytest.raises(IndexError, match=r"shuffle: argument 'indexer'"):
            wr.shuffle(x, wrong, axis=0)  # type: ignore[arg-type]


@some
def test_points(chunks):
    x = wr.from_array(DATA, chunks=chunks)
    i, j = np.array([[0, 3], [11, -1]]), np.array([2, 9])
    same(x.vindex[i, j], DATA[i, j])
    same(x.vindex[:, j], DATA[:, j].T)
    same(x.vindex[i, 2:5], np.moveaxis(DATA[:, 2:5], 0, 0)[i])
    same(x.vindex[[], []], DATA[[], []])
    cube = wr.from_array(DATA.reshape(4, 3, 10), chunks=(3, 2, 4))
    same(cube.vindex[[0, 2], :, [1, 3]], DATA.reshape(4, 3, 10)[[0, 2], :, [1, 3]])
    same(x.vindex[:], DATA)
    same(x.vindex[2:9:3], DATA[2:9:3])
    same(x.vindex[..., j], DATA[:, j].T)
    for wrong in ((None,), (None, [1]), ([1.5], [1]), (np.ones(12, bool),), ([1], [1], [1])):
        with pytest.raises(IndexError, match="vindex"):
            x.vindex[wrong]
    with pytest.raises(IndexError):
        x.vindex[[12], [0]].compute()


def test_blocks():
    x = wr.from_array(DATA, chunks=(5, 4))
    same(x.blocks[[0, 1], [0, 1]], DATA[:10, :8])
    same(x.blocks[[2, 0], [1, 0]], DATA[np.ix_([10, 11, 0, 1, 2, 3, 4], [4, 5, 6, 7, 0, 1, 2, 3])])
    same(x.partitions[1, 2], DATA[5:10, 8:])


@some
def test_moments_and_missing_values(chunks):
    x = wr.from_array(DATA, chunks=chunks)
    for axis in (None, 0, (0, 1)):
        away = DATA - DATA.mean(axis, keepdims=True)
        for order in range(5):
            same(x.moment(order, axis), (away**order).mean(axis), 1e-13, 1e-13)
    same(wr.moment(x, 2, 0, keepdims=True, ddof=1), DATA.var(0, ddof=1, keepdims=True), 1e-13)
    with pytest.raises(TypeError, match=r"moment.*'order'"):
        x.moment(-1)
    holes = np.where(DATA > 0, DATA, np.nan)
    lazy = wr.from_array(holes, chunks=chunks)
    same(wr.isnull(lazy), np.isnan(holes))
    same(wr.notnull(lazy), ~np.isnan(holes))
    same(wr.isnull(wr.arange(3)), np.zeros(3, bool))
    same(wr.isnull(np.array(["NaT", "2020-01-01"], "M8[D]")), np.array([True, False]))


def test_sizes_that_depend_on_data():
    x = wr.map_blocks(lambda b: b, wr.from_array(DATA, chunks=5), dtype=float)
    found = x[x > 0]
    assert found.compute_chunk_sizes() is found
    assert found.shape == (int((DATA > 0).sum()),)


class Counting:
    """An array that counts writes, and notes whether the lock was held."""

    def __init__(self, shape, lock=None):
        self.values, self.shape, self.dtype = np.zeros(shape), shape, np.dtype(float)
        self.lock, self.held = lock, []

    def __setitem__(self, key, value):
        self.held.append(self.lock.locked() if self.lock else False)
        self.values[key] = value

    def __getitem__(self, key):
        return self.values[key]


@some
def test_store(chunks):
    x = wr.from_array(DATA, chunks=chunks)
    lock = threading.Lock()
    target = Counting((12, 10), lock)
    assert wr.store(x, target, lock=lock) is None
    np.testing.assert_array_equal(target.values, DATA)
    assert target.held == [True] * x.npartitions
    assert not lock.locked()
    wide = Counting((24, 30))
    kept = x.store(wide, regions=(slice(1, 24, 2), slice(25, 5, -2)), return_stored=True)
    same(kept, DATA)
    np.testing.assert_array_equal(wide.values[1::2, 25:5:-2], DATA)
    assert np.count_nonzero(wide.values) == DATA.size
    both = [np.zeros((12, 10)), np.zeros(10)]
    later = wr.store([x, x.sum(0)], both, compute=False)
    assert not both[0].any()
    later.compute()
    np.testing.assert_array_equal(both[0], DATA)
    np.testing.assert_allclose(both[1], DATA.sum(0))


class Slow(Counting):
    """An array into which the first writes take long."""

    def __setitem__(self, key, value):
        time.sleep(0.03 if value.flat[0] == 1 else 0)
        super().__setitem__(key, value)


@pytest.mark.parametrize("by", ["object", "views", "zarr"])
def test_the_last_of_several_sources_of_one_target_stays(by, tmp_path):
    first, last = wr.ones(40, chunks=5), wr.full(40, 2.0, chunks=5)
    if by == "object":
        target = Slow((40,))
        wr.store([first, last], [target, target])
        assert set(target.values) == {2}
        target = Slow((60,))
        wr.store([first, last], [target, target], regions=[(slice(20, 60),), (slice(0, 40),)])
        assert target.values.tolist() == [2] * 40 + [1] * 20
    elif by == "views":
        array = np.zeros(60)
        for _ in range(20):
            wr.store([wr.map_blocks(np.sort, first), last], [array[20:], array[:40]])
            assert array.tolist() == [2] * 40 + [1] * 20
    else:
        zarr = pytest.importorskip("zarr")
        kept = zarr.create_array(tmp_path / "x.zarr", shape=(40,), chunks=(10,), dtype="f8")
        wr.store([first, last], [kept, zarr.open_array(tmp_path / "x.zarr", mode="r+")])
        assert set(kept[:]) == {2}


def test_one_array_and_a_list_of_its_region():
    target = np.zeros(6)
    wr.store(wr.arange(3, chunks=2), target, regions=[(slice(2, 5),)])
    assert target.tolist() == [0, 0, 0, 1, 2, 0]
    with pytest.raises(wr.ArgumentError, match="a tuple of slices for each of 1 sources"):
        wr.store(wr.arange(3), target, regions=[(slice(0, 3),), (slice(3, 6),)])


def test_store_in_several_goes_computes_once(tmp_path):
    path = str(tmp_path / "calls")  # since functions are pickled

    def counted(block):
        with open(path, "a") as file:
            file.write("x")
        return block

    x = wr.map_blocks(counted, wr.from_array(DATA, chunks=(3, 5)), dtype=float)
    target = np.zeros((12, 10))
    with wr.config.set(chunk_bytes=100, threads=1):
        x.store(target)
    np.testing.assert_array_equal(target, DATA)
    assert (tmp_path / "calls").read_text() == "x" * 8
    with pytest.raises(OSError, match="full"):
        x.store(Full())


class Full(Counting):
    """An array that takes nothing."""

    def __init__(self):
        super().__init__((12, 10))

    def __setitem__(self, key, value):
        raise OSError("full")


def test_store_refuses():
    x: Any = wr.from_array(DATA, chunks=5)
    for arguments, argument in (
        ((DATA, np.zeros((12, 10))), "sources"),
        (([x], [np.zeros((12, 10))] * 2), "targets"),
        ((x, 3), "targets"),
        ((x, np.zeros((12, 9))), "sources"),
        ((x, np.zeros((20, 10)), True, (slice(3), slice(None))), "sources"),
        ((x, np.zeros((20, 10)), True, (slice(12),)), "regions"),
        (([x, x], [np.zeros((12, 10))] * 2, True, [None]), "regions"),
    ):
        with pytest.raises(wr.WindrowError, match=f"^store: argument '{argument}'"):
            wr.store(*arguments)


@some
def test_overlap_and_trim(chunks):
    x = wr.from_array(DATA, chunks=chunks)
    for boundary in (None, "none", "periodic", "reflect", "nearest", 7.0, {0: "none", 1: 3.0}):
        for depth in (1, {0: 1, 1: (1, 0)}, (1, 0)):
            wide = wr.overlap.overlap(x, depth, boundary)
            same(wr.overlap.trim_overlap(wide, depth, boundary), DATA)
    wide = wr.overlap.overlap(wr.from_array(DATA, chunks=(6, 5)), {0: 2, 1: 1}, {0: 100, 1: "reflect"})
    assert wide.chunks == ((10, 10), (7, 7))
    edges = np.pad(DATA, [(0, 0), (1, 1)], "symmetric")
    expected = np.pad(edges, [(2, 2), (0, 0)], constant_values=100)
    np.testing.assert_array_equal(wide.compute()[:10, :7], expected[:10, :7])
    np.testing.assert_array_equal(wide.compute()[10:, 7:], expected[6:, 5:])
    assert wr.overlap.trim_internal(wide, {0: 2}, "periodic").chunks == ((6, 6), (7, 7))
    for trim, argument in ((wr.overlap.trim_internal, "axes"), (wr.overlap.trim_overlap, "depth")):
        message = rf"^{trim.__name__}: argument '{argument}' is \(6, 6\); expected margins along axis 0 .* \(10, 10\)"
        with pytest.raises(ValueError, match=message):
            trim(wide, {0: 6}, "periodic")
    for depth in (3, (3, 1), (0, 2)):  # the last chunk has one element
        reaching = wr.overlap.overlap(wr.arange(9, chunks=2), {0: depth})
        with pytest.raises(ValueError, match=r"trim_overlap: argument 'depth' is .* along axis 0 .* whole"):
            wr.overlap.trim_overlap(reaching, {0: depth})
    np.testing.assert_array_equal(wr.overlap.trim_overlap(wr.overlap.overlap(wr.arange(9), 3), 3).compute(), range(9))
    assert wr.overlap.map_overlap is wr.map_overlap
    assert wr.overlap.sliding_window_view(x, 3, 0).shape == (10, 10, 3)


def shrunk(block):
    return block[1:-1] + block[2:] + block[:-2]


def test_functions_that_trim():
    x = wr.from_array(DATA, chunks=(5, 4))
    around = DATA + np.roll(DATA, 1, 0) + np.roll(DATA, -1, 0)
    for dtype in (None, float):
        same(x.map_overlap(shrunk, {0: 1}, "periodic", trim=False, dtype=dtype), around, 1e-14)
        same(wr.map_overlap(x, shrunk, {0: 1}, "periodic", False), around, 1e-14)
        same(x.map_overlap(shrunk, {0: 1}, trim=False), around[1:-1], 1e-14)
    most = x.map_overlap(lambda b: b.max(keepdims=True), 1, trim=False)
    assert most.chunks == ((1, 1, 1), (1, 1, 1))
    same(most[1, 1], DATA[4:11, 3:9].max())
    with pytest.raises(ValueError, match=r"expected \(7, 4\), the chunk with its margin; .*trim=False"):
        x.map_overlap(shrunk, {0: 1}, "periodic").compute()


def test_map_overlap_of_arrays_of_several_ranks():
    x, line = wr.from_array(DATA, chunks=(5, 4)), wr.from_array(DATA[0], chunks=3)
    found = wr.map_overlap(lambda a, b: a + b, x, line, depth=1, boundary="reflect")
    same(found, DATA + DATA[0])
    found = wr.map_overlap(lambda a, b: a + b[1:-1], x, line, depth=[0, 1], boundary=0)
    same(found, DATA + DATA[0])
    same(wr.map_overlap(lambda a, n: a * n, x, 1, "none", True, 3), DATA * 3)
    for more, words in (({}, "'depth' is None"), ({"depth": [1, 1, 1]}, "'depth'"), ({"depth": 1.5}, "'depth'")):
        with pytest.raises(wr.WindrowError, match=words):
            wr.map_overlap(lambda a, b: a, x, x, **more)


def test_map_blocks_matches_chunks_by_number():
    x, y = wr.arange(40, chunks=10), wr.arange(8, chunks=2)
    found = wr.map_blocks(lambda a, b: a[:2] * 0 + b, x, y, chunks=(2,), dtype=int)
    same(found, np.arange(8))
    tall, wide = wr.ones((4, 4), chunks=(2, 4)), wr.ones((2, 6), chunks=(2, 3))
    found = wr.map_blocks(lambda a, b: np.full((3, 5), a.size * b.size), tall, wide, chunks=(3, 5), dtype=int)
    same(found, np.full((6, 10), 48))
    with pytest.raises(ValueError, match=r"map_blocks: arrays have shapes \(40,\) in \(4,\) chunks"):
        wr.map_blocks(lambda a, b: a, x, wr.arange(9, chunks=3))
    same(wr.map_blocks(lambda a, n, b: a * n + b, x, 3, x), np.arange(40) * 4)


def test_block_info():
    def about(block, block_info=None, block_id=None):
        first = 6 * block_id[0]
        here = {"shape": (12, 10), "num-chunks": (2, 1), "chunk-location": block_id}
        here["array-location"] = [(first, first + 6), (0, 10)]
        assert block_info == {0: here, None: here | {"chunk-shape": (6, 10), "dtype": np.dtype("f8")}}
        return block

    def made(block_info=None):
        (first, last), *_ = block_info[None]["array-location"]
        return np.arange(first, last, dtype=block_info[None]["dtype"])

    x = wr.from_array(DATA, chunks=(6, 10))
    with wr.config.set(threads=1):
        same(wr.map_blocks(about, x, dtype="f8").map_blocks(lambda b: b, name="after"), DATA)
        same(wr.map_blocks(made, chunks=((4, 2),), dtype="i4"), np.arange(6, dtype="i4"))
    assert wr.map_blocks(about, x, dtype="f8", name="shown").expr.label == "map_blocks(shown)"


def test_pad_by_a_function():
    def filled(line, width, axis, keywords):
        line[: width[0]] = keywords["value"]
        line[line.size - width[1] :] = keywords["value"] + axis

    for chunks in CHUNKS:
        x = wr.from_array(DATA, chunks=chunks)
        same(np.pad(x, 2, filled, value=5), np.pad(DATA, 2, filled, value=5))
        same(wr.pad(x, ((1, 0), (0, 3)), filled, value=5), np.pad(DATA, ((1, 0), (0, 3)), filled, value=5))


@some
def test_reshape_blockwise(chunks):
    cube = DATA.reshape(4, 3, 10)
    x = wr.from_array(cube, chunks=((1, 3), 2, (3, 3, 4)))
    for shape in ((4, 30), (12, 10), 120, -1):
        found = wr.reshape_blockwise(x, shape)
        assert found.npartitions == x.npartitions
        for ours, theirs in zip(found.blocks, x.blocks, strict=True):
            np.testing.assert_array_equal(ours.compute().ravel(), theirs.compute().ravel())
        same(wr.reshape_blockwise(found, (4, 3, 10), x.chunks), cube)
    y = wr.from_array(DATA, chunks=chunks)
    assert sorted(wr.reshape_blockwise(y, -1).compute()) == sorted(DATA.ravel())
    for arguments in (((5, 24),), ((6, 2, 10),), ((12, 10), ((12,), (10,)))):
        with pytest.raises(ValueError, match="reshape_blockwise"):
            wr.reshape_blockwise(x, *arguments)


def test_reshaped_chunks_are_one_operation_however_many_they_are():
    data = np.random.default_rng(5).integers(0, 9, (60, 6, 4))
    x = wr.from_array(data, chunks=(1, (1, 3, 2), (3, 1)))
    flat = wr.reshape_blockwise(x, (60, 24))
    assert len(list(walk([flat.expr]))) == 2
    back = wr.reshape_blockwise(flat + 1, (60, 6, 4), x.chunks)
    same(back - 1, data)
    assert (back * 2).sum().compute() == ((data + 1) * 2).sum()
    assert wr.reshape_blockwise(x.persist(), -1).numblocks == (360,)
    same(wr.reshape_blockwise(wr.zeros((0, 4), chunks=2), -1), np.zeros(0))
    with pytest.raises(wr.ChunksError, match="chunks of as many elements"):
        wr.reshape_blockwise(flat, (60, 6, 4), ((1,) * 60, (3, 1, 2), (3, 1)))


def test_core_axes_in_several_chunks():
    x = wr.from_array(DATA, chunks=(5, 4))
    for more in ({}, {"allow_rechunk": True}, {"meta": np.zeros(0)}):
        same(wr.apply_gufunc(lambda a: a.sum(-1), "(i)->()", x, **more), DATA.sum(-1), 1e-13)
    with pytest.raises(ValueError, match=r"apply_gufunc: argument 'allow_rechunk' is False"):
        wr.apply_gufunc(lambda a: a.sum(-1), "(i)->()", x, allow_rechunk=False)
    low, high = wr.apply_gufunc(lambda a: (a, -a), "()->(),()", x, meta=(np.zeros(0, "f4"), np.zeros(0)))
    assert (low.dtype, high.dtype) == (np.float32, np.float64)


def test_ufuncs_of_plain_arrays_compute_at_once():
    for found, expected in (
        (wr.sqrt(np.arange(4)), np.sqrt(np.arange(4))),
        (wr.add([1, 2], 3), np.array([4, 5])),
        (wr.exp(1.0), np.exp(1.0)),
        (wr.add(np.arange(3), 1, where=np.array([True, False, True]), out=np.zeros(3, int)), np.array([1, 0, 3])),
    ):
        assert type(found) is type(expected)
        np.testing.assert_array_equal(found, expected)
    assert isinstance(wr.modf(np.ones(2))[0], np.ndarray)
    for lazy in (wr.add(np.ones(2), wr.ones(2)), wr.sqrt([1.0, wr.ones(3).sum()]), wr.sqrt(1.0, out=wr.zeros(()))):
        assert isinstance(lazy, wr.Array)


@pytest.mark.ranks
def test_on_ranks(launch, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    ended = launch(3, "program.py")
    assert (ended.status, ended.out.strip()) == (0, "right"), ended.err
