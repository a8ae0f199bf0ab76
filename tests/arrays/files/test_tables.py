"""Tables in files of Parquet, Arrow and CSV: what others wrote is read, texts and nulls too; errors say where."""

from __future__ import annotations

import gzip
import os
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.dataset as ds
import pyarrow.feather as pf
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from windrow.arrays.files.tables import csv as reading
from windrow.workers.sources.formats import csv as formats

fsspec = pytest.importorskip("fsspec")

TABLE = pa.table(
    {
        "i": [1, None, 3, 4],
        "b": [True, None, False, True],
        "x": [0.5, None, 1, 2],
        "s": ["a", None, "bcdé", ""],
        "d": pa.array([1, None, 3, 4], pa.timestamp("ms")),
        "c": pa.array(["u", "v", None, "u"]).dictionary_encode(),
        "y": [2013, 2013, 2014, 2014],
    }
)


def write_parquet(table, path):
    pq.write_table(table, path, row_group_size=3)


def write_feather(table, path):
    pf.write_feather(table, path, chunksize=3, compression="lz4")


def write_plainly(table, path):
    """Write what pyarrow's writer of Feather refuses, too."""
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    else:
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)


FORMS = {"parquet": (wr.read_parquet, write_parquet), "feather": (wr.read_feather, write_feather)}


@pytest.fixture(params=FORMS)
def form(request):
    return request.param, *FORMS[request.param]


def values(found):
    """Columns as lists, with None for NaN and NaT."""
    made = {}
    for name, column in found.items():
        plain = column.compute()
        lost = plain != plain if plain.dtype.kind in "fmM" else np.zeros(plain.shape, bool)
        made[name] = [None if gone else value for value, gone in zip(plain.tolist(), lost, strict=True)]
    return made


def test_nulls_become_what_is_asked_for(tmp_path, form):
    ending, read, write = form
    path = tmp_path / f"t.{ending}"
    write(TABLE, path)
    found, masks = read(path, nulls="mask")
    assert {c.chunks for c in (*found.values(), *masks.values())} == {((3, 1),)}
    for name in TABLE.column_names:
        assert masks[name].compute().tolist() == TABLE[name].is_null().to_pylist()
    assert found["i"].compute().tolist() == [1, 0, 3, 4]
    assert found["s"].dtype == "U4"
    assert found["s"].compute().tolist() == ["a", "", "bcdé", ""]
    assert found["c"].compute().tolist() == ["u", "v", "", "u"]
    plain = read(path, ["i", "b", "x", "d", "y"], nulls="nan")
    assert [str(c.dtype) for c in plain.values()] == ["float64", "float64", "float64", "datetime64[ms]", "int64"]
    assert values(plain)["i"] == [1, None, 3, 4]
    assert values(plain)["b"] == [1, None, 0, 1]
    assert values(read(path, ["x", "y"])) == {"x": [0.5, None, 1, 2], "y": [2013, 2013, 2014, 2014]}
    for columns, how in ((["s"], None), (["s"], "nan"), (["i"], None), (["x"], "raise")):
        with pytest.raises(wr.DTypeError, match=f"column '{columns[0]}'.* has 1 nulls"):
            read(path, columns, nulls=how)[columns[0]].compute()
    with pytest.raises(wr.ArgumentError, match="'nulls' is 'none'"):
        read(path, nulls="none")


def test_matrices(tmp_path, form):
    ending, read, write = form
    path = tmp_path / f"t.{ending}"
    write(TABLE, path)
    matrix, names = read(path, ["i", "b", "y"], nulls="nan", matrix=True)
    assert (matrix.chunks, matrix.dtype, names) == (((3, 1), (3,)), np.float64, ["i", "b", "y"])
    np.testing.assert_array_equal(matrix.compute(), [[1, 1, 2013], [np.nan, np.nan, 2013], [3, 0, 2014], [4, 1, 2014]])
    matrix, mask, names = read(path, ["y", "i"], nulls="mask", matrix=True, chunks=2)
    assert matrix.chunks == mask.chunks == ((2, 2), (2,))
    assert (matrix.dtype, matrix[1].compute().tolist(), mask.sum().compute()) == (np.int64, [2013, 0], 1)
    texts, _, _ = read(path, ["s", "c"], nulls="mask", matrix=True)
    assert texts.compute().tolist() == [["a", "u"], ["", "v"], ["bcdé", ""], ["", "u"]]
    with pytest.raises(wr.DTypeError, match="columns of one kind"):
        read(path, ["s", "y"], nulls="mask", matrix=True)


