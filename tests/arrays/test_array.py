"""The array as Python and NumPy see it; verbs; what explains and draws."""

from __future__ import annotations

import copy
import importlib
import importlib.util
import operator
import pickle
import pkgutil
import re
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import cloudpickle
import numpy as np
import pytest

import windrow as wr
from windrow import arrays


def test_facade_exports_what_modules_list():
    modules = [m.name for m in pkgutil.walk_packages(arrays.__path__, "windrow.arrays.")]
    apart = (
        "linalg",
        "fft",
        "interop.dask",
        "scipy",
        "user_functions.overlap",
        "shared",
        "random",
        "testing",
    )
    spaces = tuple(f"windrow.arrays.{n}" for n in apart)
    missing = [
        f"{name}.{listed}"
        for name in modules
        if not name.startswith(spaces)
        for listed in getattr(importlib.import_module(name), "__all__", ())
        if listed not in dir(wr)
    ]
    assert missing == []
    assert [n for n in dir(wr) if n != "ml" and not hasattr(wr, n)] == []
    assert {"sum", "sqrt", "Array", "config", "ml"} <= set(dir(wr))


def test_attributes():
    x = wr.ones((10, 6), "f4", chunks=(4, 3))
    assert (x.shape, x.ndim, x.size, x.nbytes, x.itemsize) == ((10, 6), 2, 60, 240, 4)
    assert (x.chunksize, x.numblocks, x.npartitions) == ((4, 3), (3, 2), 6)
    assert x.T.shape == x.mT.shape == (6, 10)
    assert repr(x) == "Array(shape=(10, 6), dtype=float32, chunksize=(4, 3), op=ones)"
    assert len(x) == 10
    with pytest.raises(TypeError, match="len"):
        len(wr.ones(()))


def test_conversions():
    x = wr.full((1, 1), 3)
    assert float(x) == int(x) == complex(x) == x.item() == 3
    assert bool(x)
    assert [10, 20, 30, 40][x.sum()] == 40
    assert [int(v) for v in wr.arange(5, chunks=2)] == [0, 1, 2, 3, 4]
    assert 3 in wr.arange(5)
    assert 7 not in wr.arange(5)
    assert wr.arange(3).tolist() == [0, 1, 2]
    for convert in (bool, float, int, complex):
        with pytest.raises(ValueError, match=f"{convert.__name__}.*single element"):
            convert(wr.ones(3))
    with pytest.raises(TypeError):
        [1, 2][wr.ones(())]


def test_results_are_owned_and_writable():
    data = np.arange(6.0)
    for x in (wr.from_array(data), wr.from_array(data) + 0, wr.from_array(data, chunks=2)):
        made = x.compute()
        made[:] = 0
        assert made.flags.owndata or made.base is not data
    assert data.sum() == 15
    assert isinstance(wr.ones(3).sum().compute(), np.float64)
    assert isinstance(wr.ones(()).compute(), np.ndarray)


def test_compute_together():
    x = wr.arange(10, chunks=3)
    total, most, seven, again = wr.compute(x.sum(), x.max(), 7, x)
    assert (total, most, seven) == (45, 9, 7)
    assert again.tolist() == list(range(10))


@pytest.mark.parametrize("verb", [wr.compute, wr.persist])
@pytest.mark.parametrize("count", range(4))
def test_results_come_as_they_were_asked_for(verb, count):
    rows = [wr.arange(3, chunks=2) + k for k in range(count)]
    for asked, kind in ((rows, tuple), ([rows], list), ([tuple(rows)], tuple), ([dict(enumerate(rows))], dict)):
        got = verb(*asked)
        assert type(got) is kind
        assert [np.asarray(one).tolist() for one in (got.values() if kind is dict else got)] == [
            [k, k + 1, k + 2] for k in range(count)
        ]


class Ends(NamedTuple):
    """A named tuple of arrays."""

    first: Any
    last: Any


def test_compute_in_structures():
    x = wr.arange(10, chunks=3)
    got = wr.compute({"total": x.sum(), "ends": [x[0], (x[-1], "text", None)]})
    assert got == {"total": 45, "ends": [0, (9, "text", None)]}
    assert type(got["ends"][0]) is np.int64
    first, second = wr.compute([x.min(), x.max()], Ends(x[1], x[2]))
    assert first == [0, 9]
    assert second == Ends(1, 2)
    assert type(second) is Ends
    assert wr.compute([]) == []
    assert wr.compute((x.sum(),)) == (45,)
    same = np.ones(3)
    assert wr.compute(same)[0] is same


