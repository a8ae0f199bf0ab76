"""Which loops of a stage stay NumPy's, and why, for people who look at a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .....graph.lowering.program import Apply, Generate, Load
from ...interpreter.buffer_plan import plan_for
from ..llvm.text import NotCompilable
from .fused import compile_fused
from .segments import LEAST_ELEMENTS, segments, why_not

if TYPE_CHECKING:
    from .....graph.kinds.reduction import Level
    from .....graph.lowering.program import Program
    from .....graph.lowering.stage import Stage


def tell_interpreted(stage: Stage) -> str:
    """Return the functions and reductions that NumPy's loops compute, with reasons; "" where all is compiled.

    Of blocks that are too small for kernels, and of functions of whole blocks, nothing is told.
    """
    operands = [operand for value in stage.program.values for operand in getattr(value, "fused", ())]
    programs = [(stage.program, stage.domain), *((operand.program, operand.grid) for operand in operands)]
    parts = [_tell(program) for program, grid in programs if grid.largest >= LEAST_ELEMENTS]
    return ", ".join(dict.fromkeys(part for part in parts if part))


def _tell(program: Program) -> str:
    level = program.level
    if not isinstance(program.result, Apply | Generate | Load) or (level is not None and not level.leaf):
        return ""
    if level is None and isinstance(program.result, Load):
        return ""
    try:
        compile_fused(program)
    except NotCompilable:
        pass
    else:
        return ""
    last = len(program.values) - 1
    reasons: dict[str, str] = {}
    for each in segments(program, plan_for(program, last), last):
        step = program.values[each] if isinstance(each, int) else None
        if isinstance(step, Apply) and isinstance(each, int) and all(step.full) and (why := why_not(program, each)):
            reasons.setdefault(step.function, why)
    for part in (level.parts or (level,)) if level is not None else ():
        reasons.setdefault(part.reduce.head, _tell_head(part))
    return ", ".join(f"{name} ({why})" for name, why in reasons.items())


def _tell_head(level: Level) -> str:
    along = level.reduce.axes
    return "along some axes" if len(along) < len(level.shape) else "no compiled loop for it over whole blocks"
