"""Slices of functions are functions of slices: what isn't asked for isn't computed."""

import numpy as np
import pytest

import windrow as wr

RNG = np.random.default_rng(4)
A, B, C, D = RNG.random(7), RNG.random((9, 11)), RNG.random((7, 1, 11)), RNG.random((7, 9, 11))
FUNCTIONS = {
    "product of axes": lambda a, b, c, d: a[:, None, None] * b[None],
    "of functions": lambda a, b, c, d: np.sqrt(b)[None] + c * d,
    "chosen": lambda a, b, c, d: np.where(d > 0.5, c, b * 2) - 1,
}
KEYS = [
    np.s_[3, :3, :4], np.s_[2:5, :2, :2], np.s_[::2, ::-3, 1::2], np.s_[:, 4], np.s_[..., 5],
    np.s_[None, 1, None, :, 3:],
    np.s_[0, 0, 0], np.s_[-1, ::-1], np.s_[:, None, 2],
]  # fmt: skip


@pytest.mark.parametrize("key", KEYS, ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values(name, key):
    function = FUNCTIONS[name]
    lazy = [wr.from_array(x, chunks=4) for x in (A, B, C, D)]
    expected = function(A, B, C, D)
    np.testing.assert_array_equal((function(*lazy)[key] + 1).compute(), expected[key] + 1)
    whole = function(*lazy)
    both = wr.compute(whole.max(), whole[key])
    np.testing.assert_array_equal(both[0], expected.max())
    np.testing.assert_array_equal(both[1], expected[key])


def test_no_more_is_computed_than_is_asked_for():
    a = wr.random.default_rng(1).random(100, chunks=50)
    b = wr.random.default_rng(2).random((5000, 5000), chunks=1000)
    for few in (
        (a[:, None, None] * b[None])[3, :3, :4],
        (a[:, None, None] * b[None])[::50, ::2000, ::2000],
        (b * b + 1)[3, :4],
        wr.sqrt(b)[None][0, :2, :3],
    ):
        assert sum(stage.bytes_held for stage in wr.explain(few).stages) < 10_000
