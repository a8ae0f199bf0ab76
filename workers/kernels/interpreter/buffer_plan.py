"""Buffers for a program's temporaries: which value writes where, found once for each program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from ....graph.lowering.program import Apply, Generate, Program
from ..functions import IN_PLACE

if TYPE_CHECKING:
    from ....graph.lowering.program import ProgramForm
    from ....graph.lowering.stage import Stage


@dataclass(frozen=True)
class BufferPlan:
    """`tiled` values are made tile by tile, the others as whole blocks; `slot[i]` is the buffer of value i.

    `wholes` are the whole-block values that the tiles read.
    """

    tiled: tuple[int, ...]
    wholes: tuple[int, ...]
    slot: tuple[int, ...]
    nslots: int


_plans: WeakKeyDictionary[ProgramForm, dict[int, BufferPlan]] = WeakKeyDictionary()


def plan_of(stage: Stage, last: int) -> BufferPlan:
    """Return the plan for making value `last` of a stage's program; found once for all programs of its form."""
    plans = _plans.setdefault(stage.program.form, {})
    if last not in plans:
        plans[last] = plan_for(stage.program, last)
    return plans[last]


def plan_for(program: Program, last: int) -> BufferPlan:
    """Return the plan for making value `last` of a program."""
    wanted = {last}
    for i in range(last, -1, -1):
        value = program.values[i]
        if i in wanted and isinstance(value, Apply):
            wanted |= {a for a in value.args if isinstance(a, int)}
    tiled = [i for i in sorted(wanted) if isinstance(program.values[i], Apply | Generate)]
    wholes = tuple(i for i in sorted(wanted) if i not in tiled)
    return BufferPlan(tuple(tiled), wholes, *_slots(program, tiled, last))


def _slots(program: Program, tiled: list[int], last: int) -> tuple[tuple[int, ...], int]:
    final: dict[int, int] = {}
    for i in tiled:
        value = program.values[i]
        if isinstance(value, Apply):
            for a in value.args:
                if isinstance(a, int):
                    final[a] = i
    final[last] = len(program.values)
    slot = [-1] * len(program.values)
    free: list[int] = []
    count = 0
    for i in tiled:
        value = program.values[i]
        args = {a for a in value.args if isinstance(a, int)} if isinstance(value, Apply) else set()
        ending = [a for a in args if slot[a] >= 0 and final[a] == i]
        name = value.function if isinstance(value, Apply) else ""
        reusable = [
            a for a in ending
            if name in IN_PLACE and program.values[a].dtype == value.dtype and program.values[a].full == value.full
        ]  # fmt: skip
        if reusable:
            slot[i] = slot[reusable[0]]
            ending.remove(reusable[0])
        elif free:
            slot[i] = free.pop()
        else:
            slot[i] = count
            count += 1
        free += [slot[a] for a in ending]
    return tuple(slot), count
