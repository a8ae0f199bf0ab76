"""Expressions: one immutable node for each array operation."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np

from .interned import name_form
from .origin import NOWHERE, Origin, is_spoken
from .token import name_node

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..chunks.grid import Grid

DType = np.dtype[Any]


def _nothing() -> None:
    return None


@dataclass(frozen=True)
class Op:
    """The operation of a node: a frozen value of one of the kinds in `graph.kinds`.

    A kind says what the result looks like; `lower` turns nodes of each kind into stages.
    """

    @property
    def label(self) -> str:
        """Name for people."""
        return type(self).__name__.lower()

    @property
    def taken(self) -> str:
        """Name of the user's function that it calls, where it does."""
        return ""

    @property
    def deferred(self) -> bool:
        """Whether what it does depends on values; see `kinds.deferred`."""
        return False

    @property
    def foreign(self) -> bool:
        """Whether it calls a user's function, which may give something else the next time."""
        return False

    @property
    def lasting(self) -> bool:
        """Whether what it stands for is there as long as the node: its pin stays, and keeps no other's chunks."""
        return False

    @property
    def recurring(self) -> bool:
        """Whether it is the same object each time that it is made; see `graph.expr.interned`."""
        return "recurring" in self.__dict__

    @property
    def form(self) -> object:
        """What of it decides how it is lowered: all but the values in `given`. A tuple has a hash."""
        return self

    @property
    def given(self) -> tuple[object, ...]:
        """Numbers and data that are put into what was lowered, whatever they are."""
        return ()


@dataclass(frozen=True, eq=False)
class Expr:
    """A node of the graph: operation, operands, and what the result looks like.

    `origin` is what the user called, and where; `pin` keeps something alive as long as the node is (the chunks of a
    persisted array). Neither is part of the token.
    """

    op: Op
    operands: tuple[Expr, ...]
    grid: Grid
    dtype: DType
    origin: Origin = NOWHERE
    pin: object = None
    token: str = field(default="")
    deferred: bool = field(default=False, init=False)
    """Whether it, or something below it, depends on values that must be known before it is lowered."""
    foreign: bool = field(default=False, init=False)
    """Whether it, or something below it that isn't kept, calls a user's function."""
    pinned: bool = field(default=False, init=False)
    """Whether it, or something below it, has a pin that others may do without."""

    def note_holder(self, holder: object) -> None:
        """Note what refers to the expression: the first one that is still there counts."""
        if self.holder is None:
            self.__dict__["_holder"] = ref(holder)

    @property
    def holder(self) -> Any:
        """The array that the user refers to it by, if that is still there."""
        array: Any = self.__dict__.get("_holder", _nothing)()
        return array if array is not None and array._expr is self else None

    def note_refit(self, refit: object) -> None:
        """Note how it is built over operands in other chunks; the outermost operation that makes it comes last."""
        self.__dict__["_refit"] = refit

    @property
    def refit(self) -> Any:
        """How it is built over operands in other chunks, where that isn't what its kind tells; else None."""
        return self.__dict__.get("_refit")

    def over(self, operands: tuple[Expr, ...], pin: object) -> Expr:
        """Return the same node over operands of the same values, with this pin."""
        node = object.__new__(Expr)
        node.__dict__.update(self.__dict__, operands=operands, pin=pin)
        node.__dict__.pop("_refit", None)  # it keeps operands, with their pins
        node._inherit()
        return node

    def _inherit(self) -> None:
        op, free = self.op, self.pin is None
        deferred, foreign, pinned = op.deferred, op.foreign, not (free or op.lasting)
        for e in self.operands:
            deferred, foreign, pinned = deferred or e.deferred, foreign or e.foreign, pinned or e.pinned
        self.__dict__.update(deferred=deferred, foreign=free and foreign, pinned=pinned)

    def __post_init__(self) -> None:
        self._inherit()
        if not self.token:
            object.__setattr__(self, "token", name_node(self.form, self.op.given, [e.token for e in self.operands]))

    @cached_property
    def form(self) -> str:
        """The name of what it does to whatever operands; see `Op.form`."""
        return name_form(self.op, self.grid, self.dtype)

    @property
    def label(self) -> str:
        """Name for people: the public function that was called, with the user's own function where it takes one."""
        call, step, taken = self.origin.call, self.op.label, self.op.taken
        if call:
            return f"{call}({taken})" if taken else call
        return step

    @property
    def step(self) -> str:
        """What it does as a part of what was called, where there is a public word for that; else ""."""
        step = self.op.label
        part = self.operands and self.origin.call and not self.op.taken
        return step if part and is_spoken(step) and step != self.origin.call.rpartition(".")[2] else ""

    @property
    def shape(self) -> tuple[int, ...]:
        return self.grid.shape

    @property
    def nbytes(self) -> int:
        return self.grid.size * self.dtype.itemsize


def walk(roots: list[Expr], ends: Callable[[Expr], bool] | None = None) -> Iterator[Expr]:
    """Yield every node under the roots once, operands before their users; where it `ends` nothing below."""
    seen: set[str] = set()
    stack = [(root, False) for root in reversed(roots)]
    while stack:
        node, ready = stack.pop()
        if ready:
            yield node
        elif node.token not in seen:
            seen.add(node.token)
            stack.append((node, True))
            if ends is None or not ends(node):
                stack.extend((child, False) for child in reversed(node.operands))


def rewrite(
    roots: list[Expr],
    stop: Callable[[Expr], Expr | None],
    build: Callable[[Expr, tuple[Expr, ...]], Expr],
    enter: Callable[[Expr], Expr] | None = None,
) -> list[Expr]:
    """Return the roots made anew, operands before their users; chains may be longer than Python's stack.

    `stop(node)` returns what stands for a node below which nothing is looked at; None goes on to its operands.
    `build(node, operands)` returns what stands for a node over what stands for its operands, `enter(node)` the node,
    with the same token, whose operands are gone on to.
    """
    done: dict[str, Expr] = {}
    stack = [(root, False) for root in reversed(roots)]
    while stack:
        node, ready = stack.pop()
        if node.token in done:
            continue
        if ready:
            done[node.token] = build(node, tuple(done[child.token] for child in node.operands))
        elif (end := stop(node)) is not None:
            done[node.token] = end
        else:
            node = node if enter is None else enter(node)
            stack.append((node, True))
            stack.extend((child, False) for child in reversed(node.operands))
    return [done[root.token] for root in roots]


def with_operands(node: Expr, operands: tuple[Expr, ...]) -> Expr:
    """Return the node over other operands that have the values of its own; the node itself where they are the same."""
    same = all(a is b for a, b in zip(operands, node.operands, strict=True))
    return node if same else node.over(operands, node.pin)


def remove_pins(node: Expr) -> Expr:
    """Return the same expression without pins under it.

    An array that is persisted doesn't keep alive the chunks that it was made from; if its own are released, it is
    computed from the beginning. What has no pin below it stays the same node.
    """

    def build(node: Expr, operands: tuple[Expr, ...]) -> Expr:
        return with_operands(node, operands) if node.pin is None else node.over(operands, None)

    return rewrite([node], lambda e: None if e.pinned else e, build)[0]
