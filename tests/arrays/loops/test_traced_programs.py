"""Programs of views, writes and arithmetic, traced and compiled as a whole: NumPy's results, in memory used again."""

from __future__ import annotations

import random
import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from windrow.workers.direct import compiling
from windrow.workers.kernels.compiled.llvm import kernel_cache

SHAPES = {"a": (7, 9), "b": (7, 9), "c": (9, 7), "v": (9,)}
BIG = (1 << 10, 1 << 8)


@pytest.fixture(autouse=True)
def compiled():
    before = wr.config.jit
    wr.config.set(jit="on")
    yield
    wr.config.set(jit=before)


def program_of(function):
    """Return the compiled form of the only call of a function that was traced; None where it isn't compiled."""
    (call,) = [call for call in function._calls.values() if call is not None]
    return next(iter(call._program._compiling._by_threads.values()), None)


def choose_key(rng, shape):
    key = []
    for n in shape:
        start = rng.randrange(n)
        stop = rng.randrange(start + 1, n + 1)
        key.append(rng.choice([slice(None), slice(start, stop), slice(None, None, -1), slice(None, None, 2), start]))
    return tuple(key)


def choose_operand(rng, shape):
    if (kind := rng.random()) < 0.25:
        return f"{kind:.3f}" if kind < 0.15 else "s"
    name = rng.choice("abcv")
    turned = len(SHAPES[name]) == 2 and rng.random() < 0.3
    whole = np.empty(SHAPES[name]).T if turned else np.empty(SHAPES[name])
    for _ in range(30):
        key = choose_key(rng, whole.shape)
        part = whole[key].shape
        if len(part) <= len(shape) and all(n in (1, m) for n, m in zip(part[::-1], shape[::-1], strict=False)):
            break
    else:
        key = (0,) * whole.ndim
    return f"{name}{'.T' if turned else ''}[{key!r}]"


def write_program(seed):
    """Return the text of a function that sets parts of arrays, chosen by a number."""
    rng, lines = random.Random(seed), ["def f(xp, a, b, c, v, s):"]
    for _ in range(rng.randrange(1, 12)):
        name = rng.choice("abcv")
        key = choose_key(rng, SHAPES[name])
        shape = np.empty(SHAPES[name])[key].shape
        text = choose_operand(rng, shape)
        for _ in range(rng.randrange(3)):
            text = f"({text} {rng.choice('+-*')} {choose_operand(rng, shape)})"
        more = rng.random()
        if more < 0.2:
            text = f"xp.maximum({text}, {choose_operand(rng, shape)})"
        elif more < 0.35:
            text = f"xp.exp(0.01 * {text}) + {rng.choice('abc')}.sum() - (a @ c)[0, 0]"
        # NumPy itself copies what overlaps, but for some rows set to columns that cross them
        lines.append(f"    {name}[{key!r}] {rng.choice(['=', '=', '+=', '-='])} xp.array({text})")
    return "\n".join(
        [*lines, f"    return {rng.choice(['a', 'a, b, c, v', 'a + b', 'v, a[1:3]', 'c.reshape(-1) * s'])}"]
    )


@pytest.mark.parametrize("jit", ["on", "auto", "off"])
@given(st.integers(0, 1 << 30))
def test_programs_have_numpys_results_in_each_run(jit, seed):
    wr.config.set(jit=jit)
    text = write_program(seed)
    names = {}
    exec(text, names)
    function = wr.jit(lambda *args: names["f"](wr, *args))
    for run in range(2):
        rng = np.random.default_rng(run)
        arrays, number = [rng.random(shape) for shape in SHAPES.values()], rng.random()
        lazy = [wr.array(array) for array in arrays]
        expected, values = names["f"](np, *arrays, number), function(*lazy, number)
        if not isinstance(expected, tuple):
            expected, values = (expected,), (values,)
        for x, y in [*zip(expected, values, strict=True), *zip(arrays, lazy, strict=True)]:
            np.testing.assert_allclose(np.asarray(y), x, rtol=1e-12, atol=1e-12, err_msg=text)


def smoothed(times, a, b):
    for _ in range(times):
        b[1:-1] = 0.25 * (a[:-2] + 2 * a[1:-1] + a[2:])
        a[1:-1] = 0.25 * (b[:-2] + 2 * b[1:-1] + b[2:])
    return a


