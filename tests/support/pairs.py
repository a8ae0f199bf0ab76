"""Cases of parameters that don't depend on one another."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any


def pairs(*choices: list[Any]) -> list[tuple[Any, ...]]:
    """Return rows of one value of each list, in which every two values of two lists stand together at least once.

    That is a fraction of all rows, and finds what goes wrong by a value, or by two that meet.
    """
    rows = list(product(*map(range, map(len, choices))))
    meetings = {row: set(combinations(enumerate(row), 2)) for row in rows}
    left, chosen = set().union(*meetings.values()), []
    while left:
        row = max(rows, key=lambda row: len(meetings[row] & left))
        left -= meetings[row]
        chosen.append(tuple(values[at] for values, at in zip(choices, row, strict=True)))
    return chosen
