"""Tables in files, by pieces that a task reads at once: row groups of Parquet, record batches of Arrow.

Every kind of table is read into Arrow's columns, and these become blocks here: what nulls and texts become is said
once, for all kinds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.errors import DTypeError, FileError, FileFormatError, WindrowError
from ....graph.expr.token import token_of
from ..arrow import arrow, dtype_of, is_binary, is_text, to_numpy

if TYPE_CHECKING:
    from ....graph.expr.expr import DType
    from ..file_arrays import Array
    from .places import FilePlace

Columns = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class TablePieces:
    """The pieces of a table; `bounds` has the rows at which they begin, and how many rows there are.

    `types` are the columns' Arrow types, serialised as a schema; `partitions` what a column is in each file whose
    folder's name tells it.
    """

    places: tuple[FilePlace, ...]
    index: Array
    bounds: Array
    types: bytes
    partitions: tuple[tuple[str, tuple[Any, ...]], ...] = ()
    _token: list[str] = field(default_factory=list, compare=False, repr=False)

    def token_key(self) -> tuple[Any, ...]:
        """Name by the files and what is read of them; found once."""
        if not self._token:
            files = tuple((p.path, p.size, p.mark) for p in self.places)
            self._token.append(token_of(type(self).__name__, files, *self._named()))
        return tuple(self._token)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_token": []}  # the same whether it was asked for its name or not

    def _named(self) -> tuple[Any, ...]:
        return self.index, self.bounds, self.types, self.partitions

    @property
    def schema(self) -> Any:
        return read_schema(self.types)

    def name(self, number: int) -> str:
        """Return what a piece is called in errors."""
        raise NotImplementedError

    def load(self, number: int, columns: Columns) -> Any:
        """Return columns of a piece as the file has them."""
        raise NotImplementedError

    def table(self, number: int, columns: Columns) -> Any:
        """Return columns of a piece as an Arrow table of the declared types; raise with file, piece and cause."""
        place = self.places[int(self.index[number, 0])]
        known = dict(self.partitions)
        stored = tuple(c for c in columns if c not in known)
        try:
            table = self.load(number, stored) if stored else None
            parts = []
            for column in columns:
                kind = self.schema.field(column).type
                if table is None or column in known:
                    value = arrow().scalar(known[column][int(self.index[number, 0])], kind)
                    parts.append(arrow().repeat(value, int(self.bounds[number + 1] - self.bounds[number])))
                else:
                    part = table.column(column)
                    parts.append(part if part.type == kind else part.cast(kind))
        except WindrowError:
            raise
        except Exception as error:
            place.check()
            raise FileError(
                f"{place.label}: {self.name(number)} of {place.path} could not be read: {type(error).__name__}: {error}"
            ) from error
        place.check()
        return arrow().table(parts, names=list(columns))


@lru_cache(maxsize=64)
def read_schema(raw: bytes) -> Any:
    """Return a schema that was serialised."""
    return arrow("ipc").read_schema(arrow().py_buffer(raw))


class ParquetPieces(TablePieces):
    """Row groups: `index` has (file, row group)."""

    def name(self, number: int) -> str:
        return f"row group {int(self.index[number, 1])}"

    def load(self, number: int, columns: Columns) -> Any:
        place = self.places[int(self.index[number, 0])]
        place.check()
        footer = _footer(place)
        source = place.path if place.is_local else place.stream()
        with arrow("parquet").ParquetFile(source, metadata=footer, pre_buffer=not place.is_local) as file:
            return file.read_row_group(int(self.index[number, 1]), columns=list(columns), use_threads=False)


@lru_cache(maxsize=256)
def _footer(place: FilePlace) -> Any:
    """Return a file's metadata, which is read once as long as the file stays the same."""
    return read_footer(place)


