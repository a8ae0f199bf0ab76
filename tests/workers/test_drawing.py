"""Compiled loops for random numbers: the bits of NumPy's generator and of the interpreter, wherever runs begin."""

from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from windrow.workers.config import config
from windrow.workers.kernels.compiled.draws import drawing
from windrow.workers.kernels.compiled.llvm import kernel_cache as making
from windrow.workers.kernels.randoms import draws, philox
from windrow.workers.kernels.randoms.draws import Draws
from windrow.workers.kernels.randoms.normal import standard
from windrow.workers.kernels.randoms.philox import fill_run, raw_at

pytest.importorskip("llvmlite")

KEYS = [(0, 0), (7, 2**64 - 1), (2**63 + 5, 2**63 - 1)]
DTYPES = ["u8", "f8", "f4"]
FAR = 2**40 + 1
DISTRIBUTIONS = {
    "random": (), "uniform": (-1.0, 3.0), "standard_normal": (), "normal": (3.0, 0.5), "standard_exponential": (),
    "exponential": (2.0,), "integers": (0, 1000), "lognormal": (), "gamma": (2.5,), "poisson": (30.0,),
    "wald": (1.0, 2.0),
}  # fmt: skip


def runs_of_numpy(name, starts, length, dtype):
    found = np.empty((len(starts), length), dtype)
    for row, start in zip(found, starts, strict=True):
        fill_run(name, start, row)
    return found.reshape(-1)


def compiled_runs(name, starts, length, dtype):
    out = np.full(len(starts) * length, 77).astype(dtype)
    with config.set(jit="on"):
        assert drawing.draw_runs(name, np.array(starts, np.uint64), length, out)
    return out


def normal_runs(key, starts, length, dtype, jit):
    out = np.full(len(starts) * length, 77, dtype)
    with config.set(jit=jit):
        standard(Draws(key, 3, np.array(starts, np.uint64), length), out)
    return out


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("counter", [(0, 0, 0), (3, 1, 2**63 + 7)])
def test_draws_are_those_of_numpys_generator(key, counter, dtype):
    name = (*key, *counter)
    made = compiled_runs(name, [FAR], 5000, dtype)
    assert (made == runs_of_numpy(name, [FAR], 5000, dtype)).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("cut", range(4))
@pytest.mark.parametrize("more", range(4))
def test_long_runs_in_pieces(dtype, cut, more):
    length = 2 * drawing.PIECE + 40 + more
    name = (5, 6, 0, 0, 0)
    made = compiled_runs(name, [cut], length, dtype)
    assert (made == runs_of_numpy(name, [cut], length, dtype)).all()


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 2**50), min_size=1, max_size=40),
    st.integers(1, 3000),
    st.sampled_from(DTYPES),
    st.integers(0, 3),
)
def test_runs_wherever_they_begin(starts, length, dtype, cut):
    if cut:
        starts = [s - s % 4 + cut for s in starts]
    starts *= -(-drawing.LEAST // (len(starts) * length))
    name = (1, 2, 3, 4, 5)
    made = compiled_runs(name, starts, length, dtype)
    assert (made == runs_of_numpy(name, starts, length, dtype)).all()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 2**50), min_size=1, max_size=30), st.integers(1, 3000), st.sampled_from(["f8", "f4"]))
