"""How often users' functions are called: once for each block, whatever is made of their results; and what they see."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import windrow as wr

pytestmark = pytest.mark.timeout(60)


@pytest.fixture
def counted(tmp_path):
    """A function of blocks that writes down for which block it is called, and the calls so far."""
    path = str(tmp_path / "calls")

    def function(block, block_id=()):
        import os

        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(descriptor, (repr(block_id) + "\n").encode())
        os.close(descriptor)
        return block + 1

    def calls():
        if not os.path.exists(path):
            return Counter()
        with open(path) as file:
            return Counter(file.read().split("\n")[:-1])

    return function, calls


A = np.arange(36.0).reshape(6, 6)


def once(calls):
    """Whether each of the four blocks was the argument of one call."""
    return calls() == Counter([str((i, j)) for i in (0, 1) for j in (0, 1)])


def set_some(y):
    """Elements set in what the function made."""
    y[1:4, 2] = 7
    y[y > 30] = 0
    return y


USES = {
    "a sum": lambda y: y.sum(),
    "several at once": lambda y: (y + 1, y.T, y.sum(axis=0), y),
    "both ways round": lambda y: y + y.T,
    "a product": lambda y: y @ y,
    "elements set": set_some,
    "a transpose": lambda y: y.T * 2,
    "a cumulative sum": lambda y: wr.cumsum(y, axis=0),
    "a rechunk": lambda y: y.rechunk((2, 6)),
    "broadcast": lambda y: y + wr.ones((3, 1, 1)),
}


@pytest.mark.parametrize("use", USES)
def test_each_block_once(counted, use):
    function, calls = counted
    with wr.Cluster(threads=2, memory="64 MiB"):
        x = wr.from_array(A, chunks=3)
        y = wr.map_blocks(function, x, dtype=float)
        made = USES[use](y)
        assert not calls(), "nothing runs before compute"
        wr.compute(made)
        assert once(calls), calls()


RECIPES = {
    "sort": lambda y: wr.sort(y, axis=0),
    "median": lambda y: wr.median(y, axis=0),
    "unique": lambda y: wr.unique(y),
    "a mask": lambda y: y[y > 4],
    "nonzero": lambda y: wr.nonzero(y)[0],
    "argsort": lambda y: wr.argsort(y, axis=1),
    "searchsorted": lambda y: wr.searchsorted(wr.sort(wr.ravel(y)), wr.asarray([3.0])),
}


@pytest.mark.parametrize("use", RECIPES)
def test_each_block_once_where_values_must_be_known(counted, use):
    function, calls = counted
    with wr.Cluster(threads=2, memory="64 MiB"):
        y = wr.map_blocks(function, wr.from_array(A, chunks=3), dtype=float)
        wr.compute(RECIPES[use](y))
        assert once(calls), calls()


def test_persisted_once_for_all(counted):
    function, calls = counted
    with wr.Cluster(threads=2, memory="64 MiB"):
        y = wr.map_blocks(function, wr.from_array(A, chunks=3), dtype=float).persist()
        for use in (*USES.values(), *RECIPES.values()):
            wr.compute(use(y + 0))
        assert once(calls), calls()


def test_persisted_together_share_what_they_are_made_of(counted):
    function, calls = counted
    with wr.Cluster(threads=2, memory="64 MiB"):
        y = wr.map_blocks(function, wr.from_array(A, chunks=3), dtype=float)
        one, two, same = wr.persist(y + 1, y * 2, y + 1)
        wr.wait(one, two, same)
        assert once(calls), calls()
        one.release()
        assert np.array_equal(same.compute(), A + 2)
        assert np.array_equal(two.compute(), (A + 1) * 2)
        assert once(calls), calls()


def test_a_function_that_works_in_place_is_refused_what_others_read():
    def in_place(block):
        block += 1
        return block

    a = A.copy()
    with wr.Cluster(threads=2, memory="64 MiB"):
        x = (wr.from_array(a, chunks=3) * 1).persist()
        wr.wait(x)
        for source in (x, wr.from_array(a, chunks=3), x + 0, x.T, x[1:]):
            with pytest.raises(ValueError, match="read-only"):
                wr.map_blocks(in_place, source, dtype=float).compute()
        assert np.array_equal(x.compute(), A)
        assert np.array_equal(a, A)


def test_blockwise_over_a_fused_operand_with_other_axes():
    with wr.Cluster(threads=2, memory="64 MiB"):
        x = wr.from_array(A[:4], chunks=(3, 2))
        found = wr.blockwise(lambda b: b.T * 2, "ji", x + 1, "ij", dtype=float)
        assert np.array_equal(found.compute(), (A[:4] + 1).T * 2)
        v = wr.from_array(np.arange(4.0), chunks=3)
        outer = wr.blockwise(np.add.outer, "ij", v + 1, "i", v * 2, "j", dtype=float)
        assert np.array_equal(outer.compute(), np.add.outer(np.arange(4.0) + 1, np.arange(4.0) * 2))
        square = wr.from_array(A, chunks=3)
        both = wr.blockwise(lambda a, b: a - b.T, "ij", square + 1, "ij", square + 1, "ji", dtype=float)
        assert np.array_equal(both.compute(), A - A.T)


def test_a_chain_of_three_thousand_additions():
    with wr.Cluster(threads=2, memory="64 MiB") as cluster:
        x = wr.from_array(np.arange(10.0), chunks=5)
        for _ in range(3000):
            x = x + 1
        assert len(cluster._session.stages([x.expr])) > 3000 // 100
        assert np.array_equal(x.compute(), np.arange(10.0) + 3000)
        kept = x.persist()
        assert float(kept.sum()) == 45 + 30_000


@pytest.mark.parametrize("shapes", [((5000, 100), (5000, 1)), ((5000, 100), (1, 100)), ((5000, 1), (1, 100))])
def test_size_1_axes_in_blocks_of_several_tiles(shapes):
    a, b = (np.random.default_rng(i).random(shape) for i, shape in enumerate(shapes))
    with wr.Cluster(threads=2, memory="64 MiB"):
        x, y = (wr.from_array(each, chunks=each.shape) for each in (a, b))
        assert np.array_equal((x * y).compute(), a * b)
        assert np.array_equal((x * y + 1 - y).compute(), a * b + 1 - b)
        assert np.allclose((x * y).sum(axis=0).compute(), (a * b).sum(axis=0), rtol=1e-13)
        assert np.array_equal((x * y).max(axis=1).compute(), (a * b).max(axis=1))


def test_results_that_are_only_reduced_are_not_copied(monkeypatch):
    copied = []

    def copyto(target, source, **keywords):
        copied.append(source.nbytes)
        numpy_copyto(target, source, **keywords)

    numpy_copyto = np.copyto
    monkeypatch.setattr(np, "copyto", copyto)
    x = wr.from_array(np.arange(60_000.0).reshape(300, 200), chunks=(100, 200))
    mapped = wr.map_blocks(lambda block: block + 1, x, dtype=float)
    assert mapped.sum(axis=1).compute().sum() == np.arange(1.0, 60_001.0).sum()
    assert not [nbytes for nbytes in copied if nbytes >= 160_000]


def test_a_function_may_use_the_memory_of_its_results_again():
    buffer = np.empty((20, 30))

    def doubled(block, held=buffer):
        return np.multiply(block, 2, out=held)

    a = np.arange(1200.0).reshape(40, 30)
    with wr.Cluster(threads=1):
        x, y = (wr.from_array(values, chunks=(20, 30)).map_blocks(doubled, dtype=float) for values in (a, a[::-1]))
        assert np.array_equal((x - y).compute(), 2 * a - 2 * a[::-1])
        assert (x * y).sum().compute() == (4 * a * a[::-1]).sum()
        assert np.array_equal(wr.where(x > y, x, y).max(axis=0).compute(), (2 * a).max(axis=0))


def test_zeros_that_a_function_is_given_are_contiguous_and_take_no_memory():
    def resident(block):
        assert block.flags.c_contiguous
        assert not block.flags.writeable
        assert not block[0, ::512].any()
        out = np.zeros(block.shape)
        out[0, 0] = int(Path("/proc/self/statm").read_text().split()[1])
        return out

    def pages(n):
        return wr.map_blocks(resident, wr.zeros((1, n), chunks=(1, n)), dtype=float).max().compute()

    before = pages(1000)
    assert pages(50_000_000) - before < 20_000  # of 97,657


@pytest.mark.parametrize("shape", [(), (4, 4)])
def test_a_function_without_return_is_named(shape):
    def forgets(*blocks, **options):
        _ = [block + 1 for block in blocks]

    x = wr.ones(shape, chunks=2)
    indices = "ij"[: len(shape)]
    calls = [
        lambda: x.map_blocks(forgets),
        lambda: x.map_blocks(forgets, dtype=float).compute(),
        lambda: x.map_blocks(forgets, dtype=float).sum().compute(),
        lambda: wr.blockwise(forgets, indices, x, indices, dtype=float).compute(),
        lambda: wr.apply_gufunc(forgets, "()->()", x),
        lambda: wr.apply_gufunc(forgets, "()->()", x, output_dtypes=float).compute(),
    ]
    for call in calls:
        with pytest.raises(wr.ArgumentError, match=r"forgets.*the function returned None; expected an array"):
            call()
