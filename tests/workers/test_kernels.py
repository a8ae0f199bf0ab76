"""Kernels: values are NumPy's, and the bits depend on the chunks alone."""

from __future__ import annotations

import itertools
import sys
import threading
import time
import tracemalloc

import numpy as np
import pytest

import windrow as wr
from windrow.graph.kinds.contraction import Contract
from windrow.graph.kinds.source import Full
from windrow.graph.lowering.lower import lower
from windrow.workers.kernels.contraction import Lying, contract
from windrow.workers.kernels.interpreter import tile_loop
from windrow.workers.kernels.reductions import REDUCTIONS
from windrow.workers.kernels.sources import generate
from windrow.workers.memory.spill import SpillFile
from windrow.workers.rank.chunk_reader import HOST, BatchReader, SlabPlace
from windrow.workers.rank.executor import run_task

HEADS = [name for name in REDUCTIONS if hasattr(wr, name) and not isinstance(getattr(np, name, np.add), np.ufunc)]
"""The reductions that are functions of NumPy's, too."""
CASES = [(head, dtype) for head in HEADS for dtype in ["f8", "f4", "i8", "u1"]]
CASES += [(head, dtype) for head in HEADS if not head.endswith(("min", "max")) for dtype in ["?", "c16"]]


@pytest.fixture(scope="module", autouse=True)
def cluster():
    with wr.Cluster(threads=2, memory="256 MiB") as made:
        yield made


def sample(dtype, shape):
    rng = np.random.default_rng(5)
    x = rng.integers(-3, 4, shape)
    if np.dtype(dtype).kind == "f":
        x = x * rng.random(shape) + 0.5
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.random(shape)
    return x.astype(dtype)


