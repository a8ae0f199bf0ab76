"""Recipes: how often they run, what they leave behind; and `x[m] = f(x[m])`, which needs none."""

from __future__ import annotations

import gc
import operator
import textwrap

import numpy as np
import pytest

import windrow as wr
from support.waiting import until
from windrow.scheduler.session.cluster import Cluster
from windrow.scheduler.session.session import Session

NUMBERS = np.random.default_rng(0).normal(size=(60, 4))


@pytest.fixture
def runs(monkeypatch):
    """What computes: an entry for each computation."""
    found = []
    run, keep = Session.run, Session.keep
    monkeypatch.setattr(Session, "run", lambda self, roots: found.append("run") or run(self, roots))
    monkeypatch.setattr(Session, "keep", lambda self, root: found.append("keep") or keep(self, root))
    return found


def scale(x, y):
    x[x > 0.5] *= 0.9


def negate(x, y):
    x[x > 0] = -x[x > 0]


def add_other(x, y):
    m = y > 0
    x[m] += y[m]


def functions(x, y):
    m = x > 0
    x[m] = np.where(x[m] > 0.5, np.round(np.sqrt(x[m]), 2), np.clip(x[m] * 2, 0.2, 0.7)).astype("f4")


def rows(x, y):
    m = y[:, 0] > 0
    x[m] = y[m] - x[m] / 3


def from_before(x, y):
    m = x > 0
    old = x[m]
    x[:5] = 7
    x[m] = old * 2


def columns(x, y):
    m = y[0] > 0
    x[:, m] = np.sqrt(abs(x[:, m])) - y[:, m] / 3


def columns_to_a_number(x, y):
    m = y[0] > 0
    x[:, m] = 3
    x[:, NUMBERS[0] > 0] = x[:, :1]


def parts(x, y):
    x[2:, y[0] > 0] *= 0.9
    x[5:-5, x[3] > 0] = y[10:, x[3] > 0] + 1


def rows_at_one_column(x, y):
    m = y[:, 0] > 0
    x[m, 2] *= 2
    x[m, 1:3] -= y[m, 2:]
    x[m, ::-1] = np.arange(4)


def planes(x, y):
    x[..., y > 0] = x[y > 0] + 1


def other_columns(x, y):
    """As many, from other places."""
    x[:, y[0] > 0] = y[:, y[0] > 0] - 1
    order = np.array([True, False, True, False])
    lazy = wr.from_array(order[::-1].copy(), chunks=3) if isinstance(x, wr.Array) else order[::-1]
    x[:, order] = x[:, lazy] * 2
    x[:, lazy] = x[:, lazy][:, ::-1]


def with_single(x, y):
    m = y > 0
    x[m] -= x.sum() * y[0, 0]


def other_mask(x, y):
    """As many elements, from other places."""
    order = np.roll(NUMBERS[:, 0] > 0, 1)
    x[wr.from_array(order, chunks=11) if isinstance(x, wr.Array) else order] = y[y[:, 0] > 0] + 1


def changed_mask(x, y):
    m = (y > 0) + 0 > 0
    found = x[m] * 2
    m[:, 1] = m[:, 1] & False
    x[m] = found[: 60 * 4] if found.shape == (0,) else 3


def backwards(x, y):
    m = x > 0
    x[m] = x[m][::-1]


def without_unselected(x, y):
    n = (x * 10).astype(int)
    n[n >= 0] = 2 ** n[n >= 0]
    x[...] = n


STEPS = {
    f.__name__: f
    for f in (
        *(scale, negate, add_other, functions, rows, from_before, with_single, other_mask, changed_mask, backwards),
        *(columns, columns_to_a_number, parts, rows_at_one_column, planes, other_columns),
        without_unselected,
    )
}
PLAIN = (
    *("scale", "negate", "add_other", "functions", "rows", "from_before", "with_single"),
    *("columns", "columns_to_a_number", "parts", "rows_at_one_column", "planes"),
)


@pytest.mark.parametrize("chunks", [(11, 2), -1])
@pytest.mark.parametrize("name", STEPS)
def test_what_a_mask_selects_is_written_back(name, chunks, runs):
    a, b = NUMBERS.copy(), NUMBERS[::-1].copy()
    x, y = wr.from_array(a.copy(), chunks=chunks), wr.from_array(b.copy(), chunks=chunks)
    STEPS[name](a, b)
    STEPS[name](x, y)
    if name in PLAIN:
        assert runs == []
    np.testing.assert_array_equal(x.compute(), a)


