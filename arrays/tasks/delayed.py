"""Lazy calls: a graph of them is made by calling, and runs as tasks when it is asked for."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.arguments import check_integer
from ...graph.chunks.grid import Axis, Grid
from ...graph.errors import ArgumentError, bad
from ...graph.kinds.mapping import MapBlocks
from ..base import ArrayBase, LazyCalls, as_array, check_dtype, check_shape, make
from ..chunking.rechunk import regrid
from ..user_functions.travel.pickling import name_of, payload
from .calls import check_demand, check_function, dispatcher, find_origin, make_record, pack_with_futures

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from ...scheduler.tasks.future import Future
    from ..array import Array
    from ..typing import KeyLike, ShapeLike

__all__ = [
    "Delayed",
    "delayed",
    "from_delayed",
]

_KEPT = frozenset(["cores", "memory", "retries", "priority"])


class Delayed(LazyCalls):
    """A call that waits until it is asked for, or an object in place of one; `delayed` makes them.

    Calls, attributes, items and operators of it are lazy calls themselves.

    Parameters
    ----------
    function : callable
        What is called.
    args, kwargs
        Its arguments, a tuple and a dict, with lazy calls among them.
    nout : int, optional
        How many results it gives.
    demand : dict, optional
        `cores`, `memory`, `retries` and `priority`.

    Raises
    ------
    TypeError
        Its truth is asked for, or its length where `nout` isn't known; an attribute or item is set.

    >>> numbers = wr.delayed([3, 1, 2])
    >>> (wr.delayed(max)(numbers) + numbers[1]).compute()
    4
    """

    __slots__ = ("__weakref__", "_args", "_demand", "_function", "_kwargs", "_nout")

    def __init__(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        nout: int | None = None,
        demand: dict[str, Any] | None = None,
    ) -> None:
        self._function, self._args, self._kwargs = function, args, kwargs
        self._nout, self._demand = nout, demand or {}

    def compute(self) -> Any:
        """Run the call, and all that it takes, as tasks; return the result.

        Returns
        -------
        object
            What the call returns.

        >>> wr.delayed(sum)([wr.delayed(abs)(-1), 2]).compute()
        3
        """
        return self.submit().result()

    def submit(self) -> Future:
        """Begin to run the call, and all that it takes.

        Returns
        -------
        Future
            Of its result.

        >>> wr.delayed(abs)(-1).submit().result()
        1
        """
        return submit_graph([self])[0]

    def __await__(self) -> Generator[Any, None, Any]:
        return self.submit().__await__()

    @staticmethod
    def _begin(calls: list[Delayed]) -> list[Future]:
        return submit_graph(calls)

    @staticmethod
    def _from(future: Future) -> Delayed:
        return Delayed(_value, (future,), {})

    def __call__(self, *args: Any, **kwargs: Any) -> Delayed:
        if self._function is _value:
            function = self._args[0]
            if callable(function):
                return Delayed(function, args, kwargs, self._nout, self._demand)
        return Delayed(_apply, (self, args, kwargs), {})

    def __getattr__(self, name: str) -> Delayed:
        if name.startswith("__"):
            raise AttributeError(name)
        return Delayed(getattr, (self, name), {})

    def __setattr__(self, name: str, value: object) -> None:
        if name not in Delayed.__slots__:
            raise TypeError("a lazy call doesn't change: attributes can't be set")
        super().__setattr__(name, value)

    def __getitem__(self, key: KeyLike) -> Delayed:
        return Delayed(operator.getitem, (self, key), {})

    def __setitem__(self, key: KeyLike, value: object) -> None:
        raise TypeError("a lazy call doesn't change: items can't be set")

    def __iter__(self) -> Iterator[Delayed]:
        if self._nout is None:
            raise TypeError("a lazy call of unknown length can't be gone through; say delayed(function, nout=…)")
        return (self[k] for k in range(self._nout))

    def __len__(self) -> int:
        if self._nout is None:
            raise TypeError("a lazy call has no known length; say delayed(function, nout=…)")
        return self._nout

    def __bool__(self) -> bool:
        raise TypeError("a lazy call is neither true nor false; compute() it")

    def __reduce__(self) -> tuple[Any, ...]:
        return Delayed, (self._function, self._args, self._kwargs, self._nout, self._demand)

    def __repr__(self) -> str:
        return f"<Delayed {type(self._args[0]).__name__ if self._function is _value else name_of(self._function)}>"


def _make_operators() -> None:
    two = ["add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift", "and", "or", "xor"]
    for name in (*two, "lt", "le", "eq", "ne", "gt", "ge"):
        act = getattr(operator, f"__{name}__")
        setattr(Delayed, f"__{name}__", _make_operator(act))
        if name in two:
            setattr(Delayed, f"__r{name}__", _make_operator(act, True))
    for name in ("neg", "pos", "abs", "invert"):
        setattr(Delayed, f"__{name}__", _make_operator(getattr(operator, f"__{name}__")))


def _make_operator(act: Callable[..., Any], swapped: bool = False) -> Callable[..., Delayed]:
    def lazily(self: Delayed, *others: Any) -> Delayed:
        return Delayed(act, (*others, self) if swapped else (self, *others), {})

    return lazily


_make_operators()
Delayed.__hash__ = object.__hash__  # type: ignore[method-assign] # == is a lazy call


def _apply(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return function(*args, **kwargs)


def _value(value: object) -> Any:
    return value


def delayed(
    obj: object,
    name: str | None = None,
    pure: bool | None = None,
    nout: int | None = None,
    traverse: bool = True,
    **demand: Any,
) -> Delayed:
    """Return a function whose calls wait until they are asked for; or an object in place of such a call.

    Parameters
    ----------
    obj : object
        A function, or any object. Lazy calls in lists, tuples, sets and dicts among a call's arguments are found.
    name, pure, traverse
        Accepted for dask and ignored.
    nout : int, optional
        How many results the function returns, so that its lazy call can be unpacked.
    **demand
        `cores`, `memory`, `retries` and `priority` of the calls; see `submit`.

    Returns
    -------
    Delayed
        `compute()` runs it, and all that it takes, as tasks on the ranks.

    Raises
    ------
    ArgumentError
        `nout` is no integer, or an unknown keyword is given.

    >>> @wr.delayed
    ... def add(a, b):
    ...     return a + b
    >>> add(add(1, 2), 4).compute()
    7
    """
    unknown = demand.keys() - _KEPT
    if unknown:
        raise ArgumentError(f"delayed: unknown keyword {min(unknown)!r}; expected one of {', '.join(sorted(_KEPT))}")
    nout = None if nout is None else check_integer("delayed", "nout", nout)
    if isinstance(obj, Delayed):
        return obj
    return Delayed(_value, (obj,), {}, nout, demand)


def find_calls(value: Any) -> list[Delayed]:
    """Return the lazy calls in lists, tuples, sets and dicts, however deep."""
    calls, pending = [], [value]
    while pending:
        each = pending.pop()
        if isinstance(each, Delayed):
            calls.append(each)
        elif type(each) in (list, tuple, set, frozenset):
            pending += each
        elif type(each) is dict:
            pending += each.values()
    return calls


def in_order(roots: list[Delayed]) -> list[Delayed]:
    """Return lazy calls and all that they take, each once, arguments first."""
    done: dict[int, Delayed] = {}
    stack = [(root, False) for root in reversed(roots)]
    while stack:
        each, ready = stack.pop()
        if id(each) in done:
            continue
        if ready:
            done[id(each)] = each
            continue
        stack.append((each, True))
        stack += [(call, False) for call in find_calls((each._args, each._kwargs)) if id(call) not in done]
    return list(done.values())


def submit_graph(roots: list[Delayed]) -> list[Future]:
    """Submit lazy calls and all that they take; return the futures of the calls."""
    board = dispatcher("compute")
    where = find_origin()
    futures: dict[int, Future] = {}
    for call in in_order(roots):
        function, name, same = check_function("compute", call._function)
        if call._function is _value and not find_calls(call._args) and callable(call._args[0]):
            name = name_of(call._args[0])
        options = {"cores": 1, "memory": 0, "retries": 0, "priority": 0} | call._demand
        demand = check_demand(
            "delayed", options["cores"], options["memory"], options["retries"], options["priority"], board
        )
        packed = pack_with_futures("compute", board, name, (function, call._args, call._kwargs), futures)
        (futures[id(call)],) = board.enter([make_record(packed, None, name, same, demand, where, board)])
    return [futures[id(root)] for root in roots]


def evaluate(call: Delayed, blocks: tuple[Any, ...] = ()) -> Any:
    """Run a lazy call here, and all that it takes; `blocks` stand where arrays were detached."""
    results: dict[int, Any] = {}

    def put(value: object) -> Any:
        return blocks[value.number] if isinstance(value, _Place) else value

    for each in in_order([call]):
        args, kwargs = _fill((each._args, each._kwargs), results, put)
        results[id(each)] = each._function(*args, **kwargs)
    return results[id(call)]


def _fill(value: Any, found: dict[int, Any], put: Callable[[Any], Any]) -> Any:
    if isinstance(value, Delayed):
        return found[id(value)]
    if type(value) in (list, tuple, set, frozenset):
        return type(value)(_fill(each, found, put) for each in value)
    if type(value) is dict:
        return {key: _fill(each, found, put) for key, each in value.items()}
    return put(value)


@dataclass(frozen=True)
class _Place:
    """Stands for an array among a lazy call's arguments."""

    number: int


