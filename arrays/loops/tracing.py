"""Bodies of loops, called once on arrays that stand for what a step begins with.

A `Trace` holds what a body made of them as expressions. Leaves are placeholders: what a step carries (`TracedArray`),
and what the body takes from outside of the loop, which is the same in all steps and is computed once, before the first.
What would need values, a recipe or a truth, finds none: a placeholder has a recipe that raises.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ...graph.errors import ArgumentError, DTypeError, ShapeError
from ...graph.expr import names
from ...graph.expr.expr import Expr, Op, rewrite, walk
from ...graph.expr.origin import find_origin
from ...graph.kinds.deferred import Deferred
from ...graph.kinds.elementwise import Elementwise, NumberInput, Scalar
from ...graph.kinds.gang import Gang
from ...graph.kinds.mapping import MapBlocks
from ...graph.kinds.source import Full, Host, HostData
from ...workers.shared.pages.additions import IN_LOOP
from ..base import ArrayBase, as_array, wrap
from ..chunking.rechunk import regrid
from ..storage import refusing_outer_writes
from .structures import Structure, arrange, take_apart

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Mapping

    import numpy as np

    from ...graph.chunks.grid import Grid
    from ...graph.kinds.elementwise import Arg


@dataclass(frozen=True)
class TracedArray(Deferred):
    """What stands for an array while a loop's body is traced."""

    number: int = 0
    refusals: list[NeedsValues] = field(default_factory=list["NeedsValues"], compare=False, metadata={"token": False})
    """One for each time that its values were asked for, whatever came of it."""


class NeedsValues(ArgumentError):
    """What is traced asks for values."""


def placeholder(operation: str, grid: Grid, dtype: Any) -> Expr:
    """Return an expression of its own that stands for an array whose values nobody knows."""

    def refuse() -> Generator[Any, Any, Any]:
        yield from ()
        where = find_origin().where
        refusals.append(
            NeedsValues(
                f"{operation}: a function needs values while it is traced, which are known only when it runs; expected "
                "operations that stay lazy: no `if`, `float()`, `compute` of what it is given; wr.where chooses "
                f"elements, wr.while_loop goes on as long as a condition holds{'; at ' if where else ''}{where}"
            )
        )
        raise refusals[-1]

    refusals: list[NeedsValues] = []
    return Expr(TracedArray(operation, refuse, (), names.number("placeholder"), refusals), (), grid, dtype)


def raise_refusal(stands: Iterable[Expr]) -> None:
    """Raise the first refusal of a value that was asked for: what a function did after it counts for nothing.

    Raises
    ------
    NeedsValues
        There was one, even if the function has caught it.
    """
    for each in stands:
        assert isinstance(each.op, TracedArray)
        for error in each.op.refusals:
            raise error


@contextmanager
def _tracing(operation: str) -> Generator[None]:
    """While a loop's body is called: refuse what it writes to arrays from outside."""

    def refusal(where: str) -> ArgumentError:
        return ArgumentError(
            f"{operation}: a function writes to an array from outside, at {where}; expected that it returns "
            "what it makes, and carries arrays that it changes"
        )

    with refusing_outer_writes(refusal) as writes:
        yield
    if writes.where:  # the function has caught it
        raise refusal(writes.where)


@dataclass(frozen=True)
class Trace:
    """A loop's body, or its condition, as expressions over placeholders.

    `roots` are the results, on the chunks of what is carried; `carried` and `captured` are placeholders; `outside` are
    the expressions that the latter stand for. `counts` tells that the first of what is carried is the step's number.
    """

    operation: str
    roots: tuple[Expr, ...]
    carried: tuple[Expr, ...]
    captured: tuple[Expr, ...]
    outside: tuple[Expr, ...]
    counts: bool = False

    def bind(
        self,
        carried: Iterable[Expr],
        captured: Iterable[Expr],
        numbers: Mapping[int, Scalar] = MappingProxyType({}),
    ) -> list[Expr]:
        """Return the results over other expressions, with numbers put in."""
        return substitute(self.roots, self.pair(carried, captured), numbers)

    def pair(self, carried: Iterable[Expr], captured: Iterable[Expr]) -> dict[str, Expr]:
        """Return other expressions by the tokens of the placeholders that they are put in for."""
        pairs = zip((*self.carried, *self.captured), (*carried, *captured), strict=True)
        return {mine.token: other for mine, other in pairs}


