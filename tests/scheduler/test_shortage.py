"""Near a limit of memory a rank runs one task at a time, spills, gives pages back, says so once, and goes on."""

from __future__ import annotations

import gc
import json
import logging
import mmap
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import windrow as wr
from support.waiting import until
from windrow.scheduler.ledger.arena import LARGE, ArenaAllocator
from windrow.workers.memory import spill
from windrow.workers.memory.memory_limit import Limit
from windrow.workers.memory.pressure import PERIOD, PressureWatch, trim
from windrow.workers.memory.spill import PIECE, SpillFile

MIB = 1 << 20
GROUP = Path(__file__).parents[2] / "benchmarks" / "control_group.py"


class Limited:
    """What has a limit, and uses what a test says."""

    def __init__(self, limit, used=0):
        self.limit = Limit(limit, "a test")
        self.now = used

    def used(self):
        return self.now


def test_memory_is_short_from_an_eighth_on_and_until_a_sixth():
    limited = Limited(2400 * MIB)
    watch, clock, told = PressureWatch([Limited(1 << 40), limited]), 0.0, []
    for used in (1000, 2099, 2101, 2050, 2399, 1999, 2099):
        limited.now, clock = used * MIB, clock + 2 * PERIOD
        changed = watch.look(clock)
        assert not watch.look(clock + PERIOD / 2), "it has just looked"
        told.append((changed, watch.shortage is not None))
    short = [False, False, True, True, True, False, False]
    assert told == [(now != before, now) for before, now in zip([False, *short], short, strict=False)]
    limited.now = None  # a group that is gone limits nothing
    assert not watch.look(clock + 2 * PERIOD)


def test_of_much_memory_less_than_an_eighth_is_enough():
    limited = Limited(1 << 40, (1 << 40) - (3 << 30))
    assert not PressureWatch([limited]).look(1.0)


def test_holes_are_what_nothing_lies_in():
    arena = ArenaAllocator(16 * MIB)
    places = [arena.take(MIB) for _ in range(6)]
    for at in (places[1], places[2], places[5]):
        arena.give(at, MIB)
    assert arena.take(100) is not None
    free = np.ones(arena.size, bool)
    for at in (places[0], places[3], places[4]):
        free[at : at + ArenaAllocator.pad_size(MIB)] = False
    holes = arena.holes()
    assert all(free[offset : offset + size].all() for offset, size in holes)
    assert sum(size for _, size in holes) >= arena.free - LARGE
    assert arena.take(2 * MIB) is not None


@pytest.mark.parametrize("shared", [True, False])
def test_trim_gives_pages_back_and_leaves_what_lies_beside(shared):
    flags = mmap.MAP_ANONYMOUS | (mmap.MAP_SHARED if shared else mmap.MAP_PRIVATE)
    arena = np.frombuffer(mmap.mmap(-1, 8 * MIB, flags=flags), np.uint8)
    arena[:] = 7
    trim(arena, np.array([MIB + 5, 6 * MIB]), np.array([2 * MIB, MIB]), shared)
    assert (arena[: MIB + 5] == 7).all()
    assert (arena[3 * MIB + 5 : 6 * MIB] == 7).all()
    assert not arena[2 * MIB : 3 * MIB].any()
    assert not arena[6 * MIB : 7 * MIB].any()


def press(monkeypatch, cluster, used):
    """Have a cluster's own rank see a limit of which a test says how much is in use."""
    limited = Limited(1000 * MIB, used)
    monkeypatch.setattr(cluster._session.engine.local, "_watch", PressureWatch([limited]))
    return limited


def slow(block):
    time.sleep(0.05)
    return block