def test_folders_patterns_urls_and_names_of_folders(tmp_path, form):
    ending, read, _ = form
    parts = ds.partitioning(pa.schema([("y", pa.int32())]), flavor="hive")
    ds.write_dataset(TABLE.select(["x", "y"]), tmp_path / "h", format=ending, partitioning=parts)
    (tmp_path / "h" / "_SUCCESS").write_text("")
    system = fsspec.filesystem("memory")
    if system.exists("/h"):
        system.rm("/h", recursive=True)
    system.put(f"{tmp_path}/h/", "/h", recursive=True)
    expected = {"x": [0.5, None, 1, 2], "y": [2013, 2013, 2014, 2014]}
    for path in (tmp_path / "h", f"{tmp_path}/h/*/*", f"file://{tmp_path}/h", "memory://h", f"memory://h/*/*.{ending}"):
        assert values(read(path)) == expected
    for path in (f"{tmp_path}/h/y=*", f"{tmp_path}/h/y=*/**", f"{tmp_path}/*", "memory://h/y=*"):  # each file once
        assert values(read(path)) == expected
    assert values(read(tmp_path / "h", ["y"])) == {"y": expected["y"]}
    (tmp_path / "empty").mkdir()
    with pytest.raises(wr.MissingFile, match=rf"no file that ends with .*\.{ending}"):
        read(tmp_path / "empty")


def test_a_pattern_of_folders_that_were_written(tmp_path):
    for day in (10, 9):
        wr.to_parquet(tmp_path / f"day-{day}", {"n": wr.arange(4, chunks=3) + 10 * day})
    found = wr.read_parquet(tmp_path / "day-*")["n"]
    assert (found.compute().tolist(), found.chunks) == ([90, 91, 92, 93, 100, 101, 102, 103], ((3, 1, 3, 1),))
    with pytest.raises(wr.MissingFile, match="no file that it matches"):
        wr.read_parquet(tmp_path / "night-*")


def test_files_in_the_order_of_their_numbers(tmp_path, form):
    ending, read, write = form
    (tmp_path / "t").mkdir()
    for i in range(12):
        write(pa.table({"i": [i]}), tmp_path / "t" / f"part.{i}.{ending}")
    assert read(tmp_path / "t")["i"].compute().tolist() == list(range(12))


def test_columns_that_differ_between_files(tmp_path, form):
    ending, read, write = form
    paths = [tmp_path / f"{i}.{ending}" for i in range(2)]
    write(pa.table({"n": pa.array([1, 2], "i4"), "s": ["a", "b"], "x": [1, 2]}), paths[0])
    write(pa.table({"s": [1, 2], "n": pa.array([0.5, 2])}), paths[1])
    assert read(paths, ["n"])["n"].compute().tolist() == [1, 2, 0.5, 2]
    with pytest.raises(wr.FileFormatError, match=rf"1\.{ending}' has no column 'x'; .*there are \['s', 'n'\]"):
        read(paths, ["x"])
    with pytest.raises(wr.FileFormatError, match=rf"column 's' of .*1\.{ending}' is of type int64; it isn't as it is"):
        read(paths, ["s"])
    with pytest.raises(wr.ArgumentError, match=r"'columns' is \['none'\]; expected a list of some of"):
        read(paths[0], ["none"])


def test_broken_tables(tmp_path, form):
    ending, read, write = form
    path = tmp_path / f"t.{ending}"
    write(pa.table({"x": np.random.default_rng(1).random(20_000)}), path)
    found, whole, status = read(path)["x"], path.read_bytes(), path.stat()
    path.write_bytes(whole[:5000] + bytes(3000) + whole[8000:])
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    with pytest.raises((wr.FileError, wr.FileFormatError), match=rf"(row group|record batch) .* of .*t\.{ending}|t\.f"):
        found.compute()
    path.write_bytes(whole[:-20])
    with pytest.raises(wr.SourceChanged, match="changed underneath"):
        found.compute()
    with pytest.raises(wr.FileFormatError, match=r"is no (Parquet|Arrow) file"):
        read(path)
    path.unlink()
    with pytest.raises(wr.SourceChanged, match="is gone"):
        found.compute()
    with pytest.raises(wr.MissingFile, match="there is nothing"):
        read(path)


