"""Ctrl-C while a computation is built or planned: that ends, and the next one begins at once."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest

import windrow as wr
from windrow.graph.stage import Stage
from windrow.scheduler.ledger import Ledger

pytestmark = pytest.mark.timeout(60)


@pytest.fixture
def interrupts():
    """SIGUSR1 as a Ctrl-C."""

    def interrupt(number, frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGUSR1, interrupt)
    yield
    signal.signal(signal.SIGUSR1, before)


def press(over, delay):
    """Press Ctrl-C after a while, and again each second until it is over."""
    while not over.wait(delay):
        os.kill(os.getpid(), signal.SIGUSR1)
        delay = 1.0


def chain(n):
    """As many stages as that."""
    x = wr.random.default_rng(1).random((60, 60), chunks=20)
    for _ in range(n):
        x = x @ x
    return x


@pytest.mark.parametrize("phase", ["add", "plan"])
def test_the_engine_stops_planning(monkeypatch, interrupts, phase):
    whole = getattr(Ledger, phase)
    asked: list[bool] = []

    def watched(self, *args):
        *args, stop = args or [None]
        if stop is None:
            return whole(self)

        def asking():
            if len(asked) == 5:
                os.kill(os.getpid(), signal.SIGUSR1)
                deadline = time.monotonic() + 10
                while not stop() and time.monotonic() < deadline:
                    time.sleep(0.005)
            asked.append(stop())
            return asked[-1]

        return whole(self, *args, asking)

    with wr.Cluster(threads=2, memory="64 MiB") as cluster:
        monkeypatch.setattr(Ledger, phase, watched)
        with pytest.raises(KeyboardInterrupt):
            chain(40).compute()
        deadline = time.monotonic() + 10
        while cluster._session.engine.ask(lambda engine: len(engine.ledger.records)) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert asked == [False] * 5 + [True]
        monkeypatch.undo()
        assert np.isfinite(float(chain(2).sum()))
        assert cluster._session.engine.ask(lambda engine: (len(engine.jobs), len(engine.ledger.active))) == (0, 0)


def test_what_is_read_is_found_on_the_calling_thread(monkeypatch):
    """So that Ctrl-C ends it, and the engine goes on meanwhile."""
    threads = set()
    found = Stage.all_reads

    def noted(self, folds):
        threads.add(threading.current_thread())
        return found(self, folds)

    monkeypatch.setattr(Stage, "all_reads", noted)
    with wr.Cluster(threads=2, memory="64 MiB"):
        x = wr.random.default_rng(1).random((60, 60), chunks=20).persist()
        wr.wait((x @ x).persist())
        (x @ x.T).sum().compute()
    assert threads == {threading.main_thread()}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_interrupts_at_any_moment():
    """Python loses a Ctrl-C that comes while something is finalized: it is pressed again."""
    armed = False

    def interrupt(number, frame):
        if armed:
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGUSR1, interrupt)
    with wr.Cluster(threads=2, memory="64 MiB") as cluster:
        ended = 0
        for k in range(12):
            over = threading.Event()
            presses = threading.Thread(target=press, args=(over, 0.002 + 0.01 * k))
            presses.start()
            try:
                armed = True
                while True:
                    chain(30).compute()
            except KeyboardInterrupt:
                armed = False
            over.set()
            presses.join()
            ended += 1
            assert float(wr.ones(10).sum()) == 10
        assert ended == 12

        def state(engine):
            ledger = engine.ledger
            return [len(engine.jobs), len(ledger.batches), sum(map(len, ledger.given)), len(ledger.records)]

        deadline = time.monotonic() + 10
        while any(cluster._session.engine.ask(state)) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert cluster._session.engine.ask(state) == [0, 0, 0, 0]
    signal.signal(signal.SIGUSR1, before)
