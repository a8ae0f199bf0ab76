"""A space of objects under tags: puts, gets and reads of the driver, of blocks and of rank programs."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time

import numpy as np
import pytest

import windrow as wr
from support.each_call import interrupt_at_each_call
from support.waiting import until
from windrow.workers.wire.shared_messages import SpaceMessage


@pytest.fixture
def space():
    with wr.Cluster(threads=2):
        yield wr.shared.space()


def shared():
    """Bytes that the process shares; other tests may have left some."""
    gc.collect()
    return wr.cluster().info()[0]["shared"]


def test_objects_come_in_the_order_in_which_they_were_put(space):
    for i in range(4):
        space.put("job", i)
    space.put(("other", 1), None)
    assert space.tags == {"job": 4, ("other", 1): 1}
    assert len(space) == 5
    assert space.read("job") == 0
    assert [space.get("job") for _ in range(4)] == [0, 1, 2, 3]
    assert space.get(("other", 1)) is None
    assert space.tags == {}


@pytest.mark.parametrize("size", [10, 100_000])
def test_arrays_come_as_they_were(space, size):
    given = {"a": np.arange(size), "b": "text"}
    space.put("array", given)
    given["a"][0] = 7
    for found in (space.read("array"), space.get("array")):
        np.testing.assert_array_equal(found["a"], np.arange(size))
        assert found["b"] == "text"


def test_a_get_waits_for_a_put(space):
    threading.Timer(0.1, space.put, ("late", 5)).start()
    assert space.get("late", timeout=10) == 5


def test_a_wait_ends(space):
    begin = time.monotonic()
    with pytest.raises(wr.WaitTimeout, match=r"get: nothing under the tag 'none' within 0\.1 s"):
        space.get("none", timeout=0.1)
    with pytest.raises(wr.WaitTimeout, match=r"read: nothing under the tag 'none' within 0 s"):
        space.read("none", timeout=0)
    assert time.monotonic() - begin < 5
    space.put("none", 1)
    assert space.get("none", timeout=0) == 1, "who has given up takes nothing"


def test_an_interrupted_wait_takes_nothing(space):
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        space.get("none")
    space.put("none", 1)
    assert space.get("none", timeout=1) == 1


def test_an_interrupt_while_a_space_is_made_leaves_none(space):
    def count():
        return wr.cluster()._session.engine.ask(lambda engine: len(engine.local.calls.provided(SpaceMessage)._stores))

    assert interrupt_at_each_call(wr.shared.space, "shared/spaces.py", "shared/handles.py", "shared/space.py") > 5
    gc.collect()
    until(lambda: count() == 1, "the fixture's is the only one")


def test_bad_arguments_are_told(space):
    with pytest.raises(wr.ArgumentError, match=r"put: argument 'tag' is .* expected a string, a number"):
        space.put([1], 2)
    with pytest.raises(wr.ArgumentError, match="get: argument 'timeout' is -1; expected a number of seconds"):
        space.get("a", timeout=-1)
    with pytest.raises(wr.ArgumentError, match="put: argument 'value', 'generator', can't be pickled"):
        space.put("a", (i for i in range(3)))


def test_blocks_and_members_use_it(space):
    def note(block):
        space.put("sum", float(block.sum()))
        return block

    assert wr.map_blocks(note, wr.arange(8.0, chunks=2), dtype="f8").sum().compute() == 28
    assert sorted(space.get("sum", timeout=5) for _ in range(4)) == [1, 5, 9, 13]

    def talk(comm):
        if comm.rank == 0:
            space.put("word", np.full(50_000, comm.size))
        return int(space.read("word", timeout=20)[-1])

    assert wr.spmd(talk, members=3) == [3, 3, 3]


def test_what_a_failed_function_put_is_taken_back(space):
    space.put("in", 1)

    def fail(comm):
        if comm.rank == 0:
            space.put("out", space.get("in", timeout=5))
            raise ZeroDivisionError
        comm.Barrier()

    with pytest.raises(ZeroDivisionError):
        wr.spmd(fail, members=2)
    assert space.get("in", timeout=5) == 1
    with pytest.raises(wr.WaitTimeout):
        space.get("out", timeout=0)


def test_cancelling_ends_a_wait(space):
    def wait(block):
        space.put("begun", 1)
        return block + space.get("never")

    persisted = wr.map_blocks(wait, wr.zeros(3), dtype="f8").persist()
    space.get("begun", timeout=10)
    del persisted
    until(lambda: wr.cluster().info()[0]["state"] == "idle", "the rank is idle")


def test_memory_is_counted_and_given_back(space):
    def files():
        return len(os.listdir("/proc/self/fd"))

    others, before = shared(), files()
    for _ in range(5):
        space.put("big", np.zeros(1 << 17))
    assert shared() - others >= 5 << 20
    assert files() >= before + 5
    held = space.get("big")
    for _ in range(4):
        space.get("big")
    assert shared() == others
    assert files() <= before + 1
    assert held.sum() == 0, "it stays as long as somebody has it"


def test_a_space_goes_with_the_last_reference():
    with wr.Cluster(threads=1):
        others = shared()
        space = wr.shared.space()
        space.put("big", np.zeros(1 << 17))
        x = wr.map_blocks(lambda block, s: block + s.read("big")[0], wr.zeros(3), dtype="f8", s=space)
        del space
        gc.collect()
        assert x.compute().tolist() == [0, 0, 0], "a lazy array's function refers to it"
        assert shared() > others
        del x
        gc.collect()
        until(lambda: shared() == others, "the space's memory is given back")  # the rank's thread lets go of it last


def test_a_space_that_is_gone_says_so():
    with wr.Cluster(threads=1):
        space = wr.shared.space()
        space.put("a", 1)
    with pytest.raises(wr.ClusterError, match="the cluster is closed"):
        space.get("a")


def test_what_is_put_by_name_is_there_when_it_is_got(space):
    space.put("object", wr.shared.object(np.arange(3)))
    space.put("array", wr.shared.array(np.arange(9.0)))
    gc.collect()
    assert space.get("object")[2] == 2
    assert space.get("array")[4] == 4
