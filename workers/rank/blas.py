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


class BlasLimit:
    """Sets the limit when stages come that may use BLAS, and puts the user's setting back."""

    def __init__(self) -> None:
        self._holds = False

    def before(self, stages: Iterable[Stage]) -> None:
        """Limit BLAS if any of the stages may call it."""
        if not self._holds and any(stage.whole for stage in stages):
            _libraries.hold()
            self._holds = True

    def after(self) -> None:
        """Put the former setting back."""
        if self._holds:
            _libraries.let_go()
            self._holds = False


@contextmanager
def limit_blas() -> Iterator[None]:
    """Hold BLAS to one thread."""
    _libraries.hold()
    try:
        yield
    finally:
        _libraries.let_go()


@contextmanager
def limit_threads(threads: int) -> Iterator[None]:
    """Hold OpenMP to so many threads, which are the calling thread's own, and BLAS to one."""
    with limit_blas(), _find_libraries(len(sys.modules))[1].limit(limits=threads):
        yield


class _Libraries:
    """The process's BLAS libraries, as long as anybody holds them to one thread; some may be loaded meanwhile."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._holders = 0
        self._before: dict[str, tuple[Any, int]] = {}
        """By file: a library, and its threads before the first hold that met it."""

    def hold(self) -> None:
        """Hold all that are loaded to one thread."""
        with self._guard, _in_control():
            for library in _find_libraries(len(sys.modules))[0].lib_controllers:
                self._before.setdefault(library.filepath, (library, library.num_threads))
                library.set_num_threads(1)
            self._holders += 1

    def let_go(self) -> None:
        """End a hold; the last one puts back what there was."""
        with self._guard, _in_control():
            self._holders -= 1
            if not self._holders:
                for library, threads in self._before.values():
                    library.set_num_threads(threads)
                self._before.clear()


_libraries = _Libraries()


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
