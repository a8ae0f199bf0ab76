"""Reading pieces of tables into blocks: columns side by side, records; and what is learned of them once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ....sources.formats.table_blocks import find_piece, mask_column, place_of, read_columns, read_masks
from ....sources.formats.tables import describe, fill

if TYPE_CHECKING:
    from ....sources.formats.csv import Survey
    from ....sources.formats.tables import Columns, TablePieces
    from .files import Array, Where


def inspect(pieces: TablePieces, columns: Columns, *, where: Where) -> Array:
    """Return for a piece nulls and width of each column."""
    table = pieces.table(where[0].start, columns)
    return np.array([[number for name in columns for number in describe(table.column(name))]], np.int64)


def survey(parts: Survey, *, where: Where) -> Array:
    """Return what is to be known of a part of a CSV file before it is cut."""
    return np.array([parts.tell(where[0].start)], np.int64)


def columns(pieces: TablePieces, names: Columns, dtype: Any, nulls: str | None, wide: bool, *, where: Where) -> Array:
    """Return one column of a piece, or several side by side; without a dtype, where they have nulls."""
    rows = where[0]
    out = np.empty((0, len(names)), bool if dtype is None else dtype)
    if rows.stop > rows.start:
        number = find_piece(pieces, rows.start)
        out = read_masks(pieces, number, names) if dtype is None else read_columns(pieces, number, names, dtype, nulls)
    return out if wide else out[:, 0]


def records(pieces: TablePieces, names: Columns, dtype: Any, nulls: str | None, *, where: Where) -> Array:
    """Return columns of a piece as records, with the masks of nulls behind the values where there is room for them."""
    (rows,) = where
    out = np.empty(rows.stop - rows.start, dtype)
    if len(out):
        number = find_piece(pieces, rows.start)
        table = pieces.table(number, names)
        for i, name in enumerate(names):
            fill(out[dtype.names[i]], table.column(name), nulls, place_of(pieces, number, name))
            if len(dtype.names) > len(names):
                out[dtype.names[len(names) + i]] = mask_column(table.column(name))
    return out