@pytest.mark.parametrize(("head", "dtype"), CASES)
def test_heads_have_numpys_values(head, dtype):
    x = sample(dtype, (3, 34, 3) if head == "prod" else (7, 60, 11))
    lazy = wr.from_array(x, chunks=(3, 17, 7))
    subsets = [None, 0, 1, 2] if "arg" in head else [None, 0, 2, (0, 1), (0, 2), (0, 1, 2)]
    for axis in subsets:
        expected = getattr(np, head)(x, axis=axis)
        got = getattr(wr, head)(lazy, axis=axis).compute()
        assert got.dtype == expected.dtype
        if expected.dtype.kind in "iub":
            assert np.array_equal(got, expected)
        else:
            tolerance = 1e-3 if dtype == "f4" else 1e-10
            assert np.allclose(got, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("head", ["sum", "min", "max", "argmin", "argmax", "mean", "any", "var"])
def test_nan_wins_and_the_first_one_is_found(head):
    x = np.arange(40.0)
    x[[17, 23]] = np.nan
    got = getattr(wr, head)(wr.from_array(x, chunks=7)).compute()
    assert np.array_equal(got, getattr(np, head)(x), equal_nan=True)


def test_no_elements():
    x = wr.zeros((0, 3), chunks=(1, 2))
    assert np.array_equal(x.sum(axis=0).compute(), np.zeros(3))
    assert np.array_equal(x.prod(axis=0).compute(), np.ones(3))
    assert x.all().compute()
    assert not x.any().compute()
    assert x.sum(axis=1).compute().shape == (0,)


def by_hand(array, batched: bool) -> list[bytes]:
    """Run the stage of an array whose input is in memory: whole tasks, or each block as a task of its own."""
    data, stage = lower([array.expr], lambda token: False)[:2]
    found = {}

    def target(first, count):
        out = np.empty((count, *stage.grid.block_shape(first)), stage.dtype)
        found.update((first + k, out[k]) for k in range(count))
        return out

    if not batched:
        stage.__dict__["blocks_per_task"] = 1
    places = [dict.fromkeys(range(data.grid.nblocks), SlabPlace(HOST, 0))]
    reader = BatchReader(stage, (data,), places, lambda place: None)
    for task in range(stage.ntasks):
        run_task(stage, task, reader, target)
    return [found[b].tobytes() for b in sorted(found)]


def three_steps(x):
    return wr.sqrt(x * x + 0.1) / 3 - x


@pytest.mark.parametrize("chunks", [(1, 7), (2, 60), (5, 13)])
def test_many_blocks_at_once_have_the_bits_of_one_by_one(chunks):
    x = wr.from_array(np.random.default_rng(1).standard_normal((40, 60)), chunks=chunks)
    array = three_steps(x)
    assert by_hand(array, True) == by_hand(array, False)
    least = three_steps(x).sum(axis=1, keepdims=True)
    if chunks[1] == 60:
        assert by_hand(least, True) == by_hand(least, False)


@pytest.mark.parametrize("shape", [(65_535,), (65_536,), (65_537,), (3, 40_000), (300, 257, 3), (2, 2, 65_537)])
def test_tile_edges(shape):
    x = np.random.default_rng(2).standard_normal(shape)
    lazy = wr.from_array(x, chunks=-1)
    assert np.array_equal(three_steps(lazy).compute(), np.sqrt(x * x + 0.1) / 3 - x)
    for axis in (None, 0, len(shape) - 1):
        assert np.allclose(three_steps(lazy).sum(axis=axis).compute(), (np.sqrt(x * x + 0.1) / 3 - x).sum(axis=axis))
        assert np.allclose(lazy.var(axis=axis).compute(), x.var(axis=axis))
        assert np.array_equal(lazy.argmax(axis=axis).compute(), x.argmax(axis=axis))


@pytest.mark.parametrize("head", ["sum", "var", "argmax", "prod"])
def test_bits_do_not_depend_on_the_sources_layout(head):
    x = 1 + np.random.default_rng(3).standard_normal((300, 400)) / 1000
    wide = np.zeros((600, 1200))
    wide[::2, ::3] = x
    layouts = [x, np.asfortranarray(x), wide[::2, ::3], np.ascontiguousarray(x[::-1])[::-1]]
    arrays = [wr.from_array(a, chunks=(140, 390)) for a in layouts]
    for axis in (None, 0, 1):
        for factor in (1.0, 1.5):
            found = {getattr(wr, head)(a * factor, axis=axis).compute().tobytes() for a in arrays}
            assert len(found) == 1
        assert len({getattr(wr, head)(a, axis=axis).compute().tobytes() for a in arrays}) == 1


def test_negative_zero_stays():
    x = wr.from_array(np.full(1000, -0.0), chunks=10)
    assert np.signbit((x * 1.0).compute()).all()
    assert np.signbit(x.min().compute())


def test_random_is_philox_in_any_chunks():
    expected = np.random.Generator(np.random.Philox(7)).random(6000).reshape(60, 100)
    for chunks in ((60, 100), (7, 13), (1, 100), (60, 1)):
        got = wr.random.default_rng(7).random((60, 100), chunks=chunks).compute()
        assert np.array_equal(got, expected)


@pytest.mark.parametrize("draw", ["random", "normal", "integers"])
def test_random_bits_do_not_depend_on_chunks(draw):
    def make(chunks):
        rng = wr.random.default_rng(3)
        if draw == "integers":
            return rng.integers(-5, 1000, size=(41, 37), chunks=chunks).compute()
        return getattr(rng, draw)(size=(41, 37), chunks=chunks).compute()

    expected = make((41, 37))
    for chunks in itertools.product((1, 2, 3, 41), (1, 5, 8, 37)):
        assert np.array_equal(make(chunks), expected)


def test_normal_has_its_moments():
    x = wr.random.default_rng(11).normal(size=(400_001,), chunks=33_333).compute()
    assert abs(x.mean()) < 5 / 632
    assert abs(x.std() - 1) < 5 / 890
    assert abs((x**3).mean()) < 5 * 15**0.5 / 632
    assert abs(np.corrcoef(x[:-1], x[1:])[0, 1]) < 5 / 632


def test_integers_are_even():
    x = wr.random.default_rng(12).integers(-3, 4, size=(70_000,), chunks=9999).compute()
    counts = np.bincount(x + 3, minlength=7)
    assert len(counts) == 7
    assert ((counts - 10_000) ** 2 / 10_000).sum() < 30


def test_spill_file_holds_what_was_written(tmp_path):
    slabs = [
        np.random.default_rng(i).integers(0, 256, n, np.uint8) for i, n in enumerate([64, 100, 8192, 3, 64 * 1001])
    ]
    file = SpillFile(str(tmp_path), slabs)
    try:
        for slab, offset in zip(slabs, file.offsets.tolist(), strict=True):
            assert np.array_equal(file.memory[offset : offset + len(slab)], slab)
            assert offset % 64 == 0
    finally:
        file.close()
    assert list(tmp_path.iterdir()) == []


def test_ones_are_written_without_anything_beside_them():
    whole = np.empty((1, 1_000_000), np.uint8)
    tracemalloc.start()
    generate(Full(1), (1_000_000,), np.zeros((1, 1), np.int64), whole)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert whole.all()
    assert peak < 100_000


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
def test_rows_of_a_larger_matrix_are_multiplied_where_they_lie_with_the_bits_of_a_copy(dtype):
    rng = np.random.default_rng(5)
    op = Contract((0, 1), (1, 2), (0, 2))
    for _ in range(60):
        m, k, n = rng.integers(1, 200, 3).tolist()
        wide = [
            (rng.standard_normal((a + 3, b + int(rng.integers(1, 40)))) * 9).astype(dtype) for a, b in ((m, k), (k, n))
        ]
        left, right = wide[0][2 : m + 2, 1 : k + 1], wide[1][1 : k + 1, :n]
        found, expected = np.empty((m, n), dtype), np.empty((m, n), dtype)
        contract(op, [(Lying(left), Lying(right))], found)
        contract(op, [(Lying(left.copy()), Lying(right.copy()))], expected)
        assert found.tobytes() == expected.tobytes(), (m, k, n)


def test_blocks_of_one_value_are_reduced_once_for_a_shape(monkeypatch):
    made = []
    plain = tile_loop.generate
    monkeypatch.setattr(tile_loop, "generate", lambda *given: (made.append(1), plain(*given))[1])
    found = wr.full((20_007, 300), 0.1, chunks=(400, -1)).sum(axis=1).compute()
    np.testing.assert_allclose(found, np.full(20_007, 30.0))
    assert len(made) <= 6  # two threads may begin together, and the last block has a shape of its own
    placed = wr.zeros((2000, 3), chunks=(500, -1)).argmin(axis=0)
    np.testing.assert_array_equal(placed.compute(), [0, 0, 0])


def test_products_of_few_elements_let_go_of_the_lock() -> None:
    """`np.matmul` keeps Python's lock where its result has few elements, however long it takes."""
    left, right, out = np.ones((40_000, 32), "f4"), np.ones((40_000, 3), "f4"), np.empty((32, 3), "f4")
    op = Contract((1, 0), (1, 2), (0, 2))
    turns, done = [0], threading.Event()

    def count() -> None:
        while not done.is_set():
            turns[0] += 1
            time.sleep(0)

    contract(op, [(Lying(left), Lying(right))], out)
    other, interval = threading.Thread(target=count), sys.getswitchinterval()
    sys.setswitchinterval(60.0)  # so that the other thread runs only while this one has let go
    other.start()
    try:
        begin = turns[0]
        for _ in range(50):
            contract(op, [(Lying(left), Lying(right))], out)
        seen = turns[0] - begin
    finally:
        sys.setswitchinterval(interval)
        done.set()
        other.join()
    assert seen > 50
    assert (out == 40_000).all()
