"""Contractions whose operands are computed where they are read, and reductions that read one array together."""

import numpy as np
import pytest

import windrow as wr
from windrow.graph.lowering.lower import lower
from windrow.graph.lowering.program import Fused, Product
from windrow.workers.config import config

LONG, WIDE, NARROW = 9000, 300, 7


def table(columns, seed=0):
    return np.random.default_rng(seed).standard_normal((LONG, columns))


def stages_of(*arrays):
    return lower([a.expr for a in arrays], lambda token: False)


def products(*arrays):
    return [v for s in stages_of(*arrays) for v in s.program.values if isinstance(v, Product)]


def same_bits(found, wanted):
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.dtype == wanted.dtype
    assert found.tobytes() == wanted.tobytes()


def standardised(x):
    return (x - x.mean(axis=0)) / x.std(axis=0)


def test_a_table_times_itself_is_standardised_where_it_is_read():
    x = wr.from_array(table(NARROW), chunks=(2500, NARROW))
    z = standardised(x)
    (product,) = products(z.T @ z)
    assert product.operands[0] is product.operands[1]
    assert isinstance(product.operands[0], Fused)
    assert "subtract+divide+matmul" in [s.name for s in stages_of(z.T @ z)]


@pytest.mark.parametrize("rows", [LONG, 2500, 400])
@pytest.mark.parametrize("columns", [1, NARROW, WIDE])
def test_fused_operands_give_the_bits_of_stored_ones(rows, columns):
    a, b = table(columns), table(3, 1).astype("f4")
    x, y = wr.from_array(a, chunks=(rows, columns)), wr.from_array(b, chunks=(rows, 3))
    z, w = standardised(x), y * 2 - 1
    for left, right in ((z, z), (z, w), (w, z)):
        found = (left.T @ right).compute()
        stored, other = wr.persist(left, right)
        same_bits(found, (stored.T @ other).compute())
        assert np.allclose(found, np.asarray(left).T @ np.asarray(right), rtol=1e-5)


def test_layouts_dont_matter():
    a = table(NARROW)
    x = wr.from_array(a, chunks=(2500, NARROW))
    turned = wr.from_array(np.ascontiguousarray(a.T), chunks=(NARROW, 2500)).T
    same_bits((x.T @ x).compute(), (turned.T @ turned).compute())
    same_bits((x.T @ x).compute(), (x.T @ turned).compute())
    same_bits((x.T @ x).compute(), (x.T.persist() @ x).compute())


def test_no_operand_is_computed_several_times():
    x = wr.from_array(table(WIDE), chunks=(3000, 100))
    (product,) = products((x + 1).T @ (x * 2))
    assert not product.fused
    (product,) = products((x + 1) @ np.ones(WIDE))
    assert len(product.fused) == 1


@pytest.mark.parametrize("threads", [1, 3])
def test_other_scalars_fill_the_same_plan(threads):
    a = table(NARROW)
    with wr.Cluster(threads=threads):
        x = wr.from_array(a, chunks=(2500, NARROW))
        for k in range(5):
            made = (x * float(k) + 1) - x
            assert np.allclose((made.T @ made).compute(), (a * k + 1 - a).T @ (a * k + 1 - a))
            assert np.allclose(((x * float(k)).T @ (x + 1)).compute(), (a * k).T @ (a + 1))


HEADS = ["mean", "std", "min", "max", "argmax", "sum", "var", "any", "prod"]


@pytest.mark.parametrize("jit", ["off", "on"])
@pytest.mark.parametrize("chunks", [(1000, WIDE), (500, 77)])
@pytest.mark.parametrize("axis", [0, 1, None])
def test_reductions_together_have_the_bits_of_each_alone(axis, chunks, jit):
    with config.set(jit=jit):
        x = wr.from_array(table(WIDE), chunks=chunks)
        alone = [getattr(x, head)(axis=axis).compute() for head in HEADS]
        together = wr.compute(*[getattr(x, head)(axis=axis) for head in HEADS])
        for head, one, other in zip(HEADS, alone, together, strict=True):
            assert np.asarray(one).tobytes() == np.asarray(other).tobytes(), head


def test_reductions_of_one_array_read_it_once():
    x = wr.from_array(table(WIDE), chunks=(1000, WIDE))
    y = wr.sqrt(x * x + 1)
    names = [s.name for s in stages_of(y.mean(axis=0), y.std(axis=0), y.min(axis=0))]
    assert names[1] == "multiply+add+sqrt+mean+std+min (partial)"
    assert [name for name in names if "partial" in name] == names[1:2]
    assert len([s for s in stages_of(y.mean(axis=0), y.std(axis=1)) if "partial" in s.name]) == 1


