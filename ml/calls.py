"""joblib's calls as tasks: large arrays among the arguments go to a rank once, and libraries' threads are held back.

A call is pickled without the large NumPy arrays in it. The ranks of a host map one copy of these; where all is computed
by threads of this process they are handed over as they are, read-only.
"""

from __future__ import annotations

import io
import pickle
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import cloudpickle
import numpy as np

from ..arrays.shared import object as share
from ..arrays.tasks.submit import scatter, submit
from ..scheduler.cluster import session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..scheduler.tasks.future import Future

__all__ = ["Caller"]

Values = np.ndarray[Any, Any]
LARGE = 1 << 16
"""Arrays of at least so many bytes are operands."""
_guard = threading.Lock()


class _Pickler(cloudpickle.Pickler):
    """Pickles a call; large arrays are put aside, and numbered."""

    def __init__(self, file: io.BytesIO, aside: list[Values]) -> None:
        super().__init__(file, protocol=5)
        self._aside = aside

    def persistent_id(self, value: Any) -> Any:
        if type(value) is np.memmap and value.flags.writeable and _whole_file(value):
            order = "F" if value.flags.f_contiguous and not value.flags.c_contiguous else "C"
            return "file", str(value.filename), value.dtype, value.offset, value.shape, order
        if type(value) not in (np.ndarray, np.memmap) or value.nbytes < LARGE or value.dtype.hasobject:
            return None
        turned = value.flags.f_contiguous and not value.flags.c_contiguous
        for number, known in enumerate(self._aside):
            if known is value:
                return "aside", number, turned
        self._aside.append(value)
        return "aside", len(self._aside) - 1, turned


def _whole_file(value: np.memmap[Any, Any]) -> bool:
    """Whether an array is the mapping of a file itself, and no view of one: calls may write to it."""
    return value.filename is not None and type(value.base).__name__ == "mmap"


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, aside: tuple[Values, ...]) -> None:
        super().__init__(file)
        self._aside = aside

    def persistent_load(self, pid: Any) -> Any:
        if pid[0] == "file":
            _, name, dtype, offset, shape, order = pid
            return np.memmap(name, dtype, "r+", offset, shape, order)
        _, number, turned = pid
        return self._aside[number].T if turned else self._aside[number]


def _call(pickled: bytes, aside: tuple[Values, ...], threads: int) -> Any:
    """Make a pickled call; on a rank."""
    function = _Unpickler(io.BytesIO(pickled), aside).load()
    with limit_threads(threads):
        return function()


# ---------------------------------------------------------------- threads of libraries

_limits: dict[int, tuple[int, Any, Any]] = {}
_running: list[Any] = []


def _controllers() -> tuple[Any, Any]:
    """Return what sets the threads of BLAS and of OpenMP; looked for again when modules were imported."""
    from threadpoolctl import ThreadpoolController

    loaded = len(sys.modules)
    known = _limits.get(0)
    if known is None or known[0] != loaded:
        every = ThreadpoolController()
        known = _limits[0] = loaded, every.select(user_api="blas"), every.select(user_api="openmp")
    return known[1:]


@contextmanager
def limit_threads(threads: int) -> Iterator[None]:
    """Hold OpenMP to so many threads, and BLAS to one: calls are what runs in parallel.

    OpenMP's number is each thread's own. That of BLAS is the process's: the first call sets it, the last one out puts
    it back.
    """
    with _guard:
        blas, openmp = _controllers()
        _running.append(blas.limit(limits=1))
    try:
        with openmp.limit(limits=threads):
            yield
    finally:
        with _guard:
            if len(_running) == 1:
                _running.pop().restore_original_limits()
            else:  # the first one's setting is what there was before
                _running.pop(1)


# ---------------------------------------------------------------- the driver's side


class Caller:
    """Makes calls on the present cluster, and keeps what they share.

    Parameters
    ----------
    threads : int
        Threads that OpenMP may use within a call; BLAS has one.
    """

    def __init__(self, threads: int = 1) -> None:
        self.threads = threads
        self._lock = threading.Lock()
        self._arrays: dict[tuple[Any, ...], tuple[Values, Any]] = {}

    def submit(self, function: Callable[[], Any]) -> Future:
        """Call a function on some rank; return the future of what it returns."""
        aside: list[Values] = []
        file = io.BytesIO()
        _Pickler(file, aside).dump(function)
        return submit(_call, file.getvalue(), tuple(self._stand_in(a) for a in aside), self.threads)

    def forget(self) -> None:
        """Let go of arguments."""
        with self._lock:
            self._arrays.clear()

    def _stand_in(self, array: Values) -> Any:
        """Return what stands for an argument, in C order; it is kept, so that it is sent once."""
        if array.flags.f_contiguous and not array.flags.c_contiguous:
            array = array.T
        key = (array.__array_interface__["data"][0], array.shape, array.strides, array.dtype.str)
        with self._lock:
            known = self._arrays.get(key)
            if known is None:
                known = self._arrays[key] = (array, _send(array))
            return known[1]


def _send(array: Values) -> Any:
    if not session().embedded:
        return share(array)
    view = array.view()
    view.flags.writeable = False
    return scatter(view)
