"""Rank programs on the embedded engine: members are threads, chunks come in place, results are lazy."""

from __future__ import annotations

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from windrow.graph.kinds.gang import share


def copy(comm, x, y):
    for source, target in zip(x, y, strict=True):
        target[...] = source


@given(
    st.integers(1, 5),
    st.tuples(st.integers(0, 7), st.integers(1, 5)),
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
    st.sampled_from(["f8", "i1", "c16", "?", "M8[s]", "U3"]),
)
def test_members_have_all_chunks_once_in_order(members, shape, chunks, dtype):
    data = np.arange(np.prod(shape)).reshape(shape).astype("i8").astype(dtype)
    x = wr.from_array(data, chunks=chunks)

    def look(comm, x):
        return comm.rank, x.blocks, x.slices, [b.copy() for b in x], (x.shape, x.dtype)

    told = wr.spmd(look, x, members=members)
    assert [rank for rank, *_ in told] == list(range(members))
    assert [len(blocks) for _, blocks, *_ in told] == np.diff(share(x.npartitions, members)).tolist()
    assert [b for _, blocks, *_ in told for b in blocks] == list(np.ndindex(x.numblocks))
    assert all(about == (x.shape, x.dtype) for *_, about in told)
    for _, _, slices, found, _ in told:
        for where, block in zip(slices, found, strict=True):
            np.testing.assert_array_equal(block, data[where])
    made = wr.spmd(copy, x, out=x, members=members)
    assert (made.chunks, made.dtype) == (x.chunks, x.dtype)
    np.testing.assert_array_equal(made.compute(), data)


