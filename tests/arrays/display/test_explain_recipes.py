"""Plans, graphs and pictures of operations with recipes: nothing is computed for them."""

from __future__ import annotations

import textwrap

import numpy as np
import pytest

import windrow as wr

MADE = {
    "unique": wr.unique,
    "unique_all": lambda x: wr.unique_all(x).inverse_indices,
    "sort": wr.sort,
    "argsort": lambda x: wr.argsort(x) + 1,
    "median": wr.median,
    "getitem": lambda x: x[x > 1],
    "multiply": lambda x: x[x > 1] * 2,
    "nonzero": lambda x: wr.nonzero(x)[0],
    "argwhere": wr.argwhere,
    "union1d": lambda x: wr.union1d(x, x + 1),
    "setitem": lambda x: _set(x),
}


def _set(x):
    y = x.copy()
    y[x > 1] = np.ones(3)
    return y


@pytest.mark.parametrize("name", MADE)
def test_nothing_runs(name, tmp_path):
    calls = []

    def function(block):
        calls.append(block.shape)
        return block * 2

    x = wr.map_blocks(function, wr.ones(100_000, chunks=10_000), dtype=float)
    calls.clear()
    y = MADE[name](x)
    plan = y.explain()
    assert name in [stage.name.partition(":")[0].partition("+")[0] for stage in plan.stages]
    assert any(note.startswith(f"{name}: planned when it runs") for note in plan.notes)
    assert "function" in plan.stages[0].name
    assert name in {y.graph().nodes[n]["label"] for n in y.graph()}
    assert name in (tmp_path / "y.svg").read_text() if y.visualize(str(tmp_path / "y.svg")) else False
    assert str(plan)
    assert repr(y)
    assert y._repr_html_()
    assert calls == []


def test_what_was_planned_before_is_shown():
    x = wr.from_array(np.random.default_rng(0).random(300_000), chunks=10_000)
    y = wr.sort(x)
    assert y.explain().notes
    y.compute()
    assert y.explain().notes == ()
    assert y.explain().tasks > 1
    found = wr.unique(x)
    assert found.explain().notes
    assert len(found) == 300_000
    assert found.explain().notes == ()


@pytest.mark.ranks
def test_on_ranks(launch, tmp_path):
    program = tmp_path / "plans.py"
    program.write_text(
        textwrap.dedent("""\
            import pathlib
            import windrow as wr

            def function(block):
                with open("calls", "a") as file:
                    file.write("x")
                return block * 2

            x = wr.map_blocks(function, wr.ones(100_000, chunks=10_000), dtype=float)
            calls = pathlib.Path("calls")
            calls.unlink(missing_ok=True)
            for y in (wr.unique(x), wr.sort(x), x[x > 1], wr.nonzero(x)[0], wr.median(x)):
                print(y.explain())
                y.graph()
            assert not calls.exists()
            assert wr.unique(x).compute().tolist() == [2]
            assert len(calls.read_text()) >= 10
            print("right")
        """)
    )
    done = launch(3, str(program))
    assert done.status == 0, done.err
    assert done.last == "right"