def _detach(call: Delayed) -> tuple[Delayed, list[ArrayBase]]:
    """Return a call with places for the arrays that it takes, and these."""
    arrays: list[ArrayBase] = []
    detached: dict[int, Any] = {}

    def take(value: object) -> Any:
        if not isinstance(value, ArrayBase):
            return value
        arrays.append(value)
        return _Place(len(arrays) - 1)

    for each in in_order([call]):
        args, kwargs = _fill((each._args, each._kwargs), detached, take)
        detached[id(each)] = Delayed(each._function, args, kwargs, each._nout, each._demand)
    return detached[id(call)], arrays


class _Block:
    """Evaluates a lazy call as a block of an array."""

    def __init__(self, call: Delayed) -> None:
        self.call = call

    def __call__(self, *blocks: Any) -> Any:
        return np.asarray(evaluate(self.call, blocks))


def from_delayed(
    value: object, shape: ShapeLike, dtype: Any = None, meta: Any = None, name: str | None = None
) -> Array:
    """Return a lazy array of one chunk that a lazy call gives.

    Parameters
    ----------
    value : Delayed
        The call; it returns an array. All that it takes is called in the same task; arrays among it, and what
        `to_delayed` gives of them, are computed before.
    shape : tuple of int
        Of the result.
    dtype : dtype
        Of the result.
    meta : array, optional
        An array of the result's dtype, in place of `dtype`.
    name : str, optional
        Accepted for dask and ignored.

    Returns
    -------
    Array
        Lazy. `concatenate`, `stack` and `block` join several.

    Raises
    ------
    ArgumentError
        `value` is no lazy call, or doesn't pickle; neither `dtype` nor `meta` is given.
    ShapeError
        `shape` is no shape.

    >>> import numpy as np
    >>> import windrow as wr
    >>> part = wr.delayed(np.arange)(3)
    >>> wr.from_delayed(part, (3,), "int64").sum().compute()
    np.int64(3)
    """
    if not isinstance(value, Delayed):
        raise ArgumentError(bad("from_delayed", "value", value, "what delayed() makes"))
    if dtype is None and meta is None:
        raise ArgumentError(bad("from_delayed", "dtype", dtype, "the dtype of what the call returns, or meta="))
    block_dtype = check_dtype("from_delayed", "dtype", meta.dtype if dtype is None else dtype)
    sizes = check_shape("from_delayed", shape, "shape")
    named = name_of(value._function) if value._function is not _value else "value"
    call, taken = _detach(value)
    packed = payload("from_delayed", _Block(call), (), {}, named)
    wholes = [regrid(array, Grid.single(array.expr.shape)) for array in taken]
    op = MapBlocks(packed, tuple([(None,) * array.ndim for array in wholes]))
    result: Array = make(op, wholes, Grid([Axis.whole(n) for n in sizes]), block_dtype)
    return result


def to_delayed(x: Any) -> np.ndarray[Any, Any]:
    """Return an array of lazy calls, one for each chunk; see `Array.to_delayed`."""
    array = as_array("to_delayed", "x", x)
    calls = np.empty(array.numblocks, object)
    for index in np.ndindex(*array.numblocks):
        calls[index] = Delayed(_value, (array.blocks[index] if index else array,), {})
    return calls
