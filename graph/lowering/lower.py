"""From expressions to stages: find which nodes run together, then write each stage's program.

Every node gets a home: the stage it runs in. A node is computed where it is used when all its users live in one
stage and the edge between them can be fused; else it is a stage of its own. What is stored already is never a home,
only an input. Cheap sources are generated again wherever they are used.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..chunks.block_reads import ByBlock
from ..expr.expr import walk
from ..kinds.anchor import Anchor
from ..kinds.contraction import Contract
from ..kinds.elementwise import Elementwise, Scalar
from ..kinds.gang import Filled, Gang, Shares
from ..kinds.mapping import BlockFunction, MapBlocks
from ..kinds.move import Move
from ..kinds.points import PutPoints, TakePoints
from ..kinds.reduction import Level
from ..kinds.reshape import Reshape, ReshapeBlocks
from ..kinds.source import Host, Source
from ..passes.generate_twice import find_waiting, make_again
from ..passes.generated_sources import find_generated, is_cheap
from ..passes.hold_sources import find_read_often, hold_sources, is_held
from ..passes.merge_reductions import reduce_together
from ..passes.shift_boxes import is_shift
from ..passes.simplify import simplify
from ..passes.windows import is_windows, makes_much
from .program import Apply, Call, Fused, Generate, Load, Operand, Product, Program, Value
from .stage import Stage

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..chunks.grid import Grid
    from ..expr.expr import Expr

    Write = Callable[["StageWriter"], Stage]

DEPTH = 64
"""Longer chains are cut: a stage's program stays short."""
UNBOUNDED = 1 << 62
AGAIN = 3
"""So often readers that wait for each other get an array of their own."""
_LITTLE = frozenset(["add", "subtract", "multiply", "negative", "minimum", "maximum"])
_WHOLE = (Contract, MapBlocks, BlockFunction, Gang)


def lower(
    roots: list[Expr], stored: Callable[[str], bool], room: int = UNBOUNDED, write: Write | None = None
) -> list[Stage]:
    """Return the stages that compute the roots, inputs before their readers.

    `stored` tells by its token whether an expression has chunks already, or a stage that makes them: it is read. `room`
    is the bytes that there are for chunks. `write(writer)` returns the stage that a writer would write; None has it
    written.
    """
    simple = reduce_together(simplify(roots, stored), stored)
    stages, homes = write_stages(simple, stored, write=write)
    often = find_read_often(stages, room)
    if often:
        simple = hold_sources(simple, often, stored)
        stages, homes = write_stages(simple, stored, write=write)
    tokens = {root.token for root in simple}
    for _ in range(AGAIN):
        waiting = find_waiting(stages, tokens, room)
        if not waiting:
            break
        simple = make_again(simple, waiting, homes, stored)
        stages, homes = write_stages(simple, stored, write=write)
    return stages


def write_stages(
    simple: list[Expr], stored: Callable[[str], bool], write: Write | None = None
) -> tuple[list[Stage], dict[str, str]]:
    """Return the stages of simplified expressions, and in which stage each node is computed, by tokens."""
    nodes = list(walk(simple, lambda node: stored(node.token)))
    for node in nodes:
        if isinstance(node.op, Anchor) and not stored(node.token):
            raise node.op.gone(node)
    users: dict[str, list[tuple[Expr, int]]] = {n.token: [] for n in nodes}
    for node in nodes:
        if not stored(node.token):
            for i, child in enumerate(node.operands):
                users[child.token].append((node, i))
    tokens = {r.token for r in simple}
    sources = find_generated(nodes, users, tokens, stored)
    homes = _homes(nodes, users, tokens, sources, stored)
    writers = [
        StageWriter(node, homes, sources)
        for node in nodes
        if homes[node.token] == node.token and not stored(node.token)
    ]
    return [writer.stage() if write is None else write(writer) for writer in writers], homes


