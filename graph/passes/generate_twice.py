"""Arrays that are made twice, since to hold them between their readers takes too much memory.

`x - x.mean()` needs all of x for the mean before it needs any of it again. What is drawn by a formula, or computed from
such or from the user's data element by element, is as soon made again as written to disk and read. So where more than
half of the memory would be held so long, the readers that wait for others get a copy of the expression, under other
names, and each chunk goes as soon as it is read. What is quick to draw is drawn again in any memory, where it is much:
that takes about as long as the system takes to hand out memory for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..expr.expr import Expr, rewrite, walk, with_operands
from ..expr.token import token_of
from ..few import distinct
from ..kinds.source import Host, Random
from ..lowering.program import Apply, Generate, Load
from ..lowering.stage import relations
from .generated_sources import is_cheap

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..chunks.grid import Index
    from ..lowering.stage import Reads, Stage

WIDE = 8
"""A reader waits where one task needs more than one of so many chunks beforehand."""
MOST_VALUES = 16
"""Values of a program that is little work."""
MUCH = 1 << 28
"""Bytes that are held in no case if they are quick to draw."""
QUICK = frozenset(["random", "integers"])
"""Distributions whose numbers take two or three nanoseconds each."""


def find_waiting(stages: Sequence[Stage], roots: set[str], room: int) -> dict[str, set[str]]:
    """Return what to make again: tokens of stages whose chunks would be held long, and of the readers that wait."""
    data = {stage.token for stage in stages if stage.data is not None}
    large = [s for s in stages if s.token not in roots and s.grid.size * s.dtype.itemsize > min(MUCH, room // 2)]
    large = [s for s in large if s.grid.size * s.dtype.itemsize > room // 2 or _is_quick(s)]
    large = [s for s in large if _is_little_work(s, data)]
    if not large:
        return {}
    reads = relations(stages, {token: 1 for stage in stages for token in stage.inputs})
    waiting_readers: dict[str, set[str]] = {}
    for stage in large:
        readers = [s for s in stages if stage.token in s.inputs]
        waiting = {s.token for s in readers if len(readers) > 1 and _waits(s, stage, stages, reads)}
        if waiting and len(waiting) < len(readers):
            waiting_readers[stage.token] = waiting
    return waiting_readers


def _is_little_work(stage: Stage, data: set[str]) -> bool:
    values = stage.program.values
    plain = all(isinstance(v, Apply | Generate | Load) for v in values) and stage.program.level is None
    return stage.data is None and plain and len(values) <= MOST_VALUES and data.issuperset(stage.inputs)


def _is_quick(stage: Stage) -> bool:
    """Whether a stage only draws numbers that take no longer to draw than to keep."""
    (*others, last) = stage.program.values
    if others or not isinstance(last, Generate):
        return False
    return is_cheap(last.source) or (isinstance(last.source, Random) and last.source.distribution in QUICK)


def _waits(reader: Stage, stage: Stage, stages: Sequence[Stage], reads: Mapping[str, Reads]) -> bool:
    """Tell whether what a task of a reader needs besides needs a large part of a stage."""
    needed: dict[str, Index] = {reader.token: np.array([reader.ntasks // 2])}
    for each in reversed(stages):
        tasks = needed.pop(each.token, None)
        if tasks is None:
            continue
        if each is stage:
            return len(tasks) * WIDE > each.ntasks
        for token, rows in zip(each.inputs, reads[each.token][1], strict=True):
            if each is not reader or token != stage.token:
                needed[token] = distinct(np.concatenate([needed.get(token, tasks[:0]), rows.of(tasks)]))
    return False


def make_again(
    simple: list[Expr], waiting: Mapping[str, set[str]], homes: Mapping[str, str], stored: Callable[[str], bool]
) -> list[Expr]:
    """Return simplified expressions in which the readers that wait read copies; `homes` says where each is computed."""
    copies: dict[str, Expr] = {}
    for node in walk(simple, lambda node: stored(node.token)):
        if node.token in waiting:
            copies[node.token] = _copy(node, homes, stored)

    def build(node: Expr, operands: tuple[Expr, ...]) -> Expr:
        home = homes.get(node.token, "")
        over = tuple(
            copies[old.token] if home in waiting.get(old.token, ()) else new
            for old, new in zip(node.operands, operands, strict=True)
        )
        return with_operands(node, over)

    return rewrite(simple, lambda node: node if stored(node.token) else None, build)


def _copy(root: Expr, homes: Mapping[str, str], stored: Callable[[str], bool]) -> Expr:
    """Return what a stage computes under other names; the user's data, and what other stages make, stay the same."""

    def stop(node: Expr) -> Expr | None:
        apart = homes.get(node.token, "") not in ("", root.token)
        return node if apart or stored(node.token) or isinstance(node.op, Host) else None

    def build(node: Expr, operands: tuple[Expr, ...]) -> Expr:
        return Expr(node.op, operands, node.grid, node.dtype, node.origin, None, token_of(("again", node.token)))

    return rewrite([root], stop, build)[0]
