"""A store that drops what it is handed, but for samples by which it is checked."""

from __future__ import annotations

import os
import pickle
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

POINTS = 3
"""Samples of a block along each axis."""


class Sink:
    """What `store` writes into, in any process.

    Each block that comes leaves a line in a file: where it lay, and some of its elements.
    """

    def __init__(self, path: Path, shape: tuple[int, ...], dtype: Any) -> None:
        self.path, self.shape, self.dtype, self.ndim = path, shape, np.dtype(dtype), len(shape)

    def __setitem__(self, where: Any, values: Any) -> None:
        parts = where if isinstance(where, tuple) else (where,)
        if parts[:1] == (Ellipsis,):
            parts = (slice(None),) * self.ndim
        bounds = [part.indices(n)[:2] for part, n in zip(parts, self.shape, strict=True)]
        values = np.asarray(values)
        assert values.shape == tuple(end - begin for begin, end in bounds), f"{values.shape} stored at {bounds}"
        steps = [max(1, -(-n // POINTS)) for n in values.shape]
        sample = values[tuple(slice(None, None, step) for step in steps)].copy()
        line = pickle.dumps((bounds, steps, sample))
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(descriptor, line)
        finally:
            os.close(descriptor)

    def blocks(self) -> Iterator[tuple[tuple[Any, ...], Any, int]]:
        """Give each block's indices of samples along each axis, the samples, and how many elements it had."""
        with self.path.open("rb") as file:
            while file.peek(1):
                bounds, steps, sample = pickle.load(file)
                indices = tuple(np.arange(begin, end, step) for (begin, end), step in zip(bounds, steps, strict=True))
                yield indices, sample, prod(end - begin for begin, end in bounds)

    def check(self, expected: Callable[..., Any], blocks: int = 4, **tolerance: float) -> None:
        """Compare samples of some blocks with `expected(indices of each axis)`; all elements must have come."""
        everything = list(self.blocks())
        elements = sum(count for _, _, count in everything)
        assert elements == prod(self.shape), f"{elements} elements stored of {prod(self.shape)}"
        for at in np.linspace(0, len(everything) - 1, min(blocks, len(everything))).astype(int):
            indices, sample, _ = everything[at]
            np.testing.assert_allclose(sample, expected(*indices), **({"rtol": 1e-12} | tolerance))


class Written(Sink):
    """What a system that can't drop anything wrote into zarr, read as if it had come in these chunks."""

    def __init__(self, path: str) -> None:
        import zarr

        self.array = zarr.open_array(path, mode="r")
        self.shape, self.dtype, self.ndim = self.array.shape, self.array.dtype, self.array.ndim

    def blocks(self) -> Iterator[tuple[tuple[Any, ...], Any, int]]:
        """Give samples of each chunk."""
        sides = [range(0, n, step) for n, step in zip(self.shape, self.array.chunks, strict=True)]
        for corner in product(*sides):
            ends = [min(a + step, n) for a, step, n in zip(corner, self.array.chunks, self.shape, strict=True)]
            indices = tuple(np.linspace(a, b - 1, POINTS).astype(int) for a, b in zip(corner, ends, strict=True))
            yield indices, _Late(self.array, indices), prod(b - a for a, b in zip(corner, ends, strict=True))


class _Late:
    """Samples that are read when they are compared."""

    def __init__(self, array: Any, indices: tuple[Any, ...]) -> None:
        self.array, self.indices = array, indices

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self.array.oindex[self.indices]
