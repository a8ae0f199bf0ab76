"""A backend of joblib that runs calls on the ranks: `with joblib.parallel_config("windrow"): …`.

Each batch of calls is a task. Large arrays among the arguments are sent to a rank once and are read-only there, like
joblib's own memory maps; they must not change while `Parallel` runs. The calls of a rank that dies are run again
elsewhere. Within a call BLAS has one thread, and OpenMP one or `inner_max_num_threads`; calls of `Parallel` within a
call run one after the other.

Calls with lazy arrays among their arguments run on threads of the driver, for example those of a scikit-learn search
over lazy arrays. The fits and scores within them are computed on the ranks.
"""

from __future__ import annotations

import io
import pickle
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import cloudpickle
import numpy as np
from joblib._parallel_backends import AutoBatchingMixin, FallbackToBackend, ParallelBackendBase, SequentialBackend
from joblib.parallel import register_parallel_backend

from ..arrays.base import ArrayBase
from ..arrays.tasks.submit import Executor, scatter
from ..arrays.user_functions.travel.pickling import name_of, pickler
from ..graph.errors import WindrowError
from ..scheduler.session.cluster import cluster
from ..workers.rank.blas import limit_threads
from ..workers.rank.output import in_task

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["WindrowBackend", "register"]

Values = np.ndarray[Any, Any]
LARGE = 1 << 16
"""Bytes of an array from which on it is sent to a rank once, and not with each call."""


class _HoldsLazyArray(Exception):
    """Ends the pickling of a call with a lazy array, which the driver runs itself."""


