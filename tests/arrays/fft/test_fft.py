"""Fourier transforms: against NumPy on random grids, whole lines and long ones that are cut in two."""

from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import windrow as wr
from windrow.arrays.chunking import coalesce
from windrow.arrays.fft import plans
from windrow.graph.expr.expr import walk
from windrow.graph.kinds.mapping import BlockFunction
from windrow.workers.kernels.blocks.signal.fft import roots

ONE = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
MANY = ("fftn", "ifftn", "rfftn", "irfftn")
TWO = ("fft2", "ifft2", "rfft2", "irfft2")
NORMS = (None, "backward", "ortho", "forward")


def numbers(shape, dtype, seed=0):
    generator = np.random.default_rng(seed)
    found = generator.standard_normal(shape) * 10
    if np.dtype(dtype).kind == "c":
        found = found + 1j * generator.standard_normal(shape)
    return found.astype(dtype)


def near(lazy, expected):
    """The lazy array is NumPy's up to rounding, with its dtype and shape."""
    assert (lazy.shape, lazy.dtype) == (expected.shape, expected.dtype)
    found = lazy.compute()
    assert found.dtype == expected.dtype
    scale = np.abs(expected).max(initial=1e-300)
    assert np.abs(found - expected).max(initial=0) <= 20 * np.finfo(expected.dtype).eps * scale


@st.composite
def chunks(draw, shape):
    """Uneven chunks of a shape."""
    found = []
    for n in shape:
        cuts = sorted(draw(st.sets(st.integers(1, max(1, n - 1)), max_size=4))) if n > 1 else []
        found.append(tuple(np.diff([0, *cuts, n]).tolist()))
    return tuple(found)


@contextmanager
def little_room(line=64):
    """Lines of more than a few bytes count as long, and chunks may be small."""
    before = plans.LINE, coalesce.SMALLEST
    plans.LINE, coalesce.SMALLEST = line, 1
    try:
        yield
    finally:
        plans.LINE, coalesce.SMALLEST = before


@given(st.data())
def test_transforms_of_one_axis_are_numpys(data):
    """Any axis, length, norm, dtype and chunks."""
    shape = tuple(data.draw(st.lists(st.integers(1, 9), min_size=1, max_size=3)))
    name = data.draw(st.sampled_from(ONE))
    dtype = data.draw(st.sampled_from(["f4", "f8", "i4", "?", "c8", "c16"]))
    assume(name not in ("rfft", "ihfft") or dtype not in ("c8", "c16"))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    n = data.draw(st.none() | st.integers(1, 12))
    assume(n is not None or shape[axis] > 1)
    norm = data.draw(st.sampled_from(NORMS))
    x = numbers(shape, dtype)
    lazy = wr.from_array(x, chunks=data.draw(chunks(shape)))
    near(getattr(wr.fft, name)(lazy, n, axis, norm), getattr(np.fft, name)(x, n, axis, norm))


@given(st.data())
def test_transforms_of_several_axes_are_numpys(data):
    """Any axes and lengths; nothing fits into a block together where room is short."""
    shape = tuple(data.draw(st.lists(st.integers(2, 8), min_size=2, max_size=3)))
    name = data.draw(st.sampled_from(MANY + TWO))
    count = 2 if name in TWO else data.draw(st.integers(1, len(shape)))
    axes = data.draw(st.permutations(range(-len(shape), 0)))[:count]
    s = data.draw(st.none() | st.tuples(*[st.integers(2, 9) | st.just(-1)] * count))
    x = numbers(shape, "f8" if name.startswith("rfft") else "c16")
    lazy = wr.from_array(x, chunks=data.draw(chunks(shape)))
    room = data.draw(st.sampled_from([16, 1 << 20]))
    with little_room(room):
        found = getattr(wr.fft, name)(lazy, s, axes)
    near(found, getattr(np.fft, name)(x, s, axes))