def test_persist_and_release():
    x = (wr.ones(100, chunks=10) * 2).persist()
    assert (x + 1).sum().compute() == 300
    assert x.sum().compute() == 200
    x.release()
    assert x.sum().compute() == 200
    a, b = wr.persist(wr.ones(3), wr.zeros(3))
    assert (a + b).sum().compute() == 3
    with pytest.raises(wr.ArgumentError, match=r"persist.*'arrays'"):
        wr.persist(3)


def test_numpy_functions_stay_lazy():
    data = np.arange(12.0).reshape(3, 4)
    x = wr.from_array(data, chunks=2)
    for got, expected in [
        (np.sin(x), np.sin(data)),
        (np.sum(x, axis=0), data.sum(0)),
        (np.concatenate([x, data]), np.concatenate([data, data])),
        (np.where(x > 2, x, data), np.where(data > 2, data, data)),
        (np.matmul(x, x.T), data @ data.T),
        (np.zeros_like(x), np.zeros_like(data)),
        (data + x, data + data),
        (np.float64(2) * x, 2 * data),
        (np.transpose(x), data.T),
    ]:
        assert isinstance(got, wr.Array)
        np.testing.assert_array_equal(got.compute(), expected)
    np.testing.assert_array_equal(np.asarray(x), data)
    assert np.asarray(x, "f4").dtype == np.float32
    with pytest.raises(ValueError, match="copy"):
        np.asarray(x, copy=False)


def test_functions_of_the_shape():
    x: Any = wr.ones((4, 6), chunks=3)
    assert (np.shape(x), np.ndim(x), np.size(x)) == ((4, 6), 2, 24)
    assert (np.size(x, 0), np.size(x, axis=-1), np.size(x, axis=None)) == (4, 6, 24)
    with pytest.raises(wr.AxisError, match="size"):
        np.size(x, 2)


@pytest.mark.parametrize(
    ("function", "name", "instead"),
    [
        (np.roots, "numpy.roots", r"polynomials of a few numbers: NumPy's \(see docs/operations.md\)$"),
        (lambda x: np.poly(x), "numpy.poly", "polynomials of a few numbers"),
    ],
)
def test_functions_that_are_not_there_are_named(function, name, instead):
    expected = f"^{re.escape(name)} doesn't take lazy arrays; those of NumPy that are like it are not here: "
    with pytest.raises(wr.ArgumentError, match=expected + instead):
        function(wr.ones(3))


