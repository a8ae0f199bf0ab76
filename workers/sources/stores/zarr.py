"""zarr's arrays, as every rank opens, reads and writes them.

zarr-python does it; where zarrs is installed, and knows the codecs and the store, it runs the codecs.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import json
import math
import os
import pickle
import re
import shutil
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.errors import FileError, SourceChanged
from ...memory.page_cache import behind, drop_file, fits
from ...memory.read_buffers import read_buffer
from .libraries import is_of, library
from .picking import SPARSE, read_picked
from .zarr_loop import own_copy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..source_reader import Picks

Array = np.ndarray[Any, Any]
Region = tuple[slice, ...]
KEPT = 128
"""So many arrays stay open."""
MOST_OBJECTS = 4096
"""So many objects are tried at most to find the one that can't be read."""
METADATA = ("zarr.json", ".zarray")
HIDDEN = re.compile(r"(.*/\.[^/]+\.[0-9a-f]{8}\.partial)/")
"""Where hidden folders are in which arrays are made; nobody else's are named so."""

_PLAIN = "zarr.core.codec_pipeline.BatchedCodecPipeline"
_open: OrderedDict[tuple[bytes, bool], Any] = OrderedDict()
_guard = threading.Lock()


def opened(pickled: bytes, by_zarrs: bool) -> Any:
    """Return a zarr.Array; those used last stay open."""
    with _guard:
        array = _open.get((pickled, by_zarrs))
        if array is None:
            array = _open[pickled, by_zarrs] = own_copy(pickled)
            if by_zarrs:
                _use_zarrs(array)
            while len(_open) > KEPT:
                _open.popitem(last=False)
        _open.move_to_end((pickled, by_zarrs))
        return array


def _use_zarrs(array: Any) -> None:
    """Let zarrs run the codecs of an array, unless the user has chosen what does, or zarrs can't."""
    dtype = np.dtype(array.dtype)
    if dtype.kind not in "biufc" or not dtype.isnative or array.order != "C":  # zarrs would raise at the first chunk
        return
    if library("zarr", "zarr").config.get("codec_pipeline.path") != _PLAIN:
        return
    try:
        pipelines = library("zarr", "zarrs.pipeline")
        inner = array.async_array
        impl = pipelines.get_codec_pipeline_impl(inner.metadata, inner.store, strict=True)
        plain = inner.codec_pipeline
        pipeline = pipelines.ZarrsCodecPipeline(
            metadata=inner.metadata, store=inner.store, impl=impl, python_impl=plain
        )
    except Exception:  # another version of zarrs, a codec or a store that it doesn't know
        return
    object.__setattr__(inner, "codec_pipeline", pipeline)


def can_travel(store: Any) -> bool:
    """Tell whether a store is the same one for every process that unpickles it."""
    kind = type(store)
    home, name = kind.__module__.partition(".")[0], kind.__name__
    if home == "icechunk":
        return bool(store.read_only) and arrives(store)
    if home != "zarr":
        return False
    if name == "FsspecStore":
        return not _in_memory(store.fs)
    if name == "ObjectStore":
        return type(store.store).__name__ != "MemoryStore"
    return name == "LocalStore" or (name == "ZipStore" and bool(store.read_only))


def arrives(store: Any) -> bool:
    """Tell whether a store can be read when it was pickled: one in memory can't."""
    try:
        library("zarr", "zarr.core.sync").sync(pickle.loads(pickle.dumps(store)).exists("zarr.json"))
    except Exception:
        return False
    return True


def _in_memory(system: Any) -> bool:
    """Tell whether a file system of fsspec, or the one that it goes through, is this process's memory."""
    for _ in range(8):
        protocol = getattr(system, "protocol", ())
        if "memory" in ((protocol,) if isinstance(protocol, str) else tuple(protocol)):
            return True
        inner = getattr(system, "sync_fs", None) or getattr(system, "fs", None)
        if inner is None:
            return False
        system = inner
    return False


def folder_of(array: Any) -> str | None:
    """Return the folder that an array lies in, where it lies in one."""
    store = array.async_array.store
    if not is_of(store, "zarr.storage", "LocalStore"):
        return None
    return os.path.join(os.path.abspath(store.root), str(array.async_array.path))


@dataclasses.dataclass(frozen=True)
class ZarrArray:
    """An array that any rank can open; of one in a folder what tells that folder from another in its place."""

    pickled: bytes
    name: str
    label: str
    folder: str | None
    inode: int
    head: tuple[int, int]

    @property
    def near(self) -> bool:
        """Whether it lies in a folder: decoding takes longer than reading."""
        return self.folder is not None

    def open(self) -> OpenZarr:
        return OpenZarr(self)

    def check(self) -> None:
        """Raise where the array is gone or is another: zarr would take all that isn't there for fill values."""
        if self.folder is None:
            return
        inode, head = _looks(self.folder)
        if head == self.head:
            return
        if head is None:
            what = "is gone"
        else:
            what = "was replaced" if inode != self.inode else _difference(self.pickled, self.folder, head)
        if what:
            raise SourceChanged(f"{self.label}: the zarr array {self.name} changed underneath the array: it {what}")


