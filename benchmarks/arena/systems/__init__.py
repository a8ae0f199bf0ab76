"""The systems under test: how each makes, opens, computes and stores."""

from __future__ import annotations

from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ..measuring import Order
    from .base import System

SYSTEMS = {
    "windrow": ("windrow_:Windrow", "windrow", {}),
    "windrow2": ("windrow_:Ranks", "windrow", {}),
    "dask": ("dask_:Threads", "dask", {}),
    "distributed": ("dask_:Distributed", "distributed", {}),
    "cubed": ("cubed_:Cubed", "cubed", {}),
    "numpy": ("numpy_:NumPy", "numpy", {}),
}
"""By name: the class, the package that must be there, and variables of the worker's environment."""


@contextmanager
def opened(order: Order, folder: Path) -> Iterator[System]:
    """Give a system that is ready."""
    module, _, name = SYSTEMS[order.system][0].partition(":")
    system: System = getattr(import_module(f"{__name__}.{module}"), name)(order, folder)
    with system.running():
        yield system
