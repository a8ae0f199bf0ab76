"""Operations on elements of an array that is dealt out: the quick way for one of them near by, and the others."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....graph.errors import DTypeError
from ...rank.task_context import task_context
from .atomics import atomics
from .base import OneSided
from .batches import NONE, apply, gives
from .positions import find_positions, find_values


class Elements(OneSided):
    """Applies operations to elements."""

    def _prepare(self) -> None:
        held = self._held
        dtype = held.spec.dtype
        self._one = {k: v for k, v in atomics(dtype).one.items() if dtype.kind != "b" or not k.endswith("add")}
        self._size = held.spec.size if len(held.spec.shape) == 1 else -1  # then no integer is a position
        self._scalar = dtype.type
        self._itemsize = dtype.itemsize
        self._least: float = -math.inf
        self._most: float = math.inf
        self._plain: tuple[type, ...] = (float, int)
        if dtype.kind in "iu":
            info = np.iinfo(dtype)
            self._least, self._most, self._plain = int(info.min), int(info.max), (int,)
        elif dtype.kind == "b":
            self._least, self._most, self._plain = 0, 1, (bool,)

    def _apply(self, name: str, i: Any, v: Any) -> Any:
        """Apply an operation: the quick way for one element near by and one number."""
        size = self._size
        place = (i if i >= 0 else i + size) if type(i) is int and -size <= i < size else self._find_one(i)
        number = v.item() if type(v) is self._scalar else v
        if type(number) in self._plain and self._least <= number <= self._most:
            address = self._find_address(place)
            operation = self._one.get(name)
            if address and operation is not None:
                self._held.wrote = True
                fetched = operation(address, number)
                return fetched if fetched is None else self._scalar(fetched)
        return self._many(name, i, v, False)

    def _find_one(self, i: Any) -> int:
        """Return the flat position that integers name; -1 for all else, which is checked elsewhere."""
        parts = i if type(i) is tuple else (i,)
        if len(parts) != self.ndim:
            return -1
        place = 0
        for part, length in zip(parts, self.shape, strict=True):
            if not (type(part) is int or isinstance(part, np.integer)) or not -length <= part < length:
                return -1
            place = place * length + int(part) + (length if part < 0 else 0)
        return place

    def _find_address(self, place: int) -> int:
        """Return where an element lies that is mapped; 0 for others, and where memory has to be waited for."""
        generation = self._held.generation
        if place < 0 or not generation.live or task_context().epoch < generation.number:
            return 0
        part, at = divmod(place, generation.run)
        address = generation.addresses[part]
        return address and address + at * self._itemsize

    def _many(self, name: str, i: Any, v: Any, expected: Any) -> Any:
        operation = f"bitwise_{name}" if name in ("or", "and", "xor") else name
        held, dtype = self._held, self.dtype
        if name not in self._one:
            kinds = "numbers" if name.endswith("add") else "integers or booleans"
            raise DTypeError(f"{operation}: the array's elements are {dtype}; expected {kinds}")
        places, shape = find_positions(operation, i, self.shape)
        values = NONE if name == "get" else find_values(operation, "v", v, dtype, shape)
        others = NONE
        if name == "compare_and_swap":
            others = find_values(operation, "expected", expected, dtype, shape)
        if name == "get":
            fetched = self._read(lambda generation: apply(held, generation, name, places, values, others))
        else:
            generation = self._now()
            held.wrote = True
            fetched = apply(held, generation, name, places, values, others)
        if fetched is None or not gives(name):
            return None
        return fetched[0] if not shape else fetched.reshape(shape)
