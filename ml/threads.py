"""The threads of libraries within a task: tasks are what runs in parallel.

TensorFlow has one for each task, and so the same bits in the script's process as on ranks: how many threads share a
convolution decides in which order its gradients are added up. TensorFlow reads their number once, when it begins: with
the first variable of the first model.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..workers.public_api import warn

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["limit_threads", "set_threads", "warn_of_threads"]

NAME = "TF_NUM_INTRAOP_THREADS"
_late = False
_guard = threading.Lock()
_limits: list[Any] = []
"""BLAS's settings before each call that runs: the first is what there was before all of them."""


def set_threads() -> None:
    """Have TensorFlow begin with one thread for a task; it isn't imported for that."""
    global _late
    context: Any = sys.modules.get("tensorflow.python.eager.context")
    begun = context is not None and context._context is not None and context._context._initialized
    _late = begun and os.environ.get(NAME) != "1"
    if not begun:
        os.environ.setdefault(NAME, "1")


@functools.cache
def warn_of_threads() -> None:
    """Warn, once, where TensorFlow had begun before, with threads of its own."""
    if _late:
        text = (
            "fit: TensorFlow had begun before windrow.ml was imported, with threads of its own, by whose number the "
            f"last bits of weights differ from machine to machine; import windrow.ml before the "
            f"first model, or set {NAME}=1"
        )
        warn(text)


@contextmanager
def limit_threads(threads: int) -> Iterator[None]:
    """Hold OpenMP to so many threads, and BLAS to one.

    OpenMP's number is each thread's own. That of BLAS is the process's: the first call sets it, the last one out puts
    it back.
    """
    with _guard:
        blas, openmp = _find_libraries(len(sys.modules))
        _limits.append(blas.limit(limits=1))
    try:
        with openmp.limit(limits=threads):
            yield
    finally:
        with _guard:
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