def test_two_columns_of_one_name(tmp_path, form):
    ending, read, _ = form
    path = tmp_path / f"t.{ending}"
    table = pa.table([[1], [2], [3]], names=["a", "b", "a"])
    write_plainly(table, path)
    (tmp_path / "t.csv").write_text("a,b,a\n1,2,3\n")
    for each, file in ((read, path), (wr.read_csv, tmp_path / "t.csv")):
        for columns in (None, ["a"]):
            with pytest.raises(
                wr.FileFormatError, match=r"t\.\w+' has 2 columns named 'a'; expected one: name others in"
            ):
                each(file, columns)
        assert each(file, ["b"])["b"].compute().tolist() == [2]
    assert list(wr.read_csv(tmp_path / "t.csv", names=["x", "y", "z"])) == ["x", "y", "z"]
    with pytest.raises(wr.ArgumentError, match="'names' is"):
        wr.read_csv(tmp_path / "t.csv", names=["x", "y", "x"])


def test_views_of_texts_are_texts(tmp_path, form):
    ending, read, _ = form
    long = "a text that has no room in a view"
    columns = {
        "s": pa.array(["a", None, long], pa.string_view()),
        "b": pa.array([b"", b"b", long.encode()], pa.binary_view()),
    }
    table = pa.table(columns)
    write_plainly(table, tmp_path / f"v.{ending}")
    write_plainly(pa.table({"s": ["plain"], "b": [b"plain"]}), tmp_path / f"w.{ending}")
    found, masks = read(tmp_path, nulls="mask")
    assert [c.dtype for c in found.values()] == [f"U{len(long)}", f"S{len(long)}"]
    assert found["s"].compute().tolist() == ["a", "", long, "plain"]
    assert found["b"].compute().tolist() == [b"", b"b", long.encode(), b"plain"]
    assert masks["s"].compute().tolist() == [False, True, False, False]
    for name, column in columns.items():
        values, mask = wr.from_arrow(column, nulls="mask")
        assert values.compute().tolist() == found[name][:3].compute().tolist()
        assert mask.compute().tolist() == column.is_null().to_pylist()


COLUMNS = {
    "i": np.arange(20, dtype="i2"),
    "b": np.arange(20) % 3 == 0,
    "x": np.arange(20) / 3,
    "s": np.array([f't{k}é, "so"' for k in range(20)]),
    "d": np.arange(20).astype("M8[D]"),
    "t": np.arange(20).astype("M8[us]"),
}


@pytest.mark.parametrize("write", [wr.to_parquet, wr.to_ipc, wr.to_csv])
@pytest.mark.parametrize("chunks", [1, 7, (3, 0, 10, 7), 20])
def test_what_is_written_comes_back(tmp_path, write, chunks):
    read = {wr.to_parquet: wr.read_parquet, wr.to_ipc: wr.read_ipc, wr.to_csv: wr.read_csv}[write]
    write(tmp_path / "t", {n: wr.from_array(c, chunks=(chunks,)) for n, c in COLUMNS.items()})
    found = read(tmp_path / "t")
    for name, column in COLUMNS.items():
        if write is not wr.to_csv:
            assert found[name].dtype == column.dtype
        np.testing.assert_array_equal(found[name].compute(), column)
    with pytest.raises(wr.FileExists, match="overwrite=True"):
        write(tmp_path / "t", found)
    for wrong in ({"z": wr.ones(3, complex)}, {"o": wr.ones(3, "g")}):
        with pytest.raises(
            wr.DTypeError, match=rf"{write.__name__}: argument .*expected bool, integers, real numbers, te"
        ):
            write(tmp_path / "w", wrong)
    assert os.listdir(tmp_path) == ["t"]