def test_normal_numbers_are_the_interpreters(starts, length, dtype):
    starts *= -(-drawing.LEAST // (len(starts) * length))
    made = normal_runs((7, 2**63 + 1), starts, length, dtype, "on")
    assert made.tobytes() == normal_runs((7, 2**63 + 1), starts, length, dtype, "off").tobytes()


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_long_runs_of_normal_numbers(dtype):
    made, wanted = (normal_runs((1, 2), [FAR], 2 * drawing.PIECE + 7, dtype, jit) for jit in ("on", "off"))
    assert made.tobytes() == wanted.tobytes()


def test_single_positions_have_the_same_numbers():
    name = (9, 8, 0, 0, 0)
    at = np.array([0, 5, 77, 4091, 1234], np.uint64)
    assert (raw_at(name, at, 1)[:, 0] == compiled_runs(name, [0], 4096, "u8")[at.astype(int)]).all()
    whole = normal_runs((9, 8), [0], 4096, "f8", "on")
    few = normal_runs((9, 8), at, 1, "f8", "on")
    assert (few == whole[at.astype(int)]).all()


def test_kernels_draw_what_is_worth_it(monkeypatch):
    """Without this the comparisons above could be those of NumPy with itself."""
    asked = []
    monkeypatch.setattr(drawing, "ready", lambda text, inputs, work, **_: asked.append(work))
    out = np.empty(drawing.LEAST)
    assert not drawing.draw_runs((0,) * 5, np.zeros(1, np.uint64), len(out), out)
    assert not drawing.draw_normal_runs((0,) * 5, np.zeros(1, np.uint64), len(out), out, (1.0, 2.0))
    assert len(asked) == 5
    short = out[:-1]
    assert not drawing.draw_runs((0,) * 5, np.zeros(1, np.uint64), len(short), short)
    assert len(asked) == 5


@pytest.mark.parametrize("name", DISTRIBUTIONS)
@pytest.mark.parametrize(("shape", "chunks"), [((50_001,), 20_000), ((301, 97), (100, 97)), ((301, 397), (300, 100))])
def test_distributions_compiled_and_interpreted(name, shape, chunks):
    found = []
    for jit, cut in (("on", chunks), ("off", chunks), ("on", -1)):
        rng = wr.random.default_rng(12)
        rng.random(3)  # so that what follows begins within a block
        with config.set(jit=jit):
            found.append(getattr(rng, name)(*DISTRIBUTIONS[name], size=shape, chunks=cut).compute())
    assert all(found[0].tobytes() == other.tobytes() for other in found[1:])


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_few_of_many(dtype):
    """A view of few positions is drawn at these alone."""
    with config.set(jit="on"):
        x = wr.random.default_rng(3).standard_normal(200_000, dtype, chunks=60_000)
        whole = x.compute()
        assert (x[5::1999].compute() == whole[5::1999]).all()
        assert (x[[3, 199_999, 77]].compute() == whole[[3, 199_999, 77]]).all()


@pytest.mark.parametrize("name", DISTRIBUTIONS)
@pytest.mark.parametrize("shape", [(3000, 7), (40, 40, 3)])
@pytest.mark.parametrize("width", [1, 2])
def test_blocks_thin_along_the_last_axis_are_drawn_by_compiled_loops(monkeypatch, name, shape, width):
    def draw():
        return getattr(wr.random.default_rng(12), name)(
            *DISTRIBUTIONS[name], size=shape, chunks=(*shape[:-1], width)
        ).compute()

    with config.set(jit="off"):
        wanted = draw()
    drawn = []
    blocks = philox._blocks
    monkeypatch.setattr(philox, "_blocks", lambda name, counter: drawn.append(len(counter)) or blocks(name, counter))
    with config.set(jit="on"):
        made = draw()
    assert made.tobytes() == wanted.tobytes()
    assert max(drawn, default=0) < drawing.LEAST, "array arithmetic is for few draws"


def test_short_runs_wait_for_their_kernels(monkeypatch):
    begun = []
    monkeypatch.setattr(draws, "fill_run", lambda *args: begun.append(0) or fill_run(*args))
    monkeypatch.setattr(making, "_kernel", lru_cache(making.Kernel))
    starts = np.arange(1456, dtype=np.uint64) * np.uint64(12_000)
    out = np.empty(1456 * 90)
    for _ in range(5):
        Draws((1, 2), 0, starts, 90).fill(out)
    assert len(begun) < 2 * len(starts)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_runs_that_are_evenly_far_apart(data):
    shape = tuple(data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=4)))
    extents = tuple(data.draw(st.integers(1, n)) for n in shape)
    origin = [data.draw(st.integers(0, n - m)) for n, m in zip(shape, extents, strict=True)]
    positions = draws.run_starts(shape, np.array([origin]), extents, 7)[:, None] + np.arange(extents[-1], dtype="u8")
    found = draws.find_even_runs(shape, origin, extents, 7)
    if found is None:
        assert sum(m < n for n, m in zip(shape[1:], extents[1:], strict=True)) > 1
        return
    first, length, count, apart = found
    lying = first + np.arange(count)[:, None] * apart + np.arange(length)
    np.testing.assert_array_equal(lying.reshape(-1), positions.reshape(-1))


@pytest.mark.parametrize(
    "chunks", [(200, 200, 1), (200, 100, 1), (200, 200, 2), (100, 3, 100), (3, 200, 100), (7, 7, 7)]
)
@pytest.mark.parametrize("name", ["random", "normal"])
def test_chunks_that_are_thin_along_any_axis(name, chunks):
    shape = (400, 400, 3) if chunks[-1] < 3 else (200, 200, 200)
    made = []
    for jit in ("on", "off"):
        with config.set(jit=jit):
            x = getattr(wr.random.default_rng(5), name)(size=shape, chunks=chunks)
            made.append((x[:101] * 2).compute() if jit == "on" else (x * 2)[:101].compute())
    np.testing.assert_array_equal(made[0], made[1])
