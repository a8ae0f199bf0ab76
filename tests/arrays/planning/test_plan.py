"""Chunks that are chosen for a whole computation, and expressions over sources in other chunks."""

import importlib
import re

import numpy as np
import pytest

import windrow as wr
from windrow.arrays.base import wrap
from windrow.arrays.planning.fitting import fit
from windrow.graph.chunks.grid import Axis, Grid
from windrow.graph.expr.expr import walk

A = np.random.default_rng(0).random((12, 15))
B = np.random.default_rng(1).random((12, 15)).astype("f4")


def write(x, y):
    x[3:9, ::2] = 7
    x[:, 4] = y[:, 2]
    return x


PROGRAMS = {
    "elementwise": lambda np, a, b: np.where(a > 0.5, a, b) * 2 + np.sin(b),
    "broadcast": lambda np, a, b: a - b[0] + b[:, :1],
    "sums": lambda np, a, b: a.sum(axis=0) + b.mean(axis=0, keepdims=True),
    "std": lambda np, a, b: a.std(axis=1) + b.max(axis=1),
    "arg": lambda np, a, b: np.argmax(a, axis=1) + np.argmin(b),
    "slices": lambda np, a, b: a[1:-1, 2:] + b[:-2, ::-1][:, 1:-1],
    "steps": lambda np, a, b: a[::-2, 1::3] * b[10::-2, ::3],
    "transposed": lambda np, a, b: (a.T + 1)[3:] @ b,
    "taken": lambda np, a, b: a[[3, 1, 1]] + b[[0, 2, 11]],
    "joined": lambda np, a, b: np.concatenate([a, b[:5]]).T,
    "stacked": lambda np, a, b: np.stack([a, b]).sum(axis=1),
    "newaxis": lambda np, a, b: (a[:, None, :] * b[None, :, :]).sum(axis=2),
    "reshaped": lambda np, a, b: a.reshape(4, 45) + b.ravel()[:45],
    "rolled": lambda np, a, b: np.roll(a, 4, axis=1) - np.pad(b, 1)[1:-1, 1:-1],
    "sorted": lambda np, a, b: np.sort(a, axis=1) + np.cumsum(b, axis=0),
    "median": lambda np, a, b: np.median(a, axis=0) + np.quantile(b, 0.3, axis=0),
    "fft": lambda np, a, b: abs(np.fft.fft(a, axis=0)) + b,
    "lines": lambda np, a, b: np.quantile(np.sort(a, axis=1), [0.2, 0.7], axis=1) + np.fft.rfft(b.T, axis=0)[1].real,
    "products": lambda np, a, b: a @ a.T + np.tensordot(b, a, axes=((0, 1), (0, 1))),
    "deviations": lambda np, a, b: ((a - a.mean(axis=0)) / a.std(axis=0)) @ b.T,
    "diff": lambda np, a, b: np.diff(a, axis=1)[:, :-1] + b[:, :-2],
    "zeros": lambda np, a, b: np.zeros((12, 15)) + a + np.ones(15),
    "scans": lambda np, a, b: np.cumsum(a, axis=1) + np.cumprod(b + 1, axis=0),
    "scans of functions": lambda np, a, b: np.cumsum(np.sqrt(a), axis=0)[1:] - np.cumsum(a * b, axis=0)[:-1],
    "sorts of functions": lambda np, a, b: np.sort(a + b, axis=0) + np.argsort(a * 2, axis=1),
    "quantiles": lambda np, a, b: np.quantile(a - b, [0.2, 0.5], axis=1)[1] + np.median(b, axis=1),
    "gradient": lambda np, a, b: np.gradient(a, axis=0) + np.gradient(b, axis=1),
    "interp": lambda np, a, b: np.interp(a, np.arange(3) / 2, np.arange(3) ** 2) + np.polyval([1, 2, 3], b),
    "searched": lambda np, a, b: np.searchsorted(np.arange(9) / 9, a) + b,
    "written": lambda np, a, b: write(a * 1, b),
    "repeated": lambda np, a, b: np.repeat(a, 2, axis=0)[::2] + np.tile(b, (2, 1))[3:15],
    "transforms": lambda np, a, b: abs(np.fft.fft2(a)) + np.fft.ifft(b * 1j, axis=1).imag,
    "einsum": lambda np, a, b: np.einsum("ij,ik->kj", a, b) + np.einsum("ij,ij->j", a, b),
    "thin products": lambda np, a, b: a.T[:, :2] @ b[:2] + a.T.sum(axis=1) @ np.ones((15, 15)),
    "factors": lambda np, a, b: abs(np.linalg.qr(a.T)[1]) + (b @ b.T).sum(),
    "histogram": lambda np, a, b: np.histogram(a, 5, range=(0, 1))[0] + b.max(),
    "reshapes": lambda np, a, b: (a.reshape(6, 2, 15) + b.reshape(6, 2, 15)).sum(axis=1).reshape(15, 6).T,
    "covariance": lambda np, a, b: np.cov(a) + np.corrcoef(b),
    "histograms": lambda np, a, b: np.histogram(a, 5)[0] + np.histogram(b, 5, (0, 1), weights=a)[0],
    "gradients": lambda np, a, b: sum(np.gradient(a)) + np.gradient(b, np.arange(15) ** 2.0, axis=1),
    "convolutions": lambda np, a, b: np.convolve(a.ravel(), b[0], "same") + np.correlate(b[1], a.ravel(), "same"),
    "repeats": lambda np, a, b: np.repeat(a.ravel(), 3)[::3] + np.repeat(b, np.arange(15) % 3, axis=1).ravel(),
    "factorisations": lambda np, a, b: abs(np.linalg.svd(a @ a.T)[1]) + abs(np.linalg.qr(b.T)[1]).sum(axis=0),
    "solutions": lambda np, a, b: np.linalg.solve(a @ a.T + 3 * np.eye(12), np.linalg.cholesky(a @ a.T + np.eye(12))),
}


