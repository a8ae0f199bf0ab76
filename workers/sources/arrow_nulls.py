"""Nulls in Arrow arrays, those within lists, tensors and records too: counted, made NaN, told by masks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .arrow import arrow, dtype_of, shape_tensors

if TYPE_CHECKING:
    from .arrow import Array


def settle_nulls(pieces: list[Any], nulls: str) -> list[Any]:
    """Return the pieces of an array, of one type, such that `to_numpy` makes NaN or NaT of nulls; or raise ValueError.

    `nulls` is "raise"; "nan": integers and booleans with nulls are cast to float64; or "zero": nulls become NaN and NaT
    where the type has these, and 0, False and "" else.
    """
    count = 0 if nulls == "zero" else sum(map(count_nulls, pieces))
    if count and nulls != "nan":
        raise ValueError(f"{count} nulls in {pieces[0].type}")
    return _make_nan(pieces) if count else pieces


def count_nulls(values: Any) -> int:
    """Return the number of nulls in an Arrow array, those in lists and records too."""
    types, kind = arrow("types"), values.type
    if isinstance(kind, arrow().BaseExtensionType):
        return count_nulls(values.storage)
    if types.is_dictionary(kind):
        return count_nulls(values.dictionary_decode())
    if types.is_struct(kind):
        return sum(map(count_nulls, values.flatten()))
    if types.is_fixed_size_list(kind):
        return int(values.null_count) + count_nulls(values.flatten())
    return int(values.null_count)


def mask_nulls(values: Any) -> Array:
    """Return where nulls are, in the shape that `to_numpy` gives; a record counts as one if a field of it does."""
    types, kind = arrow("types"), values.type
    if isinstance(kind, arrow().FixedShapeTensorType):
        return shape_tensors(kind, mask_nulls(values.storage))
    if isinstance(kind, arrow().BaseExtensionType):
        return mask_nulls(values.storage)
    if types.is_dictionary(kind):
        return mask_nulls(values.dictionary_decode())
    if types.is_struct(kind):
        mask = np.zeros(len(values), bool)
        for field in map(mask_nulls, values.flatten()):
            mask |= field.any(axis=tuple(range(1, field.ndim)))
        return mask
    if types.is_fixed_size_list(kind):
        rows = mask_nulls(values.flatten())
        rows = rows.reshape(len(values), kind.list_size, *rows.shape[1:])
        return rows if dtype_of(kind) is None else np.logical_or(rows[:, 0], rows[:, 1])
    return np.asarray(values.is_null().to_numpy(zero_copy_only=False))


def _make_nan(pieces: list[Any]) -> list[Any]:
    """Return pieces with nulls only where the type has NaN or NaT; integers and booleans are cast where there are some.

    Nulls of a type that has none, and can't be cast to one, are a ValueError.
    """
    types, kind, count = arrow("types"), pieces[0].type, sum(map(count_nulls, pieces))
    if not count or types.is_null(kind):
        return pieces
    if types.is_dictionary(kind):
        return _make_nan([p.dictionary_decode() for p in pieces])
    if isinstance(kind, arrow().BaseExtensionType):
        return _make_nan_in_extension(kind, [p.storage for p in pieces])
    if types.is_struct(kind):
        return _make_nan_in_records(kind, pieces)
    if types.is_fixed_size_list(kind) and not any(p.null_count for p in pieces):
        parts = _make_nan([p.flatten() for p in pieces])
        rows = arrow().list_(kind.value_field.with_type(parts[0].type), kind.list_size)
        return [arrow().FixedSizeListArray.from_arrays(part, type=rows) for part in parts]
    dtype = dtype_of(kind)
    if dtype is None or dtype.kind not in "biufmM":
        raise ValueError(f"{count} nulls in {kind}")
    if dtype.kind in "fmM":
        return pieces
    return [p.cast("uint8" if dtype.kind == "b" else kind).cast("float64", safe=False) for p in pieces]


def _make_nan_in_extension(kind: Any, pieces: list[Any]) -> list[Any]:
    """Return storage of an extension type; as tensors of the new type where they were such."""
    storages = _make_nan(pieces)
    if not isinstance(kind, arrow().FixedShapeTensorType):
        return [p.cast("uint8").cast("float64") for p in storages] if kind == arrow().bool8() else storages
    tensor_type = arrow().fixed_shape_tensor(storages[0].type.value_type, kind.shape, kind.dim_names, kind.permutation)
    return [arrow().ExtensionArray.from_storage(tensor_type, p.cast(tensor_type.storage_type)) for p in storages]


def _make_nan_in_records(kind: Any, pieces: list[Any]) -> list[Any]:
    """Return records whose nulls are those of their fields."""
    rows = [piece.flatten() for piece in pieces]
    columns = [_make_nan([row[i] for row in rows]) for i in range(kind.num_fields)]
    names = [field.name for field in kind]
    return [arrow().StructArray.from_arrays([c[k] for c in columns], names=names) for k in range(len(pieces))]
