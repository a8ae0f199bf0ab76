"""NumPy as users have it, with its own default of BLAS threads."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from workloads import System, shifted

if TYPE_CHECKING:
    from collections.abc import Iterator


class NumPy(System):
    """What has chunks goes chunk by chunk in a loop."""

    def tiny(self, n: int, constant: float) -> Any:
        """A sum of sums."""
        return sum((x + constant).sum() for x in np.ones((n, 1)))

    def tiny_mapped(self, n: int, constant: float) -> Any:
        """The same with the user's function."""
        return sum(shifted(x, constant).sum() for x in np.ones((n, 1)))

    def columns(self, a: Any, band: int) -> Any:
        """Each band of columns is copied together, then summed."""
        return self.column_sums(self.turned(a, band))

    def turned(self, a: Any, band: int) -> Any:
        """Each band of columns is copied together."""
        n = a.shape[0]
        rows = [a[i : i + band] for i in range(0, n, band)]
        return [np.concatenate([r[:, j : j + band] for r in rows]) for j in range(0, a.shape[1], band)]

    def column_sums(self, turned: Any) -> Any:
        """Of each band."""
        return np.concatenate([band.sum(axis=0) for band in turned])


@contextmanager
def opened(variant: str) -> Iterator[System]:
    """Give the system; it has no variants."""
    yield NumPy()
