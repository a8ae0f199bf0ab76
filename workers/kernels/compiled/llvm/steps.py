"""A program's elementwise steps as instructions on one element, and the scalars that they are handed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from .....graph.kinds.elementwise import Scalar
from .....graph.kinds.source import Full
from .....graph.lowering.program import Apply, Generate
from .instructions import UFUNCS
from .promotion import constant, loop
from .text import Body, DType, NotCompilable, cast, kind, register

if TYPE_CHECKING:
    from .....graph.lowering.program import Program, Value


@dataclass(frozen=True)
class KernelScalar:
    """A scalar that a kernel is handed: to what it is converted, and for which function."""

    dtype: DType
    function: str

    def bytes_of(self, value: Any) -> bytes:
        """Return a value in eight bytes.

        Raises
        ------
        NotCompilable
            When it doesn't fit.
        """
        return constant(value, self.dtype, self.function)


@dataclass
class StepWriter:
    """Writes steps of a program; `scalars` are those that they need, in eight bytes each, told of by `conversions`."""

    program: Program
    body: Body = field(default_factory=Body)
    scalars: list[bytes] = field(default_factory=list)
    conversions: list[KernelScalar] = field(default_factory=list)

    def write_step(self, step: Value, made: dict[int, str]) -> str:
        """Write a step over the registers of the values that are made; return its own.

        Raises
        ------
        NotCompilable
            When it is none of those that compiled kernels take.
        """
        if isinstance(step, Apply):
            return self._apply(step, made)
        if isinstance(step, Generate):
            return self._generated(step)
        raise NotCompilable("generated values")

    def _generated(self, step: Generate) -> str:
        if not isinstance(step.source, Full):
            raise NotCompilable("generated values")
        return self._scalar(step.source.value, step.dtype, "full")

    def _apply(self, step: Apply, made: dict[int, str]) -> str:
        name, args, values = step.function, list(step.args), self.program.values
        wanted, dtype = self._loop(step)
        if dtype != step.dtype:
            raise NotCompilable(f"{name} to {step.dtype}")
        operands = [
            self._scalar(a.value, w, name)
            if isinstance(a, Scalar)
            else cast(self.body.text, made[a], values[a].dtype, w)
            for a, w in zip(args, wanted, strict=True)
        ]
        if name == "where":
            t = register(dtype)
            return self.body.text.set(f"select i1 {operands[0]}, {t} {operands[1]}, {t} {operands[2]}")
        if name not in UFUNCS:
            return operands[0]
        return UFUNCS[name][kind(wanted[0])](self.body.text, register(wanted[0]), operands)

    def _loop(self, step: Apply) -> tuple[list[DType], DType]:
        if step.function in ("cast", "copy"):
            return [step.dtype], step.dtype
        if step.function == "where":
            return [np.dtype(bool), step.dtype, step.dtype], step.dtype
        return loop(step.function, [a if isinstance(a, Scalar) else self.program.values[a].dtype for a in step.args])

    def _scalar(self, value: Any, dtype: DType, name: str) -> str:
        self.conversions.append(KernelScalar(dtype, name))
        self.scalars.append(self.conversions[-1].bytes_of(value))
        at = self.body.entry.set(f"getelementptr inbounds i8, ptr %scalars, i64 {8 * (len(self.scalars) - 1)}")
        return self.body.entry.load(dtype, at, "0")
