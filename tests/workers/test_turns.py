"""Two threads take turns in MPI."""

from __future__ import annotations

import threading
import time

from support.waiting import until
from windrow.workers.mpi.messages import mpi_lock as turns
from windrow.workers.mpi.messages.mpi_lock import MpiLock


def test_one_is_alone_while_the_other_goes_on_often():
    both, inside, counted = MpiLock(), [], []
    ended = threading.Event()

    def engine():
        while not ended.is_set():
            with both:
                with both:  # nested, as a message that is answered at once
                    inside.append(1)
                    time.sleep(0)
                counted.append(1)
                inside.pop()

    thread = threading.Thread(target=engine, daemon=True)
    thread.start()
    met = []
    for _ in range(300):
        with both.alone():
            met.append(len(inside))
            time.sleep(1e-4)
            met.append(len(inside))
        before = len(counted)
        until(lambda before=before: len(counted) > before, "it goes on", pause=1e-5)
    ended.set()
    thread.join(5)
    assert not any(met)


def test_neither_waits_for_ever(monkeypatch):
    monkeypatch.setattr(turns, "LIMIT", 0.05)
    both = MpiLock()
    release = threading.Event()

    def late():
        with both.alone():
            release.wait(30)

    thread = threading.Thread(target=late, daemon=True)
    thread.start()
    until(lambda: both._until, "the other one waits", pause=1e-4)
    with both:
        assert thread.is_alive(), "who agrees waits for a rank that is late: the engine goes on"
    with both:
        pass
    release.set()
    thread.join(30)
    with both:
        held = threading.Thread(target=lambda: both.alone().__enter__(), daemon=True)
        held.start()
        held.join(30)
        assert not held.is_alive()
