"""Whether arrays are made from the data that they overwrite, which must still be there when it is read."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.chunks.axismap import Slice
from ....graph.expr.expr import walk
from ....graph.kinds.elementwise import Elementwise
from ....graph.kinds.move import Move
from ....graph.kinds.source import Host
from ....workers.sources.stores.hdf5 import Hdf5Array
from ....workers.sources.stores.libraries import is_of
from ....workers.sources.stores.zarr import ZarrArray, opened, place_of
from ...chunking.stored import layers

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ....graph.expr.expr import Expr
    from ....graph.kinds.source import HostData
    from ...array import Array
    from ...typing import ArrayLike

Span = tuple[int, int]
"""A first position, and one past the last."""


@dataclass(frozen=True, slots=True)
class AxisReads:
    """The positions of an axis that are read, and the shift from these to the positions made from them; None: any."""

    span: Span
    ahead: int | None


def reads(source: Array, target: object) -> bool:
    """Tell whether an array is made from the target that it is written to."""
    return any(_is_read(node.op.data, target) for node in walk([source.expr]) if isinstance(node.op, Host))


@dataclass(frozen=True)
class ZarrReads:
    """The regions of zarr's arrays that an array reads which is written to a location, by the arrays' names."""

    parts: dict[str, list[tuple[object, tuple[AxisReads, ...]]]]

    def needs(self, target: object, region: Sequence[Span], *, own: bool) -> bool:
        """Tell whether it needs elements of a region that is written, other than each for the element in its place.

        `own`: it is what is written to the region.
        """
        place = place_of(target)
        for other, along in self.parts.get(str(place), ()):
            apart = any(a.span[1] <= begin or end <= a.span[0] for a, (begin, end) in zip(along, region, strict=False))
            if apart or other != place:
                continue
            if not own or len(along) != len(region) or any(a.ahead != 0 for a in along):
                return True
        return False


def reader(source: Array, first: Sequence[int]) -> ZarrReads:
    """Return what an array reads that goes to `first` and on in another."""
    parts: dict[str, list[tuple[object, tuple[AxisReads, ...]]]] = {}
    for data, along in _read_parts(source.expr, first):
        array = _innermost(data)
        if is_of(array, "zarr", "Array"):
            place = place_of(array)
            parts.setdefault(str(place), []).append((place, _moved(data, along)))
    return ZarrReads(parts)


def places_read(source: Array) -> Iterator[tuple[str, Any]]:
    """Yield where in files and stores an array is read: "zarr" and an array of zarr's, or "file" and a path."""
    for node in walk([source.expr]):
        if not isinstance(node.op, Host):
            continue
        array = _innermost(node.op.data)
        if is_of(array, "zarr", "Array"):
            yield "zarr", array
        path = _path(node.op.data, array)
        if path is not None:
            yield "file", path


def _path(data: HostData, found: object) -> str | None:
    """Return the path of the local file that a source reads."""
    if isinstance(data.file, Hdf5Array):
        return os.path.realpath(data.file.place.path) if data.file.place.is_local else None
    stored = getattr(found, "datastore", None)  # xarray's, of netCDF
    path = getattr(stored, "_filename", None) or getattr(getattr(stored, "_manager", None), "_args", (None,))[0]
    path = getattr(found, "filename", None) if isinstance(found, np.memmap) else path
    return os.path.realpath(path) if isinstance(path, str | os.PathLike) and os.path.exists(path) else None


def _innermost(data: HostData) -> Any:
    """Return the store's array that a source reads: within xarray's wrappers, which decode and index."""
    if isinstance(data.file, ZarrArray):
        return opened(data.file.pickled, False)
    layer = data.array
    for layer in layers(data.array):
        if _is_last(layer):
            break
    return layer


def _is_last(x: ArrayLike) -> bool:
    """Tell whether an object is the last of xarray's wrappers around a store's array, or that array."""
    return type(x).__module__.partition(".")[0] != "xarray" or hasattr(x, "datastore")