class Stored:
    """An array that is read by slices: other chunks of it are moved."""

    def __init__(self, array):
        self.array, self.shape, self.dtype = array, array.shape, array.dtype

    def __getitem__(self, key):
        return self.array[key]


GRIDS = [(5, 4), (12, 2), (1, 15), (7, 15)]


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("chunks", [(4, 6), (12, 5), "auto"])
def test_fitted_expressions_have_the_same_values(name, chunks):
    program = PROGRAMS[name]
    x, y = wr.from_array(Stored(A), chunks=chunks), wr.from_array(Stored(B), chunks=chunks)
    lazy = program(wr, x, y)
    expected = program(np, A, B)
    for steps in GRIDS:
        grid = Grid([Axis.regular(n, step) for n, step in zip(A.shape, steps, strict=True)])
        (fitted,) = fit([lazy.expr], {x.expr.token: grid, y.expr.token: grid})
        assert grid in [node.grid for node in walk([fitted]) if not node.operands]
        result = wrap(fitted).compute()
        assert (result.shape, result.dtype) == (lazy.shape, lazy.dtype)
        np.testing.assert_allclose(result, expected, rtol=1e-5)


def shift(a):
    return np.roll(a, 1, axis=0) + a


def test_functions_of_chunks_with_margins_are_given_other_chunks_but_along_lines():
    x = wr.from_array(Stored(A), chunks=(4, 15))
    ones = wr.ones((12, 15), "f4", chunks=(4, 15))
    lazy = wr.map_overlap(lambda a, b: shift(a) * b, x, ones, depth={0: 2}, boundary="periodic")
    grid = Grid([Axis.regular(12, 5), Axis.regular(15, 4)])
    (fitted,) = fit([lazy.expr], {x.expr.token: grid})
    assert fitted.grid.chunks() == ((5, 5, 2), (15,))
    np.testing.assert_allclose(wrap(fitted).compute(), shift(A))


