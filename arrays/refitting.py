"""Operations that are built again over operands in other chunks.

Of what nodes an operation consists often follows from its operands' chunks: how many margins, levels of a tree, panels
of a factorisation. So a function that builds such nodes notes on its result what it was called with; for other
chunks (`arrays.planning.fitting`) it is called again, and the outermost one is.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from ..graph.expr.origin import standing
from .base import ArrayBase, wrap

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..graph.expr.expr import Expr

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class Refit:
    """How a node is built: `function(*arguments)` over its operands as arrays; the node is one of several results."""

    operands: tuple[Expr, ...]
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    number: int | None = None

    def over(self, operands: Sequence[Expr], node: Expr) -> Expr:
        """Return what stands for the node over other operands; it comes from where the node came."""
        left = iter(operands)
        arguments = [wrap(next(left)) if value is OPERAND else value for value in self.arguments]
        with standing(node.origin):
            built = self.function(*arguments)
        expr: Expr = (built if self.number is None else built[self.number]).expr
        return expr


OPERAND = object()
"""Stands among arguments for an array."""


def refittable(function: Callable[P, R]) -> Callable[P, R]:
    """Have a function's results, an array or a tuple of them, be built again over operands in other chunks.

    What it takes beside arrays must not change later.
    """

    @functools.wraps(function)
    def build(*args: P.args, **keywords: P.kwargs) -> R:
        result = function(*args, **keywords)
        again = functools.partial(function, **keywords) if keywords else function
        several = isinstance(result, tuple)
        for number, array in enumerate(result if isinstance(result, tuple) else (result,)):
            if isinstance(array, ArrayBase):
                note_refit(array, again, args, number if several else None)
        return result

    return build


def note_refit(found: ArrayBase, function: Callable[..., Any], args: Sequence[Any], number: int | None = None) -> None:
    """Note that a function makes an array of these arguments; not where a size depends on values."""
    arrays = [value for value in args if isinstance(value, ArrayBase)]
    if any(array._unsized is not None for array in (found, *arrays)):
        return
    operands = tuple([array.expr for array in arrays])
    if not any(found.expr is each for each in operands):
        arguments = tuple([OPERAND if isinstance(value, ArrayBase) else value for value in args])
        found.expr.note_refit(Refit(operands, function, arguments, number))
