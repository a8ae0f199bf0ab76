"""What a worker does: runs, times, peak, check."""

from __future__ import annotations

import faulthandler
import tempfile
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .registry import load
from .systems import opened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LIBRARIES = ("xarray", "pandas", "zarr", "flox.xarray")
"""What workloads use: no time and no memory of one system is its import."""
ENOUGH = 12.0
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
    cores
        Threads of a system, its ranks or its workers.
    """

    workload: str
    system: str
    data: str
    late: str
    memory: int
    limit: float
    repeats: int
    small: bool
    cores: int


@contextmanager
def counted() -> Iterator[list[int]]:
    """Give a list that grows by one for each stored chunk, of more than one axis, that this process decodes."""
    from zarr.core.codec_pipeline import BatchedCodecPipeline

    kinds: list[Any] = [BatchedCodecPipeline]
    with suppress(ImportError):
        from zarrs.pipeline import ZarrsCodecPipeline

        kinds.append(ZarrsCodecPipeline)
    decodes: list[int] = []
    before = [kind.read for kind in kinds]

    def counting(read: Any) -> Any:
        async def noted(self: Any, batch: Any, *args: Any, **more: Any) -> Any:
            batch = list(batch)
            decodes.extend(1 for _, spec, *_ in batch if len(spec.shape) > 1)
            return await read(self, batch, *args, **more)

        return noted

    for kind, read in zip(kinds, before, strict=True):
        kind.read = counting(read)
    try:
        yield decodes
    finally:
        for kind, read in zip(kinds, before, strict=True):
            kind.read = read


def measure(order: Order, leave: Callable[[], int]) -> dict[str, Any]:
    """Run the workload, and check what the last run gave; `leave` tells the peak, when all runs are over."""
    workload = load()[order.workload]
    for name in LIBRARIES:
        import_module(name)
    times: list[float] = []
    cpu: list[float] = []
    first: float | None = None
    with (
        tempfile.TemporaryDirectory(prefix="arena-") as folder,
        Path(order.late).open("w") as late,
        counted() as decodes,
        opened(order, Path(folder)) as system,
    ):
        for name in workload.stores:
            system.stored(name)
        for name in workload.held:
            system.loaded(name)
        found = None
        while len(times) < order.repeats and sum(times) < ENOUGH:
            found = None
            system.turn = len(times)
            system.empty()
            faulthandler.dump_traceback_later(order.limit, exit=True, file=late)
            decodes.clear()
            begin, spent = time.perf_counter(), time.process_time()
            found = workload.run(system)
            times.append(time.perf_counter() - begin)
            cpu.append(time.process_time() - spent)
            first = system.seconds_to_first(begin) if len(times) == 1 else first
        most, decoded = leave(), len(decodes)
        faulthandler.dump_traceback_later(2 * order.limit, exit=True, file=late)
        wrong = ""
        try:
            workload.check(system, found)
        except AssertionError as error:
            wrong = str(error).strip() or repr(error)
        faulthandler.cancel_dump_traceback_later()
    figures = {"times": times, "cpu": cpu, "decoded": decoded, "first_task": first, "peak": most}
    return {"figures": figures, "wrong": wrong}
