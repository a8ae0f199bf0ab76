"""Arrow: the table of types, blocks as Arrow, tables and arrays that come in and go out."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as nps

import windrow as wr
from windrow.workers.sources.arrow import give_block, stored_type, to_numpy, value_type, wrap

UNITS = ("s", "ms", "us", "ns")
PLAIN = ["?", "i1", "u2", "i4", "u8", "f2", "f4", "f8", "c8", "c16", *(f"{k}8[{u}]" for k in "Mm" for u in UNITS)]
CONVERTED = ["U3", "S4", "M8[D]", "M8[h]", "m8[D]", ">i4", ">c16", [("a", "i4"), ("b", "U2")]]
CARRIED = ["f16", "M8[ps]", "m8[Y]", "M8[10ms]", [("a", "f8", (2,))]]


def values(dtype, shape):
    """Some values of a dtype, each other than the next."""
    plain = np.random.default_rng(1).integers(0, 2 if np.dtype(dtype).kind == "b" else 99, shape)
    made = np.zeros(shape, dtype)
    for name in made.dtype.names or ():
        made[name] = plain.reshape(shape + (1,) * (made[name].ndim - len(shape)))
    return made if made.dtype.names else plain.astype(dtype)


# ---------------------------------------------------------------------- the table


@pytest.mark.parametrize("dtype", [*PLAIN, *CONVERTED, *CARRIED], ids=str)
def test_every_chunk_is_a_valid_arrow_array_over_its_bytes(dtype):
    for data in (values(dtype, (5,)), values(dtype, (4, 3)), values(dtype, ()), values(dtype, (0, 3))):
        made = wrap(data)
        made.validate(full=True)
        buffer = made.buffers()[-1]
        assert made.type == stored_type(data.dtype)
        assert len(made) == data.size
        first = data.__array_interface__["data"][0]
        assert buffer.address <= first < buffer.address + 64 or not data.size
        assert buffer.address + buffer.size == first + data.nbytes


@pytest.mark.parametrize("dtype", CARRIED, ids=str)
def test_what_arrow_has_no_type_for_is_refused_by_name(dtype):
    x = wr.from_array(values(dtype, (3,)))
    assert value_type(x.dtype) is None
    with pytest.raises(wr.DTypeError, match="to_arrow: argument 'x'"):
        x.to_arrow()
    with pytest.raises(wr.DTypeError, match="Arrow has no type for"):
        wr.map_blocks(lambda block: block, x, blocks="arrow")


@pytest.mark.parametrize(
    ("dtype", "count"), [("M8[D]", 2**31), ("M8[D]", -(2**33)), ("M8[W]", 2**29), ("M8[h]", 2**61), ("m8[W]", 2**61)]
)
def test_dates_that_arrow_cannot_count(dtype, count):
    with pytest.raises(wr.BadValue, match="further away than Arrow counts"):
        wr.to_arrow(np.array([0, count]).astype(dtype))
    assert len(wr.to_arrow(np.array([0, count // 2**22]).astype(dtype))) == 2


@given(st.data())
def test_arrow_and_back(data):
    dtype = data.draw(st.sampled_from([d for d in PLAIN + CONVERTED if d != "M8[h]"]))
    shape = data.draw(nps.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=4))
    array = data.draw(nps.arrays(dtype, shape)) if isinstance(dtype, str) else values(dtype, shape)
    if array.dtype.kind in "US":
        array = values(dtype, shape)  # texts that end with NUL have no end
    if array.dtype.kind in "mM" and np.datetime_data(array.dtype)[0] not in UNITS:  # counted otherwise there
        array = array.astype("i8").clip(-(10**6), 10**6).astype(dtype)
    start = data.draw(st.integers(0, shape[0]))
    for part in (array, array[start:], array.T):
        made = give_block(part)
        made.validate(full=True)
        back = to_numpy(made)
        np.testing.assert_array_equal(back.reshape(part.shape).astype(array.dtype), part)


@pytest.mark.parametrize("dtype", ["i1", "u2", "f4", "f8"])
def test_tensors_that_begin_anywhere_are_read_by_arrow(dtype):
    data = np.arange(64 * 3).reshape(64, 3).astype(dtype)
    for start in range(9):
        made = give_block(data[start:])
        np.testing.assert_array_equal(made.to_numpy_ndarray(), data[start:])
        np.testing.assert_array_equal(made[0].to_numpy(), data[start])
        assert np.shares_memory(made.to_numpy_ndarray(), data)


def test_nat_is_null_over_the_same_bytes():
    data = np.array(["2020", "NaT", "2021"], "M8[s]")
    for part in (data, data[1:]):
        made = give_block(part)
        assert made.null_count == 1
        assert made.is_null().to_pylist() == np.isnat(part).tolist()
        assert made.buffers()[1].address + 8 * made.offset == part.__array_interface__["data"][0]


# ---------------------------------------------------------------------- blocks


@pytest.mark.parametrize("dtype", [*PLAIN, *CONVERTED], ids=str)
@pytest.mark.parametrize("shape", [(), (7,), (5, 4), (3, 4, 2)])
def test_blocks_come_and_go(dtype, shape):
    data = values(dtype, shape)
    x = wr.from_array(data, chunks=2) if shape else wr.from_array(data)
    for told in (None, dtype):
        made = wr.map_blocks(lambda block: block, x, dtype=told, blocks="arrow")
        found = made.compute()
        np.testing.assert_array_equal(found.astype(data.dtype), data)


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        (wr.ones(()), "1 double"),
        (wr.arange(4, chunks=3) > 2, "3 bool"),
        (wr.arange(4, chunks=3).astype("U2"), "3 string"),
        (wr.ones((4, 2), "f4", chunks=(3, 2)), "3 extension<arrow.fixed_shape_tensor[value_type=float, shape=[2]]>"),
    ],
)
def test_what_blocks_are(x, expected):
    def tell(block):
        return np.array([f"{len(block)} {block.type}"])

    chunks = ((1,) * (x.numblocks or (1,))[0],)
    drop = (1,) if x.ndim == 2 else None
    made = wr.map_blocks(tell, x, dtype="U99", chunks=chunks, drop_axis=drop, blocks="arrow").compute()
    assert made[0] == expected


def test_functions_of_arrows_own():
    x, y = wr.arange(10, chunks=4), wr.arange(10, chunks=3) * 0.5
    assert wr.map_blocks(pc.add, x, y, blocks="arrow").compute().tolist() == [1.5 * i for i in range(10)]
    assert wr.map_blocks(pc.invert, x > 4, blocks="arrow").sum().compute() == 5
    assert wr.map_blocks(pc.utf8_upper, wr.asarray(["a", "bc"]), blocks="arrow").compute().tolist() == ["A", "BC"]
    table = np.arange(10) * 10
    taken = wr.map_blocks(lambda b, t: pc.take(pa.array(t), b), x, table, dtype=int, blocks="arrow")
    assert taken.compute().tolist() == table.tolist()
    told = wr.map_blocks(lambda b, block_id: pc.add(b, 100 * block_id[0]), x, dtype=int, blocks="arrow")
    assert told.compute()[[0, 4, 8]].tolist() == [0, 104, 208]


@pytest.mark.parametrize(
    "made",
    [
        lambda n: pa.array(range(n)),
        lambda n: pa.chunked_array([range(1), range(1, n)], pa.int64()),
        lambda n: np.arange(n),
        lambda n: pa.array(range(n)).dictionary_encode(),
    ],
)
def test_what_a_function_may_return(made):
    x = wr.map_blocks(lambda b: made(len(b)), wr.zeros(6, chunks=3), dtype=int, blocks="arrow")
    assert x.compute().tolist() == [0, 1, 2, 0, 1, 2]


def test_a_scalar_is_a_block_without_axes():
    assert wr.map_blocks(pc.sum, wr.ones(()), blocks="arrow").compute() == 1


def test_nulls_that_a_function_returns():
    x = wr.arange(6, chunks=3)
    found = wr.map_blocks(pc.pairwise_diff, x, dtype=float, blocks="arrow").compute()
    np.testing.assert_array_equal(found, [np.nan, 1, 1, np.nan, 1, 1])
    with pytest.raises(wr.DTypeError, match=r"map_blocks: pairwise_diff returned .*: 1 nulls in int64"):
        wr.map_blocks(pc.pairwise_diff, x, dtype=int, blocks="arrow").compute()
    days = wr.map_blocks(lambda b: pc.if_else(True, None, b), x.astype("M8[s]"), dtype="M8[s]", blocks="arrow")
    assert np.isnat(days.compute()).all()


RECORDS = [("t", "M8[s]"), ("z", "c8"), ("n", [("d", "m8[s]"), ("s", "U2")])]


@pytest.mark.parametrize("dtype", ["M8[s]", "M8[D]", "m8[ns]", RECORDS], ids=str)
@pytest.mark.parametrize("shape", [(), (3,), (4, 3), (2, 3, 2), (0, 2)])
def test_nat_comes_back_in_tensors_and_records(dtype, shape):
    data = values(dtype, shape)
    for part in (data,) if data.dtype.names is None else (data["t"], data["n"]["d"]):
        part[(..., *[slice(-1, None)] * bool(shape))] = "NaT"
    x = wr.from_array(data, chunks=2) if shape else wr.from_array(data)
    for told in (None, dtype):
        found = wr.map_blocks(lambda block: block, x, dtype=told, blocks="arrow").compute()
        assert (found.dtype, found.tobytes()) == (data.dtype, data.tobytes())


def test_blocks_of_dates_that_arrow_cannot_count():
    x = wr.asarray(np.array([10**12], "M8[D]"))
    with pytest.raises(wr.BadValue, match=r"map_blocks: argument 'blocks' is 'arrow', and there are .* further"):
        wr.map_blocks(lambda block: block, x, dtype="M8[D]", blocks="arrow").compute()


def test_blocks_are_read_only():
    x = wr.arange(6, chunks=3).persist()
    assert (
        not wr.map_blocks(
            lambda b: np.array([b.buffers()[1].is_mutable]), x, dtype=bool, chunks=((1, 1),), blocks="arrow"
        )
        .compute()
        .any()
    )


def test_words_for_blocks():
    with pytest.raises(wr.ArgumentError, match="'blocks' is 'pandas'; expected 'numpy' or 'arrow'"):
        wr.map_blocks(abs, wr.ones(3), blocks="pandas")


# ---------------------------------------------------------------------- in

TABLE = pa.table(
    {
        "n": pa.chunked_array([[1, 2], [None, 4, 5]]),
        "x": pa.chunked_array([[0.5, 1, 2], [3, 4]], pa.float64()),
        "b": [True, False, None, True, True],
        "s": ["a", None, "bcd", "", ""],
        "t": pa.array([1, 2, 3, None, 5], pa.timestamp("ms")),
    }
)


def test_a_table_comes_as_its_columns():
    found = wr.from_arrow(TABLE.select(["x"]))
    assert list(found) == ["x"]
    assert found["x"].chunks == ((3, 2),), "Arrow's own pieces"
    found = wr.from_arrow(TABLE.drop(["s"]), nulls="nan")
    assert [str(c.dtype) for c in found.values()] == ["float64", "float64", "float64", "datetime64[ms]"]
    assert {c.chunks for c in found.values()} == {((2, 1, 2),)}
    np.testing.assert_array_equal(found["n"].compute(), [1, 2, np.nan, 4, 5])
    np.testing.assert_array_equal(found["b"].compute(), [1, 0, np.nan, 1, 1])
    assert np.isnat(found["t"].compute()).tolist() == [False, False, False, True, False]
    assert wr.from_arrow(TABLE.drop(["s"]), chunks=4, nulls="nan")["b"].chunks == ((4, 1),)


def test_masks():
    found, masks = wr.from_arrow(TABLE, nulls="mask")
    assert list(found) == list(masks) == TABLE.column_names
    for name, column in found.items():
        assert masks[name].compute().tolist() == TABLE[name].is_null().to_pylist()
        assert masks[name].chunks == column.chunks
    assert found["n"].compute().tolist() == [1, 2, 0, 4, 5]
    assert found["b"].compute().tolist() == [True, False, False, True, True]
    assert found["s"].compute().tolist() == ["a", "", "bcd", "", ""]
    column, mask = wr.from_arrow(TABLE["n"], nulls="mask")
    assert (column.dtype, mask.sum().compute()) == (np.int64, 1)


INNER = {
    "list": (pa.array([[1, None], [3, 4]], pa.list_(pa.int64(), 2)), [[False, True], [False, False]]),
    "tensor": (
        pa.ExtensionArray.from_storage(
            pa.fixed_shape_tensor(pa.int64(), [2, 1], permutation=[1, 0]),
            pa.array([[1, None], [3, 4]], pa.list_(pa.int64(), 2)),
        ),
        [[[False, True]], [[False, False]]],
    ),
    "record": (pa.array([{"x": 1, "y": None}, {"x": 2, "y": 3}]), [True, False]),
    "null record": (pa.array([{"x": 1, "y": 5}, None]), [False, True]),
    "dictionary": (pa.DictionaryArray.from_arrays(pa.array([0, 1, None]), pa.array([7, None])), [False, True, True]),
    "complex": (pa.array([[1, None], [3, 4]], pa.list_(pa.field("complex", pa.float64()), 2)), [True, False]),
}


@pytest.mark.parametrize("kind", INNER)
def test_nulls_within_lists_records_and_dictionaries(kind):
    column, expected = INNER[kind]
    found, masks = wr.from_arrow(pa.table({"v": column}), nulls="mask")
    assert found["v"].shape == masks["v"].shape
    assert masks["v"].compute().tolist() == expected
    made = wr.from_arrow(pa.table({"v": column}), nulls="nan")["v"].compute()
    if made.dtype.names:
        made = made["x"] + made["y"]
    assert np.isnan(made).tolist() == expected
    with pytest.raises(wr.DTypeError, match="nulls"):
        wr.from_arrow(pa.table({"v": column}))


def test_what_is_no_table_has_no_column():
    with pytest.raises(wr.DTypeError, match=r"argument 'x' is .*1 nulls in string.*nulls='mask'"):
        wr.from_arrow(TABLE["s"], nulls="nan")


@pytest.mark.parametrize("matrix", [False, True])
def test_chunks_are_refused_by_name(matrix):
    with pytest.raises(wr.ChunksError, match="from_arrow: argument 'chunks'"):
        wr.from_arrow(TABLE.select(["x"]), chunks=-5, matrix=matrix)


def test_a_matrix_and_its_names():
    matrix, names = wr.from_arrow(TABLE.select(["n", "x", "b"]), nulls="nan", matrix=True)
    assert names == ["n", "x", "b"]
    assert (matrix.shape, matrix.dtype, matrix.chunks) == ((5, 3), np.float64, ((2, 1, 2), (3,)))
    np.testing.assert_array_equal(matrix.compute()[2], [np.nan, 2, np.nan])
    matrix, mask, names = wr.from_arrow(TABLE.select(["n", "x"]), chunks=(4, 1), nulls="mask", matrix=True)
    assert matrix.chunks == mask.chunks == ((4, 1), (1, 1))
    assert mask.compute().sum() == 1
    assert wr.to_arrow(matrix, names=names).column_names == names
    with pytest.raises(wr.DTypeError, match=r"columns of one kind.*'s': '<U3'"):
        wr.from_arrow(TABLE.select(["x", "s"]), nulls="mask", matrix=True)
    with pytest.raises(wr.ArgumentError, match="is no table"):
        wr.from_arrow(TABLE["x"], matrix=True)


@pytest.mark.parametrize("nulls", ["raise", "nan"])
def test_nulls_are_refused_by_name(nulls):
    with pytest.raises(wr.DTypeError, match=r"from_arrow: argument \"x\['s'\]\" is .*1 nulls in string"):
        wr.from_arrow(TABLE.select(["s"]), nulls=nulls)


def test_many_small_pieces_are_merged():
    batch = pa.record_batch({"x": np.arange(100.0), "y": np.arange(100, dtype="i1")})
    found = wr.from_arrow(pa.Table.from_batches([batch] * 5000))
    assert found["x"].chunks == found["y"].chunks
    assert found["x"].chunksize == (131_000,), "1 MiB, by whole pieces"
    np.testing.assert_array_equal(found["x"].compute(), np.tile(np.arange(100.0), 5000))
    found = wr.from_arrow(pa.Table.from_batches([batch] * 32))
    assert found["y"].numblocks == (32,)


def test_numbers_are_not_copied():
    data = np.arange(10.0)
    x = wr.from_arrow(pa.table({"x": data[2:]}))["x"]
    made = wr.map_blocks(lambda b: np.array([b.__array_interface__["data"][0]]), x, dtype=int, chunks=((1,),))
    assert made.compute().tolist() == [data[2:].__array_interface__["data"][0]]


def test_frames_of_pandas():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(
        {"a": [1, 2], "b": [1.5, np.nan], "c": pd.Categorical(["u", "v"]), "d": pd.array([3, None], "Int8")},
        index=["p", "q"],
    )
    found, masks = wr.from_arrow(frame, nulls="mask")
    assert list(found) == ["a", "b", "c", "d"], "the index is left out"
    assert found["c"].compute().tolist() == ["u", "v"]
    assert masks["b"].compute().tolist() == masks["d"].compute().tolist() == [False, True]
    assert wr.from_arrow(frame["a"]).compute().tolist() == [1, 2]
    assert wr.to_arrow({"a": found["a"]}).to_pandas()["a"].tolist() == [1, 2]
    with pytest.raises(wr.ArgumentError, match=r"from_arrow\(x\) takes tables"):
        wr.asarray(frame)


class Speaks:
    """Something that hands over its data by the protocol, and is none of Arrow's classes."""

    def __init__(self, inner):
        self.inner = inner

    def __arrow_c_stream__(self, requested_schema=None):
        return self.inner.__arrow_c_stream__(requested_schema)


