"""What netCDF's attributes say of a variable: which numbers are missing, and how others are packed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .hdf5 import Decoding

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ....graph.expr.expr import DType

FILLS = ("_FillValue", "missing_value")


def decoding(
    dtype: DType, attributes: Mapping[str, Any], *, missing: Any, mask: bool, scale: bool, fill: Any = None
) -> Decoding | None:
    """Return what the attributes of a variable make of stored numbers; None where they leave them as they are.

    What is missing becomes `missing`: "nan", a number, or None: NaN in floating-point numbers, else an error; `fill`
    stands for missing ones beside those of the attributes. `mask` and `scale` say whether to look for these, and to
    unpack.
    """
    if dtype.kind not in "iuf":
        return None
    stored = dtype
    if dtype.kind == "i" and str(_text(attributes.get("_Unsigned", ""))).lower() == "true" and scale:
        stored = np.dtype(f"{dtype.byteorder if dtype.itemsize > 1 else ''}u{dtype.itemsize}")
    factor = _number(attributes.get("scale_factor")) if scale else None
    offset = _number(attributes.get("add_offset")) if scale else None
    result = np.result_type(stored.newbyteorder("="), *(v.dtype for v in (factor, offset) if v is not None))
    fills: tuple[Any, ...] = ()
    valid = None
    if mask:
        fill_values = [v for name in FILLS if name in attributes for v in np.ravel(attributes[name])]
        values = [_as_stored(v, dtype, stored) for v in (*fill_values, *([] if fill is None else [fill]))]
        fills = tuple(dict.fromkeys(v for v in values if v is not None and v == v))
        valid = _valid(attributes)
        if isinstance(missing, str) and result.kind in "iu" and (fills or valid):
            result = np.result_type(result, np.float64 if result.itemsize > 2 else np.float32)
    if not fills and valid is None and factor is None and offset is None and stored == dtype:
        return None
    if missing is None or isinstance(missing, str):
        missing = np.nan if result.kind == "f" else None
    return Decoding(stored, result, fills, valid, missing, factor, offset)


def _text(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value


def _number(value: Any) -> Any:
    """Return an attribute as a NumPy scalar: its type counts."""
    if value is None:
        return None
    flat = np.ravel(np.asarray(value))
    return flat[0] if flat.size and flat.dtype.kind in "iuf" else None


def _as_stored(value: Any, dtype: DType, stored: DType) -> Any:
    """Return a value as the elements have it; None for one that none of them can have."""
    try:
        element = np.asarray(value).astype(dtype)
    except (TypeError, ValueError):
        return None
    if dtype.kind in "iu" and element != np.asarray(value) and stored == dtype:
        return None
    return element.view(stored)[()] if stored != dtype else element[()]


def _valid(attributes: Mapping[str, Any]) -> tuple[Any, Any] | None:
    both = attributes.get("valid_range")
    if both is not None and np.size(both) == 2:
        least, most = np.ravel(both)
        return least, most
    least, most = _number(attributes.get("valid_min")), _number(attributes.get("valid_max"))
    return None if least is None and most is None else (least, most)
