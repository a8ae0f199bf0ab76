"""The array API standard's view of Windrow: version, capabilities, devices, dtypes."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.errors import ArgumentError, bad
from ..base import DEVICE, check_device

if TYPE_CHECKING:
    from ...graph.expr.expr import DType

__all__ = [
    "__array_api_version__",
    "__array_namespace_info__",
]

__array_api_version__ = "2025.12"

VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")
"""Versions of the standard that the namespace keeps; each is a superset of those before."""

_KINDS = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
_KINDS["integral"] = _KINDS["signed integer"] + _KINDS["unsigned integer"]
_KINDS["numeric"] = _KINDS["integral"] + _KINDS["real floating"] + _KINDS["complex floating"]


class Info:
    """What `windrow.__array_namespace_info__()` returns.

    Examples
    --------
    >>> import windrow as wr
    >>> info = wr.__array_namespace_info__()
    >>> info.default_device(), info.devices()
    ('cpu', ('cpu',))
    >>> info.dtypes(kind="real floating")
    {'float32': dtype('float32'), 'float64': dtype('float64')}
    """

    def capabilities(self) -> dict[str, Any]:
        """Return what is optional in the standard, and whether it is there."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": MOST_AXES}

    def default_device(self) -> str:
        """Return the device of arrays for which none was asked: the only one, the memory of all ranks."""
        return DEVICE

    def default_dtypes(self, *, device: str | None = None) -> dict[str, DType]:
        """Return the dtypes of arrays for which none was asked."""
        check_device("default_dtypes", device)
        names = {"real floating": "f8", "complex floating": "c16", "integral": "i8", "indexing": "i8"}
        return {kind: np.dtype(name) for kind, name in names.items()}

    def devices(self) -> tuple[str, ...]:
        """Return the devices: one."""
        return (DEVICE,)

    def dtypes(self, *, device: str | None = None, kind: Any = None) -> dict[str, DType]:
        """Return the standard's dtypes, all or those of a kind (or of some, in a tuple)."""
        check_device("dtypes", device)
        kinds = ("bool", "numeric") if kind is None else kind if isinstance(kind, tuple) else (kind,)
        for one in kinds:
            if one not in _KINDS:
                raise ArgumentError(bad("dtypes", "kind", one, f"one of {', '.join(_KINDS)}, or a tuple of them"))
        return {name: np.dtype(name) for one in kinds for name in _KINDS[one]}


MOST_AXES = 32


def __array_namespace_info__() -> Info:
    """Return what the array API standard asks of a namespace: capabilities, devices and dtypes.

    Returns
    -------
    Info
        An object with the standard's methods `capabilities`, `default_device`, `default_dtypes`, `devices` and
        `dtypes`.

    >>> wr.__array_namespace_info__().default_dtypes()["real floating"]
    dtype('float64')
    """
    return Info()


def namespace(api_version: str | None) -> Any:
    """Return the package, where it keeps a version of the standard."""
    if api_version is not None and api_version not in VERSIONS:
        raise ArgumentError(bad("__array_namespace__", "api_version", api_version, f"None or one of {VERSIONS}"))
    return importlib.import_module(str(__package__).partition(".")[0])
