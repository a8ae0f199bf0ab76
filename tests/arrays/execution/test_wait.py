"""wait: until what was persisted is there."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import numpy as np
import pytest

import windrow as wr

PROGRAM = """
import time
import windrow as wr

def slow(block):
    time.sleep(0.3)
    return block + 1

x = wr.map_blocks(slow, wr.ones(4, chunks=1), dtype=float).persist()
try:
    wr.wait(x, timeout=0.05)
except TimeoutError as error:
    print("slow" in str(error))
begin = time.perf_counter()
wr.wait(x)
kept = wr.cluster()._session.engine.ledger.records[x.expr.token].complete
print(kept, time.perf_counter() - begin > 0.1, "persisted" in x._repr_html_())
bad = wr.map_blocks(lambda b: 1 / 0, wr.ones(4), dtype=float).persist()
try:
    wr.wait(bad)
except ZeroDivisionError:
    print("raised")
"""

LOST = """
import time
from pathlib import Path

import windrow as wr
from support.ranks import await_losses, kill_a_rank

gate = Path("closed")

def slow(block):
    time.sleep(0.03)
    while gate.exists():
        time.sleep(0.01)
    return block + 1

x = wr.map_blocks(slow, wr.ones(30, chunks=1), dtype=float).persist()
wr.wait(x)
victim = x.owners().max()
gate.touch()
kill_a_rank(lambda rows: rows[victim - 1])
await_losses()
try:
    wr.wait(x, timeout=0.05)
except wr.WaitTimeout:
    print("not yet")
gate.unlink()
wr.wait(x, timeout=30)
print(victim > 0, sorted(set(x.owners().tolist()) & {-1, victim}))
wr.wait(x, timeout=0)
"""


@pytest.fixture
def gate(tmp_path):
    """A file that blocks wait for; it is there at the end at the latest."""
    yield tmp_path / "open"
    (tmp_path / "open").touch()


def gated(gate):
    """An array whose blocks wait for a gate."""
    path = str(gate)

    def block(x):
        import os
        import time

        while not os.path.exists(path):
            time.sleep(0.01)
        return x

    return wr.map_blocks(block, wr.ones(4, chunks=2), dtype=float)


def test_waits_until_all_is_stored(gate):
    x = gated(gate).persist()
    y = (x + 1) * 2
    assert "persisting" in x._repr_html_()
    with pytest.raises(TimeoutError, match=r"wait: after 0.05 s 1 of 1 .*block.*, made at .*test_wait.*of 2 tasks"):
        wr.wait(y, timeout=0.05)
    with pytest.raises(wr.WaitTimeout):
        wr.wait({"all": [x]}, timeout=0)
    threading.Timer(0.2, gate.touch).start()
    assert wr.wait([x, (y,)]) is None
    assert "persisted" in x._repr_html_()
    assert np.array_equal(y.compute(), np.full(4, 4.0))
    wr.wait(x, timeout=0.001)


def test_raises_what_stopped_the_computation():
    x = wr.map_blocks(lambda b: 1 / 0, wr.ones(4, chunks=2), dtype=float).persist()
    with pytest.raises(ZeroDivisionError):
        wr.wait(x)
    with pytest.raises(ZeroDivisionError):
        wr.wait(x + 1, timeout=5)


def test_what_was_not_persisted_is_refused():
    x = wr.ones(4)
    kept = x.persist()
    with pytest.raises(wr.ArgumentError, match=r"wait: argument 'arrays'.*persist"):
        wr.wait(x)
    with pytest.raises(wr.ArgumentError, match="wait: argument 'arrays'"):
        wr.wait(kept, np.ones(3))
    with pytest.raises(wr.ArgumentError, match="wait"):
        wr.wait()
    for wrong in (-1, "3", True, float("nan")):
        with pytest.raises(wr.ArgumentError, match="wait: argument 'timeout'"):
            wr.wait(kept, timeout=wrong)
    wr.wait(kept, timeout=float("inf"))
    kept.release()
    with pytest.raises(wr.ArgumentError, match="wait"):
        wr.wait(kept)


@pytest.mark.ranks
def test_on_ranks(launch, tmp_path):
    path = Path(tmp_path) / "wait.py"
    path.write_text(PROGRAM)
    begin = time.monotonic()
    ended = launch(3, str(path))
    assert ended.status == 0, ended.err[-2000:]
    assert ended.out.split() == ["True", "True", "True", "True", "raised"]
    assert time.monotonic() - begin < 40


@pytest.mark.ranks
def test_chunks_that_were_lost_are_waited_for(launch):
    ended = launch(3, "-c", LOST)
    assert ended.status == 0, ended.err[-2000:]
    assert ended.out.splitlines() == ["not yet", "True []"]
