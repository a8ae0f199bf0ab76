"""Steps that are compiled between NumPy's own: the interpreter's bits, with rows and columns that are broadcast."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import windrow as wr
from windrow.graph.lowering.lower import lower
from windrow.graph.lowering.program import Apply
from windrow.workers.config import config
from windrow.workers.kernels.compiled.fused.segments import LoopSegment, segments
from windrow.workers.kernels.interpreter.buffer_plan import plan_for

pytest.importorskip("llvmlite")

SHAPES = [(2000, 33), (700, 500), (3, 70, 900), (131_100, 2), (5000, 40), (1200,), (2, 3, 70_001)]


def bits(x):
    x = np.ascontiguousarray(x)
    if x.dtype.kind in "fc":
        x = np.where(np.isnan(x), x.dtype.type(np.nan), x)
    return x.shape, x.dtype, x.tobytes()


def computed(make, jit):
    with config.set(jit=jit), np.errstate(all="ignore"):
        return np.asarray(make().compute())


def same(make):
    assert bits(computed(make, "on")) == bits(computed(make, "off"))


def cut(array):
    program = lower([array.expr], lambda token: False)[-1].program
    last = len(program.values) - 1
    return program, segments(program, plan_for(program, last), last)


def names(array):
    """The functions of each segment, and between them NumPy's."""
    program, found = cut(array)
    name = lambda i: getattr(program.values[i], "function", "")  # noqa: E731
    return [[name(i) for i in each.numbers] if isinstance(each, LoopSegment) else name(each) for each in found]


@st.composite
def expressions(draw):
    shape = draw(st.sampled_from(SHAPES))
    rng = np.random.default_rng(draw(st.integers(0, 9)))
    masks = [m for m in np.ndindex(*(2,) * len(shape)) if any(m)]
    dtypes = st.sampled_from(["f8", "f8", "f4", "i8", "i4"])
    chunks = draw(st.sampled_from([shape, tuple(max(1, -(-n // 2)) for n in shape)]))

    def source(mask):
        lengths = [n if m else 1 for n, m in zip(shape, mask, strict=True)]
        data = (rng.standard_normal(lengths) * 100).astype(draw(dtypes))
        return wr.from_array(data, chunks=tuple(c if m else 1 for c, m in zip(chunks, mask, strict=True)))

    values = [
        source((1,) * len(shape)),
        *(source(draw(st.sampled_from(masks))) for _ in range(draw(st.integers(0, 2)))),
    ]
    for _ in range(draw(st.integers(1, 7))):
        a, b = draw(st.sampled_from(values)), draw(st.sampled_from(values))
        way = draw(
            st.sampled_from(["add", "subtract", "multiply", "divide", "maximum", "less", "where", "exp", "scalar"])
        )
        if way == "where":
            values.append(wr.where(a > b, a, b))
        elif way == "exp":
            values.append(wr.exp(wr.minimum(a, 3)))
        elif way == "scalar":
            values.append(a * draw(st.sampled_from([2, 0.5, -1])))
        else:
            found = getattr(wr, way)(a, b)
            values.append(found * 1 if found.dtype == bool else found)
    result = values[-1]
    head = draw(st.sampled_from(["", "", "sum", "std", "min", "argmax", "mean"]))
    axes = [None, *range(result.ndim)]
    return getattr(result, head)(axis=draw(st.sampled_from(axes))) if head else result


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(expressions())
def test_any_expression_has_the_interpreters_bits(array):
    same(lambda: array)


def test_an_exp_parts_what_is_compiled():
    x = wr.from_array(np.random.default_rng(0).standard_normal((3000, 40)), chunks=(3000, 40))
    y = wr.exp(-(x * x) / 2) * 0.3 + x
    assert names(y) == [["multiply", "negative", "divide"], "exp", ["multiply", "add"]]
    same(lambda: y)
    same(lambda: y.std(axis=0))


def test_rows_and_columns_are_read_where_they_lie():
    x = wr.from_array(np.random.default_rng(0).standard_normal((9000, 40)), chunks=(9000, 40))
    row, column = (wr.from_array(np.asarray(x.mean(axis=a))) for a in (0, 1))
    for y in ((x - row) / row, (x - column[:, None]) * 2, (x - row) * column[:, None]):
        program, found = cut(y)
        assert [len(each.numbers) for each in found if isinstance(each, LoopSegment)] == [2]
        assert all(not isinstance(program.values[i], Apply) for i in found if isinstance(i, int))
        same(lambda y=y: y)
        same(lambda y=y: y.sum(axis=0))


def test_a_value_that_is_used_twice_is_kept():
    x = wr.from_array(np.random.default_rng(0).standard_normal((500, 400)), chunks=(500, 400))
    y = x * 2 + 1
    z = wr.exp(y) - y * y
    (first, *_) = (each for each in cut(z)[1] if isinstance(each, LoopSegment))
    assert len(first.outputs) == 1
    same(lambda: z)


@pytest.mark.parametrize("head", ["sum", "std", "min", "argmax", "any", "mean"])
@pytest.mark.parametrize("axis", [0, 1, (0, 1)])
def test_reductions_along_axes_read_what_is_compiled(head, axis):
    if head == "argmax" and axis == (0, 1):
        axis = None
    x = wr.from_array(np.random.default_rng(0).standard_normal((1000, 700)), chunks=(500, 700))
    same(lambda: getattr(wr.sqrt(x * x + 1) - 2, head)(axis=axis))
    same(lambda: getattr(wr.sqrt(x.T * x.T + 1) - 2, head)(axis=axis))


def test_explain_tells_what_stays_numpys_and_why():
    x = wr.from_array(np.random.default_rng(0).standard_normal((3000, 400)), chunks=(1000, 400))
    told = lambda *arrays: [s.interpreted for s in wr.explain(*arrays).stages]  # noqa: E731
    assert told((wr.sqrt(x * x + 1) * 2).sum())[0] == ""
    assert told(x * 2 - x[0]) == [""]
    assert told(wr.exp(x * 2) + 1) == ["exp (no compiled loop gives its bits)"]
    assert told((x * 2 + 1).std(axis=0))[0] == "std (along some axes)"
    assert told((x * 2 + 1).min())[0] == "min (no compiled loop for it over whole blocks)"
    assert told((x * 2).mean(axis=0), wr.exp(x).T @ x)[-2:] != ["", ""]
    assert told(x.astype("i4") + 1) == ["cast (floats to integers)"]
    assert told(wr.exp(x[:2, :2]) + 1) == [""]
    assert "add+exp: NumPy's loops for exp (no compiled loop gives its bits)" in str(wr.explain(wr.exp(x + 1)))
