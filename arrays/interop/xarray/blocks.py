"""`xarray.map_blocks`: a function of xarray's objects, called once for each block, all of whose variables come at once.

What the function makes of a block, some arrays of any shapes, lies side by side in one run of bytes. Each variable of
the result reads its part of these.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import itertools
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.chunks.grid import Axis, Grid
from ....graph.kinds.mapping import MapBlocks
from ....workers.kernels.user_results import check_kept
from ...array import Array
from ...base import check_dtype, make
from ...user_functions.travel.pickling import name_of, payload

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping


@dataclass(frozen=True)
class OutputVariable:
    """A variable that the function makes: its chunks along each of its axes, and where its bytes begin."""

    name: Any
    dims: tuple[Any, ...]
    chunks: tuple[tuple[int, ...], ...]
    dtype: np.dtype[Any]
    start: int = 0

    @property
    def most(self) -> int:
        """Bytes of its largest block."""
        return self.dtype.itemsize * math.prod(max(sizes, default=0) for sizes in self.chunks)

    def shape(self, chunk: Mapping[Any, int]) -> tuple[int, ...]:
        """Return the shape of a block; what hasn't the axis of a chunk has one block for all."""
        at = (chunk.get(dim, 0) for dim in self.dims)
        return tuple(sizes[k if len(sizes) > 1 else 0] for sizes, k in zip(self.chunks, at, strict=True))


@dataclass(frozen=True)
class BlockCaller:
    """The user's function with its other arguments: calls it for a block, and puts what it makes side by side."""

    settings: dict[str, Any]
    args: tuple[Any, ...]
    dims: tuple[Any, ...]
    outs: tuple[OutputVariable, ...]
    size: int

    def __call__(self, *blocks: Any, block_id: tuple[int, ...]) -> np.ndarray[Any, Any]:
        """Call the function, check what it returns as xarray does, and return its bytes."""
        settings, chunk = self.settings, dict(zip(self.dims, block_id, strict=False))
        bounds, slicer = settings["output_chunk_bounds"], settings["get_chunk_slicer"]
        expected = {
            "shapes": {
                dim: settings["output_chunks"][dim][k] for dim, k in chunk.items() if dim in settings["output_chunks"]
            },
            "data_vars": settings["data_vars"],
            "coords": settings["coords"],
        }
        indexes = {dim: index[slicer(dim, chunk, bounds)] for dim, index in settings["indexes"].items()}
        rest = iter(blocks)
        args = [arg.at(chunk, settings, rest) if isinstance(arg, DatasetArgument) else arg for arg in self.args]
        variables = settings["wrapper"](
            settings["func"], args, settings["kwargs"], settings["is_array"], expected, indexes
        )
        raw = np.zeros((1,) * len(self.dims) + (self.size,), np.uint8)
        for out in self.outs:
            value = np.asarray(variables[out.name])
            check_kept("map_blocks", value, out.dtype, f" for variable {out.name!r}", "give it so in template=")
            value = value.astype(out.dtype, "C", copy=False)
            if value.shape != out.shape(chunk):
                raise ValueError(f"Variable {out.name!r} has shape {value.shape}; expected {out.shape(chunk)}.")
            raw[..., out.start : out.start + value.nbytes] = value.reshape(-1).view(np.uint8)
        return raw


@dataclass(frozen=True)
class DatasetArgument:
    """A data set among the arguments: lazy variables stand without their data, which come as blocks."""

    variables: tuple[tuple[Any, tuple[Any, ...], Any, dict[Any, Any], bool], ...]
    attrs: dict[Any, Any]

    def at(self, chunk: Mapping[Any, int], given: Mapping[str, Any], blocks: Any) -> Any:
        """Return the part of a block."""
        kinds: dict[bool, dict[Any, Any]] = {True: {}, False: {}}
        slicer, bounds = given["get_chunk_slicer"], given["input_chunk_bounds"]
        for name, dims, variable, attrs, coord in self.variables:
            if variable is None:
                kinds[coord][name] = (dims, next(blocks), attrs)
            else:
                kinds[coord][name] = variable.isel({dim: slicer(dim, chunk, bounds) for dim in dims})
        return importlib.import_module("xarray").Dataset(kinds[False], kinds[True], self.attrs)


@dataclass(frozen=True)
class Taken:
    """Takes a variable out of the bytes of a block."""

    out: OutputVariable
    shapes: dict[tuple[int, ...], tuple[int, ...]] = field(default_factory=dict)

    def __call__(self, block: Any, *, block_id: tuple[int, ...]) -> np.ndarray[Any, Any]:
        """Return its elements."""
        out = self.out
        shape = out.shape(dict(zip(out.dims, block_id, strict=True)))
        count = math.prod(shape) * out.dtype.itemsize
        raw = np.ascontiguousarray(block).reshape(-1)[out.start : out.start + count]
        return raw.copy().view(out.dtype).reshape(shape)


