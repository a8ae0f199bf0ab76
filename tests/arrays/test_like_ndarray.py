"""Manners of NumPy's arrays that programs rely on without a thought, and what is said where there are none."""

from __future__ import annotations

import collections
import dataclasses
import pydoc
import warnings
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from windrow.workers.config import Settings

DATA = np.arange(12.0).reshape(3, 4)


def lazy(data: Any = DATA, chunks: Any = 2) -> Any:
    return wr.from_array(data, chunks=chunks)


# ---------------------------------------------------------------------- hashes


@pytest.mark.parametrize("use", [hash, lambda x: {x}, lambda x: {x: 1}, lambda x: collections.Counter(x)])
def test_arrays_have_no_hash(use):
    with pytest.raises(TypeError, match=r"unhashable type: 'windrow.Array'.*compute\(\)"):
        use(lazy())


# ---------------------------------------------------------------------- writes


def test_writes_reach_what_they_name_without_a_word():
    def write(a, mask):
        a[0][1] = 99
        a[1:-1, 1:-1][mask] = 1
        a.T[0] = 5
        a.ravel()[3] = 9
        a[0][1:] += 1
        b = (a + 1)[1:]
        b += 1
        exec("a[2] = 5", {"a": a})
        (c := a.copy())[0] = 1
        return b, c

    a, data = lazy(), DATA.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parts = write(a, DATA[1:-1, 1:-1] > 5)
    for expected, each in zip(write(data, DATA[1:-1, 1:-1] > 5), parts, strict=True):
        np.testing.assert_array_equal(each.compute(), expected)
    np.testing.assert_array_equal(a.compute(), data)


# ---------------------------------------------------------------------- single elements, integers


def test_elements_that_are_at_hand_need_no_engine(monkeypatch):
    x = lazy()
    half = (x / 2).persist()
    float(half[1, 1])
    monkeypatch.setattr("windrow.arrays.execution.compute.evaluate", None)
    for i in range(3):
        assert x[i, 1].compute() == np.asarray(x[i, 1]) == DATA[i, 1]
        assert type(x[i, 1].compute()) is np.float64
    assert np.array(x[0, 0]).flags.writeable
    assert wr.asarray("text").compute().dtype == "U4"


def test_lazy_numbers_serve_as_integers():
    two: Any = wr.asarray(2, chunks=1)
    n = lazy(np.array([3, 2])).max()
    assert wr.zeros(n).shape == wr.ones((n,)).shape == wr.full(n, 1).shape == (3,)
    assert wr.zeros((two, n)).shape == (2, 3)
    assert wr.linspace(0, 1, n).shape == (3,)
    assert wr.eye(n, k=two).shape == (3, 3)
    assert lazy().reshape(two, -1).shape == lazy().reshape((two, -1)).shape == (2, 6)
    assert wr.tile(lazy(), two).shape == (3, 8)
    np.testing.assert_array_equal(lazy().sum(axis=two - 1), DATA.sum(axis=1))
    np.testing.assert_array_equal(lazy().sum(axis=(two - 1, two - 2)), DATA.sum())
    for bad in (wr.asarray(True), wr.asarray(1.0)):
        with pytest.raises(wr.ArgumentError, match=r"zeros: argument 'shape'"):
            wr.zeros(bad)


def test_shared_memory():
    x = lazy()
    assert np.shares_memory(x, x)
    assert np.may_share_memory(x, x)
    assert not np.may_share_memory(x, DATA)
    assert not np.shares_memory(x, x.copy())


# ---------------------------------------------------------------------- names


def test_settings_are_listed():
    text = pydoc.render_doc(wr.config)
    for field in dataclasses.fields(Settings):
        assert f"{field.name} :" in text
    assert "chunk_bytes : int = 16777216" in text


@pytest.mark.parametrize(
    ("find", "message"),
    [
        (lambda: wr.poly, "no attribute 'poly'.*polynomials of a few numbers"),
        (lambda: wr.r_, "no attribute 'r_'.*concatenate"),
        (lambda: wr.random.PCG64, "windrow.random.*Philox"),
        (lambda: wr.nothing_of_the_kind, "module 'windrow' has no attribute 'nothing_of_the_kind'$"),
        (lambda: lazy().itemset(0, 1), r"no attribute 'itemset'; x\[i\] = v"),
        (lambda: lazy().strides, "no attribute 'strides'.*compute"),
        (lambda: lazy().nothing, "no attribute 'nothing'$"),
    ],
)
def test_what_is_not_there_says_what_is(find, message):
    with pytest.raises(AttributeError, match=message):
        find()


def test_names_that_are_numpys_own():
    for name in (
        "datetime64",
        "integer",
        "generic",
        "intp",
        "dtype",
        "s_",
        "index_exp",
        "ndindex",
        "errstate",
        "bool_",
    ):
        assert getattr(wr, name) is getattr(np, name)


def test_items_and_bytes():
    x = lazy()
    assert x.item(1, 2) == x.item((1, 2)) == x.item(6) == x.item(-6) == DATA.item(6)
    assert type(x.item(0)) is float
    assert x.tobytes() == DATA.tobytes()
    assert x.tobytes("F") == DATA.tobytes("F")
    x.fill(7)
    np.testing.assert_array_equal(x.compute(), np.full((3, 4), 7.0))
    with pytest.raises(wr.ArgumentError, match="item: argument 'args'"):
        x.item(1, 2, 3)
    with pytest.raises(wr.ArgumentError, match="fill: argument 'value'"):
        x.fill([1, 2])


