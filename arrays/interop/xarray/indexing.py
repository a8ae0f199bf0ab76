"""Points and outer products of positions, in xarray's order of axes."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ...array import Array


def points(array: Array, indexer: Any) -> Array:
    """Return the elements at points, whose axes come first."""
    return array.vindex[indexer.tuple]


def set_points(array: Array, indexer: Any, value: Any) -> None:
    """Set the elements at points, whose axes come first in the value."""
    adapter: Any = importlib.import_module("xarray.core.nputils").NumpyVIndexAdapter(array)
    adapter[indexer.tuple] = value


def set_outer(array: Array, indexer: Any, value: Any) -> None:
    """Set the elements at positions along each axis by itself."""
    key = indexer.tuple
    if sum(isinstance(k, np.ndarray) for k in key) > 1:
        key = importlib.import_module("xarray.core.indexing")._outer_to_numpy_indexer(indexer, array.shape)
    array[key] = value
