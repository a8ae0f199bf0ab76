"""Objects that all ranks see, each once a host: a pickle whose buffers lie in memory that every process maps.

The driver writes the object into a sealed segment (`workers/shared/object_segments.py`). Wherever a function that uses
it is unpickled, its name becomes the object: read-only arrays over the mapped bytes, and private memory for the rest
alone, whose lists, dicts and sets refuse to be changed. Ranks of the driver's host map the driver's segment, others a
copy of their host (`workers/shared/host_copies.py`).
A process loads an object once, and keeps it until the driver lets go of it.
"""

from __future__ import annotations

import pickle
import threading
import weakref
from typing import TYPE_CHECKING, Any

import cloudpickle
import numpy as np

from ...graph.errors import ClusterError
from ..rank.task_context import own_rank
from .frozen import freeze, type_as_shared
from .object_segments import read, write
from .pickled_by_name import note_found, note_use, noting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .segment import SegmentName

_OWN = frozenset(["_name", "_used", "_lock", "_loaded", "_segment", "_pin"])


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

    >>> shared = wr.shared.object([3, 1, 2])
    >>> type(shared).__name__, shared.value, len(shared)
    ('Shared', [3, 1, 2], 3)
    """

    def __init__(self, value: Any) -> None:
        with noting() as used:
            self._segment = write(value)
        self._used = tuple(used)  # what is shared already is pickled as a name, and lives as long as this
        self._name = self._segment.name
        self._lock = threading.Lock()
        self._loaded: list[Any] = []
        weakref.finalize(self, _tell_gone, self._loaded)
        _own[self._name.token] = self

    @property
    def nbytes(self) -> int:
        """What it takes, once a host."""
        return self._name.nbytes

    @property
    def value(self) -> Any:
        """The object; its arrays, lists, dicts and sets are read-only."""
        with self._lock:
            if not self._loaded:
                self._loaded.append(freeze(read(self._segment.map(), self._name.token)))
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
    """An object that another process shares, or keeps for all ranks; it stays as long as `pin` does."""

    def __init__(self, name: SegmentName, pin: object) -> None:
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
_keepers: list[Callable[[bytes], None]] = []


def resolve(name: SegmentName) -> Any:
    """Return the object that a name stands for, in whatever process of the job.

    It is a ClusterError where this process is no rank of the job, or the object is gone.
    """
    note_found(name.token)
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


def read_once(name: SegmentName) -> Any:
    """Return an object that lies in the driver's memory for this reader alone, or raise ClusterError or OSError."""
    rank = own_rank()
    if rank is None:
        return read(name.map(), name.token)
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
