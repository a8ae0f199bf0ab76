"""Plans by structure: a graph like one that was lowered before is looked up, and its names, data and scalars put in.

A loop builds the same graph each turn, over other arrays and with other numbers. Two graphs have one structure if they
are lowered alike: the same operations over the same grids and dtypes, made at the same lines, the same things shared
and stored. A structure that comes a second time is lowered once more, and kept as a `Template`; from then on its stages
are copies, whose programs, grids and relations are the same objects. A graph that is too large to be kept, or one with
users' functions, which aren't told by structure, is looked up stage by stage: what a stage computes is a graph, too,
that ends at what the stage reads. A template holds no data of the user's.

Four more things are remembered near plans, each by what isn't known here:

- `ProgramForm`: which tasks read which, offsets, and ranks' pieces, layouts and buffers, as long as a stage of the form
  is there. Sizes of inputs are the holes, and these are known when jobs are entered; ranks see programs and no plans.
- `expr.interned`: the names, moves and boxes that nodes and passes make, of which the key of a structure consists.
- `scheduler.session.step_replay`: the stages of a loop's body, as long as the loop runs. It has no key: a step makes no
  expression, and users' functions are lowered once. Built anew and looked up here, a small step takes a quarter longer,
  and twice as long with a user's function.
- `workers.direct`: the stages of a traced function's call, which the calling thread runs, and which makes no
  expression.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import replace
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import is_numpy_scalar
from ..expr.expr import walk
from ..expr.interned import BLOCKS
from ..expr.serialize import dump
from ..expr.token import token_of
from ..kinds.elementwise import Elementwise, Scalar
from ..kinds.reduction import Level
from ..kinds.source import Full, Host
from .lower import UNBOUNDED, lower
from .program import Apply, Generate, Product, Program

if TYPE_CHECKING:
    import pickle
    from collections.abc import Callable, Hashable, Iterator, Mapping

    from ..expr.expr import Expr
    from .lower import StageWriter
    from .program import Operand, Value
    from .stage import Stage

_Holes = dict[int, tuple[int, int]]
"""Of a program: which argument of which node each of its scalars is, by the scalar's identity; a constant that is
generated has argument -1."""
NODES = 512
"""Nodes of the largest graph that is kept."""
STAGES = 512
"""Stages of larger graphs that are kept."""
TASKS = 4096
"""Tasks of the largest stage that is kept: with more, they take longer than planning."""
BYTES = 1 << 20
"""Bytes of the largest programs that are kept: positions to take may be many."""
NUMBERS = 8
"""Programs of a stage that are kept, each with other scalars."""


class _Untemplated(Enum):
    """Why a structure has no template."""

    NEW = "it has come once"
    UNFIT = "what it is lowered to can't be kept"


class PlanCache:
    """Remembers how graphs were lowered, by structure: those that were used last."""

    def __init__(self) -> None:
        self._templates: OrderedDict[Hashable, Template | _Untemplated] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return sum(isinstance(known, Template) for known in self._templates.values())

    def lower(self, roots: list[Expr], stored: Callable[[str], bool], most: int, room: int = UNBOUNDED) -> list[Stage]:
        """Return the stages of some expressions; see `lower.lower`. 0 remembers nothing; `room` is always the same."""
        make = partial(lower, roots, stored, room)
        if not most:
            return make()
        foreign = any(root.foreign for root in roots)
        nodes = [] if foreign else list(walk(roots, lambda node: stored(node.token)))
        if foreign or len(nodes) > NODES:
            return make(_recaller())
        return self.recall(roots, nodes, stored, most, make)

    def recall(
        self,
        roots: list[Expr],
        nodes: list[Expr],
        stored: Callable[[str], bool],
        most: int,
        make: Callable[[], list[Stage]],
        rewritten: bool = False,
    ) -> list[Stage]:
        """Return the stages of a graph of these nodes: those of its structure, or those made now; `most` are kept.

        A stage that is `rewritten`, since its graph is lowered in several passes, doesn't come a second time by that.
        """
        key = _structure(roots, nodes, stored)
        with self._lock:
            known = self._templates.get(key)
            if known is None:
                self._templates[key] = _Untemplated.NEW
            self._templates.move_to_end(key)
            while len(self._templates) > most:
                self._templates.popitem(last=False)
        if isinstance(known, Template):
            return known.fill(nodes)
        stages = make()
        if known is _Untemplated.NEW and not rewritten:
            template = _make_template(key, roots, nodes, stages) or _Untemplated.UNFIT
            with self._lock:
                self._templates[key] = template
        return stages


_stages = PlanCache()
"""Of stages, each as a graph of its own."""


def _recaller() -> Callable[[StageWriter], Stage]:
    """Return what recalls the stages of one graph, some of which are written several times."""
    written: set[str] = set()

    def recall(writer: StageWriter) -> Stage:
        rewritten = writer.root.token in written
        written.add(writer.root.token)
        return recall_stage(writer, rewritten)

    return recall


def recall_stage(writer: StageWriter, rewritten: bool = False) -> Stage:
    """Return a stage, from one of its structure where there is one; see `PlanCache.recall`."""
    nodes = list(walk([writer.root], lambda node: writer.is_input(node.token)))
    if not all(_is_told(node, writer) for node in nodes):
        return writer.stage()
    (stage,) = _stages.recall([writer.root], nodes, writer.is_input, STAGES, lambda: [writer.stage()], rewritten)
    return stage


def _is_told(node: Expr, writer: StageWriter) -> bool:
    """Whether it is quickly told what a stage does with a node: positions to take would be named each time."""
    if node.grid.nblocks > BLOCKS:
        return False
    if writer.is_input(node.token):
        return True
    viewed = bool(node.operands) and node.token in writer.sources
    return not viewed and (node.op.recurring or isinstance(node.op, Elementwise | Level | Full))


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
        for stage in stages:
            stage.learn()
        self._stages = [stage.remake(data=None) for stage in stages]
        self._holes = holes
        self._programs = [
            {_bits(_fillings(mine, nodes)): stage.program} for mine, stage in zip(holes, stages, strict=True)
        ]
        hosts = {id(node.op.data): number for number, node in enumerate(nodes) if isinstance(node.op, Host)}
        self._hosts = [None if stage.data is None else hosts[id(stage.data)] for stage in stages]

    def fill(self, nodes: list[Expr]) -> list[Stage]:
        """Return the stages of a graph of this structure, whose nodes these are."""
        names = [node.token for node in nodes]
        if self._made:
            base = token_of(self._name, [names[number] for number in self._roots])
            names += [f"{base}.{number}" for number in range(self._made)]
        stages: list[Stage] = []
        for k, (stage, (own, inputs), host) in enumerate(zip(self._stages, self._names, self._hosts, strict=True)):
            changes: dict[str, Any] = {"token": names[own], "inputs": tuple(map(names.__getitem__, inputs))}
            if host is not None:
                changes["data"] = nodes[host].op.given[0]
            if self._holes[k]:
                changes["program"] = self._program(k, nodes)
            stages.append(stage.remake(**changes))
        return stages

    def _program(self, k: int, nodes: list[Expr]) -> Program:
        """Return stage k's program with the scalars of a graph's nodes: the same object for the same bits."""
        programs, scalars = self._programs[k], _fillings(self._holes[k], nodes)
        program = programs.get(bits := _bits(scalars))
        if program is None:
            if len(programs) >= NUMBERS:
                programs.clear()
            by_hole = dict(zip(self._holes[k], scalars, strict=True))
            program = programs[bits] = with_scalars(self._stages[k].program, by_hole)
        return program


def _make_template(
    key: tuple[Hashable, ...], roots: list[Expr], nodes: list[Expr], stages: list[Stage]
) -> Template | None:
    """Return the template of what was lowered; None where it is large, or scalars can't be told apart."""
    if any(stage.ntasks > TASKS for stage in stages):
        return None
    places: _Holes = {}
    for number, node in enumerate(nodes):
        for at, scalar in enumerate(node.op.args) if isinstance(node.op, Elementwise) else [(-1, node.op)]:
            if isinstance(scalar, Scalar | Full) and places.setdefault(id(scalar), (number, at)) != (number, at):
                return None
    scalars = [list(map(id, scalars_of(stage.program))) for stage in stages]
    if not places.keys() >= {hole for mine in scalars for hole in mine}:
        return None
    try:
        arrays: list[pickle.PickleBuffer] = []  # they needn't be copied to be counted
        packed = dump([stage.program for stage in stages], arrays.append)
        nbytes = len(packed) + sum(each.raw().nbytes for each in arrays)
    except Exception:  # a class of somebody's: it is lowered each time
        return None
    holes = [{hole: places[hole] for hole in mine} for mine in scalars]
    return Template(key, roots, nodes, stages, holes) if nbytes <= BYTES else None


