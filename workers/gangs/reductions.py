"""What reductions apply: mpi4py's operations, their names, or functions; and the order in which objects are paired."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.errors import ArgumentError, bad
from .payloads import Frozen
from .values import mpi

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType


def _minloc(x: Any, y: Any) -> Any:
    return min(tuple(x), tuple(y))


def _maxloc(x: Any, y: Any) -> Any:
    (u, i), (v, j) = x, y
    return (u, i) if u > v or (u == v and i <= j) else (v, j)


@dataclass(frozen=True)
class Operation:
    """How two contributions become one: objects by `scalar`, arrays by `ufunc` where there is one."""

    name: str
    scalar: Callable[[Any, Any], Any]
    ufunc: np.ufunc | None = None


_NAMED = {
    x.name: x
    for x in (
        Operation("sum", operator.add, np.add),
        Operation("prod", operator.mul, np.multiply),
        Operation("min", lambda x, y: y if y < x else x, np.minimum),
        Operation("max", lambda x, y: y if y > x else x, np.maximum),
        Operation("land", lambda x, y: bool(x) & bool(y), np.logical_and),
        Operation("lor", lambda x, y: bool(x) | bool(y), np.logical_or),
        Operation("lxor", lambda x, y: bool(x) ^ bool(y), np.logical_xor),
        Operation("band", operator.and_, np.bitwise_and),
        Operation("bor", operator.or_, np.bitwise_or),
        Operation("bxor", operator.xor, np.bitwise_xor),
        Operation("minloc", _minloc),
        Operation("maxloc", _maxloc),
    )
}


def operation(call: str, op: Any) -> Operation:
    """Return what a program has passed as `op`."""
    module = mpi()
    if module is not None and isinstance(op, module.Op):
        return _predefined(module).get(id(op)) or Operation("a user's operation", op)
    if isinstance(op, str) and op.lower() in _NAMED:
        return _NAMED[op.lower()]
    if isinstance(op, np.ufunc):
        return Operation(op.__name__, op, op)
    if callable(op):
        return Operation(getattr(op, "__name__", "a function"), op)
    raise ArgumentError(bad(call, "op", op, f"an operation of mpi4py, a function, or one of {', '.join(_NAMED)}"))


@lru_cache(1)
def _predefined(module: ModuleType) -> dict[int, Operation]:
    """Return mpi4py's operations by identity: they live as long as their module."""
    operations = {}
    for name, ours in _NAMED.items():
        theirs = getattr(module, name.upper())
        operations[id(theirs)] = Operation(name, theirs, ours.ufunc)
    return operations


def fold_objects(op: Operation, items: list[Any]) -> Any:
    """Return objects in one, paired as mpi4py pairs them: the bits are the same."""
    items = list(items)
    step = 1
    while step < len(items):
        for i in range(0, len(items) - step, 2 * step):
            items[i] = op.scalar(items[i], items[i + step])
        step *= 2
    return items[0]


def scan_objects(op: Operation, items: list[Frozen], exclusive: bool) -> list[Frozen | None]:
    """Return for each rank the objects up to its own, or of those before it, paired as mpi4py pairs them."""

    def apply(x: Frozen, y: Frozen) -> Frozen:
        return Frozen(op.scalar(x.thaw(), y.thaw()))

    partials = list(items)
    results: list[Frozen | None] = [None] * len(items) if exclusive else list(items)
    step = 1
    while step < len(items):
        before = list(partials)
        for rank, result in enumerate(results):
            other = rank ^ step
            if other >= len(items):
                continue
            if rank > other:
                partials[rank] = apply(before[other], before[rank])
                results[rank] = before[other] if result is None else apply(before[other], result)
            else:
                partials[rank] = apply(before[rank], before[other])
        step *= 2
    return results
