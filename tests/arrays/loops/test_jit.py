"""Traced functions: NumPy's results, whatever is given; traced once for each kind of arguments."""

from __future__ import annotations

import copy
import io
import os
import pickle
import threading
import warnings
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import windrow as wr
from support.loading import loaded
from support.views import PROGRAMS, run
from windrow.arrays.loops.tracing import NeedsValues
from windrow.graph.errors import ArgumentError, BadValue, RangeError, ShapeError
from windrow.graph.kinds.source import Host

RNG = np.random.default_rng(7)
X = RNG.random((6, 6))
CHUNKS = pytest.mark.parametrize("chunks", [None, 4], ids=["at-hand", "chunks"])


@wr.jit(static="times")
def repeated(x, times=2):
    return x * times


@dataclass(frozen=True)
class Factor:
    value: Any


class Pair(NamedTuple):
    left: Any
    right: Any


def lazy(values, chunks):
    """Return an array in this process's memory, or in chunks."""
    return wr.array(values) if chunks is None else wr.from_array(values, chunks=chunks)


def same(lazy_result, expected):
    values = np.asarray(lazy_result)
    assert values.dtype == np.asarray(expected).dtype
    np.testing.assert_allclose(values, expected, rtol=1e-14, atol=1e-14)


def smooth(xp, u, dt):
    return u + dt * (xp.roll(u, 1, 0) - 2 * u + xp.roll(u, -1, 0))


def mixed(xp, u, dt):
    y = u @ u.T
    return xp.tanh(y) * dt + xp.exp(-y).sum(axis=0)


def reduced(xp, u, dt):
    return (u.max() - u.min()) / dt, u.argmax(axis=1), xp.where(u > dt, u, 0).astype("f4"), u.mean(0)


def in_views(xp, u, dt):
    y = xp.zeros_like(u)
    inner = y[1:-1, 1:-1]
    inner[...] = u[:-2, 1:-1] + u[2:, 1:-1] - dt * u[1:-1, 1:-1]
    inner[0] += u[0, 0]
    return y


def sorted_rows(xp, u, dt):
    return xp.sort(u * dt, axis=1), xp.cumsum(u, axis=0), xp.linalg.norm(u)


@CHUNKS
@pytest.mark.parametrize("function", [smooth, mixed, reduced, in_views, sorted_rows], ids=lambda f: f.__name__)
def test_results_are_numpys(function, chunks):
    traced = wr.jit(lambda u, dt: function(wr, u, dt))
    for dt in (0.25, 0.5, -0.0):
        for values in (X, X[::-1]):
            results = traced(lazy(values, chunks), dt)
            with np.errstate(all="ignore"):
                expected = function(np, np.ascontiguousarray(values), dt)
            for one, other in zip(*[r if isinstance(r, tuple) else (r,) for r in (results, expected)], strict=True):
                same(one, other)
    assert traced.traces == 1


@pytest.mark.parametrize("function", [smooth, mixed, in_views], ids=lambda f: f.__name__)
def test_bits_are_those_of_the_function_itself(function):
    def plain(u, dt):
        return function(wr, u, dt)

    u = wr.array(X)
    assert np.asarray(wr.jit(plain)(u, 0.3)).tobytes() == np.asarray(plain(u, 0.3)).tobytes()


def test_small_arrays_are_computed_at_once_and_others_lazily():
    traced = wr.jit(lambda u: u + 1)
    assert isinstance(traced(wr.array(X)).expr.op, Host)
    assert not isinstance(traced(wr.arange(3)).expr.op, Host)
    assert not isinstance(traced(wr.from_array(X, chunks=2)).expr.op, Host)
    assert not isinstance(traced(wr.array(np.zeros(1 << 18))).expr.op, Host)


def test_numbers_are_inputs_with_their_types():
    traced = wr.jit(lambda u, n: u * n)
    single, small = wr.array(np.float32([1, 2])), wr.array(np.uint8([1, 2]))
    for number in (2.0, -0.0, 3.5, float("nan")):
        same(traced(single, number), np.float32([1, 2]) * number)
    assert np.signbit(np.asarray(traced(single, -0.0))).all()
    assert traced.traces == 1
    for number in (2, 3, 100):
        same(traced(small, number), np.uint8([1, 2]) * number)
    assert traced.traces == 2
    same(traced(single, 1j), np.float32([1, 2]) * 1j)
    same(traced(single, True), np.float32([1, 2]) * True)
    same(traced(single, np.float64(2)), np.float32([1, 2]) * np.float64(2))
    with pytest.raises(RangeError, match="300"):
        traced(small, 300)