def test_a_long_loop_is_one_run_of_kernels_over_the_same_memory():
    function = wr.jit(smoothed, static="times")
    x, y = np.random.default_rng(3).random((2, 100))
    expected = smoothed(200, x.copy(), y.copy())
    for _ in range(2):
        np.testing.assert_array_equal(np.asarray(function(200, wr.array(x), wr.array(y))), expected)
    native = program_of(function)
    assert [part.many for part in native._parts] == [native._tables.calls]  # nothing is done by the interpreter
    assert len(native._plan.sizes) <= 7
    assert native._tables.calls <= 2 * 200 + 2  # each line is one call: elements are computed where they are set


def test_elements_are_set_in_rows_columns_and_single_places():
    def function(x, n):
        for i in range(1, len(x)):
            x[i] += n * x[i - 1]
            x[:, i] = x[:, i - 1] - x[i, ::-1]
            x[i, i] = x[0, i] / n
        return x.T * 1

    traced, x = wr.jit(function), np.random.default_rng(4).random((12, 12))
    for n in (0.5, 0.25):
        expected = function(x.copy(), n)
        np.testing.assert_array_equal(np.asarray(traced(wr.array(x), n)), expected)
    assert traced.traces == 1
    assert program_of(traced) is not None


def test_an_array_that_is_read_later_is_not_written_to():
    def function(x):
        y = x * 2
        before = y[1:3] + 0
        y[...] = 5
        kept = y.copy()
        y[0] = before[0]
        y[1:] = y[:-1]
        return y, kept, before

    x = np.random.default_rng(5).random((4, 6))
    for expected, value in zip(function(x), wr.jit(function)(wr.array(x)), strict=True):
        np.testing.assert_array_equal(np.asarray(value), expected)


def test_results_are_not_the_arguments_memory_nor_that_of_the_next_run():
    traced = wr.jit(lambda x: (x.copy().reshape(3, 4), x.reshape(2, 6) + 1, x))
    x = np.arange(12.0)
    shaped, added, same = traced(wr.from_array(x))
    again = traced(wr.array(x + 100))
    x[:] = -1
    np.testing.assert_array_equal(np.asarray(shaped), np.arange(12.0).reshape(3, 4))
    np.testing.assert_array_equal(np.asarray(added), np.arange(12.0).reshape(2, 6) + 1)
    assert np.asarray(again[0])[0, 0] == 100
    assert np.asarray(added)[0, 0] == 1
    assert same.shape == (12,)


def test_threads_share_what_is_large_with_the_same_bits():
    def function(x, row, column):
        y = x * row + column
        for _ in range(3):
            y[1:-1, 1:-1] = 0.25 * (x[:-2, 1:-1] + x[2:, 1:-1]) + x[1:-1, :-2] * y[1:-1, 2:]
            y[:, ::2] = x[:, ::-2] - y[:, 1::2]
            x = y + x.T.reshape(x.shape) * row
        return x, y

    rng = np.random.default_rng(6)
    arguments = rng.random(BIG), rng.random(BIG[1]), rng.random((BIG[0], 1))
    expected = function(*[array.copy() for array in arguments])
    for threads in (1, 3):
        traced = wr.jit(function)
        with wr.Cluster(threads=threads):
            values = traced(*map(wr.array, arguments))
            for value, array in zip(values, expected, strict=True):
                np.testing.assert_array_equal(np.asarray(value), array)
            native = program_of(traced)
            assert native.threads == threads
            assert native._has_shared == (threads > 1)


def test_runs_on_several_threads_have_memory_of_their_own():
    traced = wr.jit(smoothed, static="times")
    arrays = np.random.default_rng(7).random((4, 2, 1000))
    wrong = []

    def run(x, y):
        expected = smoothed(50, x.copy(), y.copy())
        values = [np.asarray(traced(50, wr.array(x), wr.array(y))) for _ in range(20)]
        wrong.extend(value for value in values if not np.array_equal(value, expected))

    threads = [threading.Thread(target=run, args=tuple(pair)) for pair in arrays]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wrong
    assert not any(thread.is_alive() for thread in threads)


def test_products_are_made_where_their_operands_lie():
    def function(x, w):
        total = w * 0
        for i in range(1, len(w)):
            total[i] = x[i, :i] @ w[:i]
            w = w - 0.1 * (x @ w) / (1 + w @ w)
        return total, w, (x * 2) @ (w + 1)

    rng = np.random.default_rng(8)
    x, w = rng.random((9, 9)), rng.random(9)
    traced = wr.jit(function)
    for _ in range(2):
        for expected, value in zip(function(x, w.copy()), traced(wr.array(x), wr.array(w)), strict=True):
            np.testing.assert_allclose(np.asarray(value), expected, rtol=1e-12)
    assert program_of(traced) is not None


