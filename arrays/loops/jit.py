"""`jit`: functions of arrays that are traced once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...graph.arguments import is_integer
from ...graph.errors import ArgumentError, bad

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "jit",
]


def jit(function: Callable[..., Any] | None = None, *, static: int | str | tuple[int | str, ...] = ()) -> Any:
    """Have a function of arrays be called once for each kind of arguments, and its operations be repeated afterwards.

    A call then costs no more than its operations: arrays of one chunk that are in this process's memory (from `array`,
    `from_array`, or made by a traced function) are computed at once by the calling thread, without a plan, if they
    are small or there are many operations; of others the result is lazy, as if the function had been called.

    Parameters
    ----------
    function : callable
        What it is given and returns are arrays, numbers, and tuples, lists and dicts of them. It may write to its
        arguments. Without it a decorator is returned.
    static : int, str or tuple of them, optional
        Names or places of parameters whose values, which can be hashed, are fixed in a trace: of other kinds, or such
        as decide what the function does.

    Returns
    -------
    callable
        Called as the function is. Its attribute `traces` tells how often the function itself was called.

    Raises
    ------
    ArgumentError
        `function` is no function, or `static` names none of its parameters. When it is called: an argument or a result
        is no array, number or structure of them; the function needs values of arrays, as `if` and `float` do, or writes
        to an argument that is an array of NumPy's.

    Warns
    -----
    RuntimeWarning
        It was traced for the 17th time.

    See Also
    --------
    fori_loop : Repeat a step without a word in between.
    vectorize : A function of single elements.

    Notes
    -----
    Arguments are of one kind if their structure, the shapes, dtypes and chunks of arrays, the types of numbers and all
    other values are the same. Numbers are inputs if only operations of arrays take them; where one has to be known, as
    in ``range(n)``, the function is traced for each of its values.

    While a function is traced it runs, perhaps more than once: what it prints, or changes elsewhere, happens then and
    not in later calls, also in arrays of NumPy's, and arrays that it takes from outside are what they were. If it
    writes to lazy arrays from outside, or changes lists and dicts that it is given, each call is one of the function
    itself.

    Arrays that it makes by NumPy's `zeros`, `empty`, `ones`, `full`, `arange`, `linspace`, `eye` and `identity` are
    lazy if it can't be traced otherwise, so that it may assign to them.

    Examples
    --------
    >>> import windrow as wr
    >>> @wr.jit
    ... def step(u, dt):
    ...     return u + dt * (wr.roll(u, 1) - 2 * u + wr.roll(u, -1))
    >>> u = wr.array([0.0, 0, 1, 0])
    >>> for _ in range(2):
    ...     u = step(u, 0.25)
    >>> u.compute()
    array([0.125, 0.25 , 0.375, 0.25 ])
    >>> step.traces
    1
    """
    entries = static if isinstance(static, tuple | list) else (static,)
    for each in entries:
        if not (isinstance(each, str) or is_integer(each)):
            raise ArgumentError(bad("jit", "static", static, "names or places of parameters"))
    if function is None:
        return lambda function: jit(function, static=static)
    if not callable(function):
        raise ArgumentError(bad("jit", "function", function, "a function"))
    from .traced_function import TracedFunction

    return TracedFunction(function, tuple(entries))
