"""Grids of ranks: who stands where, and beside whom."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ....graph.errors import BadValue, bad
from ..values import constant

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class RankGrid:
    """Ranks in rows, the last axis fastest, as in MPI; along axes with a period the first is beside the last."""

    dims: tuple[int, ...]
    periods: tuple[bool, ...]

    @classmethod
    def of(cls, dims: Sequence[int], periods: Sequence[bool] | bool | None, size: int) -> RankGrid:
        """Return the grid that a program has asked for, of no more than `size` ranks."""
        lengths = tuple(int(x) for x in np.atleast_1d(np.asarray(dims, np.int64)))
        if any(x <= 0 for x in lengths) or math.prod(lengths) > size:
            raise BadValue(bad("Create_cart", "dims", dims, f"lengths of 1 or more, of no more than {size} ranks"))
        around = np.broadcast_to(np.asarray(False if periods is None else periods, bool), (len(lengths),))
        return cls(lengths, tuple(bool(x) for x in around))

    @property
    def size(self) -> int:
        return math.prod(self.dims)

    def coords(self, rank: int) -> list[int]:
        """Return where a rank stands."""
        if not 0 <= rank < self.size:
            raise BadValue(bad("Get_coords", "rank", rank, f"a rank below {self.size}"))
        return [int(x) for x in np.unravel_index(rank, self.dims)] if self.dims else []

    def rank(self, coords: Sequence[int]) -> int:
        """Return who stands somewhere; along periodic axes any position is somewhere."""
        if len(coords) != len(self.dims):
            raise BadValue(bad("Get_cart_rank", "coords", coords, f"{len(self.dims)} positions"))
        rank = 0
        for x, length, around in zip(coords, self.dims, self.periods, strict=True):
            if not around and not 0 <= x < length:
                raise BadValue(bad("Get_cart_rank", "coords", coords, f"positions within {list(self.dims)}"))
            rank = rank * length + int(x) % length
        return rank

    def shift(self, rank: int, direction: int, disp: int) -> tuple[int, int]:
        """Return whom a rank gets data from, and whom it gives its own to, when all move along an axis."""
        if not 0 <= direction < len(self.dims):
            raise BadValue(bad("Shift", "direction", direction, f"an axis below {len(self.dims)}"))

        def beside(steps: int) -> int:
            place = self.coords(rank)
            place[direction] += steps
            if not self.periods[direction] and not 0 <= place[direction] < self.dims[direction]:
                return int(constant("PROC_NULL"))
            return self.rank(place)

        return beside(-disp), beside(disp)
