"""Arrays that a formula gives: what is taken of them is made, and nothing else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import windrow as wr
from windrow.graph.lowering.lower import lower
from windrow.graph.lowering.program import Generate

HUGE = 10**12
SIDE = 10**6


def huge() -> dict[str, tuple[wr.Array, object]]:
    """Few elements of arrays of terabytes in chunks of gigabytes, and what they are."""
    line = wr.arange(HUGE, chunks=2 * 10**8)
    ones = wr.ones((SIDE, SIDE), chunks=(SIDE // 4, SIDE // 4))
    eye = wr.eye(SIDE, chunks=SIDE // 4)
    step = wr.linspace(0, 1, HUGE + 1, chunks=10**9)
    few = [5, 10**11, 3, HUGE - 1]
    rows = np.array([0, 7, SIDE - 1])
    return {
        "take": (wr.take(line, few), few),
        "slice": (line[5:10], range(5, 10)),
        "strided": (line[7 : HUGE : HUGE // 4], [7 + k * (HUGE // 4) for k in range(4)]),
        "reversed": (line[::-1][:3], [HUGE - 1, HUGE - 2, HUGE - 3]),
        "taken twice": (line[few][::2][[1, 0]], [3, 5]),
        "item": (line[HUGE // 3], HUGE // 3),
        "reshaped": (line.reshape(SIDE, SIDE)[3:5, [0, 9]].T, [[3 * SIDE, 4 * SIDE], [3 * SIDE + 9, 4 * SIDE + 9]]),
        "row": (wr.expand_dims(line, 0)[:, 4:6] * 2, [[8, 10]]),
        "points": (eye[rows, rows[::-1]], [0, 1, 0]),
        "rows": (ones[rows, 3:5], np.ones((3, 2))),
        "transposed": (eye.T[4, 3:6], [0, 1, 0]),
        "last": (step[[0, HUGE // 4, -1]], [0, 0.25, 1]),
        "fused": ((line[few] + ones[0, :4]).sum(), sum(few) + 4),
    }


@pytest.mark.parametrize("name", huge())
def test_few_elements_of_a_huge_array(name):
    got, expected = huge()[name]
    np.testing.assert_array_equal(got.compute(), expected)


def test_random_numbers_are_the_same_taken_alone():
    """They follow from their positions; few are drawn at these, many are read from the whole chunks."""
    for draw in ("random", "standard_normal", "poisson", "standard_gamma"):
        x = getattr(wr.random.default_rng(3), draw)(size=(500, 400), chunks=(100, 90), **_parameters(draw))
        whole = x.compute()
        rows = np.array([499, 0, 0, 17])
        for key in ((3, slice(None)), (slice(5, 60, 7), slice(None, None, -9)), (rows, rows % 7), (rows, slice(3, 9))):
            np.testing.assert_array_equal(x[key].compute(), whole[key])
        np.testing.assert_array_equal(x[1:].compute(), whole[1:])
    drawn = wr.random.default_rng(1).normal(size=10**11, chunks=10**10)
    np.testing.assert_array_equal(drawn[[10**10, 3]].compute(), [drawn[10**10].compute(), drawn[3].compute()])


def _parameters(draw: str) -> dict[str, float]:
    return {"poisson": {"lam": 4.5}, "standard_gamma": {"shape": 0.7}}.get(draw, {})


def test_random_numbers_that_are_asked_for_whole_are_drawn_once():
    x = wr.random.default_rng(0).random((400, 400), chunks=100)
    few, most = x[:3, :3], x[1:] - x[:-1]

    def drawn(*arrays):
        stages = lower([a.expr for a in arrays], lambda token: False)
        return [v.shape for s in stages for v in s.program.values if isinstance(v, Generate)]

    assert drawn(few) == [(3, 3)]
    assert drawn(most) == [(400, 400)]
    assert drawn(few, x.sum()) == [(400, 400)]
    assert drawn(*(x[:, i] for i in range(400))) == [(400, 400)]


def test_random_numbers_that_are_asked_for_once_are_drawn_where_they_are_used():
    """Shifted, or in other chunks: nothing is held, as long as runs aren't short."""
    x, y = (wr.random.default_rng(n).random((90, 400), chunks=(40, 100)) for n in (1, 2))
    a, b = x.compute(), y.compute()
    for found, expected, stages in (
        (x[1:, 1:] - y[:-1, :-1], a[1:, 1:] - b[:-1, :-1], 1),
        (x.rechunk((7, -1)) + 1, a + 1, 1),
        (x[5, 3:] * 2, a[5, 3:] * 2, 1),
        (x[None, 1:] + y[1:, None], a[None, 1:] + b[1:, None], 1),
        (x[:30] + x[30:60], a[:30] + a[30:60], 1),
        (x[:, 1:].rechunk((-1, 2)) + 1, a[:, 1:] + 1, 2),
        (x.T + 1, a.T + 1, 2),
        (x[1:] - x[:-1], a[1:] - a[:-1], 2),
    ):
        assert len(lower([found.expr], lambda token: False)) == stages
        np.testing.assert_array_equal(found.compute(), expected)


def test_a_persisted_source_is_read():
    x = wr.arange(1000, chunks=100).persist()
    np.testing.assert_array_equal(x[5:700:3].compute(), np.arange(5, 700, 3))
    np.testing.assert_array_equal((x[::2] + x[1::2]).compute(), np.arange(1, 2000, 4))


@pytest.mark.ranks
def test_on_ranks(launch, nothing_left):
    ended = launch(2, str(Path(__file__)), WINDROW_MEMORY="64 MiB")
    assert ended.status == 0, ended.err[-3000:]
    assert ended.last == "right"


if __name__ == "__main__":
    for case, (found, wanted) in huge().items():
        np.testing.assert_array_equal(found.compute(), wanted, err_msg=case)
    print("right")
