"""Threads of a rank program that wait: for whom, until when, and what ends all waits."""

from __future__ import annotations

import runpy
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from support.waiting import until
from windrow.workers.gangs.threads.mailboxes import Receiving
from windrow.workers.gangs.threads.thread_comm import Deadlock, Revoked, make_comms

FOUND = runpy.run_path(str(Path(__file__).parent / "gang_programs.py"))
run, errors = FOUND["over_threads"], FOUND["errors"]

pytestmark = pytest.mark.timeout(60)


@pytest.mark.parametrize("n", [2, 3, 5])
def test_a_ring_of_receives_is_told(n):
    found = errors(n, lambda comm: comm.recv(source=(comm.rank + 1) % comm.size, tag=4))
    assert all(type(x) is Deadlock for x in found)
    assert len({str(x) for x in found}) == 1
    assert len(set(map(id, found))) == n
    for rank in range(n):
        assert f"member {rank} waits in recv(source={(rank + 1) % n}, tag=4) for member {(rank + 1) % n}" in str(
            found[0]
        )


def test_a_member_that_has_returned_is_told():
    found = errors(3, lambda comm: comm.rank == 2 or comm.Barrier())
    assert "member 2 has returned; member 0 waits in Barrier() for member 2" in str(found[0])
    assert isinstance(found[1], Deadlock)
    assert found[2] is None


def test_a_deadlock_of_some_is_told_while_another_computes():
    on = threading.Event()

    def member(comm):
        if comm.rank < 2:
            comm.Send(np.zeros(100_000), 1 - comm.rank)
        else:
            assert on.wait(5)
            comm.barrier()

    def look():
        until(lambda: any(x.gang.failure for x in made), "a member has failed")
        on.set()

    made = make_comms(1)

    def keep(n):
        made[:] = comms = make_comms(n)
        return comms

    threading.Thread(target=look, daemon=True).start()
    with pytest.raises(Deadlock, match=r"member 0 waits in Send\(dest=1, tag=0\) for member 1; member 1 waits in Se"):
        run(3, member, keep)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda c: c.Recv(np.zeros(1)), "Recv() for members 1 or 2"),
        (lambda c: c.Send(np.zeros(100_000), 2), "Send(dest=2, tag=0) for member 2"),
        (lambda c: c.Recv(np.zeros(1), 1, 3), "Recv(source=1, tag=3) for member 1"),
        (lambda c: c.irecv(source=2).wait(), "irecv(source=2) for member 2"),
        (lambda c: c.allreduce(1), "allreduce() for members 1, 2"),
        (lambda c: c.Bcast(np.zeros(1), root=1), "Bcast(root=1) for members 1, 2"),
        (lambda c: c.Irecv(np.zeros(1), 2).Wait(), "Irecv(source=2) for member 2"),
        (lambda c: c.Split(0, 0), "Split() for members 1, 2"),
        (lambda c: c.Create_cart([3]), "Create_cart(dims=[3], periods=[False]) for members 1, 2"),
        (lambda c: c.Isend(np.zeros(100_000), 2, 7).wait(), "Isend(dest=2, tag=7) for member 2"),
    ],
)
def test_each_wait_has_a_name(call, text):
    found = errors(3, lambda comm: comm.rank == 0 and call(comm))
    assert found[1:] == [None, None]
    assert isinstance(found[0], Deadlock)
    assert text in str(found[0])


def test_a_wait_within_a_part_tells_the_group_s_members():
    def member(comm):
        part = comm.Split(comm.rank % 2)
        if comm.rank == 1:
            part.recv(source=1)

    found = errors(4, member)
    assert "member 1 waits in recv(source=1) on the part of members 1, 3 for member 3" in str(found[1])


def test_a_receive_from_oneself_is_told():
    assert "member 0 waits in recv(source=0) for member 0" in str(errors(1, lambda comm: comm.recv(source=0))[0])
    assert "waits in recv() for nobody" in str(errors(1, lambda comm: comm.recv())[0])


def test_messages_outlive_their_sender():
    def member(comm):
        if comm.rank:
            comm.send("last words", 0)
            comm.Isend(np.full(100_000, 3.0), 0, 1)
            return None
        time.sleep(0.05)
        got = np.zeros(100_000)
        comm.Recv(got, 1, 1)
        return comm.recv(source=1), got[-1]

    assert run(2, member)[0] == ("last words", 3.0)