def test_names_that_are_nearly_right_are_suggested():
    for text, meant in (("wr.argsrot", "argsort"), ("wr.linalg.choleksy", "cholesky"), ("wr.ones(3).stdd", "std")):
        done = subprocess.run(
            [sys.executable, "-c", f"import windrow as wr\n{text}"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.stderr.rstrip().endswith(f"did you mean {meant!r}?")


@pytest.mark.parametrize(
    "call",
    [
        lambda: wr.percentile(wr.ones(3), 101),
        lambda: wr.concatenate([]),
        lambda: wr.random.default_rng(-1),
        lambda: wr.ones(3).item(),
    ],
)
def test_bad_arguments_are_value_errors_where_numpy_raises_these(call):
    with pytest.raises(ValueError, match="expected"):
        call()


def test_conversions_of_several_elements_are_type_errors_as_numpy_s():
    for convert in (float, int, complex):
        with pytest.raises(TypeError, match=r"\(3,\).*single element"):
            convert(wr.ones(3))


def test_formats():
    x = wr.full((), 2.5)
    assert f"{x:.2f}|{x * 2:>6.1f}|{wr.arange(5).sum():03d}" == "2.50|   5.0|010"
    assert f"{x}" == str(x)
    y = wr.ones(3)
    assert f"{y}" == str(y)
    with pytest.raises(TypeError, match=r"format: argument 'spec' is '\.2f'.*shape \(3,\).*compute\(\)"):
        f"{y:.2f}"


def test_rounds():
    x: Any = wr.from_array(np.array([1.26, -2.74]), chunks=1)
    np.testing.assert_array_equal(round(x).compute(), [1, -3])
    np.testing.assert_array_equal(round(x, 1).compute(), [1.3, -2.7])


def test_copies_are_arrays_of_their_own():
    x = wr.ones(3)
    for y in (x.copy(), copy.copy(x), copy.deepcopy([x])[0]):
        y += 1
        assert (x.compute().tolist(), y.compute().tolist()) == ([1, 1, 1], [2, 2, 2])


def test_arrays_are_not_pickled():
    for dumps in (pickle.dumps, cloudpickle.dumps):
        with pytest.raises(
            TypeError, match=r"lives with its cluster; wr\.submit\(f, x\) .* pickle what it computes: x\.compute\(\)"
        ):
            dumps(wr.ones(3))


def test_no_element_is_none():
    for data in (np.arange(6.0).reshape(2, 3), np.array(["a", "b"])):
        x = wr.from_array(data, chunks=2)
        none: Any = None
        for got, expected in ((x == none, np.equal(data, none)), (x != none, np.not_equal(data, none))):
            assert (got.dtype, got.chunks) == (bool, x.chunks)
            np.testing.assert_array_equal(got.compute(), expected.astype(bool))
        assert none not in x


@pytest.mark.parametrize(
    "other", [Fraction(2), Decimal("0.5"), Fraction(1, 3), Decimal("NaN"), range(6), object(), slice(2), int]
)
def test_anything_is_compared_element_by_element(other):
    data = np.arange(6.0)
    x = wr.from_array(data, chunks=4)
    np.testing.assert_array_equal((x == other).compute(), data == other)
    np.testing.assert_array_equal((x != other).compute(), data != other)


def test_what_cannot_be_compared_raises():
    da = pytest.importorskip("dask.array")
    x = wr.arange(4)
    for other in (da.arange(4), {1}, iter([1])):
        for compare in (operator.eq, operator.ne):
            with pytest.raises(TypeError, match=r"equal: (argument 'x2' is|an operand is a dask array)"):
                compare(x, other)


def test_flat_is_compared_element_by_element():
    x = wr.arange(6, chunks=2).reshape(2, 3)
    data = np.arange(6).reshape(2, 3)
    for compare in (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge):
        np.testing.assert_array_equal(compare(x.flat, 2).compute(), compare(data.flat, 2))


def test_gathering_much_warns():
    with (
        wr.config.set(warn_gather_bytes=100),
        pytest.warns(UserWarning, match="gathers a whole array of 800 bytes"),
    ):
        np.asarray(wr.ones(100))


def test_explain():
    data = np.ones((100, 100))
    x = wr.from_array(data, chunks=50)
    plan = ((x + 1) @ x).sum().explain()
    assert plan.bytes_read >= data.nbytes
    assert plan.bytes_moved > 0
    assert plan.tasks == sum(s.tasks for s in plan.stages) > 0
    assert plan.bytes_held > data.nbytes
    assert "matmul" in str(plan)
    assert "test_array.py" in str(plan)
    assert wr.explain(x + 1, x - 1).tasks > 0
    simple = (wr.ones((1000, 1000), chunks=100) + 1).sum().explain()
    assert (simple.bytes_read, len(simple.stages)) == (0, 2)


def test_graph():
    x = wr.ones(3)
    graph = ((x + 1) * (x + 1)).graph()
    assert sorted(d["label"] for _, d in graph.nodes(data=True)) == ["add", "multiply", "ones"]
    assert graph.number_of_edges() == 2


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i8", "f4", "f8", "M8[s]", "M8[D]", "m8[ms]", "U5", ">f8"])
def test_to_arrow(dtype):
    data = np.arange(24).astype(dtype)
    array = wr.from_array(data, chunks=5).to_arrow()
    assert array.to_pylist() == data.tolist()
    tensor = wr.from_array(data.reshape(2, 3, 4), chunks=2).to_arrow() if dtype in ("i8", "f4", "f8") else None
    if tensor is not None:
        np.testing.assert_array_equal(tensor.to_numpy_ndarray(), data.reshape(2, 3, 4))


def test_to_arrow_of_a_chunk_keeps_it():
    x = (wr.arange(1000, chunks=-1) * 2).persist()
    array = x.to_arrow()
    assert x.to_arrow().buffers()[1].address == array.buffers()[1].address
    del x
    others = [(wr.ones(1000, chunks=-1) + i).persist() for i in range(3)]
    assert others[0].compute()[0] == 1
    assert array.to_pylist()[:3] == [0, 2, 4]
    with pytest.raises(wr.DTypeError, match=r"to_arrow.*float128"):
        wr.ones(3, np.longdouble).to_arrow()


def test_errors_bear_the_line_of_the_operation():
    assert "test_array.py" in wr.ones(3).expr.origin.where
    assert "test_array.py" in (wr.ones(3) + 1).expr.origin.where
    lazy: Any = np.add(wr.ones(3), 1)
    assert "test_array.py" in lazy.expr.origin.where
