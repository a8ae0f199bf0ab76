"""Compiled kernels: the interpreter's bits, for whatever they take; and what happens without them."""

import builtins
import logging
import math
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from support.counting import count_calls
from windrow.graph.chunks.grid import Axis, Grid
from windrow.graph.expr.expr import Expr
from windrow.graph.kinds.elementwise import Elementwise, Scalar, result_dtype
from windrow.graph.kinds.reduction import Reduce
from windrow.graph.kinds.source import Full, Host, HostData
from windrow.graph.lowering.lower import lower
from windrow.workers.config import config
from windrow.workers.kernels import compiled
from windrow.workers.kernels.compiled.fixed.transposing import copy_tile
from windrow.workers.kernels.compiled.fused import dispatch
from windrow.workers.kernels.compiled.fused.fused import compile_fused, cuts
from windrow.workers.kernels.compiled.llvm import kernel_cache as making
from windrow.workers.kernels.compiled.llvm import machine_code as llvm_compile
from windrow.workers.kernels.compiled.llvm.text import NotCompilable
from windrow.workers.kernels.interpreter.frame import Frame
from windrow.workers.kernels.interpreter.tile_regions import regions
from windrow.workers.kernels.reductions import REDUCTIONS
from windrow.workers.rank.chunk_reader import HOST, BatchReader, SlabPlace

pytest.importorskip("llvmlite")

LENGTHS = [1024, 1025, 1535, 1536, 1537, 65535, 65536, 65537, 66000, 200_000]
SHAPES = [(300, 400), (2, 70_000), (3, 5, 30_000), (1, 1, 70_001), (5000, 40), (4, 300, 300), (2000, 1)]
SPECIAL = {
    "f": [np.nan, np.inf, -np.inf, 0.0, -0.0, 5e-324, -1e-310, 1e-45, 1.0, -1.5, 1e300, -1e38, 1 + 2**-52],
    "i": [0, 1, -1, 7, -128, 127, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63)],
    "b": [True, False],
}
DTYPES = ["f8", "f4", "i8", "i4", "i1", "u1", "u8", "?"]


@pytest.fixture(autouse=True)
def jit():
    with config.set(jit="on"):
        yield


def source(array):
    grid = Grid([Axis.whole(n) for n in array.shape])
    return Expr(Host(HostData(array, in_place=True)), (), grid, array.dtype)


def call(name, *args, dtype=None):
    operands = [a for a in args if isinstance(a, Expr)]
    numbers = iter(range(len(operands)))
    given = tuple(next(numbers) if isinstance(a, Expr) else Scalar(a) for a in args)
    if dtype is None:
        dtype = result_dtype(name, [a.dtype if isinstance(a, Expr) else a for a in args])
    return Expr(
        Elementwise(name, given),
        tuple(operands),
        max(operands, key=lambda e: e.grid.ndim).grid,
        np.dtype(dtype),
    )


def reduced(head, x, dtype=None):
    axes = tuple(range(x.grid.ndim))
    if dtype is None:
        dtype = REDUCTIONS[head].result_dtype(x.dtype)
    if head == "mean":
        dtype = x.dtype if x.dtype.kind == "f" else "f8"
    return Expr(Reduce(head, axes, False), (x,), Grid([]), np.dtype(dtype))


def frame_of(expr):
    stages = lower([expr], lambda token: False)
    stage = stages[-1]
    producers = tuple(next(s for s in stages if s.token == token) for token in stage.inputs)
    reader = BatchReader(stage, producers, [{0: SlabPlace(HOST, 0)} for _ in producers], lambda place: None)
    return Frame(stage, reader, [0], stage.domain.block_shape(0), {})


def bits(x):
    """The bits of an array; a NaN is a NaN."""
    x = np.ascontiguousarray(x)
    if x.dtype.kind == "f":
        x = np.where(np.isnan(x), x.dtype.type(np.nan), x)
    return x.shape, x.dtype, x.tobytes()


