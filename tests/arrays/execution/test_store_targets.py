"""`store` into objects of the script's own: chunks are written as they are computed, and held no longer."""

import threading
import time

import numpy as np
import pytest

import windrow as wr
from windrow.arrays.files.writing import into_arrays

BLOCKS = 40
MADE: list[int] = []


class Target:
    """Keeps what it is given; tells how much came at once."""

    def __init__(self, shape):
        self.shape, self.dtype = shape, np.dtype(float)
        self.parts, self.inside, self.most = [], 0, 0
        self.guard, self.meeting = threading.Lock(), None

    def __setitem__(self, where, values):
        with self.guard:
            self.inside += 1
            self.most = max(self.most, self.inside)
        if self.meeting is not None:
            self.meeting.wait(30)
        time.sleep(0.001)
        with self.guard:
            self.parts.append((where, values))
            self.inside -= 1

    def whole(self):
        found = np.full(self.shape, np.nan)
        for where, values in self.parts:
            found[where] = values
        return found


def make(block):
    """Say that a block is made."""
    MADE.append(1)
    return block + 1


@pytest.fixture
def computed():
    with wr.config.set(chunk_bytes=1 << 16):
        yield wr.map_blocks(make, wr.arange(BLOCKS * 10_000, dtype=float, chunks=10_000), dtype=float)


def test_nothing_is_kept_until_all_is_computed(computed, monkeypatch):
    monkeypatch.setattr(into_arrays, "persist", lambda *arrays: pytest.fail("what is written is held"))
    target = Target(computed.shape)
    wr.store(wr.sqrt(computed[5:]), target, regions=(slice(5, None),))
    np.testing.assert_array_equal(target.whole()[5:], np.sqrt(np.arange(5, BLOCKS * 10_000) + 1.0))


def test_a_target_may_keep_what_it_is_given(computed):
    target = Target(computed.shape)
    MADE.clear()
    wr.store(computed, target)
    assert len(MADE) == len(target.parts) == BLOCKS
    assert target.most == 1
    np.testing.assert_array_equal(target.whole(), np.arange(BLOCKS * 10_000) + 1.0)


def test_windrows_own_arrays_are_targets():
    target = wr.zeros(30, chunks=7)
    wr.store(wr.arange(30, chunks=4), target)
    np.testing.assert_array_equal(target.compute(), np.arange(30))


def test_without_a_lock_threads_write_at_once():
    x = wr.random.default_rng(1).random((8, 30_000), chunks=(1, -1))
    target = Target(x.shape)
    target.meeting = threading.Barrier(2)
    wr.store(x, target, lock=False)
    assert target.most == 2
    np.testing.assert_array_equal(target.whole(), x.compute())


def test_a_lock_of_the_users_is_held(computed):
    lock, seen = threading.Lock(), []

    class Watching(Target):
        def __setitem__(self, where, values):
            seen.append(lock.locked())
            super().__setitem__(where, values)

    targets = [Watching(computed.shape), Watching(computed.shape)]
    wr.store([computed, computed * 2], targets, lock=lock)
    assert seen == [True] * (2 * BLOCKS)
    np.testing.assert_array_equal(targets[1].whole(), 2 * targets[0].whole())


def test_regions_and_what_is_empty():
    target = Target((20, 3))
    wr.store(wr.arange(12, chunks=5, dtype=float).reshape(4, 3), target, regions=(slice(10, 2, -2), slice(None)))
    expected = np.full((20, 3), np.nan)
    expected[10:2:-2] = np.arange(12).reshape(4, 3)
    np.testing.assert_array_equal(target.whole(), expected)
    wr.store(wr.zeros((0, 3)), Target((0, 3)))
    scalar = Target(())
    wr.store(wr.ones(()) * 3, scalar)
    assert scalar.whole() == 3


def test_errors_of_the_target_are_the_users(computed):
    class Full(Target):
        def __setitem__(self, where, values):
            raise OSError(28, "no space")

    with pytest.raises(OSError, match="no space"):
        wr.store(computed, Full(computed.shape))


ON_RANKS = """
import sys, threading
import numpy as np
import windrow as wr
from support.ranks import kill_a_rank

BLOCKS, KILL = 64, "kill" in sys.argv

class Target:
    shape, dtype = (BLOCKS, 1 << 17), np.dtype(float)

    def __init__(self):
        self.parts, self.most = [], 0

    def __setitem__(self, where, values):
        self.parts.append((where, values))
        self.most = max(self.most, sum(row["chunks"] for row in wr.cluster().info()))
        if KILL and self is one and len(self.parts) == 20:
            kill_a_rank()

    def whole(self):
        found = np.full(self.shape, np.nan)
        for where, values in self.parts:
            found[where] = values
        return found

x = wr.arange(BLOCKS * (1 << 17), chunks=1 << 17, dtype=float).reshape(BLOCKS, 1 << 17).rechunk((1, -1))
y = wr.map_blocks(lambda block: block + 1, x, dtype=float)
one, other, again = Target(), Target(), Target()
wr.store([y, wr.sqrt(y), y], [one, other, again])
expected = np.arange(BLOCKS * (1 << 17)).reshape(one.shape) + 1.0
for target, values in ((one, expected), (other, np.sqrt(expected)), (again, expected)):
    np.testing.assert_array_equal(target.whole(), values)
class Full(Target):
    def __setitem__(self, where, values):
        raise OSError(28, "no space")
try:
    wr.store(y, Full())
except OSError as error:
    print(error.errno, end=" ")
print(len(one.parts), len(other.parts), max(one.most, other.most) < 2 * BLOCKS, float(y.sum()) == expected.sum())
"""


@pytest.mark.ranks
@pytest.mark.parametrize("how", ["", "kill"])
def test_on_ranks_the_driver_writes_what_comes_and_nothing_is_held(launch, tmp_path, nothing_left, how):
    """2 MiB in flight of 128: 16 MiB are all the memory that ranks have."""
    script = tmp_path / "script.py"
    script.write_text(ON_RANKS)
    done = launch(2, str(script), how, WINDROW_MEMORY="8 MiB", limit=100)
    assert done.out.split() == ["28", "64", "64", "True", "True"], done.err
