"""What reductions apply: mpi4py's operations, their names, or functions; in an order that depends on ranks alone."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.errors import ArgumentError, bad
from ..payloads import Frozen
from ..values import is_initialized, mpi

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from ..buffers import BufferRegion

_CHUNK = 1 << 17
"""Bytes of an accumulator that is used often enough to stay in a core's cache."""


def _minloc(x: Any, y: Any) -> Any:
    return min(tuple(x), tuple(y))


def _maxloc(x: Any, y: Any) -> Any:
    (u, i), (v, j) = x, y
    return (u, i) if u > v or (u == v and i <= j) else (v, j)


@dataclass(frozen=True)
class Operation:
    """How two contributions become one.

    Attributes
    ----------
    name
        What messages call it.
    scalar
        Its function of two objects.
    ufunc
        Its function of two arrays; None where there is none.
    of_mpi
        mpi4py's operation that is applied to buffers in place of the ufunc.
    """

    name: str
    scalar: Callable[[Any, Any], Any]
    ufunc: np.ufunc | None = None
    of_mpi: Any = None


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
        return _predefined(module).get(id(op)) or Operation("a user's operation", op, None, op)
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
        operations[id(theirs)] = Operation(name, theirs, ours.ufunc, theirs)
    return operations


class RankFold:
    """Contributions of several members to each element, put together from the first rank to the last.

    Parameters
    ----------
    call, op
        The call, and what it applies.
    region
        A contribution, whose elements all others have.

    Attributes
    ----------
    dtype
        What NumPy takes the elements for.
    shared
        Whether several threads may apply it at a time.
    """

    def __init__(self, call: str, op: Operation, region: BufferRegion) -> None:
        self._op = op
        self._datatype = region.datatype
        self.dtype = region.dtype or np.dtype((np.void, region.datatype.Get_size()))
        self.shared = op.ufunc is not None and self.dtype.kind != "V"
        self._function = self._by_numpy if self.shared else self._by_mpi
        if self.shared:
            return
        module = mpi()
        if module is None or op.of_mpi is None or not is_initialized():
            raise ArgumentError(
                f"{call}: argument 'op' is {op.name}, for elements of type {self.dtype}; "
                "expected an operation that NumPy has for them, or one of mpi4py's after MPI was initialised"
            )
        if self._datatype is None:
            self._datatype = module.Datatype.fromcode(self.dtype.char)
        elif region.dtype is None and self._datatype.Get_extent()[1] != self._datatype.Get_size():
            raise ArgumentError(f"{call}: a type with gaps between its elements; expected one without in a reduction")

    def total(self, sources: list[Any]) -> Any:
        """Return all contributions in one."""
        if len(sources) == 1:
            return sources[0].copy()
        total = self._function(sources[0], sources[1], np.empty_like(sources[0]))
        for source in sources[2:]:
            total = self._function(total, source, total)
        return total

    def spread(self, sources: list[Any], targets: list[Any], begin: int, end: int) -> None:
        """Put all contributions in one into each target, from one element to another."""
        step = max(1, _CHUNK // self.dtype.itemsize)
        for at in range(begin, end, step):
            part = slice(at, min(at + step, end))
            total = self.total([x[part] for x in sources])
            for target in targets:
                target[part] = total

    def scan(self, sources: list[Any], targets: list[Any], begin: int, end: int, exclusive: bool) -> None:
        """Put into each target the contributions of the ranks up to its own, or of those before it."""
        part = slice(begin, end)
        total = sources[0][part].copy()
        if not exclusive:
            targets[0][part] = total
        for source, target in zip(sources[1:], targets[1:], strict=True):
            after = self._function(total, source[part], np.empty_like(total))
            target[part] = total if exclusive else after
            total = after

    def _by_numpy(self, x: Any, y: Any, out: Any) -> Any:
        return self._op.ufunc(x, y, out=out, casting="unsafe")  # type: ignore[misc]

    def _by_mpi(self, x: Any, y: Any, out: Any) -> Any:
        inoutbuf = y.copy()
        self._op.of_mpi.Reduce_local([x.view(np.uint8), self._datatype], [inoutbuf.view(np.uint8), self._datatype])
        return inoutbuf


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
