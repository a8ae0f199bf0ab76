"""Columns of CSV files, cut into parts of some bytes, which ranks scan once for rows, types and widths."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.arguments import check_flag, check_integer
from ....graph.chunks.grid import Axis, Grid
from ....graph.errors import ArgumentError, DTypeError, FileFormatError, bad
from ....graph.kinds.mapping import BlockFunction
from ....workers.config import config
from ....workers.sources.arrow import arrow, value_type
from ....workers.sources.formats.csv import (
    PACKED,
    WHOLE,
    CsvFormat,
    CsvPieces,
    Survey,
    join_codes,
    known_types,
    packing,
    read_beginning,
)
from ...base import make
from ...execution.deferred import evaluate
from ..docstrings import FILES
from ..glob import find_files
from .columns import TableRequest, build, check_once, find_partitions
from .table_writer import write_table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ....workers.sources.formats.places import FilePlace
    from ...typing import ChunksLike, PathLike, TableLike

__all__ = [
    "read_csv",
    "to_csv",
]

HEAD = 1 << 16
"""Bytes that are read for the columns' names; more if the names are longer."""
_FIXED = 5


def read_csv(
    path: PathLike,
    columns: Sequence[str] | None = None,
    *,
    delimiter: str = ",",
    quotechar: str = '"',
    names: Sequence[str] | None = None,
    types: Mapping[str, Any] | None = None,
    null_values: Sequence[str] | None = None,
    null_texts: bool = False,
    nulls: str | None = None,
    matrix: bool = False,
    blocksize: int | None = None,
    chunks: ChunksLike = None,
    storage_options: dict[str, Any] | None = None,
) -> Any:
    """Return the columns of CSV files as 1-D arrays, or as one 2-D array; chunks are parts of some bytes.

    Files are cut at ends of rows. All ranks scan all parts once, now, for the number of rows, the type that the texts
    of each column have in all parts, and the width of texts. A part is read again by the rank that needs it, all
    columns at once: name those that you need. Empty lines are skipped, except in files of one column, where each is a
    row: a null, or an empty text.

    Parameters
    ----------
    path : str or os.PathLike, or a list of them
        Files, patterns, or folders: the files that end with ".csv" or ".csv.gz", also in folders within, in the order
        of their names, in which numbers count as numbers. URLs that fsspec opens, too. A compressed file (gz, bz2, zst,
        lz4, br) is one part.
    columns : sequence of str, optional
        The columns to read; None: all. Names of folders as "year=2013" are columns, too.
    delimiter, quotechar : str
        A character between values, and one around those that hold it or an end of line; "": there are no quotes.
    names : sequence of str, optional
        Names of the columns; None: the first row of each file has them.
    types : dict of str to dtype, optional
        Of the files' columns whose type isn't to be found: `types={"zip": str}`.
    null_values : sequence of str, optional
        What stands for a null; None: pyarrow's: nothing, "NA", "null", "nan" and others.
    null_texts : bool
        Whether texts may be null, too; else "" and "NA" are texts as others.
    nulls : {None, "raise", "nan", "mask"}
        What becomes of nulls: see `read_parquet`.
    matrix : bool
        Whether the columns become one 2-D array of the dtype that all can be cast to.
    blocksize : int, optional
        Bytes of a part; None: `config.chunk_bytes`.
    chunks : int, str, tuple, dict or None
        Chunks of the result; None: parts.
    {storage_options}

    Returns
    -------
    dict of str to Array, or tuple
        As of `read_parquet`. Integers, numbers, booleans, dates and times are found as pyarrow finds them; a column
        that looks like different types in different parts is the one that holds them all, else text.

    Raises
    ------
    {MissingFile}
    ArgumentError
        `columns` names none of the file's, or another argument can't be read.
    DTypeError
        No dtype has the values of a column: times of day; or there are nulls, and nothing to make of them. With
        `matrix`: columns have no dtype in common.
    {ChunksError}
    FileFormatError
        A file lacks a column, or has two of its name, or a row hasn't as many values as there are columns.
    FileError
        A file can't be read.

    >>> import tempfile
    >>> import windrow as wr
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with open(folder + "/t.csv", "w") as file:
    ...         _ = file.write("n,half,who\\n1,0.5,ada\\n2,1,grace\\n3,,alan\\n")
    ...     table = wr.read_csv(folder + "/t.csv")
    ...     print(table["n"].sum().compute(), table["half"].compute(), table["who"].compute())
    6 [0.5 1.  nan] ['ada' 'grace' 'alan']
    """
    asked = TableRequest("read_csv", columns, nulls, matrix, chunks)
    asked.check()
    form = _form(delimiter, quotechar, null_values, null_texts)
    size = config.chunk_bytes if blocksize is None else check_integer("read_csv", "blocksize", blocksize, 1)
    places = find_files("read_csv", path, storage_options, endings=(".csv", *(f".csv{end}" for end in PACKED)))
    heads = [_head(place, form, names) for place in places]
    partitions = {k: v for k, v in find_partitions(places).items() if k not in heads[0][0]}
    wanted = asked.names([*heads[0][0], *partitions])
    stored = [name for name in wanted if name not in partitions]
    for place, (header, _) in zip(places, heads, strict=True):
        lost = [name for name in stored if name not in header]
        if lost:
            raise FileFormatError(f"read_csv: {place.path!r} has no column {lost[0]!r}; there are {list(header)}")
        check_once(
            "read_csv", place, header, stored, ", or all columns in 'names', where the first row is one of values"
        )
    user_types = _types(types, stored)
    index = _cut(places, [begin for _, begin in heads], size)
    parts = tuple(h[0] for h in heads)
    survey = _survey(tuple(places), index, form, parts, tuple(stored) or heads[0][0][:1], user_types)
    fields: dict[str, Any] = {}
    known: dict[str, int] = {}
    widths: dict[str, int] = {}
    for name in partitions.keys() & set(wanted):
        fields[name], values = partitions[name]
        known[name] = sum(rows for rows, file in survey[:, [2, -1]].tolist() if values[file] is None)
        widths[name] = max(len(str(value)) for value in values)
    for i, name in enumerate(stored):
        codes, empty, wide = (survey[:, _FIXED + 3 * i + k] for k in range(3))
        seen = set(codes[survey[:, 2] > 0].tolist())
        fields[name] = user_types.get(name) or join_codes(seen)
        text = fields[name] == arrow().string()
        if name in user_types or not text or seen == {known_types().index(arrow().string())}:
            known[name], widths[name] = int(empty.sum()), int(wide.max(initial=0))
    pieces = {
        "places": tuple(places),
        "index": np.stack([survey[:, -1], survey[:, 0], survey[:, 1]], axis=1),
        "schema": arrow().schema(list(fields.items())),
        "partitions": {name: values for name, (_, values) in partitions.items()},
        "more": {"form": form, "names": parts},
    }
    return build(asked, CsvPieces, pieces, survey[:, 2], wanted, known, widths)


