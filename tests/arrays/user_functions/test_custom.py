"""Users' own operations: generalised functions, matched blocks, reductions, functions of lines and of elements."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from support.arrays import same

RNG = np.random.default_rng(9)
DATA = RNG.standard_normal((6, 8, 5))
CHUNKS = [-1, (4, 3, 2), ((1, 5), (2, 2, 4), (5,))]


def ends(x, scale=1):
    return x.min(axis=-1) * scale, x.argmax(axis=-1)


@pytest.mark.parametrize("chunks", CHUNKS)
def test_apply_gufunc(chunks):
    x = wr.from_array(DATA, chunks=chunks)
    same(wr.apply_gufunc(lambda a: a.mean(axis=-1), "(i)->()", x), DATA.mean(axis=-1), 1e-14)
    low, place = wr.apply_gufunc(ends, "(i)->(),()", x, scale=2)
    same(low, DATA.min(axis=-1) * 2)
    same(place, DATA.argmax(axis=-1))
    low, place = wr.apply_gufunc(ends, "(i)->(),()", x, axis=0, keepdims=True, output_dtypes=(float, np.int64))
    same(low, DATA.min(axis=0, keepdims=True))
    same(place, DATA.argmax(axis=0, keepdims=True))
    matrix = RNG.standard_normal((5, 3))
    same(wr.apply_gufunc(np.matmul, "(i,j),(j,k)->(i,k)", x, wr.from_array(matrix, chunks=2)), DATA @ matrix, 1e-13)
    same(wr.apply_gufunc(np.add, "(),()->()", x, matrix[:, 0]), DATA + matrix[:, 0])
    same(wr.apply_gufunc(np.add, "(),()->()", x[:, :1], DATA[0]), DATA[:, :1] + DATA[0])
    same(wr.apply_gufunc(lambda a: np.repeat(a, 2, -1), "(i)->(j)", x), np.repeat(DATA, 2, -1))
    wide = wr.apply_gufunc(lambda a: np.repeat(a, 2, -1), "(i)->(j)", x, output_dtypes=float, output_sizes={"j": 10})
    same(wide, np.repeat(DATA, 2, -1))
    turned = wr.apply_gufunc(np.cross, "(c),(c)->(c)", x[:3], x[3:], axes=[0, 0, 1])
    same(turned, np.moveaxis(np.cross(DATA[:3], DATA[3:], axis=0), 0, 1), 1e-14)
    same(wr.apply_gufunc(lambda a: float(a.max() - a.min()), "(i,j)->()", x, vectorize=True), np.ptp(DATA, axis=(1, 2)))
    (only,) = wr.apply_gufunc(lambda a: (a.sum(-1),), "(i)->(),", x)
    same(only, DATA.sum(-1), 1e-13)
    values, vectors = wr.apply_gufunc(np.linalg.eigh, "(i,i)->(i),(i,i)", wr.matmul(x, wr.matrix_transpose(x)))
    same(wr.matmul(vectors * values[:, None], wr.matrix_transpose(vectors)), DATA @ DATA.transpose(0, 2, 1), 1e-10)


def test_apply_gufunc_refuses():
    x = wr.ones((3, 4))
    for error, args, keywords in [
        (TypeError, ("i->j", x), {}),
        (TypeError, ("(i),(i)->()", x), {}),
        (ValueError, ("(i,j,k)->()", x), {}),
        (ValueError, ("(i,i)->()", x), {}),
        (ValueError, ("(i),()->()", x, np.ones(2)), {}),
        (ValueError, ("(i)->()", x), {"axes": [(0, 1)]}),
        (TypeError, ("(i,j)->()", x), {"axis": 0}),
        (TypeError, ("(i)->(i)", x), {"keepdims": True}),
        (TypeError, ("(i)->()", x), {"output_dtypes": [float, float]}),
        (np.exceptions.AxisError, ("(i)->()", x), {"axis": 2}),
    ]:
        with pytest.raises(error, match=r"apply_gufunc|out of bounds"):
            wr.apply_gufunc(lambda *a: a[0].sum(-1), *args, **keywords)
    with pytest.raises(TypeError, match="ones"):
        wr.apply_gufunc(lambda a: 1 / 0, "(i)->()", x)
    for returned in (lambda a: a.sum(-1), lambda a: (a,) * 3, lambda a: 3.5):
        with pytest.raises(TypeError, match=r"apply_gufunc: argument 'func'.* expected 2 results"):
            wr.apply_gufunc(returned, "(i)->(),()", x)
    with pytest.raises(ValueError, match="results"):
        wr.compute(*wr.apply_gufunc(lambda a: (a.sum(-1),), "(i)->(),()", x, output_dtypes=float))


@pytest.mark.parametrize("chunks", CHUNKS)
def test_blockwise(chunks):
    x = wr.from_array(DATA, chunks=chunks)
    y = wr.from_array(DATA[:, :, 0].copy(), chunks=3)
    same(wr.blockwise(lambda a, b: a * b.T, "kji", x.T, "kji", y, "ij"), DATA.T * DATA[:, :, 0].T)
    same(
        wr.blockwise(lambda a, n, b: (a * n + b).sum(axis=1), "ik", x, "ijk", 3, None, x, "ijk"),
        (DATA * 3 + DATA).sum(1),
        1e-13,
    )
    product = wr.blockwise(lambda a, b: np.einsum("ijk,jl->ikl", a, b), "ikl", x, "ijk", y.T, "jl", dtype=float)
    same(product, np.einsum("ijk,jl->ikl", DATA, DATA[:, :, 0].T), 1e-13)
    doubled = wr.blockwise(lambda a: np.repeat(a, 2, 0), "ijk", x, "ijk", adjust_chunks={"i": lambda n: 2 * n})
    assert doubled.shape == (12, 8, 5)
    assert np.isclose(doubled.compute().sum(), 2 * DATA.sum())
    same(
        wr.blockwise(lambda a: np.repeat(a[..., None], 4, -1), "ijkn", x, "ijk", new_axes={"n": 4}),
        np.repeat(DATA[..., None], 4, -1),
    )
    same(wr.blockwise(lambda a, b: a + b, "ijk", x, "ijk", x[:, :1], "ijk"), DATA + DATA[:, :1])


def test_blockwise_has_the_name_that_it_is_given():
    x = wr.from_array(DATA[0, 0], chunks=2)
    repeated = wr.blockwise(lambda a: a[:, None].repeat(4, 1), "ij", x, "i", new_axes={"j": 4}, name="four times")
    assert "four times" in str(repeated.explain())


def test_blockwise_refuses():
    x = wr.ones((3, 4), chunks=2)
    for error, args, keywords in [
        (TypeError, ("i", x), {}),
        (ValueError, ("ij", x, "i"), {}),
        (ValueError, ("ij", x, "ij", wr.ones((3, 5)), "ij"), {}),
        (ValueError, ("ij", x, "ij", wr.ones((3, 4)), "ij"), {"align_arrays": False}),
        (TypeError, ("iz", x, "ij"), {}),
        (ValueError, ("ij", x, "ij"), {"adjust_chunks": {"i": (1, 1, 1)}}),
    ]:
        with pytest.raises(error, match="blockwise"):
            wr.blockwise(lambda *a: a[0], *args, dtype=float, **keywords)


@pytest.mark.parametrize("chunks", [*CHUNKS, 1])
@pytest.mark.parametrize("axis", [None, 0, (0, 2), -1])
@pytest.mark.parametrize("keepdims", [False, True])
def test_reduction(chunks, axis, keepdims):
    x = wr.from_array(DATA, chunks=chunks)
    same(wr.reduction(x, np.max, np.max, axis, keepdims), DATA.max(axis=axis, keepdims=keepdims))

    def squares(block, axis, keepdims):
        return (block**2).sum(axis=axis, keepdims=keepdims)

    def root(partial, axis, keepdims):
        return np.sqrt(partial.sum(axis=axis, keepdims=keepdims))

    norm = wr.reduction(x, squares, root, axis, keepdims, dtype=float, combine=np.sum, split_every=4)
    same(norm, np.sqrt((DATA**2).sum(axis=axis, keepdims=keepdims)), 1e-13)


def counted(block, axis, keepdims):
    return {"n": np.ones_like(block).sum(axis=axis, keepdims=keepdims), "t": block.sum(axis=axis, keepdims=keepdims)}


def together(parts, axis, keepdims):
    return {name: part.sum(axis=axis, keepdims=keepdims) for name, part in parts.items()}


def share(parts, axis, keepdims):
    return parts["t"].sum(axis=axis, keepdims=keepdims) / parts["n"].sum(axis=axis, keepdims=keepdims)


def greatest(parts, axis, keepdims):
    def flat(part):
        return [one for each in part for one in flat(each)] if isinstance(part, list) else [part]

    found = np.maximum.reduce(flat(parts))
    return found if keepdims else found.squeeze(axis)


@pytest.mark.parametrize("axis", [None, 0, (0, 2), -1])
@pytest.mark.parametrize("split_every", [None, 2, {0: 2, 1: 3}])
def test_partial_results_in_dicts_and_lists(axis, split_every):
    for chunks in (*CHUNKS, 1):
        x = wr.from_array(DATA, chunks=chunks)
        how = {"axis": axis, "split_every": split_every}
        same(x.reduction(counted, share, combine=together, **how), DATA.mean(axis), 1e-13)
        found = x.reduction(counted, share, combine=together, keepdims=True, **how)
        same(found, DATA.mean(axis, keepdims=True), 1e-13)
        same(x.reduction(np.max, greatest, concatenate=False, **how), DATA.max(axis))


def test_more_of_reductions():
    x = wr.from_array(DATA, chunks=(4, 3, 2))

    def weighed(block, weights, axis, keepdims):
        return (block * weights).sum(axis=axis, keepdims=keepdims)

    def best(block, axis, keepdims):
        return np.sort(block, axis[0])[-2:]

    weights = np.arange(5.0)
    same(x.reduction(weighed, np.sum, axis=1, weights=weights), (DATA * weights).sum(1), 1e-13)
    top = wr.reduction(x[:4], best, best, axis=0, keepdims=True, output_size=2, split_every=2)
    same(top, np.sort(DATA[:4], 0)[-2:])
    filled = np.zeros((8, 5))
    assert wr.reduction(x, np.max, np.max, axis=0, out=filled) is filled
    np.testing.assert_array_equal(filled, DATA.max(0))
    with pytest.raises(TypeError, match=r"reduction: a function returned ndarray; expected a dict of n, t"):
        x.reduction(counted, share, combine=lambda parts, axis, keepdims: parts["n"]).compute()
    sizes = wr.reduction(x, counted, share, combine=together, meta=np.zeros((), "f4"))
    assert sizes.dtype == np.float32


@pytest.mark.parametrize("chunks", CHUNKS)
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_running_reductions(chunks, axis):
    x = wr.from_array(DATA, chunks=chunks)
    same(wr.cumreduction(np.cumsum, np.add, 0, x, axis), DATA.cumsum(axis), 1e-13)
    same(wr.cumreduction(np.cumprod, np.multiply, 1, x, axis, preop=np.prod), DATA.cumprod(axis), 1e-13)
    same(wr.cumreduction(np.maximum.accumulate, np.maximum, -np.inf, x, axis), np.maximum.accumulate(DATA, axis))
    same(wr.cumreduction(np.cumsum, np.add, 0, x, method="blelloch"), DATA.cumsum(), 1e-12)
    with pytest.raises(TypeError, match="method"):
        wr.cumreduction(np.cumsum, np.add, 0, x, method="other")


def test_blockwise_with_lists_of_blocks():
    x, y = wr.from_array(DATA[0], chunks=(3, 2)), wr.from_array(DATA[1], chunks=(3, 2))

    def product(left, right):
        assert isinstance(left, list)
        return sum(a @ b for a, b in zip(left, right, strict=True))

    for concatenate in (False, None):
        same(wr.blockwise(product, "ik", x, "ij", y.T, "jk", concatenate=concatenate), DATA[0] @ DATA[1].T, 1e-13)
    counts = wr.blockwise(lambda rows: len(rows) * len(rows[0]), "", x, "ij", concatenate=False, dtype=int)
    assert counts.compute() == 9


def test_reduction_refuses():
    with pytest.raises(TypeError, match="reduction"):
        wr.reduction(wr.ones(3), np.max, None)
    with pytest.raises(ValueError, match="split_every"):
        wr.reduction(wr.ones(3), np.max, np.max, split_every=1)
    with pytest.raises(np.exceptions.AxisError):
        wr.reduction(wr.ones(3), np.max, np.max, 1)


@pytest.mark.parametrize("chunks", CHUNKS)
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_functions_of_lines(chunks, axis):
    x = wr.from_array(DATA, chunks=chunks)
    for function in (np.sort, np.max, lambda line: np.outer(line[:2], line[:3])):
        same(np.apply_along_axis(function, axis, x), np.apply_along_axis(function, axis, DATA))
    same(
        wr.apply_along_axis(lambda line, n: line[:n], axis, x, 2, dtype=float, shape=2),
        np.apply_along_axis(lambda v: v[:2], axis, DATA),
    )
    same(np.apply_over_axes(np.sum, x, [0, axis]), np.apply_over_axes(np.sum, DATA, [0, axis]), 1e-13)
    for shape in ((0, 3), (3, 0), (2, 0, 3)):
        with pytest.raises(ValueError, match="at least one line"):
            wr.apply_along_axis(np.cumsum, shape.index(3), wr.ones(shape))
    with pytest.raises(TypeError, match="ones"):
        wr.apply_along_axis(lambda line: line[99], axis, x)
    with pytest.raises(ValueError, match="axes"):
        wr.apply_over_axes(lambda a, axis: a.sum(), x, [0])


def test_a_function_of_lines_is_tried_unless_all_is_said_of_what_it_returns():
    tried = []

    def ends(line):
        tried.append(line)
        return line[::2]

    for told, count in (({}, 1), ({"dtype": float}, 1), ({"shape": 2}, 1), ({"dtype": float, "shape": 2}, 0)):
        made = wr.apply_along_axis(ends, 1, wr.ones((4, 3)), **told)
        assert (made.shape, made.dtype, len(tried)) == ((4, 2), float, count)
        tried.clear()


def test_functions_of_elements():
    x, y = wr.from_array(DATA, chunks=3), wr.from_array(DATA[0].copy(), chunks=(8, 2))
    least = wr.vectorize(lambda a, b: a if a < b else b)
    same(least(x, y), np.minimum(DATA, DATA[0]))
    same(least(x, 0.5), np.minimum(DATA, 0.5))
    same(wr.vectorize(lambda a: int(a), otypes=[np.int16])(x), DATA.astype("i2"))
    low, high = wr.vectorize(lambda a, b: (min(a, b), max(a, b)), otypes="dd")(x, y)
    same(low, np.minimum(DATA, DATA[0]))
    same(high, np.maximum(DATA, DATA[0]))
    same(wr.vectorize(lambda line: line.max(), signature="(n)->()")(x), DATA.max(-1))
    assert wr.vectorize(abs, doc="Size.").__doc__ == "Size."
    with pytest.raises(TypeError, match="pyfunc"):
        wr.vectorize(3)


@given(
    st.lists(st.integers(1, 5), min_size=1, max_size=5),
    st.lists(st.integers(1, 4), min_size=1, max_size=3),
    st.integers(0, 99),
)
def test_any_grid(rows, columns, seed):
    data = np.random.default_rng(seed).integers(0, 9, (sum(rows), sum(columns)))
    x = wr.from_array(data, chunks=(tuple(rows), tuple(columns)))
    for axis in (0, 1, None):
        same(wr.reduction(x, np.sum, np.sum, axis, split_every=2), data.sum(axis))
    same(wr.apply_gufunc(np.sort, "(i)->(i)", x, axis=0), np.sort(data, 0))
    same(wr.blockwise(lambda a: a.T, "ji", x, "ij"), data.T)
    same(wr.apply_along_axis(np.cumsum, 0, x), data.cumsum(0))