# -------------------------------------------------------------------- CSV


ENDS = st.sampled_from(["\n", "\r\n", "\r"])
DAYS = np.array(["2020-01-01T05:06:07", "NaT", "2020-01-03"], "M8[s]")


@pytest.mark.parametrize(
    "column", [DAYS, DAYS[1:], np.array([np.nan, 1]), np.array(["", "a", "", '"', "b\r\n,"])], ids=str
)
def test_rows_of_one_column_are_none_of_them_lost(tmp_path, column):
    """A line without anything is no row for some readers, so that nothing is written as something."""
    wr.to_csv(tmp_path / "t", {"t": wr.from_array(column, chunks=1)})
    wr.to_csv(tmp_path / "m", column[:, None])
    for types in (None, {"t": column.dtype}):
        np.testing.assert_array_equal(wr.read_csv(tmp_path / "t", types=types)["t"].compute(), column)
    np.testing.assert_array_equal(wr.read_csv(tmp_path / "t", matrix=True)[0].compute(), column[:, None])
    np.testing.assert_array_equal(wr.read_csv(tmp_path / "m")["0"].compute(), column)
    assert pc.read_csv(tmp_path / "t" / "part-0000000.csv").num_rows == len(column)


@settings(max_examples=30)
@given(
    lines=st.lists(st.sampled_from(["", "7", '""', '"1\n\n"', "-2.5"]), min_size=1, max_size=12),
    size=st.sampled_from([1, 2, 5, 100]),
    ends=st.lists(ENDS, min_size=1, max_size=3),
)
def test_empty_lines_of_one_column_are_rows(tmp_path_factory, lines, size, ends):
    """Others write nulls so: none is lost, wherever a file is cut."""
    path = tmp_path_factory.mktemp("csv") / "x.csv"
    if "\r" in ends:  # an end and an empty line after it may read as one end of two bytes
        ends = ["\r"]
    path.write_bytes("".join(line + ends[i % len(ends)] for i, line in enumerate(["a", *lines])).encode())
    options = pc.ParseOptions(newlines_in_values=True, ignore_empty_lines=False)
    whole = pc.read_csv(path, parse_options=options)
    assert whole.num_rows == len(lines)
    same(whole, *wr.read_csv(path, nulls="mask", blocksize=size))


def test_floats_are_written_as_floats(tmp_path):
    numbers = np.array([1, np.nan, -3, np.inf, -np.inf, 1e20, -1e-7, 2**53, 0.1, -0.0])
    columns = {"d": numbers, "f": numbers.astype("f4"), "h": numbers.clip(-9, 9).astype("f2"), "w": np.arange(10.0)}
    wr.to_csv(tmp_path / "t", columns)
    found = wr.read_csv(tmp_path / "t")
    for name, column in columns.items():
        assert found[name].dtype == "f8"
        read = found[name].compute()
        np.testing.assert_array_equal(read.astype(column.dtype), column)
        np.testing.assert_array_equal(np.signbit(read), np.signbit(column))
    lines = (tmp_path / "t" / "part-0000000.csv").read_text().splitlines()
    assert lines[:3] == ['"d","f","h","w"', "1.0,1.0,1.0,0.0", "nan,nan,nan,1.0"]


def test_texts_that_look_like_forms_of_csv(tmp_path):
    """Names and bytes come back as they are, whatever bytes these are; nulls among several columns are nothing."""
    columns = {'a"b,\n': np.array([b"", b"x\xff", b'"\r']), "t": DAYS}
    wr.to_csv(tmp_path / "t", columns)
    found = wr.read_csv(tmp_path / "t", types={'a"b,\n': "S"})
    for name, column in columns.items():
        np.testing.assert_array_equal(found[name].compute(), column)
    assert (tmp_path / "t" / "part-0000000.csv").read_bytes().splitlines()[3].endswith(b'",')


def same(expected, found, masks):
    """Compare a table of pyarrow's with arrays and masks."""
    for name in expected.column_names:
        lost = masks[name].compute().tolist()
        assert expected[name].is_null().to_pylist() == lost
        pairs = zip(expected[name].to_pylist(), found[name].compute().tolist(), lost, strict=True)
        assert all(gone or theirs == ours for theirs, ours, gone in pairs)