def unroll(trace: Trace, times: int) -> list[Expr]:
    """Return what a body makes when it is called so many times, over the same placeholders."""
    roots = list(trace.roots)
    for _ in range(times - 1):
        roots = substitute(trace.roots, {e.token: root for e, root in zip(trace.carried, roots, strict=True)})
    return roots


def substitute(
    roots: Iterable[Expr], others: Mapping[str, Expr], numbers: Mapping[int, Scalar] = MappingProxyType({})
) -> list[Expr]:
    """Return expressions in which others stand for some, by token, and scalars for number inputs, by number."""

    def build(node: Expr, operands: tuple[Expr, ...]) -> Expr:
        op = node.op
        if numbers and isinstance(op, Elementwise) and has_numbers(node):
            op = Elementwise(op.function, tuple([_put_number(arg, numbers) for arg in op.args]))
        elif all(a is b for a, b in zip(operands, node.operands, strict=True)):
            return node
        return Expr(op, operands, node.grid, node.dtype, node.origin)

    return rewrite(list(roots), lambda node: others.get(node.token), build)


def _put_number(arg: Arg, numbers: Mapping[int, Scalar]) -> Arg:
    return numbers[arg.value.number] if isinstance(arg, Scalar) and isinstance(arg.value, NumberInput) else arg


def trace_body(
    operation: str, body: Callable[..., Any], first: list[ArrayBase], structure: Structure, counter: ArrayBase | None
) -> Trace:
    """Call a loop's body once; `counter` is the first step's number where the body takes it."""
    stands = [placeholder(operation, a.expr.grid, a.dtype) for a in first]
    count = [] if counter is None else [placeholder(operation, counter.expr.grid, counter.dtype)]
    with _tracing(operation):
        returned = body(*map(wrap, count), structure.build(list(map(wrap, stands))))
    results = arrange(operation, returned, structure)
    if results is None:
        raise ArgumentError(
            f"{operation}: argument 'body' made something else of x than it was given; expected {structure}"
        )
    leaves = [
        _fit(operation, path, made_of, leaf)
        for path, made_of, leaf in zip(structure.paths("x"), stands, results, strict=True)
    ]
    used = bool(count) and _uses([a.expr for a in leaves], count[0])
    if used:
        leaves.insert(0, as_array(operation, "i", wrap(count[0]) + 1))
        stands.insert(0, count[0])
    return _finish(operation, [a.expr for a in leaves], stands, used)


def trace_condition(operation: str, cond: Callable[..., Any], first: list[ArrayBase], structure: Structure) -> Trace:
    """Call a loop's condition once."""
    stands = [placeholder(operation, a.expr.grid, a.dtype) for a in first]
    with _tracing(operation):
        returned = cond(structure.build([wrap(e) for e in stands]))
    truth = as_array(operation, "cond", returned)
    if truth.shape != () or truth.dtype.kind != "b":
        raise ShapeError(
            f"{operation}: argument 'cond' returned an array of shape {truth.shape} and dtype {truth.dtype}; expected "
            "one truth: shape () and dtype bool, such as x.max() > 1"
        )
    return _finish(operation, [truth.expr], stands, False)


def trace_scan(
    operation: str,
    f: Callable[..., Any],
    carry: list[Expr],
    structure: Structure,
    items: list[Expr],
    outline: Structure | None,
) -> tuple[Trace, Structure | None]:
    """Call a scan's body once; return it, and the structure of what it keeps of a step: None where that is nothing."""
    stands = [placeholder(operation, e.grid, e.dtype) for e in (*carry, *items)]
    with _tracing(operation):
        x = None if outline is None else outline.build([wrap(e) for e in stands[len(carry) :]])
        returned = f(structure.build([wrap(e) for e in stands[: len(carry)]]), x)
    if not isinstance(returned, tuple) or len(returned) != 2:
        raise ArgumentError(f"{operation}: argument 'f' returned {type(returned).__name__}; expected a pair (carry, y)")
    leaves = arrange(operation, returned[0], structure)
    if leaves is None:
        raise ArgumentError(
            f"{operation}: argument 'f' carried something else on than it was given; expected {structure}"
        )
    names = structure.paths("carry")
    roots = [_fit(operation, *each, "f") for each in zip(names, carry, leaves, strict=True)]
    kept, own = ([], None) if returned[1] is None else take_apart(operation, returned[1])
    names = [] if own is None else own.paths("f's y")
    roots += [as_array(operation, name, leaf) for name, leaf in zip(names, kept, strict=True)]
    return _finish(operation, [a.expr for a in roots], stands, False), own


