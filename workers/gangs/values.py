"""MPI's constants and types, as mpi4py has them where the program has imported it.

Nothing here imports mpi4py: a program that uses its constants has done so, and one that doesn't needs none of them.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from .mpi4py_names import MPI4PY_NAMES

if TYPE_CHECKING:
    from types import ModuleType


class _InPlace:
    """Where mpi4py isn't imported, what stands for a buffer that is the other one."""

    def __repr__(self) -> str:
        return "IN_PLACE"


IN_PLACE: Any = _InPlace()

START_RANKS = (
    "start ranks: wr.Cluster(ranks=…) or python -m windrow -n 4; wr.comm() is of ranks in a script that each of them "
    "runs: python -m windrow -n 4 --spmd script.py"
)
"""What errors advise where threads don't have what a program asks for: ranks have all of mpi4py."""

_DEFAULTS = {
    "ANY_SOURCE": -1,
    "ANY_TAG": -1,
    "PROC_NULL": -2,
    "UNDEFINED": -32766,
    "COMM_NULL": None,
    "IN_PLACE": IN_PLACE,
}


def mpi() -> ModuleType | None:
    """Return mpi4py's module where the program has imported it."""
    return sys.modules.get("mpi4py.MPI")


def constant(name: str) -> Any:
    """Return a constant as the program knows it: programs pass it, or get it back."""
    return getattr(mpi(), name, _DEFAULTS[name])


def is_in_place(buffer: Any) -> bool:
    """Tell whether a program has passed IN_PLACE, or None as mpi4py allows."""
    return buffer is None or buffer is IN_PLACE or buffer is constant("IN_PLACE")


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


def tell(status: Any, source: int, tag: int, nbytes: int) -> None:
    """Tell a status, mpi4py's or anything with its attributes, of a message that was received."""
    if status is None:
        return
    status.source, status.tag = source, tag
    module = mpi()
    if module is not None and isinstance(status, module.Status) and is_initialized():
        status.Set_elements(module.BYTE, nbytes)


def absent(owner: object, kind: str, name: str) -> AttributeError:
    """Return the error of a name that threads don't have; where mpi4py has it, it says how to start ranks."""
    if name in MPI4PY_NAMES[kind]:
        text = f"a {kind} of threads has no {name!r}; for all that mpi4py has {START_RANKS}"
    else:
        text = f"{type(owner).__name__!r} object has no attribute {name!r}"
    return AttributeError(text, name=name, obj=owner)