class _Pickler(pickler()):  # type: ignore[misc] # made when it is needed
    """Pickles a call. Large arrays are left out and numbered; a lazy array raises `_HoldsLazyArray`."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, protocol=5)
        self.aside: list[Values] = []

    def persistent_id(self, value: Any) -> int | None:
        if isinstance(value, ArrayBase):
            raise _HoldsLazyArray
        if type(value) not in (np.ndarray, np.memmap) or value.nbytes < LARGE or value.dtype.hasobject:
            return None
        if _is_written_to(value):
            return None
        for number, known in enumerate(self.aside):
            if known is value:
                return number
        self.aside.append(value)
        return len(self.aside) - 1

    def reducer_override(self, value: Any) -> Any:
        if _is_written_to(value):
            order = "F" if value.flags.f_contiguous and not value.flags.c_contiguous else "C"
            return np.memmap, (str(value.filename), value.dtype, "r+", value.offset, value.shape, order)
        return super().reducer_override(value)


def _is_written_to(value: Any) -> bool:
    """Whether a value is a writable memory map itself, not a view of one: calls may write to it."""
    return (
        type(value) is np.memmap
        and value.flags.writeable
        and value.filename is not None
        and type(value.base).__name__ == "mmap"
    )


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, aside: tuple[Values, ...]) -> None:
        super().__init__(file)
        self._aside = aside

    def persistent_load(self, number: int) -> Values:
        return self._aside[number]


class _Batch:
    """Runs a pickled batch of calls, whose large arrays come beside the pickle; bears the name of the called function.

    It returns the pickled results: so arrays in them are the caller's own to write to, in a single process, too.
    """

    def __init__(self, pickled: bytes, threads: int, name: str) -> None:
        self.pickled, self.threads, self.__name__ = pickled, threads, name

    def __call__(self, *aside: Values) -> bytes:
        calls = _Unpickler(io.BytesIO(self.pickled), aside).load()
        with limit_threads(self.threads):
            results = calls()
        try:
            return bytes(cloudpickle.dumps(results))
        except Exception as error:
            raise WindrowError(f"joblib: what a call gave can't be pickled: {type(error).__name__}: {error}") from error


class WindrowBackend(AutoBatchingMixin, ParallelBackendBase):  # pyright: ignore[reportIncompatibleMethodOverride]
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
    supports_inner_max_num_threads = True
    default_n_jobs = -1
    MIN_IDEAL_BATCH_DURATION = 0.05
    """Seconds of a batch, at least: a call has an overhead of about 2 ms, so short calls are batched."""
    MAX_IDEAL_BATCH_DURATION = 0.5

    def __init__(self, **keywords: Any) -> None:
        super().__init__(**keywords)
        self._ranks: Executor | None = None
        self._driver: ThreadPoolExecutor | None = None
        self._placed: dict[tuple[Any, ...], Future[Any]] = {}

    def effective_n_jobs(self, n_jobs: int | None) -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return how many calls run side by side: at most a task for each compute thread of each rank."""
        if n_jobs == 0:
            raise ValueError("n_jobs == 0 in Parallel has no meaning")
        if in_task():
            return 1
        current_cluster = cluster()
        most = current_cluster.size * current_cluster.threads
        if n_jobs is None:
            return most
        return max(1, most + 1 + n_jobs) if n_jobs < 0 else min(n_jobs, most)

    def configure(self, n_jobs: int = 1, parallel: Any = None, **keywords: Any) -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return how many calls will run side by side; within a call they run one after the other."""
        if in_task():
            raise FallbackToBackend(SequentialBackend(nesting_level=self.nesting_level))
        self.parallel = parallel
        return self.effective_n_jobs(n_jobs)

    def submit(self, func: Any, callback: Callable[[Future[Any]], Any] | None = None) -> Future[Any]:
        """Run a batch of calls on some rank, or on a thread of the driver where it holds lazy arrays."""
        try:
            future = self._submit(func)
        except Exception as error:  # joblib submits on its own threads, too, where an exception would be lost
            future = Future()
            future.set_exception(error)
        if callback is not None:
            future.add_done_callback(callback)
        return future

    def _submit(self, calls: Any) -> Future[Any]:
        file = io.BytesIO()
        batch_pickler = _Pickler(file)
        try:
            batch_pickler.dump(calls)
        except _HoldsLazyArray:
            if self._driver is None:
                self._driver = ThreadPoolExecutor(2 * self.effective_n_jobs(-1), thread_name_prefix="windrow-joblib")
            return self._driver.submit(calls)
        if self._ranks is None:
            self._ranks = Executor()
        batch = _Batch(file.getvalue(), self.inner_max_num_threads or 1, name_of(calls.items[0][0]))
        return self._ranks.submit(batch, *map(self._place, batch_pickler.aside))

    def _place(self, array: Values) -> Future[Any]:
        """Return a future for an argument; it is remembered, so that the argument is sent once."""
        key = (array.__array_interface__["data"][0], array.shape, array.strides, array.dtype.str)
        if key not in self._placed:
            self._placed[key] = scatter(np.asarray(array))
        return self._placed[key]

    def retrieve_result_callback(self, out: Future[Any]) -> Any:
        """Return a batch's results, or raise its exception."""
        results = out.result()
        return pickle.loads(results) if isinstance(results, bytes) else results  # the driver's own are a list

    def stop_call(self) -> None:
        """Release the arguments: they may change before the next call of `Parallel`."""
        self._placed.clear()

    def terminate(self) -> None:
        """Release arguments and threads; cancel batches that haven't begun."""
        for executor in (self._ranks, self._driver):
            if executor is not None:
                executor.shutdown(wait=False, cancel_futures=True)
        self._ranks = self._driver = None
        self._placed.clear()
        self.reset_batch_stats()

    def abort_everything(self, ensure_ready: bool = True) -> None:
        """Cancel batches, those that run as well."""
        if self._ranks is not None:
            self._ranks.give_up()
        self.terminate()

    def get_nested_backend(self) -> tuple[Any, None]:
        """Return the backend for calls within calls, which run one after the other."""
        return SequentialBackend(nesting_level=(self.nesting_level or 0) + 1), None


def register() -> None:
    """Register the backend with joblib as "windrow"."""
    register_parallel_backend("windrow", WindrowBackend)
