"""Blocks of tables' columns: as tasks make them, and as sources that any rank reads."""

from __future__ import annotations

import itertools
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrow_nulls import mask_nulls
from .tables import fill

if TYPE_CHECKING:
    from ....graph.expr.expr import DType
    from ..file_arrays import Array
    from ..source_reader import Picks
    from .tables import TablePieces

Columns = tuple[str, ...]
KEPT = 1 << 25
"""Bytes of blocks that a process keeps, since tasks that follow each other may need parts of the same one."""


def find_piece(pieces: TablePieces, row: int) -> int:
    """Return the piece that a row lies in."""
    return int(np.searchsorted(pieces.bounds, row, "right")) - 1


def read_columns(pieces: TablePieces, number: int, columns: Columns, dtype: DType, nulls: str | None) -> Array:
    """Return columns of a piece side by side."""
    rows = int(pieces.bounds[number + 1] - pieces.bounds[number])
    table = pieces.table(number, columns)
    out = np.empty((rows, len(columns)), dtype)
    for i, name in enumerate(columns):
        fill(out[:, i], table.column(name), nulls, place_of(pieces, number, name))
    return out


def read_masks(pieces: TablePieces, number: int, columns: Columns) -> Array:
    """Return where columns of a piece have nulls, side by side."""
    table = pieces.table(number, columns)
    return np.stack([mask_column(table.column(name)) for name in columns], axis=1)


def place_of(pieces: TablePieces, number: int, name: str) -> str:
    """Return what a column of a piece is called in errors."""
    place = pieces.places[int(pieces.index[number, 0])]
    return f"{place.label}: column {name!r} in {pieces.name(number)} of {place.path}"


def mask_column(values: Any) -> Array:
    """Return where a column has nulls."""
    chunks = getattr(values, "chunks", [values])
    return np.concatenate([mask_nulls(chunk) for chunk in chunks]) if chunks else np.zeros(0, bool)


@dataclass(frozen=True, eq=False)
class TableColumns:
    """One column of a table, or several side by side (`wide`), or where they have nulls (a dtype of None)."""

    pieces: TablePieces
    columns: Columns
    dtype: DType | None
    nulls: str | None
    wide: bool

    @property
    def quick(self) -> bool:
        """Whether the files are local."""
        return all(place.is_local for place in self.pieces.places[:1])

    def open(self) -> OpenColumns:
        return OpenColumns(self)


class _Block:
    """A block that is read once, by the first thread that needs it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.values: Array | None = None


_numbers = itertools.count()
_guard = threading.Lock()
_blocks: OrderedDict[tuple[int, int, Columns], _Block] = OrderedDict()
"""The last blocks that this process has read, of all sources: up to `KEPT` bytes."""


class OpenColumns:
    """Reads a table's columns."""

    def __init__(self, told: TableColumns) -> None:
        self._told, self._number = told, next(_numbers)

    def read(self, where: tuple[slice, ...], picks: Picks) -> Array:
        """Return what is picked of the rectangle of one piece."""
        table = self._told
        if 0 in map(len, picks):
            return np.empty([len(p) for p in picks], bool if table.dtype is None else table.dtype)
        columns = table.columns
        if table.wide:
            columns = tuple(columns[where[1].start + int(k)] for k in picks[1])
        values, rows = self._block(find_piece(table.pieces, where[0].start), columns), picks[0]
        if not isinstance(rows, range) or rows != range(len(values)):
            values = values[np.asarray(rows, np.int64)]
        return values if table.wide else values[:, 0]

    def _block(self, number: int, columns: Columns) -> Array:
        key, table = (self._number, number, columns), self._told
        with _guard:
            block = _blocks.setdefault(key, _Block())
            _blocks.move_to_end(key)
        with block.lock:
            values = block.values
            if values is not None:
                table.pieces.places[int(table.pieces.index[number, 0])].check()
                return values
            if table.dtype is None:
                values = read_masks(table.pieces, number, columns)
            else:
                values = read_columns(table.pieces, number, columns, table.dtype, table.nulls)
            values.flags.writeable = False
            block.values = values
        _forget()
        return values


def _forget() -> None:
    """Let go of the oldest blocks that are too much together."""
    with _guard:
        left = sum(block.values.nbytes for block in _blocks.values() if block.values is not None)
        while left > KEPT:
            _, block = _blocks.popitem(last=False)
            left -= 0 if block.values is None else block.values.nbytes
