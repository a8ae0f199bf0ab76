"""Making a new zarr array, which exists completely or not at all.

In a folder it is made in a hidden folder beside its path, and then moved there. In another store the objects are
written first, and the metadata last, without which there is no array.
"""

from __future__ import annotations

import errno
import os
import warnings
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.errors import ArgumentError, ChunksError, DTypeError, FileError, FileExists, FileFormatError, bad
from ....workers.sources.stores.libraries import is_of, library
from ....workers.sources.stores.zarr import METADATA, array_at
from ..writing.atomic_write import aside
from ..writing.into_arrays import Target, can_fork, remove_partial, write_blocks, write_forked
from ..writing.rereads import reads
from .zarr_locations import ZarrLocation, find_node

if TYPE_CHECKING:
    from ...array import Array
    from ...typing import DTypeLike


@dataclass(frozen=True)
class New:
    """An array to make: its location, zarr's array object, and the metadata of the array and of the groups above it."""

    place: ZarrLocation
    metadata: Any
    config: Any
    documents: dict[str, Any]


def describe(array: Array, place: ZarrLocation, given: dict[str, Any]) -> New:
    """Return a new array; zarr looks at all arguments, and what it refuses is raised, before anything runs."""
    zarr, storage = library("to_zarr", "zarr"), library("to_zarr", "zarr.storage")
    named: dict[str, Any] = {"shape": array.shape, "dtype": array.dtype}
    if "shards" not in given:
        named["chunks"] = tuple(max(1, n) for n in array.chunksize)
    zarr_format = _format_of_groups(place)
    if zarr_format is not None:
        named["zarr_format"] = zarr_format
    named |= given
    try:
        zarr.dtype.parse_dtype(array.dtype, zarr_format=named.get("zarr_format") or 3)
    except Exception as error:
        raise DTypeError(f"to_zarr: zarr has no type for elements of {array.dtype}: {error}") from error
    memory = storage.MemoryStore()
    try:
        new_array = zarr.create_array(memory, name=place.path or None, **named)
    except Exception as error:
        shown = ", ".join(f"{name}={value!r}" for name, value in named.items() if name not in ("attributes",))
        raise ArgumentError(f"to_zarr: zarr doesn't take {shown}: {error}") from error
    if tuple(new_array.shape) != array.shape:
        raise ArgumentError(f"to_zarr: argument 'shape' is {new_array.shape}; expected the array's, {array.shape}")
    for name, sizes in (("chunks", new_array.chunks), ("shards", new_array.shards or ())):
        if 0 in sizes:
            raise ChunksError(bad("to_zarr", name, sizes, "sizes of at least one"))
    if array.dtype.names is not None and new_array.shards:
        _check_records(array.dtype)
    inner = new_array.async_array
    return New(place, inner.metadata, inner.config, dict(memory._store_dict))


def _check_records(dtype: DTypeLike) -> None:
    """Raise if zarr can't write records in shards: zarr 3.1.6 can't, and fails only as it writes them."""
    zarr = library("to_zarr", "zarr")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # given already
            zarr.create_array({}, shape=(1,), chunks=(1,), shards=(1,), dtype=dtype)[:] = np.ones(1, dtype)
    except Exception as error:
        raise DTypeError(
            f"to_zarr: zarr can't write elements of {dtype} in shards ({error}); expected no argument 'shards', or an "
            "array for each field"
        ) from error


def _format_of_groups(place: ZarrLocation) -> int | None:
    """Return the format of the group that the array will be in; None if there is none yet."""
    path = place.path
    while path:
        path = path.rpartition("/")[0]
        group = find_node("to_zarr", ZarrLocation(place.store, path, place.folder))
        if is_of(group, "zarr", "Array"):
            raise FileExists(f"to_zarr: there is an array at {path!r} in {place.folder or place.store}, and no group")
        if group is not None:
            return int(group.metadata.zarr_format)
    return None


def write_new(array: Array, new: New, overwrite: bool) -> None:
    """Write a new array."""
    if new.place.folder is not None:
        _write_aside(array, new, overwrite)
    elif is_of(new.place.store, "icechunk.store", "IcechunkStore"):
        _write_session(array, new, overwrite)
    else:
        _write_into(array, new, overwrite)
    _consolidate(new.place)


# -------------------------------------------------------------------- folders


def _write_aside(array: Array, new: New, overwrite: bool) -> None:
    storage = library("to_zarr", "zarr.storage")
    assert new.place.folder is not None
    parts = new.place.path.split("/") if new.place.path else []
    node, inside = new.place.folder, parts
    while inside and _is_group(node):  # missing groups appear together with the array
        node, inside = os.path.join(node, inside[0]), inside[1:]
    empty = os.path.isdir(node) and not os.path.islink(node) and not os.listdir(node)
    ours = _is_place_of_groups if inside else partial(_replaceable, whole=True)
    place = partial(_place_groups, node, inside) if inside else None
    with aside("to_zarr", node, overwrite or empty or bool(inside), ours, place=place) as hidden:
        data = os.path.join(hidden, "data")
        os.mkdir(data)
        above = "/".join(parts[: len(parts) - len(inside)])
        for key, value in new.documents.items():
            if key.startswith(f"{above}/") or not above:
                path = os.path.join(data, key[len(above) :].lstrip("/"))
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "xb") as file:
                    file.write(value.to_bytes())
        target = array_at(new.metadata, storage.LocalStore(data), "/".join(inside), new.config)
        write_blocks("to_zarr", [Target(array, target, (0,) * array.ndim, True)])
        remove_partial(data)


