"""Objects on their way between members: frozen when sent, so that no two members share one that can change."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np

_CONSTANT = {type(None), bool, int, float, complex, str, bytes}
_CONSTANT |= {x for x in set(np.sctypeDict.values()) if not issubclass(x, np.void | np.object_)}


class Frozen:
    """An object that was passed by value.

    `value` is the object itself where it can't change, a copy of an array, or, where it is `pickled`, a pickle.
    """

    __slots__ = ("pickled", "value")

    def __init__(self, x: Any) -> None:
        kind = type(x)
        self.pickled = False
        if kind in _CONSTANT:
            self.value = x
        elif kind is np.ndarray and not x.dtype.hasobject:
            self.value = x.copy("A")
        else:
            self.value = pickle.dumps(x, pickle.HIGHEST_PROTOCOL)
            self.pickled = True

    def thaw(self) -> Any:
        """Return an object that nobody else has; may be called by each of those who receive it."""
        if self.pickled:
            return pickle.loads(self.value)
        return self.value.copy("A") if type(self.value) is np.ndarray else self.value

    def take(self) -> Any:
        """Return the object, to the only one who receives it."""
        return pickle.loads(self.value) if self.pickled else self.value

    @property
    def nbytes(self) -> int:
        """The size of the message: a status counts it."""
        return len(self.value) if self.pickled else int(getattr(self.value, "nbytes", 0))
