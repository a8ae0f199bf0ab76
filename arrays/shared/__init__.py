"""What all ranks share beside arrays: `windrow.shared`.

Objects, arrays in pages that are updated between stages, tables and k-d trees on these, arrays that all ranks write,
and a space of jobs.
"""

from __future__ import annotations

from ...scheduler.shared.pages.shared_array import SharedArray
from ...workers.shared.shared_objects import Shared
from ...workers.shared.space import Space
from .arrays import array
from .objects import object
from .one_sided import Replicated, Symmetric, replicated, symmetric, sync
from .spaces import space
from .tables import Table
from .trees import KDTree

__all__ = [
    "KDTree",
    "Replicated",
    "Shared",
    "SharedArray",
    "Space",
    "Symmetric",
    "Table",
    "array",
    "object",
    "replicated",
    "space",
    "symmetric",
    "sync",
]
