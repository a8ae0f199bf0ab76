"""What holds arrays: Python's containers, NumPy's arrays of objects, xarray's and pandas' objects, one in another.

Their arrays are collected first and run in one pass; then `map_held` puts the results in their places.
"""

from __future__ import annotations

import copy
import dataclasses
import sys
from collections import deque
from collections.abc import ItemsView, Iterator, ValuesView
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.errors import ArgumentError, bad
from ..base import ArrayBase

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..array import Array

Kinds = type | tuple[type, ...]


def collect_held(values: Any, kinds: Kinds = ArrayBase) -> list[Any]:
    """Return the arrays that a value is or holds, in the order in which `map_held` comes to them."""
    held: list[Any] = []

    def collect(each: object) -> Any:
        held.append(each)
        return each

    map_held(values, collect, kinds)
    return held


def as_lists(values: Sequence[Any]) -> tuple[Any, ...]:
    """Return arguments with lists in place of generators and views of dicts, which can't be filled."""
    return tuple(list(each) if isinstance(each, Iterator | ItemsView | ValuesView) else each for each in values)


def held_arrays(operation: str, values: Sequence[Any]) -> list[Array]:
    """Return the arrays that values are or hold, in order; raise for a value with none."""
    if not values:
        raise ArgumentError(bad(operation, "arrays", tuple(values), "at least one array"))
    arrays: list[Any] = []
    for value in as_lists(values):
        try:
            held = collect_held(value)
        except RecursionError:
            how = "arrays in containers that neither hold themselves nor lie hundreds deep in each other"
            raise ArgumentError(bad(operation, "arrays", f"a {type(value).__name__}", how)) from None
        if not held:
            raise ArgumentError(bad(operation, "arrays", value, "Windrow arrays, or what holds some"))
        arrays += held
    return arrays


def map_held(value: object, function: Callable[[Any], Any], kinds: Kinds = ArrayBase) -> Any:
    """Apply a function to the arrays that a value is or holds, in order; return it with the results in their places.

    Lists, tuples, dicts and xarray's objects are new; a value that can't hold arrays comes back itself.
    """
    if isinstance(value, kinds):
        return function(value)
    mapper = _mapper(value)
    return value if mapper is None else mapper(value, partial(map_held, function=function, kinds=kinds))


def can_hold(value: object) -> bool:
    """Return whether a value is of a kind that may hold arrays."""
    return _mapper(value) is not None


def _mapper(value: object) -> Callable[[Any, Callable[[Any], Any]], Any] | None:
    """Return what applies a function to all that a value holds."""
    for kind, mapper in _KINDS:
        if isinstance(value, kind):
            return mapper
    if type(value) is np.ndarray and value.dtype == object:
        return _map_objects
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _map_dataclass
    return {"xarray": _map_xarray, "pandas": _map_pandas}.get(type(value).__module__.partition(".")[0])


def _map_list(value: list[Any], apply: Callable[[Any], Any]) -> list[Any]:
    items = [apply(each) for each in value]
    if type(value) is list:
        return items
    filled = copy.copy(value)
    filled[:] = items
    return filled


def _map_deque(value: deque[Any], apply: Callable[[Any], Any]) -> deque[Any]:
    items = [apply(each) for each in value]
    filled = copy.copy(value)
    filled.clear()
    filled.extend(items)
    return filled


def _map_dict(value: dict[Any, Any], apply: Callable[[Any], Any]) -> dict[Any, Any]:
    items = {key: apply(each) for key, each in value.items()}
    if type(value) is dict:
        return items
    filled = copy.copy(value)
    for key, each in items.items():  # a Counter's `update` adds
        filled[key] = each
    return filled


def _map_tuple(value: Any, apply: Callable[[Any], Any]) -> Any:
    if type(value) is tuple:
        return tuple(map(apply, value))
    if hasattr(value, "map_all"):  # results of statistics, with more than their fields
        return value.map_all(apply)
    return value._make(map(apply, value)) if hasattr(value, "_make") else value


def _map_dataclass(value: Any, apply: Callable[[Any], Any]) -> Any:
    """Return a copy of a dataclass with what its fields hold; itself where that is the same."""
    fields = {each.name: getattr(value, each.name) for each in dataclasses.fields(value) if hasattr(value, each.name)}
    mapped = {name: apply(held) for name, held in fields.items()}
    if all(mapped[name] is held for name, held in fields.items()):
        return value
    filled = copy.copy(value)
    for name, held in mapped.items():
        object.__setattr__(filled, name, held)  # frozen ones too
    return filled


_KINDS: tuple[tuple[type, Callable[[Any, Callable[[Any], Any]], Any]], ...] = (
    (list, _map_list),
    (tuple, _map_tuple),
    (dict, _map_dict),
    (deque, _map_deque),
)


def _map_objects(value: Any, apply: Callable[[Any], Any]) -> Any:
    """Return an array of Python objects with what these hold; itself where that is the same."""
    filled = np.empty(value.size, object)
    for k, each in enumerate(value.flat):
        filled[k] = apply(each)
    same = all(new is old for new, old in zip(filled, value.flat, strict=True))
    return value if same else filled.reshape(value.shape)


def _map_xarray(value: Any, apply: Callable[[Any], Any]) -> Any:
    """Return an object of xarray's with new data in its variables of chunks; nothing else is read."""
    xarray: Any = sys.modules["xarray"]
    if isinstance(value, getattr(xarray, "DataTree", ())):
        return xarray.map_over_datasets(partial(_map_xarray, apply=apply), value)
    if isinstance(value, xarray.Variable):
        return value.copy(deep=False, data=_as_data(apply(value.data))) if value.chunks else value
    if not isinstance(value, xarray.DataArray | xarray.Dataset):
        return value
    filled = value.copy(deep=False)
    if isinstance(value, xarray.Dataset):
        variables = list(filled.variables.values())
    else:
        variables = [filled.variable, *(filled.coords[name].variable for name in filled.coords)]
    for each in variables:
        if each.chunks is not None:
            each.data = _as_data(apply(each.data))
    return filled


def _as_data(result: Any) -> Any:
    """Return what a variable can hold: NumPy's scalars as arrays."""
    return np.asarray(result) if isinstance(result, np.generic) else result


def _map_pandas(value: Any, apply: Callable[[Any], Any]) -> Any:
    """Return a series or frame with what its cells of Python objects hold."""
    pandas: Any = sys.modules["pandas"]
    if isinstance(value, pandas.Series):
        return _map_cells(value, apply) if value.dtype == object else value
    if not isinstance(value, pandas.DataFrame):
        return value
    columns = {k: value.iloc[:, k] for k, dtype in enumerate(value.dtypes) if dtype.kind == "O"}
    filled = value.copy(deep=False)
    for k, column in columns.items():
        filled.isetitem(k, _map_cells(column, apply))
    return filled if columns else value


def _map_cells(value: Any, apply: Callable[[Any], Any]) -> Any:
    """Return a series with what its cells hold; itself where that is the same, as `map` would find another dtype."""
    cells = [apply(each) for each in value]
    if all(new is old for new, old in zip(cells, value, strict=True)):
        return value
    left = iter(cells)
    return value.map(lambda _: next(left))
