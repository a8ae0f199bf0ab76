"""Nested structures of arrays: tuples, lists and dicts, taken apart and put together."""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

_LEAF = "leaf"


@dataclass(frozen=True)
class Structure:
    """What a nested structure is made of: its kind, its keys or fields, and the structures in it."""

    kind: Any
    keys: tuple[Any, ...] = ()
    parts: tuple[Structure, ...] = ()
    key_names: tuple[Hashable, ...] = ()
    """Of keys that aren't all texts: what tells them from others that are equal; see `name_exactly`."""

    @property
    def count(self) -> int:
        """The number of leaves."""
        return 1 if self.kind is _LEAF else sum(part.count for part in self.parts)

    def build(self, leaves: Sequence[Any]) -> Any:
        """Return the structure with these leaves."""
        return self._build(iter(leaves))

    def _build(self, leaves: Iterator[Any]) -> Any:
        if self.kind is _LEAF:
            return next(leaves)
        children = [part._build(leaves) for part in self.parts]
        if self.kind is dict:
            return dict(zip(self.keys, children, strict=True))
        return self.kind._make(children) if self.keys else self.kind(children)

    def paths(self, name: str) -> list[str]:
        """Return what each leaf is called, where the whole is called `name`."""
        if self.kind is _LEAF:
            return [name]
        keys = self.keys if self.kind is dict else range(len(self.parts))
        return [path for key, part in zip(keys, self.parts, strict=True) for path in part.paths(f"{name}[{key!r}]")]

    def __str__(self) -> str:
        if self.kind is _LEAF:
            return "array"
        if self.kind is dict:
            return "{" + ", ".join(f"{k!r}: {p}" for k, p in zip(self.keys, self.parts, strict=True)) + "}"
        inner = ", ".join(map(str, self.parts))
        if self.keys:
            return f"{self.kind.__name__}({inner})"
        return f"[{inner}]" if self.kind is list else f"({inner}{',' if len(self.parts) == 1 else ''})"


LEAF = Structure(_LEAF)


def name_exactly(value: Any) -> Hashable:
    """Return what names a value and no other: 1, True and 1.0 are equal, and so are 0.0 and -0.0; NaN is not itself."""
    kind: type = type(value)
    if kind in (bool, int, float, complex, range):
        return kind, repr(value)
    if kind is slice:
        return kind, *map(name_exactly, (value.start, value.stop, value.step))
    if isinstance(value, (int, float, complex, Decimal, datetime)):  # of equal ones, what is told of them may differ
        return kind, value, repr(value)
    if isinstance(value, np.generic):
        return value.dtype, value.tobytes()
    if isinstance(value, tuple):
        return kind, *map(name_exactly, value)
    if isinstance(value, frozenset):
        return kind, frozenset(map(name_exactly, value))
    if is_dataclass(kind) and kind.__hash__ is not object.__hash__:
        telling = [each.name for each in fields(kind) if each.compare and each.hash is not False]
        return kind, value, *[name_exactly(getattr(value, name)) for name in telling]
    return kind, value


def take_apart(operation: str, value: Any) -> tuple[list[Any], Structure]:
    """Return the leaves of a nested structure, in order, and what it is made of. Dicts go by their keys' order.

    Raises
    ------
    ArgumentError
        It has no end.

    Examples
    --------
    >>> leaves, structure = take_apart("scan", (1, {"a": 2, "b": [3]}))
    >>> leaves, str(structure)
    ([1, 2, 3], "(array, {'a': array, 'b': [array]})")
    """
    try:
        return _take_apart(value)
    except RecursionError:
        raise ArgumentError(
            f"{operation}: a list or dict holds itself, or hundreds of others within each other; expected arrays and "
            "numbers in a structure that ends"
        ) from None


def _take_apart(value: Any) -> tuple[list[Any], Structure]:
    names: tuple[Hashable, ...] = ()
    if type(value) is dict:
        keys, values = tuple(value), list(value.values())
        if any(type(key) is not str for key in keys):
            names = tuple(map(name_exactly, keys))
    elif type(value) in (tuple, list):
        keys, values = (), list(value)
    elif isinstance(value, tuple) and (own := getattr(value, "_fields", ())):
        keys, values = tuple(own), list(value)
    else:
        return [value], LEAF
    leaves: list[Any] = []
    parts = []
    for each in values:
        mine, structure = _take_apart(each)
        leaves += mine
        parts.append(structure)
    return leaves, Structure(type(value), keys, tuple(parts), names)


def arrange(operation: str, value: Any, structure: Structure) -> list[Any] | None:
    """Return the leaves of a value of the same structure, in its order; None where it has another.

    Dicts of the same keys are of one structure, whatever their order.
    """
    leaves, own = take_apart(operation, value)
    if own == structure:
        return leaves
    if structure.kind is _LEAF or own.kind is not structure.kind or len(own.parts) != len(structure.parts):
        return None
    if structure.kind is dict and set(own.keys) != set(structure.keys):
        return None
    items = [value[key] for key in structure.keys] if structure.kind is dict else list(value)
    arranged: list[Any] = []
    for item, part in zip(items, structure.parts, strict=True):
        mine = arrange(operation, item, part)
        if mine is None:
            return None
        arranged += mine
    return arranged