@given(st.data())
def test_long_lines_are_cut_in_two(data):
    """Four steps: complex and real, any norm and length, also along an inner axis."""
    n = data.draw(st.sampled_from([12, 36, 35, 64, 90, 210, 256]))
    lead = data.draw(st.sampled_from([(), (3,)]))
    name = data.draw(st.sampled_from(ONE))
    norm = data.draw(st.sampled_from(NORMS))
    real = name in ("rfft", "ihfft")
    dtype = data.draw(st.sampled_from(["f4", "f8", "i2"] if real else ["c8", "c16", "f8"]))
    half = name in ("irfft", "hfft")
    length = data.draw(st.sampled_from([n, n + 5, max(2, n - 3)]))
    x = numbers((*lead, length // 2 + 1 if half else length), dtype)
    x = np.moveaxis(x, -1, 0) if data.draw(st.booleans()) else x
    axis = 0 if x.shape != (*lead, x.size // max(1, np.prod(lead, dtype=int))) else -1
    lazy = wr.from_array(x, chunks=data.draw(st.sampled_from([2, 5, 9])))
    with little_room():
        found = getattr(wr.fft, name)(lazy, n, axis, norm)
    near(found, getattr(np.fft, name)(x, n, axis, norm))


def functions(x):
    """The built-in functions of blocks that an array is made by."""
    return [e.op.function for e in walk([x.expr]) if isinstance(e.op, BlockFunction)]


def test_a_long_line_takes_the_four_steps():
    """The plan shows it, and chunks stay small; a prime length comes whole."""
    x = wr.from_array(numbers(3600, "c16"), chunks=100)
    prime = wr.from_array(numbers(3607, "c16"), chunks=100)
    with little_room():
        found, whole = wr.fft.fft(x), wr.fft.fft(prime)
    assert "signal.fft:columns" in functions(found)
    assert max(found.chunksize) <= 120
    assert functions(whole) == ["signal.fft:steps"]
    assert {s.name for s in wr.explain(found, whole).stages} == {"fft", "fft: reshape"}
    near(whole, np.fft.fft(prime.compute()))


def test_a_line_of_megabytes():
    """Real use: as accurate as NumPy's own."""
    x = numbers(3 * 5 * 7 * 2**11, "f8")
    lazy = wr.from_array(x, chunks=30_001)
    for name in ("fft", "rfft"):
        found = getattr(wr.fft, name)(lazy)
        assert "signal.fft:columns" in functions(found)
        expected = getattr(np.fft, name)(x)
        assert np.linalg.norm(found.compute() - expected) <= 2e-15 * np.linalg.norm(expected)
    back = wr.fft.irfft(wr.fft.rfft(lazy), x.size).compute()
    assert np.abs(back - x).max() < 1e-13


def test_roots_are_rounded_once_or_twice():
    """Against extended precision where there is one."""
    n = 997 * 1024 * 31
    m = np.random.default_rng(1).integers(0, n, 2000)
    turn = 2 * np.arccos(np.longdouble(-1)) * m.astype(np.longdouble) / n
    assert np.abs(roots(m, n).real - np.cos(turn)).max() < 3e-16
    assert np.abs(roots(m, n).imag + np.sin(turn)).max() < 3e-16


def test_chunks_do_not_grow():
    """The other axis is cut."""
    x = wr.ones((4096, 4096), chunks=1024)
    found = wr.fft.fft2(x)
    assert max(np.prod(e.chunksize) for e in (found, wr.fft.fft(x))) == 1024 * 1024


def test_repeated_axes_transform_repeatedly():
    """As with NumPy."""
    x = numbers((4, 6), "c16")
    near(wr.fft.fftn(wr.from_array(x, chunks=3), axes=(0, 0)), np.fft.fftn(x, axes=(0, 0)))


def test_numpys_functions_dispatch():
    """np.fft.fft of a lazy array is lazy."""
    x = numbers((5, 6), "f8")
    lazy = wr.from_array(x, chunks=2)
    for name in ("fft", "rfft", "fft2", "rfftn", "fftshift"):
        found = getattr(np.fft, name)(lazy)
        assert isinstance(found, wr.Array)
        near(found, getattr(np.fft, name)(x))


def test_narrow_and_wide_floats():
    """float16 becomes complex64; an array without elements stays one."""
    for dtype in ("f2", "f4", "u1", "g"):
        x = numbers(8, "f8").astype(dtype)
        near(wr.fft.rfft(wr.from_array(x, chunks=3)), np.fft.rfft(x))
    assert wr.fft.fft(wr.ones((0, 4))).compute().shape == (0, 4)


@pytest.mark.parametrize("n", [1, 2, 7, 10])
def test_frequencies_and_shifts(n):
    """Even and odd lengths."""
    for name in ("fftfreq", "rfftfreq"):
        assert np.array_equal(getattr(wr.fft, name)(n, 0.3, chunks=3).compute(), getattr(np.fft, name)(n, 0.3))
    assert wr.fft.fftfreq(n, dtype="f4").dtype == np.float32
    x = numbers((n, 3), "f8")
    for name in ("fftshift", "ifftshift"):
        for axes in (None, 0, (1,), (0, 1)):
            found = getattr(wr.fft, name)(wr.from_array(x, chunks=2), axes)
            assert np.array_equal(found.compute(), getattr(np.fft, name)(x, axes))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: wr.fft.fft(x, n=0), ValueError, "'n'"),
        (lambda x: wr.fft.fft(x, n=2.5), TypeError, "'n'"),
        (lambda x: wr.fft.fft(x, axis=2), IndexError, "axis"),
        (lambda x: wr.fft.fft(x, norm="half"), TypeError, "'norm'"),
        (lambda x: wr.fft.rfft(x * 1j), TypeError, "real"),
        (lambda x: wr.fft.fftn(x, s=(1, 2, 3)), (ValueError, IndexError), "ax"),
        (lambda x: wr.fft.fftn(x, s=(3,), axes=(0, 1)), ValueError, "'s'"),
        (lambda x: wr.fft.fftn(x, s=3), (ValueError, TypeError), "'s'"),
        (lambda x: wr.fft.rfftn(x, axes=()), ValueError, "'axes'"),
        (lambda x: wr.fft.fft(wr.ones((3, 0))), ValueError, "'n'"),
        (lambda x: wr.fft.fftfreq(0), ValueError, "'n'"),
        (lambda x: wr.fft.fftfreq(4, dtype="i4"), TypeError, "'dtype'"),
        (lambda x: wr.fft.fftfreq(4, device="gpu"), (ValueError, TypeError), "'device'"),
    ],
)
def test_what_cannot_be_is_said_at_the_call(call, error, words):
    """Errors name the argument."""
    with pytest.raises(error, match=words):
        call(wr.ones((4, 4)))
