"""xarray's writers empty what they replace before they read: what is made of that is refused while it is there."""

from __future__ import annotations

import functools
import inspect
import os
from typing import TYPE_CHECKING, Any

from ....graph.errors import ArgumentError
from ....workers.sources.stores.zarr import name_of, place_in, place_of, root_of
from ...array import Array
from ...files.chunked import zarr_locations
from ...files.writing.rereads import places_read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def keep_what_is_read(operation: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return what has a writer of xarray's refuse to replace what its first argument, a data set or a tree, reads."""

    def before(original: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(original)

        @functools.wraps(original)
        def chosen(*args: Any, **kwargs: Any) -> Any:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            if bound.arguments.get("mode") == "w":
                holder, target = bound.args[:2]
                _refuse(operation, holder, target, bound.arguments)
            return original(*args, **kwargs)

        return chosen

    return before


def _refuse(operation: str, holder: Any, target: Any, given: dict[str, Any]) -> None:
    lies_in = _inside_store(target, given) if operation == "to_zarr" else _is_file(target)
    for name, array in _variables(holder):
        for kind, place in places_read(array):
            if lies_in(kind, place):
                source = name_of(place) if kind == "zarr" else place
                beside = "mode='a' to write new variables beside it, " if operation == "to_zarr" else ""
                raise ArgumentError(
                    f"{operation}: variable {name!r} is read from {source}, which mode='w' would empty first; expected "
                    f"another path, {beside}or a data set that was loaded before: ds.load()"
                )


def _variables(holder: Any) -> Iterator[tuple[Any, Array]]:
    """Yield the lazy variables of a data set, or of all of a tree."""
    for node in getattr(holder, "subtree", (holder,)):
        for name, variable in node.variables.items():
            if isinstance(variable._data, Array):
                yield name, variable._data


def _is_file(target: Any) -> Callable[[str, Any], bool]:
    path = os.path.realpath(target) if isinstance(target, str | os.PathLike) else None
    return lambda kind, found: kind == "file" and found == path


def _inside_store(target: Any, given: dict[str, Any]) -> Callable[[str, Any], bool]:
    """Return what tells whether an array, or a file, lies in what is emptied: a group of a store."""
    try:
        place = zarr_locations.place_of("to_zarr", target, given.get("group"), given.get("storage_options"))
    except Exception:  # xarray says what is wrong with it
        return lambda *_: False
    whole = place_in(place.store, place.path)
    if root_of(place.store) is not None:
        return lambda kind, found: f"{place_of(found) if kind == 'zarr' else found}/".startswith(f"{whole}/")

    def inside(kind: str, found: Any) -> bool:
        if kind != "zarr":
            return False
        path = str(found.async_array.path)
        below = not place.path or f"{path}/".startswith(f"{place.path}/")
        return below and place_of(found) == place_in(place.store, path)

    return inside
