"""Columns of Parquet files: one-dimensional arrays whose chunks are row groups."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.errors import ArgumentError, DTypeError, FileError, FileFormatError, MissingFile, ShapeError, bad
from ...graph.grid import Axis, Grid
from ...graph.kinds.mapping import BlockFunction
from ...workers.arrow import arrow, dtype_of
from ...workers.stored import file_name
from ..base import ArrayBase, as_array_nocopy, check_grid, make
from ..chunking.rechunk import align_chunks, regrid
from ..execution.deferred import evaluate
from .aside import aside, check_sizes, path_of, runs_of, write_once

if TYPE_CHECKING:
    from ..array import Array

__all__ = [
    "read_parquet",
    "to_parquet",
]


def read_parquet(path: Any, columns: Sequence[str] | None = None) -> dict[str, Array]:
    """Return the columns of Parquet files as 1-D arrays, whose chunks are the files' row groups.

    Only the files' footers are read now; a row group is read by the rank that needs it. Nulls become NaN in
    floating-point numbers and NaT in dates and times; elsewhere they raise an error, at the call where the footers
    tell.

    Parameters
    ----------
    path : str or os.PathLike, or a list of them
        Files, or a folder: its files that end with ".parquet", in the order of their names.
    columns : sequence of str, optional
        The columns to read; None: all.

    Returns
    -------
    dict of str to Array
        Lazy 1-D arrays by the names of their columns, all with the same chunks.

    Raises
    ------
    MissingFile
        There is nothing at `path`.
    ArgumentError
        `columns` names none of the file's.
    DTypeError
        No dtype has the values of a column: strings, decimals, lists, or nulls in integers.
    FileFormatError
        A file is no Parquet file, or its columns differ from the first one's.
    FileError
        A file can't be read.

    Examples
    --------
    >>> import tempfile
    >>> import windrow as wr
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     wr.to_parquet(folder + "/t", {"n": wr.arange(6, chunks=4), "half": wr.arange(6) / 2})
    ...     table = wr.read_parquet(folder + "/t")
    ...     print(table["n"].chunks, table["half"].sum().compute())
    ((4, 2),) 7.5
    """
    paths = _files(path)
    stamps = np.array([[s.st_size, s.st_mtime_ns] for s in map(os.stat, paths)], np.int64)
    footers = [_footer(p) for p in paths]
    schema = footers[0].schema.to_arrow_schema()
    names = schema.names if columns is None else list(columns)
    if isinstance(columns, str) or any(n not in schema.names for n in names):
        raise ArgumentError(bad("read_parquet", "columns", columns, f"a list of some of {schema.names}"))
    dtypes = {name: _dtype_of(name, schema.field(name).type) for name in names}
    for file, footer in zip(paths, footers, strict=True):
        other = footer.schema.to_arrow_schema()
        for name in names:
            if name not in other.names or other.field(name).type != schema.field(name).type:
                raise FileFormatError(f"read_parquet: column {name!r} of {file!r} isn't as it is in {paths[0]!r}")
    rows = [
        (i, g, footer.row_group(g).num_rows)
        for i, footer in enumerate(footers)
        for g in range(footer.num_row_groups)
        if footer.row_group(g).num_rows
    ]
    table = np.array(rows, np.int64).reshape(-1, 3)
    grid = Grid([Axis.of_sizes(table[:, 2])])
    check_grid("read_parquet", grid)
    bounds = np.concatenate([[0], np.cumsum(table[:, 2])])[:-1]
    made = {}
    for name in names:
        _refuse_nulls(name, dtypes[name], footers, paths)
        params = (tuple(paths), stamps, table[:, :2], bounds, name, dtypes[name])
        op = BlockFunction("files:read_parquet", params, axes=(), where=True)
        made[name] = make(op, (), grid, dtypes[name])
    return made


def _files(path: Any) -> list[str]:
    given = list(path) if isinstance(path, list | tuple) else [path]
    found: list[str] = []
    for each in given:
        one = path_of("read_parquet", each)
        if not os.path.exists(one):
            raise MissingFile(f"read_parquet: argument 'path' is {one!r}; there is nothing")
        if os.path.isdir(one):
            found += sorted(os.path.join(one, n) for n in os.listdir(one) if n.endswith(".parquet"))
        else:
            found.append(one)
    if not found:
        raise MissingFile(f"read_parquet: argument 'path' is {path!r}; there is no file that ends with .parquet")
    return found


def _footer(path: str) -> Any:
    try:
        return arrow("parquet").read_metadata(path)
    except (arrow().ArrowInvalid, arrow().ArrowNotImplementedError) as error:
        raise FileFormatError(f"read_parquet: {path!r} is no Parquet file: {error}") from error
    except OSError as error:
        raise FileError(f"read_parquet: {path!r} could not be read: {error}") from error


def _dtype_of(name: str, kind: Any) -> np.dtype[Any]:
    """Return the dtype that holds a column's values exactly."""
    found = dtype_of(kind)
    if found is not None and found.kind in "biufmM":
        return found
    raise DTypeError(
        f"read_parquet: column {name!r} is of type {kind}; expected bool, numbers, dates or times: "
        "name others in argument 'columns'"
    )