TEXTS = ["plain", '5" pipe', '"quoted, with"', '"line\nbreak ""x"" "', "", '"\n\n,"', "éé", '""', '"""\n"']
ROWS = st.lists(
    st.tuples(st.integers(0, 99).map(str), st.sampled_from(TEXTS), st.sampled_from(["1", "2.5", "", "-3e3"])),
    max_size=40,
)


@settings(max_examples=30)
@given(
    rows=ROWS, size=st.sampled_from([1, 7, 30, 200]), ends=st.lists(ENDS, min_size=1, max_size=5), last=st.booleans()
)
def test_csv_is_cut_at_ends_of_rows(tmp_path_factory, rows, size, ends, last):
    """However a file is cut, its rows are those that pyarrow finds in the whole."""
    lines = ["a,t,b", *map(",".join, rows)]
    text = "".join(line + ends[i % len(ends)] for i, line in enumerate(lines))
    text = text if last or not rows else text.rstrip("\r\n")
    path = tmp_path_factory.mktemp("csv") / "x.csv"
    path.write_bytes(text.encode())
    found, masks = wr.read_csv(path, nulls="mask", blocksize=size)
    whole = pc.read_csv(path, parse_options=pc.ParseOptions(newlines_in_values=True))
    same(whole, found, masks)
    path.with_suffix(".csv.gz").write_bytes(gzip.compress(text.encode()))
    same(whole, *wr.read_csv(f"{path}.gz", nulls="mask"))


@pytest.mark.parametrize("ahead", [2, 3, 1 << 16])
@pytest.mark.parametrize("end", ["\r", "\r\n", "\n"])
def test_ends_of_line_of_one_byte_and_of_two(tmp_path, monkeypatch, end, ahead):
    """An end of two bytes may lie across the bytes that are read at once, of the header, too."""
    monkeypatch.setattr(formats, "_AHEAD", ahead)
    path = tmp_path / "x.csv"
    for first in (end, f"{end}{end}a,b{end}", f"a,b{end}"):
        path.write_bytes(f"{first}1,2{end}333,4{end}55,66{end}".encode())
        names = ["a", "b"] if first == end else None
        for size in range(1, 12):
            found = wr.read_csv(path, names=names, blocksize=size)
            assert [c.compute().tolist() for c in found.values()] == [[1, 333, 55], [2, 4, 66]]
    for head in range(3, 8):
        monkeypatch.setattr(reading, "HEAD", head)
        assert wr.read_csv(path)["b"].compute().tolist() == [2, 4, 66]


def test_csv_has_columns_of_folders_names(tmp_path):
    for year, place, text in (("2013", "a%20b", "n\n1\n2\n"), ("2014", "__HIVE_DEFAULT_PARTITION__", "n\n3\n")):
        folder = tmp_path / f"year={year}" / f"where={place}"
        folder.mkdir(parents=True)
        (folder / "x.csv").write_text(text)
    found, masks = wr.read_csv(tmp_path, nulls="mask", blocksize=2)
    assert list(found) == ["n", "year", "where"]
    assert found["n"].numblocks == (3,)
    assert [c.compute().tolist() for c in found.values()] == [[1, 2, 3], [2013, 2013, 2014], ["a b", "a b", ""]]
    assert masks["where"].compute().tolist() == [False, False, True]
    assert wr.read_csv(tmp_path, ["year"])["year"].compute().tolist() == [2013, 2013, 2014]
    matrix, names = wr.read_csv(tmp_path, ["year", "n"], matrix=True, types={"n": float})
    assert (names, matrix.dtype, matrix.compute().tolist()) == (["year", "n"], "f8", [[2013, 1], [2013, 2], [2014, 3]])
    with pytest.raises(wr.DTypeError, match="column 'where' has 1 nulls"):
        wr.read_csv(tmp_path)
    with pytest.raises(wr.ArgumentError, match=r"'types' is .*expected dtypes of some of \['n'\]"):
        wr.read_csv(tmp_path, ["n", "year"], types={"year": str})
    (tmp_path / "year=2014" / "x.csv").write_text("n,year\n5,6\n")
    assert wr.read_csv(tmp_path / "year=2014" / "x.csv")["year"].compute().tolist() == [6], "the file's own comes first"


