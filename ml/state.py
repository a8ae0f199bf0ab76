"""A model's state as one run of bytes: nested dicts, lists and tuples of arrays, packed and unpacked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..graph.errors import DTypeError, bad

__all__ = ["Layout"]

Values = np.ndarray[Any, Any]
ALIGN = 16


@dataclass(frozen=True)
class Leaf:
    """Where an array lies within the bytes."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    begin: int

    @property
    def size(self) -> int:
        """Bytes of the array."""
        return int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize


@dataclass(frozen=True)
class Layout:
    """How a state of nested dicts, lists and tuples lies in `size` bytes.

    `structure` has the state's own nesting, with the number of its leaf in place of each array.

    Examples
    --------
    >>> import numpy as np
    >>> from windrow.ml.state import Layout
    >>> layout = Layout.of({"w": np.ones(2), "b": 0.5})
    >>> layout.unpack(layout.pack({"w": np.zeros(2), "b": 2.0}))
    {'w': array([0., 0.]), 'b': array(2.)}
    """

    structure: Any
    leaves: tuple[Leaf, ...]
    size: int

    @classmethod
    def of(cls, state: Any) -> Layout:
        """Return the layout of a state."""
        leaves: list[Leaf] = []

        def walk(value: Any) -> Any:
            if isinstance(value, dict):
                return {key: walk(one) for key, one in value.items()}
            if isinstance(value, tuple) and hasattr(value, "_make"):
                return type(value)(*(walk(one) for one in value))
            if isinstance(value, list | tuple):
                return type(value)(walk(one) for one in value)
            array = np.asarray(value)
            if array.dtype.kind not in "biufc":
                raise DTypeError(bad("train", "state", f"a leaf of {array.dtype}", "arrays of numbers"))
            begin = -(-(leaves[-1].begin + leaves[-1].size) // ALIGN) * ALIGN if leaves else 0
            leaves.append(Leaf(array.shape, array.dtype, begin))
            return len(leaves) - 1

        structure = walk(state)
        size = leaves[-1].begin + leaves[-1].size if leaves else 0
        return cls(structure, tuple(leaves), max(size, 1))

    def pack(self, state: Any) -> Values:
        """Return a state of this layout as bytes."""
        out = np.zeros(self.size, np.uint8)
        flat: list[Any] = []
        _flatten(state, flat)
        if len(flat) != len(self.leaves):
            raise DTypeError(bad("train", "state", f"{len(flat)} arrays", f"{len(self.leaves)}, as in the first state"))
        for leaf, value in zip(self.leaves, flat, strict=True):
            array = np.asarray(value)
            if array.shape != leaf.shape:
                raise DTypeError(bad("train", "state", f"an array of shape {array.shape}", f"{leaf.shape}, as before"))
            raw = np.ascontiguousarray(array, leaf.dtype).reshape(-1).view(np.uint8)
            out[leaf.begin : leaf.begin + leaf.size] = raw
        return out

    def arrays(self, packed: Values) -> list[Values]:
        """Return the arrays as views of the bytes."""
        return [
            packed[leaf.begin : leaf.begin + leaf.size].view(leaf.dtype).reshape(leaf.shape) for leaf in self.leaves
        ]

    def unpack(self, packed: Values) -> Any:
        """Return the state; its arrays are copies that may be written to."""
        arrays = [a.copy() for a in self.arrays(np.ascontiguousarray(packed))]

        def build(value: Any) -> Any:
            if isinstance(value, dict):
                return {key: build(one) for key, one in value.items()}
            if isinstance(value, tuple) and hasattr(value, "_make"):
                return type(value)(*(build(one) for one in value))
            if isinstance(value, list | tuple):
                return type(value)(build(one) for one in value)
            return arrays[value]

        return build(self.structure)

    def mean(self, packed: Values, weights: Values) -> Values:
        """Return the weighted mean of states (shards, size), added up in the order of shards.

        Floats are averaged in float64 (complex128); of integers and booleans the greatest is taken. A state of weight
        zero has no part.
        """
        taken = np.flatnonzero(weights > 0)
        taken = taken if len(taken) else np.arange(1)
        shares = weights[taken] / weights[taken].sum() if weights[taken].sum() else np.ones(1)
        out = np.ascontiguousarray(packed[taken[0]]).copy()
        for k, target in enumerate(self.arrays(out)):
            each = [self.arrays(np.ascontiguousarray(packed[i]))[k] for i in taken]
            if target.dtype.kind in "fc":
                sums = np.zeros(target.shape, np.result_type(target.dtype, np.float64))
                for share, value in zip(shares, each, strict=True):
                    sums += share * value
                np.copyto(target, sums, casting="unsafe")
            else:
                np.copyto(target, np.maximum.reduce(each))
        return out


def _flatten(value: Any, into: list[Any]) -> None:
    if isinstance(value, dict):
        for one in value.values():
            _flatten(one, into)
    elif isinstance(value, list | tuple):
        for one in value:
            _flatten(one, into)
    else:
        into.append(value)
