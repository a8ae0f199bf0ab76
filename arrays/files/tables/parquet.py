"""Columns of Parquet files, whose row groups are chunks."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ....workers.sources.formats.tables import ParquetPieces, read_footer
from ..docstrings import FILES
from ..glob import find_files
from .columns import TableRequest, build_groups
from .table_writer import write_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...typing import ChunksLike, PathLike, TableLike

__all__ = [
    "read_parquet",
    "to_parquet",
]


def read_parquet(
    path: PathLike,
    columns: Sequence[str] | None = None,
    *,
    nulls: str | None = None,
    matrix: bool = False,
    chunks: ChunksLike = None,
    storage_options: dict[str, Any] | None = None,
) -> Any:
    """Return the columns of Parquet files as 1-D arrays, or as one 2-D array; chunks are the files' row groups.

    Only the files' footers are read now, and columns of text, by all ranks, since their dtype is as wide as the longest
    one. A row group is read by the rank that needs it.

    Parameters
    ----------
    path : str or os.PathLike, or a list of them
        Files, folders, or patterns of them such as ``2013-*.parquet``. Of folders the files that end with ".parquet",
        also in folders within, in the order of their names, in which numbers count as numbers. URLs that fsspec opens,
        too.
    columns : sequence of str, optional
        The columns to read; None: all. Names of folders as "year=2013" are columns, too.
    nulls : {None, "raise", "nan", "mask"}
        What becomes of nulls. None: NaN and NaT where the dtype has these, else an error. "raise": an error. "nan": as
        None, and integers and booleans of columns with nulls are float64. "mask": arrays come with boolean ones that
        are True where a null was; there stands NaN or NaT, or 0, False and "" where the dtype has neither.
    matrix : bool
        Whether the columns become one 2-D array of the dtype that all can be cast to.
    chunks : int, str, tuple, dict or None
        Chunks of the result; None: row groups.
    {storage_options}

    Returns
    -------
    dict of str to Array, or tuple
        Lazy 1-D arrays by the names of their columns, all with the same chunks. With `matrix`, a tuple of the 2-D array
        and the list of the columns' names. With `nulls="mask"`, a tuple of what is returned otherwise with the masks
        after the arrays: (arrays, masks) or (matrix, mask, names).

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
        A file is no Parquet file, or lacks a column, or has two of its name, or has it in another type than the first
        one.
    FileError
        A file can't be read.

    Notes
    -----
    Numbers of different types in different files become the wider type. Time zones are left out: times are UTC's.

    >>> import tempfile
    >>> import windrow as wr
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     wr.to_parquet(folder + "/t", {"n": wr.arange(6, chunks=4), "half": wr.arange(6) / 2})
    ...     table = wr.read_parquet(folder + "/t")
    ...     print(table["n"].chunks, table["half"].sum().compute())
    ((4, 2),) 7.5
    """
    asked = TableRequest("read_parquet", columns, nulls, matrix, chunks)
    asked.check()
    places = find_files("read_parquet", path, storage_options, endings=(".parquet", ".parq", ".pq"))
    footers = [read_footer(p) for p in places]
    schemas = [footer.schema.to_arrow_schema() for footer in footers]
    groups = [(i, g, f.row_group(g).num_rows) for i, f in enumerate(footers) for g in range(f.num_row_groups)]
    return build_groups(asked, ParquetPieces, places, schemas, groups, partial(_known_nulls, footers))


def _known_nulls(footers: list[Any], names: list[str]) -> dict[str, int]:
    """Return the numbers of nulls of columns for which all footers say."""
    counts = dict.fromkeys(names, 0)
    for footer in footers:
        if not footer.num_row_groups:
            continue
        first = footer.row_group(0)
        places = {first.column(i).path_in_schema: i for i in range(footer.num_columns)}
        for name in list(counts):
            for g in range(footer.num_row_groups) if name in places else ():
                statistics = footer.row_group(g).column(places[name]).statistics
                if statistics is None or not statistics.has_null_count:
                    counts.pop(name, None)
                    break
                counts[name] += statistics.null_count
            if name not in places:
                counts.pop(name, None)
    return counts


def to_parquet(
    path: PathLike, x: TableLike, *, overwrite: bool = False, storage_options: dict[str, Any] | None = None
) -> None:
    """Compute arrays and write them as the columns of a folder of Parquet files, a row group for each chunk.

    Each row group is written by the rank that computes it; nothing is gathered. The files lie in a hidden folder beside
    `path` until all are complete; at a URL, in one within it whose name begins with "_". Parquet has no seconds: times
    in seconds come back in milliseconds.

    Parameters
    ----------
    path : str or os.PathLike
        A folder to make, or a URL that fsspec opens.
    {table}
    overwrite : bool
        Whether to replace a folder of Parquet files that is there.
    {storage_options}

    Raises
    ------
    {table_errors}
    DTypeError
        Parquet has no type for a column's dtype: complex numbers, records.
    {FileExists, unwritten}

    >>> import tempfile
    >>> import windrow as wr
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     wr.to_parquet(folder + "/t", {"n": wr.arange(6, chunks=4)})
    ...     wr.read_parquet(folder + "/t")["n"].compute()
    array([0, 1, 2, 3, 4, 5])
    """
    write_table("to_parquet", path, x, overwrite, "parquet", storage_options)


FILES.fill(__name__)
