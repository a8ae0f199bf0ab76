"""Functions that are sent once: what they refer to is seen anew wherever it can change."""

from __future__ import annotations

import math

import windrow as wr
from windrow.arrays.user_functions.travel.pickling import find_state

offset = 1


def plain(x):
    return math.sqrt(x)


def moved(x):
    return x + offset


def inner(x):
    return (lambda y: y + offset)(x)


def test_which_functions_can_change():
    assert find_state(plain) is not None
    assert find_state(moved) is None
    assert find_state(inner) is None
    assert find_state(lambda x, y=[]: x) is None
    assert find_state(abs) is None
    held = 3
    assert find_state(lambda x: x + held) is None


def test_a_function_that_changes_is_sent_again():
    global offset
    assert wr.submit(moved, 1).result() == 2
    offset = 5
    try:
        assert wr.submit(moved, 1).result() == 6
        assert wr.submit(inner, 1).result() == 6
    finally:
        offset = 1

    def first(x):
        return x * 2

    assert wr.submit(first, 4).result() == 8
    first.__code__ = (lambda x: x * 3).__code__
    assert wr.submit(first, 4).result() == 12
    assert wr.submit(plain, wr.submit(plain, 16)).result() == 2.0
    with wr.Executor() as executor:
        assert executor.submit(plain, 9).result() == 3.0
