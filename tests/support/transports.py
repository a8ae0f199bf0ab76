"""What every transport must do; a test of one inherits it, or calls it on ranks."""

from __future__ import annotations

import threading
import time

import numpy as np

from windrow.workers.wire.transport import RanksLost, Region

LIMIT = 20.0


def collect(transport, count, limit=LIMIT):
    """Poll until `count` events are here; fewer when the limit passes."""
    events = []
    end = time.monotonic() + limit
    while len(events) < count and time.monotonic() < end:
        events += transport.poll(0.5)
    return events


def others(transport):
    """The ranks that it can send to."""
    return [peer.rank for peer in transport.peers if peer.rank != transport.rank]


def fetch(transport, rank, region):
    """Read a region of a rank's arena; return what `done` was called with, each time, and the bytes."""
    into = np.zeros(int(np.prod(region.shape)) * region.itemsize, np.uint8)
    outcomes = []
    transport.fetch(rank, region, into, outcomes.append)
    end = time.monotonic() + LIMIT
    while not outcomes and time.monotonic() < end:
        transport.poll(0.1)
    transport.poll(0)
    return outcomes, into


class TransportTests:
    """Claims of `Transport`. A subclass has a fixture `transport`; its peers answer ("echo", x) with x."""

    def test_peers_are_in_order_and_say_how_they_are_read(self, transport):
        peers = transport.peers
        assert [peer.rank for peer in peers] == list(range(transport.size))
        assert {peer.route for peer in peers} <= {"own", "map", "get", "service"}
        assert [peer.rank for peer in peers if peer.route == "own"] == [transport.rank]
        assert peers[transport.rank].same_node
        assert len({(peer.host, peer.pid) for peer in peers}) == transport.size

    def test_the_own_arena_is_read_and_written_in_place(self, transport):
        arena = transport.arena(transport.rank)
        assert (arena.dtype, arena.ndim) == (np.uint8, 1)
        assert arena.ctypes.data % 64 == 0
        before = arena[-8:].copy()
        arena[-8:] = 7
        assert (transport.arena(transport.rank)[-8:] == 7).all()
        arena[-8:] = before
        assert 0 <= transport.shared_bytes() <= arena.nbytes

    def test_only_what_can_be_read_in_place_is_an_arena(self, transport):
        for peer in transport.peers:
            arena = transport.arena(peer.rank)
            assert (arena is not None) == (peer.route in ("own", "map"))
            assert arena is None or arena.flags.writeable == (peer.rank == transport.rank)

    def test_a_poll_that_has_nothing_returns_in_time(self, transport):
        assert transport.poll(0) == []
        begin = time.monotonic()
        assert transport.poll(0.05) == []
        assert time.monotonic() - begin < LIMIT

    def test_a_wake_before_a_poll_ends_the_poll(self, transport):
        transport.wake()
        begin = time.monotonic()
        assert transport.poll(LIMIT) == []
        assert time.monotonic() - begin < LIMIT / 2

    def test_a_wake_of_another_thread_ends_the_poll(self, transport):
        begin = time.monotonic()
        thread = threading.Timer(0.05, transport.wake)
        thread.start()
        assert transport.poll(LIMIT) == []
        thread.join()
        assert time.monotonic() - begin < LIMIT / 2

    def test_many_wakes_are_one(self, transport):
        for _ in range(10):
            transport.wake()
        transport.poll(LIMIT)
        assert transport.poll(0) == []

    def test_notes_of_any_thread_and_forgotten_spill_files_do_nothing(self, transport):
        thread = threading.Thread(target=transport.note, args=(0, "at work"))
        thread.start()
        thread.join()
        transport.note(0, "")
        for peer in transport.peers:
            transport.forget(peer.rank, 9999)

    def test_messages_keep_their_order(self, transport):
        ranks = others(transport)
        for number in range(50):
            for rank in ranks:
                transport.send(rank, ("echo", (rank, number, b"x" * (number * 100))))
        events = collect(transport, 50 * len(ranks))
        assert not [event for event in events if isinstance(event, RanksLost)]
        for rank in ranks:
            assert [number for sender, number, _ in events if sender == rank] == list(range(50))

    def test_a_read_ends_once_with_the_bytes(self, transport):
        region = Region(64, (100, 50), (4096, 8), 8)
        for rank in others(transport):
            outcomes, packed = fetch(transport, rank, region)
            assert outcomes == [True]
            arena = transport.arena(rank)
            if arena is not None:
                part = np.lib.stride_tricks.as_strided(arena[64:], (100, 50, 8), (4096, 8, 1))
                np.testing.assert_array_equal(packed, part.reshape(-1))

    def test_a_spill_file_that_is_not_there_is_no_end(self, transport):
        for rank in others(transport):
            assert fetch(transport, rank, Region(0, (8,), (1,), 1, 9999))[0] == [False]

    def test_closing_twice_is_harmless(self, transport):
        """The last one: nothing is asked of it then."""
        transport.close()
        transport.close()
