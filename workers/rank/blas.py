"""BLAS held to one thread while tasks run: tasks are what runs in parallel.

The number of BLAS's threads is the process's: whoever comes first sets it, and the last one out puts back what there
was.
"""

from __future__ import annotations

import functools
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ...graph.lowering.stage import Stage

_guard = threading.Lock()
_limits: list[Any] = []
"""A setting for each who holds BLAS to one thread: the first one knows what there was before."""


class BlasLimit:
    """Sets the limit when stages come that may use BLAS, and puts the user's setting back."""

    def __init__(self) -> None:
        self._holds = False

    def before(self, stages: Iterable[Stage]) -> None:
        """Limit BLAS if any of the stages may call it."""
        if not self._holds and any(stage.whole for stage in stages):
            _hold()
            self._holds = True

    def after(self) -> None:
        """Put the former setting back."""
        if self._holds:
            _let_go()
            self._holds = False


@contextmanager
def limit_threads(threads: int) -> Iterator[None]:
    """Hold OpenMP to so many threads, which are the calling thread's own, and BLAS to one."""
    _hold()
    try:
        with _find_libraries(len(sys.modules))[1].limit(limits=threads):
            yield
    finally:
        _let_go()


def _hold() -> None:
    with _guard, _in_control():
        _limits.append(_find_libraries(len(sys.modules))[0].limit(limits=1))


def _let_go() -> None:
    with _guard, _in_control():
        if len(_limits) == 1:
            _limits.pop().restore_original_limits()
        else:
            _limits.pop(1)


@functools.lru_cache(maxsize=1)
def _find_libraries(modules: int) -> tuple[Any, Any]:
    """Return what sets the threads of BLAS and of OpenMP, looked for anew when there are more modules than before."""
    from threadpoolctl import ThreadpoolController

    every = ThreadpoolController()
    return every.select(user_api="blas"), every.select(user_api="openmp")


@contextmanager
def _in_control() -> Iterator[None]:
    """Have the calling thread set OpenBLAS's threads: from 3.8 on threadpoolctl heeds only one thread at a time."""
    from threadpoolctl import OpenBLASController

    release = getattr(OpenBLASController, "clear_controlling_thread", lambda force: None)
    release(force=True)
    yield
    release(force=True)
