"""Communicators of threads: beside mpi4py's on ranks; who waits for whom; what ends a wait."""

from __future__ import annotations

import pickle
import runpy
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow.graph.errors import ArgumentError, BadValue, ClusterError
from windrow.workers.gangs.mpi4py_names import MPI4PY_NAMES
from windrow.workers.gangs.threads import thread_comm
from windrow.workers.gangs.threads.thread_comm import IN_PLACE, make_comms

FILE = Path(__file__).parent / "gang_programs.py"
FOUND = runpy.run_path(str(FILE))
PROGRAMS, SIZES = FOUND["PROGRAMS"], FOUND["SIZES"]
run, errors = FOUND["over_threads"], FOUND["errors"]

pytestmark = pytest.mark.timeout(60)

OPERATIONS = ["SUM", "PROD", "MIN", "MAX", "LAND", "LOR", "LXOR", "BAND", "BOR", "BXOR", "MINLOC", "MAXLOC"]


class Status:
    """What a program may hand over that has no mpi4py."""

    source = tag = -1

    def Get_source(self):
        return self.source

    def Get_tag(self):
        return self.tag


NAMES = SimpleNamespace(
    **{x: x.lower() for x in OPERATIONS},
    **{"DOUBLE": "d", "INT": "i4", "BYTE": "u1", "IN_PLACE": IN_PLACE, "COMM_NULL": None, "Status": Status},
    **{"ANY_SOURCE": -1, "ANY_TAG": -1, "PROC_NULL": -2, "UNDEFINED": -32766},
)


@pytest.fixture
def without_mpi4py(monkeypatch):
    """Whatever other tests have imported."""
    monkeypatch.delitem(sys.modules, "mpi4py.MPI", raising=False)


