"""When a frame is run by a compiled kernel, and by which.

With the setting `jit` "auto" a kernel is made in the background once its programs have had work enough to
make up for it; until it is there the interpreter goes on. With "on" it is made before the first frame runs.
"""

from __future__ import annotations

import logging
import math
import os
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from ....graph.program import Load
from ...config import config
from ..buffers import Buffers
from ..interpreter.tile_loop import copy_tile
from .fused import ENTRY, Fused, compile_fused, cuts
from .llvm_compile import Native, compile_text
from .llvm_text import NotCompilable

if TYPE_CHECKING:
    from ....graph.program import Program
    from ....graph.stage import Stage
    from ..interpreter.frame import Frame

Array = np.ndarray[Any, Any]
# Elements times NumPy's loops: 0.2 to 0.4 s of a core, several times what making a kernel takes.
ENOUGH_WORK = 400_000_000
LEAST_ELEMENTS = 1 << 10

_ordered = Buffers(1 << 26)
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
    made: threading.Event = field(default_factory=threading.Event)

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
                self.made.set()
        if wait:
            self.made.wait()

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
            self.made.set()


@dataclass
class Bound:
    """A stage's kernel and what the stage hands it; `open` is false once inputs didn't lie as they must."""

    fused: Fused
    kernel: Kernel
    scalars: Array
    work: int
    counted: bool = False
    open: bool = True


_kernels: dict[str, Kernel] = {}
_fused: WeakKeyDictionary[Program, Fused] = WeakKeyDictionary()
_bound: WeakKeyDictionary[Stage, Bound | None] = WeakKeyDictionary()


def store(frame: Frame, out: Array) -> bool:
    """Compute a program's result into `out` by a compiled kernel; tell whether there was one."""
    found = _function(frame)
    if found is None or not out.flags.c_contiguous:
        return False
    bound, function = found
    inputs = _inputs(frame, bound)
    if inputs is None:
        return False
    _run(function, bound, inputs, out, frame)
    return True


def reduce(frame: Frame) -> Array | None:
    """Reduce a program's result by a compiled kernel, where there is one: a partial result for each block."""
    found = _function(frame)
    if found is None:
        return None
    bound, function = found
    inputs = _inputs(frame, bound)
    if inputs is None:
        return None
    out = np.empty((len(frame.blocks), *(1,) * len(frame.shape)), bound.fused.dtype)
    _run(function, bound, inputs, out, frame)
    return out


def _run(function: Native, bound: Bound, inputs: list[Array], out: Array, frame: Frame) -> None:
    function(
        *[_address(x) for x in inputs],
        _address(bound.scalars),
        _address(out),
        len(frame.blocks),
        *cuts(frame.shape),
    )


def _address(x: Array) -> int:
    address: int = x.__array_interface__["data"][0]
    return address


def _function(frame: Frame) -> tuple[Bound, Native] | None:
    """Return the kernel for a frame if it is there, or else see to it that it will be."""
    stage = frame.stage
    jit = config.jit
    count = math.prod(frame.shape)
    if jit == "off" or (count if stage.program.level is not None else count * len(frame.blocks)) < LEAST_ELEMENTS:
        return None
    try:
        bound = _bound[stage]
    except KeyError:
        bound = _bind(stage)
    if bound is None or not bound.open:
        return None
    kernel = bound.kernel
    if kernel.function is None:
        if not bound.counted:
            bound.counted = True
            kernel.work += bound.work
        if jit == "on" or (kernel.work >= ENOUGH_WORK and not kernel.asked):
            kernel.ask(wait=jit == "on")
    return None if kernel.function is None else (bound, kernel.function)


def _bind(stage: Stage) -> Bound | None:
    bound = None
    try:
        made = _fused.get(stage.program) or _fused.setdefault(stage.program, compile_fused(stage.program))
        with _lock:
            kernel = _kernels.setdefault(made.text, Kernel(made.text, len(made.loads)))
        scalars = np.frombuffer(made.scalars.ljust(8, b"\0"), np.uint8)
        bound = Bound(made, kernel, scalars, math.prod(stage.domain.shape) * made.steps)
    except NotCompilable:
        pass
    _bound[stage] = bound
    return bound


def _inputs(frame: Frame, bound: Bound) -> list[Array] | None:
    """Return the frame's inputs, if all are whole: as they lie, or brought to C order first (a transposed block)."""
    found = []
    count = len(frame.blocks) * math.prod(frame.shape)
    for number, single in zip(bound.fused.loads, bound.fused.single, strict=True):
        part = frame.in_place(number)
        wanted = 1 if single else count
        value = frame.program.values[number]
        assert isinstance(value, Load)
        if part is None or part.size != wanted or part.dtype != value.dtype or not part.flags.aligned:
            bound.open = False
            return None
        if not part.flags.c_contiguous:
            ordered = _ordered.lend(number, part.shape, part.dtype)
            copy_tile(ordered, part)
            part = ordered
        found.append(part)
    return found
