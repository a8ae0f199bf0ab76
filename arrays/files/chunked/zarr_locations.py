"""Where zarr's arrays lie: a folder, a URL, a store; and what is there."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from ....graph.errors import ArgumentError, FileError, FileFormatError, MissingFile, bad
from ....workers.sources.stores.libraries import is_of, library

LOCAL = ("file://", "local://")


@dataclass(frozen=True)
class ZarrLocation:
    """A path in one of zarr's stores; `folder` is that of a store in the local file system."""

    store: Any
    path: str
    folder: str | None = None

    @property
    def shown(self) -> str:
        """Its name in messages."""
        return f"{self.folder or self.store}{'/' if self.path else ''}{self.path}"


def place_of(operation: str, url: Any, component: str | None, storage_options: dict[str, Any] | None) -> ZarrLocation:
    """Return the location of an array, which needn't exist; what is neither a path nor a URL nor a store is refused."""
    if component is not None and (not isinstance(component, str) or ".." in component.split("/")):
        raise ArgumentError(bad(operation, "component", component, "the name of an array in a group, such as 'a/b'"))
    path = (component or "").strip("/")
    storage = library(operation, "zarr.storage")
    if is_of(url, "zarr", "Group"):
        url = url.store_path
    if is_of(url, "zarr.storage", "StorePath"):
        url, path = url.store, "/".join(p for p in (url.path, path) if p)
    if isinstance(url, dict):
        return ZarrLocation(storage.MemoryStore(store_dict=url), path)
    if is_of(url, "zarr.abc.store", "Store"):
        local = is_of(url, "zarr.storage", "LocalStore")
        return ZarrLocation(url, path, os.path.abspath(url.root) if local else None)
    if is_of(url, "fsspec", "FSMap"):
        return ZarrLocation(storage.FsspecStore.from_mapper(url), path)
    if not isinstance(url, str | os.PathLike) or not isinstance(os.fspath(url), str) or not os.fspath(url):
        raise ArgumentError(bad(operation, "url", url, "a path, a URL, or one of zarr's stores, groups or arrays"))
    address = os.fspath(url)
    for begin in LOCAL:
        address = address.removeprefix(begin)
    if "://" in address or "::" in address:
        return ZarrLocation(storage.FsspecStore.from_url(address, storage_options=storage_options), path)
    folder = os.path.realpath(address)
    return ZarrLocation(storage.LocalStore(folder), path, folder)


def find_node(operation: str, place: ZarrLocation, **given: Any) -> Any:
    """Return the zarr.Array or zarr.Group at a location, open for reading; None if there is none."""
    zarr = library(operation, "zarr")
    fixed = is_of(place.store, "zarr.storage", "ZipStore") and not place.store.read_only  # it has no read-only twin
    try:
        return zarr.open(store=place.store, path=place.path or None, **{"mode": "r+" if fixed else "r", **given})
    except FileNotFoundError:
        return None
    except OSError as error:
        raise FileError(f"{operation}: {place.shown} could not be read: {error}") from error
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise FileFormatError(f"{operation}: {place.shown} is no zarr array that can be read here: {reason}") from error


def open_array(operation: str, place: ZarrLocation, **given: Any) -> Any:
    """Return the zarr.Array at a place, open for reading; raise where there is none that can be read."""
    node = find_node(operation, place, **given)
    if node is None:
        raise MissingFile(f"{operation}: there is no zarr array at {place.shown}")
    if is_of(node, "zarr", "Array"):
        return node
    names = sorted(node.array_keys())
    expected = f"argument 'component' to name one of its arrays: {', '.join(map(repr, names))}"
    expected = expected if names else "an array, or a group that has some"
    raise ArgumentError(f"{operation}: {place.shown} is a group; expected {expected}")