def test_other_calls_than_the_others_are_told():
    found = errors(3, lambda comm: comm.bcast(1) if comm.rank == 1 else comm.Reduce(np.zeros(1), np.zeros(1)))
    assert all(isinstance(x, Deadlock) for x in found)
    assert "bcast(root=0)" in str(found[0])
    assert "Reduce(root=0)" in str(found[0])
    assert isinstance(errors(2, lambda comm: comm.bcast(1, root=comm.rank))[0], Deadlock)


@pytest.mark.parametrize(
    "call",
    [
        lambda c: c.barrier(),
        lambda c: c.recv(source=0),
        lambda c: c.Recv(np.zeros(3)),
        lambda c: c.Send(np.zeros(100_000), 0),
        lambda c: c.sendrecv(1, 0, source=0),
        lambda c: c.Allreduce(np.zeros(100_000), np.zeros(100_000)),
        lambda c: c.Irecv(np.zeros(2)).Wait(),
        lambda c: [x.Waitall([x, c.irecv()]) for x in [c.irecv()]],
        lambda c: c.Split(),
        lambda c: [x.Test() for x in [c.irecv()] for _ in iter(int, 1)],
    ],
)
def test_revoke_ends_each_wait(call):
    reason = ValueError("no good")

    def member(comm):
        if comm.rank:
            call(comm)
        time.sleep(0.1)
        comm.gang.revoke(reason)
        comm.gang.revoke(KeyError("later"))

    found = errors(3, member)
    assert found[0] is None
    for each in found[1:]:
        assert type(each) is Revoked
        assert str(each) == "the rank program was ended by ValueError: no good"
        assert each.__cause__ is reason


def test_after_a_revoke_each_call_is_refused():
    comm = make_comms(1)[0]
    comm.gang.revoke(Revoked("cancelled"))
    for call in (comm.barrier, comm.recv, lambda: comm.send(1, 0), lambda: comm.isend(1, 0)):
        with pytest.raises(Revoked, match=r"^cancelled$"):
            call()


def test_an_interrupt_ends_a_wait_of_the_main_thread():
    comms = make_comms(2)
    main = threading.get_ident()

    def other():
        time.sleep(0.05)
        signal.pthread_kill(main, signal.SIGINT)

    thread = threading.Thread(target=other)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        comms[0].barrier()
    thread.join()
    comms[0].gang.revoke(KeyboardInterrupt())
    for comm in comms:
        with pytest.raises(Revoked, match="KeyboardInterrupt"):
            comm.barrier()


def test_waits_end_by_others_work_and_are_no_deadlock():
    """Everybody waits often, and nearly all at a time."""

    def member(comm):
        rng = np.random.default_rng(comm.rank)
        total, got = 0, np.zeros(10_000, int)
        for i in range(300):
            if rng.random() < 0.1:
                time.sleep(0)
            right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
            total += comm.sendrecv(i, right, source=left) + comm.allreduce(1)
            request = comm.Isend(np.full(10_000, i), left)
            comm.Recv(got, right)
            total += int(got[-1])
            request.wait()
        return total

    assert len(set(run(5, member))) == 1


def test_receives_look_at_their_sources_messages_alone(monkeypatch):
    looks, takes = [], Receiving.takes

    def counted(self, message):
        looks.append(message)
        return takes(self, message)

    monkeypatch.setattr(Receiving, "takes", counted)

    def program(comm):
        if comm.rank:
            for k in range(100):
                comm.send((comm.rank, k), dest=0)
            comm.Barrier()
            return []
        comm.Barrier()
        apart = [comm.recv(source=3) for _ in range(50)] + [comm.recv(source=2) for _ in range(50)]
        return apart + [comm.recv() for _ in range(200)]

    taken = run(4, program)[0]
    assert taken[:100] == [(3, k) for k in range(50)] + [(2, k) for k in range(50)]
    for rank, first in ((1, 0), (2, 50), (3, 50)):
        assert [k for source, k in taken[100:] if source == rank] == list(range(first, 100)), "in the order of sends"
    assert len(looks) < 1000