def test_whatever_speaks_the_protocol():
    assert wr.from_arrow(Speaks(TABLE.select(["x"])))["x"].sum().compute() == 10.5
    assert wr.from_arrow(Speaks(TABLE["x"])).sum().compute() == 10.5
    batch = TABLE.to_batches()[0]
    assert wr.from_arrow(batch.select(["x"]))["x"].compute().tolist() == [0.5, 1]
    reader = pa.RecordBatchReader.from_batches(batch.select(["x"]).schema, [batch.select(["x"])] * 2)
    assert wr.from_arrow(reader)["x"].chunks == ((2, 2),)


@pytest.mark.parametrize(
    "x", [[1], np.ones(3), wr.ones(3), pa.table({}), pa.Table.from_arrays([pa.array([1])] * 2, names=["a", "a"])]
)
def test_what_is_no_table_is_refused(x):
    with pytest.raises(wr.ArgumentError, match="from_arrow: argument 'x'"):
        wr.from_arrow(x)


@pytest.mark.parametrize(
    "x", [pa.array([1], pa.decimal128(5, 2)), pa.array([1], pa.time32("s")), pa.array([[1], [2, 3]])], ids=str
)
def test_types_without_a_dtype_are_refused(x):
    with pytest.raises(wr.DTypeError, match="from_arrow"):
        wr.from_arrow(x)