def both(expr):
    """The interpreter's result, with NumPy's loops alone, and the compiled kernel's."""
    frame, other = frame_of(expr), frame_of(expr)
    with np.errstate(all="ignore"):
        if frame.program.level is not None:
            made = compiled.reduce(frame)
            assert made is not None
            with config.set(jit="off"):
                return other.reduce(), made
        made, wanted = (np.full((1, *frame.shape), 7).astype(expr.dtype) for _ in range(2))
        assert compiled.store(frame, made)
        with config.set(jit="off"):
            other.store(wanted)
        return wanted, made


def same(expr):
    wanted, made = both(expr)
    assert bits(wanted) == bits(made)


def some(shape, dtype, seed=0):
    rng, dtype = np.random.default_rng(seed), np.dtype(dtype)
    if dtype.kind == "f":
        found = rng.standard_normal(shape) * 10.0 ** rng.integers(-5, 5, shape)
    elif dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    else:
        found = rng.integers(-(2**63), 2**63 - 1, shape) >> rng.integers(0, 63, shape)
    pool = np.array(SPECIAL["f" if dtype.kind == "f" else "i"])
    with np.errstate(all="ignore"):
        return np.where(rng.random(shape) < 0.05, rng.choice(pool, shape), found).astype(dtype)


FLOAT1 = ["negative", "absolute", "sqrt", "square", "positive", "reciprocal"]
TWO = ["add", "subtract", "multiply", "minimum", "maximum"]
COMPARE = ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"]
LOGIC = ["logical_and", "logical_or", "logical_xor"]
BITS = ["bitwise_and", "bitwise_or", "bitwise_xor"]


def grown(draw, values):
    """One more value made of those that are there; None where NumPy has no such loop."""
    pick = lambda: draw(st.sampled_from(values))  # noqa: E731
    a, b = pick(), pick()
    way = draw(st.sampled_from(["one", "two", "scalar", "compare", "logic", "bits", "divide", "where", "cast"]))
    if way == "one":
        names = {"f": [*FLOAT1, "isnan", "isinf", "isfinite"], "b": ["absolute", "invert", "logical_not"]}
        integer = ["negative", "absolute", "square", "positive", "invert", "logical_not"]
        return call(draw(st.sampled_from(names.get(a.dtype.kind, integer))), a)
    if way in ("two", "compare", "logic", "divide"):
        if way == "divide" and (a.dtype.kind not in "fi" or a.dtype.itemsize < 4):
            return None
        names = {"two": TWO, "compare": COMPARE, "logic": LOGIC, "divide": ["divide"]}[way]
        return call(draw(st.sampled_from(names)), a, b)
    if way == "scalar":
        numbers = [2, 1, -3.5, 0.1, True, np.float32(1.1), np.float64(0.3), np.int64(5), math.inf]
        pair = [a, draw(st.sampled_from(numbers))]
        return call(draw(st.sampled_from([*TWO, "less", "equal"])), *(pair if draw(st.booleans()) else pair[::-1]))
    if way == "bits":
        return call(draw(st.sampled_from(BITS)), a, b)
    if way == "where":
        conditions = [v for v in values if v.dtype.kind == "b"]
        if not conditions:
            return None
        return call("where", draw(st.sampled_from(conditions)), a, b, dtype=np.result_type(a.dtype, b.dtype))
    target = np.dtype(draw(st.sampled_from(DTYPES)))
    return None if a.dtype.kind == "f" and target.kind not in "fb" else call("cast", a, dtype=target)


