"""The pace of a shard: each of its steps stands for one step of every shard.

A shard takes 1/shards of the steps. The moving moments of batch normalisation, an optimiser's moving average of the
weights and a schedule of the learning rate change by steps, so on a shard's copy they change that many times faster.
Averaging divides the distance that the weights move by the number of shards; a larger learning rate makes up for that
(P. Goyal et al.: Accurate, large minibatch SGD, 2017, where it also grows in the first steps).
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..training.averages import ADAPTIVE, PLAIN, WARM

if TYPE_CHECKING:
    from ..training.averages import Averaging

__all__ = ["Pace", "choose_pace", "find_innermost"]

MOST = 0.999
"""The largest momentum that is used to estimate the length of a step."""


@dataclass(frozen=True)
class Pace:
    """The pace of a shard's copy of a model.

    Attributes
    ----------
    steps : int
        Steps, of all shards together, that one step of a shard stands for.
    rate : float
        Factor of the learning rate.
    warm : int
        Steps of the optimiser over which the factor grows from 1.
    """

    steps: int = 1
    rate: float = 1.0
    warm: int = 0

    def set(self, model: Any) -> None:
        """Set the pace of a copy of a model, for functions that are compiled from then on."""
        for layer in model._flatten_layers(include_self=False, recursive=True):
            if hasattr(layer, "moving_variance") and hasattr(layer, "momentum"):  # other layers may name them otherwise
                layer.momentum **= self.steps
        optimizer = find_innermost(getattr(model, "optimizer", None))
        if self == Pace() or optimizer is None:
            return
        if optimizer.use_ema:
            optimizer.ema_momentum **= self.steps
            if optimizer.ema_overwrite_frequency:
                optimizer.ema_overwrite_frequency = max(1, round(optimizer.ema_overwrite_frequency / self.steps))
        optimizer._get_current_learning_rate = lambda: self._rate(optimizer)

    def _rate(self, optimizer: Any) -> Any:
        keras = importlib.import_module("keras")
        rate: Any = optimizer._learning_rate
        done = optimizer._iterations
        if isinstance(rate, keras.optimizers.schedules.LearningRateSchedule):
            rate = rate(done * self.steps)
        elif not hasattr(rate, "assign") and callable(rate):
            rate = rate()
        if self.rate == 1.0:
            return rate
        if not self.warm:
            return rate * self.rate
        part = keras.ops.minimum(keras.ops.cast(done, "float32") / self.warm, 1.0)
        return rate * (1.0 + (self.rate - 1.0) * part)


def choose_pace(model: Any, averaging: Averaging, shards: int) -> Pace:
    """Return the pace of a model's copies on this number of shards."""
    keras = importlib.import_module("keras")
    optimizer = find_innermost(model.optimizer)
    step, longest = float(optimizer.learning_rate), ADAPTIVE
    if isinstance(optimizer, keras.optimizers.SGD):
        step, longest = step / (1 - min(optimizer.momentum, MOST)), PLAIN
    factor = averaging.rate_factor(shards, step, longest)
    warm = WARM if averaging.scale == "auto" and factor != 1.0 else 0
    return Pace(1 if averaging.kind == "gradient" else shards, factor, warm)


def find_innermost(optimizer: Any) -> Any:
    """Return the optimiser that takes the steps: an optimiser that scales the loss wraps it."""
    while hasattr(optimizer, "inner_optimizer"):
        optimizer = optimizer.inner_optimizer
    return optimizer
