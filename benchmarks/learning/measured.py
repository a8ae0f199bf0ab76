"""What every training workload shares: its data, the cluster, and a clock that stands still while a model is scored."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    import windrow as wr

Values = np.ndarray[Any, Any]


@dataclass
class Measured:
    """What a worker found.

    Attributes
    ----------
    seconds : float
        Of one epoch, or of the whole fit: as the workload says.
    metric : float
        On rows that the model didn't see, or what the method minimises.
    course : list of (float, float)
        Seconds since the fit began and the metric, after each epoch.
    told : dict
        More figures.
    """

    seconds: float
    metric: float
    course: list[tuple[float, float]] = field(default_factory=list)
    told: dict[str, float] = field(default_factory=dict)

    def plain(self) -> dict[str, Any]:
        """Return it for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Asked:
    """What a worker is asked for: small sizes or not, and the seconds after which a course may end."""

    quick: bool = False
    until: float = 0.0

    def rows(self, count: int) -> int:
        """Return the number of rows to take."""
        return count // 100 if self.quick else count


class Course:
    """Times epochs and scores after each, off the clock."""

    def __init__(self, score: Any) -> None:
        self.score = score
        self.points: list[tuple[float, float]] = []
        self._begin, self._off = time.perf_counter(), 0.0

    def elapsed(self) -> float:
        """Seconds on the clock."""
        return time.perf_counter() - self._begin - self._off

    def tell(self, model: Any) -> float:
        """Enter an epoch; return the seconds until its end."""
        at = self.elapsed()
        begin = time.perf_counter()
        self.points.append((at, float(self.score(model))))
        self._off += time.perf_counter() - begin
        return at

    def epoch(self) -> float:
        """Return the least seconds of an epoch after the first, which compiles."""
        ends = [at for at, _ in self.points]
        return min(b - a for a, b in pairwise(ends)) if len(ends) > 1 else ends[0]

    def measured(self, **told: float) -> Measured:
        """Return what was found."""
        return Measured(self.epoch(), self.points[-1][1], self.points, told)


@contextmanager
def ranks() -> Iterator[Any]:
    """Give `windrow` with a cluster of two ranks."""
    import windrow

    with windrow.Cluster(ranks=2):
        yield windrow


def kept(xp: Any, *arrays: Values) -> list[wr.Array]:
    """Bring arrays to the ranks, in eight chunks of rows, and wait until they are there."""
    made = [xp.asarray(a).rechunk({0: -(-len(a) // 8)}).persist() for a in arrays]
    for one in made:
        one.expr.pin.wait()
    return made
