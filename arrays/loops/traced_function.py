"""Functions that are traced once for each kind of arguments; see `jit`.

A call is named by the structure of its arguments, by the arrays' chunks and dtypes, by the numbers' types, and by all
other values. What was traced for that name is bound to the arguments: expressions over theirs, as if the function had
been called. Where all arguments are small arrays in this process's memory, nothing
is built: the calling thread runs the stages itself, lowered once, and the results are arrays in its memory, too
(`workers.direct_program`).

A function may write to its arguments, also through views: what an argument is in the end is one more result of the
trace, which is set in the caller's array. Python's numbers are inputs, as far as only operations of arrays take them.
If tracing fails so, integers, and then all numbers, are taken as they are: a call with others is traced anew.
"""

from __future__ import annotations

import enum
import functools
import inspect
import threading
import traceback
import types
import warnings
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...graph.errors import ArgumentError, ClusterError, ShapeError, bad
from ...graph.expr.expr import Expr, walk
from ...graph.kinds.elementwise import Elementwise, NumberInput, Scalar
from ...graph.kinds.source import Host
from ...graph.lowering.lower import lower
from ...graph.lowering.plan_cache import scalars_of
from ...workers.direct_program import DirectProgram, is_direct, stand_for
from ..base import ArrayBase, as_array, runs_in_step, wrap
from ..execution.deferred import evaluate
from .structures import Structure, take_apart
from .tracing import NeedsValues, Trace, TracedArray, capture, hosted, placeholder, substitute

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence


MOST_TRACES = 128
"""Traces of one function that are kept, those that were made last."""
MANY_TRACES = 16
"""Traces from which on a user is warned."""
PROGRAMS = 8
"""Programs of a trace that are kept, each with other numbers."""
SIZES = (7, 8, 15, 16, 31, 32, 63, 64)
"""Bits of the integers that dtypes hold."""
AS_THEY_ARE: tuple[tuple[type, ...], ...] = ((), (int,), (int, float, complex))
"""Python's numbers that are no inputs: at first none, and more where tracing fails."""

_tracing = threading.RLock()
"""Held while any function is traced: it may call others."""
_NEW: Any = object()
_NUMBERS = (int, float, complex)
_PLAIN = (bool, str, bytes, type(None), type, np.dtype, slice, range, type(...), enum.Enum, types.FunctionType)
_PLAIN_CALLABLES = (types.BuiltinFunctionType, np.ufunc)
"""What names a trace by its value; of other objects nobody knows whether they change."""


@dataclass(frozen=True)
class Static:
    """The value of an argument that is static: it names a trace, whatever it is."""

    value: Any


class Result(NamedTuple):
    """One of the leaves of what a function returns: a root of the trace, a leaf of the arguments, or a constant."""

    root: int = -1
    leaf: int = -1
    constant: Any = None


@dataclass(frozen=True)
class Arguments:
    """The arguments of a call: their structure, its leaves, and the leaves that are arrays, each once."""

    structure: Structure
    leaves: list[Any]
    arrays: tuple[int, ...]
    of_numpy: frozenset[int]
    """Those that are NumPy's."""
    kind: Hashable
    """Names all but the values of numbers."""

    def name(self, level: int) -> Hashable:
        """Return what names a call, of which numbers of some types are no inputs."""
        known = AS_THEY_ARE[level]
        values = [(k, repr(leaf)) for k, leaf in enumerate(self.leaves) if type(leaf) in known] if known else ()
        return self.kind, tuple(values)


