"""The random states of modules: each process has its own, and a task draws from that of its rank.

`numpy.random.rand` and `random.random` are methods of such a state. Pickled with it, each call would draw the same.
"""

from __future__ import annotations

import importlib
import random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def random_states() -> dict[type, Callable[[Any], Any]]:
    """Return how pickles have random states: those of modules by their names there, all others with what they hold."""
    legacy = importlib.import_module("numpy.random.mtrand")
    own = {id(legacy._rand): "_rand", id(random._inst): "_inst"}

    def reduce(state: Any) -> Any:
        return own.get(id(state)) or state.__reduce_ex__(5)

    return {legacy.RandomState: reduce, random.Random: reduce}
