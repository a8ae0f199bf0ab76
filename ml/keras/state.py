"""A Keras model's state: what is averaged, and what each shard keeps."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["own", "put", "reseed", "shared"]

Values = np.ndarray[Any, Any]


def _moving(model: Any) -> list[tuple[Any, Any]]:
    """Return the moving mean and variance of each batch normalisation."""
    layers = model._flatten_layers(include_self=False, recursive=True)
    return [(layer.moving_mean, layer.moving_variance) for layer in layers if hasattr(layer, "moving_variance")]


def _plain(model: Any) -> list[Any]:
    """Return the variables that are averaged as they are."""
    moving = {id(v) for pair in _moving(model) for v in pair}
    rest = [v for v in model.non_trainable_variables if id(v) not in moving and _is_float(v)]
    return [*model.trainable_variables, *rest]


def _is_float(variable: Any) -> bool:
    return np.dtype(str(variable.dtype)).kind == "f" if str(variable.dtype) != "bfloat16" else True


def shared(model: Any) -> dict[str, Any]:
    """Return the weights; and of each batch normalisation the mean and the mean square.

    The variance of all rows is the mean square less the square of the mean, so that averaging both gives it whole; the
    mean of shards' variances would leave out how far their means lie apart.
    """
    pairs = [(np.asarray(m, np.float64), np.asarray(v, np.float64)) for m, v in _moving(model)]
    moments = [[mean, variance + mean**2] for mean, variance in pairs]
    rate = np.float64(model.optimizer.learning_rate)
    return {"weights": [np.asarray(v) for v in _plain(model)], "moments": moments, "rate": rate}


def _kept(model: Any) -> list[Any]:
    slots = [v for v in model.optimizer.variables if v.path.rpartition("/")[2] != "learning_rate"]
    known = {id(v) for v in slots}
    return slots + [v for v in model.variables if not _is_float(v) and id(v) not in known]


def own(model: Any) -> dict[str, Any]:
    """Return what a shard keeps: optimiser slots, step counts, seeds."""
    return {"own": [np.asarray(v) for v in _kept(model)]}


def reseed(model: Any, shard: int) -> None:
    """Give a shard random numbers of its own, for dropout and the like."""
    for variable in model.variables:
        if variable.path.rpartition("/")[2] == "seed_generator_state":
            variable.assign(np.asarray(variable) + np.asarray([shard, 0], np.asarray(variable).dtype))


def put(model: Any, state: dict[str, Any], mine: dict[str, Any] | None = None) -> None:
    """Write a state into a model."""
    for variable, value in zip(_plain(model), state["weights"], strict=True):
        variable.assign(value)
    for (mean, variance), (first, second) in zip(_moving(model), state["moments"], strict=True):
        mean.assign(first)
        variance.assign(np.maximum(second - first**2, 0.0))
    if _settable(model.optimizer):
        model.optimizer.learning_rate = float(state["rate"])
    if mine is not None:
        for variable, value in zip(_kept(model), mine["own"], strict=True):
            variable.assign(value)


def _settable(optimizer: Any) -> bool:
    """Whether the learning rate is a number that may be set, and no schedule."""
    return hasattr(optimizer._learning_rate, "assign")
