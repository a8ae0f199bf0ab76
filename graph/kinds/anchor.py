"""Copies whose place is chosen: on rank 0, where a lineage begins anew, or an equal run of chunks on each rank.

No other rank's death takes a copy on rank 0 along. What the array was made from is forgotten then; what is made from it
leads back to the copy, and no further.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import ClusterError
from ..expr.expr import Expr, Op
from .mapping import BlockFunction

COPY, RESTORE, SPREAD, HOLD = (
    "elements.copies:copy",
    "elements.copies:restore",
    "elements.copies:spread",
    "elements.copies:hold",
)


def spread_over(ranks: int) -> BlockFunction:
    """Return the operation that gives each of so many ranks an equal run of an array's chunks."""
    return BlockFunction(SPREAD, (ranks,))


@dataclass(frozen=True)
class Anchor(Op):
    """A copy that is there as long as the expression is."""

    @property
    def lasting(self) -> bool:
        return True

    def gone(self, node: Expr) -> ClusterError:
        """Return the error of one whose copy isn't there."""
        return ClusterError(
            f"{node.label}: the cluster that has the array is closed; what it was made from, step by step, was "
            "forgotten meanwhile, so it can't be computed again elsewhere"
        )


def copied(root: Expr) -> Expr:
    """Return the copy of an array."""
    return Expr(BlockFunction(COPY), (root,), root.grid, root.dtype, root.origin)


def leaf(copy: Expr, pin: object) -> Expr:
    """Return the same copy without what it was made from; `pin` keeps its chunks."""
    return Expr(Anchor(), (), copy.grid, copy.dtype, copy.origin, pin, copy.token)


def restored(root: Expr, copy: Expr, pin: object = None) -> Expr:
    """Return an array, under its name, as it is made from its copy."""
    return Expr(BlockFunction(RESTORE), (copy,), root.grid, root.dtype, root.origin, pin, root.token)
