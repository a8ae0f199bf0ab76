"""A Keras model's state: the averaged part, and the part that each shard keeps for itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..backends.compiled_rounds import backend
from ..pace import find_innermost

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Variables", "build_optimizer"]

Values = np.ndarray[Any, Any]
REMEMBERED = 1 << 16
"""Bytes of a variable up to which its value is remembered: comparing a larger one takes as long as writing it."""


class Variables:
    """The variables of a built model, read and written as plain arrays.

    These are averaged: the weights, their moving averages if the optimiser keeps any (`use_ema`), and the mean and mean
    square of each batch normalisation. The variance of all rows is the mean square minus the square of the mean, so
    averaging these two gives the right variance; the mean of the shards' variances would ignore the differences between
    their means. Optimiser slots, step counts and the states of random numbers stay with their shard.

    Attributes
    ----------
    trained : int
        The number of trained weights; they come first.
    scales_loss : bool
        Whether the optimiser scales the loss, by a factor that adapts.
    """

    def __init__(self, model: Any) -> None:
        layers = model._flatten_layers(include_self=False, recursive=True)
        self._moving = [(a.moving_mean, a.moving_variance) for a in layers if hasattr(a, "moving_variance")]
        moving = {id(v) for pair in self._moving for v in pair}
        rest = [v for v in model.non_trainable_variables if id(v) not in moving and _is_float(v)]
        self._weights = [*model.trainable_variables, *rest]
        inner = find_innermost(getattr(model, "optimizer", None))
        self._average = [v for v in getattr(inner, "_model_variables_moving_average", []) if v is not None]
        every = [] if inner is None else model.optimizer.variables
        known = {id(v) for v in every}
        apart = {id(v) for v in self._average}
        self._slots = [v for v in every if id(v) not in apart and v.path.rpartition("/")[2] != "learning_rate"]
        self._apart = [v for v in model.variables if not _is_float(v) and id(v) not in known]
        self._kept = self._slots + self._apart
        self.trained = len(model.trainable_variables)
        self.scales_loss = inner is not getattr(model, "optimizer", None)
        rate = getattr(inner, "_learning_rate", None)
        self._rate = rate if hasattr(rate, "assign") else None
        self._read: dict[int, Values] = {}

    @property
    def rate(self) -> float | None:
        """The learning rate; None if it is a schedule."""
        return None if self._rate is None else float(self._rate)

    def shared(self) -> dict[str, Any]:
        """Return the averaged part of the state, with the learning rate."""
        rate = np.float64(0.0 if self.rate is None else self.rate)
        weights, average = ([self._get(v) for v in some] for some in (self._weights, self._average))
        return {"weights": weights, "average": average, "moments": self._moments(), "rate": rate}

    def untrained(self) -> dict[str, Any]:
        """Return the variables that a step changes without a gradient."""
        return {"rest": [self._get(v) for v in self._weights[self.trained :]], "moments": self._moments()}

    def own(self, *, fresh: bool = False) -> dict[str, Any]:
        """Return the part that a shard keeps; `fresh` before its first round, in which it gets seeds of its own."""
        return {"own": [self._get(v) for v in self._kept], "fresh": np.uint8(fresh)}

    def put(self, state: dict[str, Any], mine: dict[str, Any] | None = None) -> None:
        """Write the averaged part, and the part that a shard keeps."""
        for variable, value in zip(self._weights, state["weights"], strict=True):
            self._set(variable, value)
        for variable, value in zip(self._average, state["average"], strict=True):
            self._set(variable, value)
        for (mean, variance), (first, second) in zip(self._moving, state["moments"], strict=True):
            self._set(mean, first)
            self._set(variance, np.maximum(second - first**2, 0.0))
        if mine is not None:
            self.put_own(mine)
        self._read.clear()

    def put_own(self, mine: dict[str, Any]) -> None:
        """Write the part that a shard keeps."""
        for variable, value in zip(self._kept, mine["own"], strict=True):
            self._set(variable, value)

    def slots(self) -> list[Values]:
        """Return the optimiser's slots."""
        return [self._get(v) for v in self._slots]

    def put_slots(self, slots: list[Values]) -> None:
        """Write the optimiser's slots."""
        for variable, value in zip(self._slots, slots, strict=True):
            self._set(variable, value)

    def own_apart(self, *, fresh: bool = False) -> dict[str, Any]:
        """Return the part that a shard keeps if it has no optimiser of its own."""
        return {"apart": [self._get(v) for v in self._apart], "fresh": np.uint8(fresh)}

    def put_apart(self, mine: dict[str, Any]) -> None:
        """Write what `own_apart` returned."""
        for variable, value in zip(self._apart, mine["apart"], strict=True):
            self._set(variable, value)

    def set_rate(self, rate: float) -> None:
        """Set the learning rate, unless it is a schedule."""
        if self._rate is not None and self.rate != np.float32(rate):
            self._rate.assign(rate)

    def reseed(self, shard: int) -> None:
        """Give a shard random seeds of its own, for dropout and the like."""
        for variable in self._seeds():
            value = np.asarray(variable)
            variable.assign(value + np.asarray([shard, 0], value.dtype))

    def _seeds(self) -> Iterator[Any]:
        return (v for v in self._kept if v.path.rpartition("/")[2] == "seed_generator_state")

    def _moments(self) -> list[list[Values]]:
        pairs = [(self._get(m).astype(np.float64), self._get(v).astype(np.float64)) for m, v in self._moving]
        return [[mean, variance + mean**2] for mean, variance in pairs]

    def _get(self, variable: Any) -> Values:
        """Read a variable. A small one's value is remembered, since writing it unchanged takes most of a short round.

        A large one is read in place if possible; see `Backend.read`.
        """
        value = backend().read(variable.value)
        if value.nbytes <= REMEMBERED:
            value = self._read[id(variable)] = value.copy()
        return value

    def _set(self, variable: Any, value: Values) -> None:
        known = self._read.get(id(variable))
        if known is None or known.dtype != value.dtype or known.tobytes() != value.tobytes():
            backend().write(variable, value)


def build_optimizer(model: Any) -> None:
    """Build the variables of a model's optimiser, if it has one."""
    optimizer = getattr(model, "optimizer", None)
    if optimizer is not None and not optimizer.built:
        optimizer.build(model.trainable_variables)


def _is_float(variable: Any) -> bool:
    return str(variable.dtype) == "bfloat16" or np.dtype(str(variable.dtype)).kind == "f"