def read_footer(place: FilePlace) -> Any:
    """Return a Parquet file's metadata; FileFormatError where it is no such file, or cut short."""
    try:
        return arrow("parquet").read_metadata(place.path if place.is_local else place.stream())
    except (arrow().ArrowInvalid, arrow().ArrowNotImplementedError) as error:
        raise FileFormatError(f"{place.label}: {place.path!r} is no Parquet file: {error}") from error
    except OSError as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"{place.label}: {place.path!r} could not be read: {error}") from error


class IpcPieces(TablePieces):
    """Record batches: `index` has (file, batch)."""

    def name(self, number: int) -> str:
        return f"record batch {int(self.index[number, 1])}"

    def load(self, number: int, columns: Columns) -> Any:
        place = self.places[int(self.index[number, 0])]
        with open_ipc(place, columns) as file:
            return arrow().Table.from_batches([file.get_batch(int(self.index[number, 1]))])


def open_ipc(place: FilePlace, columns: Columns | None) -> Any:
    """Return a file of record batches, open to read some columns; FileFormatError where it is no such file."""
    ipc = arrow("ipc")
    place.check()
    source = arrow().OSFile(place.path) if place.is_local else arrow().PythonFile(place.stream(), "r")
    try:
        file = ipc.open_file(source)
        if columns is None:
            return file
        wanted = [file.schema.names.index(name) for name in columns]
        options = ipc.IpcReadOptions(use_threads=False, included_fields=wanted)
        return ipc.open_file(source, options=options)
    except (arrow().ArrowException, OSError) as error:
        raise FileFormatError(
            f"{place.label}: {place.path!r} is no Arrow file of record batches (Feather 2): {error}"
        ) from error


# ------------------------------------------------------------------ columns as blocks


def describe(column: Any) -> tuple[int, int]:
    """Return how many nulls a column has, and how long its longest text is."""
    compute, kind = arrow("compute"), column.type
    if arrow("types").is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    width = 0
    if is_text(kind):
        longest = compute.max(compute.utf8_length(column)).as_py()
        width = longest or 0
    elif is_binary(kind):
        width = compute.max(compute.binary_length(column)).as_py() or 0
    return int(column.null_count), int(width)


def plain_dtype(kind: Any) -> DType | None:
    """Return the dtype of a column's values; texts have the least width; None where there is none."""
    types = arrow("types")
    if types.is_dictionary(kind):
        return plain_dtype(kind.value_type)
    if is_text(kind) or is_binary(kind):
        return np.dtype("U1" if is_text(kind) else "S1")
    if types.is_null(kind):
        return np.dtype(float)
    dtype = dtype_of(kind)
    return dtype if dtype is not None and dtype.kind in "biufmMS" else None


def fill(out: Array, column: Any, nulls: str | None, place: str) -> None:
    """Write a column's values into a block; `nulls` as the readers take it, and `place` for errors.

    Nulls that mustn't be there, or that the block's dtype has no value for, and longer texts are a DTypeError.
    """
    types, dtype = arrow("types"), out.dtype
    count, width = column.null_count, 0
    if count and nulls != "mask" and (nulls == "raise" or dtype.kind not in "fmM"):
        raise DTypeError(
            f"{place} has {count} nulls, for which {dtype} has no value; expected none: read it with nulls='nan' or "
            "'mask', or read other columns"
        )
    if dtype.kind in "US":
        width = describe(column)[1]
        if width > dtype.itemsize // (4 if dtype.kind == "U" else 1):
            raise DTypeError(f"{place} has texts of {width} characters; expected {dtype}, as they were before")
    if isinstance(column, arrow().ChunkedArray):
        column = column.combine_chunks()
        column = column.chunk(0) if isinstance(column, arrow().ChunkedArray) else column
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if count and dtype.kind == "f" and column.type != arrow().float16() and not types.is_floating(column.type):
        column = column.cast("uint8") if types.is_boolean(column.type) else column
        column = column.cast("float64", safe=False)
    out[...] = to_numpy(column)