def test_functions_that_ask_for_their_block_keep_their_chunks():
    x = wr.from_array(Stored(A), chunks=(4, 6))
    lazy = wr.map_overlap(lambda a, block_id: a + block_id[0], x, depth=1, boundary="none")
    (fitted,) = fit([lazy.expr], {x.expr.token: Grid.single(A.shape)})
    assert fitted.grid == lazy.expr.grid
    np.testing.assert_allclose(wrap(fitted).compute(), A + np.arange(12)[:, None] // 4)


def test_windows_of_functions_are_reduced_over_other_chunks():
    x = wr.from_array(Stored(A), chunks=(4, 6))
    windows = wr.sliding_window_view(x, 3, axis=0) * 2
    expected = np.lib.stride_tricks.sliding_window_view(A, 3, axis=0) * 2
    grids = {x.expr.token: Grid([Axis.regular(12, 5), Axis.regular(15, 15)])}
    fitted, reduced = map(wrap, fit([windows.expr, windows.mean(axis=-1).expr], grids))
    for found in (fitted.mean(axis=-1), reduced):
        np.testing.assert_allclose(found.compute(), expected.mean(axis=-1))


def test_what_is_refitted_comes_from_the_users_line():
    x = wr.from_array(Stored(A), chunks=(4, 6))
    lazy = wr.topk(x, 3, axis=0)
    (fitted,) = fit([lazy.expr], {x.expr.token: Grid.single(A.shape)})
    assert fitted.origin == lazy.expr.origin


def test_elementwise_operations_reductions_and_slices_follow_the_sources():
    x = wr.asarray(A, chunks=(4, 6))
    grid = Grid([Axis.regular(12, 12), Axis.regular(15, 5)])
    rows, part = fit([(x * 2).sum(axis=0).expr, (x + 1)[2:, ::-1].T.expr], {x.expr.token: grid})
    assert rows.grid.chunks() == ((5, 5, 5),)
    assert part.grid.chunks() == ((5, 5, 5), (10,))


def test_functions_of_lines_follow_sources_whose_lines_are_whole():
    x = wr.from_array(Stored(A), chunks=(4, 6))
    whole, cut = (Grid([Axis.regular(12, step), Axis.regular(15, 5)]) for step in (12, 5))
    lazy = wr.fft.rfft(x, axis=0)
    (followed,) = fit([lazy.expr], {x.expr.token: whole})
    assert followed.grid.chunks() == ((7,), (5, 5, 5))
    assert len(list(walk([followed]))) == 2
    (made_whole,) = fit([lazy.expr], {x.expr.token: cut})
    assert made_whole.grid.chunks() == ((7,), (5, 5, 5))


def test_rechunk_and_what_is_persisted_stay():
    x = wr.asarray(A, chunks=(4, 6))
    kept = (x + 1).persist()
    grid = Grid.single(A.shape)
    cut, sums = fit([x.rechunk((3, 3)).expr, (kept * 2).expr], {x.expr.token: grid})
    assert cut.grid.chunks() == ((3,) * 4, (3,) * 5)
    assert sums.grid.chunks() == ((4, 4, 4), (6, 6, 3))
    assert kept.expr in list(walk([sums]))


def sources(array):
    return [node.grid.chunks() for node in walk([array.expr]) if not node.operands]


def test_chunks_are_whole_along_an_axis_that_is_gone_along():
    x = wr.random.default_rng(1).random((2000, 1500))
    assert len(x.chunks[0]) > 1
    planned = wr.plan(wr.sort(x, axis=0))
    assert sources(planned)[0][0] == (2000,)
    np.testing.assert_array_equal(planned.compute(), np.sort(x.compute(), axis=0))


def test_chunks_of_ones_own_stay():
    x = wr.random.default_rng(1).random((2000, 1500), chunks=(250, 1500))
    lazy = wr.sort(x, axis=0)
    assert wr.plan(lazy).expr.token == lazy.expr.token


def test_an_axis_of_ones_own_stays_beside_one_that_is_chosen():
    x = wr.random.default_rng(1).random((2000, 1500), chunks=(123, "auto"))
    (chunks,) = sources(wr.plan(wr.sort(x, axis=1)))
    assert (chunks[0][0], chunks[1]) == (123, (1500,))


def test_stored_chunks_are_taken_in_whole_multiples(tmp_path):
    values = np.random.default_rng(3).random((365, 80, 90))
    wr.to_zarr(wr.asarray(values, chunks=(365, 80, 90)), str(tmp_path / "a.zarr"), chunks=(73, 20, 30))
    x = wr.from_zarr(str(tmp_path / "a.zarr"))
    planned = wr.plan(wr.median(x, axis=0), memory="256 MiB", ranks=2)
    ((days, rows, columns),) = sources(planned)
    assert all(n % size == 0 for sizes, size in ((days[:-1], 73), (rows[:-1], 20), (columns[:-1], 30)) for n in sizes)
    np.testing.assert_array_equal(planned.compute(), np.median(values, axis=0))


def test_memory_bounds_what_tasks_take():
    x = wr.random.default_rng(1).random((4000, 4000))
    lazy = wr.fft.fft(x, axis=1).real.sum()
    loose, tight = wr.plan(lazy), wr.plan(lazy, memory="64 MiB")
    assert tight.explain().peak_bytes <= 64 << 20 < loose.explain().peak_bytes
    np.testing.assert_allclose(tight.compute(), loose.compute())


MIB = 1 << 20
FITTING = {
    "cumsum": lambda x: x.cumsum(axis=0),
    "cumsum of rows": lambda x: x.cumsum(axis=1),
    "fft": lambda x: abs(wr.fft.fft(x, axis=0)),
    "fft of rows": lambda x: abs(wr.fft.fft(x, axis=1)),
    "sort": lambda x: wr.sort(x, axis=0),
    "argsort": lambda x: wr.argsort(x, axis=0),
    "median": lambda x: wr.median(x, axis=0),
    "median of rows": lambda x: wr.median(x, axis=1),
    "quantile": lambda x: wr.quantile(x, 0.3, axis=1),
    "reshape": lambda x: x.reshape(len(x) // 2, -1) + 1,
    "stack": lambda x: wr.stack([x, x * 2], 1),
    "concatenate": lambda x: wr.concatenate([x, x[:50]]),
    "roll": lambda x: wr.roll(x, 3, 0) + x,
    "transpose": lambda x: x + x.T,
    "taken": lambda x: x[np.arange(len(x))[::-1]],
    "written": lambda x: write(x * 1, x),
    "interp": lambda x: wr.interp(x, np.arange(10.0), np.arange(10.0)),
    "searchsorted": lambda x: wr.searchsorted(wr.arange(100), x),
    "anomaly": lambda x: x - x.mean(axis=0),
    "histogram": lambda x: wr.histogram(x, 50, (0, 1))[0],
    "histogram by weights": lambda x: wr.histogram(x, 50, (0, 1), weights=x * 2)[0],
    "topk": lambda x: wr.topk(x, 10, axis=0),
    "gradient": lambda x: wr.gradient(x, axis=0),
    "gradient by coordinates": lambda x: wr.gradient(x, np.arange(len(x)) ** 2.0, axis=0),
    "gradients": lambda x: sum(wr.gradient(x)),
    "map_overlap": lambda x: wr.map_overlap(np.sqrt, x, depth=1, boundary="reflect"),
    "convolve": lambda x: wr.convolve(x.ravel(), np.ones(9), "same"),
    "repeat": lambda x: wr.repeat(x.ravel(), 2),
    "windows": lambda x: wr.sliding_window_view(x, 5, axis=0).mean(-1),
}


@pytest.mark.parametrize("name", FITTING)
def test_what_can_be_cut_fits_into_half_of_its_source(name):
    x = wr.random.default_rng(1).random((8192, 8192))
    assert x.nbytes == 512 * MIB
    lazy = FITTING[name](x).max()
    assert wr.plan(lazy, memory="256 MiB").explain().peak_bytes <= 256 * MIB


FITTING_SMALL_ARENAS = {
    "argtopk of lines": lambda x: wr.argtopk(x.ravel(), 10),
    "histogram": lambda x: wr.histogram(x, 50)[0],
    "qr": lambda x: wr.linalg.qr(x.reshape(-1, 64))[1],
    "svd": lambda x: wr.linalg.svd(x.reshape(-1, 64), full_matrices=False)[1],
}


@pytest.mark.parametrize("name", FITTING_SMALL_ARENAS)
def test_what_can_be_cut_fits_into_a_cluster_of_half_of_its_source(name):
    with wr.Cluster(threads=2, memory="256 MiB"):
        lazy = FITTING_SMALL_ARENAS[name](wr.random.default_rng(1).random((8192, 8192)))
        assert wr.plan(lazy, memory="256 MiB").explain().peak_bytes <= 256 * MIB


REFUSED = {
    "results": (lambda x: x + 1, "add at test_plan.py:.*: the results alone take 512.0 MiB"),
    "planned": (lambda x: wr.sort(x.ravel())[5], "sort at test_plan.py:.*: it is planned when it runs"),
    "users": (lambda x: wr.map_blocks(np.sort, x.rechunk(-1)).max(), "map_blocks.*its tasks take .* at once"),
    "waiting": (lambda x: (x @ x.T).sum(), "random at test_plan.py:.*: chunks that wait to be read take"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_planned_is_refused_with_the_operation_and_why(name):
    make, message = REFUSED[name]
    lazy = make(wr.random.default_rng(1).random((8192, 8192)))
    with pytest.raises(wr.OutOfMemory, match=rf"plan: argument 'memory' is 256.0 MiB, and .*{message}") as raised:
        wr.plan(lazy, memory="256 MiB")
    enough = re.search(r"memory='(\d+ MiB)' suffices", str(raised.value))
    assert enough is not None
    assert wr.plan(lazy, memory=enough[1]).shape == lazy.shape


def test_a_refusal_names_the_chunks_that_were_tried_and_others_that_fit():
    with pytest.raises(wr.OutOfMemory, match=r"the best that was tried, chunks=.* for random at test_plan.py:"):
        wr.plan(wr.random.default_rng(1).random((4000, 4000)).std(axis=0).sum(), memory="256 KiB")
    mine = wr.random.default_rng(1).random((4000, 4000), chunks=2000)
    with pytest.raises(wr.OutOfMemory, match=r"the chunks that there are .* what fits: chunks=.* for random"):
        wr.plan(wr.sort(mine, axis=0).max(), memory="64 MiB")


def test_what_the_cluster_has_no_room_for_is_said_so():
    with wr.Cluster(memory="16 MiB", threads=1):
        x = wr.random.default_rng(1).random((2000, 2000), chunks=-1)
        with pytest.raises(wr.OutOfMemory, match=r"has no room in this cluster; random at test_plan.py:\d+"):
            wr.plan((x + x.T).sum(), memory="20 GiB")


@pytest.mark.parametrize(
    "make",
    [
        lambda x: x.sum(),
        lambda x: x.std(axis=0).sum(),
        lambda x: wr.fft.fft(x, axis=0).real.max(),
        lambda x: wr.sort(x, axis=0).sum(),
        lambda x: (x @ (x + 1)).sum(),
    ],
)
def test_a_plan_leaves_tasks_for_all_threads(make):
    with wr.Cluster(threads=4, memory="1 GiB"):
        plan = wr.plan(make(wr.random.default_rng(1).random((4000, 4000)))).explain()
        assert min(stage.tasks for stage in plan.stages if stage.bytes_made > 64 * MIB) >= 8


def test_a_rechunk_by_auto_is_chosen_and_one_of_sizes_stays():
    x = wr.random.default_rng(1).random((2000, 1500), chunks=(100, 1500))
    kept, chosen = (wr.sort((x + 1).rechunk(chunks), axis=0) for chunks in ((2000, 30), "auto"))
    assert wr.plan(kept).expr.token == kept.expr.token
    assert sources(wr.plan(chosen)) == [x.chunks]


def test_marks_do_not_spread_to_equal_chunks_of_ones_own():
    x = wr.zeros((3000, 2000))
    assert all(axis.is_free for axis in x.expr.grid.axes)
    same = wr.zeros((3000, 2000), chunks=x.chunks)
    assert same.chunks == x.chunks
    assert not any(axis.is_free for axis in same.expr.grid.axes)
    assert all(axis.is_free for axis in wr.zeros((3000, 2000)).expr.grid.axes)


def test_arrays_without_elements_or_axes_are_planned():
    for x in (wr.ones(()), wr.ones((0, 3)), wr.sort(wr.ones(0)), wr.ones((2, 3)).sum()):
        assert wr.plan(x, memory="1 MiB").expr.token == x.expr.token


def test_memory_and_ranks_are_read_as_a_cluster_reads_them():
    x = wr.ones((2000, 1500))
    for memory in (np.int64(1 << 28), 2.0**28, "256 MiB"):
        assert wr.plan(x, memory=memory, ranks="auto").shape == x.shape
        with wr.Cluster(memory=memory) as cluster:
            assert cluster.size == 1


def test_a_list_that_holds_itself():
    held = [wr.ones(3)]
    held.append(held)
    with pytest.raises(wr.ArgumentError, match="plan: argument 'arrays' is 'a list'; expected arrays in containers"):
        wr.plan(held)


def test_what_fits_into_no_memory_is_refused():
    x = wr.random.default_rng(1).random((4000, 4000))
    with pytest.raises(wr.OutOfMemory, match=r"'memory' is 64.0 KiB, and fft at test_plan.py:\d+: the results alone"):
        wr.plan(wr.fft.fft(x, axis=1), memory="64 KiB")


def test_several_arrays_and_what_holds_them():
    x = wr.random.default_rng(1).random((2000, 1500))
    first, held = wr.plan(wr.sort(x, axis=0), {"mean": x.mean()})
    np.testing.assert_array_equal(first.compute(), np.sort(x.compute(), axis=0))
    np.testing.assert_allclose(held["mean"].compute(), x.mean().compute())


def test_arrays_of_unknown_length_are_refused_where_they_take_more():
    x = wr.random.default_rng(1).random((1000, 1000))
    for unknown in (x[x > 0.5], wr.unique((x * 1e6).astype(int)), wr.bincount((x * 10).astype(int).ravel())):
        peak = unknown.explain().peak_bytes
        assert wr.plan(unknown, memory=peak) is unknown
        for held in (unknown, {"a": [unknown, wr.ones(3)]}):
            with pytest.raises(
                wr.OutOfMemory, match=r"^plan: argument 'memory' is 1.0 MiB, .*unknown length.* suffices$"
            ):
                wr.plan(held, memory="1 MiB")


def test_arrays_of_unknown_length_stay_as_they_are():
    x = wr.random.default_rng(1).random(1000)
    chosen = x[x > 0.5]
    assert wr.plan(chosen) is chosen


def test_datasets_of_xarray():
    xr = pytest.importorskip("xarray")
    x = wr.random.default_rng(1).random((2000, 1500))
    planned = wr.plan(xr.Dataset({"a": (("t", "x"), x)}).median("t"))
    np.testing.assert_array_equal(planned["a"].values, np.median(x.compute(), axis=0))


@pytest.mark.parametrize(
    ("chunks", "free"), [("auto", [True] * 3), ({0: "auto", 1: -1, 2: -1}, [True, False, False]), (73, [False] * 3)]
)
def test_chunks_by_auto_are_marked_under_xarray_too(chunks, free):
    pytest.importorskip("xarray")
    manager = importlib.import_module("windrow.arrays.interop.xarray.manager").WindrowManager()
    sizes = manager.normalize_chunks(chunks, shape=(730, 100, 100), dtype=np.dtype("f8"), previous_chunks=(73, 50, 50))
    found = manager.from_array(np.zeros((730, 100, 100)), sizes)
    assert [axis.is_free for axis in found.expr.grid.axes] == free


@pytest.mark.parametrize(
    ("arguments", "keywords", "message"),
    [
        ((), {}, "plan: argument 'arrays'"),
        ((3,), {}, "plan: argument 'arrays' is 3"),
        ((wr.ones(3),), {"memory": "much"}, "plan: argument 'memory' is 'much'"),
        ((wr.ones(3),), {"memory": 0}, "plan: argument 'memory' is 0"),
        ((wr.ones(3),), {"memory": 1.5}, "plan: argument 'memory' is 1.5; expected a whole number of bytes, or text"),
        ((wr.ones(3),), {"ranks": "many"}, "plan: argument 'ranks' is 'many'; expected a positive integer or 'auto'"),
        ((wr.ones(3),), {"ranks": 0}, "plan: argument 'ranks' is 0"),
        ((wr.ones(3),), {"ranks": 1.5}, "plan: argument 'ranks' is 1.5"),
    ],
)
def test_arguments_that_cannot_be_read(arguments, keywords, message):
    with pytest.raises(wr.ArgumentError, match=message):
        wr.plan(*arguments, **keywords)
