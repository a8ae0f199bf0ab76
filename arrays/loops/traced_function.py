"""Functions that are traced once for each kind of arguments; see `jit`.

A call is named by the structure of its arguments, by the arrays' chunks and dtypes, by the numbers' types, and by all
other values. What was traced for that name is bound to the arguments: expressions over theirs, as if the function had
been called. Where all arguments are arrays of one chunk in this process's memory, small ones or for many operations,
nothing is built: the calling thread runs the stages itself, lowered once, and the results are arrays in its memory, too
(`workers.direct`).

A function may write to its arguments, also through views: what an argument is in the end is one more result of the
trace, which is set in the caller's array. Python's numbers are inputs, as far as only operations of arrays take them.
If tracing fails so, integers, and then all numbers, are taken as they are: a call with others is traced anew.
"""

from __future__ import annotations

import functools
import operator
import sys
import types
from collections import OrderedDict
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.errors import ArgumentError, ShapeError, bad
from ...graph.expr.expr import walk
from ...graph.kinds.elementwise import NumberInput
from ...workers.public_api import warn
from ..base import ArrayBase, wrap
from ..storage import refusing_outer_writes, traced_here
from .arguments import AS_THEY_ARE, NUMBERS, PLAIN, ArgumentReader, Static
from .own_arrays import with_own_arrays
from .structures import LEAF, take_apart
from .traced_call import Result, TracedCall
from .tracing import NeedsValues, capture, placeholder, raise_refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

    from ...graph.expr.expr import Expr
    from .arguments import Arguments
    from .structures import Structure


class _OuterWrite(BaseException):
    """A function is about to write to an array from outside while it is traced: calls are to be calls of it."""


MOST_TRACES = 128
"""Traces of one function that are kept, those that were made last."""
MANY_TRACES = 16
"""Traces from which on a user is warned."""

_NEW: Any = object()