def _homes(
    nodes: list[Expr],
    users: dict[str, list[tuple[Expr, int]]],
    roots: set[str],
    sources: dict[str, Source],
    stored: Callable[[str], bool],
) -> dict[str, str]:
    by_token = {n.token: n for n in nodes}
    homes: dict[str, str] = {}
    parts: dict[str, str] = {}  # in which operand of a product a node is computed; "" is none
    depth: dict[str, int] = {}
    for node in reversed(nodes):
        token = node.token
        if token in roots or stored(token) or isinstance(node.op, Host) or is_held(node.op):
            homes[token] = token
            continue
        fuses = [_fuses(node, user, sources) for user, _ in users[token]]
        read = _free(node, sources) or _is_read(node, users[token], sources) or _is_difference(node, users[token])
        read |= _is_repeated(node, {homes[user.token] for user, _ in users[token]}, by_token, sources)
        if all(fuses) and (read or all(user.token in sources for user, _ in users[token])):
            homes[token] = ""
            continue
        edges = zip(fuses, users[token], strict=True)
        where = {(homes[user.token], _part(node, user, parts)) if fused else (token, "") for fused, (user, _) in edges}
        home, parts[token] = where.pop() if len(where) == 1 else (token, "")
        if isinstance(node.op, _WHOLE) and (len(users[token]) > 1 or parts[token]):
            home = token
        foreign = isinstance(node.op, _WHOLE) and not is_windows(node) and _covers_many(by_token[home])
        # A function of whole blocks is called for each block of its own grid, which broadcasting would repeat.
        foreign |= isinstance(node.op, _WHOLE) and node.grid != _domain(by_token[home])
        depth[token] = 1 + max(depth.get(user.token, 0) for user, _ in users[token])
        deep = depth[token] > DEPTH and not isinstance(node.op, Move)  # a move reads chunks: below it nothing goes on
        homes[token] = token if foreign or deep else home
        if homes[token] == token:
            depth[token], parts[token] = 0, ""
    return homes


def _part(node: Expr, user: Expr, parts: dict[str, str]) -> str:
    """Return the operand of a product in which a user needs a node: what others need would be computed twice."""
    return f"{user.token} {node.token}" if isinstance(user.op, Contract) else parts.get(user.token, "")


def _domain(root: Expr) -> Grid:
    """Return the grid whose blocks the tasks of a stage go over."""
    return root.operands[0].grid if isinstance(root.op, Level) else root.grid


def _covers_many(root: Expr) -> bool:
    """Whether a task of a stage covers many blocks: no place for what makes little of much, and so takes long."""
    return isinstance(root.op, Level) and math.prod(root.op.groups) > 1


def _free(node: Expr, sources: dict[str, Source]) -> bool:
    """Whether a node may be computed again wherever it is used: cheap sources, and other names of whole blocks."""
    if node.token in sources:
        return is_cheap(sources[node.token])
    return isinstance(node.op, Move) and node.op.first_block(node.grid, node.operands[0].grid) is not None


def _is_read(node: Expr, users: list[tuple[Expr, int]], sources: dict[str, Source]) -> bool:
    """Whether users read what a move shifts where it lies, each for itself: elementwise ones, and products parts."""
    if node.token in sources or not isinstance(node.op, Move) or len(users) < 2:
        return False
    if not all(isinstance(user.op, Elementwise | Contract) for user, _ in users) or not is_shift(node):
        return False
    return all(isinstance(user.op, Elementwise) for user, _ in users) or _takes_parts(node)


def _is_repeated(node: Expr, homes: set[str], nodes: Mapping[str, Expr], sources: dict[str, Source]) -> bool:
    """Whether several stages read the operands of what makes much of little, each for itself: it is never held.

    Windows are made for each block of the stage they are in.
    """
    if len(homes) < 2 or node.token in sources or not makes_much(node):
        return False
    return isinstance(node.op, Move) or all(home and _domain(nodes[home]) == node.grid for home in homes)


def _takes_parts(node: Expr) -> bool:
    """Whether a move's blocks are parts of blocks: a product multiplies them where they lie."""
    return isinstance(node.op, Move) and node.op.takes_parts(node.grid, node.operands[0].grid)


def _is_difference(node: Expr, users: list[tuple[Expr, int]]) -> bool:
    """Whether a node is little to compute from one array and its neighbours: less than to write it down and read it."""
    if not isinstance(node.op, Elementwise) or node.op.function not in _LITTLE or len(users) < 2:
        return False
    moved = [o for o in node.operands if isinstance(o.op, Move) and is_shift(o)]
    below = {o.token for move in moved for o in move.operands} | {o.token for o in node.operands if o not in moved}
    return bool(moved) and len(below) == 1 and all(isinstance(user.op, Elementwise) for user, _ in users)