def test_numbers_that_have_to_be_known_are_traced_each():
    calls = []

    @wr.jit
    def power(u, n):
        calls.append(n)
        for _ in range(n):
            u = u * 2
        return u

    for n in (3, 1, 3, 0):
        same(power(wr.array(X), n), X * 2**n)
    assert power.traces == 3

    @wr.jit
    def clipped(u, low):
        return u if low > 0.5 else u * low

    same(clipped(wr.array(X), 0.25), X * 0.25)
    same(clipped(wr.array(X), 0.75), X)


def test_functions_of_numbers_keep_their_values():
    import math

    traced = wr.jit(lambda u, a: u * math.sqrt(a) + (a == 4.0))
    for number in (4.0, 9.0):
        same(traced(wr.array(X), number), X * math.sqrt(number) + (number == 4.0))


def test_arguments_are_structures():
    @wr.jit
    def combine(state, *, scale, mode="add"):
        left, right = state["pair"]
        total = left + right[0] if mode == "add" else left - right[0]
        return Pair({"total": total * scale}, [right[0], scale, None, mode])

    a, b = wr.array(X), wr.array(X.T)
    for mode in ("add", "subtract"):
        result = combine({"pair": Pair(a, [b])}, scale=2.0, mode=mode)
        same(result.left["total"], (X + X.T) * 2 if mode == "add" else (X - X.T) * 2)
        assert result.right[0] is b
        assert result.right[1:] == [2.0, None, mode]
    assert combine(mode="add", scale=3.0, state={"pair": Pair(a, [b])}).right[1] == 3.0
    assert combine.traces == 3
    assert combine.__name__ == "combine"


@CHUNKS
def test_arguments_are_written_to(chunks):
    @wr.jit
    def step(a, b):
        a[1:-1] = b[:-2] + b[2:]
        b += 1
        return a

    lazy_a, lazy_b, a, b = lazy(X, chunks), lazy(X.T, chunks), X.copy(), X.T.copy()
    view = lazy_a[2:4]
    for _ in range(3):
        assert step(lazy_a, lazy_b) is lazy_a
        a[1:-1] = b[:-2] + b[2:]
        b += 1
    same(lazy_a, a)
    same(lazy_b, b)
    same(view, a[2:4])
    assert step.traces == 1
    whole = lazy(X, chunks)
    part = whole[1:5]
    step(part, lazy(X[:4] * 1, chunks))
    assert np.asarray(whole)[0].tolist() == X[0].tolist()
    same(part, np.asarray(whole)[1:5])
    assert not np.array_equal(np.asarray(whole), X)