def scalars_of(program: Program) -> Iterator[Scalar | Full]:
    """Yield the scalars of a program, and the constants that are generated; fused operands' too."""
    for value in program.values:
        if isinstance(value, Apply):
            yield from (arg for arg in value.args if isinstance(arg, Scalar))
        elif isinstance(value, Generate) and isinstance(value.source, Full):
            yield value.source
        elif isinstance(value, Product):
            for operand in value.fused:
                yield from scalars_of(operand.program)


def with_scalars(program: Program, scalars: Mapping[int, Any]) -> Program:
    """Return a program with other scalars, by the identities of its own."""
    values: list[Value] = []
    for value in program.values:
        if isinstance(value, Apply):
            args = tuple([scalars.get(id(arg), arg) for arg in value.args])
            value = Apply(value.function, args, value.dtype, value.full)
        elif isinstance(value, Generate):
            value = replace(value, source=scalars.get(id(value.source), value.source))
        elif isinstance(value, Product):
            fused: dict[Operand, Operand] = {
                operand: replace(operand, program=with_scalars(operand.program, scalars)) for operand in value.fused
            }
            left, right = value.operands
            value = replace(value, operands=(fused.get(left, left), fused.get(right, right)))
        values.append(value)
    return Program(tuple(values), program.level, program.form)


def _fillings(holes: _Holes, nodes: list[Expr]) -> list[Any]:
    """Return the scalars that a graph's nodes have for holes."""
    scalars: list[Any] = []
    for number, at in holes.values():
        op: Any = nodes[number].op
        scalars.append(op if at < 0 else op.args[at])
    return scalars


def _bits(scalars: list[Any]) -> tuple[Hashable, ...]:
    """Return what tells scalars from others, by their bytes: 0.0 and -0.0 are two."""
    bits: list[Hashable] = []
    for scalar in scalars:
        value = scalar.value
        if type(value) is float or type(value) is complex:
            value = np.complex128(value)
        bits.append(value.tobytes() if is_numpy_scalar(value) else value)
    return tuple(bits)