def _fit(operation: str, path: str, given: Expr, made: Any, argument: str = "body") -> ArrayBase:
    """Check what a step makes against what it began with; return it on the same chunks."""
    array = as_array(operation, f"{argument}'s result for {path}", made)
    if array.shape != given.shape:
        raise ShapeError(
            f"{operation}: argument {argument!r} made an array of shape {array.shape} of {path}; expected shape "
            f"{given.shape}, as {path} has"
        )
    if array.dtype != given.dtype:
        raise DTypeError(
            f"{operation}: argument {argument!r} made an array of dtype {array.dtype} of {path}; expected dtype "
            f"{given.dtype}, as {path} has; .astype({str(given.dtype)!r}) casts the one or the other"
        )
    return regrid(array, given.grid)


def _uses(roots: list[Expr], node: Expr) -> bool:
    return any(each is node or each.token == node.token for each in walk(roots))


def _finish(operation: str, roots: list[Expr], stands: list[Expr], counts: bool) -> Trace:
    for node in walk(roots):
        if has_numbers(node):  # a loop keeps its body, into which nothing is put later
            raise TypeError(f"{operation}: the body needs the value of a number, which isn't known yet")
    trace = capture(operation, roots, stands)
    return replace(trace, roots=tuple(_refuse_additions(list(trace.roots))), counts=counts)


def capture(operation: str, roots: list[Expr], stands: list[Expr]) -> Trace:
    """Find what a body takes from outside: the largest expressions in which nothing is that stands for a value."""
    raise_refusal(stands)
    own = {e.token for e in stands}
    inside: set[str] = set()
    for node in walk(roots):
        stands_for = node.token in own or has_numbers(node)
        if stands_for or any(child.token in inside for child in node.operands):
            inside.add(node.token)
    outside: dict[str, Expr] = {}
    for node in walk(roots, lambda node: node.token not in inside):
        for child in node.operands if node.token in inside else ():
            if child.token not in inside:
                outside[child.token] = child
    for root in roots:
        if root.token not in inside:
            outside[root.token] = root
    taken = [e for e in outside.values() if not isinstance(e.op, Full)]
    captured = [placeholder(operation, e.grid, e.dtype) for e in taken]
    bound = substitute(roots, {e.token: c for e, c in zip(taken, captured, strict=True)})
    return Trace(operation, tuple(bound), tuple(stands), tuple(captured), tuple(taken))


def has_numbers(node: Expr) -> bool:
    """Whether a number input is an operand."""
    op = node.op
    return isinstance(op, Elementwise) and any(
        isinstance(a, Scalar) and isinstance(a.value, NumberInput) for a in op.args
    )


def _refuse_additions(roots: list[Expr]) -> list[Expr]:
    """Have functions raise that add to shared arrays: a block counts once, and a loop makes it many times."""

    def build(node: Expr, operands: tuple[Expr, ...]) -> Expr:
        op = node.op
        if isinstance(op, MapBlocks | Gang) and op.adds:
            op = replace(op, adds=IN_LOOP)
        elif all(a is b for a, b in zip(operands, node.operands, strict=True)):
            return node
        return Expr(op, operands, node.grid, node.dtype, node.origin)

    return rewrite(roots, lambda node: None, build)


def hosted(value: np.ndarray[Any, Any], like: Expr) -> Expr:
    """Return the expression of an array in the driver's memory."""
    value.flags.writeable = False
    data = HostData(value, in_place=True, label=like.label)
    token = "" if names.agreed() else f"host-{'-'.join(map(str, data.name))}"  # nothing else has the name
    return Expr(Host(data), (), like.grid, like.dtype, like.origin, None, token)


@dataclass(frozen=True)
class Stepped(Op):
    """What a step of a loop has made, and is stored; nothing below tells how to make it again."""

    name: str

    @property
    def label(self) -> str:
        """Name for people."""
        return self.name