@dataclass
class TracedCall:
    """What a call does whose arguments have one name."""

    trace: Trace
    arrays: tuple[int, ...]
    """The leaves that are arrays, each once."""
    numbers: tuple[tuple[int, NumberInput], ...]
    """The leaves that are inputs, and what stands for them."""
    structure: Structure
    results: tuple[Result, ...]
    written: tuple[tuple[int, int], ...]
    """Leaves that are written to, and the roots that they are set to."""
    _program: DirectProgram | None = None
    _direct: bool | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self, leaves: list[Any]) -> Any:
        """Return what the function returns for arguments with these leaves."""
        operands = [leaves[k].expr for k in self.arrays]
        numbers = {stands.number: Scalar(leaves[k]) for k, stands in self.numbers}
        roots = self._run_directly(operands, numbers)
        if roots is None:
            roots = self.trace.bind(operands, self.trace.outside, numbers)
        for leaf, root in self.written:
            leaves[leaf]._become(wrap(roots[root]))
        return self.structure.build([self._result(result, leaves, roots) for result in self.results])

    @staticmethod
    def _result(result: Result, leaves: list[Any], roots: Sequence[Expr]) -> Any:
        if result.root >= 0:
            return wrap(roots[result.root])
        return leaves[result.leaf] if result.leaf >= 0 else result.constant

    def _run_directly(self, operands: list[Expr], numbers: Mapping[int, Scalar]) -> list[Expr] | None:
        """Compute the roots now where that is quicker than a word to the engine; else return None."""
        if self._direct is False or runs_in_step():
            return None
        arrays = [array for e in operands if (array := _at_hand(e)) is not None]
        if len(arrays) < len(operands):
            return None
        with self._lock:
            if self._direct is None:
                self._program = self._prepare()
                self._direct = self._program is not None
        if self._program is None:
            return None
        known = self.trace.pair(operands, self.trace.outside)
        values = self._program.run(arrays, numbers)
        pairs = zip(values, self.trace.roots, strict=True)
        return [known[root.token] if root.token in known else hosted(value, root) for value, root in pairs]

    def _prepare(self) -> DirectProgram | None:
        """Lower the trace for the calling thread; None where it isn't small, or must know values."""
        trace = self.trace
        if any(node.op.deferred and not isinstance(node.op, TracedArray) for node in walk(list(trace.roots))):
            return None
        inputs = [stand_for(e.token, e.grid, e.dtype) for e in (*trace.carried, *trace.captured)]
        known = {stage.token for stage in inputs}
        samples = {stands.number: Scalar(stands.sample) for _, stands in self.numbers}
        roots = substitute(trace.roots, {}, samples)
        unknown = {root.token: root for root in roots if root.token not in known}
        stages = lower(list(unknown.values()), known.__contains__) if unknown else []
        if not is_direct(stages, inputs) or any(e.foreign for e in trace.outside):
            return None
        fixed = {id(scalar) for node in walk(list(trace.roots)) for scalar in _scalars(node)}
        holes = {id(scalar): number for number, scalar in samples.items()}
        told_apart = fixed | holes.keys()
        if any(id(s) not in told_apart for stage in stages for s in scalars_of(stage.program) if isinstance(s, Scalar)):
            return None
        try:
            captured = evaluate(trace.outside) if trace.outside else []
        except ClusterError:  # a task computes no arrays; what it returns is lazy
            return None
        return DirectProgram(stages, inputs, [root.token for root in roots], captured, holes)