def _place_groups(node: str, inside: list[str], data: str) -> None:
    """Move groups with an array to their path, within the groups that others have made meanwhile."""
    while True:
        try:
            os.rename(data, node)  # atomic, and never onto a folder that isn't empty
            return
        except OSError as error:
            if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
                raise
            if not inside or not _is_group(node):
                raise FileExists(
                    f"to_zarr: {node!r} was made meanwhile, by others; expected to be the first one there"
                ) from error
        data, node, inside = os.path.join(data, inside[0]), os.path.join(node, inside[0]), inside[1:]


def _is_place_of_groups(path: str) -> bool:
    """Whether groups may be moved to a path: an empty folder, or a group that was made meanwhile."""
    return _replaceable(path, whole=False) or _is_group(path)


def _is_group(path: str) -> bool:
    return os.path.exists(os.path.join(path, ".zgroup")) or (
        os.path.exists(os.path.join(path, "zarr.json")) and not _is_array(path)
    )


def _is_array(path: str) -> bool:
    if os.path.exists(os.path.join(path, ".zarray")):
        return True
    import json

    try:
        with open(os.path.join(path, "zarr.json"), encoding="utf-8") as file:
            return bool(json.load(file).get("node_type") == "array")
    except (OSError, ValueError):
        return False


def _replaceable(path: str, whole: bool) -> bool:
    """Whether a path may be replaced: an empty folder, or an array if the new array itself takes its place."""
    if os.path.islink(path) or not os.path.isdir(path):
        return False
    return not os.listdir(path) or (whole and _is_array(path))


# -------------------------------------------------------------------- other stores


def _find_old(array: Array, place: ZarrLocation, overwrite: bool) -> bool:
    """Tell whether there is an array, which may be replaced: not by one that is made of it, which goes first here."""
    try:
        there = find_node("to_zarr", place)
    except FileFormatError:  # of a killed writer, in a store where metadata aren't written at once
        if not overwrite:
            raise
        return True
    if there is not None and not (overwrite and is_of(there, "zarr", "Array")):
        kind = "an array" if is_of(there, "zarr", "Array") else "a group, which to_zarr doesn't replace"
        raise FileExists(f"to_zarr: there is {kind} at {place.shown}; expected a new path or overwrite=True")
    if there is not None and reads(array, there):
        raise ArgumentError(
            f"to_zarr: argument 'arr' is read from {place.shown}, "
            "which it would remove first; expected another path, or an array that was computed before"
        )
    return there is not None


def _write_session(array: Array, new: New, overwrite: bool) -> None:
    """Write into a session of icechunk's, for the user to commit; ranks write through forks if it has no changes
    yet."""
    place, sync = new.place, library("to_zarr", "zarr.core.sync").sync
    old = _find_old(array, place, overwrite)
    fork = place.store.session.fork() if can_fork(place.store) else None
    store = place.store if fork is None else fork.store
    if old:
        sync(store.delete_dir(place.path))
    for key, value in new.documents.items():
        sync(store.set_if_not_exists(key, value))
    target = array_at(new.metadata, store, place.path, new.config)
    if fork is None:
        write_blocks("to_zarr", [Target(array, target, (0,) * array.ndim, True)])
    else:
        place.store.session.merge(fork, *write_forked("to_zarr", array, target))


def _write_into(array: Array, new: New, overwrite: bool) -> None:
    place = new.place
    sync = library("to_zarr", "zarr.core.sync").sync
    old = _find_old(array, place, overwrite)
    config = new.config
    try:
        if old:
            for name in METADATA:
                sync(place.store.delete(f"{place.path}/{name}".lstrip("/")))
            sync(place.store.delete_dir(place.path))
        elif _has_objects(place):  # of a killed writer: empty chunks, else left out, must overwrite it
            config = type(config)(order=config.order, write_empty_chunks=True)
        target = array_at(new.metadata, place.store, place.path, config)
        write_blocks("to_zarr", [Target(array, target, (0,) * array.ndim, True)])
        own = [key for key in new.documents if key.rpartition("/")[0] == place.path]
        for key in sorted(new.documents.keys() - set(own)):
            sync(place.store.set_if_not_exists(key, new.documents[key]))
        for key in sorted(own, key=lambda k: k.endswith(METADATA)):
            sync(place.store.set(key, new.documents[key]))
    except OSError as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"to_zarr: {place.shown} could not be written: {type(error).__name__}: {error}") from error


def _has_objects(place: ZarrLocation) -> bool:
    async def look() -> bool:
        async for _ in place.store.list_prefix(f"{place.path}/" if place.path else ""):
            return True
        return False

    return bool(library("to_zarr", "zarr.core.sync").sync(look()))


def _consolidate(place: ZarrLocation) -> None:
    """Add a new array to a root group that lists its members."""
    if not place.path:
        return
    zarr = library("to_zarr", "zarr")
    root = find_node("to_zarr", ZarrLocation(place.store, "", place.folder))
    if root is None or getattr(root.metadata, "consolidated_metadata", None) is None:
        return
    with warnings.catch_warnings(), suppress(TypeError):  # a store that has none
        warnings.simplefilter("ignore")
        zarr.consolidate_metadata(place.store)
