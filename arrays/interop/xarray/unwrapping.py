"""Arrays of zarr that xarray opens, read by Windrow itself where xarray's objects around them change nothing.

Each rank then opens them for itself, runs their codecs, and knows whether they lie in a folder near by.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....workers.sources.stores.libraries import is_of
from ...chunking.stored import layers

_INDEXING, _CODING = "xarray.core.indexing", "xarray.coding"
_KINDS = "biufc"
"""Kinds of dtypes that xarray hands on as zarr gives them."""


def unwrapped(data: Any) -> Any:
    """Return the array of zarr's that xarray's objects show as it is, else `data` itself."""
    zarr_array = None
    for each in layers(data):
        if is_of(each, "zarr", "Array"):
            zarr_array = each
            break
        if not _shows_all(each):
            return data
    if zarr_array is None or zarr_array.shape != data.shape or np.dtype(zarr_array.dtype) != data.dtype:
        return data
    return zarr_array if data.dtype.kind in _KINDS else data


def _shows_all(layer: Any) -> bool:
    """Tell whether an object of xarray's shows all elements of what it wraps, and as they are."""
    if is_of(layer, _INDEXING, "LazilyIndexedArray"):
        return all(
            isinstance(k, slice) and k.indices(n) == (0, n, 1)
            for k, n in zip(layer.key.tuple, layer.array.shape, strict=True)
        )
    if is_of(layer, f"{_CODING}.common", "_ElementwiseFunctionArray"):
        return _marks_nothing(layer)
    plain = ("ImplicitToExplicitIndexingAdapter", "CopyOnWriteArray")
    return any(is_of(layer, _INDEXING, kind) for kind in plain) or is_of(
        layer, "xarray.backends.zarr", "ZarrArrayWrapper"
    )


def _marks_nothing(layer: Any) -> bool:
    """Tell whether a function of elements makes NaN of NaN alone, as the usual fill value of floats asks for."""
    function, words = getattr(layer.func, "func", None), getattr(layer.func, "keywords", {})
    named = (getattr(function, "__module__", ""), getattr(function, "__name__", ""))
    if named != (f"{_CODING}.variables", "_apply_mask") or layer.dtype.kind != "f":
        return False
    fills = [*words.get("encoded_fill_values", ()), words.get("decoded_fill_value")]
    return layer.array.dtype == layer.dtype and all(isinstance(f, float | np.floating) and np.isnan(f) for f in fills)
