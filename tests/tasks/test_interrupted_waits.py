"""Ctrl-C amid a wait for tasks: calls go with their futures."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time

import pytest

import windrow as wr

pytestmark = pytest.mark.timeout(60)


def add(a, b=1):
    return a + b


def linger(folder, k):
    (folder / str(k)).touch()
    for _ in range(3000):
        time.sleep(0.01)


def finish_slowly():
    time.sleep(1.0)
    return "done"


@contextlib.contextmanager
def pressed(after=0.3):
    """Ctrl-C after a while, amid what is waited for; the error is kept, as notebooks keep the last one."""
    timer = threading.Timer(after, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt) as caught:
        yield caught
    timer.join()


@pytest.mark.parametrize(
    "wait", [wr.gather, lambda futures: futures[0].result(), wr.wait], ids=["gather", "result", "wait"]
)
def test_calls_end_that_nobody_holds_after_an_interrupted_wait(tmp_path, wait):
    number = 20 if wait is wr.gather else 1
    with pressed() as caught:
        wait(wr.map(linger, [tmp_path] * number, range(number)))
    assert wr.gather(wr.map(add, range(4)), timeout=20) == [1, 2, 3, 4]
    assert len(list(tmp_path.iterdir())) <= wr.cluster().threads, "what waited doesn't begin"
    assert caught.value.__traceback__ is not None


def test_calls_end_that_were_made_for_one_alone(tmp_path):
    with pressed():
        wr.submit(len, wr.map(linger, [tmp_path] * 20, range(20))).result()
    assert wr.submit(add, 1).result(20) == 2
    assert len(list(tmp_path.iterdir())) <= wr.cluster().threads


def test_calls_go_on_whose_futures_are_held(tmp_path):
    held = [wr.submit(finish_slowly)]
    taken = wr.submit(finish_slowly)
    takes = wr.submit(str.upper, taken)
    with pressed():
        wr.gather([held, taken])
    del taken  # another call takes its result
    assert held[0].result(20) == "done"
    assert takes.result(20) == "DONE"
    linger_on = [wr.submit(linger, tmp_path, 0)]
    with pressed():
        wr.gather(linger_on)
    assert linger_on[0].running()
    linger_on = None  # the cell is run again
    assert wr.gather([wr.submit(add, 1) for _ in range(4)], timeout=20) == [2] * 4


def test_an_interrupt_amid_lazy_calls_ends_them(tmp_path):
    with pressed():
        wr.compute([wr.delayed(linger)(tmp_path, k) for k in range(20)])
    assert wr.submit(add, 1).result(20) == 2
    with pressed():
        wr.delayed(len)([wr.delayed(linger)(tmp_path, k) for k in range(20)]).compute()
    assert wr.submit(add, 1).result(20) == 2
    assert len(list(tmp_path.iterdir())) <= 2 * wr.cluster().threads


def test_an_interrupt_in_an_executors_block_ends_its_calls(tmp_path):
    with pressed(), wr.Executor() as executor:
        futures = [executor.submit(linger, tmp_path, k) for k in range(20)]
        [future.result() for future in futures]
    assert wr.submit(add, 1).result(20) == 2
    assert futures[-1].cancelled()
    assert len(list(tmp_path.iterdir())) <= wr.cluster().threads
