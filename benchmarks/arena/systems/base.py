"""What all systems have in common."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..data import ensure
from ..sinks import Sink

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..measuring import Order


class System:
    """A system that a workload is written for.

    Attributes
    ----------
    xp
        Its namespace with NumPy's names; creation functions take `chunks`.
    manager
        The name of xarray's chunk manager; None: arrays are NumPy's.
    grouping
        Keywords that reductions of groups need.
    turn
        The number of the run: each has numbers of its own.
    """

    xp: Any = np
    manager: str | None = None
    grouping: ClassVar[dict[str, Any]] = {}

    def __init__(self, order: Order, folder: Path) -> None:
        self.order, self.folder = order, folder
        self.turn = 0
        self._first: float | None = None
        self._loaded: dict[str, Any] = {}

    @contextmanager
    def running(self) -> Iterator[None]:
        """Be ready to compute."""
        yield

    def seconds_to_first(self, begin: float) -> float | None:
        """Return the seconds from `begin` until the first task started; None where it isn't known."""
        return None if self._first is None else self._first - begin

    def size(self, full: Any, small: Any) -> Any:
        """Return a number of the full scale, or of the small one."""
        return small if self.order.small else full

    def rng(self, number: int) -> Any:
        """Return the generator of this number, another one in each run."""
        return self.xp.random.default_rng(1000 * self.turn + number)

    def compute(self, *arrays: Any) -> Any:
        """Return values, found together: one for one, else a tuple."""
        return arrays[0] if len(arrays) == 1 else arrays

    def persist(self, *arrays: Any) -> tuple[Any, ...]:
        """Return arrays that are computed and stay where they are."""
        return arrays

    def rechunk(self, x: Any, chunks: Any) -> Any:
        """Give an array other chunks, where it has any."""
        return x.rechunk(chunks)

    def part(self, x: Any, *where: slice) -> Any:
        """Return a part of an array as NumPy's."""
        return np.asarray(self.compute(x[where]))

    def points(self, x: Any, *indices: Any) -> Any:
        """Return the elements where indices of each axis cross, as NumPy's."""
        begins = [int(np.min(i)) for i in indices]
        part = self.part(x, *(slice(begin, int(np.max(i)) + 1) for begin, i in zip(begins, indices, strict=True)))
        return part[np.ix_(*(np.asarray(i) - begin for begin, i in zip(begins, indices, strict=True)))]

    def null(self, x: Any) -> Sink:
        """Store an array into an object that drops what it is handed, but for samples."""
        raise NotImplementedError

    def save(self, x: Any, name: str) -> str:
        """Store an array into a new zarr array, and return its path."""
        raise NotImplementedError

    def load(self, path: str) -> Any:
        """Return the array of a zarr store, lazily where the system is."""
        raise NotImplementedError

    def sink(self, x: Any) -> Sink:
        """Return an empty sink for an array."""
        return Sink(self.folder / f"sink-{self.turn}", tuple(x.shape), x.dtype)

    def path(self, name: str) -> str:
        """Return a path for what is written in this run."""
        return str(self.folder / "written" / name)

    def empty(self) -> None:
        """Remove what earlier runs wrote."""
        shutil.rmtree(self.folder / "written", ignore_errors=True)
        (self.folder / "written").mkdir()

    # ---------------------------------------------------------------- xarray

    def stored(self, name: str) -> str:
        """Return the path of one of the shared data sets."""
        return str(ensure(Path(self.order.data), name, self.order.small))

    def open(self, name: str) -> Any:
        """Open a shared data set with xarray, in its own chunks."""
        import xarray as xr

        if self.manager is None:
            return xr.open_zarr(self.stored(name), chunks=None, consolidated=False)
        return xr.open_zarr(self.stored(name), chunked_array_type=self.manager, consolidated=False)

    def loaded(self, name: str) -> Any:
        """Return a shared data set in memory; it is read once."""
        if name not in self._loaded:
            self._loaded[name] = self.open_plain(self.stored(name)).load()
        return self._loaded[name]

    def chunk(self, data: Any, **chunks: int) -> Any:
        """Give an object of xarray's chunks, where the system has any."""
        return data if self.manager is None else data.chunk(chunks, chunked_array_type=self.manager)

    def open_plain(self, path: str) -> Any:
        """Open a zarr store with xarray on NumPy, to check."""
        import xarray as xr

        return xr.open_zarr(path, chunks=None, consolidated=False)

    def to_zarr(self, data: Any, name: str) -> str:
        """Write an object of xarray's into a new store, and return its path."""
        data.to_zarr(self.path(name), consolidated=False)
        return self.path(name)

    def labelled(self, data: Any, dims: tuple[str, ...], **more: Any) -> Any:
        """Wrap an array."""
        import xarray as xr

        return xr.DataArray(data, dims=dims, **more)
