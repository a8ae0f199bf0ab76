"""Plans by structure: a graph like one that was lowered before is looked up, and its names, data and scalars put in.

A loop builds the same graph each turn, over other arrays and with other numbers. Two graphs have one structure if they
are lowered alike: the same operations over the same grids and dtypes, made at the same lines, the same things shared
and stored. A structure that comes a second time is lowered once more, and kept as a `Template`; from then on its stages
are copies, whose programs, grids and relations are the same objects. What users' functions do isn't told by structure:
graphs with some are always lowered. A template holds no data of the user's.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..expr.expr import walk
from ..expr.serialize import dump
from ..expr.token import token_of
from ..kinds.elementwise import Elementwise, Scalar
from ..kinds.source import Full, Host
from .lower import UNBOUNDED, lower
from .program import Apply, Generate, Product, Program
from .similar_stages import share
from .stage import relations

if TYPE_CHECKING:
    import pickle
    from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence

    from ..expr.expr import Expr
    from .stage import Reads, Stage

_Holes = tuple[tuple[tuple[int, ...], int, int, int], ...]
"""Of a program: each scalar's value and argument in it, and the node and argument that it comes from; a constant that
is generated has argument -1. A value in a fused operand has the product's number and the operand's before its own."""
NODES = 512
"""Nodes of the largest graph that is kept."""
TASKS = 4096
"""Tasks of the largest stage that is kept: with more, they take longer than planning."""
BYTES = 1 << 20
"""Bytes of the largest programs that are kept: positions to take may be many."""


class StagePlan:
    """The stages that compute some expressions, inputs before their readers."""

    def __init__(self, stages: list[Stage], known: dict[tuple[int, ...], list[Reads]] | None = None) -> None:
        self.stages = stages
        self._known = {} if known is None else known

    def relations(self, stages: Sequence[Stage], sizes: Mapping[str, int]) -> dict[str, Reads]:
        """Return what these stages read, which are the plan's own, some under other names; see `stage.relations`."""
        key = tuple(sizes[token] for stage in stages for token in stage.inputs if token in sizes)
        stage_reads = self._known.get(key)
        if stage_reads is None:
            stage_reads = self._known[key] = list(relations(stages, sizes).values())
        return {stage.token: reads for stage, reads in zip(stages, stage_reads, strict=True)}


class Prepared:
    """Remembers how graphs were lowered, by structure: the `most` that were used last."""

    def __init__(self) -> None:
        self._templates: OrderedDict[Hashable, Template | None] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return sum(template is not None for template in self._templates.values())

    def lower(self, roots: list[Expr], stored: Callable[[str], bool], most: int, room: int = UNBOUNDED) -> StagePlan:
        """Return the plan of some expressions; see `lower.lower`. 0 remembers nothing; `room` is always the same."""
        if not most:
            return StagePlan(lower(roots, stored, room))
        foreign = any(root.foreign for root in roots)
        nodes = [] if foreign else list(walk(roots, lambda node: stored(node.token)))
        if foreign or len(nodes) > NODES:
            return StagePlan(list(map(share, lower(roots, stored, room))))
        key = _structure(roots, nodes, stored)
        with self._lock:
            known = key in self._templates
            template = self._templates.setdefault(key, None)
            self._templates.move_to_end(key)
            while len(self._templates) > most:
                self._templates.popitem(last=False)
        if template is not None:
            return template.fill(nodes)
        stages = lower(roots, stored, room)
        if known and (new_template := _make_template(key, roots, nodes, stages)) is not None:
            with self._lock:
                self._templates[key] = new_template
        return StagePlan(stages)


def _structure(roots: list[Expr], nodes: list[Expr], stored: Callable[[str], bool]) -> tuple[Hashable, ...]:
    """Return what decides how a graph is lowered, as a key of a dictionary."""
    numbers = {node.token: number for number, node in enumerate(nodes)}
    key: list[Hashable] = [numbers[root.token] for root in roots]
    for node in nodes:
        if stored(node.token):
            key.append((node.grid, node.dtype))
        else:
            reads = tuple([numbers[child.token] for child in node.operands])
            key.append((node.form, reads, node.origin, node.pin is None))
    return tuple(key)


