"""Loops step by step: what a step makes is stored, the next one reads it, and nothing older is kept.

The stages of a body are lowered once and repeated (`scheduler.session.step_replay`). A body with an operation that must
know values before it is planned, such as sorting, is planned anew in each step. A step is handed in while the one
before it runs; the condition of a `while_loop` is computed where its value is, and looked at before the next.

Now and then a snapshot is taken: the driver reads what the loop carries, and goes on from there. A chunk that a dead
rank took along is made again from the last one, so lineage never leads back further. It is taken when the steps since
the last one have taken `WORTH` times as long as it would; with `snapshot=k` after every k steps.
"""

from __future__ import annotations

import contextlib
import math
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...graph.expr import names
from ...graph.expr.expr import Expr, walk
from ...graph.kinds.deferred import Deferred
from ...graph.stencil.analysis import find_plan
from ...graph.stencil.views import NotLocal
from ...scheduler.session.cluster import session
from ...scheduler.session.pin import Pin
from ...scheduler.session.step_replay import Repeated
from ..base import ArrayBase, wrap
from ..execution.compute import persist
from ..execution.deferred import evaluate
from .gangs import HaloRun, plan_bytes
from .tracing import Stepped, Trace, TracedArray, hosted, unroll

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from ...graph.stencil.plan import HaloPlan
    from ..array import Array

WORTH = 20
"""A snapshot may take one such part of the time."""
SECONDS, RATE = 2e-3, 1e9
"""What a snapshot takes: to begin with, and bytes a second."""
STEP, ELEMENT = 2e-5, 3e-10
"""What a step takes at least, and an operation for each element, as long as nobody knows better."""
TOGETHER, FEW = 5, 12
"""So many steps at most are done at once, of bodies of so few operations: these wait for memory."""
ROOM = 0.5
"""The part of an arena that a gang may need."""
MOST = 8 << 30
"""Bytes of which the driver takes no snapshot by itself."""


@dataclass(frozen=True)
class Looped(Deferred):
    """One of the arrays that a loop ends with.

    It counts as a user's function: what it makes isn't remembered, since its steps hold chunks.
    """

    @property
    def foreign(self) -> bool:
        """See `Op`."""
        return True


@dataclass
class SnapshotSchedule:
    """When to take the next one."""

    every: int | None
    nbytes: int
    steps: int = 0
    each: float = 0.0
    since: float = field(default_factory=time.monotonic)

    @property
    def _never(self) -> bool:
        """Whether only the user asks for some: they are too large, or clocks of several ranks would tell when."""
        return self.nbytes > MOST or names.agreed()

    @property
    def cost(self) -> float:
        """Seconds that one takes, about."""
        return SECONDS + self.nbytes / RATE

    def ahead(self, plan: HaloPlan) -> int:
        """Return how many steps to run until the next one, by what a step takes, or may take."""
        if self.every is not None:
            return self.every
        if self._never or session().embedded:
            return 1 << 62
        guess = STEP + math.prod(plan.shape) * len(plan.items) * ELEMENT
        return max(1, math.ceil(WORTH * self.cost / (self.each or guess)))

    def learn(self, steps: int) -> None:
        """Note how long so many steps have taken."""
        self.each = (time.monotonic() - self.since) / steps

    def due(self) -> bool:
        """Count a step; tell whether it is time."""
        self.steps += 1
        if self.every is not None:
            return self.steps >= self.every
        return not self._never and time.monotonic() - self.since > WORTH * self.cost

    def taken(self) -> None:
        """Begin to count again."""
        self.steps, self.since = 0, time.monotonic()


@dataclass(eq=False)
class Loop:
    """A loop that can be run: a fixed number of steps, or as long as a condition holds."""

    body: Trace
    condition: Trace | None
    steps: int
    snapshot: int | None
    _made: dict[int, Array] = field(default_factory=dict)
    _of: tuple[str, ...] = ()
    _lock: threading.RLock = field(default_factory=threading.RLock)

    @property
    def outside(self) -> tuple[Expr, ...]:
        """What is taken from outside, of which a placeholder's values come."""
        return self.body.outside + (self.condition.outside if self.condition is not None else ())

    def recipe(self, *arguments: Any) -> Generator[Any, Any, Array]:
        """Return one of the arrays that the loop ends with; all are made at once, and wait for being asked for.

        The last arguments are the operation's parameters: what names it, and which array is wanted.
        """
        yield from ()
        *operands, _, number = arguments
        with self._lock:
            of = tuple(array.expr.token for array in operands)
            if of != self._of or number not in self._made:
                self._of, self._made = (), {}
                carried = len(self.body.carried)
                self._made = dict(enumerate(self.run(list(operands[:carried]), list(operands[carried:]))))
                self._of = of
            return self._made.pop(number)

    def run(self, first: list[Array], outside: list[Array]) -> list[Array]:
        """Run the loop now; return what is carried, stored."""
        if self.condition is None and self.steps:
            with contextlib.suppress(NotLocal):
                plan = find_plan(self.body.roots, self.body.carried, self.body.captured)
                if plan_bytes(plan) < ROOM * session().room:
                    return run_halos(self, plan, first, outside)
        return run_steps(self, first, outside)


