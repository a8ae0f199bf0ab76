"""Keras models trained on shards: `distribute(model).fit(X, y)`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...arrays.base import as_array_nocopy
from ...graph.errors import ArgumentError, bad
from ...workers.public_api import publish
from ..rows import some_weight
from ..threads import warn_of_threads
from ..training.asynchronous import STALENESS
from ..training.averages import Averaging
from ..training.loop import start_rounds
from ..training.shards import Shards, cut_shards
from .arguments import check_part, refuse, split, weights_of
from .checkpoints import check_path, read_checkpoint
from .checks import check_callbacks, check_compiled, check_labels, check_model, check_rows, count_of, held_out
from .inference import build, column, evaluate_rows, list_metrics, predict
from .models.recipe import Recipe
from .models.replicas import import_ahead
from .pace import choose_pace
from .training import KerasModel

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Distributed", "distribute"]

LARGE = 4096
"""Rows of a batch in predictions and evaluations, by default."""


class Distributed:
    """A compiled Keras model that trains where the chunks are.

    The model itself has the averaged weights after `fit`, and after each epoch while callbacks run. All other
    attributes are the model's own.

    Parameters
    ----------
    model : keras.Model
        With one input and one output. It must be compiled, except for `predict`.

    Attributes
    ----------
    batch_size_ : int
        Rows of a batch in the last `fit`.

    Raises
    ------
    AttributeError
        Neither this nor the model has such an attribute.

    >>> import keras
    >>> import windrow as wr
    >>> model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    >>> model.compile("sgd", "mse")
    >>> spread = wr.ml.Distributed(model)
    >>> X = wr.random.default_rng(1).random((400, 2), dtype="float32", chunks=(100, 2))
    >>> spread.fit(X, X[:, 0], 16, epochs=2, shards=2, verbose=0).epoch, spread.batch_size_
    ([0, 1], 16)
    """

    batch_size_: int

    def __init__(self, model: Any) -> None:
        self.model = model

    def __getattr__(self, name: str) -> Any:
        if name in ("model", "batch_size_"):
            raise AttributeError(name)
        return getattr(self.model, name)

    def fit(
        self,
        x: Any,
        y: Any,
        batch_size: int | str | None = None,
        epochs: int = 1,
        verbose: int | str = "auto",
        callbacks: Any = None,
        validation_split: float = 0.0,
        validation_data: Any = None,
        shuffle: bool = True,
        class_weight: dict[int, float] | None = None,
        sample_weight: Any = None,
        initial_epoch: int = 0,
        *,
        average: str | int | tuple[str, int] = "epoch",
        shards: int | None = None,
        seed: int = 0,
        outer_momentum: float = 0.0,
        outer_learning_rate: float = 1.0,
        outer_nesterov: bool = False,
        scale_learning_rate: bool | str = "auto",
        checkpoint: str | Path | None = None,
        checkpoint_every: int = 1,
        resume: str | Path | None = None,
        staleness: int = STALENESS,
        **others: Any,
    ) -> Any:
        """Train; return Keras's `History`.

        Parameters
        ----------
        x, y : array
            A row for each sample; y of one axis becomes a column, as Keras's losses expect.
        batch_size : int or "auto", optional
            Rows of a batch on each shard; None: 32. "auto": 32 is doubled as long as that gives at least 15 % more rows
            a second, memory suffices, and a shard takes at least 16 steps an epoch. It is measured on the driver;
            `batch_size_` is the result. To get the same weights again, pass that number.
        epochs : int
            The number of the last epoch; with `resume` it includes the epochs of the checkpoint.
        verbose : {"auto", 0, 1, 2}
            0: nothing. 2: a line an epoch. Otherwise a progress bar at a terminal.
        callbacks : list of keras.callbacks.Callback, optional
            Their methods for epochs and for training are called on the driver, with the averaged weights in the model
            and the metrics over all rows. Callbacks with methods for batches are refused, since an epoch is one
            compiled function.
        validation_split : float
            This fraction of the rows, taken from the end before they are shuffled, is used as `validation_data`.
        validation_data : (x, y) or (x, y, sample_weight), optional
            Evaluated after each epoch with the averaged weights.
        shuffle : bool
            Whether rows are shuffled over all shards once, and then whole batches in each epoch.
        class_weight : dict of int to float, optional
            Weights of the rows of each class; 1 for classes that aren't named.
        sample_weight : array, optional
            Weights of the rows. None: all are equal.
        initial_epoch : int
            The first epoch's number.
        average : {"epoch", "batch", "gradient", "async"}, int or ("async", int)
            When weights are averaged: after each epoch, each batch, or this many batches. Optimiser slots and the
            states of random numbers stay with their shard. "gradient": at each batch gradients are averaged, and one
            optimiser takes the step, as one process does with batches of `shards` times as many rows. Variables that
            aren't trained, such as the moments of batch normalisation, are averaged as with "batch". "async": no shard
            waits for another; see `windrow.ml.train`.
        shards : int, optional
            None: the number of ranks (of threads, on the embedded engine).
        seed : int
            Seed of the shuffles. The same seed and number of shards give the same weights, to the bit, on any ranks,
            except with "async".
        outer_momentum : float
            Momentum of the averages, each of which is a step from the previous weights (BMUF; Chen and Huo, 2016). Use
            it with a short period: over whole epochs it tends to oscillate.
        outer_learning_rate : float
            Learning rate of these steps: 1 goes all the way to the average.
        outer_nesterov : bool
            Whether Nesterov's momentum is used: each shard starts from where the momentum will lead.
        scale_learning_rate : {"auto", True, False}
            Whether shards use a larger learning rate, since each takes fewer steps; the model's own stays as it is.
            True: the rate times the number of shards. "auto": the same, limited so that training doesn't diverge, and
            reached over the first 8 steps; not with "gradient".
        checkpoint : path, optional
            A file ending in ".keras", which Keras can load, too.
        checkpoint_every : int
            Epochs between checkpoints; one is written at the end in any case.
        resume : path, optional
            A checkpoint: training continues after its last epoch, as if it had never stopped. With another number of
            shards all of them begin with the optimiser slots of the first one.
        staleness : int
            With "async": the number of rounds that a shard may be ahead of the slowest one.
        **others
            Further arguments of Keras's `fit` are refused; the error says what to use instead.

        Returns
        -------
        keras.callbacks.History
            Its attribute `seconds` has the time of each epoch, including the evaluation of validation data.

        Raises
        ------
        ArgumentError
            The model isn't compiled, has no loss, or can't be copied. An argument has a value that isn't accepted, or
            is one of Keras's that isn't accepted here. A callback has methods for batches. `resume` is no checkpoint of
            this model.
        ShapeError
            `x` has no rows for samples; `y` or `sample_weight` doesn't have one entry for each row.
        BadValue
            The model has no output for a label, or all weights are zero.

        Notes
        -----
        Keras's `fit` trains one copy, batch by batch; here each shard trains a copy, and weights are averaged. Rows are
        shuffled over all shards once, and then whole batches.

        Examples
        --------
        >>> import keras, windrow as wr
        >>> from windrow.ml import distribute
        >>> X = wr.random.default_rng(1).random((4000, 2), dtype="float32", chunks=(1000, 2))
        >>> model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
        >>> model.compile("sgd", "mse")
        >>> history = distribute(model).fit(X, X[:, 0] - X[:, 1], epochs=5, shards=2)
        >>> history.history["loss"][-1] < history.history["loss"][0]
        True
        """
        check_compiled(self.model, "fit")
        refuse(others)
        for name, value in (("x", x), ("y", y)):
            check_rows(name, value)
        held, callback_list, epochs = held_out(validation_data), check_callbacks(callbacks), count_of("epochs", epochs)
        initial_epoch = count_of("initial_epoch", initial_epoch, least=0)
        if initial_epoch and resume is not None:
            raise ArgumentError(bad("fit", "initial_epoch", initial_epoch, "0 with resume, which tells it"))
        staleness = count_of("staleness", staleness, least=0)
        part = check_part(validation_split)
        if part and held is None:
            (x, y, sample_weight), held = split(part, x, y, sample_weight)
        if class_weight is not None:
            sample_weight = weights_of(class_weight, y, sample_weight)
        batch_size = 32 if batch_size is None else batch_size
        checkpoint_every = count_of("checkpoint_every", checkpoint_every)
        size = None if isinstance(batch_size, str) and batch_size == "auto" else count_of("batch_size", batch_size)
        averaging = Averaging("fit", average, outer_momentum, outer_learning_rate, outer_nesterov, scale_learning_rate)
        if checkpoint is not None:
            check_path("checkpoint", checkpoint)
        ahead = import_ahead()
        parts = _shards(x, y, sample_weight, shards, shuffle, seed)
        if sample_weight is not None:
            some_weight("fit", parts.arrays[2])
        build(self.model, parts.arrays[0])
        check_labels(self.model, parts)
        pace = choose_pace(self.model, averaging, len(parts))  # a checkpoint may have another learning rate
        before = None if resume is None else read_checkpoint(self.model, resume)
        recipe = Recipe.of(self.model, pace).shared(self.model)
        run = range(initial_epoch if before is None else before.epochs, epochs)
        watched = (run, verbose, callback_list, held, checkpoint, checkpoint_every)
        model = KerasModel(self.model, recipe, parts, averaging, size, shuffle, *watched)
        del ahead  # all ranks have begun to import
        self.batch_size_ = model.size
        warn_of_threads()
        start_rounds(model, parts, averaging, seed, staleness)
        if before is not None:
            model.restore(before, averaging)
        return model.train()

    def predict(self, x: Any, batch_size: int | None = None, verbose: int | str = 0) -> Any:
        """Return the model's predictions; lazily for a Windrow array, block by block of rows.

        Parameters
        ----------
        x : array
            A row for each sample.
        batch_size : int, optional
            Rows of a batch. None: 4096.
        verbose : {"auto", 0, 1, 2}
            As in Keras; for Windrow arrays nothing is shown.

        Returns
        -------
        Array or numpy.ndarray
            A row for each row of `x`, in the model's dtype. For a Windrow array it is lazy, with the same chunks of
            rows.

        Raises
        ------
        ArgumentError
            `batch_size` is no positive integer, or the model can't be copied.

        >>> import keras
        >>> import windrow as wr
        >>> model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(3)])
        >>> model.compile("sgd", "mse")
        >>> wr.ml.distribute(model).predict(wr.ones((4, 2), "f4", chunks=(2, 2)))
        Array(shape=(4, 3), dtype=float32, chunksize=(2, 3), op=Distributed.predict)
        """
        size = count_of("batch_size", LARGE if batch_size is None else batch_size, "predict")
        return predict(self.model, x, size, verbose)

    def evaluate(
        self,
        x: Any,
        y: Any,
        batch_size: int | None = None,
        verbose: int | str = 0,
        sample_weight: Any = None,
        *,
        return_dict: bool = False,
    ) -> Any:
        """Return loss and metrics over all rows; blocks of Windrow arrays are evaluated on the ranks that have them.

        The states of Keras's metrics are added up over blocks of rows, and so are those of your own metrics that add to
        their variables. Other metrics are evaluated block by block on the driver, with a warning.

        Parameters
        ----------
        x, y : array
            A row for each sample.
        batch_size : int, optional
            Rows of a batch. None: 4096.
        verbose : {"auto", 0, 1, 2}
            Accepted as in Keras; nothing is shown.
        sample_weight : array, optional
            Weights of the rows. None: all are equal.
        return_dict : bool
            Whether to return a dict.

        Returns
        -------
        float, list of float, or dict of str to float
            As in Keras: the loss if there are no metrics, else a list of the loss and the metrics; with `return_dict` a
            dict.

        Raises
        ------
        ArgumentError
            `batch_size` is no positive integer, or the model isn't compiled or can't be copied.
        ShapeError
            `y` or `sample_weight` doesn't have one entry for each row.
        BadValue
            All weights are zero.

        >>> import keras
        >>> import windrow as wr
        >>> model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, "linear", False, "ones")])
        >>> model.compile("sgd", "mse", metrics=["mae"])
        >>> X = wr.ones((4, 1), "f4", chunks=2)
        >>> wr.ml.distribute(model).evaluate(X, X * 3, return_dict=True)
        {'loss': 4.0, 'mae': 2.0}
        """
        check_compiled(self.model, "evaluate")
        size = count_of("batch_size", LARGE if batch_size is None else batch_size, "evaluate")
        metrics = evaluate_rows(self.model, x, y, size, sample_weight)
        return metrics if return_dict else list_metrics(metrics)


def distribute(model: Any) -> Distributed:
    """Return a Keras model that trains, predicts and evaluates where the chunks are.

    Parameters
    ----------
    model : keras.Model
        With one input and one output, on the backend of TensorFlow or JAX. It must be compiled with a loss, except for
        `predict`.

    Returns
    -------
    Distributed
        Its `fit`, `predict` and `evaluate` take Windrow arrays; all other attributes are the model's own.

    Raises
    ------
    ArgumentError
        It is no Keras model, or has several inputs or outputs.

    Examples
    --------
    >>> import keras
    >>> from windrow.ml import distribute
    >>> model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    >>> model.compile("sgd", "mse")
    >>> distribute(model).count_params()
    3
    """
    check_model(model)
    return Distributed(model)


def _shards(x: Any, y: Any, weight: Any, shards: int | None, shuffle: bool, seed: int) -> Shards:
    arrays = [as_array_nocopy("fit", "x", x), column(as_array_nocopy("fit", "y", y))]
    if weight is not None:
        arrays.append(as_array_nocopy("fit", "sample_weight", weight))
    return cut_shards("fit", arrays, shards, shuffle, seed)


publish(__name__)