def _fuses(node: Expr, user: Expr, sources: dict[str, Source]) -> bool:
    """Whether a node can be computed inside the stage of one of its users, or needn't be for this one."""
    if user.token in sources:
        return True
    if isinstance(user.op, Elementwise):
        return not isinstance(node.op, Level)
    if isinstance(user.op, Level):
        return user.op.leaf and not isinstance(node.op, Level)
    if isinstance(user.op, Contract):
        if isinstance(node.op, Move) and node.token not in sources:
            # What the user holds in files isn't read again for each block of the result.
            below = node.operands[0].op
            once = not isinstance(below, Host) or below.data.in_memory or _read_once(node, user)
            return node.grid.ndim > 0 and once and _takes_parts(node)
        return isinstance(node.op, Elementwise) and node.grid.ndim > 0 and _read_once(node, user)
    if isinstance(user.op, BlockFunction | MapBlocks):
        if isinstance(node.op, Elementwise) or node.token in sources:
            return node.grid == user.grid and _along(node, user)
        return isinstance(node.op, Move | Filled)
    return False


def _read_once(node: Expr, user: Expr) -> bool:
    """Whether each block of an operand of a contraction is read for one block of the result alone."""
    op = user.op
    assert isinstance(op, Contract)
    sides = list(zip((op.left, op.right), user.operands, strict=True))
    for (mine, operand), (theirs, other) in (sides, sides[::-1]):
        counts = [n for label, n in zip(theirs, other.grid.counts, strict=True) if label not in mine]
        if operand.token == node.token and math.prod(counts) != 1:
            return False
    return True


def _way(user: Expr, number: int) -> tuple[int | None, ...]:
    """Return the result's axes along which an operand of a function of whole blocks runs."""
    op = user.op
    assert isinstance(op, BlockFunction | MapBlocks)
    return op.axes[number] if isinstance(op, MapBlocks) else op.operand_axes(number, user.operands[number].grid.ndim)


def _along(node: Expr, user: Expr) -> bool:
    """Whether a node's axes are the user's own wherever it is an operand."""
    own = tuple(range(node.grid.ndim))
    return all(_way(user, i) == own for i, o in enumerate(user.operands) if o.token == node.token)


def name_stage(nodes: list[Expr]) -> str:
    """Return the name of a stage in which nodes run, in order: what was called, with the steps of what isn't all here.

    Examples
    --------
    >>> name_stage([])
    ''
    """
    steps: dict[str, list[str]] = {}
    for node in nodes:
        mine = steps.setdefault(node.label, [])
        mine += [node.step] if node.step else []
    partial = " (partial)" if nodes and isinstance(nodes[-1].op, Level) and not nodes[-1].op.final else ""
    if len(steps) == 1:
        ((call, parts),) = steps.items()
        return f"{call}: {', '.join(dict.fromkeys(parts))}{partial}" if parts else call + partial
    return "+".join(steps) + partial