def map_lazily(**given: Any) -> Any:
    """Return what xarray's function of the same task for dask's other arrays returns, with arrays of Windrow."""
    dims: tuple[Hashable, ...] = tuple(given["input_chunks"])
    arrays: list[Array] = []
    operand_axes: list[tuple[int | None, ...]] = []
    args: list[Any] = []
    for is_xarray, arg in zip(given["is_xarray"], given["npargs"], strict=True):
        if not is_xarray:
            args.append(arg)
            continue
        variables = []
        for name, variable in arg.variables.items():
            lazy = isinstance(variable.data, Array)
            if lazy:
                arrays.append(variable.data)
                operand_axes.append(tuple(map(dims.index, variable.dims)))
            kept = None if lazy else variable
            variables.append((name, variable.dims, kept, variable.attrs, name in arg._coord_names))
        args.append(DatasetArgument(tuple(variables), arg.attrs))
    outs, size = _outs(given)
    called = BlockCaller(_travelling(given), tuple(args), dims, outs, size)
    packed = payload("map_blocks", called, (), {}, name_of(given["func"]))
    counts = [Axis.regular(len(given["input_chunks"][dim]), 1) for dim in dims]
    grid = Grid([*counts, Axis.whole(size)])
    raw = make(MapBlocks(packed, tuple(operand_axes), ("block_id",)), arrays, grid, np.uint8)
    return _assemble(given, {out.name: _take(raw, out, dims) for out in outs})


def _outs(given: dict[str, Any]) -> tuple[tuple[OutputVariable, ...], int]:
    """Return what the function makes, and the bytes of all of it."""
    outs: list[OutputVariable] = []
    template, start = given["template"], 0
    for name in given["computed_variables"]:
        variable = template.variables[name]
        chunks = tuple(
            tuple(map(int, given["output_chunks"].get(dim, (template.sizes[dim],)))) for dim in variable.dims
        )
        out = OutputVariable(
            name, tuple(variable.dims), chunks, check_dtype("map_blocks", str(name), variable.dtype), start
        )
        outs.append(out)
        start += out.most
    return tuple(outs), start


def _travelling(given: dict[str, Any]) -> dict[str, Any]:
    """Return what goes with the function to the ranks."""
    template, coordinates = given["template"], given["coordinates"]
    names = ("func", "kwargs", "wrapper", "get_chunk_slicer", "output_chunks")
    bounds = ("input_chunk_bounds", "output_chunk_bounds")
    settings = {name: given[name] for name in (*names, *bounds)} | {"is_array": tuple(given["is_array"])}
    settings["output_chunks"] = dict(given["output_chunks"])
    settings["indexes"] = {dim: coordinates.xindexes[dim] for dim in given["new_indexes"] | given["modified_indexes"]}
    return settings | {"data_vars": set(template.data_vars), "coords": set(template.coords)}


def _take(made: Array, out: OutputVariable, dims: tuple[Any, ...]) -> Array:
    """Return one variable; where it lacks an axis that has chunks, the first block's."""
    one = made[tuple(slice(None) if dim in out.dims else slice(1) for dim in dims)]
    axes = (*(out.dims.index(dim) if dim in out.dims else None for dim in dims), None)
    grid = Grid([Axis.of_sizes(sizes) for sizes in out.chunks])
    packed = payload("map_blocks", Taken(out), (), {}, str(out.name))
    return make(MapBlocks(packed, (axes,), ("block_id",)), (one,), grid, out.dtype)


def _assemble(given: dict[str, Any], arrays: dict[Any, Array]) -> Any:
    """Return the data set, or the array, of the variables that the function makes."""
    template = given["template"]
    result = importlib.import_module("xarray").Dataset(coords=given["coordinates"], attrs=template.attrs)
    for name in itertools.chain(result._indexes, arrays):
        if name in arrays:
            result[name] = (template[name].dims, arrays[name], template[name].attrs)
        else:
            result[name].attrs = template[name].attrs
        result[name].encoding = template[name].encoding
    result = result.set_coords(template._coord_names)
    if not given["result_is_array"]:
        return result
    array = given["dataset_to_dataarray"](result)
    array.name = given["template_name"]
    return array


def holds_lazy(x: Any) -> bool:
    """Tell whether an object of xarray's has arrays of Windrow."""
    if isinstance(x, Array):
        return True
    variables = getattr(x, "variables", None)
    if variables is None:
        own = getattr(x, "variable", None)
        variables = {} if own is None else {"": own, **{name: c.variable for name, c in x.coords.items()}}
    return any(isinstance(getattr(v, "_data", None), Array) for v in variables.values())


def also_ours(original: Callable[..., Any]) -> Callable[..., Any]:
    """Objects with arrays of Windrow are lazy as well."""
    return lambda x: holds_lazy(x) or original(x)


def by_our_manager(original: Callable[..., Any]) -> Callable[..., Any]:
    """Let `xarray.map_blocks` cut by Windrow what isn't lazy yet."""

    @functools.wraps(original)
    def chosen(func: Any, obj: Any, *args: Any, **kwargs: Any) -> Any:
        if not holds_lazy(obj):
            return original(func, obj, *args, **kwargs)
        with importlib.import_module("xarray").set_options(chunk_manager="windrow"):
            return original(func, obj, *args, **kwargs)

    return chosen


def instead(original: Callable[..., Any]) -> Callable[..., Any]:
    """Take the way of other arrays where the data are Windrow's."""

    @functools.wraps(original)
    def chosen(**given: Any) -> Any:
        ours = any(isinstance(each, Array) for each in given["chunked_data"])
        return map_lazily(**given) if ours else original(**given)

    return chosen


def can_be_mapped() -> bool:
    """Tell whether xarray has a way beside dask's graphs, and dask, whose names it takes, is there."""
    is_available = all(importlib.util.find_spec(name) for name in ("dask", "xarray.core.dask_array_expr"))
    expr: Any = importlib.import_module("xarray.core.dask_array_expr") if is_available else None
    return hasattr(expr, "map_blocks_with_dask_array_expr")