def test_programs_without_kernels_run_all_the_same(monkeypatch):
    monkeypatch.setattr(compiling, "driver", lambda: None)
    x, y = np.random.default_rng(9).random((2, 50))
    np.testing.assert_array_equal(
        np.asarray(wr.jit(smoothed, static="times")(5, wr.array(x), wr.array(y))), smoothed(5, x.copy(), y.copy())
    )


def test_numbers_that_do_not_fit_have_numpys_errors():
    traced = wr.jit(lambda x, n: x + n)
    x = np.arange(5, dtype="i1")
    np.testing.assert_array_equal(np.asarray(traced(wr.array(x), 3)), x + 3)
    with pytest.raises(OverflowError):
        np.asarray(traced(wr.array(x), 1000))
    np.testing.assert_array_equal(np.asarray(traced(wr.array(x), 4)), x + 4)


def test_values_at_hand_are_copied_by_the_caller():
    x = wr.jit(lambda x: x + 1)(wr.array(np.arange(4.0)))
    first, second = x.compute(), x.compute()
    first[0] = 9
    np.testing.assert_array_equal(second, np.arange(4.0) + 1)
    np.testing.assert_array_equal(x.compute(), np.arange(4.0) + 1)


def test_parts_of_several_dtypes_are_read_each_at_its_own_places():
    def function(a, b, c):
        return a[1:].astype("f8") + 0.5, b[1:] + 0.0, c[1:] * 2, (a[:-1] < 3) & (b[1:] > 0.5)

    rng = np.random.default_rng(10)
    arrays = rng.integers(0, 9, 40).astype("i4"), rng.random(40), rng.random(40).astype("f4")
    for expected, value in zip(function(*arrays), wr.jit(function)(*map(wr.array, arrays)), strict=True):
        assert value.dtype == expected.dtype
        np.testing.assert_array_equal(np.asarray(value), expected)


@pytest.mark.parametrize("jit", ["on", "auto"])
def test_programs_of_which_nothing_is_compiled(jit):
    wr.config.set(jit=jit)
    traced = wr.jit(lambda z: np.cumsum(z) * 1j)
    z = np.arange(6.0)
    values = [traced(wr.array(z)) for _ in range(3 if jit == "on" else 250)]
    value = values[-1]
    np.testing.assert_array_equal(np.asarray(value), np.cumsum(z) * 1j)
    (call,) = traced._calls.values()
    assert call._program._compiling._by_threads == {}


def test_kernels_that_cannot_be_made(monkeypatch):
    asked = []

    def fail(text, *_):
        asked.append(text)
        raise RuntimeError("no")

    monkeypatch.setattr(kernel_cache, "compile_text", fail)
    traced = wr.jit(lambda x: (x * 7.125 - 3) / (x[::-1] + 8.0625) ** 2)
    x = np.arange(6.0)
    for _ in range(3):
        np.testing.assert_array_equal(np.asarray(traced(wr.array(x))), (x * 7.125 - 3) / (x[::-1] + 8.0625) ** 2)
    assert asked
    assert program_of(traced) is None


def test_an_error_in_one_run_is_gone_in_the_next():
    traced = wr.jit(lambda x: wr.linalg.inv(x) * 2 + x[0, 0])
    with pytest.raises(np.linalg.LinAlgError):
        np.asarray(traced(wr.array(np.zeros((3, 3)))))
    x = np.eye(3) * 4
    np.testing.assert_array_equal(np.asarray(traced(wr.array(x))), np.linalg.inv(x) * 2 + 4)


AFTER_THE_END = """
import threading, time
import numpy as np
import windrow as wr

wr.config.set(jit="on")
x = np.random.default_rng(0).random((1 << 10, 1 << 9))


def smoothed(x, y):
    for _ in range(6):
        y[1:-1] = 0.5 * (x[:-2] + x[2:])
        x[1:-1] = 0.5 * (y[:-2] + y[2:])
    return x


traced = wr.jit(smoothed)
with wr.Cluster(threads=3):
    traced(wr.array(x), wr.array(x))


def run():
    threading.main_thread().join()
    (call,) = traced._calls.values()
    shape = np.asarray(traced(wr.array(x), wr.array(x))).shape
    print(shape, [native._has_shared for native in call._program._compiling._by_threads.values()])


threading.Thread(target=run).start()
"""


def test_threads_that_outlive_the_main_thread_compute():
    done = subprocess.run(
        [sys.executable, "-c", AFTER_THE_END], capture_output=True, text=True, timeout=100, check=False
    )
    assert done.stdout == "(1024, 512) [True, True]\n", done.stderr
