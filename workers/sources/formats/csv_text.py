"""Rows as the text of a CSV file, which `read_csv` takes for the same rows: a line each, floats as floats.

Arrow's own writer leaves an empty line for a null in a table of one column, which some readers skip, and writes 1.0
as 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrow import arrow

if TYPE_CHECKING:
    from collections.abc import Iterator

ROWS = 1 << 16
"""So many rows become text at once."""


def header(names: list[str]) -> bytes:
    """Return the first line, which has the columns' names."""
    return ",".join('"' + name.replace('"', '""') + '"' for name in names).encode() + b"\n"


def lines(table: Any) -> Iterator[memoryview]:
    """Yield the text of some rows after that of others."""
    for batch in table.to_batches(ROWS):
        columns = [_texts(column) for column in batch.columns]
        if len(columns) == 1:
            columns = [columns[0].fill_null(b'""')]
        rows = _join(_join(*columns, between=b","), _bytes(b"\n"))
        ends = np.frombuffer(rows.buffers()[1], np.int64, len(rows) + 1)
        yield memoryview(rows.buffers()[2])[int(ends[0]) : int(ends[-1])]


def _texts(column: Any) -> Any:
    """Return what stands for each value, in quotes where it is a text; nulls stay."""
    compute, types, kind = arrow("compute"), arrow("types"), column.type
    if types.is_string(kind) or types.is_binary(kind):
        doubled = compute.replace_substring(column.cast(arrow().large_binary()), b'"', b'""')
        return _join(_bytes(b'"'), doubled, _bytes(b'"'))
    text = column.cast(arrow().large_string())
    if types.is_floating(kind):
        whole = compute.ascii_is_decimal(compute.ascii_ltrim(text, characters="-"))
        text = compute.if_else(whole, _join(text, arrow().scalar(".0", text.type)), text)
    return text.cast(arrow().large_binary())


def _join(*parts: Any, between: bytes = b"") -> Any:
    """Return texts with others behind them; nulls among several columns are nothing."""
    kind = parts[0].type
    how = {"null_handling": "replace", "null_replacement": ""} if between else {}
    return arrow("compute").binary_join_element_wise(
        *parts, arrow().scalar(between, arrow().binary()).cast(kind), **how
    )


def _bytes(value: bytes) -> Any:
    return arrow().scalar(value, arrow().large_binary())
