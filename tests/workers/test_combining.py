"""Partial results combined by a compiled loop: the bits of NumPy's passes over them; a NaN is a NaN."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow.workers.config import config
from windrow.workers.kernels.compiled.fixed.combining import LEAST, NARROW, combine
from windrow.workers.kernels.reductions import REDUCTIONS

pytest.importorskip("llvmlite")
PLAIN = ["sum", "mean", "prod", "min", "max"]
HEADS = ["var", "nanvar", "argmin", "argmax"]


def numbers(r, shape, dtype, special):
    dtype = np.dtype(dtype)
    if dtype.kind in "iu":
        return r.integers(0 if dtype.kind == "u" else -5, 5, shape).astype(dtype)
    with np.errstate(all="ignore"):
        x = (r.standard_normal(shape) * 10.0 ** r.integers(-30, 30, shape)).astype(dtype)
    for value in (0.0, -0.0, np.inf, -np.inf, np.nan) if special else ():
        x[r.random(shape) < 0.03] = value
    return x


def partials(r, head, shape, dtype, special):
    if head in PLAIN:
        return numbers(r, shape, dtype, special)
    names = ["value"] if head.startswith("arg") else ["mean", "rest", "m2"]
    fields = [*((name, dtype) for name in names), ("index", "i8")][: len(names) + head.startswith("arg")]
    x = np.empty(shape, fields if head.startswith("arg") else [("n", "f8"), *fields])
    for name in names:
        x[name] = numbers(r, shape, dtype, special)
    if head.startswith("arg"):
        x["index"] = r.integers(0, 60, shape)
    else:
        x["n"] = r.integers(0 if head == "nanvar" else 1, 5, shape)
    return x


def bits(x):
    if x.dtype.names:
        return b"".join(bits(x[name]) for name in x.dtype.names)
    return (np.where(np.isnan(x), x.dtype.type(np.nan), x) if x.dtype.kind == "f" else x).tobytes()


def combined(heads, stack):
    with config.set(jit="on"):
        return combine(stack, heads)


def passed(head, stack):
    with config.set(jit="off"), np.errstate(all="ignore"):
        return REDUCTIONS[head].kernel.combine(stack)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_one_loop_gives_the_bits_of_numpys_passes(data):
    heads = data.draw(st.lists(st.sampled_from(HEADS + PLAIN), min_size=1, max_size=4))
    if len(heads) == 1 and heads[0] in PLAIN:
        heads *= 2
    count = data.draw(st.sampled_from([NARROW, NARROW + 1, 100, 3001]))
    rows = max(data.draw(st.integers(2, 40)), -(-LEAST // count))
    shape = (rows, *data.draw(st.sampled_from([(count,), (1, count), (count, 1), (2, 1, count)])))
    r = np.random.default_rng(data.draw(st.integers(0, 1000)))
    special, columns = data.draw(st.booleans()), []
    for head in heads:
        dtypes = ["f4", "f8"] if head.endswith("var") or head == "mean" else ["f4", "f8", "i8", "u8"]
        columns.append(partials(r, head, shape, data.draw(st.sampled_from(dtypes)), special))
    if len(heads) == 1:
        stack = columns[0]
    else:
        stack = np.empty(shape, [(f"f{k}", column.dtype) for k, column in enumerate(columns)])
        for k, column in enumerate(columns):
            stack[f"f{k}"] = column
    before = stack.tobytes()
    made = combined(tuple(heads), stack)
    assert made.shape == shape[1:]
    for k, (head, column) in enumerate(zip(heads, columns, strict=True)):
        assert bits(made[f"f{k}"] if len(heads) > 1 else made) == bits(passed(head, column)), head
    assert stack.tobytes() == before


def test_what_the_loop_does_not_take_is_left_to_numpy():
    r = np.random.default_rng(0)
    stack = partials(r, "var", (4, 1000), "f8", False)
    assert combined(("var",), stack) is not None
    assert combined(("var",), stack[:, :8]) is None
    assert combined(("var",), stack[:, ::2]) is None
    assert combined(("nanargmin",), partials(r, "argmin", (4, 1000), "f8", False)) is None
    assert combined(("any",), np.ones((4, 1000), bool)) is None
    apart = np.zeros((4, 1000), [("n", "f8"), ("mean", "f8"), ("rest", "f8"), ("m2", "f4")])
    assert combined(("var",), apart) is None
    wide = np.zeros((4, 1000), [("n", "f8"), ("mean", "c16"), ("rest", "c16"), ("m2", "f8")])
    assert combined(("var",), wide) is None
    with config.set(jit="off"):
        assert combine(stack, ("var",)) is None
