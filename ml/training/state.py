"""A model's state as one run of bytes: nested dicts, lists, tuples and dataclasses of arrays, packed and unpacked."""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.errors import ArgumentError, DTypeError, InWords, ShapeError, bad
from ...workers.kernels.blocks.statistics.averages import mean_states

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["StateLayout", "map_leaves"]

Values = np.ndarray[Any, Any]
ALIGN = 64
"""Arrays begin where cache lines do, so that states can be cut there without cutting a number."""


@dataclass(frozen=True)
class StateLeaf:
    """Where an array lies within the bytes."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    begin: int

    @property
    def size(self) -> int:
        """Bytes of the array."""
        return int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize

    def of(self, packed: Values) -> Values:
        """Return the array as a view of the bytes."""
        return packed[self.begin : self.begin + self.size].view(self.dtype).reshape(self.shape)


@dataclass(frozen=True)
class StateLayout:
    """How a state of nested dicts, lists, tuples and dataclasses lies in `size` bytes.

    `structure` has the state's own nesting, with the number of its leaf in place of each array. None holds nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from windrow.ml.training.state import StateLayout
    >>> layout = StateLayout.of({"w": np.ones(2), "b": 0.5})
    >>> layout.unpack(layout.pack({"w": np.zeros(2), "b": 2.0}))
    {'w': array([0., 0.]), 'b': array(2.)}
    """

    structure: Any
    leaves: tuple[StateLeaf, ...]
    size: int

    @classmethod
    def of(cls, state: Any) -> StateLayout:
        """Return the layout of a state."""
        leaves: list[StateLeaf] = []

        def leaf(path: str, value: Any) -> int:
            array = _array(path, value)
            begin = -(-(leaves[-1].begin + leaves[-1].size) // ALIGN) * ALIGN if leaves else 0
            leaves.append(StateLeaf(array.shape, array.dtype, begin))
            return len(leaves) - 1

        structure = map_leaves(leaf, "state", state)
        size = leaves[-1].begin + leaves[-1].size if leaves else 0
        return cls(structure, tuple(leaves), max(size, 1))

    def pack(self, state: Any, out: Values | None = None, name: str = "state") -> Values:
        """Return a state of this layout as bytes, written into `out` where it is given; messages call it by `name`.

        A leaf keeps the dtype it has here: float64 becomes float32 again; what would lose its kind (a float for an
        integer) raises.
        """
        into = np.empty(self.size, np.uint8) if out is None else out
        end = 0
        for number, path, value in _together(self.structure, state, name):
            leaf = self.leaves[number]
            array = _array(path, value)
            if array.shape != leaf.shape:
                raise ShapeError(
                    bad("train", path, InWords(f"an array of shape {array.shape}"), f"one of shape {leaf.shape}")
                )
            if not np.can_cast(array.dtype, leaf.dtype, "same_kind"):
                raise DTypeError(
                    bad("train", path, InWords(f"an array of {array.dtype}"), f"{leaf.dtype}, as at the start")
                )
            raw = np.ascontiguousarray(array, leaf.dtype).reshape(-1).view(np.uint8)
            into[end : leaf.begin] = 0
            end = leaf.begin + leaf.size
            into[leaf.begin : end] = raw
        into[end : self.size] = 0
        return into

    def arrays(self, packed: Values) -> list[Values]:
        """Return the arrays as views of the bytes."""
        return [leaf.of(packed) for leaf in self.leaves]

    def unpack(self, packed: Values, *, copy: bool = True) -> Any:
        """Return the state; its arrays are copies that may be written to, or lie where the bytes do."""
        arrays = self.arrays(np.ascontiguousarray(packed))
        arrays = [a.copy() if copy or not a.flags.aligned else a for a in arrays]
        return map_leaves(lambda _, number: arrays[number], "", self.structure)

    def zeros(self) -> Any:
        """Return a state of zeros."""
        return map_leaves(
            lambda _, number: np.zeros(self.leaves[number].shape, self.leaves[number].dtype), "", self.structure
        )

    @property
    def table(self) -> tuple[tuple[int, int, str], ...]:
        """Where each array begins, its bytes and its dtype, as kernels want them."""
        return tuple((leaf.begin, leaf.size, leaf.dtype.str) for leaf in self.leaves)

    def mean(self, packed: Values, weights: Values) -> Values:
        """Return the weighted mean of states (shards, size); see `mean_states`."""
        out = np.zeros(self.size, np.uint8)
        mean_states(packed, weights, self.table, out)
        return out

    def move(self, packed: Values, before: Values, after: Values, weight: float) -> Values:
        """Return a state moved on by `weight * (after - before)`; of integers and booleans the greatest is taken."""
        out = packed.copy()
        for leaf in self.leaves:
            target, old, new = (leaf.of(b) for b in (out, before, after))
            if target.dtype.kind in "fc":
                wide = np.result_type(target.dtype, np.float64)
                step = np.subtract(new, old, dtype=wide)
                np.copyto(target, target + weight * step, casting="unsafe")
            else:
                np.maximum(target, new, out=target)
        return out


def _array(path: str, value: Any) -> Values:
    try:
        array = np.asarray(value)
    except Exception as error:  # such as a torch tensor that wants gradients
        name = f"{type(value).__name__} ({error})"
        raise DTypeError(bad("train", path, InWords(name), "something that numpy.asarray takes")) from error
    if array.dtype.kind not in "biufc":
        kind = "None" if value is None else f"{type(value).__name__} (dtype {array.dtype})"
        raise DTypeError(bad("train", path, InWords(kind), "an array of numbers, or a dict, list or tuple of such"))
    return array


def _items(value: Any) -> Iterator[tuple[str, Any]] | None:
    """Return the names and values in a node of a state; None for a leaf."""
    if isinstance(value, dict):
        return ((f"[{key!r}]", one) for key, one in value.items())
    if isinstance(value, list | tuple):
        return ((f"[{i}]", one) for i, one in enumerate(value))
    if is_dataclass(value) and not isinstance(value, type):
        return ((f".{f.name}", getattr(value, f.name)) for f in fields(value))
    return iter(()) if value is None else None


def map_leaves(function: Callable[[str, Any], Any], path: str, value: Any) -> Any:
    """Apply a function to the leaves; return its results in the same nesting."""
    items = _items(value)
    if items is None:
        return function(path, value)
    mapped = [map_leaves(function, path + name, one) for name, one in items]
    if isinstance(value, dict):
        return dict(zip(value, mapped, strict=True))
    if isinstance(value, tuple) and hasattr(value, "_make"):
        return type(value)(*mapped)
    if isinstance(value, list | tuple):
        return type(value)(mapped)
    return None if value is None else type(value)(*mapped)


def _together(structure: Any, value: Any, path: str) -> Iterator[tuple[int, str, Any]]:
    """Yield the number of each leaf of a structure with its path and what a state has there."""
    wanted = _items(structure)
    if wanted is None:
        yield structure, path, value
        return
    items, names = _items(value), [name for name, _ in wanted]
    there = {} if items is None or (value is None) != (structure is None) else dict(items)
    if items is None or there.keys() != set(names) or (value is None) != (structure is None):
        came = f"{type(value).__name__} of {sorted(there)}" if there else repr(value)[:100]
        expected = f"{type(structure).__name__} of {names}, as at the start" if names else "None, as at the start"
        raise ArgumentError(bad("train", path, InWords(came), expected))
    for (name, one), part in zip(_items(structure) or (), names, strict=True):
        yield from _together(one, there[part], path + name)