def _refuse_nulls(name: str, dtype: np.dtype[Any], footers: list[Any], paths: list[str]) -> None:
    if dtype.kind in "fmM":
        return
    for footer, path in zip(footers, paths, strict=True):
        groups = [footer.row_group(g) for g in range(footer.num_row_groups)]
        place = next(
            (i for i in range(footer.num_columns) if groups and groups[0].column(i).path_in_schema == name), -1
        )
        for group in groups if place >= 0 else ():
            known = group.column(place).statistics
            if known is not None and known.has_null_count and known.null_count:
                raise DTypeError(f"read_parquet: column {name!r} has nulls in {path!r}, for which {dtype} has no value")


def to_parquet(path: Any, x: Any, *, overwrite: bool = False) -> None:
    """Compute arrays and write them as the columns of a folder of Parquet files, a row group for each chunk.

    Each row group is written by a rank that makes it; nothing is gathered. What is written lies in a hidden folder
    beside `path` until it is whole. Parquet has no seconds: times in seconds come back in milliseconds.

    Parameters
    ----------
    path : str or os.PathLike
        A folder to make.
    x : dict of str to array_like, or array_like
        1-D arrays of one length; chunks are aligned. Without a dict: a 1-D array is a column "values", and the columns
        of a 2-D array are named "0", "1", ….
    overwrite : bool
        Whether to replace a folder of Parquet files that is there.

    Raises
    ------
    MissingFile
        The folder to write in doesn't exist.
    ArgumentError
        `path` is not a path, or `x` has no columns or names that are no strings.
    ShapeError
        The arrays are not 1-D and of one length.
    DTypeError
        Parquet has no type for a column's dtype: complex numbers, strings.
    FileExists
        There is something at `path` that mustn't be replaced.
    FileError
        The files can't be written.

    Examples
    --------
    >>> import tempfile
    >>> import windrow as wr
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     wr.to_parquet(folder + "/t", {"n": wr.arange(6, chunks=4)})
    ...     wr.read_parquet(folder + "/t")["n"].compute()
    array([0, 1, 2, 3, 4, 5])
    """
    target = path_of("to_parquet", path)
    names, arrays = _columns(x)
    for name, array in zip(names, arrays, strict=False):
        _check_column(name, array)
    write_once("to_parquet", target, overwrite, arrays, partial(_write, target, overwrite, names))


def _write(target: str, overwrite: bool, names: list[str], *arrays: Array) -> None:
    runs = runs_of(Grid(arrays[0].expr.grid.axes[:1]), sum(_row_bytes(a) for a in arrays))
    (merged,) = runs.merged.axes
    fitted = [regrid(a, Grid([merged, *(Axis.whole(n) for n in a.shape[1:])])) for a in arrays]
    operand_axes = tuple((0,) if a.ndim == 1 else (0, None) for a in arrays)
    with aside("to_parquet", target, overwrite, _ours) as folder:
        os.mkdir(os.path.join(folder, "data"))
        op = BlockFunction("files:to_parquet", (folder, tuple(names), runs), axes=operand_axes, where=True)
        written = make(op, fitted, Grid([Axis.regular(runs.counts[0], 1)]), np.int64)
        (sizes,) = evaluate([written.expr])
        check_sizes("to_parquet", folder, [file_name(i, "parquet") for i in range(sizes.size)], sizes)


def _ours(path: str) -> bool:
    if os.path.islink(path) or not os.path.isdir(path):
        return False
    return all(n.endswith(".parquet") for n in os.listdir(path))


def _row_bytes(x: ArrayBase) -> int:
    return x.dtype.itemsize * (x.shape[1] if x.ndim == 2 else 1)


def _columns(x: Any) -> tuple[list[str], list[Array]]:
    """Return the columns' names, and 1-D arrays, or a 2-D one that has all columns."""
    if not isinstance(x, Mapping):
        array = as_array_nocopy("to_parquet", "x", x)
        if array.ndim not in (1, 2) or (array.ndim == 2 and not array.shape[1]):
            raise ShapeError(bad("to_parquet", "x", array.shape, "a 1-D array, or a 2-D one with columns"))
        return ["values"] if array.ndim == 1 else [str(i) for i in range(array.shape[1])], [array]
    if not x or not all(isinstance(name, str) for name in x):
        raise ArgumentError(bad("to_parquet", "x", list(x), "columns whose names are text"))
    arrays = [as_array_nocopy("to_parquet", f"x[{name!r}]", value) for name, value in x.items()]
    shapes = {a.shape for a in arrays}
    if len(shapes) > 1 or len(next(iter(shapes))) != 1:
        raise ShapeError(bad("to_parquet", "x", sorted(shapes), "1-D arrays of one length"))
    return list(x), align_chunks("to_parquet", arrays)[1]


def _check_column(name: str, array: ArrayBase) -> None:
    kind = array.dtype.kind
    fits = kind in "biuf" and array.dtype.itemsize <= 8
    dated = kind in "mM" and np.datetime_data(array.dtype) in [("s", 1), ("ms", 1), ("us", 1), ("ns", 1)]
    if not (array.dtype.isnative and (fits or dated)):
        raise DTypeError(
            bad("to_parquet", f"x[{name!r}]", array.dtype, "bool, integers, real numbers, dates and times in s to ns")
        )
