"""The pace of a shard: each of its steps stands for one of every shard.

What decays or is scheduled by steps sees on a shard 1/shards of them: the moving moments of batch normalisation, an
optimiser's moving average of the weights, a schedule of the learning rate. On a shard's copy they go so many times
faster. Averaging divides by the number of shards how far the weights move in a step of all; a larger learning rate
gives it back (P. Goyal et al.: Accurate, large minibatch SGD, 2017; there, too, it grows at first).
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
"""Momentum, at most, by which the length of a step is reckoned."""


@dataclass(frozen=True)
class Pace:
    """How a shard's copy of a model steps.

    Attributes
    ----------
    steps : int
        Steps of all shards for which one of a shard stands.
    rate : float
        Factor of the learning rate.
    warm : int
        Steps of the optimiser over which that grows from 1.
    """

    steps: int = 1
    rate: float = 1.0
    warm: int = 0

    def set(self, model: Any) -> None:
        """Make a copy of a model go at this pace; functions that are compiled later do."""
        for layer in model._flatten_layers(include_self=False, recursive=True):
            if hasattr(layer, "moving_variance") and hasattr(layer, "momentum"):  # users' own may have another word
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
    """Return the pace of a model's copies on so many shards."""
    keras = importlib.import_module("keras")
    optimizer = find_innermost(model.optimizer)
    step, longest = float(optimizer.learning_rate), ADAPTIVE
    if isinstance(optimizer, keras.optimizers.SGD):
        step, longest = step / (1 - min(optimizer.momentum, MOST)), PLAIN
    factor = averaging.rate_factor(shards, step, longest)
    warm = WARM if averaging.scale == "auto" and factor != 1.0 else 0
    return Pace(1 if averaging.kind == "gradient" else shards, factor, warm)


def find_innermost(optimizer: Any) -> Any:
    """Return the optimiser that takes the steps, which one that scales the loss has within."""
    while hasattr(optimizer, "inner_optimizer"):
        optimizer = optimizer.inner_optimizer
    return optimizer
