"""Traced functions and what isn't theirs: arrays from outside, other traced functions, values that nobody knows yet."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from decimal import Decimal

import numpy as np
import pytest

import windrow as wr
from support.arrays import close
from windrow.arrays.loops.tracing import NeedsValues
from windrow.graph.errors import ArgumentError

X = np.random.default_rng(7).random((6, 6))
CHUNKS = pytest.mark.parametrize("chunks", [6, 4], ids=["at-hand", "chunks"])


def lazy(values, chunks):
    return wr.from_array(values, chunks=chunks)


def test_within_a_trace_a_traced_function_is_called_as_it_is():
    inner = wr.jit(lambda u, k: u * k)
    outer = wr.jit(lambda u, k: inner(u, k) + wr.jit(lambda v: v + u)(wr.ones(6)))
    for k in (2.0, 3.0, 4.0):
        close(outer(wr.array(X), k), X * k + (1 + X))
    assert (outer.traces, inner.traces) == (1, 0)
    close(inner(wr.array(X), 2.0), X * 2)
    assert inner.traces == 1


@CHUNKS
def test_arrays_from_outside_are_written_to_in_each_call(chunks):
    outside, values = lazy(X.copy(), chunks), X.copy()
    view, other = outside[1:3], lazy(X.T.copy(), chunks)

    @wr.jit
    def step(x, scale):
        view[...] = x[:2] * scale
        outside[0] += 1
        own = wr.zeros_like(x)
        own[1:] = x[1:]
        return own + outside.sum()

    def plain(x, scale):
        values[1:3] = x[:2] * scale
        values[0] += 1
        own = np.zeros_like(x)
        own[1:] = x[1:]
        return own + values.sum()

    for scale in (2.0, 3.0):
        close(step(lazy(X, chunks), scale), plain(X, scale))
        close(outside, values)
        close(view, values[1:3])

    @wr.jit
    def fill(x):
        other[...] = x
        return other

    for values in (X, X + 1):
        assert fill(lazy(values, chunks)) is other
        close(other, values)


def test_a_function_that_fails_has_written_what_it_would_have_written_untraced():
    outside = wr.array(X)

    @wr.jit
    def fail(x):
        outside[...] = x
        outside.shape = (36,)
        raise KeyError(outside.shape)

    with pytest.raises(KeyError, match="36"):
        fail(wr.array(X + 1))
    close(outside, (X + 1).reshape(36))


def test_other_threads_see_nothing_of_a_trace():
    outside, reads = wr.array(np.zeros(6)), wr.jit(lambda x: x + outside)
    inside, go_on = threading.Event(), threading.Event()

    @wr.jit
    def write(x):
        inside.set()
        go_on.wait(20)
        outside[0] = x[1]
        inside.clear()
        return x + 1

    with ThreadPoolExecutor(1) as threads:
        call = threads.submit(write, wr.array(np.ones(6)))
        assert inside.wait(20)
        outside[5] = 77
        doubled = outside * 2
        close(reads(wr.array(np.ones(6))), [1.0, 1, 1, 1, 1, 78])
        go_on.set()
        close(call.result(20), np.full(6, 2.0))
    close(outside, [1.0, 0, 0, 0, 0, 77])
    close(doubled, [0.0, 0, 0, 0, 0, 154])


def test_a_write_that_is_swallowed_counts():
    outside = wr.array(np.zeros(6))

    @wr.jit
    def write(x):
        with suppress(BaseException):
            outside[0] += x[1]
        return x + outside

    for k in (1, 2):
        close(write(wr.array(np.ones(6))), [k + 1.0, 1, 1, 1, 1, 1])


def test_an_argument_that_is_written_to_and_taken_from_outside():
    x, values = wr.array(X), X.copy()

    @wr.jit
    def step(a):
        a += 1
        return x * 2

    for _ in range(3):
        values += 1
        close(step(x), values * 2)
    close(x, values)


def test_slices_and_equal_static_values_of_other_looks_are_told_apart():
    stop = wr.jit(lambda x, s: x * s.stop)
    for k in (2, 3):
        close(stop(wr.array(np.ones(4)), slice(0, k)), np.full(4, float(k)))
    told = wr.jit(lambda x, v: x + len(str(v)), static="v")
    for text in ("1.0", "1.00", "1.0"):
        close(told(wr.array(np.ones(4)), Decimal(text)), np.full(4, 1.0 + len(text)))


def test_bodies_of_loops_dont_write_to_arrays_from_outside():
    outside = wr.array(X)

    def body(i, x):
        outside[0] = x[0]
        return x + 1

    with pytest.raises(ArgumentError, match=r"fori_loop: .*outside, at .*test_outside\.py:\d+"):
        wr.fori_loop(0, 2, body, wr.array(X))
    with pytest.raises(ArgumentError, match=r"scan: .*outside"):
        wr.scan(lambda c, x: (body(0, c), x), wr.array(X), wr.arange(3))
    with pytest.raises(ArgumentError, match=r"while_loop: .*outside"):
        wr.while_loop(lambda x: body(0, x).max() < 1, lambda x: x, wr.array(X))
    close(outside, X)


def test_values_are_not_there_while_a_function_is_traced():
    @wr.jit
    def branch(x):
        if x.max() > 0.5:
            return x
        return -x

    with pytest.raises(ArgumentError, match=r"jit: .*wr\.where.*wr\.while_loop.*test_outside\.py:\d+"):
        branch(wr.array(X))


def test_a_refusal_of_values_counts_though_it_is_caught():
    def caught(x):
        try:
            return x + 1 if x.max() > 10 else x + 2
        except ValueError:
            return x * 0

    def told_anew(x):
        try:
            return x[int(x[0, 0])]
        except ValueError as error:
            raise KeyError("other") from error

    for function in (caught, told_anew):
        with pytest.raises(NeedsValues, match=r"test_outside\.py:\d+"):
            wr.jit(function)(wr.array(X))
    with pytest.raises(NeedsValues, match=r"fori_loop: .*test_outside\.py:\d+"):
        wr.fori_loop(0, 2, lambda i, x: caught(x), wr.array(X))


def test_a_refusal_names_the_users_line():
    def selected(x):
        return x[x > 0.5]

    def by_numpy(x):
        return np.vectorize(lambda v: v)(x)  # whose own lines are a library's

    for function in (selected, by_numpy):
        line = function.__code__.co_firstlineno + 1
        with pytest.raises(NeedsValues, match=rf"test_outside\.py:{line}$"):
            wr.jit(function)(wr.array(X))


def test_arrays_that_a_function_keeps_are_refused_with_a_number_of_the_trace():
    kept = []

    def keeps(dt):
        kept.append(wr.arange(4) * dt)
        return wr.arange(4) + dt

    np.testing.assert_array_equal(np.asarray(wr.jit(keeps)(0.5)), np.arange(4) + 0.5)
    for _ in range(3):  # the third time the plan is looked up
        with pytest.raises((ArgumentError, TypeError), match="traced"):
            kept[0].compute()
    np.testing.assert_array_equal((wr.arange(4) * 2).compute(), np.arange(4) * 2)