class TracedFunction:
    """A function that is traced; what `jit` returns. `traces` tells how often it was."""

    def __init__(self, function: Callable[..., Any], static: tuple[int | str, ...]) -> None:
        functools.update_wrapper(self, function)
        self.traces = 0
        self._function, self._static = function, static
        self._static_names, self._static_places = _find_static(function, static)
        self._calls: OrderedDict[Hashable, TracedCall | None] = OrderedDict()
        self._levels: OrderedDict[Hashable, int] = OrderedDict()

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        """Return the function bound to an object, as a method is."""
        return self if instance is None else types.MethodType(self, instance)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Return what the function returns."""
        arguments = self._read(args, keywords)
        if arguments is None:
            return self._function(*args, **keywords)
        name = arguments.name(self._levels.get(arguments.kind, 0))
        call = self._calls.get(name, _NEW)
        if call is _NEW:
            with _tracing:
                call = self._find_call(arguments)
        return self._function(*args, **keywords) if call is None else call.run(arguments.leaves)

    def __reduce__(self) -> tuple[Any, ...]:
        return TracedFunction, (self._function, self._static)

    def _find_call(self, arguments: Arguments) -> TracedCall | None:
        """Trace a call, unless another thread has done so."""
        level = self._levels.get(arguments.kind, 0)
        name = arguments.name(level)
        if name in self._calls:
            return self._calls[name]
        call, level = self._trace(arguments, level)
        _remember(self._levels, arguments.kind, level)
        _remember(self._calls, arguments.name(level), call)
        return call

    def _read(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> Arguments | None:
        """Return the arguments of a call; None where the function is to be called as it is: arrays overlap."""
        if self._static_places or self._static_names:
            args = tuple([Static(value) if k in self._static_places else value for k, value in enumerate(args)])
            keywords = {k: Static(value) if k in self._static_names else value for k, value in keywords.items()}
        if len(keywords) > 1:
            keywords = dict(sorted(keywords.items()))
        leaves, structure = take_apart((args, keywords))
        names: list[Hashable] = []
        arrays: dict[int, int] = {}
        storages: set[int] = set()
        of_numpy = set()
        for k, leaf in enumerate(leaves):
            if isinstance(leaf, np.ndarray | np.generic):
                of_numpy.add(k)
                leaf = leaves[k] = as_array("jit", self._path(structure, k), leaf)
            if isinstance(leaf, ArrayBase):
                first = arrays.setdefault(id(leaf), k)
                names.append((leaf.expr.grid, leaf.dtype, first))
                if first == k and leaf._storage is not None:
                    if id(leaf._storage) in storages:
                        return None
                    storages.add(id(leaf._storage))
            else:
                names.append(self._name(structure, k, leaf))
        return Arguments(structure, leaves, tuple(arrays.values()), frozenset(of_numpy), (structure, *names))

    def _name(self, structure: Structure, k: int, leaf: Any) -> Hashable:
        """Return what names a leaf that is no array; of a number all but its value."""
        kind: type = type(leaf)
        if kind is int:
            bits = leaf.bit_length()
            return int, leaf < 0, next((size for size in SIZES if bits <= size), bits)
        if kind in _NUMBERS:
            return kind
        if not isinstance(leaf, (Static, *_PLAIN, *_PLAIN_CALLABLES)):
            expected = "an array, a number, a structure of them, a text, or an argument that static= names"
            raise ArgumentError(bad(self._operation, self._path(structure, k), leaf, expected))
        try:
            hash(leaf)
        except TypeError:
            expected = "a value that can be hashed, since it is static"
            raise ArgumentError(bad(self._operation, self._path(structure, k), leaf, expected)) from None
        return type(leaf.value) if isinstance(leaf, Static) else kind, leaf

    @property
    def _operation(self) -> str:
        return f"jit({getattr(self._function, '__name__', 'function')})"

    def _path(self, structure: Structure, k: int) -> str:
        """Return what the user calls a leaf of the arguments."""
        args, keywords = structure.parts
        names = [path for n, part in enumerate(args.parts) for path in part.paths(_parameter(self._function, n))]
        names += [path for key, part in zip(keywords.keys, keywords.parts, strict=True) for path in part.paths(key)]
        return names[k]

    def _trace(self, arguments: Arguments, level: int) -> tuple[TracedCall | None, int]:
        """Call the function to be traced; return what a call does, and which numbers are no inputs."""
        kinds = {type(leaf) for leaf in arguments.leaves}
        while True:
            more = kinds & {*AS_THEY_ARE[-1]} - {*AS_THEY_ARE[level]}
            try:
                call = self._trace_once(arguments, AS_THEY_ARE[level])
                break
            except NeedsValues as error:
                if not more:
                    raise NeedsValues(f"{error}; at {_user_line(error)}") from error
            except Exception:
                if not more:
                    raise
            level += 1
        self.traces += 1
        if self.traces == MANY_TRACES + 1:
            warnings.warn(
                f"{self._operation} was traced for the {self.traces}th time: shapes, dtypes, chunks or values that "
                "aren't inputs differ from call to call; each time costs what calling the function costs",
                RuntimeWarning,
                stacklevel=4,
            )
        return call, level

    def _trace_once(self, arguments: Arguments, as_they_are: tuple[type, ...]) -> TracedCall | None:
        leaves = list(arguments.leaves)
        inputs = {*_NUMBERS} - {*as_they_are}
        numbers = [(k, NumberInput(leaf)) for k, leaf in enumerate(leaves) if type(leaf) in inputs]
        for k, number in numbers:
            leaves[k] = number
        stands_for = {k: placeholder("jit", leaves[k].expr.grid, leaves[k].dtype) for k in arguments.arrays}
        arrays = {id(arguments.leaves[k]): wrap(stands) for k, stands in stands_for.items()}
        leaves = [arrays.get(id(leaf), leaf.value if isinstance(leaf, Static) else leaf) for leaf in leaves]
        args, keywords = arguments.structure.build(leaves)
        returned, structure = take_apart(self._function(*args, **keywords))
        own = {id(stands): k for k, stands in numbers} | {id(arrays[id(arguments.leaves[k])]): k for k in stands_for}
        roots: list[Expr] = []
        results = []
        storages = {id(array._storage) for array in arrays.values() if array._storage is not None}
        for n, value in enumerate(returned):
            if id(value) in own:
                results.append(Result(leaf=own[id(value)]))
            elif isinstance(value, ArrayBase):
                if value._storage is not None:
                    if id(value._storage) in storages:  # a view of an argument, or of another result
                        return None
                    storages.add(id(value._storage))
                results.append(Result(root=len(roots)))
                roots.append(value.expr)
            elif isinstance(value, (np.ndarray, np.generic, *_NUMBERS, *_PLAIN)):
                results.append(Result(constant=value))
            else:
                path = structure.paths("result")[n]
                raise ArgumentError(bad(self._operation, path, value, "an array, a number or a structure of them"))
        written = []
        for k, stands in stands_for.items():
            array = arrays[id(arguments.leaves[k])]
            if array.expr is not stands:
                self._check_written(arguments, k, array.expr)
                written.append((k, len(roots)))
                roots.append(array.expr)
        trace = capture("jit", roots, list(stands_for.values()))
        return TracedCall(trace, arguments.arrays, tuple(numbers), structure, tuple(results), tuple(written))

    def _check_written(self, arguments: Arguments, k: int, value: Expr) -> None:
        path, before = self._path(arguments.structure, k), arguments.leaves[k]
        if k in arguments.of_numpy:
            expected = "a lazy array, such as wr.array(x): the function writes to it, and a copy would be written to"
            raise ArgumentError(bad(self._operation, path, "an array of NumPy's", expected))
        if value.shape != before.shape:
            expected = f"its shape to stay {before.shape}"
            raise ShapeError(bad(self._operation, path, f"an array whose shape is set to {value.shape}", expected))


def _remember(known: OrderedDict[Hashable, Any], name: Hashable, value: object) -> None:
    known[name] = value
    if len(known) > MOST_TRACES:
        known.popitem(last=False)


def _find_static(function: Callable[..., Any], static: tuple[int | str, ...]) -> tuple[set[str], set[int]]:
    """Return the names and the places of static arguments."""
    try:
        parameters = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # a builtin's isn't known
        parameters = []
    names: set[str] = set()
    places: set[int] = set()
    for each in static:
        if isinstance(each, str) and each not in parameters:
            raise ArgumentError(bad("jit", "static", each, f"parameters of the function: {', '.join(parameters)}"))
        if isinstance(each, int) and not 0 <= each < len(parameters):
            raise ArgumentError(bad("jit", "static", each, f"the number of one of {len(parameters)} parameters"))
        name = each if isinstance(each, str) else parameters[each]
        names.add(name)
        places.add(parameters.index(name))
    return names, places


def _parameter(function: Callable[..., Any], place: int) -> str:
    """Return the name of a positional argument."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    named = place < len(parameters) and parameters[place].kind in plain
    return parameters[place].name if named else f"args[{place}]"


def _at_hand(e: Expr) -> np.ndarray[Any, Any] | None:
    """Return an array in this process's memory that an expression is; None where it is none."""
    data = e.op.data if isinstance(e.op, Host) else None
    return data.array if data is not None and data.in_memory and data.lock is None else None


def _scalars(node: Expr) -> list[Scalar]:
    return [arg for arg in node.op.args if isinstance(arg, Scalar)] if isinstance(node.op, Elementwise) else []


def _user_line(error: BaseException) -> str:
    """Return the last line of the user's on the way to where an error was raised."""
    own = str(Path(__file__).parents[2])
    lines = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith(own)]
    return f"{lines[-1].filename}:{lines[-1].lineno}" if lines else "an unknown line"
