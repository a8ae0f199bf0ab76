"""Lines of the scheduler and of what builds graphs that run for each step of a loop, or for each result, at n and 4 n.

Lines are counted, since seconds tell of the machine. Prints one JSON object.
"""

from __future__ import annotations

import json
import sys
import threading
from collections import Counter

import numpy as np

import windrow as wr

WATCHED = tuple(
    f"windrow.{name}"
    for name in (
        "graph.expr.expr", "graph.lowering.lower", "graph.passes.simplify", "arrays.execution.deferred",
        "arrays.execution.compute", "scheduler.session.cluster", "scheduler.session.job_index",
        "scheduler.ledger.ledger", "scheduler.ledger.planning", "scheduler.ledger.ready_queue",
        "scheduler.ledger.stage_record",
    )
)  # fmt: skip
LINES: Counter[str] = Counter()


def trace(frame, event, argument):
    """Count lines in the modules that are watched."""
    name = frame.f_globals.get("__name__", "")
    if name not in WATCHED:
        return None

    def line(frame, event, argument):
        LINES[name] += event == "line"
        return line

    return line


def counted(work, n: int) -> int:
    """Return the lines that some work takes."""
    LINES.clear()
    work(n)
    wr.cluster()._session.engine.ask(lambda engine: None)
    return sum(LINES.values())


def persisted(n: int) -> None:
    """Run ahead of the engine, each step on what the last one keeps."""
    matrix = wr.from_array(np.eye(50) * 0.5, chunks=25)
    x = wr.from_array(np.ones(50), chunks=25)
    for _ in range(n):
        x = (matrix @ x + 1).persist()
    assert np.allclose(x.compute(), 2 - 0.5**n)


def waited(n: int) -> None:
    """The same, where each step is waited for."""
    x = wr.ones(100, chunks=25)
    for _ in range(n):
        x = (x + 1).persist()
        wr.wait(x)
    assert float(x[0]) == n + 1


def together(n: int) -> None:
    """Many results at once."""
    made = wr.compute(*[wr.full(10, i) + 1 for i in range(n)])
    assert [int(a[0]) for a in made] == list(range(1, n + 1))


def kept_together(n: int) -> None:
    """Many persisted arrays at once, and their release."""
    kept = wr.persist(*[wr.full(10, i) + 1 for i in range(n)])
    wr.wait(*kept)


if __name__ == "__main__":
    threading.settrace(trace)
    with wr.Cluster(ranks=int(sys.argv[1]) if len(sys.argv) > 1 else None, memory="64 MiB"):
        threading.settrace(None)
        sys.settrace(trace)
        grown = {}
        for work in (persisted, waited, together, kept_together):
            work(10)
            grown[work.__name__] = [counted(work, n) for n in (40, 160)]
        wr.cluster()._session.engine.ask(lambda engine: None)
        left = wr.cluster()._session.engine.ask(lambda engine: len(engine.ledger.records))
        sys.settrace(None)
    print(json.dumps({"lines": grown, "left": left}))
