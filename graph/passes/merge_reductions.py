"""Reductions of one array along the same axes read it once: their first levels are one stage.

Each goes on from its own field of what that stage makes, so the tree of each, and its bits, stay what they were.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..expr.expr import Expr, rewrite, walk, with_operands
from ..kinds.reduction import Level, Reduce

if TYPE_CHECKING:
    from collections.abc import Callable


def reduce_together(roots: list[Expr], stored: Callable[[str], bool]) -> list[Expr]:
    """Return the simplified roots, in which reductions that read the same blocks alike share their first level."""
    alike: dict[object, list[Expr]] = {}
    for node in walk(roots, lambda node: stored(node.token)):
        op = node.op
        if isinstance(op, Level) and op.leaf and not op.final and not stored(node.token):
            alike.setdefault((node.operands[0].token, op.reduce.axes, op.groups), []).append(node)
    several = [nodes for nodes in alike.values() if len(nodes) > 1]
    if not several:
        return roots
    where = {node.token: (nodes, field) for nodes in several for field, node in enumerate(nodes)}
    joined: dict[str, Expr] = {}

    def build(node: Expr, operands: tuple[Expr, ...]) -> Expr:
        if node.token in where:
            nodes, _ = where[node.token]
            if nodes[0].token not in joined:
                joined[nodes[0].token] = _join(nodes, operands)
            return joined[nodes[0].token]
        if isinstance(node.op, Level) and node.operands[0].token in where:
            op = replace(node.op, field=where[node.operands[0].token][1])
            return Expr(op, operands, node.grid, node.dtype, node.origin, node.pin, node.token)
        return with_operands(node, operands)

    return rewrite(roots, lambda node: node if stored(node.token) else None, build)


def _join(nodes: list[Expr], operands: tuple[Expr, ...]) -> Expr:
    """Return one level in place of several that have the same operand."""
    parts = tuple([node.op for node in nodes if isinstance(node.op, Level)])
    first = parts[0]
    reduce = Reduce("+".join(dict.fromkeys(part.reduce.head for part in parts)), first.reduce.axes, keepdims=True)
    dtype = np.dtype([(field_name(k), node.dtype) for k, node in enumerate(nodes)])
    op = replace(first, reduce=reduce, target=dtype, parts=parts)
    call = "+".join(dict.fromkeys(node.label.removesuffix(" (partial)") for node in nodes))
    return Expr(op, operands, nodes[0].grid, dtype, nodes[0].origin._replace(call=call))


def field_name(number: int) -> str:
    """Return the name of the field that holds partial results of one of several reductions."""
    return f"f{number}"
