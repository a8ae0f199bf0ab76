"""Objects that all ranks see, each once a host: a pickle whose buffers lie in memory that every process maps.

The driver writes the object into a sealed file without a name: an index, the pickle's head, and the buffers of protocol
5, aligned. Wherever a function that uses it is unpickled, its name becomes the object: read-only arrays over the mapped
bytes, and private memory for the rest alone, whose lists, dicts and sets refuse to be changed. Ranks of the driver's
host map the driver's file, others a copy of their host (`workers/shared/host_copies.py`).
A process loads an object once, and keeps it until the driver lets go of it.
"""

from __future__ import annotations

import fcntl
import io
import mmap
import os
import pickle
import threading
import weakref
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import cloudpickle
import numpy as np

from ...graph.errors import ClusterError
from ..rank.task_context import own_rank
from .frozen import freeze, type_as_shared

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..wire.transport import Bytes

LINE = 64
_OWN = frozenset(["_name", "_used", "_lock", "_loaded", "_close", "_pin"])
_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SEAL


@dataclass(frozen=True, slots=True)
class SharedName:
    """What is pickled for an object: the driver's file descriptor and its size; the file begins with `token`."""

    token: bytes
    descriptor: int
    nbytes: int


class Shared:
    """An object that every rank sees, once a host; `windrow.shared.object` returns it.

    In functions that run on ranks it is the object itself. In the driver it has the object's attributes, items and
    calls.

    Parameters
    ----------
    value : object
        Anything that pickles.

    Attributes
    ----------
    value : object
        The object; its arrays, lists, dicts and sets are read-only.
    nbytes : int
        What it takes, once a host.

    Raises
    ------
    OSError
        There is no memory for it.

    Examples
    --------
    >>> import windrow as wr
    >>> shared = wr.shared.object([3, 1, 2])
    >>> type(shared).__name__, shared.value, len(shared)
    ('Shared', [3, 1, 2], 3)
    """

    def __init__(self, value: Any) -> None:
        token = os.urandom(16)
        with noting() as used:
            descriptor, nbytes = write(value, token)
        self._used = tuple(used)  # what is shared already is pickled as a name, and lives as long as this
        self._name = SharedName(token, descriptor, nbytes)
        self._lock = threading.Lock()
        self._loaded: list[Any] = []
        self._close = weakref.finalize(self, os.close, descriptor)
        weakref.finalize(self, _tell_gone, self._loaded)
        _own[token] = self

    @property
    def token(self) -> bytes:
        """What stands at the beginning of its file."""
        return self._name.token

    @property
    def nbytes(self) -> int:
        """What it takes, once a host."""
        return self._name.nbytes

    @property
    def value(self) -> Any:
        """The object; its arrays, lists, dicts and sets are read-only."""
        with self._lock:
            if not self._loaded:
                self._loaded.append(freeze(read(map_file(self._name.descriptor), self._name.token)))
            return self._loaded[0]

    def __reduce__(self) -> tuple[Any, ...]:
        note_use(self)
        return resolve, (self._name,)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in _OWN:
            raise AttributeError(name)
        return getattr(self.value, name)

    def __getitem__(self, key: Any) -> Any:
        return self.value[key]

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _OWN:
            raise AttributeError(f"a shared object doesn't change: {name!r} can't be set; share a changed one anew")
        super().__setattr__(name, value)

    def __setitem__(self, key: Any, value: Any) -> None:
        raise TypeError(f"a shared object doesn't change: [{key!r}] can't be set; share a changed one anew")

    def __delitem__(self, key: Any) -> None:
        raise TypeError(f"a shared object doesn't change: [{key!r}] can't be deleted; share a changed one anew")

    def __bool__(self) -> bool:
        return bool(self.value)

    def __len__(self) -> int:
        return len(self.value)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.value)

    def __contains__(self, item: Any) -> bool:
        return item in self.value

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.value(*args, **kwargs)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.asarray(self.value, dtype=dtype, copy=copy)

    def __repr__(self) -> str:
        return f"<shared {type_as_shared(self.value).__name__}: {self.nbytes:,} bytes>"


class Borrowed(Shared):
    """An object that another process shares, or keeps for all ranks; it stays as long as `pin` does.

    Parameters
    ----------
    name : SharedName
        The object's.
    pin : object
        What keeps it.
    """

    def __init__(self, name: SharedName, pin: object) -> None:
        self._name, self._pin = name, pin

    @property
    def value(self) -> Any:
        """The object, its arrays read-only."""
        return resolve(self._name)


class Leaving:
    """What must not be used any more when the driver has let go of it, since its memory is given back then."""

    gone = False


def _tell_gone(loaded: list[Any]) -> None:
    for value in loaded:
        if isinstance(value, Leaving):
            value.gone = True


_own: weakref.WeakValueDictionary[bytes, Shared] = weakref.WeakValueDictionary()
_loaded: dict[bytes, Any] = {}
_loading: set[bytes] = set()
_guard = threading.RLock()  # while something is loaded, which may name another object
_table = threading.Lock()  # of what is loaded: never for long, as a rank's loop asks for it
_threads = threading.local()
_keepers: list[Callable[[bytes], None]] = []


@contextmanager
def noting() -> Iterator[list[object]]:
    """Give the list of what is pickled within by its name, to be kept as long as the pickle is."""
    used: list[object] = []
    outer = getattr(_threads, "used", ())
    _threads.used = (*outer, used)
    try:
        yield used
    finally:
        _threads.used = outer


