"""What users' functions return: dtypes that hold it, no masks, on the embedded engine and on ranks."""

from __future__ import annotations

import re

import numpy as np
import pytest

import windrow as wr

PROGRAM = """
import numpy as np
import windrow as wr

x = wr.ones((4, 4), chunks=2)
for function, dtype in ((lambda b: b * 1j, float), (lambda b: np.ma.masked_less(b, 5), float)):
    try:
        wr.map_blocks(function, x, dtype=dtype).compute()
    except wr.WindrowError as error:
        print(type(error).__name__, str(error).splitlines()[0])

def about(block, block_info):
    assert set(block_info) == {0, None}, block_info
    return block * block_info[None]["array-location"][0][0] + block_info[0]["chunk-location"][1]

print(x.map_blocks(about, dtype=float).compute().tolist())
print(x.map_overlap(lambda b: b[1:-1] * 2, {0: 1}, "periodic", trim=False).sum().compute())
"""


def turned(block):
    return block * 1j


@pytest.mark.parametrize(
    ("function", "dtype", "came"),
    [
        (turned, "f8", "complex128"),
        (lambda b: b + 0.5, "i8", "float64"),
        (lambda b: b.astype(int), "?", "int64"),
        (lambda b: (b + 9).astype(int).astype("U"), "U1", "<U21"),
    ],
)
def test_a_dtype_that_cannot_hold_what_a_function_returns(function, dtype, came):
    x = wr.arange(4.0, chunks=2)
    with pytest.raises(wr.DTypeError, match=rf"{function.__name__}.*returned dtype {came} for block \(.,\); expected"):
        wr.map_blocks(function, x, dtype=dtype).compute()


def test_an_imaginary_part_that_no_sample_shows():
    x = wr.arange(-2.0, 2.0, chunks=2)
    with pytest.raises(wr.DTypeError, match="complex128"):
        wr.map_blocks(np.emath.sqrt, x).compute()


def test_what_loses_nothing_is_cast():
    x = wr.arange(4.0, chunks=2)
    for function, dtype in (
        (np.sqrt, "f4"),
        (lambda b: b > 1, "i2"),
        (lambda b: b.astype(int) * 100, "u1"),
        (lambda b: b.astype("U32"), "U3"),
        (lambda b: b, complex),
        (lambda b: b.astype(object), "f8"),
    ):
        with np.errstate(all="ignore"):
            expected = np.asarray(function(np.arange(4.0))).astype(dtype)
        found = wr.map_blocks(function, x, dtype=dtype).compute()
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


def hidden(block):
    return np.ma.masked_less(block, 1)


def test_masked_arrays_are_refused():
    x = wr.arange(6.0, chunks=3).reshape(2, 3)
    for dtype in (None, float):
        for call in (
            lambda dtype: wr.map_blocks(hidden, x, dtype=dtype),
            lambda dtype: wr.map_overlap(hidden, x, depth=1, dtype=dtype),
            lambda dtype: wr.blockwise(hidden, "ij", x, "ij", dtype=dtype),
            lambda dtype: wr.apply_gufunc(hidden, "(i)->(i)", x, output_dtypes=dtype),
            lambda dtype: wr.apply_gufunc(lambda b: (hidden(b), b), "(i)->(i),(i)", x, output_dtypes=dtype)[0],
            lambda dtype: wr.apply_along_axis(hidden, 0, x, dtype=dtype, shape=2 if dtype else None),
        ):
            with pytest.raises(wr.ArgumentError, match=r"masked array.*filled"):
                call(None if dtype is None else dtype).compute()


def test_parts_of_several_results_are_checked():
    x = wr.ones((4, 3), chunks=2)
    both = wr.apply_gufunc(lambda b: (b.sum(-1) * 1j, b.max(-1)), "(i)->(),()", x, output_dtypes=(float, float))
    with pytest.raises(wr.DTypeError, match=r"complex128.*float64"):
        wr.compute(*both)


@pytest.mark.ranks
def test_on_ranks(launch, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    ended = launch(3, "program.py")
    assert ended.status == 0, ended.err
    lines = ended.out.splitlines()
    told = r"DTypeError <lambda>: the function returned dtype complex128 for block \([01], [01]\)"
    assert re.match(told, lines[0])
    assert lines[1].startswith("ArgumentError <lambda>: the function returned a masked array")
    assert lines[2:] == [str([[0.0, 0.0, 1.0, 1.0]] * 2 + [[2.0, 2.0, 3.0, 3.0]] * 2), "32.0"]


def test_texts_in_records_must_fit_too():
    narrow, wide = np.dtype([("a", "U1")]), np.array([("long",)], [("a", "U4")])
    x = wr.map_blocks(lambda block: wide, wr.ones(1), dtype=narrow)
    with pytest.raises(wr.DTypeError, match=r"dtype <U4 in field 'a'"):
        x.compute()
