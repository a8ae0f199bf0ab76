"""Operations that must know values before they can be planned, and arrays whose size depends on data.

A recipe is a generator. It yields arrays whose values it must know (one, or a tuple of them), is sent these values as
NumPy arrays, and returns the array that stands for the operation; on its way it may `persist` what it reads twice:

    def chosen(x, mask):
        mask = mask.persist()
        counts = yield counted(mask)
        return select(x, mask, counts)

`defer` makes an array of known shape from a recipe: the recipe runs when the array is computed for the first time,
or each time where a user's function lies below.
`defer_unsized` makes one whose shape is found by the recipe: it runs once, when something first needs the chunks, and
until then `shape` holds None for what isn't known. Recipes run in the calling thread; each yield is a computation.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from ...graph.chunks.grid import Axis, Grid
from ...graph.errors import bad
from ...graph.expr import names, origin
from ...graph.expr.expr import Expr, remove_pins, rewrite, walk, with_operands
from ...graph.kinds.deferred import Deferred
from ...graph.kinds.elementwise import Elementwise
from ...graph.kinds.mapping import BlockFunction, MapBlocks
from ...graph.kinds.move import Move
from ...graph.kinds.source import Host, Ramp, Random
from ...scheduler.session.cluster import running, session
from ..base import ArrayBase, alias, make, wrap, wrap_unsized
from ..chunking.rechunk import regrid

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from ..array import Array
    from ..typing import DTypeLike

    Recipe = Callable[..., Generator[Any, Any, Array]]

NEAR = 1 << 24
"""Bytes of all arrays that lead to a small one."""
NEAREST = 1024
"""So many they are at most."""

Values = list[np.ndarray[Any, Any]]
COPY = Elementwise("copy", (0,))


def defer(
    name: str, recipe: Recipe, operands: Sequence[ArrayBase], params: tuple[Any, ...], grid: Grid, dtype: DTypeLike
) -> Array:
    """Return the array that `recipe(*operands, *params)` makes when it is computed; its grid and dtype are known."""
    return make(Deferred(name, recipe, params), operands, grid, dtype)


def defer_unsized(
    name: str,
    recipe: Recipe,
    operands: Sequence[ArrayBase],
    params: tuple[Any, ...],
    shape: tuple[int | None, ...],
    dtype: DTypeLike,
    chosen: Chosen | None = None,
) -> Array:
    """Return the array that `recipe(*operands, *params)` makes; `shape` holds None for lengths that it finds."""
    return wrap_unsized(Unsized(name, recipe, tuple(map(alias, operands)), params, shape, np.dtype(dtype), chosen))


@dataclass(frozen=True)
class Chosen:
    """A selection: the elements of `whole` where a mask over its axes from `axis` on holds, in C order."""

    whole: Array
    mask: Array
    axis: int = 0

    @property
    def shape(self) -> tuple[int | None, ...]:
        """Shape of the selection: one axis, of unknown length, stands for those of the mask."""
        whole = self.whole.shape
        return (*whole[: self.axis], None, *whole[self.axis + self.mask.ndim :])

    def beside(self, other: Chosen) -> bool:
        """Whether both are selected from the same places."""
        same = self.axis == other.axis and self.whole.shape == other.whole.shape
        return same and self.mask.expr.token == other.mask.expr.token


class Unsized:
    """What is known of an array before its size is, and how to find the rest."""

    def __init__(
        self,
        name: str,
        recipe: Recipe,
        operands: tuple[ArrayBase, ...],
        params: tuple[Any, ...],
        shape: tuple[int | None, ...],
        dtype: np.dtype[Any],
        chosen: Chosen | None = None,
    ) -> None:
        self.name, self.shape, self.dtype, self.chosen = name, shape, dtype, chosen
        self._recipe, self._operands, self._params = recipe, operands, params
        self._origin = origin.find_origin()
        self._made: Expr | None = None
        self._near: bool | None = None
        self._finding = threading.RLock()

    @property
    def label(self) -> str:
        """Name for people."""
        return self._origin.call or self.name

    def at_hand(self) -> bool:
        """Whether finding the size takes no computing worth a word: see `at_hand`."""
        for each in self._chain(lambda u: u._made is not None or u._near is not None):
            operands = [(o, o._unsized) for o in each._operands]
            each._near = at_hand([o.expr for o, waiting in operands if waiting is None]) and all(
                waiting is None or waiting._made is not None or bool(waiting._near) for _, waiting in operands
            )
        return self._made is not None or bool(self._near)

    def _chain(self, done: Callable[[Unsized], bool]) -> Iterator[Unsized]:
        """Yield what is to be done, operands before their users: chains may be longer than Python's stack."""
        stack = [self]
        while stack:
            below = [w for o in stack[-1]._operands if (w := o._unsized) is not None and not done(w)]
            if done(stack[-1]):
                stack.pop()
            elif below:
                stack += below
            else:
                yield stack.pop()

    def find(self) -> Expr:
        """Run the recipe, once; return the expression of the array, whose size is known."""
        for each in self._chain(lambda u: u._made is not None):
            each._find()
        return self._find()

    def sketch(self) -> Expr:
        """Return an operation that stands for the array: see `sketch_plan`."""
        sketches: dict[Unsized, Expr] = {}
        for each in self._chain(lambda u: u in sketches or u._made is not None):
            below = [(o, o._unsized) for o in each._operands]
            operands = tuple(o.expr if w is None else w._made or sketches[w] for o, w in below)
            grid = Grid([Axis.whole(n or 0) for n in each.shape])
            op = Deferred(each.name, each._recipe)
            sketches[each] = Expr(op, operands, grid, each.dtype, each._origin, None, f"unsized-{id(each):x}")
        return self._made or sketches[self]

    def _find(self) -> Expr:
        with self._finding:
            if self._made is None:
                self._made = self._run()
                self._operands = ()
            return self._made

    def _run(self) -> Expr:
        with origin.standing(self._origin):
            expr = run_recipe(self._recipe(*self._operands, *self._params)).expr
        fits = len(expr.shape) == len(self.shape) and all(
            wanted in (None, n) for n, wanted in zip(expr.shape, self.shape, strict=True)
        )
        if not fits or expr.dtype != self.dtype:
            raise AssertionError(bad(self.name, "recipe", (expr.shape, expr.dtype), f"{self.shape} {self.dtype}"))
        return replace(expr, origin=self._origin)


