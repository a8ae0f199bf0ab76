"""One thing after the other, on a thread of its own."""

from __future__ import annotations

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
