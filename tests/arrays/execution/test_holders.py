"""What holds arrays, computed, kept and explained as they are."""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict, deque
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import windrow as wr

xr = pytest.importorskip("xarray")
pd = pytest.importorskip("pandas")


@dataclass(frozen=True)
class Pair:
    left: Any
    right: Any


class Named(list):
    name = ""


def dataset():
    t = xr.DataArray(wr.ones((4, 6), chunks=2), dims=("y", "x"), attrs={"units": "K"})
    height = (("y", "x"), wr.zeros((4, 6), chunks=3))
    return xr.Dataset({"t": t, "plain": ("x", np.arange(6))}, coords={"height": height})


def test_objects_of_xarray_are_computed_in_one_pass(tmp_path):
    calls = tmp_path / "calls"

    def noted(block):
        with open(calls, "a") as file:
            file.write("x")
        return block + 1

    x = xr.DataArray(wr.map_blocks(noted, wr.arange(8, chunks=4), dtype=int), dims="x")
    calls.write_text("")
    least, most = wr.compute(x.min(), x.max())
    assert calls.read_text() == "xx", "the blocks are made once for both"
    assert isinstance(least, xr.DataArray)
    assert (int(least), int(most)) == (1, 8)
    assert isinstance(most.data, np.ndarray | np.generic)
    assert isinstance(x.min().data, wr.Array), "what was handed in stays lazy"


def test_datasets_keep_all_that_is_theirs():
    lazy = dataset()
    (got,) = wr.compute(lazy)
    xr.testing.assert_identical(got, lazy.compute())
    for name in ("t", "height"):
        assert isinstance(got[name].data, np.ndarray)
        assert isinstance(lazy[name].data, wr.Array)
    (kept,) = wr.persist(lazy)
    assert kept.t.data.owners().shape == (2, 3)
    xr.testing.assert_identical(kept.compute(), got)
    tree = xr.DataTree.from_dict({"/": lazy, "/a": lazy * 2})
    (leaves,) = wr.compute(tree)
    assert isinstance(leaves["a/t"].data, np.ndarray)
    xr.testing.assert_identical(leaves["a/t"], (lazy * 2).t.compute())
    (variable,) = wr.compute(lazy.t.variable)
    assert isinstance(variable.data, np.ndarray)
    assert variable.attrs == {"units": "K"}


def test_what_xarray_reads_later_is_not_read(tmp_path):
    pytest.importorskip("h5netcdf")
    dataset().compute().to_netcdf(tmp_path / "a.nc", engine="h5netcdf")
    with xr.open_dataset(tmp_path / "a.nc", engine="h5netcdf") as opened:
        (got,) = wr.compute(opened)
        assert not got.t.variable._in_memory


def test_frames_and_containers():
    x = wr.arange(4, chunks=2)
    frame = pd.DataFrame({"lazy": [x.sum(), x.max()], "number": [1.5, 2.5]})
    (got,) = wr.compute(frame)
    for column in (got.lazy, wr.compute(frame.lazy)[0]):
        assert column.dtype == int  # lazy arrays would be equal, too
        assert column.tolist() == [6, 3]
    assert isinstance(frame.lazy[0], wr.Array), "what was handed in stays lazy"
    assert wr.compute(frame[["number"]])[0].number.tolist() == [1.5, 2.5]
    twice = pd.DataFrame([[x.sum(), x.max(), 1]], columns=["a", "a", "b"], index=["r"])
    pd.testing.assert_frame_equal(wr.compute(twice)[0], pd.DataFrame([[6, 3, 1]], columns=["a", "a", "b"], index=["r"]))
    assert len(wr.explain(frame).stages) >= 2
    (kept,) = wr.persist(frame)
    assert kept.lazy[1].owners().shape == ()
    assert got.number.tolist() == [1.5, 2.5]
    named = Named([x.sum(), "text"])
    named.name = "n"
    counted = defaultdict(int, {"a": x.sum()})
    ordered = OrderedDict(b=Pair(x.min(), [x.max()]))
    one, two, three = wr.compute(named, counted, ordered)
    assert (one, one.name, type(one)) == ([6, "text"], "n", Named)
    assert two == {"a": 6}
    assert two["nothing"] == 0
    assert three == OrderedDict(b=Pair(0, [3]))
    plain = Pair(1, 2)
    assert wr.compute(plain)[0] is plain


def test_generators_views_deques_and_arrays_of_objects():
    x = wr.arange(4, chunks=2)
    lazy = {"sum": x.sum(), "max": x.max()}
    assert wr.compute(each + 1 for each in lazy.values()) == [7, 4]
    assert wr.compute(map(wr.sum, [x, x[1:]]), 5) == ([6, 6], 5)
    assert wr.compute(lazy.values()) == [6, 3]
    assert wr.compute(lazy.items()) == [("sum", 6), ("max", 3)]
    (ends,) = wr.compute(deque(lazy.values(), maxlen=2))
    assert (ends, ends.maxlen, type(ends)) == (deque([6, 3]), 2, deque)
    cells = np.array([[x.sum(), None], [[x.max()], "text"]], dtype=object)
    (values,) = wr.compute(cells)
    assert values.tolist() == [[6, None], [[3], "text"]]
    assert isinstance(cells[0, 0], wr.Array), "what was handed in stays lazy"
    (vectors,) = wr.compute(np.array([None, {"x": x}], dtype=object))
    assert vectors[1]["x"].tolist() == [0, 1, 2, 3]
    kept = wr.persist(each for each in lazy.values())
    assert [each.owners().shape for each in kept] == [(), ()]
    assert len(wr.explain(each + 1 for each in lazy.values()).stages) >= 2
    for plain in (np.array([1, "a"], dtype=object), np.arange(3), np.float64(2)):
        assert wr.compute(plain)[0] is plain


def test_what_holds_arrays_is_explained_and_drawn():
    lazy = dataset()
    assert len(wr.explain(lazy, {"more": [wr.ones(3) + 1]}).stages) == 3
    assert "ones" in str(wr.explain(lazy.t.mean()))
    assert wr.operation_graph(lazy).number_of_nodes() == 2
    assert wr.stage_graph([lazy]).number_of_nodes() == 2
    assert wr.task_graph(lazy.t.variable).number_of_nodes() == 1
    assert "boxes" in repr(wr.visualize(lazy))
    kept = lazy.persist()
    wr.wait(kept, [kept.t.mean().persist()])
    for call in (wr.explain, wr.visualize, wr.operation_graph, wr.stage_graph, wr.task_graph):
        for nothing in (3, [1, {"a": "b"}], lazy.compute()):
            with pytest.raises(wr.ArgumentError, match=rf"{call.__name__}: argument 'arrays'"):
                call(nothing)
    for nothing in (3, np.arange(3)):
        with pytest.raises(wr.ArgumentError, match="persist: argument 'arrays'"):
            wr.persist(lazy, nothing)


def test_what_holds_no_arrays_comes_back_with_its_dtypes_and_counts():
    counts, cells = Counter("aab"), pd.Series([1, None, 2], dtype=object)
    frame = pd.DataFrame({"cells": cells, "lazy": [wr.ones(3).sum(), None, 5]})
    computed = wr.compute(counts, cells, frame)
    assert computed[0] == counts
    pd.testing.assert_series_equal(computed[1], cells)
    pd.testing.assert_series_equal(computed[2]["cells"], cells, check_names=False)
    assert isinstance(computed[2]["lazy"][0], float)
    assert computed[2]["lazy"][0] == 3
    assert wr.compute(Counter(a=wr.ones(3).sum()))["a"] == 3
