"""`Sequential` with Keras's spelling, whose `fit` trains where the chunks are."""

from __future__ import annotations

import importlib
from typing import Any

from ...workers.boundary import publish
from ..rows import is_lazy
from .distribute import Distributed

__all__ = ["Sequential"]

keras: Any = importlib.import_module("keras")


@keras.saving.register_keras_serializable("windrow")
class Sequential(keras.Sequential):
    """Keras's `Sequential`; given Windrow arrays it fits, predicts and evaluates on their chunks.

    See `windrow.ml.distribute` for the further keywords of `fit`.
    """

    def fit(self, x: Any = None, y: Any = None, *args: Any, **keywords: Any) -> Any:
        """Train; on shards where any of the data, or of the validation data, is a Windrow array."""
        given = [*args, *keywords.values()]
        if is_lazy(x, y, *given, *(one for some in given if isinstance(some, list | tuple) for one in some)):
            return Distributed(self).fit(x, y, *args, **keywords)
        return super().fit(x, y, *args, **keywords)

    def predict(self, x: Any, *args: Any, **keywords: Any) -> Any:
        """Predict; lazily where x is a Windrow array."""
        if is_lazy(x):
            return Distributed(self).predict(x, *args, **keywords)
        return super().predict(x, *args, **keywords)

    def evaluate(self, x: Any = None, y: Any = None, *args: Any, **keywords: Any) -> Any:
        """Evaluate; block by block where any of the data is a Windrow array."""
        if is_lazy(x, y, *args, *keywords.values()):
            return Distributed(self).evaluate(x, y, *args, **keywords)
        return super().evaluate(x, y, *args, **keywords)


publish(__name__)