@pytest.mark.parametrize("chunks", [6, (3, 4)], ids=["at-hand", "chunks"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_that_write_through_views(program, chunks):
    """Each small program of `support.views` as a traced function, which leaves its argument and other arrays."""
    start = np.arange(24.0).reshape(4, 6) * 7 % 23
    changed = start.copy()
    expected = run(program, np, {"a": changed})

    @wr.jit
    def traced(a):
        names = {"xp": wr, "np": np, "wr": wr, "new": wr.from_array, "a": a}
        exec(program, names)
        return {name: value.copy() for name, value in names.items() if isinstance(value, wr.Array)}

    for _ in range(2):
        a = wr.from_array(start.copy(), chunks=chunks)
        try:
            results = traced(a)
        except NeedsValues:
            assert "argmax(" in program or "a > 3" in program
            return
        assert expected.keys() <= results.keys()
        np.testing.assert_array_equal(np.asarray(a), changed)
        for name, array in expected.items():
            np.testing.assert_array_equal(np.asarray(results[name]), array, err_msg=f"{name} of {program}")


DRAWN = {"linalg.compression_matrix", "linalg.svd_compressed"}
"""They draw numbers, others in each call."""


def test_every_public_function_has_the_same_bits_when_it_is_traced():
    """By the examples of the page of operations, each on arrays at hand."""
    page = loaded("docs", "make_operations.py")
    values = {name: np.asarray(array) for name, array in page.inputs().items()}
    direct, wrong = 0, []
    for name, function in page.public():
        space, _, plain = name.rpartition(".")
        given = page.EXAMPLES.get(name, page.EXAMPLES.get(plain, page.CALLS))
        if space in ("testing", "random", "random.Generator") or given is None or name in DRAWN:
            continue
        for call in given if isinstance(given, tuple) else (given,):
            expected = []
            with suppress(Exception), redirect_stdout(io.StringIO()), warnings.catch_warnings(action="ignore"):
                expected = [np.asarray(r) for r in page.lazy(call(function, at_hand(values)))]
            if not expected:
                continue
            with suppress(NeedsValues), redirect_stdout(io.StringIO()), warnings.catch_warnings(action="ignore"):
                traced = wr.jit(lambda a, call=call, f=function: [r.copy() for r in page.lazy(call(f, a))])
                results = traced(at_hand(values))
                direct += bool(results) and all(isinstance(r.expr.op, Host) for r in results)
                pairs = zip(map(np.asarray, results), expected, strict=True)
                wrong += [name for one, other in pairs if (one.dtype, one.tobytes()) != (other.dtype, other.tobytes())]
            break
    assert not wrong
    assert direct > 350


def at_hand(values):
    """Return small lazy arrays in this process's memory."""
    return {name: wr.from_array(value.copy(), chunks=value.shape) for name, value in values.items()}


def test_what_overlaps_is_as_in_numpy():
    @wr.jit
    def shift(a, b):
        a[...] = b * 2
        return b

    x, values = wr.array(np.arange(6.0)), np.arange(6.0)
    shift(x[1:], x[:-1])
    values[1:] = values[:-1] * 2
    same(x, values)
    assert shift(x, x) is x
    same(x, values * 2)
    inner = wr.jit(lambda a: a[1:-1])(x)
    inner[...] = 0
    values = values * 2
    values[1:-1] = 0
    same(x, values)


def test_read_only_views_are_not_written_to():
    fill = wr.jit(lambda a: a.fill(1))
    with pytest.raises(BadValue, match="read-only"):
        fill(wr.broadcast_to(wr.array([1.0, 2.0]), (3, 2)))


def test_static_arguments():
    @wr.jit(static=("axis", "how"))
    def reduce(x, axis, how=np.sum):
        return how(x, axis=axis)

    same(reduce(wr.array(X), 0), X.sum(0))
    same(reduce(wr.array(X), axis=1), X.sum(1))
    same(reduce(wr.array(X), 0, np.max), X.max(0))
    same(reduce(wr.array(X), 0, how=np.max), X.max(0))
    assert reduce.traces == 4
    same(wr.jit(lambda x, n: x[:n], static=1)(wr.array(X), 2), X[:2])
    same(wr.jit(lambda x, *more, how: how(x, *more), static=2)(wr.array(X), 1, how=wr.sum), X.sum(1))


def test_equal_static_values_of_other_types_are_told_apart():
    traced = wr.jit(lambda x, n: x * np.asarray(n) if isinstance(n, float) else x * np.asarray(n[0]), static="n")
    for n in (0.0, -0.0, (1,), (True,), (1.0,), (-0.0,)):
        same(traced(wr.array([1, 2]), n), np.array([1, 2]) * np.asarray(n if isinstance(n, float) else n[0]))
    assert np.signbit(np.asarray(traced(wr.array([1, 2]), -0.0))).all()
    class_of = wr.jit(lambda x, value: x + len(repr(value)), static="value")
    for value in (
        Factor(1),
        Factor(1.0),
        Factor(True),
        Pair(1, (2,)),
        Pair(1, (2.0,)),
        frozenset({1}),
        frozenset({1.0}),
    ):
        same(class_of(wr.array([1, 2]), value), np.array([1, 2]) + len(repr(value)))
    once = wr.jit(lambda x, value: x * value[0], static="value")
    for _ in range(3):
        same(once(wr.array(X), (float("nan"), float("nan"))), X * float("nan"))
    assert once.traces == 1
    part = wr.jit(lambda x, key: x[key])
    for key in (slice(1, 3), slice(0, 2), slice(None, None, 2)):
        same(part(wr.array(X), key), X[key])


def test_equal_keys_of_other_types_are_told_apart():
    traced = wr.jit(lambda d: {key: value * len(repr(key)) for key, value in d.items()})
    for key in (1, True, 1.0, (1,), (True,)):
        ((own, result),) = traced({key: wr.array(X)}).items()
        assert type(own) is type(key)
        same(result, X * len(repr(key)))
    carried = wr.fori_loop(0, 2, lambda i, d: {True: d[1] + 1}, {1: wr.array(X)})
    same(carried[1], X + 2)


def test_structures_of_the_callers_are_changed():
    @wr.jit
    def step(state, log):
        state["x"] = state["x"] + 1
        log.append(state["x"].sum())

    state, log = {"x": wr.array(X)}, []
    for _ in range(2):
        step(state, log)
    same(state["x"], X + 2)
    assert len(log) == 2


def test_a_result_that_comes_twice_is_one_array():
    first, second = wr.jit(lambda x: [x + 1] * 2)(wr.array(X))
    first[0] = 9
    assert first is second


def test_numbers_are_told_by_their_types_and_a_refusal_is_not_lost():
    def asked(x, n):
        try:
            return x * int(n)
        except TypeError:
            return x * 0

    def sum_caught(x, n):
        try:
            return x * (n + 1)
        except TypeError:
            return x * 0

    for function in (
        asked,
        lambda x, n: x * n if isinstance(n, int | float) else x - n,
        lambda x, n: x * n if np.isscalar(n) else x - n,
        lambda x, n: x * len(f"{n}"),
        lambda x, n: x + np.full(6, n),
        lambda x, n: x + (-n) * 2 + (n - 1) + divmod(n, 2)[0] + copy.deepcopy(n),
        lambda x, n: x + (n.real if hasattr(n, "real") and not hasattr(n, "dtype") else 7),
        lambda x, n: x + pickle.loads(pickle.dumps(n)),
        sum_caught,
    ):
        for number in (3, 12, -128, -200):
            same(wr.jit(function)(wr.array(X), number), function(X, number))


def test_what_a_lazy_array_may_be_a_numpy_array_may_not():
    def write(x):
        x += 1

    traced = wr.jit(write)
    traced(wr.array(X))
    with pytest.raises(ArgumentError, match=r"'x'.*NumPy"):
        traced(X.copy())


def test_numbers_in_bodies_of_loops_and_the_order_of_keywords():
    traced = wr.jit(lambda x, n: wr.fori_loop(0, 2, lambda i, c: c * n, x))
    for chunks in (None, 3):
        for number in (2.0, 3.0, 2):
            same(traced(lazy(X, chunks), number), X * number**2)
    first, second = wr.jit(lambda **k: list(k.values()))(b=wr.array(X), a=wr.array(X.T))
    same(first, X)
    same(second, X.T)


def test_numbers_in_other_loops():
    def until(x, n, most):
        return wr.while_loop(lambda c: c.max() < most, lambda c: c * n, x)

    def sums(x, n, most):
        return wr.scan(lambda c, row: (c + row * n, c), wr.zeros(6), x)[0] + most

    for function in (until, sums):
        traced = wr.jit(function)
        for chunks in (None, 3):
            for n, most in ((2.0, 8.0), (3.0, 9.0), (2, 8)):
                same(traced(lazy(X, chunks), n, most), function(wr.array(X), n, most))


def test_a_fork_after_a_trace_calls_and_traces():
    traced = wr.jit(lambda x, n: wr.roll(x, 1) * n)
    same(traced(wr.array(X), 2.0), np.roll(X, 1) * 2)
    read, write = os.pipe()
    with warnings.catch_warnings(action="ignore"):  # other threads hold no lock that is needed
        child = os.fork()
    if not child:
        try:
            for values, n in ((X, 3.0), (X[0], 2)):
                right = np.array_equal(np.asarray(traced(wr.array(values), n)), np.roll(values, 1) * n)
                os.write(write, b"+" if right else b"-")
        finally:
            os._exit(0)
    os.close(write)
    assert os.read(read, 1) + os.read(read, 1) == b"++"
    os.close(read)
    assert os.waitpid(child, 0)[1] == 0


def test_nested_and_loops():
    inner = wr.jit(lambda u, k: u * k + 1)
    outer = wr.jit(lambda u: inner(inner(u, 2.0), 3.0))
    for chunks in (None, 4):
        same(outer(lazy(X, chunks)), (X * 2 + 1) * 3 + 1)
    same(wr.fori_loop(0, 3, lambda i, u: inner(u, 2.0), wr.array(X)), ((X * 2 + 1) * 2 + 1) * 2 + 1)
    loop = wr.jit(lambda u: wr.fori_loop(0, 3, lambda i, x: x * 2, u))
    same(loop(wr.array(X)), X * 8)
    same(loop(wr.array(X + 1)), (X + 1) * 8)


def test_methods_and_what_is_taken_from_outside():
    outside = wr.arange(6.0)

    class Model:
        def __init__(self, scale):
            self.scale = scale

        @wr.jit(static="self")
        def apply(self, x):
            return x * self.scale + outside + wr.ones(6) * 2

    for scale in (2.0, 3.0):
        model = Model(scale)
        for _ in range(2):
            same(model.apply(wr.array(X)), X * scale + np.arange(6.0) + 2)
    assert Model.apply.traces == 2


def test_errors_are_the_functions():
    def fail(x, n):
        raise KeyError(n)

    with pytest.raises(KeyError, match="3"):
        wr.jit(fail)(wr.array(X), 3)
    with pytest.raises(ShapeError):
        wr.jit(lambda x: x @ x[:2])(wr.array(X))


def test_errors_of_kernels_are_raised_by_the_call():
    with pytest.raises(np.linalg.LinAlgError, match=r"[Ss]ingular"):
        wr.jit(wr.linalg.inv)(wr.array(np.zeros((3, 3)))).compute()


def test_what_comes_back_as_it_was_leaves_the_users_array_writable():
    values = X.copy()
    result = wr.jit(lambda x: (wr.asarray(x), x * 2))(wr.from_array(values))
    assert values.flags.writeable
    same(result[0], X)
    computed = result[1].compute()
    computed[0] = 0
    same(result[1], X * 2)
    result[1][0] = 1
    assert np.asarray(result[1])[0].tolist() == [1] * 6


def test_traced_functions_are_pickled_and_call_each_other_on_threads():
    assert wr.submit(wr.jit(lambda n: n + 1), 2).result() == 3
    assert pickle.loads(pickle.dumps(repeated)) is repeated
    assert wr.submit(repeated, 2, 3).result() == 6
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(wr.jit(lambda n: n))
    first = wr.jit(lambda x, n: second(x, n - 1) if n else x)
    second = wr.jit(lambda x, n: first(x, n - 1) + 1 if n else x)
    results = {}
    threads = [threading.Thread(target=lambda f=f: results.update({f: f(wr.array(X), 4)})) for f in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    same(results[first], X + 2)
    same(results[second], X + 2)


def test_bad_input():
    with pytest.raises(ArgumentError, match="jit: argument 'function'"):
        wr.jit(3)
    with pytest.raises(ArgumentError, match=r"static.*'k'.*x"):
        wr.jit(lambda x: x, static="k")
    with pytest.raises(ArgumentError, match=r"static.*2"):
        wr.jit(lambda x: x, static=2)
    for static in ("a", "k", 1):
        with pytest.raises(ArgumentError, match=r"static.*parameters"):
            wr.jit(lambda x, *a, **k: x, static=static)
    endless = [wr.array(X)]
    endless.append(endless)
    with pytest.raises(ArgumentError, match=r"jit\(<lambda>\): .*itself"):
        wr.jit(lambda x: x)(endless)
    with pytest.raises(ArgumentError, match=r"jit\(<lambda>\): .*itself"):
        wr.jit(lambda x: endless)(wr.array(X))
    with pytest.raises(ArgumentError, match=r"fori_loop: .*itself"):
        wr.fori_loop(0, 2, lambda i, x: x, endless)
    with pytest.raises(ArgumentError, match=r"jit\(<lambda>\): argument 'y\[0\]'.*object"):
        wr.jit(lambda x, y: x)(wr.array(X), [object()])
    with pytest.raises(ArgumentError, match=r"'n'.*hashed"):
        wr.jit(lambda x, n: x, static="n")(wr.array(X), {})
    with pytest.raises(ArgumentError, match="result"):
        wr.jit(lambda x: object())(wr.array(X))

    def write(x):
        x[0] = 1

    with pytest.raises(ArgumentError, match=r"'x'.*NumPy"):
        wr.jit(write)(X.copy())


def test_many_traces_are_warned_of_once():
    traced = wr.jit(lambda x: x + 1)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        for n in range(20):
            traced(wr.array(np.zeros(n + 1)))
    assert [str(w.message).count("17th") for w in warned] == [1]
    assert warned[0].filename == __file__


def test_numpys_arrays_and_numbers_alone():
    traced = wr.jit(lambda x, y: wr.sin(x) + y)
    values = X.copy()
    result = traced(values, np.float32(2))
    values[:] = 0
    same(result, np.sin(X) + np.float32(2))
    assert wr.jit(lambda a, b: a + b)(2, 3) == 5
    same(wr.jit(lambda n: wr.full(3, n))(2.5), np.full(3, 2.5))


def test_a_function_may_wait_for_threads_that_call_it():
    @wr.jit
    def traced(x, depth):
        if depth:
            results = []
            thread = threading.Thread(target=lambda: results.append(traced(wr.array(X), depth - 1)))
            thread.start()
            thread.join(60)
            return x + results[0]
        return x * 2

    same(traced(wr.array(X), 2), X + X + X * 2)


def test_threads_call_at_once():
    traced = wr.jit(lambda x, k: x @ x * k)
    results = {}

    def call(k):
        for _ in range(20):
            results[k] = traced(wr.array(X), float(k))

    threads = [threading.Thread(target=call, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k, result in results.items():
        same(result, X @ X * k)
    assert traced.traces <= len(threads)
