"""Chunks that are chosen for a whole computation, and expressions over sources in other chunks."""

import numpy as np
import pytest

import windrow as wr
from windrow.arrays.base import wrap
from windrow.arrays.planning.fitting import fit
from windrow.graph.expr import walk
from windrow.graph.grid import Axis, Grid

A = np.random.default_rng(0).random((12, 15))
B = np.random.default_rng(1).random((12, 15)).astype("f4")
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
}


class Stored:
    """An array that is read by slices: other chunks of it are moved."""

    def __init__(self, array):
        self.array, self.shape, self.dtype = array, array.shape, array.dtype

    def __getitem__(self, key):
        return self.array[key]


GRIDS = [(5, 4), (12, 2), (1, 15), (7, 15)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_fitted_expressions_have_the_same_values(name):
    program = PROGRAMS[name]
    x, y = wr.from_array(Stored(A), chunks=(4, 6)), wr.from_array(Stored(B), chunks=(4, 6))
    lazy = program(wr, x, y)
    expected = program(np, A, B)
    for steps in GRIDS:
        grid = Grid([Axis.regular(n, step) for n, step in zip(A.shape, steps, strict=True)])
        (fitted,) = fit([lazy.expr], {x.expr.token: grid, y.expr.token: grid})
        assert grid in [node.grid for node in walk([fitted]) if not node.operands]
        result = wrap(fitted).compute()
        assert (result.shape, result.dtype) == (lazy.shape, lazy.dtype)
        np.testing.assert_allclose(result, expected, rtol=1e-5)


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
    (kept,) = fit([lazy.expr], {x.expr.token: cut})
    assert kept.grid == lazy.expr.grid


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


def test_what_fits_into_no_memory_is_refused():
    x = wr.random.default_rng(1).random((4000, 4000))
    with pytest.raises(wr.OutOfMemory, match=r"plan: argument 'memory' is 64.0 KiB; .* takes .* in .*fft"):
        wr.plan(wr.fft.fft(x, axis=1), memory="64 KiB")


def test_several_arrays_and_what_holds_them():
    x = wr.random.default_rng(1).random((2000, 1500))
    first, held = wr.plan(wr.sort(x, axis=0), {"mean": x.mean()})
    np.testing.assert_array_equal(first.compute(), np.sort(x.compute(), axis=0))
    np.testing.assert_allclose(held["mean"].compute(), x.mean().compute())


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
    ("arguments", "keywords", "message"),
    [
        ((), {}, "plan: argument 'arrays'"),
        ((3,), {}, "plan: argument 'arrays' is 3"),
        ((wr.ones(3),), {"memory": "much"}, "plan: argument 'memory' is 'much'"),
        ((wr.ones(3),), {"memory": 0}, "plan: argument 'memory' is 0"),
        ((wr.ones(3),), {"ranks": 0}, "plan: argument 'ranks' is 0"),
        ((wr.ones(3),), {"ranks": 1.5}, "plan: argument 'ranks' is 1.5"),
    ],
)
def test_arguments_that_cannot_be_read(arguments, keywords, message):
    with pytest.raises(wr.ArgumentError, match=message):
        wr.plan(*arguments, **keywords)
