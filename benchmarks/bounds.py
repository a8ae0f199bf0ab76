"""The bound on memory beside what is taken, by each computation of the benchmarks' rows, or of the arena, embedded.

`python bounds.py [--only NAME;…] [--arena] [--quick]`. A line for the computation of each row that takes most, and for
each that takes more than its bound: bytes that lay in arenas and that the process allocated above what there was
before, the bound, and how many times that is. Each row has run before. Memory of libraries that Python isn't told of
isn't seen.
"""

from __future__ import annotations

import argparse
import gc
import json
import tempfile
import tracemalloc
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from windrow.scheduler.admission.bound import Room, find_bound
from windrow.scheduler.ledger.arena import ArenaAllocator
from windrow.scheduler.session.session import Session

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Found = list[tuple[int, int, str]]
"""Of each computation: bytes taken, the bound, the stage that is to blame."""


class Meter:
    """Measures each computation of one session, one at a time: what `persist` begins is waited for at once."""

    def __init__(self) -> None:
        self.found: Found = []
        self.most = 0

    @contextmanager
    def attached(self) -> Iterator[None]:
        """Measure what is computed meanwhile."""
        take, see, keep = ArenaAllocator._take, Session._see_through, Session.keep

        def noting(arena: ArenaAllocator, nbytes: int) -> int | None:
            offset = take(arena, nbytes)
            self.most = max(self.most, arena.used)
            return offset

        def seeing(session: Session, roots: list[Any], *others: Any) -> Any:
            results = {root.token: root.nbytes for root in roots} if not others else {}
            with self._measured(session, roots, results, ()):
                return see(session, roots, *others)

        def keeping(session: Session, roots: list[Any]) -> Any:
            with self._measured(session, roots, {}, [root.token for root in roots]):
                kept = keep(session, roots)
                for one in kept:
                    one.wait()
                return kept

        ArenaAllocator._take = noting  # type: ignore[method-assign]
        Session._see_through, Session.keep = seeing, keeping  # type: ignore[method-assign]
        tracemalloc.start()
        try:
            yield
        finally:
            tracemalloc.stop()
            ArenaAllocator._take = take  # type: ignore[method-assign]
            Session._see_through, Session.keep = see, keep  # type: ignore[method-assign]

    @contextmanager
    def _measured(
        self, session: Session, roots: list[Any], results: dict[str, int], stored: Sequence[str]
    ) -> Iterator[None]:
        """Measure what is computed meanwhile beside its bound."""
        ledger = session.engine.ledger
        stages = session.stages(roots)
        bound = find_bound(stages, results, Room(session.arenas, tuple(ledger.threads)), stored=stored)
        names = {stage.token: stage.name for stage in stages}
        self.most = before = sum(arena.used for arena in ledger.arenas)
        held = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        try:
            yield
        finally:
            process = tracemalloc.get_traced_memory()[1] - held
            self.found.append((self.most - before + process, bound.peak, names.get(bound.stage, "")))


def rows(quick: bool, only: set[str]) -> Iterator[tuple[str, Found]]:
    """Yield what each row of the benchmarks takes."""
    from rows import cases
    from systems.windrow_ import opened
    from workloads import QUICK, Sizes

    every = cases(QUICK if quick else Sizes())
    for name in [n for n in every if not only or n in only]:
        with opened("") as system:
            case = every[name](system)
            with suppress(NotImplementedError):
                case.run(case.fresh(2.0), 2.0)  # what is compiled and imported isn't counted
            meter, inputs = Meter(), case.fresh(1.0)
            with meter.attached(), suppress(NotImplementedError):
                case.run(inputs, 1.0)
            yield name, meter.found


def arena(quick: bool, only: set[str]) -> Iterator[tuple[str, Found]]:
    """Yield what each workload of the arena takes."""
    from arena.measuring import Order
    from arena.registry import load
    from arena.systems import opened

    with tempfile.TemporaryDirectory() as data:
        every = load()
        for name in [n for n in every if not only or n in only]:
            order = Order(name, "windrow", data, str(Path(data, "late")), 8 << 30, 600.0, 1, quick, 2)
            meter = Meter()
            for meters in (nullcontext(), meter.attached()) if quick else (meter.attached(),):
                # Small workloads run twice: what is compiled and imported isn't counted.
                with tempfile.TemporaryDirectory() as folder, opened(order, Path(folder)) as system:
                    system.empty()
                    for store in every[name].stores:
                        system.stored(store)
                    with meters:
                        every[name].run(system)
            yield name, meter.found


def main() -> None:
    """Do as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--arena", action="store_true")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    only = set(filter(None, options.only.split(";")))
    under = 0
    for name, found in (arena if options.arena else rows)(options.quick, only):
        gc.collect()
        below = [each for each in found if each[0] > each[1]]
        under += len(below)
        for taken, bound, blame in dict.fromkeys([*below, *sorted(found)[-1:]]):
            mib = f"{taken / 2**20:9.1f} {bound / 2**20:9.1f} MiB"
            print(f"{name:32} {mib} {bound / max(1, taken):6.2f} times, by {blame}", flush=True)
    print(json.dumps({"below what was taken": under}))


if __name__ == "__main__":
    main()