def at_hand(roots: Sequence[Expr]) -> bool:
    """Tell whether arrays are small and follow from data in the user's memory, so that computing them takes no time.

    What a user's function makes, and what comes from files or is generated, is not at hand.
    """
    far, total = (MapBlocks, Ramp, Random), 0
    for number, node in enumerate(walk(list(roots))):
        if isinstance(node.op, far) or (isinstance(node.op, Host) and (node.op.data.file or not node.op.data.in_place)):
            return False
        total += node.nbytes
        if total > NEAR or number >= NEAREST:
            return False
    return True


def evaluate(roots: Sequence[Expr]) -> Values:
    """Compute expressions on the present cluster; return values of the caller's own.

    Values are copied into whole arrays: a change of chunks that comes last is left out.
    """
    stored = session().is_stored
    return session().run([_before_rechunk(root, stored) for root in expand_recipes(roots)])


def hand_over(roots: Sequence[Expr], take: Callable[[int, Grid, int, np.ndarray[Any, Any]], None]) -> None:
    """Compute expressions on the present cluster, and hand each block over as it comes; see `Session.hand_over`."""
    session().hand_over(expand_recipes(roots), take)


def _before_rechunk(root: Expr, stored: Callable[[str], bool]) -> Expr:
    while isinstance(root.op, Move) and root.op.is_rechunk and root.pin is None and not stored(root.token):
        (root,) = root.operands
    return root


def expand_recipes(roots: Sequence[Expr]) -> list[Expr]:
    """Return expressions in which no operation is deferred any more: recipes are run, inner ones first."""
    if not any(root.deferred for root in roots):
        return list(roots)
    stored = session().is_stored

    def build(node: Expr, operands: tuple[Expr, ...]) -> Expr:
        if not isinstance(node.op, Deferred):
            return with_operands(node, operands)
        plan = _plan(node, operands)
        if not (node.foreign or names.acting()):
            _known[node] = remove_pins(plan)
        return plan

    return rewrite(list(roots), lambda node: _find_plan(node, stored), build)


def _find_plan(node: Expr, stored: Callable[[str], bool]) -> Expr | None:
    """Return what stands for a node where no recipe need be run for it, else None."""
    return node if not node.deferred or stored(node.token) else _known.get(node)


_known: WeakKeyDictionary[Expr, Expr] = WeakKeyDictionary()
"""What recipes made, as long as their operations are there: expressions that hold no chunks, good on any cluster.

Numbers that a recipe found stand for its operands' values; with a user's function below they may be others next time.
"""


def sketch_plan(array: ArrayBase) -> Expr:
    """Return the expression of an array, or what is known of it: of one whose size depends on data an operation.

    Nothing is computed; lengths that aren't known are 0 there.
    """
    waiting = array._unsized
    return array.expr if waiting is None else waiting.sketch()


def outline_plan(roots: Sequence[Expr]) -> tuple[list[Expr], list[Expr]]:
    """Return expressions that tell what is known before any recipe runs, and the operations that have one.

    In place of what a recipe makes stands a function of blocks, which is never called, under the operation's name.
    """
    if not any(root.deferred for root in roots):
        return list(roots), []
    present = running()
    stored = present.is_stored if present is not None else lambda token: False
    waiting: list[Expr] = []

    def build(node: Expr, operands: tuple[Expr, ...]) -> Expr:
        op = node.op
        if not isinstance(op, Deferred):
            return with_operands(node, operands)
        waiting.append(node)
        stands = BlockFunction(f"planned:{op.name}", axes=tuple((None,) * o.grid.ndim for o in operands))
        return Expr(stands, operands, node.grid, node.dtype, node.origin, None, node.token)

    return rewrite(list(roots), lambda node: _find_plan(node, stored), build), waiting


def _plan(node: Expr, operands: tuple[Expr, ...]) -> Expr:
    """Run a recipe; what it made bears the operation's own name, since it has its value."""
    op = node.op
    assert isinstance(op, Deferred)
    with origin.standing(node.origin):
        array = run_recipe(op.recipe(*map(wrap, operands), *op.params))
        if array.shape != node.shape or array.dtype != node.dtype:
            raise AssertionError(bad(op.name, "recipe", (array.shape, array.dtype), f"{node.shape} {node.dtype}"))
        fitted = regrid(array, node.grid).expr
        (plain,) = expand_recipes([fitted])
    if plain.pin is not None:  # a name for what is stored already: the chunks keep their own
        return Expr(COPY, (plain,), node.grid, node.dtype, node.origin, None, node.token)
    return Expr(plain.op, plain.operands, node.grid, node.dtype, node.origin, None, node.token)


def run_recipe(recipe: Generator[Any, Any, Array]) -> Array:
    """Run a recipe to its end: compute what it yields, send it the values."""
    try:
        asked = next(recipe)
        while True:
            several = isinstance(asked, tuple)
            values = evaluate([a.expr for a in (asked if several else (asked,))])
            asked = recipe.send(tuple(values) if several else values[0])
    except StopIteration as end:
        array: Array = end.value
        return array
    finally:
        recipe.close()
