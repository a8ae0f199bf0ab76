"""What must hold of a plan before it runs: every read lies where the item it reads is defined.

Kernels go by offsets into memory and look at no ends, so a wrong plan would read other arrays' numbers without a word.
A plan has some dozens of items and boxes of a few integers: looking at them all costs less than making them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .plan import BlockCall, Box, HaloPlan, Paint, Point, Read, StencilLeaf
from .views import without

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .plan import Arg, Margins


def check_plan(plan: HaloPlan) -> None:
    """Assert that a plan reads nothing where it isn't defined, and that all is defined where it should be."""
    whole = own_box(plan)
    for number, item in enumerate(plan.items):
        if isinstance(item, StencilLeaf):
            _check_fills(plan, number, item)
        elif isinstance(item, BlockCall):
            for operand in item.operands:
                _check(_holds(plan.items[operand.read.item].box, _reach(whole, operand)), number, operand.read)
        elif isinstance(item, Point):
            _check_reads(plan, number, item.box, item.args)
        else:
            _check_parts(plan, number, item)
    if any(plan.items[out].box != whole for out in plan.outs):
        raise AssertionError(f"a loop's plan: results {plan.outs} don't lie in {whole}")


def own_box(plan: HaloPlan) -> Box:
    """Return the box of what is carried."""
    return tuple(None if p else (0, n) for p, n in zip(plan.periodic, plan.shape, strict=True))


def _check(holds: bool, number: int, what: object) -> None:
    if not holds:
        raise AssertionError(f"a loop's plan: item {number} reads {what}, which isn't defined everywhere there")


def _check_reads(plan: HaloPlan, number: int, box: Box, args: Iterable[Arg]) -> None:
    for arg in args:
        if isinstance(arg, Read):
            moved = _move(box, arg.shift)
            _check(arg.item < number and _holds(plan.items[arg.item].box, moved), number, arg)


def _check_parts(plan: HaloPlan, number: int, item: Paint) -> None:
    bare = [item.box]
    for box, arg in item.parts:
        _check_reads(plan, number, _meet(box, item.box), [arg])
        bare = [rest for each in bare for rest in without(each, box)]
    if bare:
        raise AssertionError(f"a loop's plan: item {number} isn't defined in {bare}")


def _check_fills(plan: HaloPlan, number: int, leaf: StencilLeaf) -> None:
    """Check what margins are filled from: along each axis the same position, or one of the array's own."""
    ends = own_box(plan)
    bare = without(leaf.box, ends) if all(leaf.along) else []
    for box, arg in leaf.fills:
        if isinstance(arg, Read):
            spans = zip(_move(box, arg.shift), arg.shift, ends, leaf.box, strict=True)
            within = all(_holds((inner if by else outer,), (span,)) for span, by, inner, outer in spans)
            _check(arg.item == number and within, number, arg)
        bare = [rest for each in bare for rest in without(each, box)]
    if bare:
        raise AssertionError(f"a loop's plan: the margins of item {number} aren't filled in {bare}")


def _move(box: Box, shift: tuple[int, ...]) -> Box:
    return tuple(None if span is None else (span[0] + by, span[1] + by) for span, by in zip(box, shift, strict=True))


def _meet(box: Box, other: Box) -> Box:
    return tuple(
        b if a is None else a if b is None else (max(a[0], b[0]), min(a[1], b[1]))
        for a, b in zip(box, other, strict=True)
    )


def _reach(whole: Box, operand: Margins) -> Box:
    """Return what blocks with margins take of an array, all together."""
    return tuple(
        span if span is None or is_open else (span[0] - before, span[1] + after)
        for span, (before, after), is_open in zip(whole, operand.depths, operand.open, strict=True)
    )


def _holds(outer: Box, inner: Box) -> bool:
    """Tell whether a box lies in another, or has no position."""
    if any(span is not None and span[1] <= span[0] for span in inner):
        return True
    return all(
        a is None or (b is not None and a[0] <= b[0] and b[1] <= a[1]) for a, b in zip(outer, inner, strict=True)
    )
