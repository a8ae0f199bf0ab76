"""MPI's constants and types, as mpi4py has them where the program has imported it.

Nothing here imports mpi4py: a program that uses its constants has done so, and one that doesn't needs none of them.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from types import ModuleType


class _InPlace:
    """Where mpi4py isn't imported, what stands for a buffer that is the other one."""

    def __repr__(self) -> str:
        return "IN_PLACE"


IN_PLACE: Any = _InPlace()


@dataclass(frozen=True)
class MpiConstants:
    """Constants that programs pass, or get back."""

    any_source: int = -1
    any_tag: int = -1
    proc_null: int = -2
    undefined: int = -32766
    comm_null: Any = None
    in_place: Any = IN_PLACE


_DEFAULT = MpiConstants()


def mpi() -> ModuleType | None:
    """Return mpi4py's module where the program has imported it."""
    return sys.modules.get("mpi4py.MPI")


def values() -> MpiConstants:
    """Return the constants that the program knows."""
    module = sys.modules.get("mpi4py.MPI")
    return _DEFAULT if module is None else _values_of(module)


@lru_cache(1)
def _values_of(module: ModuleType) -> MpiConstants:
    return MpiConstants(
        module.ANY_SOURCE,
        module.ANY_TAG,
        module.PROC_NULL,
        module.UNDEFINED,
        module.COMM_NULL,
        module.IN_PLACE,
    )


def is_in_place(buffer: Any) -> bool:
    """Tell whether a program has passed IN_PLACE, or None as mpi4py allows."""
    return buffer is None or buffer is IN_PLACE or buffer is values().in_place


def is_datatype(x: Any) -> bool:
    """Tell whether something is a type of elements: mpi4py's, NumPy's, or the code of one."""
    module = mpi()
    return isinstance(x, str | np.dtype) or (module is not None and isinstance(x, module.Datatype))


def numpy_type(x: Any) -> np.dtype[Any] | None:
    """Return NumPy's dtype for a type of elements; None for one that a program has derived."""
    if isinstance(x, str | np.dtype):
        return np.dtype(x)
    text: str = x.typestr
    # Before MPI is initialised there are no derived types, and asking for what isn't NumPy's would end the process.
    if text.startswith("V") and is_initialized() and not x.is_predefined:
        return None
    dtype: np.dtype[Any] = np.dtype(text)
    return dtype


def is_initialized() -> bool:
    """Tell whether the program uses MPI itself, whose functions may be called then and only then."""
    module = mpi()
    return module is not None and bool(module.Is_initialized()) and not module.Is_finalized()
