"""Users' functions are interrupted in their threads, nothing else is; what takes no notice is left to its thread."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import Future

import numpy as np
import pytest

from support.waiting import until
from windrow.workers.rank.compute import ComputeThreads
from windrow.workers.rank.interrupts import Interrupted, forget, interrupt, interruptible
from windrow.workers.wire.embedded import EmbeddedTransport
from windrow.workers.wire.protocol import Done, Left

pytestmark = pytest.mark.timeout(60)


def call(number, function):
    with interruptible(number):
        return function()


def interrupt_each(poll, count):
    """Interrupt a thread's calls `poll(k, begun)`, each once it has put its number into `begun`; return which ended."""
    ended, begun = [], [-1]  # an interrupt amid an Event's method would leave its lock closed

    def run():
        for k in range(count):
            try:
                call(k, lambda k=k: poll(k, begun))
            except Interrupted:
                forget(threading.get_ident())
                ended.append(k)

    thread = threading.Thread(target=run)
    thread.start()
    for k in range(count):
        until(lambda k=k: begun[0] == k, f"call {k} has begun", pause=0.001)
        interrupt(thread.ident, k)
        until(lambda k=k: len(ended) > k, f"call {k} has ended", pause=0.001)
    thread.join(20)
    return ended


def test_a_loop_is_interrupted_wherever_it_is():
    def loop(k, begun):
        while True:
            begun[0] = k

    assert interrupt_each(loop, 100) == list(range(100))


def test_an_interrupt_never_reaches_what_comes_after():
    """Functions are through at about the time when they are interrupted: the rest of the thread sees nothing of it."""
    number, stray, outcomes = [0], [], {"through": 0, "interrupted": 0}

    def short():
        for _ in range(200):
            pass

    def run():
        try:
            while min(outcomes.values()) < 100 and number[0] < 10_000_000:
                number[0] += 1
                try:
                    call(number[0], short)
                    outcomes["through"] += 1
                except Interrupted:
                    outcomes["interrupted"] += 1
                forget(threading.get_ident())
                for _ in range(200):
                    pass
        except Interrupted:
            stray.append(number[0])

    thread = threading.Thread(target=run)
    thread.start()
    while thread.is_alive():
        interrupt(thread.ident, number[0])
    thread.join(20)
    assert not stray
    assert min(outcomes.values()) >= 100


def test_a_lock_that_others_wait_for_is_never_left_closed():
    """An exception amid `Condition.__enter__` would do that, and who completes the future would wait for ever."""
    future = Future()

    def poll(k, begun):
        while not future.done():
            begun[0] = k

    assert interrupt_each(poll, 30) == list(range(30))
    assert future._condition.acquire(timeout=1)


def test_a_module_is_imported_whole_before_an_interrupt_comes(tmp_path, monkeypatch):
    (tmp_path / "long_to_import.py").write_text(
        "import time\nbegun = True\nend = time.monotonic() + 0.3\nwhile time.monotonic() < end: pass\nwhole = True\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    outcomes = []

    def load():
        import long_to_import  # noqa: F401

        while True:
            pass

    def run():
        try:
            call(1, load)
        except Interrupted:
            outcomes.append("interrupted")

    thread = threading.Thread(target=run)
    thread.start()
    until(lambda: hasattr(sys.modules.get("long_to_import"), "begun"), "the import has begun", pause=0.001)
    interrupt(thread.ident, 1)
    thread.join(20)
    forget(thread.ident)
    assert outcomes == ["interrupted"]
    assert sys.modules.pop("long_to_import").whole


def test_what_was_interrupted_before_it_is_called_isn_t_called():
    own = threading.get_ident()
    interrupt(own, 7)
    with pytest.raises(Interrupted):
        call(7, lambda: pytest.fail("it is called"))
    assert call(8, lambda: 8) == 8
    forget(own)
    assert call(7, lambda: 7) == 7


def test_a_call_that_takes_no_notice_is_left_and_another_thread_goes_on():
    transport = EmbeddedTransport(1 << 16)
    events, go_on = [], threading.Event()

    def run(batch, slot):
        if batch == 1:
            go_on.wait(30)
        return Done(0, batch, float(slot))

    compute = ComputeThreads(transport, 1, run, events.append)
    compute.put(1)
    compute.put(2)
    until(lambda: compute.busy, "it computes", pause=0.001)
    compute.end([1, 5])
    compute.end([1])  # twice
    compute.leave()
    assert not events  # it has some time to take notice
    until(lambda: compute.leave() or len(events) == 2, events, pause=0.001)
    assert events == [Left(0, 1), Done(0, 2, 1.0)]  # on a thread with another slot
    go_on.set()
    until(lambda: len(events) == 3, events, pause=0.001)
    assert events[2] == Done(0, 1, 0.0)
    until(lambda: not compute.busy, "it has ended", pause=0.001)
    compute.put(3)
    until(lambda: len(events) == 4, events, pause=0.001)
    assert events[3].seconds == 1.0  # the thread that was left has ended
    compute.close()
    assert np.size(transport.arena(0)) == 1 << 16


INTERRUPTED = """
import sys, threading, time
from windrow.workers.rank.interrupts import Interrupted, forget, interrupt, interruptible

def run():
    try:
        with interruptible(1):
            begun.append(True)
            while True:
                pass
    except Interrupted:
        forget(threading.get_ident())

begun = []
thread = threading.Thread(target=run)
thread.start()
while not begun:
    time.sleep(0.001)
interrupt(thread.ident, 1)
thread.join()
calls = []
sys.setprofile(lambda frame, event, argument: calls.append(event))
(lambda: None)()
sys.setprofile(None)
print(len(calls) > 1)
"""


def test_profilers_follow_what_comes_after_an_interrupt():
    """Python 3.11 stays at the first step of a function for ever where an interrupt was asked for and taken back."""
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=50, check=True)
    assert done.stdout == "True\n"
