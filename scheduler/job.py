"""Jobs: what a user's call asked for, and how the engine tells the calling thread about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..graph.grid import Index
    from ..graph.stage import Stage
    from .ledger import Claim

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

    With `results` (a user's array for each target) the chunks are gathered; else they are held. `sinks` are the
    results that kernels write themselves, by token: nobody else may read such a stage. Who waits for several jobs at
    once gives them one `listener`, which is told instead of `arrivals`.
    """

    stages: list[Stage]
    targets: list[str]
    results: list[Array] | None
    sinks: dict[str, Array] = field(default_factory=dict)
    arrivals: SimpleQueue[Arrival | None] = field(default_factory=SimpleQueue)
    finished: bool = False
    error: BaseException | None = None
    total: int = 0
    done: int = 0
    tokens: set[str] = field(default_factory=set)
    claims: dict[str, Claim] = field(default_factory=dict)
    held: list[str] = field(default_factory=list)
    listener: SimpleQueue[tuple[Job, Arrival | None]] | None = None

    def tell(self, arrival: Arrival | None = None) -> None:
        """Wake the calling thread."""
        if self.listener is not None:
            self.listener.put((self, arrival))
        else:
            self.arrivals.put(arrival)

    def fail(self, error: BaseException) -> None:
        """End the job with an exception."""
        if not self.finished:
            self.error, self.finished = error, True
            self.tell()


@dataclass(frozen=True, slots=True)
class Submit:
    """Request: run a job."""

    job: Job


@dataclass(frozen=True, slots=True)
class Cancel:
    """Request: drop a job; running blocks finish and are dropped."""

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
class Uncache:
    """Request: the user's array behind a stage is gone; what was sent of it need not be kept."""

    token: str


@dataclass(frozen=True, slots=True)
class Ask:
    """Request: call `question(engine)` on the engine's thread; the answer comes by the queue."""

    question: Any
    answer: SimpleQueue[Any]


@dataclass(frozen=True, slots=True)
class Close:
    """Request: end the engine."""


Request = Submit | Cancel | Gathered | Release | Uncache | Ask | Close
