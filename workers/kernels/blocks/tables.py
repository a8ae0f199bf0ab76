"""Reading pieces of tables into blocks: a column, several side by side, records; and what is learned of them once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrow_nulls import mask_nulls
from ...formats.tables import describe, fill

if TYPE_CHECKING:
    from ...formats.csv import Survey
    from ...formats.tables import Columns, Pieces
    from .files import Array, Where


def inspect(pieces: Pieces, columns: Columns, *, where: Where) -> Array:
    """Return for a piece nulls and width of each column."""
    table = pieces.table(where[0].start, columns)
    return np.array([[number for name in columns for number in describe(table.column(name))]], np.int64)


def column(pieces: Pieces, name: str, dtype: Any, nulls: str | None, *, where: Where) -> Array:
    """Return one column of a piece."""
    (rows,) = where
    out = np.empty(rows.stop - rows.start, dtype)
    if len(out):
        number = _piece(pieces, rows)
        fill(out, pieces.table(number, (name,)).column(name), nulls, _place(pieces, number, name))
    return out


def mask(pieces: Pieces, columns: Columns, *, where: Where) -> Array:
    """Return where one column has nulls, or, beside a second axis, where each of several has them."""
    rows = where[0]
    out = np.zeros((rows.stop - rows.start, len(columns)), bool)
    if len(out):
        table = pieces.table(_piece(pieces, rows), columns)
        for i, name in enumerate(columns):
            out[:, i] = _mask(table.column(name))
    return out if len(where) == 2 else out[:, 0]


def matrix(pieces: Pieces, columns: Columns, dtype: Any, nulls: str | None, *, where: Where) -> Array:
    """Return columns of a piece side by side."""
    rows = where[0]
    out = np.empty((rows.stop - rows.start, len(columns)), dtype)
    if len(out):
        number = _piece(pieces, rows)
        table = pieces.table(number, columns)
        for i, name in enumerate(columns):
            fill(out[:, i], table.column(name), nulls, _place(pieces, number, name))
    return out


def records(pieces: Pieces, columns: Columns, dtype: Any, nulls: str | None, *, where: Where) -> Array:
    """Return columns of a piece as records, with the masks of nulls behind the values where there is room for them."""
    (rows,) = where
    out = np.empty(rows.stop - rows.start, dtype)
    if len(out):
        number = _piece(pieces, rows)
        table = pieces.table(number, columns)
        for i, name in enumerate(columns):
            fill(out[dtype.names[i]], table.column(name), nulls, _place(pieces, number, name))
            if len(dtype.names) > len(columns):
                out[dtype.names[len(columns) + i]] = _mask(table.column(name))
    return out


def _piece(pieces: Pieces, rows: slice) -> int:
    return int(np.searchsorted(pieces.bounds, rows.start, "right")) - 1


def _place(pieces: Pieces, number: int, name: str) -> str:
    place = pieces.places[int(pieces.index[number, 0])]
    return f"{place.label}: column {name!r} in {pieces.name(number)} of {place.path}"


def _mask(values: Any) -> Array:
    chunks = getattr(values, "chunks", [values])
    return np.concatenate([mask_nulls(chunk) for chunk in chunks]) if chunks else np.zeros(0, bool)


def survey(parts: Survey, *, where: Where) -> Array:
    """Return what is to be known of a part of a CSV file before it is cut."""
    return np.array([parts.tell(where[0].start)], np.int64)