def test_several_results_of_other_shapes():
    def fill(comm, x, y, z, w):
        for chunk in y:
            chunk[...] = comm.rank + 1
        for block, (index,) in zip(z, z.blocks, strict=True):
            block[...] = index
        if len(w):
            w[0][...] = 7

    specs = (wr.Spec((5, 4), "f4", (2, 4)), wr.Spec((9,), "i2", 2), wr.Spec((), "c8"))
    y, z, w = wr.spmd(fill, wr.arange(3), out=specs, members=2)
    np.testing.assert_array_equal(y.compute(), np.repeat([1, 2, 2], [2, 2, 1])[:, None] * np.ones(4, "f4"))
    np.testing.assert_array_equal(z.compute(), np.arange(9) // 2)
    assert w.shape == ()
    assert w.compute() == 7


def test_what_is_not_filled_is_zero_and_results_are_named_by_what_made_them():
    calls = []

    def fill(comm, y):
        calls.append(comm.rank)

    a, b = (wr.spmd(fill, out=wr.Spec((4,), "f8", 2), members=2) for _ in range(2))
    assert a.expr.token == b.expr.token
    assert wr.spmd(fill, out=wr.Spec((4,), "f8", 2), members=3).expr.token != a.expr.token
    np.testing.assert_array_equal(a.compute(), np.zeros(4))


def test_operands_are_read_only_and_in_place():
    x = wr.arange(200_000, chunks=50_000, dtype="f8").persist()
    small = wr.arange(20, chunks=5).persist()
    wr.wait(x, small)

    def look(comm, x):
        whole = x.joined()
        here = wr.arena()
        return [b.flags.writeable for b in x], [here.locate(b) for b in x], np.shares_memory(whole, x[0])

    for each in (x, small):
        ((writable, places, shared),) = wr.spmd(look, each, members=1)
        assert not any(writable)
        assert all(place is not None for place in places)
        assert shared is (each is small), "small chunks are made by one task, and lie one behind the other"


def test_joined_is_a_copy_where_chunks_are_apart():
    x = wr.arange(24, chunks=(2,)).reshape(4, 6).rechunk((2, 3))

    def join(comm, x):
        try:
            return x.joined().tolist()
        except wr.ShapeError as error:
            return str(error)

    assert wr.spmd(join, x, members=1) == [np.arange(24).reshape(4, 6).tolist()]
    told = wr.spmd(join, x, members=3)
    assert told[0] == np.arange(24).reshape(4, 6)[:2, :3].tolist()
    assert "don't make up a rectangle" in wr.spmd(join, wr.ones((6, 6), chunks=2), members=2)[0]


def test_a_copy_of_results_takes_nothing_that_would_be_lost():
    def fill(comm, y):
        y.joined()[...] = 1

    with pytest.raises(ValueError, match="read-only"):
        wr.spmd(fill, out=wr.Spec((4, 6), "f8", chunks=(2, 3)), members=1).compute()
    assert (wr.spmd(fill, out=wr.Spec((16, 6), "f8", chunks=(8, 6)), members=1) == 1).all().compute()


def test_a_members_error_ends_the_others():
    def wrong(comm):
        if comm.rank == 1:
            raise LookupError("mine")
        comm.recv(source=1)

    for _ in range(3):
        with pytest.raises(LookupError, match="mine") as caught:
            wr.spmd(wrong, members=3)
        assert any("in wrong" in note for note in caught.value.__notes__)
    assert wr.spmd(lambda comm: comm.allreduce(1), members=3) == [3, 3, 3]


def test_an_error_reaches_who_needs_other_members_alone():
    def wrong(comm, y):
        if comm.rank == 1:
            raise LookupError("mine")

    y = wr.spmd(wrong, out=wr.Spec((4,), "f8", 1), members=2)
    with pytest.raises(LookupError, match="mine"):
        y[:1].compute()


def test_a_deadlock_is_told():
    with pytest.raises(wr.WindrowError, match="recv"):
        wr.spmd(lambda comm: comm.recv(source=1 - comm.rank), members=2)


def test_a_gang_that_takes_too_long_is_told_and_leaves_the_next_alone():
    def slow(comm):
        time.sleep(0.4 if comm.rank else 0)
        comm.Barrier()

    with pytest.raises(wr.WaitTimeout, match=r"spmd: function 'slow' hasn't ended within 0\.1 s: it still ran"):
        wr.spmd(slow, members=2, timeout=0.1)
    assert wr.spmd(lambda comm: comm.allreduce(1), members=2, timeout=60) == [2, 2]
    y = wr.spmd(lambda comm, y: time.sleep(0.4), out=wr.Spec((2,), "f8", 1), members=2, timeout=0.1)
    with pytest.raises(wr.WaitTimeout, match="hasn't ended"):
        y.compute()


def test_gangs_behind_each_other_and_beside_other_work():
    x = wr.random.default_rng(0).random(10_000, chunks=1000)
    total = float(x.sum())

    def shift(comm, x, y):
        known = comm.allreduce(sum(float(b.sum()) for b in x))
        for source, target in zip(x, y, strict=True):
            target[...] = source - known

    y = wr.spmd(shift, x, out=x, members=3)
    z = wr.spmd(shift, y * 2, out=x, members=2)
    np.testing.assert_allclose(y.compute(), x.compute() - total)
    expected = 2 * (x - total)
    np.testing.assert_allclose(z.compute(), (expected - expected.sum()).compute())


def test_two_threads_of_a_script_run_gangs():
    found = []

    def run(k):
        found.extend(wr.spmd(lambda comm: comm.allreduce(k), members=2))

    threads = [threading.Thread(target=run, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(found) == [0, 0, 2, 2, 4, 4, 6, 6]


LOCK = threading.Lock()


def locked(lock):
    return lambda comm: lock


LOCKED = locked(LOCK)
WRONG = {
    "no function": (lambda: wr.spmd(3), wr.ArgumentError, "spmd: argument 'func' is 3"),
    "no members": (lambda: wr.spmd(print, members=0), wr.ArgumentError, "spmd: argument 'members' is 0"),
    "no spec": (lambda: wr.spmd(print, out=5), wr.ArgumentError, "spmd: argument 'out' is 5"),
    "empty out": (lambda: wr.spmd(print, out=()), wr.ArgumentError, r"spmd: argument 'out' is \(\)"),
    "no shape": (lambda: wr.Spec(-1), wr.ShapeError, "Spec: argument 'shape'"),
    "objects": (lambda: wr.Spec(1, object), wr.DTypeError, "Spec: argument 'dtype'"),
    "objects in an array": (lambda: wr.spmd(print, np.array([{}])), wr.DTypeError, r"spmd: argument 'args\[0\]'"),
    "a lock as argument": (lambda: wr.spmd(print, threading.Lock()), wr.ArgumentError, "can't be pickled"),
    "no time": (
        lambda: wr.spmd(print, timeout=0),
        wr.ArgumentError,
        "spmd: argument 'timeout' is 0; expected a number",
    ),
    "a lock": (lambda: wr.spmd(LOCKED), wr.ArgumentError, "can't be pickled"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_calls_are_refused(name):
    call, error, message = WRONG[name]
    with pytest.raises(error, match=message):
        call()


def test_what_can_not_be_pickled_is_named():
    def returns(comm):
        return threading.Lock()

    with pytest.raises(TypeError, match=r"spmd: what function 'returns' returned can't be pickled \(lock\)"):
        wr.spmd(returns, members=2)


def test_a_member_that_waits_for_an_object_stops_with_its_gang():
    space = wr.shared.space()
    with pytest.raises(wr.WaitTimeout):
        wr.spmd(lambda comm: space.get("never"), members=2, timeout=0.2)
    assert wr.spmd(lambda comm: comm.rank, members=2, timeout=20) == [0, 1]
    space.put("never", 1)
    assert space.tags == {"never": 1}


def test_plain_arguments_go_as_they_are():
    def look(comm, number, x, words, scalar, nothing, y=None, *filled):
        for block in filled:
            block[0][...] = number + len(words) + scalar
        return [type(each).__name__ for each in (number, x, words, scalar, nothing, y)], [int(b.sum()) for b in x]

    x, y = wr.arange(4, chunks=2), np.ones(3)
    seen = wr.spmd(look, 10, x, ["a", "b"], np.float32(1.5), None, y, members=2)
    kinds = ["int", "LocalChunks", "list", "float32", "NoneType", "LocalChunks"]
    assert seen == [(kinds, [1]), (kinds, [5])]
    made = wr.spmd(look, 10, x, [], np.float32(1.5), None, y, out=wr.Spec((4,), "f8", 2), members=2)
    assert made.compute().tolist() == [11.5] * 4


def test_members_by_their_ranks():
    assert wr.spmd(lambda comm: (comm.rank, comm.size), members=[4, 2, 0]) == [(0, 3), (1, 3), (2, 3)]
    assert wr.spmd(lambda comm: comm.size, members=range(2)) == [2, 2]
    with pytest.raises(wr.ArgumentError, match=r"spmd: argument 'members' is \[1, 1\]; expected ranks, each once"):
        wr.spmd(len, members=[1, 1])
    with pytest.raises(wr.ArgumentError, match=r"'members' is \[\]; expected ranks, each once"):
        wr.spmd(len, members=[])
    for wrong in ([-1], [0.5], [True], ["0"]):
        with pytest.raises(wr.ArgumentError, match=r"spmd: argument 'members\[0\]' is"):
            wr.spmd(len, members=wrong)
    with pytest.raises(wr.ArgumentError, match="spmd: argument 'members' is 'all'"):
        wr.spmd(len, members="all")


def test_lazy_programs_run_side_by_side():
    """Each waits for the other one."""
    space = wr.shared.space()

    def fill(comm, y):
        if comm.rank == 0:
            space.put(y.shape, "there")
            assert space.get((9 - y.shape[0],), timeout=30) == "there"
        for block in y:
            block[...] = comm.rank

    first, second = (wr.spmd(fill, out=wr.Spec(n, "i8", 2), members=ranks) for n, ranks in ((4, [0, 1]), (5, [2, 3])))
    assert [x.tolist() for x in wr.compute(first, second)] == [[0, 0, 1, 1], [0, 0, 1, 1, 1]]


@pytest.mark.parametrize(("chunk", "aligned"), [(1000, True), (1001, False), (40_001, True)])
def test_where_chunks_begin(chunk, aligned):
    def begins(comm, x):
        return [block.ctypes.data % 64 for block in x]

    x = (wr.arange(5 * chunk, chunks=chunk) * 2.0).persist()
    (found,) = wr.spmd(begins, x, members=1)
    assert (not any(found)) == aligned, "as the guide to JAX says"


def test_an_error_names_the_member():
    def fails(comm):
        comm.Barrier()
        if comm.rank == 2:
            raise KeyError("here")
        comm.Barrier()

    with pytest.raises(KeyError, match="here") as caught:
        wr.spmd(fails, members=4)
    assert caught.value.__notes__[0].startswith("in operation spmd(fails), member 2 on rank 0 (host ")


def test_memory_goes_to_disk_beside_a_program():
    """It holds back nothing that it doesn't read."""
    with wr.Cluster(threads=2, memory="8 MiB"), ThreadPoolExecutor() as pool:
        space = wr.shared.space()
        x = wr.arange(1 << 17).persist()
        wr.wait(x)

        def waits(comm, x):
            space.put("runs", comm.rank)
            space.read("goes on", timeout=60)
            return int(x[0].sum()) if len(x) else 0

        program = pool.submit(wr.spmd, waits, x, members=1)
        space.get("runs", timeout=60)
        kept = [(wr.arange(1 << 18, chunks=1 << 16) + k).persist() for k in range(8)]
        sums = [int(each.sum()) for each in kept]
        space.put("goes on", True)
        n = 1 << 18
        assert sums == [n * (n - 1) // 2 + k * n for k in range(8)]
        assert program.result() == [(n // 2) * (n // 2 - 1) // 2]


def test_members_that_compute_are_interrupted():
    def turns(comm):
        end, turn = time.monotonic() + 300, 0
        while time.monotonic() < end:
            turn += 1

    with pytest.raises(wr.WaitTimeout, match="spmd"):
        wr.spmd(turns, members=2, timeout=0.2)
    assert wr.spmd(lambda comm: comm.allreduce(1), members=2, timeout=30) == [2, 2]


let_go = threading.Event()


def spins(comm, x, space):
    while True:
        pass


def collects(comm, x, space):
    comm.allreduce(1)


def receives(comm, x, space):
    comm.recv(source=1)


def gets(comm, x, space):
    space.get("never")


def locks(comm, x, space):
    while x.compare_and_swap(0, 0, 1):
        pass


def is_deaf(comm, x, space):
    """No interrupt ends it."""
    let_go.wait(40)


WHATEVER = pytest.mark.parametrize("waits", [spins, collects, receives, gets, locks, is_deaf])


@pytest.fixture
def at_the_end_let_go():
    let_go.clear()
    yield
    let_go.set()


@pytest.mark.timeout(20)
@pytest.mark.usefixtures("at_the_end_let_go")
@WHATEVER
def test_a_members_error_ends_whatever_others_are_at(waits):
    locked, space = wr.shared.symmetric(1, np.int64, fill=1), wr.shared.space()

    def wrong(comm):
        comm.Barrier()
        if comm.rank == 1:
            time.sleep(0.05)
            raise LookupError("mine")
        waits(comm, locked, space)

    with pytest.raises(LookupError, match="mine") as caught:
        wr.spmd(wrong, members=3)
    assert caught.value.__notes__[0].startswith("in operation spmd(wrong), member 1 on rank 0 (host ")
    assert wr.spmd(lambda comm: comm.allreduce(1), members=3, timeout=10) == [3, 3, 3]


@pytest.mark.timeout(20)
@pytest.mark.usefixtures("at_the_end_let_go")
@WHATEVER
def test_an_interrupt_ends_whatever_members_are_at(waits):
    locked, space = wr.shared.symmetric(1, np.int64, fill=1), wr.shared.space()

    def goes_on(comm):
        comm.Barrier()
        space.put("begun", comm.rank)
        if comm.rank != 1 or waits not in (collects, receives):
            waits(comm, locked, space)
        else:
            space.get("never")

    def press():
        for _ in range(3):
            space.get("begun")
        os.kill(os.getpid(), signal.SIGINT)

    pressing = threading.Thread(target=press)
    pressing.start()
    with pytest.raises(KeyboardInterrupt):
        wr.spmd(goes_on, members=3)
    pressing.join()
    assert wr.spmd(lambda comm: comm.allreduce(1), members=3, timeout=10) == [3, 3, 3]
