"""TensorFlow's threads: one for each task, so that the script's process gives the same bits as ranks.

The number of threads that share a convolution decides in which order its gradients are added up. TensorFlow reads that
number once, when it is initialised: with the first variable of the first model.
"""

from __future__ import annotations

import functools
import os
import sys
from typing import Any

from ..workers.public_api import warn

__all__ = ["set_threads", "warn_of_threads"]

NAME = "TF_NUM_INTRAOP_THREADS"
_late = False


def set_threads() -> None:
    """Set TensorFlow to one thread for a task, without importing it."""
    global _late
    context: Any = sys.modules.get("tensorflow.python.eager.context")
    begun = context is not None and context._context is not None and context._context._initialized
    _late = begun and os.environ.get(NAME) != "1"
    if not begun:
        os.environ.setdefault(NAME, "1")


@functools.cache
def warn_of_threads() -> None:
    """Warn, once, if TensorFlow was initialised before, with more threads."""
    if _late:
        text = (
            "fit: TensorFlow had begun before windrow.ml was imported, with threads of its own, by whose number the "
            f"last bits of weights differ from machine to machine; import windrow.ml before the "
            f"first model, or set {NAME}=1"
        )
        warn(text)