def _form(delimiter: Any, quotechar: Any, null_values: Any, null_texts: Any) -> CsvFormat:
    for name, value, least in (("delimiter", delimiter, 1), ("quotechar", quotechar, 0)):
        plain = isinstance(value, str) and least <= len(value) <= 1 and value.isascii() and value not in "\r\n"
        if not plain and value != "":
            raise ArgumentError(bad("read_csv", name, value, "one character"))
        if value == "" and least:
            raise ArgumentError(bad("read_csv", name, value, "one character"))
    if null_values is not None and (isinstance(null_values, str) or not all(isinstance(v, str) for v in null_values)):
        raise ArgumentError(bad("read_csv", "null_values", null_values, "a list of texts, or None"))
    check_flag("read_csv", "null_texts", null_texts)
    return CsvFormat(delimiter, quotechar, None if null_values is None else tuple(null_values), null_texts)


def _types(types: Any, wanted: list[str]) -> dict[str, Any]:
    """Return the Arrow types of columns that the user gives."""
    if types is None:
        return {}
    if not isinstance(types, dict) or any(name not in wanted for name in types):
        raise ArgumentError(bad("read_csv", "types", types, f"dtypes of some of {wanted}"))
    arrow_types = {}
    for name, dtype in types.items():
        try:
            arrow_types[name] = value_type(np.dtype(dtype))
        except TypeError as error:
            raise DTypeError(bad("read_csv", f"types[{name!r}]", dtype, "a dtype")) from error
        if arrow_types[name] is None:
            raise DTypeError(bad("read_csv", f"types[{name!r}]", dtype, "a dtype that Arrow has"))
    return arrow_types


def _head(place: FilePlace, form: CsvFormat, names: Sequence[str] | None) -> tuple[tuple[str, ...], int]:
    """Return a file's columns, and where its rows begin."""
    if names is not None:
        if isinstance(names, str) or not names or not all(isinstance(n, str) for n in names):
            raise ArgumentError(bad("read_csv", "names", names, "a list of texts, one for each column"))
        if len(set(names)) < len(names):
            raise ArgumentError(bad("read_csv", "names", names, "another text for each column"))
        return tuple(names), 0
    count = HEAD
    while True:
        raw = read_beginning(place, count)
        header = form.header(raw if len(raw) == count else raw + b"\n") if raw.strip() else None
        if header is not None:
            return header[0], min(header[1], len(raw))
        if len(raw) < count:
            raise FileFormatError(f"read_csv: {place.path!r} has no first row with the columns' names")
        count *= 16