def test_lists_and_tensors_are_axes():
    vectors = pa.array([[1.0, 2.0], [3.0, 4.0]], pa.list_(pa.float64(), 2))
    assert wr.from_arrow(pa.table({"v": vectors}))["v"].compute().tolist() == [[1, 2], [3, 4]]
    turned = np.arange(24).reshape(2, 3, 4).transpose(0, 2, 1)
    np.testing.assert_array_equal(wr.from_arrow(pa.FixedShapeTensorArray.from_numpy_ndarray(turned)).compute(), turned)


# ---------------------------------------------------------------------- out


def test_tables_go_out_with_names_and_chunks():
    x = wr.arange(10, chunks=4)
    table = wr.to_arrow({"n": x, "half": (x / 2).rechunk(3), "z": x * 1j, "late": (x > 5).persist()})
    assert table.column_names == ["n", "half", "z", "late"]
    assert [len(c) for c in table["n"].chunks] == [4, 4, 2]
    assert [len(c) for c in table["half"].chunks] == [3, 3, 3, 1]
    back = wr.from_arrow(table)
    assert back["z"].dtype == np.complex128
    np.testing.assert_array_equal(back["z"].compute(), np.arange(10) * 1j)
    assert back["late"].sum().compute() == 4
    records = wr.from_array(values([("a", "i4"), ("b", "U2")], (5,)), chunks=2)
    table = wr.to_arrow(records)
    assert table.column_names == ["a", "b"]
    assert [len(c) for c in table["a"].chunks] == [2, 2, 1]


