"""The chunk manager by which xarray makes, moves and computes arrays of Windrow: entry point `xarray.chunkmanagers`."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np
from xarray.namedarray.parallelcompat import ChunkManagerEntrypoint

from ....graph.chunks.normalize import FreeSizes
from ....graph.errors import ArgumentError, bad
from ....workers.config import config
from ...array import Array
from ...chunking.rechunk import normalize_chunks
from ...chunking.stored import grid_over
from ...creation.from_data import from_array
from ...execution.compute import compute, persist
from ...files.writing.store import store
from ...indexing.views.points import shuffle
from ...user_functions.blockwise import blockwise, unify_chunks
from ...user_functions.gufunc import apply_gufunc
from ...user_functions.map_blocks import map_blocks
from ...user_functions.reduction import cumreduction, reduction
from .gates import open_gates
from .narrowing import Watched
from .unwrapping import unwrapped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ....graph.chunks.grid import Grid

DASK_ONLY = ("name", "lock", "meta", "inline_array", "asarray", "fancy", "getitem")
"""Keywords that say how dask's `from_array` makes its graph, which xarray's functions hand on."""


class WindrowManager(ChunkManagerEntrypoint[Any]):
    """What xarray calls for arrays of Windrow, under the name "windrow".

    `xr.set_options(chunk_manager="windrow")` makes it the one that `chunk` and `open_zarr` take.

    Examples
    --------
    >>> import xarray as xr
    >>> with xr.set_options(chunk_manager="windrow"):
    ...     x = xr.DataArray([[1.0, 2.0], [3.0, 5.0]], dims=("y", "x")).chunk(x=1)
    >>> x.mean("y").data
    Array(shape=(2,), dtype=float64, chunksize=(1,), op=nanmean)
    """

    array_cls: type[Any]
    available: bool = True

    def __init__(self) -> None:
        self.array_cls = Array
        open_gates()

    @property
    def array_api(self) -> Any:
        """The package, which has the functions of NumPy."""
        return importlib.import_module(str(__package__).partition(".")[0])

    def chunks(self, data: Any) -> Any:
        """Return the sizes of the chunks along each axis."""
        return data.chunks

    def normalize_chunks(
        self, chunks: Any, shape: Any = None, limit: Any = None, dtype: Any = None, previous_chunks: Any = None
    ) -> Any:
        """Return the sizes of chunks that are meant; of Python objects, which get none, as if they were references."""
        dtype = np.dtype(np.intp) if dtype is not None and _stays_here(np.dtype(dtype)) else dtype
        stored: tuple[Any, ...] = tuple(previous_chunks or ())
        if (
            stored
            and limit is None
            and all(isinstance(n, int) for n in stored)
            and dtype is not None
            and shape is not None
        ):
            return _sizes(grid_over("normalize_chunks", chunks, shape, np.dtype(dtype), stored))
        return normalize_chunks(chunks, shape, limit, dtype, previous_chunks)

    def get_auto_chunk_size(self) -> int:
        """Return the bytes that "auto" aims at."""
        return int(config.chunk_bytes)

    def from_array(self, data: Any, chunks: Any, **kwargs: Any) -> Any:
        """Return a lazy array of what xarray has: a NumPy array, or a variable of a file.

        Python objects and texts of any length, which only one process has, stay xarray's own, without chunks.
        """
        if _stays_here(data.dtype):
            return data.array if hasattr(data, "indexer_cls") else data
        for name in DASK_ONLY:
            kwargs.pop(name, None)
        return from_array(unwrapped(data), chunks, **kwargs)

    def rechunk(self, data: Any, chunks: Any, **kwargs: Any) -> Any:
        """Return the array with other chunks."""
        return data.rechunk(chunks, **kwargs)

    def compute(self, *data: Any, **kwargs: Any) -> Any:
        """Compute arrays together, into a tuple."""
        values: tuple[Any, ...] = tuple(compute(list(data), **kwargs))
        return values

    def persist(self, *data: Any, **kwargs: Any) -> Any:
        """Keep arrays on the ranks; anything else, which xarray hands over too, is returned as it is."""
        kept: tuple[Any, ...] = tuple(persist(list(data), **kwargs))
        return kept

    def reduction(
        self,
        arr: Any,
        func: Callable[..., Any],
        combine_func: Callable[..., Any] | None = None,
        aggregate_func: Callable[..., Any] | None = None,
        axis: int | Sequence[int] | None = None,
        dtype: Any = None,
        keepdims: bool = False,
    ) -> Any:
        """Reduce an array by functions of chunks and of partial results."""
        last = aggregate_func or combine_func or func
        return reduction(arr, func, last, axis, keepdims, dtype, combine=combine_func)

    def scan(
        self,
        func: Callable[..., Any],
        binop: Callable[..., Any],
        ident: float,
        arr: Any,
        axis: int | None = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> Any:
        """Reduce all elements up to each."""
        return cumreduction(func, binop, ident, arr, axis, dtype, **kwargs)

    def apply_gufunc(
        self,
        func: Callable[..., Any],
        signature: str,
        *args: Any,
        axes: Sequence[tuple[int, ...]] | None = None,
        axis: int | None = None,
        keepdims: bool = False,
        output_dtypes: Any = None,
        output_sizes: dict[str, int] | None = None,
        vectorize: bool | None = None,
        allow_rechunk: bool = False,
        meta: Any = None,
        **kwargs: Any,
    ) -> Any:
        """Apply a function of core axes; unlike in `windrow.apply_gufunc` they must be whole unless allowed."""
        called = func if output_dtypes is None or vectorize else Watched(func, tuple(output_dtypes))
        return apply_gufunc(
            called,
            signature,
            *args,
            axes=axes,
            axis=axis,
            keepdims=keepdims,
            output_dtypes=output_dtypes,
            output_sizes=output_sizes,
            vectorize=bool(vectorize),
            allow_rechunk=allow_rechunk,
            meta=meta,
            **kwargs,
        )

    def map_blocks(
        self,
        func: Callable[..., Any],
        *args: Any,
        dtype: Any = None,
        chunks: Any = None,
        drop_axis: int | Sequence[int] | None = None,
        new_axis: int | Sequence[int] | None = None,
        **kwargs: Any,
    ) -> Any:
        """Apply a function to each chunk."""
        return map_blocks(func, *args, dtype=dtype, chunks=chunks, drop_axis=drop_axis, new_axis=new_axis, **kwargs)

    def blockwise(
        self,
        func: Callable[..., Any],
        out_ind: Iterable[Any],
        *args: Any,
        adjust_chunks: dict[Any, Callable[..., Any]] | None = None,
        new_axes: dict[Any, int] | None = None,
        align_arrays: bool = True,
        concatenate: bool | None = None,
        **kwargs: Any,
    ) -> Any:
        """Apply a function to blocks matched by the labels of their axes; unless told to, chunks aren't joined."""
        return blockwise(
            func,
            tuple(out_ind),
            *args,
            adjust_chunks=adjust_chunks,
            new_axes=new_axes,
            align_arrays=align_arrays,
            concatenate=concatenate,
            **kwargs,
        )

    def unify_chunks(self, *args: Any, **kwargs: Any) -> Any:
        """Return the chunks of each label, and the arrays brought to them."""
        return unify_chunks(*args, **kwargs)

    def shuffle(self, x: Any, indexer: list[list[int]], axis: int, chunks: Any) -> Any:
        """Return the array with positions along an axis in another order, in groups."""
        return shuffle(x, [[int(k) for k in group] for group in indexer], axis, "auto" if chunks is None else chunks)

    def store(self, sources: Any, targets: Any, **kwargs: Any) -> Any:
        """Write arrays into others. With `compute=False` a task of dask's is returned, as xarray expects."""
        kwargs.pop("flush", None)
        if kwargs.pop("compute", True):
            return store(sources, targets, **kwargs)
        later = store(sources, targets, compute=False, **kwargs)
        try:
            dask = importlib.import_module("dask")
        except ImportError as error:
            raise ArgumentError(
                bad("store", "compute", False, "True, or the package dask, in whose form xarray writes later")
            ) from error
        return dask.delayed(later.compute, pure=False, traverse=False)()


def _sizes(grid: Grid) -> tuple[tuple[int, ...], ...]:
    return tuple((FreeSizes if axis.is_free else tuple)(map(int, axis.sizes())) for axis in grid.axes)


def _stays_here(dtype: Any) -> bool:
    return bool(dtype.hasobject) or dtype.kind == "T"
