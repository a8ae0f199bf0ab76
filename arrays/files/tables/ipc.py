"""Columns of Arrow IPC files, also called Feather, whose record batches are chunks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....graph.errors import FileFormatError
from ....workers.sources.arrow import arrow
from ....workers.sources.formats.tables import IpcPieces, open_ipc
from ..docstrings import FILES
from ..glob import find_files
from .columns import TableRequest, build_groups
from .table_writer import write_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ....workers.sources.formats.places import FilePlace
    from ...typing import ChunksLike, PathLike, TableLike

__all__ = [
    "read_feather",
    "read_ipc",
    "to_ipc",
]


def read_ipc(
    path: PathLike,
    columns: Sequence[str] | None = None,
    *,
    nulls: str | None = None,
    matrix: bool = False,
    chunks: ChunksLike = None,
    storage_options: dict[str, Any] | None = None,
) -> Any:
    """Return the columns of Arrow IPC files (Feather 2) as 1-D arrays, or as one 2-D array; chunks are record batches.

    The lengths of the record batches are read now, and so are columns of text, by all ranks, since their dtype is as
    wide as the longest one. With `nulls="nan"` ranks scan columns of integers and booleans, too. A record batch is read
    by the rank that needs it.

    Parameters
    ----------
    path : str or os.PathLike, or a list of them
        Files, patterns, or folders: the files that end with ".arrow", ".feather" or ".ipc", also in folders within, in
        the order of their names, in which numbers count as numbers. URLs that fsspec opens, too.
    columns : sequence of str, optional
        The columns to read; None: all.
    nulls : {None, "raise", "nan", "mask"}
        What becomes of nulls: see `read_parquet`.
    matrix : bool
        Whether the columns become one 2-D array of the dtype that all can be cast to.
    chunks : int, str, tuple, dict or None
        Chunks of the result; None: record batches.
    {storage_options}

    Returns
    -------
    dict of str to Array, or tuple
        As of `read_parquet`.

    Raises
    ------
    {MissingFile}
    ArgumentError
        `columns` names none of the file's, or `nulls` is an unknown word.
    DTypeError
        No dtype has the values of a column: decimals, lists; or there are nulls, and nothing to make of them. With
        `matrix`: columns have no dtype in common.
    {ChunksError}
    FileFormatError
        A file is no such file, or lacks a column, or has two of its name, or has it in another type than the first one.
    FileError
        A file can't be read.

    >>> import tempfile
    >>> import windrow as wr
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     wr.to_ipc(folder + "/t", {"n": wr.arange(6, chunks=4), "who": wr.asarray(list("abcdef"))})
    ...     table = wr.read_ipc(folder + "/t")
    ...     print(table["n"].chunks, table["who"][4:].compute())
    ((4, 2),) ['e' 'f']
    """
    return _read("read_ipc", path, columns, nulls, matrix, chunks, storage_options)


def read_feather(
    path: PathLike,
    columns: Sequence[str] | None = None,
    *,
    nulls: str | None = None,
    matrix: bool = False,
    chunks: ChunksLike = None,
    storage_options: dict[str, Any] | None = None,
) -> Any:
    """Return the columns of Feather files as 1-D arrays, or as one 2-D array: `read_ipc` by another name.

    Parameters
    ----------
    path, columns, nulls, matrix, chunks, storage_options
        See `read_ipc`.

    Returns
    -------
    dict of str to Array, or tuple
        As of `read_ipc`.

    Raises
    ------
    MissingFile, ArgumentError, DTypeError, ChunksError, FileFormatError, FileError
        As of `read_ipc`.

    >>> import tempfile
    >>> import pyarrow.feather
    >>> import windrow as wr
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pyarrow.feather.write_feather(pyarrow.table({"n": [1, 2, 3]}), folder + "/t.feather")
    ...     wr.read_feather(folder + "/t.feather")["n"].compute()
    array([1, 2, 3])
    """
    return _read("read_feather", path, columns, nulls, matrix, chunks, storage_options)


def _read(
    operation: str,
    path: PathLike,
    columns: Any,
    nulls: Any,
    matrix: Any,
    chunks: ChunksLike,
    storage_options: dict[str, Any] | None,
) -> Any:
    asked = TableRequest(operation, columns, nulls, matrix, chunks)
    asked.check()
    places = find_files(operation, path, storage_options, endings=(".arrow", ".feather", ".ipc"))
    heads = [_read_lengths(place) for place in places]
    batches = [(i, b, rows) for i, (_, lengths) in enumerate(heads) for b, rows in enumerate(lengths)]
    return build_groups(asked, IpcPieces, places, [schema for schema, _ in heads], batches)


def _read_lengths(place: FilePlace) -> tuple[Any, list[int]]:
    """Return a file's schema, and how many rows each record batch has."""
    try:
        with open_ipc(place, None) as file:
            schema = file.schema
        with open_ipc(place, tuple(schema.names[:1])) as file:
            return schema, [file.get_batch(i).num_rows for i in range(file.num_record_batches)]
    except (arrow().ArrowException, OSError) as error:
        raise FileFormatError(f"{place.label}: {place.path!r} can't be read as record batches: {error}") from error


def to_ipc(
    path: PathLike, x: TableLike, *, overwrite: bool = False, storage_options: dict[str, Any] | None = None
) -> None:
    """Compute arrays and write them as the columns of a folder of Arrow IPC files, a record batch for each chunk.

    Each file is written by the rank that computes it; nothing is gathered. The files lie in a hidden folder beside
    `path` until all are complete; at a URL, in one within it whose name begins with "_". The files aren't compressed,
    so that others can map them; pandas and polars call them Feather.

    Parameters
    ----------
    path : str or os.PathLike
        A folder to make, or a URL that fsspec opens.
    {table}
    overwrite : bool
        Whether to replace a folder of such files that is there.
    {storage_options}

    Raises
    ------
    {table_errors}
    DTypeError
        A column's dtype is none of bool, integers, real numbers, texts, dates and times.
    {FileExists, unwritten}

    >>> import tempfile
    >>> import windrow as wr
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     wr.to_ipc(folder + "/t", {"n": wr.arange(6, chunks=4)})
    ...     wr.read_ipc(folder + "/t")["n"].compute()
    array([0, 1, 2, 3, 4, 5])
    """
    write_table("to_ipc", path, x, overwrite, "arrow", storage_options)


FILES.fill(__name__)