def test_csv_types_are_those_of_all_parts(tmp_path):
    path = tmp_path / "x.csv"
    rows = ["1,2013-01-01,7,x,", "2,2013-01-02 10:00:00,8,7,", "2.5,2013-01-03,true,y,"]
    path.write_text("\n".join(["n,when,what,s,none", *rows]) + "\n")
    found = wr.read_csv(path, blocksize=8)
    assert found["n"].numblocks == (3,)
    assert [c.dtype.str for c in found.values()] == ["<f8", "<M8[s]", "<U4", "<U1", "<f8"]
    assert found["what"].compute().tolist() == ["7", "8", "true"]
    assert found["when"].compute()[1] == np.datetime64("2013-01-02T10:00:00")
    assert np.isnan(found["none"].compute()).all()
    found = wr.read_csv(path, ["n", "s"], types={"n": str, "s": "S3"}, blocksize=8)
    assert found["n"].compute().tolist() == ["1", "2", "2.5"]
    assert found["s"].dtype == "S1"


def test_csv_forms(tmp_path):
    (tmp_path / "a.csv").write_text("n;s\n1;'x;y'\n-;NA\n")
    (tmp_path / "b.csv").write_text("s;n\nz;3\n")
    found, masks = wr.read_csv(
        tmp_path, delimiter=";", quotechar="'", null_values=["-", "NA"], null_texts=True, nulls="mask"
    )
    assert found["s"].compute().tolist() == ["x;y", "", "z"]
    assert masks["n"].compute().tolist() == masks["s"].compute().tolist() == [False, True, False]
    matrix, names = wr.read_csv(tmp_path / "b.csv", delimiter=";", names=["p", "q"], matrix=True)
    assert (names, matrix.compute().tolist()) == (["p", "q"], [["s", "n"], ["z", "3"]])
    columns = wr.read_csv(tmp_path / "b.csv", delimiter=";", chunks=1)
    assert columns["n"].chunks == ((1,),)
    system = fsspec.filesystem("memory")
    system.put(f"{tmp_path}/b.csv", "/b.csv")
    assert wr.read_csv("memory://b.csv", ["n"], delimiter=";", blocksize=2)["n"].compute().tolist() == [3]


def test_csv_that_is_none(tmp_path):
    path = tmp_path / "x.csv"
    for text, size, what in (
        ("a,b\n1,2\n3\n4,5\n", 100, r"bytes 4 to 14 of .*x\.csv can't be read as CSV: .*Expected 2 columns, got 1"),
        ("a,b\n1,2\n3\n4,5\n", 4, r"bytes 8 to 14 of .*x\.csv can't be read as CSV"),
        ("", 100, "has no first row"),
    ):
        path.write_text(text)
        with pytest.raises(wr.FileFormatError, match=what):
            wr.read_csv(path, blocksize=size)
    path.write_text("a,b\n1,2\n")
    found = wr.read_csv(path)
    (tmp_path / "y.csv").write_text("a,c\n1,2\n")
    with pytest.raises(wr.FileFormatError, match=r"y\.csv' has no column 'b'; there are \['a', 'c'\]"):
        wr.read_csv([path, tmp_path / "y.csv"])
    path.write_text("a,b\n1,2\n3,4\n")
    with pytest.raises(wr.SourceChanged, match=r"x\.csv changed underneath"):
        found["a"].compute()
    shutil.copy(path, tmp_path / "x.csv.gz")
    with pytest.raises(wr.FileFormatError, match="can't be unpacked as gzip"):
        wr.read_csv(tmp_path / "x.csv.gz")
    for argument, value in (
        ("delimiter", ""),
        ("quotechar", "ab"),
        ("null_values", "NA"),
        ("null_texts", 1),
        ("names", "a"),
    ):
        with pytest.raises(wr.ArgumentError, match=f"read_csv: argument '{argument}' is"):
            wr.read_csv(path, **{argument: value})
    with pytest.raises(wr.ArgumentError, match="'types' is"):
        wr.read_csv(path, types={"z": int})
