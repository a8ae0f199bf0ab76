"""zarr's arrays: read by every rank, and written by all of them, an object of the store by one task each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....graph.errors import ArgumentError, bad
from ....workers.sources.stores.libraries import is_of
from ....workers.sources.stores.stand_in import stand_in
from ...base import as_array_nocopy
from ...creation.from_data import from_array
from ..writing.atomic_write import write_once
from ..writing.store import Stored, store
from .zarr_locations import ZarrLocation, open_array, place_of
from .zarr_new import describe, write_new

if TYPE_CHECKING:
    from ...array import Array
    from ...typing import ArrayLike, ChunksLike

__all__ = [
    "from_zarr",
    "to_zarr",
]


def from_zarr(
    url: object,
    component: str | None = None,
    storage_options: dict[str, Any] | None = None,
    chunks: ChunksLike = None,
    name: Any = None,
    inline_array: bool = False,
    **kwargs: Any,
) -> Array:
    """Return an array of zarr's, format 2 or 3, sharded or not; a chunk is read by the rank that needs it.

    Only the description is read now. zarr-python reads; where zarrs is installed it runs the codecs that it knows.

    Parameters
    ----------
    url : str, os.PathLike, zarr.storage.StoreLike or zarr.Array
        A folder, a URL that fsspec opens, a store, or an array. What lies in this process's memory is read by the
        driver alone.
    component : str, optional
        The array's name in a group.
    storage_options : dict, optional
        For fsspec, beside a URL.
    chunks : int, str, tuple, dict or None
        Chunks of the result: a size for each axis, -1 for a whole axis; None, or "auto": whole shards, or chunks, as
        many as have about `config.chunk_bytes`.
    name, inline_array : object
        Accepted for dask and ignored.
    **kwargs
        For `zarr.open`.

    Returns
    -------
    Array
        Lazy, with the shape and dtype of the stored one, which must not change while the array is used.

    Raises
    ------
    MissingFile
        There is no array, or no such component.
    ArgumentError
        `url` is nothing that zarr opens, or leads to a group and `component` is missing.
    FileFormatError
        The description can't be read, or names a codec that isn't installed.
    DTypeError
        The elements are Python objects or texts of any length.
    ChunksError
        `chunks` can't be read or doesn't fit the shape.

    >>> import tempfile
    >>> import windrow as wr
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     wr.to_zarr(wr.arange(6, chunks=2), folder + "/x")
    ...     wr.from_zarr(folder + "/x", chunks=4).sum().compute()
    np.int64(15)
    """
    array = url
    if not is_of(url, "zarr", "Array"):
        array = open_array("from_zarr", place_of("from_zarr", url, component, storage_options), **kwargs)
    elif component is not None:
        raise ArgumentError(bad("from_zarr", "component", component, "None where 'url' is an array already"))
    return from_array(stand_in("from_zarr", array), "auto" if chunks is None else chunks)


def to_zarr(
    arr: ArrayLike,
    url: object,
    component: str | None = None,
    storage_options: dict[str, Any] | None = None,
    region: tuple[slice, ...] | None = None,
    compute: bool = True,
    return_stored: bool = False,
    mode: str = "a",
    *,
    overwrite: bool = False,
    **zarr_array_kwargs: Any,
) -> Any:
    """Compute an array and write it as one of zarr's, which all ranks write.

    Each object of the store, a chunk or a whole shard, is written by one task, whatever the array's chunks are. A new
    array in a folder lies in a hidden folder beside its path until it is complete; in another store its metadata is
    written last. So a killed run leaves the old array, or none. A session of icechunk's without changes gets those of
    all ranks, for the caller to commit.

    Parameters
    ----------
    arr : array_like
        The array.
    url : str, os.PathLike, zarr.storage.StoreLike or zarr.Array
        A folder to make, a URL that fsspec opens, or a store. An array that is there is written to in place, each of
        its objects whole. What lies in this process's memory is written by the driver alone.
    component : str, optional
        A name in a group, which is made where it is missing: "a/b".
    storage_options : dict, optional
        For fsspec, beside a URL.
    region : tuple of slice, optional
        Where in an array that is there; None: a new array, or all of `url` where that is an array.
    compute : bool
        Whether to write now; False: return an object whose `compute()` writes.
    return_stored : bool
        Whether to return an array of what was written.
    mode : {"a", "w", "w-"}
        As dask has it: "w" is `overwrite=True`.
    overwrite : bool
        Whether to replace an array that is there.
    **zarr_array_kwargs
        For `zarr.create_array`: chunks, shards, compressors, filters, fill_value, zarr_format, attributes and so on.
        Without `chunks` they are the array's own, of the size of its largest one.

    Returns
    -------
    None, Array or Stored
        None; with `return_stored` a lazy array; with `compute=False` what writes when asked.

    Raises
    ------
    ArgumentError
        `arr` can't be read as an array, `url` is nothing that zarr opens, or zarr doesn't take an argument.
    ChunksError
        Chunks or shards have no elements.
    DTypeError
        zarr has no type for the elements, or, as for records, can't have them in shards.
    FileExists
        There is something that mustn't be replaced: an array without `overwrite`, a group, other files.
    MissingFile
        The folder to write in doesn't exist, or the array that `region` is of.
    ShapeError
        The array doesn't have the shape of its region.
    FileError
        It can't be written.

    >>> import tempfile
    >>> import windrow as wr
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     x = wr.ones((4, 6), chunks=(3, 2))
    ...     x.to_zarr(folder + "/x.zarr", component="ones", chunks=(1, 2), shards=(2, 4))
    ...     wr.from_zarr(folder + "/x.zarr", "ones").sum().compute()
    np.float64(24.0)
    """
    array = as_array_nocopy("to_zarr", "arr", arr)
    if mode not in ("a", "w", "w-"):
        raise ArgumentError(bad("to_zarr", "mode", mode, "'a', 'w' or 'w-'"))
    name = zarr_array_kwargs.pop("name", None)
    if component is not None and name is not None:
        raise ArgumentError(bad("to_zarr", "name", name, "None where 'component' names the array"))
    if is_of(url, "zarr", "Array"):
        target = url
    else:
        place = place_of("to_zarr", url, component or name, storage_options)
        if region is None:
            return _write_new(
                array, place, True if mode == "w" else overwrite, compute, return_stored, zarr_array_kwargs
            )
        open_array("to_zarr", place)  # opening a missing path for writing would make a folder
        target = open_array("to_zarr", place, mode="r+")
    if zarr_array_kwargs:
        raise ArgumentError(bad("to_zarr", next(iter(zarr_array_kwargs)), "given", "nothing: the array is there"))
    regions = None if region is None else [region]
    done = store([array], [target], regions=regions, compute=compute, return_stored=return_stored)
    return done[0] if return_stored and compute else done


def _write_new(
    array: Array, place: ZarrLocation, overwrite: bool, compute: bool, return_stored: bool, given: dict[str, Any]
) -> Any:
    new = describe(array, place, given)

    def act() -> Any:
        write_once("to_zarr", place.shown, overwrite, [array], lambda x: write_new(x, new, overwrite))
        return from_array(open_array("to_zarr", place)) if return_stored else None

    return act() if compute else Stored(act)
