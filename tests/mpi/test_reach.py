"""When a rank of another host gives rank 0 up: by the times at which things happen, and by what the kernel knows."""

from __future__ import annotations

import socket
import time
from types import SimpleNamespace

import pytest

from windrow.workers.mpi.deaths.reachability import Reach, is_stalled


@pytest.fixture
def clock(monkeypatch):
    """The time that a Reach sees."""
    found = SimpleNamespace(now=100.0)
    monkeypatch.setattr("windrow.workers.mpi.deaths.reachability.time", SimpleNamespace(monotonic=lambda: found.now))
    return found


def test_a_rank_behind_a_cut_link_speaks_and_then_ends(clock):
    spoken: list[float] = []
    reach = Reach(12.0, lambda: True)

    def check(until):
        while clock.now < until:
            clock.now += 1
            if reach.check(lambda: spoken.append(clock.now)):
                return True
        return False

    assert not check(105)
    reach.heard()
    assert not check(111)
    assert spoken == []
    assert check(130)
    assert spoken == [112, 115, 118], "after half of the limit, every sixth"
    assert clock.now == 118


def test_a_rank_0_that_is_stopped_or_busy_is_waited_for(clock):
    reach = Reach(12.0, lambda: False)
    for _ in range(100):
        clock.now += 1
        assert not reach.check(lambda: None)


def test_time_in_which_the_rank_itself_was_stopped_does_not_count(clock):
    reach = Reach(12.0, lambda: True)
    clock.now += 60
    assert not reach.check(lambda: None)
    clock.now += 1
    assert not reach.check(lambda: None)


def test_a_peer_that_does_not_read_stalls_nothing():
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as line:
        line.setblocking(False)
        try:
            while True:
                line.send(b"x" * 65536)
        except BlockingIOError:
            pass
        time.sleep(2.0)
        assert not is_stalled()