def travelling(array: Any, label: str) -> ZarrArray | None:
    """Return an array that any rank can open; None where none but this process can."""
    if not can_travel(array.async_array.store):
        return None
    folder = folder_of(array)
    inode, head = (0, None) if folder is None else _looks(folder)
    pickled = pickled_array(array)
    if pickled is None:
        return None
    return ZarrArray(pickled, name_of(array), label, None if head is None else folder, inode, head or (0, 0))


def _looks(folder: str) -> tuple[int, tuple[int, int] | None]:
    """Return what tells an array's folder from another: its number; size and time of its description, if it is there.

    The number is another one on another host with some file systems, and the description may be written over.
    """
    for name in METADATA:
        try:
            status = os.stat(os.path.join(folder, name))
            return os.stat(folder).st_ino, (status.st_size, status.st_mtime_ns)
        except OSError:
            continue
    return 0, None


@functools.lru_cache(KEPT)
def _difference(pickled: bytes, folder: str, head: tuple[int, int]) -> str:
    """Return how the array that a folder describes by now differs from the one that is read; "" where it may be read.

    It may have become longer, and its attributes are others': `head`, which tells this description from later ones.
    """
    known = opened(pickled, True).async_array.metadata
    name = METADATA[0 if known.zarr_format == 3 else 1]
    try:
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            new = type(known).from_dict(json.load(file))
    except FileNotFoundError:
        return "was replaced"
    except (ValueError, TypeError, KeyError) as error:
        return f"has a description that can't be read: {_told(error)}"
    if new.ndim != known.ndim or any(now < had for now, had in zip(new.shape, known.shape, strict=True)):
        return f"has shape {new.shape} by now; it had {known.shape}"
    alike = dataclasses.replace(new, shape=known.shape, attributes=known.attributes)
    fields = [each.name for each in dataclasses.fields(known)]
    odd = [each for each in fields if not _is_equal(getattr(alike, each), getattr(known, each))]
    return f"has another {odd[0]} by now: {getattr(new, odd[0])!r}; it had {getattr(known, odd[0])!r}" if odd else ""


def _is_equal(one: Any, two: Any) -> bool:
    """Whether what descriptions say is the same, NaN as a fill value too."""
    return bool(one == two) or repr(one) == repr(two)


def place_of(array: Any) -> object:
    """Return where an array lies, which is the same however its path leads there."""
    inner = array.async_array
    return place_in(inner.store, str(inner.path))


def place_in(store: Any, path: str) -> object:
    """Return where a path in a store lies: of a store in folders the real path, else the store and the path in it."""
    root = root_of(store)
    if root is not None:
        return os.path.realpath(os.path.join(root, path))
    if is_of(store, "zarr.storage", "MemoryStore"):
        return id(store._store_dict), path
    return library("zarr", "zarr.storage").StorePath(store, path)


def root_of(store: Any) -> str | None:
    """Return the folder of a store that lies in folders of this machine, by whatever library."""
    if is_of(store, "zarr.storage", "LocalStore"):
        return str(os.path.abspath(store.root))
    if is_of(store, "zarr.storage", "FsspecStore"):
        system = store.fs
        system = getattr(system, "sync_fs", system)
        return str(store.path) if is_of(system, "fsspec.implementations.local", "LocalFileSystem") else None
    return None


def pickled_array(array: Any) -> bytes | None:
    """Return the pickle of an array whose store travels, on its absolute path; None where something in it doesn't."""
    import cloudpickle

    inner = array.async_array
    store = inner.store
    if is_of(store, "zarr.storage", "LocalStore") and not store.root.is_absolute():
        store = type(store)(os.path.abspath(store.root), read_only=store.read_only)
    try:
        pickled: bytes = cloudpickle.dumps(array_at(inner.metadata, store, inner.path, inner.config))
    except Exception:
        return None
    return pickled


def array_at(metadata: Any, store: Any, path: str, config: Any) -> Any:
    """Return an array that needn't have been written."""
    zarr = library("zarr", "zarr")
    place = library("zarr", "zarr.storage").StorePath(store, path)
    return zarr.Array(zarr.AsyncArray(metadata=metadata, store_path=place, config=config))


def name_of(array: Any) -> str:
    """Return how messages call an array: where it lies."""
    return str(array.async_array.store_path)


def objects_of(array: Any) -> tuple[int, ...]:
    """Return the shape of what is written at once: shards, where there are any, else chunks."""
    return tuple(array.shards or array.chunks)


