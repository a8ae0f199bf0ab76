"""Sorting and its kin on many small chunks: what is right, and how the work grows."""

from __future__ import annotations

import sys
import textwrap
import threading

import numpy as np
import pytest

import windrow as wr
from windrow.arrays.chunking import coalesce
from windrow.graph.chunks.grid import Axis, Grid

KIN = {
    "sort": (wr.sort, np.sort),
    "sort_of_computed": (lambda x: wr.sort(x * 2), lambda a: np.sort(a * 2)),
    "descending": (lambda x: wr.sort(x, descending=True), lambda a: np.sort(a)[::-1]),
    "argsort": (wr.argsort, lambda a: np.argsort(a, kind="stable")),
    "lexsort": (lambda x: wr.lexsort((x, x > 0.5)), lambda a: np.lexsort((a, a > 0.5))),
    "partition": (lambda x: wr.partition(x, 5), np.sort),
    "topk": (lambda x: wr.topk(x, 50), lambda a: np.sort(a)[:-51:-1]),
    "argtopk": (lambda x: wr.argtopk(x, 50), lambda a: np.argsort(-a, kind="stable")[:50]),
    "unique": (wr.unique, np.unique),
    "unique_few": (lambda x: wr.unique(x // 0.1), lambda a: np.unique(a // 0.1)),
    "unique_inverse": (lambda x: wr.unique_inverse(x)[1], lambda a: np.unique(a, return_inverse=True)[1]),
    "unique_inverse_few": (
        lambda x: wr.unique_inverse(x // 0.1)[1],
        lambda a: np.unique(a // 0.1, return_inverse=True)[1],
    ),
    "unique_counts": (lambda x: wr.unique_counts(x)[1], lambda a: np.unique(a, return_counts=True)[1]),
    "union1d": (lambda x: wr.union1d(x, x / 2), lambda a: np.union1d(a, a / 2)),
    "intersect1d": (lambda x: wr.intersect1d(x, x + 0), lambda a: np.intersect1d(a, a)),
    "setdiff1d": (lambda x: wr.setdiff1d(x, x // 0.1), lambda a: np.setdiff1d(a, a // 0.1)),
    "isin": (lambda x: wr.isin(x, x[::2]), lambda a: np.isin(a, a[::2])),
    "searchsorted": (lambda x: wr.searchsorted(wr.sort(x), x), lambda a: np.searchsorted(np.sort(a), a)),
    "percentile": (lambda x: wr.percentile(x, [1, 50, 99]), lambda a: np.percentile(a, [1, 50, 99])),
    "nanmedian": (wr.nanmedian, np.nanmedian),
    "rows": (lambda x: wr.sort(x.reshape(2, -1), 1), lambda a: np.sort(a.reshape(2, -1), 1)),
}


@pytest.mark.parametrize("name", KIN)
def test_ten_thousand_chunks(name):
    lazy, plain = KIN[name]
    a = np.random.default_rng(0).random(200_000)
    x = wr.from_array(a, chunks=20)
    found = lazy(x)
    np.testing.assert_array_equal(found.compute(), plain(a))
    if name in ("sort", "argsort", "lexsort", "partition", "isin", "unique_inverse"):
        assert found.chunks == x.chunks


def calls(function):
    """Calls of Python functions in all threads while something is computed."""
    found = 0

    def note(frame, event, argument):
        nonlocal found
        found += event == "call"

    threading.setprofile(note)
    try:
        with wr.Cluster(threads=1):
            sys.setprofile(note)
            function()
            sys.setprofile(None)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return found


@pytest.mark.parametrize("name", KIN)
def test_work_grows_with_the_number_of_chunks(name, monkeypatch):
    monkeypatch.setattr(coalesce, "SMALLEST", 1)
    monkeypatch.setattr(coalesce, "SMALL_BYTES", 1 << 10)
    monkeypatch.setattr(coalesce, "FEW_CHUNKS", 8)
    lazy, _ = KIN[name]
    a = np.random.default_rng(0).random(51_200)
    few, many = (calls(lambda n=n: lazy(wr.from_array(a[: n * 50], chunks=50)).compute()) for n in (256, 1024))
    assert many < 6 * few, (few, many)


def test_the_driver_holds_little_for_many_chunks(monkeypatch):
    from windrow.arrays.sorting import samples

    seen = []
    before = samples.in_runs
    monkeypatch.setattr(samples, "in_runs", lambda x, cuts: seen.append(cuts.size) or before(x, cuts))
    a = np.random.default_rng(0).integers(0, 1 << 60, 2_000_000)
    x = wr.from_array(a, chunks=20)
    np.testing.assert_array_equal(wr.argsort(x).compute(), np.argsort(a, kind="stable"))
    assert seen
    assert max(seen) < 2 * coalesce.FEW_CHUNKS**2


def test_small_chunks_are_merged_by_bytes_and_borders_stay():
    mib = 1 << 20
    one = Axis.regular(mib, 100)
    assert coalesce.merge_axis(one, 8) == Axis.regular(mib, mib // 8 // 100 * 100)
    assert coalesce.merge_axis(Axis.regular(1000, 100), mib) == Axis.regular(1000, 100)
    assert coalesce.merge_axis(Axis.regular(1 << 27, 100), 8).count in range(60, 66)
    huge = coalesce.merge_axis(Axis.regular(1 << 40, 1 << 16), 8)
    assert huge.count <= coalesce.MANY_CHUNKS
    assert coalesce.merge_axis(Axis.regular(0, 1), 8) == Axis.regular(0, 1)
    sizes = np.random.default_rng(0).integers(0, 60_000, 500)
    uneven = Axis.of_sizes(sizes)
    merged = coalesce.merge_axis(uneven, 8)
    assert set(np.cumsum(merged.sizes())) <= set(np.cumsum(sizes))
    assert merged.length == uneven.length
    assert merged.largest <= 2 * uneven.length // coalesce.FEW_CHUNKS + 60_000
    assert merged.count < 70


@pytest.mark.parametrize("axes", [{0}, {1}, {2}, {0, 1}, {1, 2}])
def test_chunks_stay_about_as_large_where_lines_are_made_whole(axes):
    grid = Grid([Axis.regular(600, 60), Axis.of_sizes([200, 300, 100]), Axis.regular(500, 50)])
    found = coalesce.whole_grid(grid, axes)
    assert all(axis.count == 1 for a, axis in enumerate(found.axes) if a in axes)
    assert all(axis.length == own.length for axis, own in zip(found.axes, grid.axes, strict=True))
    assert grid.largest / 4 <= found.largest <= 1.5 * grid.largest
    small = Grid([Axis.regular(100, 10), Axis.regular(100, 10)])
    assert coalesce.whole_grid(small, {0}).axes[1] == small.axes[1], (
        "a task for each few lines is more work than it saves"
    )


@pytest.mark.ranks
def test_on_ranks(launch, tmp_path):
    program = tmp_path / "many.py"
    program.write_text(
        textwrap.dedent("""\
            import numpy as np
            import windrow as wr

            a = np.random.default_rng(0).random(300_000)
            for chunks in (30, 299):
                x = wr.from_array(a, chunks=chunks)
                np.testing.assert_array_equal(wr.sort(x).compute(), np.sort(a))
                np.testing.assert_allclose(wr.sort(x * 2).sum().compute(), 2 * a.sum())
                np.testing.assert_array_equal(wr.argsort(x)[5:9].compute(), np.argsort(a)[5:9])
                np.testing.assert_array_equal(wr.unique_inverse(x)[1].compute(), np.unique(a, return_inverse=True)[1])
                np.testing.assert_array_equal(wr.isin(x, x[::2]).compute(), np.isin(a, a[::2]))
                np.testing.assert_array_equal(wr.median(x).compute(), np.median(a))
            print("right")
        """)
    )
    done = launch(3, str(program))
    assert done.status == 0, done.err
    assert done.last == "right"


@pytest.mark.parametrize("dtype", [">i8", ">f4", "<f8"])
def test_lines_beside_each_other_keep_the_byte_order(dtype, monkeypatch):
    monkeypatch.setattr(coalesce, "SMALLEST", 1)
    a = np.random.default_rng(0).integers(0, 100, (2, 300, 3)).astype(dtype)
    x = wr.from_array(a, chunks=(1, 20, 3))
    for found in (wr.sort(x, 1), wr.sort(x + 0, 1).astype(dtype), wr.partition(x, 5, 1)):
        assert found.compute().dtype == found.dtype == a.dtype
        np.testing.assert_array_equal(found.compute(), np.sort(a, 1))
