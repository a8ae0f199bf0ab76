"""What a worker does: runs, times, peak, check."""

from __future__ import annotations

import faulthandler
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .registry import load
from .systems import opened

if TYPE_CHECKING:
    from collections.abc import Callable

ENOUGH = 20.0
"""Seconds of runs after which no further one begins."""


@dataclass(frozen=True)
class Order:
    """What a worker is asked for.

    Attributes
    ----------
    workload, system
        Names.
    data
        The folder of the data sets.
    late
        A file for the stacks of a run that takes more than `limit` seconds.
    """

    workload: str
    system: str
    data: str
    late: str
    memory: int
    limit: float
    repeats: int
    small: bool


def measure(order: Order, peak: Callable[[], int]) -> dict[str, Any]:
    """Run the workload, and check what the last run gave."""
    workload = load()[order.workload]
    times: list[float] = []
    first: float | None = None
    with (
        tempfile.TemporaryDirectory(prefix="arena-") as folder,
        Path(order.late).open("w") as late,
        opened(order, Path(folder)) as system,
    ):
        found = None
        while len(times) < order.repeats and sum(times) < ENOUGH:
            found = None
            system.turn = len(times)
            system.empty()
            faulthandler.dump_traceback_later(order.limit, exit=True, file=late)
            begin = time.perf_counter()
            found = workload.run(system)
            times.append(time.perf_counter() - begin)
            first = system.seconds_to_first(begin) if len(times) == 1 else first
        most = peak()
        faulthandler.dump_traceback_later(2 * order.limit, exit=True, file=late)
        wrong = ""
        try:
            workload.check(system, found)
        except AssertionError as error:
            wrong = str(error).strip() or repr(error)
        faulthandler.cancel_dump_traceback_later()
    return {"times": times, "first_task": first, "peak": most, "wrong": wrong}