class Template:
    """Stages of a structure, in which names, the user's data and scalars stand at numbered places."""

    def __init__(
        self, key: tuple[Hashable, ...], roots: list[Expr], nodes: list[Expr], stages: list[Stage], holes: list[_Holes]
    ) -> None:
        self._name = token_of(key)
        numbers = {node.token: number for number, node in enumerate(nodes)}
        self._roots = [numbers[root.token] for root in roots]
        for stage in stages:
            numbers.setdefault(stage.token, len(numbers))
        self._made = len(numbers) - len(nodes)
        self._names = [(numbers[s.token], tuple([numbers[token] for token in s.inputs])) for s in stages]
        self._holes = holes
        for stage in stages:
            stage.learn()
        self._stages = [stage.remake(data=None) for stage in stages]
        hosts = {id(node.op.data): number for number, node in enumerate(nodes) if isinstance(node.op, Host)}
        self._hosts = [None if stage.data is None else hosts[id(stage.data)] for stage in stages]
        self._reads: dict[tuple[int, ...], list[Reads]] = {}

    def fill(self, nodes: list[Expr]) -> StagePlan:
        """Return the plan of a graph of this structure, whose nodes these are."""
        names = [node.token for node in nodes]
        if self._made:
            base = token_of(self._name, [names[number] for number in self._roots])
            names += [f"{base}.{number}" for number in range(self._made)]
        stages = []
        for stage, (own, inputs), holes, host in zip(self._stages, self._names, self._holes, self._hosts, strict=True):
            changes: dict[str, Any] = {"token": names[own], "inputs": tuple([names[number] for number in inputs])}
            if host is not None:
                changes["data"] = nodes[host].op.given[0]
            if holes:
                changes["program"] = _with_scalars(stage.program, holes, nodes)
            stages.append(stage.remake(**changes))
        return StagePlan(stages, self._reads)


def _make_template(
    key: tuple[Hashable, ...], roots: list[Expr], nodes: list[Expr], stages: list[Stage]
) -> Template | None:
    """Return the template of what was lowered; None where it is large, or scalars can't be told apart."""
    if any(stage.ntasks > TASKS for stage in stages):
        return None
    places: dict[int, tuple[int, int]] = {}
    for number, node in enumerate(nodes):
        for at, scalar in _scalars(node.op):
            if places.setdefault(id(scalar), (number, at)) != (number, at):
                return None
    holes = []
    for stage in stages:
        mine = []
        for path, at, scalar in _scalars_in(stage.program):
            if id(scalar) not in places:
                return None
            mine.append((path, at, *places[id(scalar)]))
        holes.append(tuple(mine))
    try:
        arrays: list[pickle.PickleBuffer] = []  # they needn't be copied to be counted
        packed = dump([stage.program for stage in stages], arrays.append)
        nbytes = len(packed) + sum(each.raw().nbytes for each in arrays)
    except Exception:  # a class of somebody's: it is lowered each time
        return None
    return Template(key, roots, nodes, stages, holes) if nbytes <= BYTES else None


def _scalars(of: object) -> list[tuple[int, Scalar | Full]]:
    """Return the scalars of a node's operation, or of a program's value, and at which arguments they are."""
    if isinstance(of, Elementwise | Apply):
        return [(at, scalar) for at, scalar in enumerate(of.args) if isinstance(scalar, Scalar)]
    source = of.source if isinstance(of, Generate) else of
    return [(-1, source)] if isinstance(source, Full) else []


def _scalars_in(program: Program) -> Iterator[tuple[tuple[int, ...], int, Scalar | Full]]:
    """Yield the scalars of a program, fused operands included; see `_Holes`."""
    for number, value in enumerate(program.values):
        for at, scalar in _scalars(value):
            yield (number,), at, scalar
        for k, operand in enumerate(value.fused if isinstance(value, Product) else ()):
            for path, at, scalar in _scalars_in(operand.program):
                yield (number, k, *path), at, scalar


def _with_scalars(program: Program, holes: _Holes, nodes: list[Expr]) -> Program:
    """Return a program with the scalars of a graph's nodes; itself where they are the same objects."""
    values = list(program.values)
    changed = False
    below: dict[tuple[int, int], list[tuple[tuple[int, ...], int, int, int]]] = {}
    for path, at, node, operand in holes:
        number = path[0]
        if len(path) > 1:
            below.setdefault((number, path[1]), []).append((path[2:], at, node, operand))
            continue
        value: Any = values[number]
        op: Any = nodes[node].op
        if at < 0:
            if value.source.value is not op.value:
                values[number] = replace(value, source=op)
                changed = True
        elif value.args[at].value is not (scalar := op.args[operand]).value:
            values[number] = replace(value, args=(*value.args[:at], scalar, *value.args[at + 1 :]))
            changed = True
    for (number, k), mine in below.items():
        value = values[number]
        old = value.fused[k]
        fused = replace(old, program=_with_scalars(old.program, tuple(mine), nodes))
        if fused.program is not old.program:
            values[number] = replace(value, operands=tuple([fused if o == old else o for o in value.operands]))
            changed = True
    return Program(tuple(values), program.level, program.form) if changed else program
