"""Arguments of calls of traced functions, and what names such a call."""

from __future__ import annotations

import enum
import inspect
import types
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.errors import ArgumentError, bad
from ..base import ArrayBase, as_array
from .structures import Structure, name_exactly, take_apart

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

MOST_FORMS = 256
NUMBERS = (int, float, complex)
"""Types of Python's numbers."""
AS_THEY_ARE: tuple[tuple[type, ...], ...] = ((), (int,), NUMBERS)
"""Python's numbers that are no inputs: at first none, and more where tracing fails."""
_SIZES = (7, 8, 15, 16, 31, 32, 63, 64)
"""Bits of the integers that dtypes hold."""
PLAIN = (bool, str, bytes, type(None), type, np.dtype, slice, range, type(...), enum.Enum, types.FunctionType)
_CALLABLES = (types.BuiltinFunctionType, np.ufunc)
"""What names a trace by its value; of other objects nobody knows whether they change."""

_SEVERAL = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@dataclass(frozen=True)
class Static:
    """The value of an argument that is static: it names a trace, whatever it is."""

    value: Any


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


@lru_cache(MOST_FORMS)
def _flat(count: int, keywords: tuple[str, ...]) -> Structure:
    """Return the structure of arguments none of which is one of its own."""
    return take_apart("jit", ((0,) * count, dict.fromkeys(keywords)))[1]


class ArgumentReader:
    """Reads the arguments of calls of a function."""

    def __init__(self, function: Callable[..., Any], static: tuple[int | str, ...]) -> None:
        try:
            parameters = list(inspect.signature(function).parameters.values())
        except (TypeError, ValueError):  # a builtin's aren't known
            parameters = []
        self.operation = f"jit({getattr(function, '__name__', 'function')})"
        self._names = [each.name for each in parameters]
        self._single = [each.name for each in parameters if each.kind not in _SEVERAL]
        self._positional = [each.name for each in parameters if each.kind in _POSITIONAL]
        self._takes_any = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters)
        self._static_names = {self._find(each) for each in static}
        self._static_places = {k for k, name in enumerate(self._positional) if name in self._static_names}

    def _find(self, static: int | str) -> str:
        """Return the name of a parameter that is static."""
        name = static
        if not isinstance(static, str):
            if not 0 <= static < len(self._names):
                raise ArgumentError(bad("jit", "static", static, f"the number of one of {len(self._names)} parameters"))
            name = self._names[static]
        if name not in self._single:
            raise ArgumentError(bad("jit", "static", static, f"parameters of one argument: {', '.join(self._single)}"))
        return str(name)

    def read(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> Arguments | None:
        """Return the arguments of a call; None where the function is to be called as it is: arrays overlap."""
        if self._static_places or self._static_names:
            args = tuple([Static(value) if k in self._static_places else value for k, value in enumerate(args)])
            keywords = {k: Static(value) if k in self._static_names else value for k, value in keywords.items()}
        if len(keywords) > 1 and not self._takes_any:  # whose order a function sees
            keywords = dict(sorted(keywords.items()))
        leaves: list[Any] = [*args, *keywords.values()]
        form: Hashable = len(args), tuple(keywords)
        if any(isinstance(value, tuple | list | dict) for value in leaves):
            leaves, structure = take_apart(self.operation, (args, keywords))
            form = structure
        else:
            structure = _flat(len(args), tuple(keywords))
        names: list[Hashable] = []
        arrays: dict[int, int] = {}
        storages: set[int] = set()
        of_numpy = set()
        for k, leaf in enumerate(leaves):
            if isinstance(leaf, np.ndarray | np.generic):
                of_numpy.add(k)
                leaf = leaves[k] = as_array("jit", self.path(structure, k), leaf)
            if isinstance(leaf, ArrayBase):
                first = arrays.setdefault(id(leaf), k)
                names.append((leaf.expr.grid, leaf.dtype, first, k in of_numpy))
                if first == k and leaf._storage is not None:
                    if id(leaf._storage) in storages:
                        return None
                    storages.add(id(leaf._storage))
            else:
                names.append(self._name(structure, k, leaf))
        return Arguments(structure, leaves, tuple(arrays.values()), frozenset(of_numpy), (form, *names))

    def _name(self, structure: Structure, k: int, leaf: Any) -> Hashable:
        """Return what names a leaf that is no array; of a number all but its value."""
        kind: type = type(leaf)
        if kind is int:
            bits = (~leaf if leaf < 0 else leaf).bit_length()
            return int, leaf < 0, next((size for size in _SIZES if bits <= size), bits)
        if kind in NUMBERS:
            return kind
        if not isinstance(leaf, (Static, *PLAIN, *_CALLABLES)):
            expected = "an array, a number, a structure of them, a text, or an argument that static= names"
            raise ArgumentError(bad(self.operation, self.path(structure, k), leaf, expected))
        value = leaf.value if isinstance(leaf, Static) else leaf
        name = name_exactly(value)
        try:
            hash(name)
        except TypeError:
            expected = "a value that can be hashed, since it is static"
            raise ArgumentError(bad(self.operation, self.path(structure, k), value, expected)) from None
        return name

    def path(self, structure: Structure, k: int) -> str:
        """Return what the user calls a leaf of the arguments."""
        args, keywords = structure.parts
        own = [name for n, part in enumerate(args.parts) for name in part.paths(self._place(n))]
        own += [name for key, part in zip(keywords.keys, keywords.parts, strict=True) for name in part.paths(key)]
        return own[k]

    def _place(self, n: int) -> str:
        return self._positional[n] if n < len(self._positional) else f"args[{n}]"
