"""A model as it travels to ranks."""

from __future__ import annotations

import importlib
import json
import pickle
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from ...graph.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Recipe", "custom_objects"]


@dataclass(frozen=True)
class Recipe:
    """A model, pickled, with what the user defined for it.

    Its name follows from its configuration and the user's code, not from weights, the learning rate or the numbers
    that Keras gives layers: models of the same name share what is compiled.
    """

    name: bytes
    backend: str
    custom: bytes
    pickled: bytes

    @classmethod
    def of(cls, model: Any) -> Recipe:
        """Return the recipe of a compiled model."""
        keras = importlib.import_module("keras")
        dumps = importlib.import_module("cloudpickle").dumps
        custom: bytes = dumps(custom_objects(model))
        config = keras.saving.serialize_keras_object(model)
        rate = ((config.get("compile_config") or {}).get("optimizer") or {}).get("config", {})
        if isinstance(rate.get("learning_rate"), float):
            rate["learning_rate"] = 0.0
        rate.pop("name", None)
        names = {layer.name: f"layer {i}" for i, layer in enumerate(model._flatten_layers(recursive=True))}
        told = json.dumps(_renamed(config, names), sort_keys=True, default=repr).encode()
        name = blake2b(told + custom, digest_size=16).digest()
        return cls(name, keras.backend.backend(), custom, dumps(model))

    def load(self) -> Any:
        """Return a copy of the model."""
        saving = importlib.import_module("keras.saving")
        try:
            with saving.custom_object_scope(pickle.loads(self.custom)):
                return pickle.loads(self.pickled)
        except Exception as error:
            expected = "one that Keras can save and load, with a get_config() that fits its constructor"
            came = f"a model of which Keras can't make a copy: {type(error).__name__}: {error}"
            raise ArgumentError(f"distribute: argument 'model' is {came}; expected {expected}") from error


def _renamed(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _renamed(one, names) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_renamed(one, names) for one in value]
    return names.get(value, value) if isinstance(value, str) else value


def custom_objects(model: Any) -> dict[str, Any]:
    """Return the classes and functions that the user wrote for a model, by the names that Keras looks up."""
    found: dict[str, Any] = {}
    for value in _parts(model):
        kind = value if isinstance(value, type) or hasattr(value, "__code__") else type(value)
        if kind.__module__.partition(".")[0] not in ("keras", "builtins", "windrow"):
            registered = importlib.import_module("keras.saving").get_registered_name(kind)
            found |= {kind.__name__: kind, registered: kind}
    return found


def _parts(model: Any) -> Iterator[Any]:
    """Yield a model, its layers, and what it was compiled with."""
    yield from model._flatten_layers(include_self=True, recursive=True)
    for layer in model._flatten_layers(include_self=False, recursive=True):
        for name in ("activation", "kernel_initializer", "kernel_regularizer", "kernel_constraint"):
            value = getattr(layer, name, None)
            if value is not None:
                yield value
    yield model.optimizer
    schedule = getattr(model.optimizer, "_learning_rate", None)
    if schedule is not None and not hasattr(schedule, "assign"):
        yield schedule
    yield from _leaves(model.loss)
    metrics = getattr(model, "_compile_metrics", None)
    if metrics is not None:
        yield from _leaves([metrics._user_metrics, metrics._user_weighted_metrics])


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for one in value:
            yield from _leaves(one)
    elif value is not None and not isinstance(value, str):
        yield value
