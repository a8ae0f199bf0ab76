"""NumPy, and xarray on it: everything in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .base import System

if TYPE_CHECKING:
    from ..sinks import Sink


class Namespace:
    """NumPy's names; `chunks` is dropped."""

    random: Any

    def __init__(self) -> None:
        self.random = self

    def default_rng(self, seed: int) -> Generator:
        """Return a generator."""
        return Generator(seed)

    def __getattr__(self, name: str) -> Any:
        function = getattr(np, name)
        if name not in ("zeros", "ones", "full", "arange", "empty", "eye", "linspace"):
            return function
        return lambda *args, chunks=None, **more: function(*args, **more)

    def from_array(self, x: Any, chunks: Any = None) -> Any:
        """Return it as it is."""
        return x

    def map_blocks(self, function: Any, *arrays: Any, dtype: Any = None, chunks: Any = None) -> Any:
        """Call the function with all."""
        return function(*arrays)

    def map_overlap(self, function: Any, x: Any, depth: Any, boundary: Any, dtype: Any = None) -> Any:
        """Call the function with all, and a border."""
        wide = np.pad(x, depth, mode="reflect" if boundary == "reflect" else "edge")
        return function(wide)[tuple(slice(depth, -depth) for _ in x.shape)]


class Generator:
    """NumPy's generator; `chunks` is dropped."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    def __getattr__(self, name: str) -> Any:
        function = getattr(self._rng, name)
        return lambda *args, chunks=None, **more: function(*args, **more)


class NumPy(System):
    """As users have it."""

    xp = Namespace()

    def rechunk(self, x: Any, chunks: Any) -> Any:
        """There are none."""
        return x

    def null(self, x: Any) -> Sink:
        """Hand over all."""
        sink = self.sink(x)
        sink[...] = x
        return sink

    def compute(self, *arrays: Any) -> Any:
        """Read what is lazy in xarray."""
        done = tuple(x.load() if hasattr(x, "load") else x for x in arrays)
        return done[0] if len(done) == 1 else done

    def save(self, x: Any, name: str) -> str:
        """By zarr's own function."""
        import zarr

        zarr.save_array(self.path(name), x)
        return self.path(name)

    def load(self, path: str) -> Any:
        """Read all."""
        import zarr

        return zarr.open_array(path, mode="r")[...]
