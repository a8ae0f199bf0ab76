"""One thing after the other, on a thread of its own."""

from __future__ import annotations

import os
import sys
import threading

import pytest

from support.waiting import until
from windrow.workers.shared.serial_thread import SerialThread


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_all_is_done_in_order_whatever_raises():
    serial, done, begin = SerialThread("windrow-test"), [], threading.Event()
    serial.put(lambda: begin.wait(20) and None)
    for number in range(100):
        serial.put(lambda number=number: done.append(number))
        serial.put(sys.exit)
    begin.set()
    until(lambda: len(done) == 100, lambda: done)
    assert done == list(range(100))


def test_it_ends_when_nothing_is_left_and_begins_anew():
    serial, names = SerialThread("windrow-test"), []
    for _ in range(3):
        serial.put(lambda: names.append(threading.current_thread().name))
        until(lambda: not any(each.name == "windrow-test" for each in threading.enumerate()), threading.enumerate)
    assert names == ["windrow-test"] * 3


def test_what_no_thread_could_be_started_for_is_done_with_the_next(monkeypatch):
    serial, done = SerialThread("windrow-test"), []

    def refuse(thread):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as few:
        few.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError, match="thread"):
            serial.put(lambda: done.append(1))
    serial.put(lambda: done.append(2))
    until(lambda: len(done) == 2, lambda: done)
    assert done == [1, 2]


def test_what_is_put_in_while_a_thread_is_made_has_no_other(monkeypatch):
    serial, gate, at_once, most = SerialThread("windrow-amid"), threading.Event(), [], []

    def work():
        at_once.append(1)
        most.append(len(at_once))
        gate.wait(20)
        at_once.pop()

    class Amid(threading.Thread):
        def __init__(self, *args, **keywords):
            monkeypatch.undo()
            serial.put(work)
            super().__init__(*args, **keywords)

    monkeypatch.setattr(threading, "Thread", Amid)
    serial.put(work)
    until(lambda: most, lambda: most)
    assert sum(each.name == "windrow-amid" for each in threading.enumerate()) == 1
    gate.set()
    until(lambda: len(most) == 2 and not at_once, lambda: (most, at_once))
    assert most == [1, 1]


def test_a_forked_process_does_nothing_of_its_parents():
    serial, gate, done = SerialThread("windrow-test"), threading.Event(), []
    serial.put(lambda: gate.wait(20) and None)
    serial.put(lambda: done.append("parent's"))
    with serial._lock:
        child = os.fork()
    if child == 0:
        serial.put(lambda: done.append("own"))
        until(lambda: done, lambda: done)
        os._exit(done != ["own"])
    assert os.waitpid(child, 0)[1] == 0
    gate.set()
    until(lambda: done, lambda: done)
    assert done == ["parent's"]
