"""Memory that is lent to functions of blocks, and threads that answer soon."""

from __future__ import annotations

import os
import threading

import numpy as np

import windrow as wr
from windrow.workers.kernels.buffers import ARGUMENTS, LEAST, MOST
from windrow.workers.rank.urgency import request_short_timeslices

F8 = np.dtype("f8")
room = ARGUMENTS.lend


def place(array) -> int:
    return array.__array_interface__["data"][0]


def test_a_number_has_its_memory():
    n = LEAST // 8
    first = place(room(0, (n,), F8))
    assert place(room(1, (n,), F8)) != first
    assert place(room(0, (2, n // 2), F8)) == first
    assert room(0, (4 * n,), F8).shape == (4 * n,)
    assert room(2, (3, 5), np.dtype("c16")).dtype == "c16"
    found = []
    thread = threading.Thread(target=lambda: found.append(room(0, (4 * n,), F8)))
    thread.start()
    thread.join()
    assert not np.shares_memory(found[0], room(0, (4 * n,), F8))


def test_a_thread_keeps_little():
    rooms = [room(i, (MOST // 3,), np.dtype("u1")) for i in range(9)]
    kept = {place(each) for each in rooms} & {place(room(8, (MOST // 3,), np.dtype("u1")))}
    assert kept == {place(rooms[8])}
    large = room(0, (MOST + 1,), np.dtype("u1"))
    assert not np.shares_memory(large, room(0, (MOST + 1,), np.dtype("u1")))


def test_results_outlive_the_memory_of_arguments():
    x = np.random.default_rng(2).random((3, 50_000))
    with wr.Cluster(threads=1):
        lazy = wr.from_array(x, chunks=(1, 50_000))
        parts = wr.persist(wr.cumsum(lazy[::-1, ::-1], axis=1), wr.sort(lazy[:, ::-1], axis=1), wr.fft.fft(lazy[::-1]))
        sums, ordered, transformed = wr.compute(*parts)
    assert np.array_equal(sums, np.cumsum(x[::-1, ::-1], axis=1))
    assert np.array_equal(ordered, np.sort(x, axis=1))
    assert np.allclose(transformed, np.fft.fft(x[::-1]), rtol=1e-12)


def test_a_thread_that_answers_soon_keeps_its_place():
    found = []

    def ask():
        before = os.getpriority(os.PRIO_PROCESS, 0), os.sched_getscheduler(0)
        found.append(
            (request_short_timeslices(), before, (os.getpriority(os.PRIO_PROCESS, 0), os.sched_getscheduler(0)))
        )

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    noted, before, after = found[0]
    assert isinstance(noted, bool)
    assert before == after