@st.composite
def programs(draw):
    shape = draw(st.sampled_from([(n,) for n in LENGTHS] + SHAPES))
    kinds = draw(st.lists(st.sampled_from(DTYPES), min_size=1, max_size=3))
    values = [source(some(shape, d, draw(st.integers(0, 5)))) for d in kinds]
    count = len(values) + draw(st.integers(1, 8))
    for _ in range(40):
        try:
            made = grown(draw, values)
        except TypeError:
            continue
        if made is not None and made.dtype.str[1:] in {np.dtype(d).str[1:] for d in DTYPES}:
            values.append(made)
        if len(values) >= count:
            break
    last = values[-1]
    head = draw(st.sampled_from(["", "", "sum", "sum", "mean", "any", "all", "count_nonzero", "min", "max"]))
    if head in ("min", "max") and last.dtype.kind not in "iu":
        head = "sum"
    return reduced(head, last) if head else last


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(programs())
def test_any_program_gives_the_interpreters_bits(expr):
    try:
        compile_fused(frame_of(expr).program)
    except NotCompilable:
        reject()
    same(expr)


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("head", ["sum", "mean"])
def test_sums_of_any_length(length, dtype, head):
    rng = np.random.default_rng(length)
    x = source(rng.standard_normal(length).astype(dtype))
    same(reduced(head, x))
    same(reduced(head, call("multiply", x, x)))


@pytest.mark.parametrize("shape", SHAPES)
def test_sums_of_any_shape(shape):
    x = source(np.random.default_rng(1).standard_normal(shape))
    same(reduced("sum", call("sqrt", call("absolute", x))))
    same(call("add", x, 1.0))


@pytest.mark.parametrize("shape", [(5,), (65_537,), *SHAPES, (70_000, 3, 3), (2, 2, 2, 50_000), (1, 100_000, 1)])
def test_cuts_are_the_regions(shape):
    size, group, tile = cuts(shape)
    runs = [min(tile, g + group - t) for g in range(0, size, group) for t in range(g, g + group, tile)]
    assert runs == [math.prod(s.stop - s.start for s in region) for region in regions(shape)]


@pytest.mark.parametrize("length", [*LENGTHS, 65_536 + 512, 65_536 + 1024])
def test_sums_of_negative_zeros(length):
    for value in (0.0, -0.0):
        same(reduced("sum", call("positive", source(np.full(length, value)))))


def test_no_contraction():
    """With a fused multiply-add `x*x - y` would not be zero here."""
    x = np.full(5000, 1 + 2**-30)
    wanted, made = both(call("subtract", call("multiply", source(x), source(x)), source(x * x)))
    assert not made.any()
    assert bits(made) == bits(wanted)


@pytest.mark.parametrize("name", ["minimum", "maximum", *COMPARE, "add", "multiply", "divide"])
def test_special_values_in_pairs(name):
    for dtype in ("f8", "f4"):
        with np.errstate(all="ignore"):
            values = np.array(SPECIAL["f"]).astype(dtype)
        a, b = (np.resize(x.ravel(), 2001) for x in np.meshgrid(values, values))
        same(call(name, source(a), source(b)))


@pytest.mark.parametrize("start", DTYPES)
@pytest.mark.parametrize("end", DTYPES)
def test_casts(start, end):
    expr = call("cast", source(some((3001,), start)), dtype=end)
    if np.dtype(start).kind == "f" and np.dtype(end).kind not in "fb":
        with pytest.raises(NotCompilable):
            compile_fused(frame_of(expr).program)
    else:
        same(expr)


def test_one_element_for_all_and_full_sources():
    x = source(np.random.default_rng(3).random((50, 60)))
    same(call("subtract", x, source(np.array(0.25))))
    same(call("add", x, Expr(Full(0.1), (), x.grid, np.dtype("f8"))))


def test_other_programs_are_left_to_the_interpreter():
    x = source(np.random.default_rng(3).random((50, 60)))
    row = source(np.random.default_rng(3).random(60))
    column = Expr(Reduce("sum", (0,), False), (x,), row.grid, x.dtype)
    for expr in (call("exp", x), call("add", x, row), column, reduced("min", x), reduced("prod", x)):
        with pytest.raises(NotCompilable):
            compile_fused(frame_of(expr).program)