def run_halos(loop: Loop, plan: HaloPlan, first: list[Array], outside: list[Array]) -> list[Array]:
    """Run a loop whose body is local: as a gang, or as several, with snapshots in between."""
    state = [a.expr for a in first]
    halos = Halos(loop, plan, [a.expr for a in outside])
    snapshots = SnapshotSchedule(loop.snapshot, sum(e.nbytes for e in state))
    left = loop.steps
    while True:
        steps = min(left, snapshots.ahead(plan))
        state = halos.run(state, steps)
        left -= steps
        if not left and sum(bool(e.shape) for e in state) == 1:  # what needs it reads it as the gang leaves it
            return [wrap(e) for e in state]
        state = _persist([wrap(e) for e in state])
        _wait(state)
        if not left:
            return [wrap(e) for e in state]
        snapshots.learn(steps)
        state = _snapshot(state)
        snapshots.taken()


class Halos:
    """A loop's body as plans of one step and of several at once, which go over memory once."""

    def __init__(self, loop: Loop, plan: HaloPlan, outside: list[Expr]) -> None:
        self.loop, self.outside = loop, outside
        self.most = TOGETHER if not plan.calls and len(plan.items) <= FEW else 1
        self._runs: dict[int, HaloRun | None] = {1: HaloRun(plan, loop.body.carried, outside)}

    def run(self, state: list[Expr], steps: int) -> list[Expr]:
        """Return what is carried after so many steps."""
        for number in sorted(range(1, self.most + 1), key=lambda n: (steps % n > 0, -n)):
            times, rest = divmod(steps, number)
            run = self._run(number) if times else None
            if run is not None:
                state = run.run(state, times)
                return self.run(state, rest) if rest else state
        raise AssertionError(steps)

    def _run(self, number: int) -> HaloRun | None:
        if number not in self._runs:
            self._runs[number] = None
            body = self.loop.body
            with contextlib.suppress(NotLocal):
                plan = find_plan(unroll(body, number), body.carried, body.captured)
                self._runs[number] = HaloRun(plan, body.carried, self.outside)
        return self._runs[number]


def run_steps(loop: Loop, first: list[Array], outside: list[Array]) -> list[Array]:
    """Run a loop step by step."""
    kept = _persist([*first, *outside])
    state, captured = kept[: len(first)], kept[len(first) :]
    own = len(loop.body.captured)
    step = _stepper(loop.body, captured[:own])
    test = None if loop.condition is None else _stepper(loop.condition, captured[own:])
    counts = loop.body.counts
    snapshots = SnapshotSchedule(loop.snapshot, sum(e.nbytes for e in state))
    done = 0
    while done < loop.steps if test is None else _truth(test(state[counts:])):
        following = step(state)
        _wait(state)
        state, done = following, done + 1
        del following
        if snapshots.due():
            state = _snapshot(state)
            snapshots.taken()
    _wait(state)
    return [wrap(e) for e in state]


def _persist(arrays: Sequence[ArrayBase]) -> list[Expr]:
    return [a.expr for a in persist(*arrays)]


def _wait(state: Sequence[Expr]) -> None:
    for e in state:
        assert isinstance(e.pin, Pin)
        e.pin.wait()


def _truth(made: Sequence[Expr]) -> bool:
    return bool(evaluate(made)[0])


def _snapshot(state: Sequence[Expr]) -> list[Expr]:
    """Read what is carried; return it as data of the driver's, from which lineage begins."""
    return _persist([wrap(hosted(value, e)) for value, e in zip(evaluate(state), state, strict=True)])


def _stepper(trace: Trace, captured: Sequence[Expr]) -> Any:
    """Return a function that starts making a trace's results of what is carried, and returns them."""
    nodes = list(walk(list(trace.roots)))
    deferred = any(node.op.deferred and not isinstance(node.op, TracedArray) for node in nodes)
    if deferred or session().place[1] > 1:
        return lambda state: _persist([wrap(e) for e in trace.bind(state, captured)])
    own = dict(zip((e.token for e in trace.captured), captured, strict=True))
    known = {e.token for e in trace.carried} | own.keys()
    new_roots = [e for e in trace.roots if e.token not in known]
    repeated = Repeated(new_roots, known) if new_roots else None

    def start(state: Sequence[Expr]) -> list[Expr]:
        present = own | dict(zip((e.token for e in trace.carried), state, strict=True))
        if repeated is None:
            return [present[root.token] for root in trace.roots]
        if len({e.token for e in present.values()}) < len(present):  # a stage has each of its inputs once
            return _persist([wrap(e) for e in trace.bind(state, captured)])
        pins: dict[str, Any] = {token: e.pin for token, e in present.items()}
        pinned = repeated.start(session(), pins)
        return [_stepped(trace, root, pinned) if root.token in pinned else present[root.token] for root in trace.roots]

    return start


def _stepped(trace: Trace, root: Expr, found: dict[str, Pin]) -> Expr:
    kept = found[root.token]
    return Expr(Stepped(trace.operation), (), root.grid, root.dtype, root.origin, kept, kept.token)