@pytest.mark.parametrize("chunks", [64, 16])
def test_what_a_product_and_others_need_is_computed_once(chunks):
    a, u = np.eye(64) + 0.01, np.linspace(0, 1, 64)
    lazy, expected = wr.from_array(u, chunks=chunks), u
    for _ in range(40):
        lazy, expected = 0.5 * (wr.from_array(a) @ lazy) + lazy / 2, 0.5 * (a @ expected) + expected / 2
    stages = stages_of(lazy)
    assert sum(isinstance(v, Product) for s in stages for v in s.program.values) == 40
    assert not any(isinstance(v, Product) for s in stages for p in s.program.values for v in inner(p))
    np.testing.assert_allclose(lazy.compute(), expected)


def inner(value):
    """Return the values of what a product computes of its operands."""
    fused = value.fused if isinstance(value, Product) else ()
    return [v for operand in fused for v in operand.program.values]


PARTS = {
    "rows": lambda x, y: x[:5000] @ y,
    "columns": lambda x, y: x[:, 100:] @ y[100:],
    "a column": lambda x, y: x[:, 5] @ x[:, 6:],
    "a row": lambda x, y: x[5] @ y,
    "part by its transpose": lambda x, y: x[5:7000].T @ x[5:7000],
    "twice": lambda x, y: (lambda part: part.T @ (part @ y))(x[1000:3000]),
    "turned": lambda x, y: y.T @ x.T[:, 77:],
    "stacked rows": lambda x, y: x[5:5000][None] @ y,
    "a row apart": lambda x, y: (x[5:5000, None, :] @ y[:, :1])[:, 0],
    "stacked columns": lambda x, y: x[None][:, :, 100:] @ y[100:][None],
    "turned and stacked": lambda x, y: y.T[None] @ x.T[:, 77:],
    "backwards": lambda x, y: x[::-1] @ y[::-1],
    "steps": lambda x, y: x[::3] @ y,
    "nothing": lambda x, y: x[:0] @ y,
    "beside": lambda x, y: x[:5000] @ y + x[:5000].sum(axis=1)[:, None],
}


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("chunks", [(2500, 70), (LONG, WIDE), (1111, WIDE)])
def test_parts_are_multiplied_where_they_lie_with_the_bits_of_stored_ones(part, chunks):
    a, b = table(WIDE), table(3, 1)[:WIDE]
    x, y = wr.from_array(a, chunks=chunks), wr.from_array(b, chunks=(chunks[1], 3))
    wanted = PARTS[part](a, b)
    found = PARTS[part](x, y).compute()
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)
    stored, other = wr.persist(x, y)
    same_bits(found, PARTS[part](stored, other).compute())
    held = {}

    class Holding:
        """Has parts persisted before they are multiplied."""

        def __init__(self, array):
            self.array = array

        def __getitem__(self, key):
            return held.setdefault(str(key), self.array[key].persist())

    if part in ("rows", "a column", "part by its transpose", "columns"):
        same_bits(found, PARTS[part](Holding(x), Holding(y) if part == "columns" else y).compute())


def test_a_part_of_a_matrix_isnt_copied():
    x = wr.from_array(table(WIDE), chunks=(2500, 100))
    (product,) = products(x[:5000, 100:200] @ wr.ones(100))
    assert isinstance(product.operands[0], Fused)
    assert [type(v).__name__ for v in product.operands[0].program.values] == ["Load"]
    for stacked in (x[5:5000][None], x[5:5000, None, :]):
        (product,) = products(
            wr.einsum("aik,kj->aij" if stacked.shape[0] == 1 else "iak,kj->iaj", stacked, wr.ones((WIDE, 3)))
        )
        assert isinstance(product.operands[0], Fused)


@pytest.mark.parametrize("way", [(2, 1, 0), (1, 0, 2), (0, 2, 1)])
def test_several_summed_axes_are_added_in_one_order_however_an_operand_is_turned(way):
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(12, 20, 16)), rng.normal(size=(20, 16, 12))
    turned = np.argsort(way)
    for part in (slice(None), slice(1, 11)):
        x = wr.from_array(np.ascontiguousarray(a.transpose(turned)), chunks=7)
        x = x.transpose(way)[part, part, part]
        y = wr.from_array(b, chunks=(10, 8, 5))[part, part, part]
        stored, other = wr.persist(x, y)
        for axes in (([1, 2], [0, 1]), ([0, 1, 2], [2, 0, 1]), ([2, 0], [1, 2])):
            same_bits(wr.tensordot(x, y, axes).compute(), wr.tensordot(stored, other, axes).compute())
