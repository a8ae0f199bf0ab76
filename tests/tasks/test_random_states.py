"""Functions that draw from a module's random state: each call draws anew. A state of the user's own is copied."""

from __future__ import annotations

import functools
import random

import numpy as np
import pytest

import windrow as wr

OWN = [np.random.rand, random.random, functools.partial(random.gauss, 0, 1), np.random.mtrand._rand.rand]


@pytest.mark.parametrize("draw", OWN, ids=["numpy", "random", "partial", "instance"])
def test_calls_draw_from_the_state_of_their_process(draw):
    assert len({wr.submit(draw).result() for _ in range(3)}) == 3
    assert len(set(wr.gather([wr.delayed(draw)().submit() for _ in range(3)]))) == 3
    with wr.Executor() as executor:
        assert len({executor.submit(draw).result() for _ in range(3)}) == 3


def test_arguments_and_seeds():
    assert len(set(wr.gather(wr.map(np.random.normal, [0] * 4)))) == 4
    assert len({wr.submit(lambda state: state.rand(), np.random.mtrand._rand).result() for _ in range(3)}) == 3
    wr.submit(np.random.seed, 3).result()  # the process is the script's own here
    expected = np.random.RandomState(3).rand(2).tolist()
    assert [wr.submit(np.random.rand).result() for _ in range(2)] == expected


@pytest.mark.parametrize("make", [np.random.RandomState, random.Random], ids=["numpy", "random"])
def test_a_state_of_the_users_own_is_copied(make):
    state, same = make(5), make(5)
    first = same.random()
    assert [wr.submit(state.random).result() for _ in range(2)] == [first, first]
    assert state.random() == first, "its own stays as it was"