def is_same(a: ArrayLike, b: ArrayLike) -> bool:
    """Tell whether two targets lie, or may lie, in the same place."""
    if a is b:
        return True
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        paths = [os.path.realpath(x.filename) if isinstance(x, np.memmap) and x.filename else None for x in (a, b)]
        return np.may_share_memory(a, b) or (paths[0] is not None and paths[0] == paths[1])
    if is_of(a, "zarr", "Array") and is_of(b, "zarr", "Array"):
        return bool(place_of(a) == place_of(b))
    equal = type(a) is type(b) and a == b
    return isinstance(equal, bool | np.bool) and bool(equal)


def _is_read(data: HostData, target: Any) -> bool:
    """Tell whether a source is read from a target."""
    array = _innermost(data)
    if is_of(target, "zarr", "Array"):
        return is_of(array, "zarr", "Array") and place_of(array) == place_of(target)
    if isinstance(target, np.ndarray):
        path = os.path.realpath(target.filename) if isinstance(target, np.memmap) and target.filename else None
        same = path is not None and path == _path(data, array)
        return same or (isinstance(array, np.ndarray) and np.may_share_memory(array, target))
    if hasattr(target, "variable_name") and hasattr(target, "datastore"):
        same_name = getattr(array, "variable_name", None) == target.variable_name
        return same_name and type(array) is type(target) and array.datastore._filename == target.datastore._filename
    return is_same(array, target)


def _read_parts(root: Expr, first: Sequence[int]) -> Iterator[tuple[HostData, tuple[AxisReads, ...]]]:
    """Yield the sources that an expression reads, and which of their positions, for what is ahead of them.

    Operations of elements and slices without steps are seen through; through others any position may be read.
    """
    begin = tuple(AxisReads((0, n), f) for n, f in zip(root.shape, first, strict=True))
    stack, seen = [(root, begin)], set()
    while stack:
        node, along = stack.pop()
        if (node.token, along) in seen:
            continue
        seen.add((node.token, along))
        if isinstance(node.op, Host):
            yield node.op.data, along
            continue
        for number, operand in enumerate(node.operands):
            stack.append((operand, _of_operand(node, along, number, operand)))


def _of_operand(node: Expr, along: tuple[AxisReads, ...], number: int, operand: Expr) -> tuple[AxisReads, ...]:
    """Return which positions of an operand are read for some of a node."""
    if isinstance(node.op, Elementwise):
        lead = len(node.shape) - len(operand.shape)
        return tuple(
            each if n == whole else AxisReads((0, n), None)
            for each, n, whole in zip(along[lead:], operand.shape, node.shape[lead:], strict=True)
        )
    if isinstance(node.op, Move):
        routes = node.op.routes[number].axes
        return tuple(
            _sliced(along[i], how, n) if axis == i and isinstance(how, Slice) else AxisReads((0, n), None)
            for i, ((axis, how), n) in enumerate(zip(routes, operand.shape, strict=True))
        )
    return tuple(AxisReads((0, n), None) for n in operand.shape)


def _sliced(along: AxisReads, how: Slice, length: int) -> AxisReads:
    if how.step != 1:
        return AxisReads((0, length), None)
    begin, end = (min(max(p + how.start, 0), length) for p in along.span)
    return AxisReads((begin, end), None if along.ahead is None else along.ahead - how.start)


def _moved(data: HostData, along: tuple[AxisReads, ...]) -> tuple[AxisReads, ...]:
    """Return the same in the positions of what is stored, of which xarray may show a part."""
    layer = next((each for each in layers(data.array) if _is_last(each) or hasattr(each, "key")), None)
    key = getattr(getattr(layer, "key", None), "tuple", None)
    if key is None:
        return along
    stored = getattr(layer, "array", None)
    if len(key) != len(along) or any(not isinstance(k, slice) or k.step not in (None, 1) for k in key):
        return tuple(AxisReads((0, n), None) for n in getattr(stored, "shape", ()))
    starts = [k.indices(n)[0] for k, n in zip(key, getattr(stored, "shape", ()), strict=True)]
    return tuple(
        AxisReads((a.span[0] + s, a.span[1] + s), None if a.ahead is None else a.ahead - s)
        for a, s in zip(along, starts, strict=True)
    )
