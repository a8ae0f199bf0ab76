"""A backend of joblib that runs calls on the ranks: `with joblib.parallel_config("windrow"): …`.

Each batch of calls is a task of the graph (`calls.py`). Large arrays among the arguments are sent to a rank once and
are read-only there, as joblib's own memory maps are; they must not change while `Parallel` runs. A rank that is lost
loses no calls: they are made again elsewhere. Within a call BLAS has one thread, and OpenMP one or
`inner_max_num_threads`; calls of `Parallel` within a call run one after the other.

Calls that are given lazy arrays, as those of scikit-learn's searches of such are, run on threads of the driver: the
fits and scores in them are computed on the ranks.
"""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from joblib._parallel_backends import AutoBatchingMixin, FallbackToBackend, ParallelBackendBase, SequentialBackend
from joblib.parallel import register_parallel_backend

from ..scheduler.session.cluster import cluster
from ..workers.rank.output import COMPUTE
from .calls import Caller

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["WindrowBackend", "register"]


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
    """A call costs about 2 ms of its own: shorter ones are put together until a batch takes so many seconds."""
    MAX_IDEAL_BATCH_DURATION = 0.5

    def __init__(self, **keywords: Any) -> None:
        super().__init__(**keywords)
        self._pool: ThreadPoolExecutor | None = None
        self._caller = Caller()

    def effective_n_jobs(self, n_jobs: int | None) -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return how many calls run side by side: at most a task for each compute thread of each rank."""
        if n_jobs == 0:
            raise ValueError("n_jobs == 0 in Parallel has no meaning")
        if threading.current_thread().name.startswith(COMPUTE):
            return 1
        current_cluster = cluster()
        most = current_cluster.size * current_cluster.threads
        if n_jobs is None:
            return most
        return max(1, most + 1 + n_jobs) if n_jobs < 0 else min(n_jobs, most)

    def configure(self, n_jobs: int = 1, parallel: Any = None, **keywords: Any) -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return how many calls will run side by side; within a call they run one after the other."""
        if threading.current_thread().name.startswith(COMPUTE):
            raise FallbackToBackend(SequentialBackend(nesting_level=self.nesting_level))
        self.parallel = parallel
        self._caller.threads = self.inner_max_num_threads or 1  # joblib sets it after it has made a backend
        return self.effective_n_jobs(n_jobs)

    def submit(self, func: Callable[[], Any], callback: Any = None) -> Future[Any]:
        """Run a batch of calls on some rank."""
        if self._pool is None:
            self._pool = ThreadPoolExecutor(2 * self.effective_n_jobs(-1), thread_name_prefix="windrow-joblib")
        future = self._pool.submit(self._caller.call, func)
        if callback is not None:
            future.add_done_callback(callback)
        return future

    def retrieve_result_callback(self, out: Future[Any]) -> Any:
        """Return what a batch gave, or raise what it raised."""
        return out.result()

    def stop_call(self) -> None:
        """Let go of the arguments: they may change before the next call of `Parallel`."""
        self._caller.forget()

    def terminate(self) -> None:
        """Let go of arguments and threads."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None
        self._caller.forget()
        self.reset_batch_stats()

    def abort_everything(self, ensure_ready: bool = True) -> None:
        """Drop what hasn't begun."""
        self.terminate()
        self._caller.cancel()

    def get_nested_backend(self) -> tuple[Any, None]:
        """Calls within calls run one after the other."""
        return SequentialBackend(nesting_level=(self.nesting_level or 0) + 1), None


def register() -> None:
    """Make the backend known to joblib as "windrow"."""
    register_parallel_backend("windrow", WindrowBackend)
