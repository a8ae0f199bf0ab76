"""A backend of joblib that runs calls on the ranks: `with joblib.parallel_config("windrow"): …`.

Each batch of calls is a task of the graph. Large NumPy arrays among the arguments are not pickled with the calls:
they are operands, sent once to a rank and read there in place. A result comes back as bytes in a block of fixed room.
"""

from __future__ import annotations

import io
import pickle
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import cloudpickle
import numpy as np
from joblib._parallel_backends import ParallelBackendBase, SequentialBackend
from joblib.parallel import register_parallel_backend

from ..arrays.core import make
from ..arrays.handed import from_array
from ..arrays.payload import payload
from ..graph.errors import WindrowError
from ..graph.grid import Axis, Grid
from ..graph.kinds.mapping import MapBlocks
from ..scheduler.cluster import current

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..arrays.array import Array

__all__ = ["WindrowBackend", "register"]

LARGE = 1 << 16
"""Arrays of at least so many bytes are operands."""
ROOM = 1 << 22
"""Bytes that a batch's results may take, pickled."""


class _Pickler(cloudpickle.Pickler):
    """Pickles a call; large arrays are put aside, and numbered."""

    def __init__(self, file: io.BytesIO, aside: list[np.ndarray[Any, Any]]) -> None:
        super().__init__(file, protocol=5)
        self._aside = aside

    def persistent_id(self, value: Any) -> Any:
        plain = type(value) is np.ndarray and value.nbytes >= LARGE and not value.dtype.hasobject
        if not plain:
            return None
        for number, known in enumerate(self._aside):
            if known is value:
                return number
        self._aside.append(value)
        return len(self._aside) - 1


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, aside: tuple[Any, ...]) -> None:
        super().__init__(file)
        self._aside = aside

    def persistent_load(self, number: Any) -> Any:
        return self._aside[number]


class _Call:
    """Runs a pickled call in a block, and gives its outcome as bytes."""

    def __init__(self, pickled: bytes) -> None:
        self.pickled = pickled

    def __call__(self, *aside: Any) -> np.ndarray[Any, Any]:
        from joblib.parallel import parallel_config

        function = _Unpickler(io.BytesIO(self.pickled), aside).load()
        with parallel_config(backend=SequentialBackend(nesting_level=1), n_jobs=1):
            try:
                outcome: tuple[bool, Any] = (True, function())
            except Exception as error:
                outcome = (False, error)
        found = cloudpickle.dumps(outcome)
        if len(found) > ROOM - 8:
            told = WindrowError(f"joblib: a result takes {len(found)} bytes, pickled; expected at most {ROOM - 8}")
            found = cloudpickle.dumps((False, told))
        out = np.empty(ROOM, np.uint8)
        out[:8] = np.frombuffer(len(found).to_bytes(8, "little"), np.uint8)
        out[8 : 8 + len(found)] = np.frombuffer(found, np.uint8)
        return out


class WindrowBackend(ParallelBackendBase):
    """Runs joblib's calls on the present cluster.

    Examples
    --------
    >>> import joblib
    >>> import windrow.ml
    >>> with joblib.parallel_config("windrow", n_jobs=-1):
    ...     joblib.Parallel()(joblib.delayed(pow)(i, 2) for i in range(4))
    [0, 1, 4, 9]
    """

    supports_retrieve_callback = True
    supports_inner_max_num_threads = False
    default_n_jobs = -1

    def __init__(self, **keywords: Any) -> None:
        super().__init__(**keywords)
        self._pool: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()
        self._arrays: dict[int, tuple[Any, Array]] = {}

    def effective_n_jobs(self, n_jobs: int | None) -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return how many calls run side by side: at most a task for each compute thread of each rank."""
        if n_jobs == 0:
            raise ValueError("n_jobs == 0 in Parallel has no meaning")
        cluster = current()
        most = cluster.size * cluster.threads
        if n_jobs is None or n_jobs < 0:
            return max(1, most + 1 + n_jobs) if n_jobs is not None else most
        return min(n_jobs, most)

    def submit(self, func: Callable[[], Any], callback: Any = None) -> Future[Any]:
        """Run a batch of calls on some rank."""
        if self._pool is None:
            self._pool = ThreadPoolExecutor(2 * self.effective_n_jobs(-1), thread_name_prefix="windrow-joblib")
        future = self._pool.submit(self._run, func)
        if callback is not None:
            future.add_done_callback(callback)
        return future

    def retrieve_result_callback(self, out: Future[Any]) -> Any:
        """Return what a batch gave, or raise what it raised."""
        return out.result()

    def _run(self, func: Callable[[], Any]) -> Any:
        aside: list[np.ndarray[Any, Any]] = []
        file = io.BytesIO()
        _Pickler(file, aside).dump(func)
        packed = payload("joblib", _Call(file.getvalue()), (), {}, "call")
        operands = [self._operand(a) for a in aside]
        ways = tuple((None,) * a.ndim for a in operands)
        made = make(MapBlocks(packed, ways), operands, Grid([Axis.regular(ROOM, ROOM)]), np.uint8)
        content = made.compute()
        size = int.from_bytes(content[:8].tobytes(), "little")
        good, found = pickle.loads(content[8 : 8 + size].tobytes())
        if not good:
            raise found
        return found

    def _operand(self, array: np.ndarray[Any, Any]) -> Array:
        """Return the lazy array of an argument; it is kept, so that it is sent once."""
        with self._lock:
            known = self._arrays.get(id(array))
            if known is None:
                known = self._arrays[id(array)] = (array, from_array(array, chunks=-1))
            return known[1]

    def terminate(self) -> None:
        """Let go of arguments and threads."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None
        self._arrays.clear()

    def abort_everything(self, ensure_ready: bool = True) -> None:
        """Drop what hasn't begun."""
        self.terminate()

    def get_nested_backend(self) -> tuple[Any, None]:
        """Calls within calls run one after the other."""
        return SequentialBackend(nesting_level=(self.nesting_level or 0) + 1), None


def register() -> None:
    """Make the backend known to joblib as "windrow"."""
    register_parallel_backend("windrow", WindrowBackend)
