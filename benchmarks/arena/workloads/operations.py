"""xarray's operations on the daily store, opened and in memory: `--climate`."""

from __future__ import annotations

import hashlib
import pickle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import operations
from ..registry import workload

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..systems.base import System

SAMPLES = 12
"""Values compared along each axis of a result, beside its sum and its missing ones."""
TOLERANCE = 2e-4
"""Of the largest value: the data is float32, and NumPy computes beside in float64."""
FROM_STORE, FROM_MEMORY = "zarr/", "memory/"


def digest(at: System, found: Any) -> dict[str, Any]:
    """Return what is compared of a result, by variable."""
    if isinstance(found, str):
        found = at.open_plain(found)
    variables = found.data_vars if hasattr(found, "data_vars") else {"a": found}
    return {str(name): _figures(variable) for name, variable in variables.items()}


def _figures(variable: Any) -> dict[str, Any]:
    # Results of one reduction may have their axes in an order of their own.
    values = np.asarray(variable.transpose(*sorted(map(str, variable.dims))).values)
    values = values.astype(np.int64 if values.dtype.kind in "mM" else np.float64)
    steps = tuple(slice(None, None, max(1, n // SAMPLES)) for n in values.shape)
    return {
        "shape": values.shape,
        "missing": int(np.isnan(values).sum()) if values.dtype.kind == "f" else 0,
        "mean": float(np.nanmean(values)) if values.size else 0.0,
        "samples": values[steps].copy(),
    }


def reference(at: System, name: str) -> dict[str, Any]:
    """Return the digest by xarray on NumPy, in float64; it is computed once for a version of the operations."""
    from ..systems.numpy_ import NumPy

    version = hashlib.sha256(Path(operations.__file__).read_bytes() + Path(__file__).read_bytes()).hexdigest()[:12]
    scale = "small" if at.order.small else "full"
    file = Path(at.order.data, "expected", f"{name}-{scale}-{version}.pickle")
    if not file.exists():
        (at.folder / "numpy").mkdir(exist_ok=True)
        plain = NumPy(at.order, at.folder / "numpy")
        plain.empty()
        data = plain.loaded("daily").a.astype(np.float64)
        found = digest(plain, operations.OPERATIONS[name](plain, data))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(pickle.dumps(found))
    return pickle.loads(file.read_bytes())


def _compare(got: dict[str, Any], want: dict[str, Any]) -> None:
    assert sorted(got) == sorted(want), f"variables {sorted(got)}, expected {sorted(want)}"
    for name, figures in want.items():
        mine = got[name]
        assert mine["shape"] == figures["shape"], f"shape {mine['shape']}, expected {figures['shape']}"
        assert mine["missing"] == figures["missing"], f"{mine['missing']} missing, expected {figures['missing']}"
        samples = figures["samples"]
        largest = float(np.nanmax(np.abs(samples))) if samples.size and not np.isnan(samples).all() else 1.0
        np.testing.assert_allclose(mine["samples"], samples, rtol=0, atol=TOLERANCE * largest)
        np.testing.assert_allclose(mine["mean"], figures["mean"], rtol=0, atol=TOLERANCE * largest)


def _enter(name: str, operation: Callable[[System, Any], Any]) -> None:
    def from_store(at: System) -> Any:
        found = operation(at, at.open("daily").a)
        return found if isinstance(found, str) else found.compute()

    def from_memory(at: System) -> Any:
        found = operation(at, at.chunk(at.loaded("daily").a, time=365))
        return found if isinstance(found, str) else found.compute()

    def check(at: System, found: Any) -> None:
        _compare(digest(at, found), reference(at, name))

    workload(FROM_STORE + name, stores=("daily",))(from_store).checked(check)
    workload(FROM_MEMORY + name, stores=("daily",), held=("daily",))(from_memory).checked(check)


for _name, _operation in operations.OPERATIONS.items():
    _enter(_name, _operation)
