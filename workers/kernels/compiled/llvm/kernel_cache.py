"""Kernels by their text: when one is made, and its function once it is there."""

from __future__ import annotations

import logging
import os
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ....config import config
from ....forks import hold_while_forking
from .machine_code import Native, compile_text, kept_function

if TYPE_CHECKING:
    from collections.abc import Callable

ENTRY = "kernel"
ENOUGH_WORK = 100_000_000
"""Elements times NumPy's loops from which a kernel is compiled: .05 to .1 s of a core, what compiling takes."""
KEPT_WORK = 20_000_000
"""The same where its code is kept on disk: it is loaded within some milliseconds, LLVM once within 30."""
WAITED_WORK = 4 * ENOUGH_WORK
"""From so much work ahead on, a kernel is waited for."""

_log = logging.getLogger("windrow")
_lock = threading.Lock()
hold_while_forking(_lock)


@dataclass(eq=False)
class Kernel:
    """A kernel by its text: how much work its programs have had, and the function once it is made."""

    text: str
    inputs: int
    work: int = 0
    asked: int = 0
    """The process that has it made; 0: none has."""
    looked: bool = False
    function: Native | None = None
    finished: threading.Event = field(default_factory=threading.Event)

    def after(self, work: int, ahead: int = 0) -> Native | None:
        """Return the function if it is there; else see to it that it will be, where so much more work is worth it.

        `ahead` is work known to come.
        """
        if self.function is None:
            self.work += work
            known = self.work + ahead
            if config.jit == "on" or (known >= ENOUGH_WORK and self.asked != os.getpid()):
                self.ask(wait=config.jit == "on")
            elif known >= KEPT_WORK and not self.looked:
                self.looked = True
                self._start(self._take)
        return self.function

    def ask(self, wait: bool) -> None:
        """Have the function made by a thread of its own."""
        with _lock:
            first, self.asked = self.asked != os.getpid(), os.getpid()
            if first and not self.finished.is_set():  # another process's thread isn't in this one
                self.finished = threading.Event()
        if first and not self._start(self._make):
            self.finished.set()
        if wait:
            self.finished.wait()

    def _start(self, act: Callable[[], None]) -> bool:
        # No daemon, as the thread that asks is: LLVM may not be at work while the process goes down.
        try:
            threading.Thread(target=act, name="windrow-compile", daemon=False).start()
        except RuntimeError:  # the process goes down already
            return False
        return True

    def _take(self) -> None:
        """Take the function from disk, if it is kept there."""
        with suppress(Exception):  # who compiles it says what is wrong
            kept = kept_function(self.text, ENTRY, self.inputs)
            if kept is not None:
                self.function = kept

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
    function = kernel.after(work, ahead)
    if function is None and waits is not None and kernel.work >= waits:
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