def test_a_block_that_is_no_run_of_memory_is_brought_to_order():
    x = np.random.default_rng(3).random((1100, 700)).T
    frame = frame_of(call("add", source(x), 1.0))
    out = np.empty((1, 700, 1100))
    assert compiled.store(frame, out)
    assert np.array_equal(out[0], x + 1.0)
    same(reduced("sum", source(x)))


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i2", "c16"])
@pytest.mark.parametrize("shape", [(131, 1000), (8, 8), (9, 200), (100, 13), (128, 1024), (3, 50, 40)])
def test_tiles_are_brought_to_order(shape, dtype):
    x = some(shape, "i4").astype(dtype)
    for lying in (np.asfortranarray(x), np.asfortranarray(np.concatenate([x, x]))[len(x) // 2 : len(x) // 2 + len(x)]):
        out = np.empty((1, *shape), dtype)
        copy_tile(out, lying[None])
        assert out[0].tobytes() == lying.tobytes()


@pytest.mark.parametrize("head", ["sum", "mean", "min", "max", "any", "all", "count_nonzero"])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "?"])
def test_transposed_blocks_are_reduced_by_tiles(head, dtype):
    if head in ("min", "max") and dtype != "i8":
        head = "sum"
    for shape in ((1100, 700), (400, 330), (90, 70), (131_073, 2)):
        a, b = some(shape[::-1], dtype), some(shape, dtype, 1)
        same(reduced(head, call("maximum", source(a.T), source(b))))
        same(call("maximum", source(b), source(a.T)))


def test_other_scalars_are_no_other_kernel(monkeypatch):
    made = []
    monkeypatch.setattr(making, "compile_text", lambda *a: made.append(a) or llvm_compile.compile_text(*a))
    monkeypatch.setattr(dispatch, "_kernels", {})
    x = source(np.arange(3000.0))
    for value in (1.0, 2.5, 7.0):
        _, found = both(call("multiply", call("add", x, value), 3.0))
        assert np.array_equal(found[0], (np.arange(3000.0) + value) * 3.0)
    both(call("multiply", call("add", source(np.arange(5000.0)), 2), 1))
    assert len(made) == 1


def test_off_and_auto(monkeypatch):
    monkeypatch.setattr(dispatch, "_kernels", {})
    x = source(np.arange(100_000.0))
    out = np.empty((1, 100_000))
    for setting in ("off", "auto"):
        with config.set(jit=setting):
            assert not compiled.store(frame_of(call("add", x, 1.0)), out)
    (kernel,) = dispatch._kernels.values()
    assert not kernel.asked
    monkeypatch.setattr(making, "ENOUGH_WORK", 400_000)
    with config.set(jit="auto"):
        for _ in range(3):
            compiled.store(frame_of(call("add", x, 1.0)), out)
        assert kernel.finished.wait(20)
        assert compiled.store(frame_of(call("add", x, 1.0)), out)
    assert np.array_equal(out[0], np.arange(100_000.0) + 1.0)


def test_without_llvmlite(monkeypatch, caplog):
    real = builtins.__import__

    def missing(name, *args, **keywords):
        if name.startswith(("llvmlite", "numba")):
            raise ImportError(f"No module named {name!r}")
        return real(name, *args, **keywords)

    monkeypatch.setattr(dispatch, "_kernels", {})
    monkeypatch.setattr(builtins, "__import__", missing)
    llvm_compile._llvm.cache_clear()
    out = np.empty((1, 3000))
    with caplog.at_level(logging.DEBUG, "windrow"):
        for _ in range(2):
            assert not compiled.store(frame_of(call("add", source(np.arange(3000.0)), 1.0)), out)
    assert len(caplog.records) == 1


def test_what_llvm_refuses_is_left_to_the_interpreter(monkeypatch, caplog):
    def refuse(*args):
        raise RuntimeError("no such instruction")

    monkeypatch.setattr(dispatch, "_kernels", {})
    monkeypatch.setattr(llvm_compile, "_compile", refuse)
    monkeypatch.setattr(llvm_compile, "cache_folder", lambda: None)
    assert not compiled.store(frame_of(call("add", source(np.arange(3000.0)), 1.0)), np.empty((1, 3000)))
    assert "could not be compiled" in caplog.text


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(dispatch, "_kernels", {})
    llvm_compile.cache_folder.cache_clear()
    yield tmp_path / "windrow" / "kernels"
    llvm_compile.cache_folder.cache_clear()