@pytest.mark.ranks
@pytest.mark.timeout(120)
def test_threads_give_what_ranks_give(programs, launch, tmp_path, nothing_left):
    job, threads = tmp_path / "job", tmp_path / "threads"

    def start(ranks, mode, path):
        # Threads have a launcher, too: without one MPI leaves its shared memory behind.
        words = [*programs.mpirun(ranks, ulfm=False), sys.executable, str(FILE), mode, str(path)]
        done = subprocess.run(["timeout", "60", *words], env=programs.environment(), capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()
        return pickle.loads(path.read_bytes())

    expected, found = start(max(SIZES), "job", job), start(1, "threads", threads)
    assert len(expected) > 60
    assert [x for x in expected if found[x] != expected[x]] == []
    ended = launch(0, str(FILE), "uninitialized", str(threads))
    assert ended.status == 0, ended.err
    found = pickle.loads(threads.read_bytes())
    assert [x for x in found if found[x] != expected[x]] == []
    # The same without mpi4py, by names.
    other = "import sys, pickle; sys.path.insert(0, sys.argv[1]); import test_thread_comm as t; t.write(sys.argv[2])"
    ended = launch(0, "-c", other, str(FILE.parent), str(tmp_path / "names"))
    assert ended.status == 0, ended.err
    found = pickle.loads((tmp_path / "names").read_bytes())
    assert [x for x in found if found[x] != expected[x]] == []
    assert len(found) == len(PROGRAMS) * len(SIZES)


def write(path):
    """What all programs return over threads, in a process without mpi4py."""
    found = {}
    for n in SIZES:
        for name, function in PROGRAMS.items():
            found[name, n] = run(n, lambda comm, f=function: f(comm, NAMES))
    assert "mpi4py" not in sys.modules
    Path(path).write_bytes(pickle.dumps(found))


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_run_without_mpi4py(name, n, without_mpi4py):
    assert len(run(n, lambda comm: PROGRAMS[name](comm, NAMES))) == n


@pytest.mark.parametrize("n", SIZES)
def test_pi_and_matrix_vector(n, without_mpi4py):
    assert run(n, lambda comm: PROGRAMS["pi"](comm, NAMES))[0] == pytest.approx(np.pi, abs=1e-6)
    assert run(n, lambda comm: PROGRAMS["ring"](comm, NAMES)) == [42] * n


@settings(max_examples=25)
@given(st.data())
def test_messages_of_a_source_and_tag_dont_overtake(data):
    """What one sends to another arrives in its order whatever receives are posted, for each source and tag."""
    n = data.draw(st.integers(1, 3))
    message = st.tuples(st.integers(0, n - 1), st.integers(0, 2), st.sampled_from([1, 20_000]))  # to, tag, elements
    sent = [data.draw(st.lists(message, max_size=6)) for _ in range(n)]
    orders = []
    for rank in range(n):
        coming = [(source, tag) for source in range(n) for to, tag, _ in sent[source] if to == rank]
        orders.append(data.draw(st.permutations(coming)))
    early = data.draw(st.booleans())

    def receive(comm):
        got = []
        for source, tag in orders[comm.rank]:
            into = np.zeros(20_000)
            got.append((source, tag, into, comm.Irecv(into, source, tag)))
        return got

    def member(comm):
        got = receive(comm) if early else []
        requests = [comm.Isend(np.full(size, float(i)), to, tag) for i, (to, tag, size) in enumerate(sent[comm.rank])]
        got = got or receive(comm)
        for _, _, _, request in got:
            request.Wait()
        thread_comm.Request.Waitall(requests)
        return [(source, tag, int(into[0])) for source, tag, into, _ in got]

    for rank, got in enumerate(run(n, member)):
        for source in range(n):
            for tag in range(3):
                expected = [i for i, (to, t, _) in enumerate(sent[source]) if (to, t) == (rank, tag)]
                assert [i for s, t, i in got if (s, t) == (source, tag)] == expected


@settings(max_examples=25)
@given(st.data())
def test_any_source_and_any_tag_take_all_in_order(data):
    n = data.draw(st.integers(1, 4))
    sent = [data.draw(st.lists(st.integers(0, 3), max_size=6)) for _ in range(n)]  # tags, all to the first

    def member(comm):
        for i, tag in enumerate(sent[comm.rank]):
            comm.send((comm.rank, i), 0, tag)
        got = []
        for _ in range(sum(map(len, sent)) if comm.rank == 0 else 0):
            status = Status()
            source, i = comm.recv(status=status)
            assert (status.source, status.tag) == (source, sent[source][i])
            got.append((source, i))
        return got

    got = run(n, member)[0]
    assert sorted(got) == [(source, i) for source in range(n) for i in range(len(sent[source]))]
    for source in range(n):
        assert [i for s, i in got if s == source] == list(range(len(sent[source])))


def test_a_message_is_what_it_was_when_it_was_sent():
    def member(comm):
        x, rows = np.arange(3.0), [1, [2]]
        if comm.rank == 0:
            comm.Send(x, 1)
            comm.send(rows, 1)
            comm.send(x, 1)
            request = comm.Isend(x, 1, tag=1)
            request.Wait()
            x[:] = -1
            rows[1].append(3)
            comm.barrier()
            return None
        comm.barrier()
        into, late = np.zeros(3), np.zeros(3)
        comm.Recv(into, 0, 0)
        found = [comm.recv(source=0), comm.recv(source=0).tolist()]
        comm.Recv(late, 0, 1)
        return [into.tolist(), *found, late.tolist()]

    assert run(2, member)[1] == [[0, 1, 2], [1, [2]], [0, 1, 2], [0, 1, 2]]


def test_objects_are_nobody_elses():
    def member(comm):
        shared = {"a": np.zeros(2), "b": []}
        found = [comm.bcast(shared), comm.allgather(shared)[0], comm.allreduce(np.zeros(2)), shared]
        found[0]["a"] += comm.rank
        found[0]["b"].append(comm.rank)
        found[1]["a"] += 10 * comm.rank
        found[2] += comm.rank
        comm.barrier()
        return [found[0]["a"][0], found[0]["b"], found[1]["a"][0], found[2][0], found[3]["a"][0]]

    assert run(3, member) == [[r, [r], 10 * r, r, 0] for r in range(3)]


def test_an_error_in_a_function_of_a_reduction_is_raised_in_all():
    found = errors(3, lambda comm: comm.allreduce(1, op=lambda x, y: x / 0))
    assert all(isinstance(x, ZeroDivisionError) for x in found)


def test_gaps_types_and_sizes_are_refused():
    comm = make_comms(1)[0]
    a = np.zeros((4, 4))
    frozen = np.zeros(2)
    frozen.flags.writeable = False
    for error, text, call in [
        (BadValue, "with gaps", lambda: comm.Send(a[:, 1], 0)),
        (ArgumentError, "Python objects", lambda: comm.Bcast(np.zeros(2, object))),
        (BadValue, "read-only", lambda: comm.Recv(frozen, 0)),
        (ArgumentError, "of type int", lambda: comm.Send(3, 0)),
        (ArgumentError, "expected a type, as MPI.DOUBLE", lambda: comm.Send([a, 1, 2, 3], 0)),
        (BadValue, "no more than the buffer's 128 bytes", lambda: comm.Send([a, 17, "d"], 0)),
        (BadValue, "dest.*5.*below 1, or PROC_NULL", lambda: comm.send(1, 5)),
        (BadValue, "tag.*-7", lambda: comm.send(1, 0, -7)),
        (BadValue, "root.*1.*below 1", lambda: comm.bcast(1, root=1)),
        (ArgumentError, "op.*'mean'.*sum, prod", lambda: comm.allreduce(1, op="mean")),
        (ArgumentError, "'op' is minloc", lambda: comm.Allreduce(frozen, np.zeros(2), op="minloc")),
        (
            ArgumentError,
            "'op' is max, .*NumPy.*start ranks: wr.Cluster",
            lambda: comm.Allreduce(frozen, np.zeros(2), op=max),
        ),
        (BadValue, "expected 1, one for each member", lambda: comm.scatter([1, 2])),
        (BadValue, "Create_cart.*dims", lambda: comm.Create_cart([2, 2])),
    ]:
        with pytest.raises(error, match=text):
            call()
    with pytest.raises(TypeError, match="can't be pickled"):
        pickle.dumps(comm)
    part = comm.Split()
    part.Free()
    for call in (part.Barrier, part.recv, lambda: part.Irecv(bytearray(1)), lambda: part.send(1, 0)):
        with pytest.raises(ClusterError, match="freed"):
            call()


def test_a_message_longer_than_its_buffer_is_the_receiver_s_error():
    def member(comm):
        if comm.rank:
            comm.Send(np.zeros(3), 0)
        else:
            comm.Recv(np.zeros(2), 1)

    found = errors(2, member)
    assert found[1] is None
    assert "Recv(source=1): a message of 24 bytes; expected no more than the buffer's 16 bytes" in str(found[0])
    found = errors(2, lambda comm: comm.Bcast(np.zeros(2 - comm.rank)))
    assert all("16 bytes are sent to rank 1; expected no more than the 8 bytes" in str(x) for x in found)
    found = errors(2, lambda comm: comm.Allreduce(np.zeros(1 + comm.rank), np.zeros(2)))
    assert all("rank 0 brings 8 bytes of float64, rank 1 16 bytes of float64" in str(x) for x in found)


def test_lower_and_upper_case_dont_meet():
    found = errors(2, lambda comm: comm.Send(np.zeros(1), 1) if comm.rank == 0 else comm.recv())
    assert "a buffer has come; expected an object" in str(found[1])
    found = errors(2, lambda comm: comm.send(1, 1) if comm.rank == 0 else comm.Recv(np.zeros(1)))
    assert "an object has come" in str(found[1])


def test_buffers_may_be_fortran_s_bytearrays_or_memory():
    comm = make_comms(1)[0]
    source, target = np.asfortranarray(np.arange(6.0).reshape(2, 3)), np.zeros((2, 3), order="F")
    comm.Sendrecv(source, 0, 0, target, 0, 0)
    assert (target == source).all()
    raw = bytearray(3)
    comm.Sendrecv(b"abc", 0, 0, memoryview(raw), 0)
    assert raw == b"abc"
    empty = np.zeros((0, 3))
    comm.Allreduce(empty, empty.copy())


@pytest.mark.parametrize(
    "name", ["Ibcast", "Gatherv", "Scan", "Ssend", "Probe", "Dup", "Create_group", "Get_topo", "Abort"]
)
def test_a_call_that_only_ranks_have_says_how_to_start_them(name):
    advice = r"start ranks: wr\.Cluster\(ranks=…\) or python -m windrow -n 4; .*python -m windrow -n 4 --spmd script.py"
    comm = make_comms(1)[0]
    for each in (comm, comm.Create_cart([1])):
        assert not hasattr(each, name)
        with pytest.raises(AttributeError, match=rf"a communicator of threads has no '{name}'; .*{advice}"):
            getattr(each, name)
    request = comm.isend(1, 0)
    with pytest.raises(AttributeError, match=rf"a request of threads has no 'Waitany'; .*{advice}"):
        request.Waitany([request])


def test_a_name_that_mpi4py_has_not_either_is_a_plain_error():
    comm = make_comms(1)[0]
    for each in (comm, comm.Create_cart([1]), comm.isend(1, 0)):
        with pytest.raises(AttributeError) as raised:
            each.sned(1, 0)
        assert str(raised.value) == f"{type(each).__name__!r} object has no attribute 'sned'"


def test_what_mpi4py_has_is_known():
    code = """if True:
        import mpi4py
        mpi4py.rc.initialize = False
        from mpi4py import MPI
        print(*dir(MPI.Cartcomm))
        print(*dir(MPI.Request))
    """
    lines = subprocess.check_output([sys.executable, "-c", code], text=True, timeout=60).splitlines()
    for kind, line in zip(("communicator", "request"), lines, strict=True):
        assert {name for name in line.split() if not name.startswith("_")} <= MPI4PY_NAMES[kind]


def test_requests():
    def member(comm):
        other = 1 - comm.rank
        into = np.zeros(2)
        requests = [comm.Irecv(into, other, 1), comm.irecv(source=other, tag=2), comm.isend("word", other, 2)]
        assert requests[1].wait() == "word"
        assert (requests[0].test(), requests[0].Test(), bool(requests[0])) == ((False, None), False, True)
        comm.barrier()
        comm.Send(np.full(2, 7.0), other, 1)
        comm.barrier()
        assert requests[0].waitall(requests) == [None, None, None]
        assert requests[0].wait() is None
        return into.tolist(), [bool(each) for each in requests], requests[0].Waitall(requests)

    assert run(2, member) == [([7, 7], [False] * 3, True)] * 2


def test_parts_have_a_name():
    def member(comm):
        turned, cart = comm.Split(0, -comm.rank), comm.Create_cart([comm.size])
        return [repr(turned), repr(cart), hasattr(turned, "Shift")]

    assert run(2, member)[0] == ["<ThreadComm: rank 1 of 2>", "<ThreadCartcomm: rank 0 of 2>", False]