class OpenZarr:
    """Reads a `ZarrArray`."""

    def __init__(self, source: ZarrArray) -> None:
        self._source = source

    def read(self, where: Region, picks: Picks) -> Array:
        source = self._source
        try:
            array = opened(source.pickled, True)
        except Exception as error:
            raise FileError(
                f"{source.label}: the zarr array {source.name} can't be opened by a rank: {_told(error)}"
            ) from error

        def fetch(region: Region) -> Array:
            source.check()
            try:
                part = _read(array, region)
            except Exception as error:
                raise _unread(source, array, region, error) from error
            if source.folder is not None and part.nbytes:
                for path in _large_files(array, source.folder, region):
                    drop_file(path)
            return part

        values = read_picked(fetch, where, picks, array.chunks, array.dtype)
        source.check()
        return values


def _read(array: Any, region: Region) -> Array:
    """Return a rectangle, in memory that is used again: so are whole chunks decoded there of which it has much."""
    dtype = np.dtype(array.dtype)
    shape = tuple(s.stop - s.start for s in region)
    if dtype.kind not in "biufc" or array.order != "C" or not shape:
        return np.asarray(array[region])
    whole = tuple(
        slice(s.start // chunk * chunk, min(n, -(-s.stop // chunk) * chunk))
        for s, chunk, n in zip(region, array.chunks, array.shape, strict=True)
    )
    if whole != region and math.prod(s.stop - s.start for s in whole) < SPARSE * math.prod(shape):
        inside = tuple(slice(s.start - w.start, s.stop - w.start) for s, w in zip(region, whole, strict=True))
        return _read(array, whole)[inside]
    into = read_buffer(shape, dtype)
    array.get_basic_selection(region, out=library("zarr", "zarr.core.buffer").cpu.NDBuffer(into))
    return into


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def _unread(source: ZarrArray, array: Any, region: Region, error: Exception) -> FileError:
    """Return the error of a rectangle that can't be read: it names the object to blame."""
    for index, part in itertools.islice(_parts(array, region), MOST_OBJECTS):
        try:
            array[part]
        except Exception as told:
            key = array.async_array.metadata.encode_chunk_key(index)
            return FileError(
                f"{source.label}: the object {key!r} of the zarr array {source.name} can't be read: {_told(told)}; "
                "it is cut short or isn't what its codecs have written"
            )
    return FileError(f"{source.label}: the zarr array {source.name} can't be read: {_told(error)}")


def _large_files(array: Any, folder: str, region: Region) -> list[str]:
    """Return the files that a rectangle lies in, where those of the whole array don't fit memory beside what is in use.

    How much they have together follows from the first of them.
    """
    if fits(array.nbytes):  # compression makes it less
        return []
    encode, objects = array.async_array.metadata.encode_chunk_key, objects_of(array)
    paths = [os.path.join(folder, encode(index)) for index, _ in itertools.islice(_parts(array, region), MOST_OBJECTS)]
    try:
        first = os.stat(paths[0]).st_size
    except OSError:  # of fill values alone
        return []
    return [] if fits(first * math.prod(-(-n // m) for n, m in zip(array.shape, objects, strict=True))) else paths


def _parts(array: Any, region: Region) -> Iterator[tuple[tuple[int, ...], Region]]:
    """Yield the objects that a rectangle lies in: their index, and the part of each."""
    sizes = objects_of(array)
    spans = [range(s.start // n, -(-s.stop // n)) for s, n in zip(region, sizes, strict=True)]
    for index in itertools.product(*spans):
        yield (
            index,
            tuple(
                slice(max(s.start, i * n), min(s.stop, (i + 1) * n))
                for i, s, n in zip(index, region, sizes, strict=True)
            ),
        )


def write(operation: str, pickled: bytes, name: str, region: Region, block: Array, whole: bool) -> None:
    """Write a rectangle; `whole`: in an array that nobody reads yet, where zarrs may write, though not at once."""
    array = opened(pickled, whole)
    try:
        write_into(operation, array, name, region, block)
        folder = folder_of(array)
        for path in _large_files(array, folder, region) if folder is not None else ():
            behind.wrote_file(path)
    finally:
        if whole:
            _remove_unwanted(array)


def _remove_unwanted(array: Any) -> None:
    """Remove a hidden folder that was removed before, and came again since stores make folders that are missing.

    So it goes where another task has failed, or somebody interrupted the call, while this one was writing.
    """
    folder = folder_of(array)
    hidden = HIDDEN.match(folder or "")
    if folder and hidden and not any(os.path.exists(os.path.join(folder, name)) for name in METADATA):
        shutil.rmtree(hidden[1], ignore_errors=True)


def write_into(operation: str, array: Any, name: str, region: Region, block: Array) -> None:
    """Write a rectangle to an array that is open."""
    try:
        array[region] = block
    except Exception as error:
        at = ", ".join(f"{s.start}:{s.stop}" for s in region)
        raise FileError(f"{operation}: the zarr array {name} can't be written at [{at}]: {_told(error)}") from error
