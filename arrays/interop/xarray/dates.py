"""What `.dt` tells of dates, block by block."""

from __future__ import annotations

import functools
import importlib
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.errors import ArgumentError
from ...user_functions.map_blocks import map_blocks

if TYPE_CHECKING:
    from ...array import Array

ISO = "isocalendar"
TEXTS = {"season": 3}
LONGEST_NAME = len("Wednesday")
"""Characters of names of seasons, and of days and months: chunks hold no Python objects."""


def _accessor() -> Any:
    return importlib.import_module("xarray.core.accessor_dt")


def field_of(block: Any, field: str, dtype: Any) -> Any:
    """Return a field of each date of a block: xarray's own function."""
    values = _accessor()._access_through_series(block, field)
    if values.dtype.kind == "f" and np.dtype(dtype).kind in "iu":  # xarray's own answer where there is no date
        raise ArgumentError(
            f".dt.{field}: there are dates that aren't (NaT), for which integers have no value; fill them "
            "(.fillna), drop them (.dropna), or load the dates before (.load(): the result is then of float64)"
        )
    return values.astype(dtype, copy=False) if values.dtype.kind in "iuO" else values


def date_field(values: Array, name: str, dtype: Any) -> Array:
    """Return a field of each date; "isocalendar" has three, along an axis of its own in front."""
    chunks = ((3,), *values.chunks) if name == ISO else None
    if np.dtype(dtype).hasobject:
        dtype = np.dtype(f"U{TEXTS.get(name, LONGEST_NAME)}")
    return map_blocks(
        functools.partial(field_of, field=name, dtype=dtype),
        values,
        dtype=dtype,
        chunks=chunks,
        new_axis=0 if name == ISO else None,
    )


def rounded(block: Any, field: str, freq: str) -> Any:
    """Return the dates of a block rounded: xarray's own function."""
    return _accessor()._round_through_series_or_index(block, field, freq)


def round_field(values: Array, name: str, freq: str) -> Array:
    """Return each date rounded to a frequency."""
    return map_blocks(functools.partial(rounded, field=name, freq=freq), values, dtype=values.dtype)


def written(block: Any, form: str, length: int) -> Any:
    """Return the dates of a block as texts of a length that was found beforehand."""
    formatted = _accessor()._strftime_through_series(block, form)
    texts = np.asarray(formatted, dtype=str)
    if texts.dtype.itemsize > 4 * length:
        longest = max(map(str, texts.flat), key=len)
        raise ArgumentError(f"strftime: {longest!r} has more than {length} characters, as dates of 2000 have at most")
    return texts.astype(f"U{length}")


def strftime(values: Array, date_format: str) -> Array:
    """Return each date as text, as long as a date of the year 2000 becomes in this form, or as "NaT" is."""
    year = np.arange("2000-01-01T23:59:59.999999999", "2001-01-01", 86400 * 10**9, dtype="M8[ns]")
    length = max(3, *map(len, _accessor()._strftime_through_series(year, date_format)))
    return map_blocks(functools.partial(written, form=date_format, length=length), values, dtype=np.dtype(f"U{length}"))
