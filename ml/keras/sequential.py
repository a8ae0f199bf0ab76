"""Keras's `Sequential`, whose `fit` trains where the chunks are."""

from __future__ import annotations

import importlib
from typing import Any

from ...workers.public_api import publish
from ..rows import is_lazy
from .distribute import Distributed

__all__ = ["Sequential"]

keras: Any = importlib.import_module("keras")


@keras.saving.register_keras_serializable("windrow")
class Sequential(keras.Sequential):
    """Keras's `Sequential`; Windrow arrays are fitted, predicted and evaluated on their chunks.

    Parameters
    ----------
    *args, **kwargs
        As in keras.Sequential: layers, `trainable`, `name`.

    Raises
    ------
    ValueError
        A layer isn't one of Keras's.

    Notes
    -----
    With arrays in memory it behaves as Keras's own. `Distributed.fit` describes the further keywords of `fit`.

    >>> import keras
    >>> import windrow as wr
    >>> model = wr.ml.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    >>> model.compile("sgd", "mse")
    >>> model.predict(wr.ones((4, 2), "f4", chunks=2)).shape
    (4, 1)
    """

    def fit(self, x: Any = None, y: Any = None, *args: Any, **keywords: Any) -> Any:
        """Train; on shards if any array, also of the validation data, is a Windrow array.

        Parameters
        ----------
        x, y : array
            A row for each sample.
        *args, **keywords
            For Windrow arrays those of `Distributed.fit`, else those of keras.Model.fit.

        Returns
        -------
        keras.callbacks.History
            Loss and metrics of each epoch.

        Raises
        ------
        ArgumentError
            With Windrow arrays: as in `Distributed.fit`.
        ShapeError
            With Windrow arrays: `x` has no rows for samples, or `y` has another number of rows.

        >>> import keras
        >>> import windrow as wr
        >>> model = wr.ml.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
        >>> model.compile("sgd", "mse")
        >>> X = wr.random.default_rng(1).random((400, 2), dtype="float32", chunks=(100, 2))
        >>> model.fit(X, X[:, 0], batch_size=16, epochs=2, shards=2, verbose=0).epoch
        [0, 1]
        """
        arguments = [*args, *keywords.values()]
        if is_lazy(x, y, *arguments, *(one for some in arguments if isinstance(some, list | tuple) for one in some)):
            return Distributed(self).fit(x, y, *args, **keywords)
        return super().fit(x, y, *args, **keywords)

    def predict(self, x: Any, *args: Any, **keywords: Any) -> Any:
        """Return predictions; lazily if `x` is a Windrow array.

        Parameters
        ----------
        x : array
            A row for each sample.
        *args, **keywords
            For Windrow arrays those of `Distributed.predict`, else those of keras.Model.predict.

        Returns
        -------
        Array or numpy.ndarray
            A row for each row of `x`. For a Windrow array it is lazy, with the same chunks of rows.

        Raises
        ------
        ArgumentError
            With Windrow arrays: `batch_size` is no positive integer.

        >>> import keras
        >>> import windrow as wr
        >>> model = wr.ml.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
        >>> model.compile("sgd", "mse")
        >>> model.predict(wr.ones((4, 2), "f4", chunks=2)).compute().shape
        (4, 1)
        """
        if is_lazy(x):
            return Distributed(self).predict(x, *args, **keywords)
        return super().predict(x, *args, **keywords)

    def evaluate(self, x: Any = None, y: Any = None, *args: Any, **keywords: Any) -> Any:
        """Return loss and metrics; block by block if any array is a Windrow array.

        Parameters
        ----------
        x, y : array
            A row for each sample.
        *args, **keywords
            For Windrow arrays those of `Distributed.evaluate`, else those of keras.Model.evaluate.

        Returns
        -------
        float, list of float, or dict of str to float
            As in Keras, over all rows.

        Raises
        ------
        ArgumentError
            With Windrow arrays: `batch_size` is no positive integer, or the model isn't compiled.
        ShapeError
            With Windrow arrays: `y` doesn't have a row for each row of `x`.

        >>> import keras
        >>> import windrow as wr
        >>> model = wr.ml.Sequential([keras.Input((1,)), keras.layers.Dense(1, "linear", False, "ones")])
        >>> model.compile("sgd", "mse")
        >>> X = wr.ones((4, 1), "f4", chunks=2)
        >>> model.evaluate(X, X * 3)
        4.0
        """
        if is_lazy(x, y, *args, *keywords.values()):
            return Distributed(self).evaluate(x, y, *args, **keywords)
        return super().evaluate(x, y, *args, **keywords)


publish(__name__)
