"""Kernels by their text: when one is made, and its function once it is there."""

from __future__ import annotations

import logging
import os
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from ....config import config
from .machine_code import Native, compile_text

ENTRY = "kernel"
# Elements times NumPy's loops: 0.2 to 0.4 s of a core, several times what making a kernel takes.
ENOUGH_WORK = 400_000_000

_log = logging.getLogger("windrow")
_lock = threading.Lock()


@dataclass
class Kernel:
    """A kernel by its text: how much work its programs have had, and the function once it is made."""

    text: str
    inputs: int
    work: int = 0
    asked: bool = False
    function: Native | None = None
    finished: threading.Event = field(default_factory=threading.Event)

    def ask(self, wait: bool) -> None:
        """Have the function made by a thread of its own, with little haste unless it is waited for."""
        with _lock:
            first, self.asked = not self.asked, True
        if first:
            make = self._make if wait else self._make_kindly
            # No daemon, as the thread that asks is: LLVM may not be at work while the process goes down.
            thread = threading.Thread(target=make, name="windrow-compile", daemon=False)
            try:
                thread.start()
            except RuntimeError:  # the process goes down already
                self.finished.set()
        if wait:
            self.finished.wait()

    def _make_kindly(self) -> None:
        """Make the function when cores have nothing better to do; on Linux a thread has its own priority."""
        if sys.platform == "linux":
            with suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)
        self._make()

    def _make(self) -> None:
        try:
            self.function = compile_text(self.text, ENTRY, self.inputs)
        except ImportError as error:
            _log.debug("no compiled kernels: %s", error)
        except Exception as error:
            _log.warning("a kernel could not be compiled, NumPy's are used: %s", error)
        finally:
            self.finished.set()


@lru_cache(maxsize=64)
def _kernel(text: str, inputs: int) -> Kernel:
    return Kernel(text, inputs)


def ready(text: str, inputs: int, work: int, ahead: int = 0, waits: int | None = None) -> Any:
    """Return a kernel's function if it is there, or else see to it that it will be; as in `dispatch`.

    `ahead` is work known to come. From `waits` work on the function is waited for.
    """
    if config.jit == "off":
        return None
    kernel = _kernel(text, inputs)
    if kernel.function is None:
        kernel.work += work
        if config.jit == "on" or (kernel.work + ahead >= ENOUGH_WORK and not kernel.asked):
            kernel.ask(wait=config.jit == "on")
        if waits is not None and kernel.work >= waits:
            kernel.ask(wait=True)
    return kernel.function


def compiled(text: str, inputs: int, worth: bool) -> Any:
    """Return a kernel's function if it is there, or if it is `worth` waiting for; else None."""
    if config.jit == "off":
        return None
    kernel = _kernel(text, inputs)
    if kernel.function is None and worth:
        kernel.ask(wait=True)
    return kernel.function