class TracedFunction:
    """A function that is traced; what `jit` returns. `traces` tells how often it was."""

    def __init__(self, function: Callable[..., Any], static: tuple[int | str, ...]) -> None:
        functools.update_wrapper(self, function)
        self.traces = 0
        self._function, self._static = function, static
        self._reader = ArgumentReader(function, static)
        self._calls: OrderedDict[Hashable, TracedCall | None] = OrderedDict()
        self._levels: OrderedDict[Hashable, int] = OrderedDict()

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        """Return the function bound to an object, as a method is."""
        return self if instance is None else types.MethodType(self, instance)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Return what the function returns."""
        if traced_here():  # it is a part of what is traced, whose numbers and arrays have no values
            return self._function(*args, **keywords)
        arguments = self._reader.read(args, keywords)
        if arguments is None:
            return self._function(*args, **keywords)
        name = arguments.name(self._levels.get(arguments.kind, 0))
        call = self._calls.get(name, _NEW)
        if call is _NEW:  # no lock is held: the function may wait for threads that call it, too
            call = self._find_call(arguments)
        return self._function(*args, **keywords) if call is None else call.run(arguments.leaves)

    def __reduce__(self) -> str | tuple[Any, ...]:
        """Travel by name, as plain functions of modules do; others, and the script's, by what the function does."""
        module, name = getattr(self, "__module__", ""), getattr(self, "__qualname__", "")
        with suppress(AttributeError):
            if module != "__main__" and operator.attrgetter(name)(sys.modules.get(module)) is self:
                return str(name)
        return TracedFunction, (self._function, self._static)

    def _find_call(self, arguments: Arguments) -> TracedCall | None:
        """Trace a call, and remember what it does."""
        call, level = self._trace(arguments, self._levels.get(arguments.kind, 0))
        _remember(self._levels, arguments.kind, level)
        _remember(self._calls, arguments.name(level), call)
        return call

    def _trace(self, arguments: Arguments, level: int) -> tuple[TracedCall | None, int]:
        """Trace a call; return what it does, and which numbers are no inputs."""
        traced = self._trace_anyhow(arguments, level)
        self.traces += 1
        if self.traces == MANY_TRACES + 1:
            warn(
                f"{self._reader.operation} was traced for the {self.traces}th time: shapes, dtypes, chunks or values "
                "that aren't inputs differ from call to call; each time costs what calling the function costs",
                RuntimeWarning,
            )
        return traced

    def _trace_anyhow(self, arguments: Arguments, level: int) -> tuple[TracedCall | None, int]:
        """Trace a call, with lazy arrays of the function's own where it can't be traced otherwise."""
        try:
            return self._trace_as(self._function, arguments, level)
        except NeedsValues as error:
            other = with_own_arrays(self._function)
            if other is None:
                raise
            refusal = error
        try:
            return self._trace_as(other, arguments, level)
        except NeedsValues:
            raise refusal from None
        except Exception as error:  # what NumPy's arrays would have raised, too
            raise error from refusal

    def _trace_as(
        self, function: Callable[..., Any], arguments: Arguments, level: int
    ) -> tuple[TracedCall | None, int]:
        """Call a function to be traced, with fewer and fewer numbers as inputs."""
        kinds = {type(leaf) for leaf in arguments.leaves}
        while True:
            more = kinds & {*AS_THEY_ARE[-1]} - {*AS_THEY_ARE[level]}
            try:
                return self._trace_once(function, arguments, AS_THEY_ARE[level]), level
            except Exception:
                if not more:
                    raise
            level += 1

    def _trace_once(
        self, function: Callable[..., Any], arguments: Arguments, as_they_are: tuple[type, ...]
    ) -> TracedCall | None:
        """Call the function; return None where calls are to be calls of it: it changes more than its arguments."""
        leaves, inputs = arguments.leaves, {*NUMBERS} - {*as_they_are}
        numbers = [(k, NumberInput(leaf)) for k, leaf in enumerate(leaves) if type(leaf) in inputs]
        stands_for = {k: placeholder("jit", leaves[k].expr.grid, leaves[k].dtype) for k in arguments.arrays}
        with refusing_outer_writes(_OuterWrite) as writes:
            try:
                call = self._record(function, arguments, numbers, stands_for)
            except _OuterWrite:
                return None
            except Exception:
                raise_refusal(stands_for.values())  # which that came of
                raise
        return None if writes.where else call

    def _record(
        self,
        function: Callable[..., Any],
        arguments: Arguments,
        numbers: list[tuple[int, NumberInput]],
        stands_for: dict[int, Expr],
    ) -> TracedCall | None:
        """Call the function with what stands for its arguments; return what it makes of that."""
        leaves = list(arguments.leaves)
        for k, number in numbers:
            leaves[k] = number
        arrays = {id(arguments.leaves[k]): wrap(stands) for k, stands in stands_for.items()}
        leaves = [arrays.get(id(leaf), leaf.value if isinstance(leaf, Static) else leaf) for leaf in leaves]
        args, keywords = arguments.structure.build(leaves)
        returned, structure = take_apart(self._reader.operation, function(*args, **keywords))
        if any(number.asked for _, number in numbers):
            raise TypeError("a number's value was asked for")
        if not _is_left((args, keywords), arguments.structure, iter(leaves)):
            return None  # a list or dict of the caller's was changed
        own = {id(stands): k for k, stands in numbers} | {id(arrays[id(arguments.leaves[k])]): k for k in stands_for}
        roots: list[Expr] = []
        results: list[Result] = []
        returned_before: dict[int, Result] = {}
        storages = {id(array._storage) for array in arrays.values() if array._storage is not None}
        for n, value in enumerate(returned):
            if id(value) in own:
                results.append(Result(leaf=own[id(value)]))
            elif id(value) in returned_before:
                results.append(returned_before[id(value)])
            elif isinstance(value, ArrayBase):
                if value._storage is not None:
                    if id(value._storage) in storages:  # a view of an argument, or of another result
                        return None
                    storages.add(id(value._storage))
                results.append(Result(root=len(roots)))
                returned_before[id(value)] = results[-1]
                roots.append(value.expr)
            elif isinstance(value, (np.ndarray, np.generic, *NUMBERS, *PLAIN)):
                results.append(Result(constant=value))
            else:
                path = structure.paths("result")[n]
                raise ArgumentError(
                    bad(self._reader.operation, path, value, "an array, a number or a structure of them")
                )
        written = []
        for k, stands in stands_for.items():
            array = arrays[id(arguments.leaves[k])]
            if array.expr is not stands:
                self._check_written(arguments, k, array.expr)
                written.append((k, len(roots)))
                roots.append(array.expr)
        trace = capture("jit", roots, list(stands_for.values()))
        changed = {arguments.leaves[k].expr.token for k, _ in written}
        if changed and any(node.token in changed for node in walk(list(trace.outside))):
            return None  # the function has an argument that it writes to from outside as well
        return TracedCall(trace, arguments.arrays, tuple(numbers), structure, tuple(results), tuple(written))

    def _check_written(self, arguments: Arguments, k: int, value: Expr) -> None:
        path, before = self._reader.path(arguments.structure, k), arguments.leaves[k]
        if k in arguments.of_numpy:
            expected = "a lazy array, such as wr.array(x): the function writes to it, and a copy would be written to"
            raise ArgumentError(bad(self._reader.operation, path, "an array of NumPy's", expected))
        if value.shape != before.shape:
            expected = f"its shape to stay {before.shape}"
            raise ShapeError(
                bad(self._reader.operation, path, f"an array whose shape is set to {value.shape}", expected)
            )


def _is_left(value: Any, structure: Structure, leaves: Iterator[Any]) -> bool:
    """Whether a structure of arguments is what it was, with the leaves that it had."""
    if structure is LEAF or structure == LEAF:
        return value is next(leaves)
    if structure.kind is dict and tuple(value) != structure.keys:
        return False
    items = list(value.values()) if structure.kind is dict else list(value)
    same = len(items) == len(structure.parts)
    return same and all(_is_left(item, part, leaves) for item, part in zip(items, structure.parts, strict=True))


def _remember(known: OrderedDict[Hashable, Any], name: Hashable, value: object) -> None:
    known[name] = value
    if len(known) > MOST_TRACES:
        known.popitem(last=False)
