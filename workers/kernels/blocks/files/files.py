"""Writing blocks to files: what tasks do for save, to_npy, to_parquet, to_ipc and to_csv.

A task may run twice, when a rank is lost: it writes the same bytes to the same place. A whole file is written under a
name of its own and then renamed, so that one file is never half of one attempt and half of another.
"""

from __future__ import annotations

import math
import os
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from .....graph.errors import FileError
from ....memory.page_cache import RUN, behind, fits
from ....sources.arrow import arrow, give, stored_type, value_type, wrap
from ....sources.arrow_folder import file_name
from ....sources.formats import csv_text
from ....sources.formats.uploads import Upload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .....graph.chunks.grid import Grid
    from ....sources.arrow_folder import ChunkRuns

Array = np.ndarray[Any, Any]
Where = tuple[slice, ...]


@contextmanager
def whole_file(folder: str | Upload, name: str, all_bytes: int) -> Iterator[str]:
    """Give a path to write to; what was written becomes `folder/data/name` at once, or an object of an upload.

    `all_bytes` is about what all files have together.
    """
    import tempfile

    if isinstance(folder, Upload):
        with folder.file(name) as path:
            yield path
        return
    descriptor, path = tempfile.mkstemp(prefix=f"{name}.", dir=folder)
    os.close(descriptor)
    try:
        yield path
        if not fits(all_bytes):
            behind.wrote_file(path)
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


def save(block: Array, folder: str, runs: ChunkRuns, *, where: Where) -> Array:
    """Write the chunks that share a file; return the file's size."""
    file = tuple(s.start for s in where)
    _, bounds = runs.within(file)
    number, _ = runs.place(tuple(f * g for f, g in zip(file, runs.groups, strict=True)))
    ipc = arrow("ipc")
    schema = arrow().schema([("values", stored_type(block.dtype))])
    with whole_file(folder, file_name(number, "arrow"), math.prod(runs.grid.shape) * block.itemsize) as path:
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
    large = not fits(math.prod(shape) * block.itemsize)
    descriptor = os.open(path, os.O_WRONLY)
    try:
        for index in np.ndindex(*block.shape[:inner]):
            at = begin + sum(k * s for k, s in zip(index, strides[:inner], strict=True))
            part = raw[(*index, ...)]
            write_at(descriptor, part, at)
            if large and part.nbytes >= RUN:
                behind.wrote(descriptor, at, part.nbytes)
    finally:
        os.close(descriptor)
    return np.full((1,) * len(where), block.nbytes)


def write_at(descriptor: int, values: Array, at: int) -> None:
    left = values.reshape(-1).view(np.uint8)
    while left.size:
        done = os.pwrite(descriptor, left.data, at)
        left, at = left[done:], at + done


def to_parquet(*args: Any, where: Where) -> Array:
    """Write the rows that share a file, a row group for each chunk; return the file's size."""

    def write(path: str, schema: Any, tables: list[Any]) -> None:
        with arrow("parquet").ParquetWriter(path, schema) as writer:
            for table in tables:
                writer.write_table(table, row_group_size=len(table))

    return _write_table("to_parquet", write, "parquet", args, where)


def to_ipc(*args: Any, where: Where) -> Array:
    """Write the rows that share a file, a record batch for each chunk; return the file's size."""

    def write(path: str, schema: Any, tables: list[Any]) -> None:
        with arrow().OSFile(path, "wb") as sink, arrow("ipc").new_file(sink, schema) as writer:
            for table in tables:
                writer.write_table(table, max_chunksize=len(table))

    return _write_table("to_ipc", write, "arrow", args, where)


def to_csv(*args: Any, where: Where) -> Array:
    """Write the rows that share a file, which begins with the columns' names; return the file's size."""

    def write(path: str, schema: Any, tables: list[Any]) -> None:
        with open(path, "wb") as file:
            file.write(csv_text.header(schema.names))
            for table in tables:
                file.writelines(csv_text.lines(table))

    return _write_table("to_csv", write, "csv", args, where)


def _write_table(
    operation: str, write: Callable[[str, Any, list[Any]], None], ending: str, args: tuple[Any, ...], where: Where
) -> Array:
    """Write the chunks of columns that share a file, and which aren't empty."""
    *columns, folder, names, runs = args
    (number,) = (s.start for s in where)
    flat = [part for c in columns for part in ([c] if c.ndim == 1 else [c[:, j] for j in range(c.shape[1])])]
    schema = arrow().schema([(name, value_type(c.dtype)) for name, c in zip(names, flat, strict=True)])
    _, (bounds,) = runs.within((number,))
    ends = [(a, b) for a, b in zip(bounds.tolist(), bounds.tolist()[1:], strict=False) if b > a]
    tables = [arrow().Table.from_arrays([give(c[a:b]) for c in flat], schema=schema) for a, b in ends]
    all_bytes = runs.grid.shape[0] * sum(c.dtype.itemsize for c in flat)
    with whole_file(folder, file_name(number, ending), all_bytes) as path:
        try:
            write(path, schema, tables)
        except arrow().ArrowInvalid as error:  # dates in seconds are kept in milliseconds by Parquet
            column_names = ", ".join(names)
            raise FileError(f"{operation}: columns {column_names} have what the files can't: {error}") from error
        size = os.stat(path).st_size
    return np.array([size])
