"""Ctrl-C while a computation is built or planned: that ends, and the next one begins at once."""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import threading
import time
from contextlib import ExitStack
from functools import partial

import numpy as np
import pytest

import windrow as wr
from support.each_call import interrupt_at_each_call
from support.waiting import until
from windrow.graph.lowering.stage import Stage
from windrow.scheduler.ledger.ledger import Ledger

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
                until(stop, "the interrupt has come")
            asked.append(stop())
            return asked[-1]

        return whole(self, *args, asking)

    with wr.Cluster(threads=2, memory="64 MiB") as cluster:
        monkeypatch.setattr(Ledger, phase, watched)
        with pytest.raises(KeyboardInterrupt):
            chain(40).compute()
        until(lambda: not cluster._session.engine.ask(lambda engine: len(engine.ledger.records)), "all is forgotten")
        assert asked == [False] * 5 + [True]
        monkeypatch.undo()
        assert np.isfinite(float(chain(2).sum()))
        assert cluster._session.engine.ask(lambda engine: (len(engine.jobs), len(engine.ledger.active))) == (0, 0)


KEEPS = {"persist": lambda x: (x + 1).persist(), "submit": lambda x: wr.submit(len, x.blocks[0])}


@pytest.mark.parametrize("act", KEEPS.values(), ids=KEEPS)
def test_an_interrupt_at_any_call_leaves_no_chunk(act):
    with wr.Cluster(threads=2, memory="64 MiB") as cluster:
        x = wr.arange(8, chunks=4).persist()
        wr.wait(x)
        assert interrupt_at_each_call(partial(act, x), "session/session.py", "session/pin.py") > 8
        del x
        until(lambda: cluster.info()[0]["chunks"] == 0, "all chunks are gone")


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

        until(lambda: not any(cluster._session.engine.ask(state)), lambda: cluster._session.engine.ask(state))
    signal.signal(signal.SIGUSR1, before)


gate: list[int] = []
"""A pipe's reading end: who reads it waits until its other end is closed."""
begun = threading.Event()
"""A block has begun."""


def await_block():
    """Wait until a block runs, and a little for it to be in its call."""
    assert begun.wait(20)
    time.sleep(0.2)


def loop(block):
    begun.set()
    while True:
        pass


@pytest.fixture
def through():
    """Return what lets blocks end that can't be interrupted."""
    reading, writing = os.pipe()
    gate[:] = [reading]
    begun.clear()
    ends = ExitStack()
    ends.callback(os.close, writing)
    with ends:
        yield ends.close
    os.close(reading)


def sleep(block):
    begun.set()
    os.read(gate[0], 1)
    return block


def call(block):
    begun.set()
    ctypes.CDLL(None).read(gate[0], ctypes.create_string_buffer(1), 1)
    return block


def late(block):
    await_block()
    raise ValueError("this one")


def state(engine):
    """What is under way, and in use."""
    ledger = engine.ledger
    used = sum(arena.used for arena in ledger.arenas)
    return [
        len(engine.jobs),
        len(ledger.batches),
        len(ledger.strays),
        len(ledger.records),
        len(ledger.slabs.doomed),
        used,
    ]


def settle(cluster):
    """Wait until nothing is under way any more."""
    until(lambda: not any(cluster._session.engine.ask(state)), lambda: cluster._session.engine.ask(state))


def give_up(interrupts, x):
    """Ctrl-C when blocks run."""

    def press_once():
        await_block()
        os.kill(os.getpid(), signal.SIGUSR1)

    threading.Thread(target=press_once).start()
    with pytest.raises(KeyboardInterrupt):
        x.compute()


def time_out(interrupts, x):
    """An awaited array whose time is over."""

    async def wait():
        async with asyncio.timeout(None) as limit:
            waiting = asyncio.ensure_future(asyncio.to_thread(await_block))
            waiting.add_done_callback(lambda _: limit.reschedule(asyncio.get_running_loop().time()))
            await x

    with pytest.raises(TimeoutError):
        asyncio.run(wait())


def release(interrupts, x):
    """A persisted array that nobody holds any more."""
    kept = x.persist()
    await_block()
    del kept


def fail(interrupts, x):
    """Another block's error."""
    with pytest.raises(ValueError, match="this one"):
        wr.compute(x, wr.map_blocks(late, wr.ones(1), dtype=float))


