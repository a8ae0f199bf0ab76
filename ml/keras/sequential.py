"""`Sequential` with Keras's spelling, whose `fit` trains where the chunks are."""

from __future__ import annotations

import importlib
from typing import Any

from ...arrays.core import Node
from .distribute import Distributed

__all__ = ["Sequential"]

keras: Any = importlib.import_module("keras")


@keras.saving.register_keras_serializable("windrow")
class Sequential(keras.Sequential):
    """Keras's `Sequential`; given Windrow arrays it fits, predicts and evaluates on their chunks.

    See `windrow.ml.distribute` for the further keywords of `fit`.
    """

    def fit(self, x: Any = None, y: Any = None, *args: Any, **keywords: Any) -> Any:
        """Train; on shards where x or y is a Windrow array."""
        if isinstance(x, Node) or isinstance(y, Node):
            return Distributed(self).fit(x, y, *args, **keywords)
        return super().fit(x, y, *args, **keywords)

    def predict(self, x: Any, *args: Any, **keywords: Any) -> Any:
        """Predict; lazily where x is a Windrow array."""
        if isinstance(x, Node):
            return Distributed(self).predict(x, *args, **keywords)
        return super().predict(x, *args, **keywords)

    def evaluate(self, x: Any = None, y: Any = None, *args: Any, **keywords: Any) -> Any:
        """Evaluate; block by block where x is a Windrow array, as a dict of loss and metrics."""
        if isinstance(x, Node):
            return Distributed(self).evaluate(x, y, *args, **keywords)
        return super().evaluate(x, y, *args, **keywords)