def test_one_task_at_a_time_until_there_is_memory(monkeypatch, caplog):
    caplog.set_level(logging.WARNING, "windrow")
    with wr.Cluster(threads=3, memory="64 MiB") as cluster:
        engine = cluster._session.engine
        kept = wr.random.default_rng(0).random(2 * MIB, chunks=MIB // 4).persist()
        wr.wait(kept)
        total = float(kept.sum())
        limited = press(monkeypatch, cluster, 900 * MIB)
        x = wr.map_blocks(slow, wr.zeros(40, chunks=1), dtype=float).persist()
        until(lambda: engine.spiller.pressed, "memory is short")
        time.sleep(0.2)  # what had begun before has ended
        assert all(engine.ask(lambda engine: len(engine.ledger.batches)) <= 1 for _ in range(20))
        until(lambda: engine.local.spills, "something is spilled")
        limited.now = 0
        until(lambda: not engine.spiller.pressed, "there is memory again")
        wr.wait(x)
        assert float(x.sum()) == 0
        assert float(kept.sum()) == total, "spilled chunks are read again"
    said = [record.getMessage() for record in caplog.records if "short of memory" in record.getMessage()]
    assert len(said) == 1
    for part in ("900.0 MiB of the 1000.0 MiB of a test", "of a test are in use", "one task at a time"):
        assert part in said[0]


def test_it_ends_though_memory_stays_short(monkeypatch):
    with wr.Cluster(threads=2, memory="8 MiB") as cluster:
        press(monkeypatch, cluster, 990 * MIB)
        x = wr.random.default_rng(0).random(4 * MIB, chunks=MIB // 8).persist()  # 32 MiB
        assert 0.49 < float(x.mean()) < 0.51
        assert 0.49 < float((x + x[::-1]).mean()) / 2 < 0.51


@pytest.mark.parametrize("cached", [True, False])
def test_a_spill_file_of_many_pieces(tmp_path, cached):
    draw = np.random.default_rng(1)
    sizes = [5, PIECE - 64, 64, 3 * PIECE + 17, 0, 4096, 100, PIECE]
    slabs = [draw.integers(0, 256, size).astype(np.uint8) for size in sizes]
    file = SpillFile(str(tmp_path), slabs, cached)
    for slab, offset in zip(slabs, file.offsets.tolist(), strict=True):
        assert offset % 64 == 0
        assert np.array_equal(file.memory[offset : offset + slab.nbytes], slab)
    assert not list(tmp_path.iterdir())
    file.close()


def test_spilling_goes_on_beside_what_computes(monkeypatch):
    """What is held, and won't all fit, goes to disk while blocks are computed: nobody waits for the other."""
    seen = []

    def disk(folder, slabs, cached):
        seen.append(len(engine.ledger.batches))
        return SpillFile(folder, slabs, cached)

    monkeypatch.setattr(spill, "SpillFile", disk)
    with wr.Cluster(threads=2, memory="16 MiB") as cluster:
        engine = cluster._session.engine
        x = wr.map_blocks(lambda b: time.sleep(0.05) or b + 1, wr.zeros(8 * MIB, chunks=MIB // 8), dtype=float)
        kept = x.persist()  # 64 MiB
        wr.wait(kept)
        assert float(kept.sum()) == 8 * MIB
    assert sum(n > 0 for n in seen) > len(seen) // 3, seen


def test_what_fits_is_not_spilled():
    with wr.Cluster(threads=2, memory="16 MiB") as cluster:
        kept = (wr.arange(15 * MIB // 8, chunks=MIB // 8) * 2.0).persist()
        wr.wait(kept)
        assert not cluster._session.engine.local.spills


def test_spill_files_are_gone_with_their_chunks():
    """Not when Python next looks for cycles: until then they would take their space on disk."""
    before = _mapped_files()
    gc.disable()
    try:
        with wr.Cluster(memory="40 MiB", threads=2):
            for seed in range(3):
                x, y = (wr.random.default_rng((seed, k)).normal(size=(1400, 3000), chunks=(140, -1)) for k in range(2))
                spilled = wr.sort(wr.cumsum(x, axis=0) + wr.cumsum(y, axis=0)[::-1], axis=0)
                assert np.isfinite(float(spilled.std()))
        assert _mapped_files() == before
    finally:
        gc.enable()


def _mapped_files():
    return [line for line in Path("/proc/self/maps").read_text().splitlines() if line.endswith("(deleted)")]


def test_places_stay_while_they_are_written(monkeypatch):
    """What is released amid a spill leaves its place to nobody until the disk has it."""
    begun, go = threading.Event(), threading.Event()

    def disk(folder, slabs, cached):
        before = [slab.copy() for slab in slabs]
        begun.set()
        go.wait(20)
        assert all(np.array_equal(a, b) for a, b in zip(before, slabs, strict=True))
        same.append(True)
        return SpillFile(folder, slabs, cached)

    same: list[bool] = []
    monkeypatch.setattr(spill, "SpillFile", disk)
    with wr.Cluster(threads=2, memory="8 MiB") as cluster:
        engine = cluster._session.engine
        kept = (wr.arange(MIB // 2, chunks=MIB // 16) * 2.0).persist()  # 4 MiB
        wr.wait(kept)
        engine.ask(lambda engine: engine.spiller._spill(0, 2 * MIB, urgent=False))
        assert begun.wait(20)
        kept.release()
        other = (wr.arange(MIB // 2, chunks=MIB // 16) * 3.0).persist()
        wr.wait(other)
        go.set()
        until(lambda: not engine.spiller.pending, "all is spilled")
        assert same
        assert float(other.sum()) == 3.0 * (MIB // 2) * (MIB // 2 - 1) / 2
        other.release()
        until(lambda: not engine.ask(lambda engine: engine.ledger.arenas[0].used), "the arena is free")


NEAR = """
import sys, time
import numpy as np, windrow as wr
def greedy(block):
    held = []
    for _ in range(16):
        held.append(np.ones(1 << 20))
        time.sleep(0.05)
    return block + sum(h[0] for h in held)
x = wr.random.default_rng(0).random((46, 1 << 20), chunks=(1, 1 << 20)).persist()
wr.wait(x)
y = wr.map_blocks(greedy, wr.zeros((4, 10), chunks=(1, 10)), dtype=float)
print(float(y.sum()), round(float(x.mean()), 2))
"""


@pytest.mark.parametrize(
    ("words", "limit"),
    [
        (["--threads", "2", "--memory", "400 MiB"], 620),
        pytest.param(["-n", "2", "--memory", "200 MiB"], 740, marks=pytest.mark.ranks),
    ],
)
def test_functions_that_take_much_end_nothing(launch, tmp_path, words, limit, nothing_left):
    """Chunks and what functions hold are more than a control group has: chunks make room."""
    (tmp_path / "near.py").write_text(NEAR)
    done = launch(0, str(GROUP), str(limit << 20), sys.executable, "-m", "windrow", *words, "near.py")
    if "no memory control groups" in done.err:
        pytest.skip("no control group can be made here")
    found = json.loads(done.err.splitlines()[-1])
    assert (found["status"], found["killed"]) == (0, 0), done.err
    assert done.out.split() == ["640.0", "0.5"]
    assert done.err.count("is short of memory") >= 1


def test_a_share_is_private_memory_and_the_own_arena():
    from windrow.workers.memory.pressure import Share

    share = Share(Limit(1 << 30, "Slurm"), SimpleNamespace(shared_bytes=lambda: 1 << 29))
    assert 1 << 29 < share.used() < 1 << 32


AMID = """
import sys, time
import windrow as wr
x = wr.random.default_rng(0).random((64, 1 << 17), chunks=(1, 1 << 17)).persist()  # 64 MiB
engine = wr.cluster()._session.engine
while not engine.local.spills:
    time.sleep(0.001)
if sys.argv[1] == "kill":
    import os, signal
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("how", ["end", "kill"])
def test_an_end_amid_spilling_leaves_nothing(launch, tmp_path, how):
    (tmp_path / "amid.py").write_text(AMID)
    folder = tmp_path / "spilled"
    folder.mkdir(mode=0o700)
    done = launch(0, "amid.py", how, WINDROW_MEMORY="8 MiB", WINDROW_SPILL_DIR=str(folder))
    assert done.err == ""
    assert (done.status == 0) == (how == "end")
    assert not list(folder.iterdir())