@pytest.mark.parametrize("function", [loop, sleep, call])
@pytest.mark.parametrize("end", [give_up, time_out, release, fail])
def test_what_runs_for_nobody_gives_its_threads_back(interrupts, through, end, function):
    """At once: what is asked for next doesn't wait for blocks that run until then, or for ever."""
    before = threading.active_count()
    with wr.Cluster(threads=2, memory="64 MiB") as cluster:
        end(interrupts, wr.map_blocks(function, wr.ones(3 if end is fail else 8, chunks=1) + 1, dtype=float))
        assert wr.map_blocks(np.sqrt, wr.full(8, 4.0, chunks=1), dtype=float).sum().compute() == 16
        waits = cluster._session.engine.ask(lambda engine: len(engine.ledger.strays))
        assert bool(waits) == (function is not loop)  # they still wait
        through()
        settle(cluster)
    until(lambda: threading.active_count() <= before, threading.enumerate)


@pytest.mark.timeout(120)  # on a machine with much else to do
def test_interrupts_of_running_blocks_leave_nothing_behind(interrupts):
    def either(block):
        time.sleep(0.3) if block[0] % 2 else loop(block)
        return block

    def compute_threads():
        """Those of other tests' engines aren't counted."""
        return [t for t in threading.enumerate() if t.name.startswith("windrow-compute") and t not in others]

    others = set(threading.enumerate())
    with wr.Cluster(threads=2, memory="64 MiB") as cluster:
        x = wr.map_blocks(either, wr.arange(8, chunks=1) + 1, dtype=float)
        for k in range(100):
            timer = threading.Timer(0.02 + 0.001 * (k % 10), os.kill, (os.getpid(), signal.SIGUSR1))
            try:
                timer.start()
                x.compute()
                pytest.fail("it ended")
            except KeyboardInterrupt:  # maybe before it computes
                timer.join()
        assert wr.ones(10, chunks=1).sum().compute() == 10
        settle(cluster)
        until(lambda: len(compute_threads()) == 2, compute_threads)


def test_ctrl_c_while_the_engine_is_looked_at(monkeypatch, interrupts):
    """Python takes a thread for ended after a Ctrl-C amid `Thread.is_alive`: nobody asks that of the engine's."""
    with wr.Cluster(threads=1, memory="64 MiB") as cluster:
        monkeypatch.setattr(cluster._session.engine.thread, "is_alive", lambda: pytest.fail("it was asked"))
        assert wr.map_blocks(lambda b: time.sleep(0.3) or b, wr.ones(1), dtype=float).compute() == 1


EXIT = """
import os, signal, threading, time
import numpy as np, windrow as wr
wr.map_blocks(lambda b: np.linalg.svd(np.ones((1500, 1500)))[1][:1], wr.ones(4, chunks=1), dtype=float).persist()
time.sleep(0.3)
raise SystemExit(7)
"""


def test_a_process_ends_amid_a_call_of_a_library(launch):
    """OpenBLAS would wait at C's own exit for what runs in a thread that has ended."""
    for _ in range(2):
        assert launch(0, "-c", EXIT, limit=40).status == 7


@pytest.mark.parametrize("ranks", [0, pytest.param(2, marks=pytest.mark.ranks)])
def test_what_a_block_raises_late_is_not_told_to_who_asks_later(launch, tmp_path, ranks):
    """A block of a computation that has failed raises when the same is already computed anew."""
    script = tmp_path / "s.py"
    script.write_text(LATE_ERROR)
    ended = launch(ranks, str(script), str(tmp_path), str(ranks))
    assert ended.status == 0, ended.err
    assert ended.last == "[2, 3]"


LATE_ERROR = """
import sys, threading, time
from contextlib import nullcontext
from pathlib import Path
import windrow as wr
from support.waiting import until

folder = Path(sys.argv[1])
(folder / "broken").touch()

def wait_for(name):
    until((folder / name).exists, name, pause=0.001)

def work(block, folder=folder, wait_for=wait_for):
    if not (folder / "broken").exists():
        return block + 1
    if block[0] == 1:
        wait_for("begun")
        raise ValueError("the first one's")
    (folder / "begun").touch()
    try:
        wait_for("go")
    except BaseException:  # an interrupt comes as another error
        wait_for("go")
    raise ValueError("the late one's")

if __name__ == "__main__":
    with nullcontext() if int(sys.argv[2]) else wr.Cluster(threads=2):
        x = wr.arange(1, 3, chunks=1).map_blocks(work, dtype=int)
        try:
            x.compute()
        except ValueError as error:
            assert "the first one's" in str(error), error
        (folder / "broken").unlink()
        again = threading.Thread(target=lambda: print(x.compute().tolist()))
        again.start()
        time.sleep(0.1)  # the late one still runs, most often
        (folder / "go").touch()
        again.join()
"""