@pytest.mark.parametrize(
    ("step", "each"),
    [
        (scale, 0),
        (lambda x, y: operator.setitem(x, (slice(None), x[0] > 0), x[:, x[0] > 0] * 0.9), 0),
        (lambda x, y: operator.setitem(x, (slice(None), x[0] > 0), x[:, x[0] > 0][:, ::-1]), 3),
        (lambda x, y: operator.setitem(x, x > 9, np.zeros(0)), 2),
        (lambda x, y: operator.setitem(x, (y.astype(int) % 4)[:, 0], 1), 1),
    ],
)
def test_a_step_costs_the_same_after_many(step, each, runs):
    for steps in (3, 12) if each else (12, 48):
        a, b = NUMBERS.copy(), NUMBERS[::-1].copy()
        x, y = wr.from_array(a.copy(), chunks=11), wr.from_array(b, chunks=11)
        runs.clear()
        for _ in range(steps):
            step(x, y)
            x[0].compute()
            step(a, b)
        assert len(runs) <= steps * (each + 1)
        np.testing.assert_array_equal(x.compute(), a)


def test_recipes_run_once_and_hold_nothing(runs):
    a = np.random.default_rng(0).random(300_000)
    x = wr.from_array(a, chunks=10_000)
    found = [wr.sort(x), wr.argsort(x), wr.median(x + 0), x[wr.from_array([3, -1])].sum()]
    expected = [np.sort(a), np.argsort(a), np.median(a), a[[3, -1]].sum()]
    with Cluster(threads=2) as cluster:
        for y, e in zip(found, expected, strict=True):
            np.testing.assert_array_equal(y.compute(), e)
            runs.clear()
            np.testing.assert_array_equal((y + 0).compute(), e)
            assert runs == ["run"]
        gc.collect()
        # What a job read is forgotten after its result is there.
        until(lambda: not cluster._session.engine.ask(lambda engine: len(engine.ledger.records)), "all is forgotten")
        np.testing.assert_array_equal(found[1][:7].compute(), expected[1][:7])
    for y, e in zip(found, expected, strict=True):  # on another cluster
        runs.clear()
        np.testing.assert_array_equal(y.compute(), e)
        assert runs == ["run"]


def test_what_a_users_function_gives_may_change():
    generator = np.random.default_rng(0)
    x = wr.map_blocks(lambda block: generator.random(block.shape), wr.zeros(200_000, chunks=50_000), dtype="f8")
    y = wr.sort(x)
    first, second = y.compute(), y.compute()
    assert (np.diff(first) >= 0).all()
    assert (np.diff(second) >= 0).all()
    assert (first != second).any()


def test_a_long_chain_on_a_selection():
    a = np.arange(100.0)
    for x in (wr.from_array(a, chunks=9), wr.arange(100, chunks=9) + 0.0):
        found = x[x > 50]
        for _ in range(3000):
            found = found + 1
        assert found.sum().compute() == (a[a > 50] + 3000).sum()


def test_shapes_of_selections_stay_unknown_until_needed(runs):
    x = wr.arange(1000, chunks=9) + 0.0
    found = np.sqrt(x[x > 50] * 2) - 1
    assert found.shape == (None,)
    assert runs == []
    assert found.dtype == np.float64
    assert len(found) == 949
    with pytest.raises(wr.ShapeError, match="broadcast"):
        found + np.ones(7)
    n = wr.arange(9)
    some = n[n > 3]
    with pytest.raises(wr.DTypeError, match=r"\*="):
        some *= 0.5


@pytest.mark.ranks
def test_on_ranks(launch, tmp_path):
    program = tmp_path / "steps.py"
    program.write_text(
        textwrap.dedent("""\
            import numpy as np
            import windrow as wr
            from windrow.scheduler.session.session import Session

            count = 0
            run = Session.run

            def counted(self, roots):
                global count
                count += 1
                return run(self, roots)

            Session.run = counted
            a = np.random.default_rng(0).random(1000)
            x = wr.from_array(a.copy(), chunks=90)
            for _ in range(30):
                x[x > 0.5] *= 0.9
                a[a > 0.5] *= 0.9
            np.testing.assert_array_equal(x.compute(), a)
            assert count == 1, count
            y = wr.sort(wr.from_array(np.tile(a, 400), chunks=9000))
            for _ in range(2):
                before, count = count, 0
                np.testing.assert_array_equal(y.compute(), np.sort(np.tile(a, 400)))
            assert before > 1 and count == 1, (before, count)
            print("right")
        """)
    )
    done = launch(3, str(program))
    assert done.status == 0, done.err
    assert done.last == "right"
