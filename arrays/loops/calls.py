"""Loops whose steps follow each other without a word with the user's program: `fori_loop` and `while_loop`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...graph.arguments import check_integer
from ...graph.errors import ArgumentError, bad
from ..base import ArrayBase, as_array, make, wrap
from .structures import Structure, take_apart

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..array import Array
    from .runs import Loop

__all__ = [
    "fori_loop",
    "while_loop",
]


def fori_loop(begin: int, end: int, body: Callable[..., Any], x: Any, snapshot: int | None = None) -> Any:
    """Apply a function to arrays again and again, a fixed number of times, without a word in between.

    It is ``for i in range(begin, end): x = body(i, x)``, with the same bits; where the body reduces, as those of a loop
    that brings x to its first chunks after each step, by `rechunk`.

    Parameters
    ----------
    begin, end : int
        The first number, and the one behind the last.
    body : callable
        `body(i, x)` returns what x is after a step: of the same structure, shapes and dtypes. It is called once, on
        lazy arrays that stand for what a step begins with; `i` is one too, of no axes and dtype int64.
    x : Array, number, or tuple, list or dict of them
        What the first step begins with. Numbers become arrays of no axes.
    snapshot : int, optional
        After how many steps the driver reads what x is, so that the death of a rank leads back no further. None: as
        often as it costs little.

    Returns
    -------
    Array, or tuple, list or dict of them
        What x is in the end, lazily, in the structure and the chunks of `x`.

    Raises
    ------
    ArgumentError
        `body` is no function, makes another structure, or needs values while it is called; `begin`, `end` or `snapshot`
        is no integer.
    ShapeError
        What `body` makes has another shape than `x`.
    DTypeError
        What `body` makes has another dtype than `x`.

    See Also
    --------
    while_loop : As long as a condition holds.

    Notes
    -----
    The loop runs when a result is needed, each time. Results that are needed together are computed together:
    ``wr.compute(*x)`` or ``wr.persist(*x)``.

    Examples
    --------
    >>> import windrow as wr
    >>> wr.fori_loop(0, 10, lambda i, x: x + i, wr.zeros(3)).compute()
    array([45., 45., 45.])
    >>> def smooth(i, x):
    ...     wide = wr.pad(x, 1, mode="edge")
    ...     return (wide[:-2] + wide[1:-1] + wide[2:]) / 3
    >>> wr.fori_loop(0, 2, smooth, wr.array([0.0, 0, 9, 0, 0])).compute()
    array([1., 2., 3., 2., 1.])
    """
    first, last = (check_integer("fori_loop", name, n) for name, n in (("begin", begin), ("end", end)))
    for name, n in (("begin", first), ("end", last)):
        if not -(2**63) <= n < 2**63:
            raise ArgumentError(bad("fori_loop", name, n, "an integer of 64 bits, as the body's counter has"))
    if snapshot is not None:
        check_integer("fori_loop", "snapshot", snapshot, 1)
    _check_function("fori_loop", "body", body)
    leaves, structure = _read("fori_loop", x)
    counter = as_array("fori_loop", "begin", int(first)).astype("int64")
    from .runs import Loop  # who makes no loop needn't wait for it
    from .tracing import trace_body

    trace = trace_body("fori_loop", body, list(leaves), structure, counter)
    carried = [counter, *leaves] if trace.counts else leaves
    loop = Loop(trace, None, max(0, int(last) - int(first)), snapshot)
    return structure.build(_results("fori_loop", loop, carried)[trace.counts :])


def while_loop(cond: Callable[..., Any], body: Callable[..., Any], x: Any, snapshot: int | None = None) -> Any:
    """Apply a function to arrays as long as a condition holds.

    It is ``while cond(x): x = body(x)``, with the same bits.

    Parameters
    ----------
    cond : callable
        `cond(x)` returns an array of no axes, of bool.
    body : callable
        `body(x)` returns what x is after a step: of the same structure, shapes and dtypes. Both functions are called
        once, on lazy arrays that stand for what a step begins with.
    x : Array, number, or tuple, list or dict of them
        What the first step begins with. Numbers become arrays of no axes.
    snapshot : int, optional
        After how many steps the driver reads what x is, so that the death of a rank leads back no further. None: as
        often as it costs little.

    Returns
    -------
    Array, or tuple, list or dict of them
        What x is in the end, lazily, in the structure and the chunks of `x`.

    Raises
    ------
    ArgumentError
        `cond` or `body` is no function, or needs values while it is called; `body` makes another structure; `snapshot`
        is no integer.
    ShapeError
        What `body` makes has another shape than `x`, or `cond` returns something else than one truth.
    DTypeError
        What `body` makes has another dtype than `x`.

    See Also
    --------
    fori_loop : A fixed number of times.

    Notes
    -----
    The loop runs when a result is needed, each time. Results that are needed together are computed together:
    ``wr.compute(*x)`` or ``wr.persist(*x)``. Who wants the number of steps carries it along.

    Examples
    --------
    >>> import windrow as wr
    >>> x, steps = wr.while_loop(lambda x: x[0].max() < 100, lambda x: (x[0] * 2, x[1] + 1), (wr.arange(4), 0))
    >>> wr.compute(x, steps)
    (array([  0,  64, 128, 192]), np.int64(6))
    """
    if snapshot is not None:
        check_integer("while_loop", "snapshot", snapshot, 1)
    _check_function("while_loop", "cond", cond)
    _check_function("while_loop", "body", body)
    leaves, structure = _read("while_loop", x)
    from .runs import Loop
    from .tracing import trace_body, trace_condition

    condition = trace_condition("while_loop", cond, list(leaves), structure)
    trace = trace_body("while_loop", body, list(leaves), structure, None)
    return structure.build(_results("while_loop", Loop(trace, condition, 0, snapshot), leaves))


def _check_function(operation: str, argument: str, function: Any) -> None:
    if not callable(function):
        raise ArgumentError(bad(operation, argument, function, "a function"))


def _read(operation: str, x: Any) -> tuple[list[Array], Structure]:
    leaves, structure = take_apart(operation, x)
    if not leaves:
        raise ArgumentError(bad(operation, "x", x, "at least one array"))
    names = structure.paths("x")
    return [as_array(operation, name, leaf) for name, leaf in zip(names, leaves, strict=True)], structure


def _results(operation: str, loop: Loop, carried: list[Array]) -> list[Array]:
    """Return the arrays that the loop ends with."""
    from . import runs

    operands: list[ArrayBase] = [*carried, *(wrap(e) for e in loop.outside)]
    traces = [loop.body, *([loop.condition] if loop.condition is not None else [])]
    name = (tuple(root.token for trace in traces for root in trace.roots), loop.steps, loop.snapshot)
    arrays = []
    for number, array in enumerate(carried):
        grid, dtype = array.expr.grid, array.dtype
        op = runs.Looped(operation, loop.recipe, (name, number))
        arrays.append(make(op, operands, grid, dtype))
    return arrays
