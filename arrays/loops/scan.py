"""`scan`: a loop that carries something along one axis of arrays, and keeps what each step makes.

The body is traced once, and its expressions are put one over the other; so nothing runs before it is asked for, and
steps that are made of elementwise operations are computed together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...graph.arguments import check_integer
from ...graph.errors import ArgumentError, ShapeError, bad
from ..base import as_array, wrap
from ..ops.moves.joining import stack
from .structures import Structure, take_apart

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...graph.expr.expr import Expr
    from ..array import Array
    from .tracing import Trace

__all__ = [
    "scan",
]


def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int = 1,
) -> tuple[Any, Any]:
    """Go along the first axis of arrays, carry something on from step to step, and keep what each step makes.

    It is ``for x in xs: carry, y = f(carry, x); ys.append(y)``, and ``stack(ys)`` in the end, with JAX's signature.

    Parameters
    ----------
    f : callable
        `f(carry, x)` returns a pair: what is carried on, of the structure, shapes and dtypes of `init`, and what is
        kept of the step: None, an array, or a structure of them. It is called once, on lazy arrays that stand for what
        a step begins with.
    init : Array, number, or tuple, list or dict of them
        What the first step is given.
    xs : Array, or tuple, list or dict of them, optional
        Arrays of one length along their first axis; a step is given one item of each. None: it is given None.
    length : int, optional
        The number of steps; it is needed where there is no `xs`.
    reverse : bool
        Whether to begin with the last item; what is kept has the order of the items.
    unroll : int
        Accepted for JAX and ignored: steps are computed together wherever that is right.

    Returns
    -------
    carry : Array, or tuple, list or dict of them
        What is carried in the end, lazily.
    ys : Array, tuple, list or dict of them, or None
        What the steps have made, along a new first axis.

    Raises
    ------
    ArgumentError
        `f` is no function, returns no pair, carries another structure on or needs values while it is called; there is
        neither `xs` nor `length`.
    ShapeError
        Arrays of `xs` have no axis, or not the same length, or not `length`; or what is carried changes its shape.
    DTypeError
        What is carried changes its dtype.

    See Also
    --------
    fori_loop : Without anything kept of the steps: for very many of them.

    Notes
    -----
    Each step adds some nodes to the graph: some 10,000 steps are fine.

    Examples
    --------
    >>> import windrow as wr
    >>> carry, ys = wr.scan(lambda c, x: (c + x, c * x), 0.0, wr.arange(1.0, 5.0))
    >>> wr.compute(carry, ys)
    (np.float64(10.0), array([ 0.,  2.,  9., 24.]))
    """
    if not callable(f):
        raise ArgumentError(bad("scan", "f", f, "a function"))
    if not isinstance(reverse, bool):
        raise ArgumentError(bad("scan", "reverse", reverse, "True or False"))
    check_integer("scan", "unroll", unroll, 1)
    carry, structure = _read("init", init)
    items, outline = ([], None) if xs is None else _read("xs", xs)
    count = _count(items, outline, length)
    from .tracing import trace_scan  # who makes no loop needn't wait for it

    rows = [[item[k].expr for item in items] for k in range(count)] if count else []
    like = rows[0] if rows else [item.sum(axis=0).astype(item.dtype).expr for item in items]
    trace, kept = trace_scan("scan", f, [c.expr for c in carry], structure, like, outline)
    state, ys = _run(trace, [c.expr for c in carry], rows[::-1] if reverse else rows, count)
    last_carry = structure.build([wrap(e) for e in state])
    if kept is None:
        return last_carry, None
    ys = ys[::-1] if reverse else ys
    likes = trace.roots[len(carry) :]
    return last_carry, kept.build([_join(like, [each[k] for each in ys]) for k, like in enumerate(likes)])


def _run(trace: Trace, state: list[Expr], rows: list[list[Expr]], count: int) -> tuple[list[Expr], list[list[Expr]]]:
    ys = []
    size = len(state)
    for k in range(count):
        roots = trace.bind([*state, *(rows[k] if rows else ())], trace.outside)
        state = roots[:size]
        ys.append(roots[size:])
    return state, ys


def _join(like: Expr, made: list[Expr]) -> Array:
    """Return what the steps have made, one after the other."""
    from ..creation.filled import empty

    return stack([wrap(e) for e in made]) if made else empty((0, *like.shape), like.dtype)


def _read(argument: str, value: Any) -> tuple[list[Array], Structure]:
    leaves, structure = take_apart("scan", value)
    if not leaves:
        raise ArgumentError(bad("scan", argument, value, "at least one array"))
    names = structure.paths(argument)
    return [as_array("scan", name, leaf) for name, leaf in zip(names, leaves, strict=True)], structure


def _count(items: list[Array], outline: Structure | None, length: Any) -> int:
    """Return the number of steps."""
    count = None if length is None else int(check_integer("scan", "length", length, 0))
    if outline is None:
        if count is None:
            raise ArgumentError("scan: neither 'xs' nor 'length' is given; expected one that tells the number of steps")
        return count
    shapes = [item.shape for item in items]
    lengths = {shape[:1] for shape in shapes}
    if len(lengths) > 1 or () in lengths or (count is not None and lengths != {(count,)}):
        expected = "arrays of one length" if count is None else f"arrays of length {count}, as 'length' says"
        raise ShapeError(bad("scan", "xs", shapes, expected))
    return shapes[0][0]