def test_truth_of_many_elements_says_what_to_use():
    with pytest.raises(ValueError, match=r"bool: array has shape \(3, 4\).*all\(\).*windrow.testing.assert_equal"):
        bool(lazy() > 0)


# ---------------------------------------------------------------------- what others hand in


def test_broadcasting_beside_objects():
    none: Any = None
    x, nothing = np.broadcast_arrays(lazy(), none)
    assert isinstance(x, wr.Array)
    assert nothing.dtype == object
    assert nothing.shape == (3, 4)
    x, y = np.broadcast_arrays(lazy(), 1)
    assert isinstance(y, wr.Array)
    assert y.shape == (3, 4)


class Column:
    """Something like a data frame's column."""

    def __init__(self, values: Any) -> None:
        self.values = np.asarray(values)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self.values


def test_keys_that_numpy_reads():
    x = lazy()
    np.testing.assert_array_equal(x[Column([True, False, True])].compute(), DATA[[0, 2]])
    np.testing.assert_array_equal(x[:, Column([3, 0])].compute(), DATA[:, [3, 0]])
    np.testing.assert_array_equal(wr.asarray(Column(DATA), chunks=2).compute(), DATA)
    with pytest.raises(wr.IndexingError, match="float64"):
        x[Column([1.5])]


def test_fields():
    data = np.zeros((3, 2), [("a", "i4"), ("b", "f8", (2,)), ("c", [("d", "U3")])])
    data["a"], data["b"][..., 1], data["c"]["d"] = 5, 7, "xyz"
    x = lazy(data, 2)
    for name in ("a", "b", ["c", "a"]):
        found = x[name]
        assert found.shape == data[name].shape
        np.testing.assert_array_equal(found.compute(), data[name])
    assert x["b"].dtype == "f8"
    assert x[["c", "a"]].dtype == data[["c", "a"]].dtype
    np.testing.assert_array_equal((x["c"]["d"] == "xyz").compute(), True)
    np.testing.assert_array_equal((x["a"] + x["b"].sum(axis=-1)).compute(), 12)
    with pytest.raises(wr.IndexingError, match=r"'z'; expected names among \('a', 'b', 'c'\)"):
        x["z"]
    with pytest.raises(wr.IndexingError, match="float64 has no fields"):
        lazy()["a"]


@pytest.mark.parametrize("data", [np.array([1, -50]), np.array([True]), np.array([1.5]), np.array(["2020"], "M8[s]")])
@pytest.mark.parametrize("kind", [str, "S"])
def test_numbers_as_texts(data, kind):
    found = lazy(data, 1).astype(kind)
    expected = data.astype(kind)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found.compute(), expected)


def test_ranges_of_dates():
    for args, dtype in [
        (("2020-01", "2020-03"), "M8[D]"),
        (("2020-01", "2020-03"), "M8"),
        (("2020-01-01", "2020-01-03", 6), "M8[h]"),
        ((np.datetime64("2020-01"), np.datetime64("2020-03")), "M8[D]"),
        ((0, 5, 2), "m8[s]"),
        ((np.datetime64("2020-01-01"), np.datetime64("2020-02-01"), np.timedelta64(1, "W")), None),
    ]:
        found, expected = wr.arange(*args, dtype=dtype, chunks=3), np.arange(*args, dtype=dtype)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found.compute(), expected)


def test_files_of_numpy_are_overwritten_as_by_numpy(tmp_path):
    path = tmp_path / "x.npy"
    wr.save(path, lazy())
    wr.save(path, lazy() + 1)
    np.testing.assert_array_equal(np.load(path), DATA + 1)
    lazy().save(path)
    np.testing.assert_array_equal(np.load(path), DATA)
    with pytest.raises(wr.FileExists):
        wr.save(path, lazy(), overwrite=False)
    lazy().save(tmp_path / "folder")
    with pytest.raises(wr.FileExists):
        lazy().save(tmp_path / "folder")


def test_functions_of_blocks_that_compute_say_what_to_use():
    with pytest.raises(wr.ClusterError, match="NumPy's functions inside"):
        wr.apply_along_axis(wr.sort, 0, lazy()).compute()


def test_tables_are_sent_to_from_arrow():
    with pytest.raises(wr.ArgumentError, match=r"wr\.from_arrow\(x\) takes tables"):
        wr.asarray(pa.table({"a": [1, 2]}))


WRONG = {
    "axes of one turn": (lambda: wr.rot90(wr.ones((2, 2)), axes=1), wr.ShapeError, "rot90: argument 'axes' is 1"),
    "rounded text": (lambda: wr.round(["a"]), wr.DTypeError, "round: argument 'a'"),
    "no axis": (lambda: wr.apply_over_axes(wr.sum, wr.ones(2), "a"), wr.ArgumentError, "argument 'axes' is 'a'"),
    "graph of a number": (lambda: wr.operation_graph(5), wr.ArgumentError, "operation_graph: argument 'arrays' is 5"),
    "release of a number": (lambda: wr.release(5), wr.ArgumentError, "release: argument 'array' is 5"),
    "no dimensions": (lambda: wr.indices(None), wr.ArgumentError, "indices: argument 'dimensions' is None"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments_are_named(name):
    call, error, words = WRONG[name]
    with pytest.raises(error, match=words):
        call()
