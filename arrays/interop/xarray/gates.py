"""Where xarray asks "is this dask's?" before it stays lazy, arrays of Windrow are answered for, too.

xarray computes at once, or refuses, where it has not been told that an array is lazy: a property of `.dt`, `ffill`,
points by several arrays, `polyfit`. Each gate puts a function before one of xarray's: it sees arrays of Windrow, and
hands all others on. A gate whose place isn't there, in another version of xarray, is left out; what it was for is
computed at once, and right.
"""

from __future__ import annotations

import functools
import importlib
import re
import sys
from typing import TYPE_CHECKING, Any

from ....graph.errors import ChunksError
from ...array import Array
from ...ops.moves.sliding_window import sliding_window_view
from ..placing import place
from . import blocks, dates, grouping, indexing, lines, rolling
from .overwriting import keep_what_is_read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def _is_lazy(original: Callable[..., Any]) -> Callable[..., Any]:
    """Also arrays of Windrow are lazy."""
    return lambda x: isinstance(x, Array) or original(x)


def _for_first(mine: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return what puts a function before another, for calls whose first argument is an array of Windrow."""

    def before(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def chosen(first: Any, *args: Any, **kwargs: Any) -> Any:
            return (mine if isinstance(first, Array) else original)(first, *args, **kwargs)

        return chosen

    return before


def _for_method(mine: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return what puts a function before a method of something that wraps an array, for Windrow's."""

    def before(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def chosen(self: Any, *args: Any, **kwargs: Any) -> Any:
            if isinstance(self.array, Array):
                return mine(self.array, *args, **kwargs)
            return original(self, *args, **kwargs)

        return chosen

    return before


def _equivalent(original: Callable[..., Any]) -> Callable[..., Any]:
    """Tell equality by names of expressions; None where only the elements could tell."""

    @functools.wraps(original)
    def chosen(arr1: Any, arr2: Any) -> bool | None:
        if not (isinstance(arr1, Array) and isinstance(arr2, Array)):
            return original(arr1, arr2)  # type: ignore[no-any-return]
        if arr1.shape != arr2.shape:
            return False
        return True if arr1.expr.token == arr2.expr.token else None

    return chosen


def _keep_chunks(original: Callable[..., Any]) -> Callable[..., Any]:
    """What is shifted keeps its chunks, so that it goes with what isn't."""

    @functools.wraps(original)
    def chosen(self: Any, *args: Any, **kwargs: Any) -> Any:
        variable = original(self, *args, **kwargs)
        if isinstance(self._data, Array) and isinstance(variable._data, Array):
            return variable._replace(data=variable._data.rechunk(self._data.chunks))
        return variable

    return chosen


def _chunk_ours(original: Callable[..., Any]) -> Callable[..., Any]:
    """What is Windrow's keeps its manager, whichever one is the default; `to_dask` makes an array of dask's."""

    @functools.wraps(original)
    def chosen(self: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(self._data, Array):  # chunks come first, and then these two
            args, kwargs = args[:1], kwargs | {"chunked_array_type": "windrow", "from_array_kwargs": None}
        return original(self, *args, **kwargs)

    return chosen


def _name_our_chunks(original: Callable[..., Any]) -> Callable[..., Any]:
    """Where chunks don't suit a zarr store, xarray's advice speaks of dask, whosever they are."""

    @functools.wraps(original)
    def chosen(self: Any, variables: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return original(self, variables, *args, **kwargs)
        except ValueError as error:
            text = str(error)
            ours = any(repr(name) in text for name, each in variables.items() if isinstance(each._data, Array))
            if not ours or "chunks" not in text:
                raise
            raise ChunksError(f"to_zarr: {re.sub('[Dd]ask', 'Windrow', text)}") from None

    return chosen


def _windows(array: Any, window_shape: Any, axis: Any = None, **kwargs: Any) -> Any:
    return sliding_window_view(array, window_shape, axis, automatic_rechunk=kwargs.get("automatic_rechunk", True))


def _of_dask(dataset: Any) -> Any:
    """Return a data set whose arrays of Windrow are dask's, each chunk of which Windrow computes."""
    ours = {name: var for name, var in dataset.variables.items() if isinstance(var._data, Array)}
    return dataset.assign({name: v._replace(data=v._data.to_dask()) for name, v in ours.items()}) if ours else dataset


def _chunk_as_asked(original: Callable[..., Any]) -> Callable[..., Any]:
    """Who names dask gets dask's arrays; who names none, and has some of Windrow's, gets no others beside them."""

    @functools.wraps(original)
    def chosen(self: Any, *args: Any, **kwargs: Any) -> Any:
        ours = any(isinstance(variable._data, Array) for variable in self.variables.values())
        if ours and kwargs.get("chunked_array_type") is None:
            kwargs["chunked_array_type"] = "windrow"
        return original(_of_dask(self) if kwargs.get("chunked_array_type") == "dask" else self, *args, **kwargs)

    return chosen


def _frame_by_dask(original: Callable[..., Any]) -> Callable[..., Any]:
    """Columns of dask's dataframes are dask's arrays, of which each chunk is computed by Windrow."""

    @functools.wraps(original)
    def chosen(self: Any, *args: Any, **kwargs: Any) -> Any:
        converted = _of_dask(self)
        if converted is self:
            return original(self, *args, **kwargs)
        with importlib.import_module("xarray").set_options(chunk_manager="dask"):
            return original(converted, *args, **kwargs)

    return chosen


def _with_gate_of_flox(original: Callable[..., Any]) -> Callable[..., Any]:
    """flox is opened when xarray uses it, since importing it takes long."""

    @functools.wraps(original)
    def chosen(self: Any, *args: Any, **kwargs: Any) -> Any:
        _open(FLOX)
        return original(self, *args, **kwargs)

    return chosen


GATES: tuple[tuple[str, str, Callable[[Callable[..., Any]], Callable[..., Any]]], ...] = (
    ("xarray.core.indexing", "ArrayApiIndexingAdapter._vindex_get", _for_method(indexing.points)),
    ("xarray.core.indexing", "ArrayApiIndexingAdapter._vindex_set", _for_method(indexing.set_points)),
    ("xarray.core.indexing", "ArrayApiIndexingAdapter._oindex_set", _for_method(indexing.set_outer)),
    ("xarray.core.accessor_dt", "_get_date_field", _for_first(dates.date_field)),
    ("xarray.core.accessor_dt", "_round_field", _for_first(dates.round_field)),
    ("xarray.core.accessor_dt", "_strftime", _for_first(dates.strftime)),
    ("xarray.core.duck_array_ops", "lazy_array_equiv", _equivalent),
    ("xarray.structure.merge", "lazy_array_equiv", _equivalent),
    ("xarray.structure.concat", "lazy_array_equiv", _equivalent),
    ("xarray.core.duck_array_ops", "push", _for_first(lines.fill_forward)),
    ("xarray.core.duck_array_ops", "sliding_window_view", _for_first(_windows)),
    ("xarray.core.missing", "apply_ufunc", lines.with_dtype),
    ("xarray.computation.rolling", "DataArrayRolling._array_reduce", rolling.before_reducing),
    ("xarray.computation.rolling", "DataArrayRolling._counts", rolling.before_counting),
    ("xarray.computation.fit", "least_squares", lines.least_squares),
    ("xarray.computation.fit", "is_duck_dask_array", _is_lazy),
    ("xarray.computation.weighted", "is_duck_dask_array", _is_lazy),
    ("xarray.namedarray.core", "NamedArray.chunk", _chunk_ours),
    ("xarray.core.variable", "Variable._shift_one_dim", _keep_chunks),
    ("xarray.core.variable", "Variable._roll_one_dim", _keep_chunks),
    ("xarray.core.dataset", "Dataset.chunk", _chunk_as_asked),
    ("xarray.core.dataset", "Dataset.to_dask_dataframe", _frame_by_dask),
    ("xarray.backends.writers", "to_zarr", keep_what_is_read("to_zarr")),
    ("xarray.backends.writers", "to_netcdf", keep_what_is_read("to_netcdf")),
    ("xarray.backends.writers", "_datatree_to_zarr", keep_what_is_read("to_zarr")),
    ("xarray.backends.writers", "_datatree_to_netcdf", keep_what_is_read("to_netcdf")),
    ("xarray.backends.zarr", "ZarrStore.set_variables", _name_our_chunks),
    ("xarray.core.groupby", "GroupBy._flox_reduce", _with_gate_of_flox),
    ("xarray.core.groupby", "GroupBy._flox_scan", _with_gate_of_flox),
)
"""Modules of xarray, the names in them, and what stands there from then on."""

FLOX: tuple[tuple[str, str, Callable[[Callable[..., Any]], Callable[..., Any]]], ...] = (
    ("flox.xarray", "groupby_reduce", _for_first(grouping.groupby_reduce)),
    ("flox", "groupby_scan", _for_first(grouping.groupby_scan)),
)
"""The same of flox, once it is loaded."""

MAPPING: tuple[tuple[str, str, Callable[[Callable[..., Any]], Callable[..., Any]]], ...] = (
    ("xarray.core.dask_array_expr", "map_blocks_with_dask_array_expr", blocks.instead),
    ("xarray.core.dask_array_expr", "is_dask_array_expr_array", _is_lazy),
    ("xarray.core.dask_array_expr", "is_dask_collection", blocks.also_ours),
    ("xarray.core.parallel", "is_dask_collection", blocks.also_ours),
    ("xarray.core.parallel", "map_blocks", blocks.by_our_manager),
    ("xarray", "map_blocks", blocks.by_our_manager),
)
"""The same for `xarray.map_blocks`: all of them or none."""


def open_gates() -> None:
    """Put Windrow's functions before those of xarray, once; and before those of flox, if it is loaded by now."""
    _open((*GATES, *(MAPPING if blocks.can_be_mapped() else ()), *(FLOX if "flox.xarray" in sys.modules else ())))


def _open(gates: Iterable[tuple[str, str, Callable[[Callable[..., Any]], Callable[..., Any]]]]) -> None:
    for module, name, before in gates:
        place(module, name, before)
