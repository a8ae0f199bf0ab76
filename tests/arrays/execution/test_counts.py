"""What grows with the number of chunks: calls of Python's functions at n chunks and at 4n, for each kind of operation.

Building, planning and running are counted together, on all of the engine's threads.
"""

from __future__ import annotations

import sys
import threading

import numpy as np
import pytest

import windrow as wr
from windrow.scheduler.engine.engine import Engine
from windrow.workers.rank.rank import Rank

GROWTH = 6


def line(n):
    return wr.from_array(np.arange(8.0 * n) % 97, chunks=8)


def square(n):
    side = max(1, round(n**0.5))
    return wr.from_array(np.arange(64.0 * side * side).reshape(8 * side, 8 * side) % 89, chunks=8)


def cube(n):
    """One that grows along its first axis, so that a run in C order crosses as many chunks."""
    return wr.from_array(np.arange(64.0 * n).reshape(n // 4, 16, 16), chunks=4)


def masked(n):
    x = line(n)
    return x[x > 40]


def halved(x):
    return x * 0.5


def set_slices(n):
    x = line(n) + 0
    x[3:-3:2] = 1.0
    return x


def set_mask(n):
    x = line(n) + 0
    x[x > 40] = 0.0
    return x


def set_points(n):
    x = line(n) + 0
    x[np.arange(0, 8 * n, 3)] = np.arange(8 * n)[::3]
    return x


def points(n):
    x = square(n)
    at = np.arange(x.shape[0])
    return x[at, at[::-1]]


KINDS = {
    "elementwise": lambda n: wr.sqrt(line(n)) + 1,
    "broadcast": lambda n: square(n) + square(n)[0],
    "misaligned": lambda n: line(n) + wr.from_array(np.ones(8 * n), chunks=5),
    "sum": lambda n: line(n).sum(),
    "sum of an axis": lambda n: square(n).sum(axis=0),
    "argmax": lambda n: line(n).argmax(),
    "var": lambda n: square(n).var(axis=1),
    "cumsum": lambda n: line(n).cumsum(),
    "slice": lambda n: line(n)[3:-5:3],
    "reversed": lambda n: line(n)[::-1],
    "take": lambda n: line(n)[np.arange(0, 8 * n, 5)],
    "take everywhere": lambda n: wr.take(line(n), np.arange(8 * n) * 5 % (8 * n)),
    "points": points,
    "mask": masked,
    "nonzero": lambda n: wr.nonzero(line(n) > 50)[0],
    "argwhere": lambda n: wr.argwhere(square(n) > 50),
    "set slices": set_slices,
    "set by a mask": set_mask,
    "set points": set_points,
    "transpose": lambda n: square(n).T + 1,
    "reshape": lambda n: cube(n).reshape(-1, 4),
    "ravel": lambda n: wr.ravel(cube(n)).sum(),
    "rechunk": lambda n: line(n).rechunk(11),
    "rechunk to columns": lambda n: square(n).rechunk((-1, 8)),
    "broadcast_to": lambda n: wr.broadcast_to(line(n), (3, 8 * n)),
    "concatenate": lambda n: wr.concatenate([wr.ones(10) * k for k in range(n)]),
    "stack": lambda n: wr.stack([wr.ones(10) * k for k in range(n)]),
    "block": lambda n: wr.block([[wr.ones((2, 2)) * k for k in range(n)]]),
    "column_stack": lambda n: wr.column_stack([wr.ones(10) * k for k in range(n)]),
    "roll": lambda n: wr.roll(line(n), 3),
    "repeat": lambda n: wr.repeat(line(n), 3),
    "tile": lambda n: wr.tile(line(n), 3),
    "pad": lambda n: wr.pad(line(n), 3),
    "pad by reflection": lambda n: wr.pad(line(n), 3, mode="reflect"),
    "diff": lambda n: wr.diff(line(n)),
    "where": lambda n: wr.where(line(n) > 50, line(n), 0),
    "map_blocks": lambda n: wr.map_blocks(halved, line(n)),
    "map_overlap": lambda n: wr.map_overlap(halved, square(n), depth=1, boundary="reflect"),
    "matmul": lambda n: line(n) @ line(n),
    "outer": lambda n: wr.outer(line(8), line(n)),
    "einsum": lambda n: wr.einsum(
        "ij,kj->i", square(n), square(1).rechunk(8)[:, :1] + wr.zeros((8, square(n).shape[1]))
    ),
    "histogram": lambda n: wr.histogram(line(n), bins=9, range=(0, 97))[0],
    "bincount": lambda n: wr.bincount(line(n).astype(int), minlength=97),
    "random": lambda n: wr.random.default_rng(1).normal(size=8 * n, chunks=8),
    "arange": lambda n: wr.arange(8 * n, chunks=8) * 2,
    "eye": lambda n: wr.eye(8 * round(n**0.5), chunks=8) + 1,
    "tri": lambda n: wr.tri(8 * round(n**0.5), chunks=8),
    "diag": lambda n: wr.diag(square(n)),
    "searchsorted": lambda n: wr.searchsorted(wr.arange(50), line(n)),
    "isin": lambda n: wr.isin(line(n), [3, 5]),
    "digitize": lambda n: wr.digitize(line(n), [10, 20, 50]),
    "astype": lambda n: line(n).astype("f4"),
    "from memory": line,
    "sort": lambda n: wr.sort(line(n)),
    "unique": lambda n: wr.unique(line(n)),
    "median": lambda n: wr.median(line(n)),
    "topk": lambda n: wr.topk(line(n), 5),
}


class Counter:
    """Counts calls on the threads of an engine while something is computed."""

    def __init__(self, monkeypatch):
        self.lock, self.count, self._on = threading.Lock(), 0, threading.local()
        for owner, name in ((Rank, "_run"), (Engine, "_request"), (Engine, "_event"), (Engine, "_dispatch")):
            monkeypatch.setattr(owner, name, self.counted(getattr(owner, name)))

    def counted(self, function):
        """Return a function whose calls of Windrow's functions count."""

        def run(*args, **keywords):
            if getattr(self._on, "deep", False):
                return function(*args, **keywords)
            own = 0

            def note(frame, event, argument):
                nonlocal own
                own += event == "call"

            self._on.deep = True
            before = sys.getprofile()
            sys.setprofile(note)
            try:
                return function(*args, **keywords)
            finally:
                sys.setprofile(before)
                self._on.deep = False
                with self.lock:
                    self.count += own

        return run


@pytest.fixture
def counter(monkeypatch):
    """Counts calls."""
    return Counter(monkeypatch)


@pytest.mark.parametrize("name", KINDS)
def test_calls_grow_with_the_chunks(name, counter):
    """Four times the chunks take at most six times the calls."""
    kind = KINDS[name]
    counted = []
    counter.counted(lambda: kind(16).compute())()  # what is found once
    for size in (64, 256):
        counter.count = 0
        counter.counted(lambda size=size: kind(size).compute())()
        counted.append(counter.count)
    few, many = counted
    assert many <= GROWTH * few, counted


def test_a_chunk_costs_few_calls(counter):
    """What is linear anyway, but was dear for each chunk."""
    x = wr.from_array(np.ones((100, 100, 100)), chunks=20)
    counter.counted(lambda: wr.ravel(x).sum().compute())()
    assert counter.count < 5000 * 125
    counter.count = 0
    singles = wr.from_array(np.ones(20_000), chunks=1)
    counter.counted(lambda: singles.sum().compute())()
    assert counter.count < 20_000
    counter.count = 0
    tiny = wr.from_array(np.ones((150, 150)), chunks=3).persist()
    counter.counted(lambda: tiny.reshape(450, 50).sum().compute())()
    assert counter.count < 1000 * 2500