def note_use(thing: object) -> bool:
    """Have something kept that is pickled by its name; tell whether somebody notes it."""
    lists = getattr(_threads, "used", ())
    for used in lists:
        used.append(thing)
    return bool(lists)


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc] # it has no types
    """Leaves out of the pickle the bytes of times, too, which NumPy doesn't hand out as buffers."""

    def reducer_override(self, obj: Any) -> Any:
        """See `pickle.Pickler`."""
        if type(obj) is np.ndarray and obj.dtype.kind in "mM":
            return _as_times, (obj.view(np.int64), obj.dtype)
        return super().reducer_override(obj)


def _as_times(numbers: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    return numbers.view(dtype)


def write(value: Any, token: bytes) -> tuple[int, int]:
    """Write an object to a new sealed file in memory; return its descriptor and size."""
    buffers: list[pickle.PickleBuffer] = []
    head = io.BytesIO()
    _Pickler(head, protocol=5, buffer_callback=buffers.append).dump(value)
    parts = [head.getbuffer(), *(buffer.raw() for buffer in buffers)]
    lengths = np.array([part.nbytes for part in parts], np.int64)
    index = np.array([len(parts), *lengths], np.int64).tobytes()
    begins = _begins(len(index), lengths)
    nbytes = int(begins[-1])
    descriptor = os.memfd_create("windrow-shared", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        os.ftruncate(descriptor, nbytes)
        os.pwrite(descriptor, token + index, 0)
        for part, at in zip(parts, begins.tolist(), strict=False):
            done = 0
            while done < part.nbytes:
                done += os.pwrite(descriptor, part[done:], at + done)
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, _SEALS)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor, nbytes


def _begins(index: int, lengths: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return where the parts begin behind the index, and the end."""
    first = -(-(16 + index) // LINE) * LINE
    begins: np.ndarray[Any, Any] = first + np.concatenate([[0], np.cumsum(-(-lengths // LINE) * LINE)])
    return begins


def read(memory: Bytes, token: bytes) -> Any:
    """Return the object that lies in some memory, which must not be written as long as it is used.

    Raises
    ------
    ClusterError
        It is another object's.
    """
    if memory[:16].tobytes() != token:
        raise ClusterError("a shared object is gone: the driver has let go of it")
    count = int(memory[16:24].view(np.int64)[0])
    lengths = memory[24 : 24 + 8 * count].view(np.int64)
    begins = _begins(8 + 8 * count, lengths).tolist()
    head, *buffers = (memory[at : at + n] for at, n in zip(begins, lengths.tolist(), strict=False))
    return pickle.loads(head.data, buffers=[part.data for part in buffers])


def map_file(descriptor: int) -> Bytes:
    return np.frombuffer(mmap.mmap(descriptor, 0, prot=mmap.PROT_READ), np.uint8)


def resolve(name: SharedName) -> Any:
    """Return the object that a name stands for, in whatever process of the job.

    Raises
    ------
    ClusterError
        This process is no rank of the job, or the object is gone.
    """
    for tokens in getattr(_threads, "found", ()):
        tokens.add(name.token)
    own = _own.get(name.token)
    if own is not None:
        return own.value
    with _guard:
        with _table:
            if name.token in _loaded:
                return _loaded[name.token]
            _loading.add(name.token)
        rank = own_rank()
        if rank is None:
            raise ClusterError("a shared object is known to the ranks of its own job alone")
        value = freeze(read(rank.copies.read(name), name.token))
        with _table:
            if name.token in _loading:
                _loaded[name.token] = value
        return value


def read_once(name: SharedName) -> Any:
    """Return an object that lies in the driver's memory for this reader alone.

    Raises
    ------
    ClusterError
        It is not to be had.
    """
    rank = own_rank()
    if rank is None:
        return read(map_file(name.descriptor), name.token)
    memory = rank.copies.map_own(name)
    return read(rank.copies.fetch(name) if memory is None else memory, name.token)


def forget(token: bytes) -> None:
    """Let go of an object that the driver has let go of; functions that run keep its memory until they return."""
    with _table:
        _loading.discard(token)
        value = _loaded.pop(token, None)
    _tell_gone([value])
    for each in _keepers:
        each(token)
    del value  # what its end calls may take long, or ask for another


def keeps(drop: Callable[[bytes], None]) -> None:
    """Have a function called when an object goes, by one who keeps what was unpickled with it."""
    _keepers.append(drop)


@contextmanager
def finding() -> Iterator[set[bytes]]:
    """Give the set of the objects that are found by name within, in this thread."""
    tokens: set[bytes] = set()
    outer = getattr(_threads, "found", ())
    _threads.found = (*outer, tokens)
    try:
        yield tokens
    finally:
        _threads.found = outer


def as_ranks_see(function: Any) -> Any:
    """Return a function, or several with arguments, with the objects themselves in the stead of shared ones.

    It is for calls in the driver that stand for those on ranks. What can't be pickled comes back as it is.
    """
    if not _own and own_rank() is None:
        return function
    try:
        with noting() as used:
            pickled = cloudpickle.dumps(function)
    except Exception:
        return function
    return pickle.loads(pickled) if used else function


def count_bytes() -> int:
    """Return how many bytes of objects this process shares."""
    return sum(each.nbytes for each in list(_own.values()))
