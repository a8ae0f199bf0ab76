"""Training and estimators on chunks: `windrow.ml`, loaded when it is first used.

Importing it registers the joblib backend "windrow", where joblib is installed, and sets TensorFlow to one thread for a
task. Import it before you make the first model.
"""

from __future__ import annotations

import importlib
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ..arrays.interop.spaces import missing
from .fitted import Fitted, over_rows
from .plots import plot_history
from .threads import set_threads
from .training.loop import History
from .training.steps import train

if TYPE_CHECKING:
    from . import cluster as cluster
    from . import decomposition as decomposition
    from . import linear_model as linear_model
    from . import naive_bayes as naive_bayes
    from . import neural_network as neural_network
    from . import preprocessing as preprocessing
    from . import search as search
    from .averaging.averaged import Averaged as Averaged
    from .keras.distribute import Distributed as Distributed
    from .keras.distribute import distribute as distribute
    from .keras.sequential import Sequential as Sequential

__all__ = [
    "Averaged",
    "Distributed",
    "Fitted",
    "History",
    "Sequential",
    "cluster",
    "decomposition",
    "distribute",
    "linear_model",
    "naive_bayes",
    "neural_network",
    "over_rows",
    "plot_history",
    "preprocessing",
    "search",
    "train",
]

_LATER = {
    "Averaged": ".averaging.averaged",
    "Distributed": ".keras.distribute",
    "Sequential": ".keras.sequential",
    "distribute": ".keras.distribute",
}
"""Modules that need scikit-learn or Keras; imported when they are first used."""


_SPACES = (
    "cluster",
    "decomposition",
    "linear_model",
    "naive_bayes",
    "neural_network",
    "preprocessing",
    "search",
)
_LEARN = (
    "averaging.averageable",
    "averaging.averaged",
    "averaging.fits",
    "averaging.training",
    "averaging.validation",
    "averaging.work",
    *_SPACES,
)
"""Modules that need scikit-learn."""


def __getattr__(name: str) -> Any:
    if name in _SPACES:
        return importlib.import_module(f".{name}", __name__)
    if name in _LATER:
        return getattr(importlib.import_module(_LATER[name], __name__), name)
    return missing("ml", name)


def __dir__() -> list[str]:
    return __all__


class _Lacking:
    """An import hook that finds no module: it says what to install where scikit-learn is missing."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> None:
        before, _, module = name.partition(f"{__name__}.")
        if not before and module in _LEARN:
            raise ImportError(f"{name} needs scikit-learn: pip install 'windrow[ml]'", name=name)


set_threads()
if find_spec("sklearn") is None:
    sys.meta_path.insert(0, _Lacking())
if find_spec("joblib") is not None:
    importlib.import_module(".joblib_backend", __name__).register()