@pytest.mark.parametrize(
    ("x", "names"), [({"a": wr.ones(3), "b": wr.ones(4)}, None), ({"a": wr.ones(())}, None), (wr.ones((3, 2)), ["a"])]
)
def test_what_makes_no_table(x, names):
    with pytest.raises(wr.ShapeError, match="to_arrow"):
        wr.to_arrow(x, names=names)


NO_NAMES = {
    "a text": "ab",
    "a number": 5,
    "numbers": [1, 2],
    "twice": ["a", "a"],
    "none": [None, "b"],
    "an iterator": iter("ab"),
    "a set": {"a", "b"},
}


@pytest.mark.parametrize("names", NO_NAMES.values(), ids=NO_NAMES)
def test_what_makes_no_names(names):
    with pytest.raises(wr.ArgumentError, match="to_arrow: argument 'names'"):
        wr.to_arrow(wr.ones((3, 2)), names=names)
    with pytest.raises(wr.ArgumentError, match=r"'names' .*; expected None, since x, a dict, has names"):
        wr.to_arrow({"a": wr.ones(3)}, names=names)


def test_dates_that_go_nowhere_are_named():
    with pytest.raises(wr.BadValue, match=r"to_arrow: argument \"x\['d'\]\": .* further away"):
        wr.to_arrow({"d": np.array([10**12], "M8[D]")})


