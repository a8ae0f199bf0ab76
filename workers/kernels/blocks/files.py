"""Writing blocks to files, and reading them: what tasks do for save, to_npy, to_parquet and read_parquet.

A task may run twice, when a rank is lost: it writes the same bytes to the same place. A whole file is written under a
name of its own and then renamed, so that one file is never half of one attempt and half of another.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.errors import DTypeError, FileError, SourceChanged
from ...arrow import arrow, give, stored_type, value_type, wrap
from ...stored import file_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ....graph.grid import Grid
    from ...stored import Runs

Array = np.ndarray[Any, Any]
Where = tuple[slice, ...]


@contextmanager
def whole_file(folder: str, name: str) -> Iterator[str]:
    """Give a path to write to; what was written becomes `folder/data/name` at once."""
    import tempfile

    descriptor, path = tempfile.mkstemp(prefix=f"{name}.", dir=folder)
    os.close(descriptor)
    try:
        yield path
        os.chmod(path, _mode(folder))
        os.replace(path, os.path.join(folder, "data", name))
    except BaseException:
        if os.path.exists(path):
            os.unlink(path)
        raise


@lru_cache(maxsize=8)
def _mode(folder: str) -> int:
    """Return what the user's mask leaves to new files: the driver's own file in the folder tells."""
    return os.stat(os.path.join(folder, "mode")).st_mode & 0o777


def save(block: Array, folder: str, runs: Runs, *, where: Where) -> Array:
    """Write the chunks that share a file; return the file's size."""
    file = tuple(s.start for s in where)
    _, bounds = runs.within(file)
    number, _ = runs.place(tuple(f * g for f, g in zip(file, runs.groups, strict=True)))
    ipc = arrow("ipc")
    schema = arrow().schema([("values", stored_type(block.dtype))])
    with whole_file(folder, file_name(number, "arrow")) as path:
        with arrow().OSFile(path, "wb") as sink, ipc.new_file(sink, schema) as writer:
            for chunk in np.ndindex(*(len(b) - 1 for b in bounds)):
                inside: tuple[Any, ...] = tuple(slice(b[k], b[k + 1]) for b, k in zip(bounds, chunk, strict=True))
                part = block[*inside, ...]  # an array even where it has no axes
                writer.write_batch(arrow().RecordBatch.from_arrays([wrap(part)], schema=schema))
        size = os.stat(path).st_size
    return np.full((1,) * len(where), size)


def to_npy(block: Array, path: str, offset: int, grid: Grid, *, where: Where) -> Array:
    """Write a block into the one file: a contiguous run after the other; return how many bytes."""
    number = int(grid.number([s.start for s in where]))
    origin, shape = grid.block_origin(number), grid.shape
    inner = block.ndim  # axes from here on lie in the file as they do in the block
    while inner and block.shape[inner - 1] == shape[inner - 1]:
        inner -= 1
    inner = max(0, inner - 1)
    strides = [block.itemsize]
    for n in reversed(shape[1:]):
        strides.append(strides[-1] * n)
    strides = strides[::-1] if shape else []
    begin = offset + sum(o * s for o, s in zip(origin, strides, strict=True))
    raw = np.ascontiguousarray(block)
    descriptor = os.open(path, os.O_WRONLY)
    try:
        for index in np.ndindex(*block.shape[:inner]):
            at = begin + sum(k * s for k, s in zip(index, strides[:inner], strict=True))
            _write(descriptor, raw[(*index, ...)], at)
    finally:
        os.close(descriptor)
    return np.full((1,) * len(where), block.nbytes)


def _write(descriptor: int, values: Array, at: int) -> None:
    left = values.reshape(-1).view(np.uint8)
    while left.size:
        done = os.pwrite(descriptor, left.data, at)
        left, at = left[done:], at + done


def to_parquet(*args: Any, where: Where) -> Array:
    """Write the rows that share a file, a row group for each chunk; return the file's size."""
    *columns, folder, names, runs = args
    (number,) = (s.start for s in where)
    flat = [part for c in columns for part in ([c] if c.ndim == 1 else [c[:, j] for j in range(c.shape[1])])]
    schema = arrow().schema([(name, value_type(c.dtype)) for name, c in zip(names, flat, strict=True)])
    _, (bounds,) = runs.within((number,))
    with whole_file(folder, file_name(number, "parquet")) as path:
        with arrow("parquet").ParquetWriter(path, schema) as writer:
            for start, stop in zip(bounds.tolist(), bounds.tolist()[1:], strict=False):
                parts = [give(c[start:stop]) for c in flat]
                if stop > start:
                    _write_rows(writer, arrow().Table.from_arrays(parts, schema=schema))
        size = os.stat(path).st_size
    return np.array([size])


def _write_rows(writer: Any, table: Any) -> None:
    try:
        writer.write_table(table, row_group_size=len(table))
    except arrow().ArrowInvalid as error:  # dates in seconds are kept in milliseconds
        raise FileError(
            f"to_parquet: columns {', '.join(table.column_names)} have what Parquet can't: {error}"
        ) from error


@lru_cache(maxsize=256)
def _footer(path: str, size: int, time: int) -> Any:
    """Return a file's metadata, which is read once as long as the file stays the same."""
    return arrow("parquet").read_metadata(path)


def read_parquet(
    paths: tuple[str, ...], stamps: Array, groups: Array, bounds: Array, column: str, dtype: Any, *, where: Where
) -> Array:
    """Read one column of one row group.

    `stamps` has size and time of change of each file, `groups` (file, row group) for each row group that isn't empty,
    `bounds` where these begin.
    """
    (rows,) = where
    if rows.start == rows.stop:
        return np.empty(0, dtype)
    file, group = groups[int(np.searchsorted(bounds, rows.start))].tolist()
    path, expected = paths[file], tuple(stamps[file].tolist())
    try:
        status = os.stat(path)
    except OSError as error:
        raise SourceChanged(f"read_parquet: the file {path} is gone: {error}") from error
    if (status.st_size, status.st_mtime_ns) != expected:
        raise SourceChanged(
            f"read_parquet: the file {path} changed underneath the array: it had {expected[0]} bytes, last changed "
            f"at {expected[1]} ns; now {status.st_size} bytes, {status.st_mtime_ns} ns"
        )
    try:
        with arrow("parquet").ParquetFile(path, metadata=_footer(path, *expected)) as source:
            values = source.read_row_group(group, columns=[column], use_threads=False).column(0)
    except (OSError, arrow().ArrowException) as error:
        raise FileError(f"read_parquet: row group {group} of {path} could not be read: {error}") from error
    if values.null_count and dtype.kind not in "fmM":
        raise DTypeError(
            f"read_parquet: column {column!r} has {values.null_count} nulls in row group {group} of {path}, for which "
            f"{dtype} has no value; expected none: read other columns, or write this one as floating-point numbers"
        )
    return np.asarray(values.to_numpy()).astype(dtype, copy=False)
