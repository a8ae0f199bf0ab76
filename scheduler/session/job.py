"""Jobs: what a user's call asked for, and how the engine tells the calling thread about it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...graph.chunks.grid import Index
    from ...graph.lowering.stage import Reads, Stage
    from ..engine.engine import Engine
    from ..ledger.stage_record import Claim

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Arrival:
    """Chunks of one target that can be gathered: slabs as bytes (None: the kernels wrote into the result itself)."""

    target: int
    stage: Stage
    tasks: Index
    slabs: Sequence[Array] | Array | None


@dataclass(eq=False)
class Job:
    """Stages to run and the tokens that are wanted.

    With `results` (a user's array for each target) the chunks are gathered; else those of the one target are held.
    `reads` has what the stages read, by token, as `graph.lowering.stage.relations` finds it. `sinks` are the results
    that kernels write themselves, by token: nobody else may read such a stage. `cancelled` is set by the calling
    thread, at once.
    """

    stages: list[Stage]
    targets: list[str]
    results: list[Array] | None
    reads: dict[str, Reads] = field(default_factory=lambda: {})
    sinks: dict[str, Array] = field(default_factory=lambda: {})
    arrivals: SimpleQueue[Arrival | None] = field(default_factory=lambda: SimpleQueue())
    finished: bool = False
    error: BaseException | None = None
    total: int = 0
    done: int = 0
    relied: list[Job] = field(default_factory=lambda: [])
    """What makes the persisted arrays that the stages read."""
    cancelled: bool = False
    name: str = ""
    """What makes the targets, for people."""
    blocks_per_task: int = 1
    """Blocks that a task of the held target covers."""
    generation: int = 0
    """How many persisted arrays, each made from the one before, the held target is the last of."""
    past: float = 0.0
    """Seconds that it took to make what the target was made from; `seconds`: the target itself."""
    seconds: float = 0.0
    begun: float = field(default_factory=time.monotonic)
    restore: Stage | None = None
    """What makes an array again from the copy that the target is; see `lineage_checkpoint`."""
    returned: list[bytes] = field(default_factory=lambda: [])
    """What the members of a gang returned, pickled, rank by rank."""
    claims: dict[str, Claim] = field(default_factory=lambda: {})
    held: bool = False

    def tell(self, arrival: Arrival | None = None) -> None:
        """Wake the calling thread."""
        self.arrivals.put(arrival)

    def fail(self, error: BaseException) -> None:
        if not self.finished:
            self.error, self.finished = error, True
            self.tell()

    def spoil(self, error: BaseException) -> None:
        """End the job with an exception, though it may be through: what it holds was lost and can't be made again."""
        self.fail(error)
        self.error = self.error or error


@dataclass(frozen=True, slots=True)
class Submit:
    """Request: run jobs; those behind the first may use its stages."""

    jobs: tuple[Job, ...]


@dataclass(frozen=True, slots=True)
class EndJob:
    """Request: drop a job; what runs for it alone is interrupted."""

    job: Job


@dataclass(frozen=True, slots=True)
class Gathered:
    """Request: these chunks of a job's targets have been copied."""

    job: Job
    token: str
    tasks: Index


@dataclass(frozen=True, slots=True)
class Release:
    """Request: free the chunks that a job holds; cancel it where it isn't through."""

    job: Job


@dataclass(frozen=True, slots=True)
class WatchRequest:
    """Request: count a job's tasks; somebody waits for it."""

    job: Job


@dataclass(frozen=True, slots=True)
class Uncache:
    """Request: the user's array behind a stage is gone; what was sent of it need not be kept."""

    token: str


@dataclass(frozen=True, slots=True)
class Ask:
    """Request: call `question(engine)` on the engine's thread; the answer comes by the queue."""

    question: Callable[[Engine], object]
    answer: SimpleQueue[tuple[Any, BaseException | None]]


@dataclass(frozen=True, slots=True)
class Close:
    """Request: end the engine."""


Request = Submit | EndJob | Gathered | Release | WatchRequest | Uncache | Ask | Close


def post(engine: Engine, act: Callable[[Engine], object]) -> None:
    """Have `act(engine)` called on the engine's thread, unless it is over; from any thread, and nobody waits."""
    if not engine.over:
        engine.request(Ask(act, SimpleQueue()))
