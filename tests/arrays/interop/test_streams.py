"""Arrays as Arrow's streams: what pyarrow, polars, DuckDB and pandas make of them, and which bytes these read."""

from __future__ import annotations

import gc

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from windrow.arrays.creation import arrow_stream

DATA = np.arange(12.0).reshape(6, 2)
NAMES = ["0", "1"]


@pytest.fixture(params=["at once", "in parts", "persisted"])
def matrix(request, monkeypatch):
    """A 2-D array in chunks along both axes, or kept by rows; its stream is made in each of three ways."""
    x = wr.from_array(DATA, chunks=(4, 2 if request.param == "persisted" else 1)) + 0
    if request.param == "in parts":
        monkeypatch.setattr(arrow_stream, "AT_ONCE", 0)
    return x.persist() if request.param == "persisted" else x


def test_a_matrix_is_a_table_for_pyarrow(matrix):
    reader = pa.RecordBatchReader.from_stream(matrix)
    assert reader.schema.names == NAMES
    batches = list(reader)
    assert [len(b) for b in batches] == [4, 2]
    np.testing.assert_array_equal(pa.Table.from_batches(batches).to_pandas(), DATA)
    assert pa.table(matrix).column_names == NAMES
    assert pa.array(matrix).to_numpy_ndarray().tolist() == DATA.tolist(), "an array is of tensors"
    assert matrix.to_arrow().to_numpy_ndarray().tolist() == DATA.tolist()
    wanted = pa.schema([("0", pa.float32()), ("1", pa.float32())])
    assert pa.RecordBatchReader.from_stream(matrix, wanted).read_all().schema == wanted


def test_a_matrix_is_a_frame_for_polars(matrix):
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame(matrix)
    assert (frame.columns, frame.to_numpy().tolist()) == (NAMES, DATA.tolist())
    frame = pl.DataFrame({"a": matrix[:, 0], "b": wr.arange(6)})
    assert frame["a"].to_list() == DATA[:, 0].tolist()
    found = wr.from_arrow(frame.lazy().filter(pl.col("b") > 3).collect())
    assert found["a"].compute().tolist() == [8, 10]


def test_duckdb_asks_an_array(matrix):
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    numbers = wr.arange(6, chunks=4)  # noqa: F841 — named in the query
    assert connection.sql('select sum("0"), max("1") from matrix').fetchall() == [(30, 11)]
    assert connection.sql("select count(*) from numbers").fetchall() == [(6,)]
    connection.register("kept", wr.to_arrow({"x": matrix[:, 0], "n": wr.arange(6)}))
    found = wr.from_arrow(connection.sql("select x, n from kept where n >= 4 order by n").to_arrow_table())
    assert found["x"].compute().tolist() == [8, 10]


def test_pandas_makes_frames(matrix):
    pd = pytest.importorskip("pandas")
    np.testing.assert_array_equal(pd.DataFrame(matrix).to_numpy(), DATA)
    if hasattr(pd.DataFrame, "from_arrow"):
        assert pd.DataFrame.from_arrow(matrix).columns.tolist() == NAMES


def test_records_and_columns():
    records = wr.from_array(np.array([(1, 2.0), (3, 4.0), (5, 6.0)], [("a", "i4"), ("b", "f8")]), chunks=2)
    assert pa.RecordBatchReader.from_stream(records).read_all().to_pydict() == {"a": [1, 3, 5], "b": [2, 4, 6]}
    assert pa.chunked_array(wr.arange(5, chunks=3)).to_pylist() == [0, 1, 2, 3, 4]
    assert pa.chunked_array(wr.arange(5, chunks=3), type=pa.int8()).type == pa.int8()
    assert pa.chunked_array(wr.ones((2, 2, 2))).type.shape == [2, 2]
    assert pa.chunked_array(wr.ones(0)).to_pylist() == []
    assert pa.table(wr.ones((0, 2))).num_rows == 0
    assert pa.chunked_array(wr.ones((2, 0))).type.shape == [0]
    with pytest.raises(wr.DTypeError, match="to_arrow: argument 'x'"):
        pa.table(wr.ones((2, 2), "g"))


def address(chunk):
    """Where the elements of an Arrow array begin."""
    return chunk.buffers()[1].address + chunk.offset * chunk.type.bit_width // 8


def where(x):
    """Where the chunks of an array lie, as functions of blocks see them."""
    each = wr.map_blocks(
        lambda b: np.array([b.__array_interface__["data"][0]]), x, dtype=int, chunks=((1,) * x.npartitions,)
    )
    return each.compute().tolist()


def test_persisted_arrays_are_not_copied():
    x = (wr.arange(100_000, chunks=30_000) * 2).persist()
    wr.wait(x)
    at = where(x)
    whole = pa.chunked_array(x)
    assert [address(c) for c in whole.chunks] == at
    assert [address(c) for c in wr.to_arrow({"x": x})["x"].chunks] == at
    column = wr.random.default_rng(1).normal(size=(9000, 1), chunks=(3000, 1)).persist()
    wr.wait(column)
    seen = wr.map_blocks(
        lambda b: np.array([[b.__array_interface__["data"][0]]]), column, dtype=int, chunks=((1,) * 3, (1,))
    )
    batches = list(pa.RecordBatchReader.from_stream(column))
    assert [address(b.column(0)) for b in batches] == seen.compute().ravel().tolist()
    wr.release(x)
    del x
    gc.collect()
    assert whole.to_pylist()[-3:] == [199_994, 199_996, 199_998], "the chunks live as long as they are read"


def test_a_stream_of_a_large_array_is_made_in_parts(monkeypatch):
    monkeypatch.setattr(arrow_stream, "AT_ONCE", 0)
    x = wr.random.default_rng(1).normal(size=(40, 3), chunks=(10, 3))
    reader = pa.RecordBatchReader.from_stream((x - x.mean(axis=0)) * 1)
    first = reader.read_next_batch()
    assert len(first) == 10
    reader.close()
    rest = np.concatenate(
        [np.stack([c.to_numpy() for c in b.columns], axis=1) for b in pa.RecordBatchReader.from_stream(x)]
    )
    np.testing.assert_array_equal(rest, x.compute())