def _cut(places: Sequence[FilePlace], begins: Sequence[int], size: int) -> np.ndarray[Any, Any]:
    """Return (file, start, stop) of parts of some bytes."""
    parts: list[tuple[int, int, int]] = []
    for i, (place, begin) in enumerate(zip(places, begins, strict=True)):
        if packing(place) is not None:
            parts.append((i, begin, WHOLE))
            continue
        edges = [begin, *range(begin + size, place.size, size), place.size]
        parts += [(i, a, b) for a, b in itertools.pairwise(edges) if b > a]
    return np.array(parts, np.int64).reshape(-1, 3)


def _survey(
    places: tuple[FilePlace, ...],
    index: np.ndarray[Any, Any],
    form: CsvFormat,
    names: tuple[tuple[str, ...], ...],
    columns: tuple[str, ...],
    types: dict[str, Any],
) -> np.ndarray[Any, Any]:
    """Return what ranks find in parts that begin and end with rows; the last column has their files."""
    raw = arrow().schema(list(types.items())).serialize().to_pybytes()

    def ask(parts: np.ndarray[Any, Any], exact: bool, wanted: tuple[str, ...] = columns) -> np.ndarray[Any, Any]:
        if not len(parts):
            return np.empty((0, _FIXED + 3 * len(wanted) + 1), np.int64)
        asked = Survey(places, parts, form, names, wanted, raw, exact)
        grid = Grid([Axis.regular(len(parts), 1), Axis.whole(_FIXED + 3 * len(wanted))])
        (rows,) = evaluate(
            [make(BlockFunction("files.tables:survey", (asked,), axes=(), where=True), (), grid, np.int64).expr]
        )
        return np.concatenate([rows, parts[:, :1]], axis=1)

    survey = ask(index, False)
    if survey[:, 3].any():  # ends within quotes: how parts end that begin within quotes is needed, too
        survey[:, 4] = ask(index, False, ())[:, 4]
    whole = _join(survey)
    same = {tuple(row) for row in survey[survey[:, 2] >= 0][:, [-1, 0, 1]].tolist()}
    again = np.array([row for row in whole.tolist() if tuple(row) not in same], np.int64).reshape(-1, 3)
    if not len(again):
        return survey
    pieces = set(map(tuple, whole.tolist()))
    kept = [row for row in survey.tolist() if (row[-1], row[0], row[1]) in pieces and row[2] >= 0]
    both = np.array([*kept, *ask(again, True).tolist()], np.int64)
    return both[np.lexsort((both[:, 0], both[:, -1]))]


def _join(told: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return (file, start, stop) of parts; those that begin within quotes are joined with the ones before."""
    parts: list[list[int]] = []
    inside = False
    for start, stop, _, outer, inner, file in told[:, [0, 1, 2, 3, 4, -1]].tolist():
        if parts and parts[-1][0] == file and inside:
            parts[-1][2] = stop
        else:
            inside = False
            parts.append([file, start, stop])
        inside = bool(inner if inside else outer)
    return np.array(parts, np.int64).reshape(-1, 3)


def to_csv(
    path: PathLike, x: TableLike, *, overwrite: bool = False, storage_options: dict[str, Any] | None = None
) -> None:
    """Compute arrays and write them as the columns of a folder of CSV files, which begin with the columns' names.

    Each file is written by the rank that computes it; nothing is gathered. The files lie in a hidden folder beside
    `path` until all are complete; at a URL, in one within it whose name begins with "_". Whole floats are written as
    "1.0", NaN as "nan", NaT as nothing, which in a table of one column stands in quotes.

    Parameters
    ----------
    path : str or os.PathLike
        A folder to make, or a URL that fsspec opens.
    {table}
    overwrite : bool
        Whether to replace a folder of CSV files that is there.
    {storage_options}

    Raises
    ------
    {table_errors}
    DTypeError
        A column's dtype is none of bool, integers, real numbers, texts, dates.
    {FileExists, unwritten}

    >>> import tempfile
    >>> import windrow as wr
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     wr.to_csv(folder + "/t", {"n": wr.arange(6, chunks=4)})
    ...     wr.read_csv(folder + "/t")["n"].compute()
    array([0, 1, 2, 3, 4, 5])
    """
    write_table("to_csv", path, x, overwrite, "csv", storage_options)


FILES.fill(__name__)