@dataclass
class StageWriter:
    """Writes the stage whose last node is `root`: `homes` says what is computed in it, `sources` what is generated."""

    root: Expr
    homes: dict[str, str]
    sources: dict[str, Source]
    inputs: dict[str, tuple[int, Expr]] = field(default_factory=lambda: {})
    values: list[Value] = field(default_factory=lambda: [])
    written: dict[tuple[str, tuple[int | None, ...]], int] = field(default_factory=lambda: {})
    nodes: list[Expr] = field(default_factory=lambda: [])

    def stage(self) -> Stage:
        op = self.root.op
        level = op if isinstance(op, Level) else None
        domain = _domain(self.root)
        self.domain = domain
        if isinstance(op, Host):
            access = ByBlock(tuple(range(domain.ndim)))
            program = Program((Load(access, (), self.root.dtype, (True,) * domain.ndim),))
            return self._make(domain, program, op)
        top = self.root.operands[0] if level is not None else self.root
        axes = tuple(range(domain.ndim))
        if level is not None and self.is_input(top.token):
            self._load(top, axes)
        else:
            self._value(top, axes, top is self.root)
        if level is not None:
            self.nodes.append(self.root)
        return self._make(domain, Program(tuple(self.values), level), None)

    def _make(self, domain: Grid, program: Program, host: Host | None) -> Stage:
        root = self.root
        name = name_stage(self.nodes) or root.label
        tokens = tuple(self.inputs)
        grids = tuple([e.grid for _, e in self.inputs.values()])
        data = host.data if host is not None else None
        return Stage(root.token, name, root.origin.where, domain, root.grid, root.dtype, tokens, grids, program, data)

    def is_input(self, token: str) -> bool:
        """Whether a node is computed elsewhere, and read here."""
        return self.homes[token] not in ("", self.root.token)

    def _value(self, node: Expr, axes: tuple[int | None, ...], top: bool = False) -> int:
        """Write a node, whose axes run along these axes of the domain; return the number of its value."""
        key = (node.token, axes)
        if key in self.written:
            return self.written[key]
        if not top and self.is_input(node.token):
            number = self._load(node, axes)
        else:
            number = self._compute(node, axes)
            self.nodes.append(node)
        self.written[key] = number
        return number

    def _compute(self, node: Expr, axes: tuple[int | None, ...]) -> int:
        op, full = node.op, self._full(axes)
        if isinstance(op, Elementwise):
            operands = [self._value(child, self._align(child, node, axes)) for child in node.operands]
            values = tuple(a if isinstance(a, Scalar) else operands[a] for a in op.args)
            return self._add(Apply(op.function, values, node.dtype, full))
        if node.token in self.sources:
            return self._add(Generate(self.sources[node.token], axes, node.shape, node.dtype, full))
        if isinstance(op, Contract):
            return self._add(Product(op, self._operands(node), node.dtype, full))
        if isinstance(op, Move | Reshape | ReshapeBlocks | TakePoints | PutPoints | Filled):
            inputs = tuple(self._input(child) for child in node.operands)
            return self._add(Load(op, inputs, node.dtype, full, node.grid, axes))
        if isinstance(op, Gang):
            reads = [Load(Shares(op.members), (self._input(child),), child.dtype, ()) for child in node.operands]
            return self._add(Call(op, tuple(self._add(load) for load in reads), node.dtype, full))
        assert isinstance(op, MapBlocks | BlockFunction), op
        args: list[int] = []
        for i, child in enumerate(node.operands):
            args.append(self._argument(child, axes, _way(node, i)))
        return self._add(Call(op, tuple(args), node.dtype, full))

    def _operands(self, node: Expr) -> tuple[Operand, Operand]:
        """Write the operands of a contraction: those that live here are programs over their own blocks."""
        operands: dict[str, Operand] = {}
        for child in node.operands:
            if child.token in operands:
                continue
            if self.is_input(child.token):
                operands[child.token] = self._input(child)
                continue
            inner = StageWriter(self.root, self.homes, self.sources, self.inputs, nodes=self.nodes)
            inner.domain = child.grid
            inner._value(child, tuple(range(child.grid.ndim)))
            operands[child.token] = Fused(Program(tuple(inner.values)), child.grid)
        left, right = (operands[child.token] for child in node.operands)
        return left, right

    def _argument(self, node: Expr, axes: tuple[int | None, ...], operand_axes: tuple[int | None, ...]) -> int:
        """Write an argument of a function of whole blocks: it keeps its own blocks' shape."""
        if self.is_input(node.token):
            return self._add(Load(ByBlock(operand_axes), (self._input(node),), node.dtype, ()))
        if isinstance(node.op, Move | Filled) and node.token not in self.sources:
            inputs = tuple(self._input(child) for child in node.operands)
            return self._add(Load(node.op, inputs, node.dtype, (), node.grid, operand_axes))
        return self._value(node, axes)

    def _align(self, child: Expr, node: Expr, axes: tuple[int | None, ...]) -> tuple[int | None, ...]:
        """Broadcasting: the operand's axes are the last ones; an axis of length one serves all positions."""
        mine = axes[len(axes) - child.grid.ndim :]
        wide = node.shape[node.grid.ndim - child.grid.ndim :]
        return tuple(None if n == 1 and m != 1 else a for a, n, m in zip(mine, child.shape, wide, strict=True))

    def _full(self, axes: tuple[int | None, ...]) -> tuple[bool, ...]:
        return tuple(i in axes for i in range(self.domain.ndim))

    def _load(self, node: Expr, axes: tuple[int | None, ...]) -> int:
        return self._add(Load(ByBlock(axes), (self._input(node),), node.dtype, self._full(axes)))

    def _input(self, node: Expr) -> int:
        self.inputs.setdefault(node.token, (len(self.inputs), node))
        return self.inputs[node.token][0]

    def _add(self, value: Value) -> int:
        self.values.append(value)
        return len(self.values) - 1