# ---------------------------------------------------------------------- folders of before


@pytest.mark.parametrize(("dtype", "former"), [("?", pa.uint8()), ("c16", pa.binary(16)), ("c8", pa.binary(8))])
def test_folders_saved_before_are_read(tmp_path, dtype, former):
    data = values(dtype, (6,))
    wr.save(tmp_path / "x", wr.from_array(data, chunks=4))
    part = tmp_path / "x" / "part-0000000.arrow"
    schema = pa.schema([("values", former)])
    with pa.OSFile(str(part), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
        for chunk in (data[:4], data[4:]):
            column = pa.Array.from_buffers(former, len(chunk), [None, pa.py_buffer(chunk.tobytes())])
            writer.write_batch(pa.record_batch([column], schema=schema))
    head = tmp_path / "x" / "windrow.json"
    told = json.loads(head.read_text())
    told["files"]["bytes"] = [part.stat().st_size]
    head.write_text(json.dumps(told))
    np.testing.assert_array_equal(wr.load(tmp_path / "x").compute(), data)


def test_persisted_without_axes():
    kept = wr.asarray(3.0).persist()
    wr.wait(kept)
    assert kept.to_arrow().to_pylist() == [3.0]
    assert pa.array(kept).to_pylist() == [3.0]


@pytest.mark.parametrize("values", [[b"bb\0c", b"", b"d"], ["a\0b", "\0d", ""], [b"a", b"b"]])
def test_zeros_within_texts_stay(values):
    x = wr.from_array(np.array(values), chunks=2)
    assert x.to_arrow().to_pylist() == values
    assert wr.map_blocks(lambda block: block, x, blocks="arrow", dtype=x.dtype).compute().tolist() == values
