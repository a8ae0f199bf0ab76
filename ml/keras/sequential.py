"""`Sequential` with Keras's spelling, whose `fit` trains where the chunks are."""

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
    """Keras's `Sequential`; given Windrow arrays it fits, predicts and evaluates on their chunks.

    Parameters
    ----------
    *args, **kwargs
        As keras.Sequential takes them: layers, `trainable`, `name`.

    Raises
    ------
    ValueError
        Something isn't a layer of Keras's.

    Notes
    -----
    With arrays in memory it is Keras's own. `Distributed.fit` tells of the further keywords of `fit`.

    Examples
    --------
    >>> import keras
    >>> import windrow as wr
    >>> model = wr.ml.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    >>> model.compile("sgd", "mse")
    >>> model.predict(wr.ones((4, 2), "f4", chunks=2)).shape
    (4, 1)
    """

    def fit(self, x: Any = None, y: Any = None, *args: Any, **keywords: Any) -> Any:
        """Train; on shards where any of the data, or of the validation data, is a Windrow array.

        Parameters
        ----------
        x, y : array
            A row for each sample.
        *args, **keywords
            As those of `Distributed.fit`, else as those of keras.Model.fit.

        Returns
        -------
        keras.callbacks.History
            Loss and metrics of each epoch.

        Raises
        ------
        ArgumentError
            With Windrow arrays: as `Distributed.fit` raises it.
        ShapeError
            With Windrow arrays: `x` has no rows for samples, or `y` hasn't as many.

        Examples
        --------
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
        """Return predictions; lazily where x is a Windrow array.

        Parameters
        ----------
        x : array
            A row for each sample.
        *args, **keywords
            As those of `Distributed.predict`, else as those of keras.Model.predict.

        Returns
        -------
        Array or numpy.ndarray
            A row for each of x's: lazy, with its chunks of rows, where that is a Windrow array.

        Raises
        ------
        ArgumentError
            With Windrow arrays: `batch_size` is no positive integer.

        Examples
        --------
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
        """Return loss and metrics; block by block where any of the data is a Windrow array.

        Parameters
        ----------
        x, y : array
            A row for each sample.
        *args, **keywords
            As those of `Distributed.evaluate`, else as those of keras.Model.evaluate.

        Returns
        -------
        float, list of float, or dict of str to float
            As Keras returns them, of all rows.

        Raises
        ------
        ArgumentError
            With Windrow arrays: `batch_size` is no positive integer, or the model isn't compiled.
        ShapeError
            With Windrow arrays: `y` hasn't a row for each of x's.

        Examples
        --------
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
