"""What a call of a traced function does: expressions over its arguments', or stages that the calling thread runs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...graph.errors import ClusterError
from ...graph.expr.expr import Expr, walk
from ...graph.kinds.elementwise import Elementwise, NumberInput, Scalar
from ...graph.kinds.source import Host
from ...graph.lowering.lower import lower
from ...graph.lowering.plan_cache import scalars_of
from ...scheduler.session.cluster import running
from ...scheduler.session.resources import default_threads
from ...workers.direct import DirectProgram, is_direct, stand_for
from ...workers.rank.output import in_task
from ..base import runs_in_step, wrap
from ..execution.deferred import evaluate
from .tracing import TracedArray, hosted, substitute

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .structures import Structure
    from .tracing import Trace

PART = 4
"""One such part of the room for chunks may be taken by what the calling thread computes."""
PROGRAM_BYTES = 1 << 28
"""The same where no cluster runs yet."""


class Result(NamedTuple):
    """One of the leaves of what a function returns: a root of the trace, a leaf of the arguments, or a constant."""

    root: int = -1
    leaf: int = -1
    constant: Any = None


@dataclass
class TracedCall:
    """What a call does whose arguments have one name."""

    trace: Trace
    arrays: tuple[int, ...]
    """The leaves that are arrays, each once."""
    numbers: tuple[tuple[int, NumberInput], ...]
    """The leaves that are inputs, and what stands for them."""
    structure: Structure
    results: tuple[Result, ...]
    written: tuple[tuple[int, int], ...]
    """Leaves that are written to, and the roots that they are set to."""

    def run(self, leaves: list[Any]) -> Any:
        """Return what the function returns for arguments with these leaves."""
        operands = [leaves[k].expr for k in self.arrays]
        numbers = {stands.number: Scalar(leaves[k]) for k, stands in self.numbers}
        roots = self._run_directly(operands, numbers)
        if roots is None:
            roots = self.trace.bind(operands, self.trace.outside, numbers)
        arrays = [wrap(root) for root in roots]
        for leaf, root in self.written:
            leaves[leaf]._become(arrays[root])
        return self.structure.build([self._result(result, leaves, arrays) for result in self.results])

    @staticmethod
    def _result(result: Result, leaves: list[Any], arrays: Sequence[Any]) -> Any:
        if result.root >= 0:
            return arrays[result.root]
        if result.leaf >= 0:
            return leaves[result.leaf]
        return result.constant.copy() if isinstance(result.constant, np.ndarray) else result.constant

    def _run_directly(self, operands: list[Expr], numbers: Mapping[int, Scalar]) -> list[Expr] | None:
        """Compute the roots now where that is quicker than a word to the engine; else return None."""
        if runs_in_step():
            return None
        arrays = [array for e in operands if (array := _at_hand(e)) is not None]
        if len(arrays) < len(operands):
            return None
        program = self._program
        if program is None:
            return None
        known = self.trace.pair(operands, self.trace.outside)
        values = program.run(arrays, numbers, _count_threads())
        pairs = zip(values, self.trace.roots, strict=True)
        return [known[root.token] if root.token in known else hosted(value, root) for value, root in pairs]

    @cached_property
    def _program(self) -> DirectProgram | None:
        """The trace, lowered for the calling thread; None where it isn't small, or must know values."""
        trace = self.trace
        if any(node.op.deferred and not isinstance(node.op, TracedArray) for node in walk(list(trace.roots))):
            return None
        inputs = [stand_for(e.token, e.grid, e.dtype) for e in (*trace.carried, *trace.captured)]
        known = {stage.token for stage in inputs}
        samples = {stands.number: Scalar(stands.sample) for _, stands in self.numbers}
        roots = substitute(trace.roots, {}, samples)
        unknown = {root.token: root for root in roots if root.token not in known}
        stages = lower(list(unknown.values()), known.__contains__) if unknown else []
        if not is_direct(stages, inputs) or any(e.foreign for e in trace.outside):
            return None
        fixed = {id(scalar) for node in walk(list(trace.roots)) for scalar in _scalars(node)}
        holes = {id(scalar): number for number, scalar in samples.items()}
        told_apart = fixed | holes.keys()
        if any(id(s) not in told_apart for stage in stages for s in scalars_of(stage.program) if isinstance(s, Scalar)):
            return None
        try:
            captured = evaluate(trace.outside) if trace.outside else []
        except ClusterError:  # a task computes no arrays; what it returns is lazy
            return None
        program = DirectProgram(stages, inputs, [root.token for root in roots], captured, holes)
        active = running()
        return program if program.nbytes <= (PROGRAM_BYTES if active is None else active.room // PART) else None


def _count_threads() -> int:
    """Return how many threads may share what the calling thread computes: in a task it is one of many."""
    if in_task():
        return 1
    active = running()
    return default_threads() if active is None else active.threads


def _at_hand(e: Expr) -> np.ndarray[Any, Any] | None:
    """Return an array in this process's memory that an expression is; None where it is none."""
    data = e.op.data if isinstance(e.op, Host) else None
    return data.array if data is not None and data.at_hand else None


def _scalars(node: Expr) -> list[Scalar]:
    return [arg for arg in node.op.args if isinstance(arg, Scalar)] if isinstance(node.op, Elementwise) else []