def test_kernels_are_kept_on_disk(cache):
    same(call("add", source(np.arange(3000.0)), 1.0))
    (file,) = cache.iterdir()
    assert cache.stat().st_mode & 0o777 == 0o700
    code = (
        "import numpy as np, windrow as w\n"
        "from windrow.workers.kernels.compiled.llvm import machine_code as machine\n"
        "from windrow.workers.kernels.compiled.fused import dispatch as choice\n"
        "def refuse(*a): raise SystemExit('compiled again')\n"
        "machine._compile = refuse\n"
        "w.config.set(jit='on')\n"
        "x = (w.from_array(np.arange(3000.0), chunks=1500) + 2.0).compute()\n"
        "assert np.array_equal(x, np.arange(3000.0) + 2.0)\n"
        "assert all(k.function for k in choice._kernels.values()) and choice._kernels\n"
    )
    path = os.pathsep.join(p for p in sys.path if p)
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60, env={**os.environ, "PYTHONPATH": path})
    assert list(cache.iterdir()) == [file]


def test_damaged_files_are_compiled_again(cache, monkeypatch):
    same(call("add", source(np.arange(3000.0)), 1.0))
    (file,) = cache.iterdir()
    whole = file.read_bytes()
    file.write_bytes(whole[:100])
    monkeypatch.setattr(dispatch, "_kernels", {})
    same(call("add", source(np.arange(3000.0)), 1.0))
    assert file.read_bytes() == whole


def test_a_folder_that_others_can_write_is_not_used(cache):
    cache.mkdir(parents=True)
    cache.chmod(0o777)
    same(call("add", source(np.arange(3000.0)), 1.0))
    assert not list(cache.iterdir())


def test_finding_a_kernel_takes_few_calls():
    frame = frame_of(call("add", source(np.arange(3000.0)), 1.0))
    dispatch._function(frame)
    assert count_calls(lambda: dispatch._function(frame)) < 20


@pytest.mark.parametrize("jit", ["auto", "on"])
def test_a_process_may_end_while_a_kernel_is_made(jit, tmp_path):
    code = (
        "import numpy as np, windrow as w\n"
        "from windrow.workers.kernels.compiled.llvm import kernel_cache as choice\n"
        "choice.ENOUGH_WORK = 1\n"
        f"w.config.set(jit={jit!r})\n"
        "x = w.from_array(np.arange(200_000.0), chunks=100_000)\n"
        "y = w.persist((w.sqrt(x * x) * 2 - 1).sum())\n"
    )
    path = os.pathsep.join(p for p in sys.path if p)
    environment = {**os.environ, "PYTHONPATH": path, "XDG_CACHE_HOME": str(tmp_path)}
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60, env=environment)
        assert done.returncode == 0, done.stderr.decode()
        for file in (tmp_path / "windrow" / "kernels").glob("*.o"):
            file.unlink()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
@pytest.mark.parametrize("jit", ["auto", "on"])
def test_a_fork_amid_a_kernels_making_makes_it_anew(jit, tmp_path):
    code = (
        "import os, time, signal, numpy as np, windrow as w\n"
        "from windrow.workers.kernels.compiled.llvm import kernel_cache as choice\n"
        "choice.ENOUGH_WORK = 1\n"
        "x = w.from_array(np.arange(200_000.0), chunks=100_000)\n"
        "make = lambda: float((w.sqrt(x * x) * 2 - 1).sum())\n"
        "first = make()\n"
        "if (child := os.fork()) == 0:\n"
        "    signal.alarm(40)\n"
        f"    w.config.set(jit={jit!r})\n"
        "    os._exit(0 if make() == make() == first else 7)\n"
        "assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0\n"
        "assert make() == first\n"
    )
    path = os.pathsep.join(p for p in sys.path if p)
    environment = {**os.environ, "PYTHONPATH": path, "XDG_CACHE_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, timeout=60, env=environment
    )
    assert done.returncode == 0, done.stderr.decode()
