"""Which items of a plan are held, and which are computed where they are read.

A result is held, and what is painted. What is read at one place only, or costs less than to write and read it, is
computed there again.
"""

from __future__ import annotations

from dataclasses import dataclass

from .plan import BlockCall, HaloPlan, Paint, Point, Read, Shift, StencilLeaf, reads

CHEAP = 3
"""So many operations more are done rather than an item held."""
_COSTS = {"divide": 4, "sqrt": 4, "copy": 1, "cast": 1}


@dataclass(frozen=True)
class ItemGroups:
    """The items that are held, in order, without leaves; the others are parts of these."""

    held: tuple[int, ...]


def find_groups(plan: HaloPlan) -> ItemGroups:
    """Return which items are held."""
    uses: dict[int, set[tuple[int, Shift]]] = {}
    costs = _find_costs(plan)
    held: list[int] = []
    where: dict[int, set[tuple[int, Shift]]] = {}
    zero = (0,) * len(plan.shape)
    for number in reversed(range(len(plan.items))):
        item = plan.items[number]
        if isinstance(item, StencilLeaf | BlockCall):
            continue
        mine = uses.get(number, set())
        if number not in plan.outs and not mine:
            continue
        own = number in plan.outs or isinstance(item, Paint) or costs[number] * (len(mine) - 1) > CHEAP
        if own:
            held.append(number)
            where[number] = {(number, zero)}
        else:
            where[number] = mine
        for read in reads(item):
            for root, shift in where[number]:
                moved = tuple(a + b for a, b in zip(shift, read.shift, strict=True))
                uses.setdefault(read.item, set()).add((root, moved))
    return ItemGroups(tuple(reversed(held)))


def _find_costs(plan: HaloPlan) -> list[int]:
    """Return how many operations an item takes, with all that it is made of and isn't held for sure."""
    costs: list[int] = []
    for item in plan.items:
        cost = 0
        if isinstance(item, Point):
            cost = _COSTS.get(item.function, 1)
            cost += sum(costs[arg.item] for arg in item.args if isinstance(arg, Read))
        costs.append(cost)
    return costs
