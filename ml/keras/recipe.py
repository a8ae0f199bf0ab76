"""A model as it travels to ranks."""

from __future__ import annotations

import importlib
import json
import pickle
import threading
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from types import FunctionType
from typing import TYPE_CHECKING, Any

from ...graph.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Recipe", "custom_objects", "find_innermost", "name_functions", "under_policy"]

_naming = threading.Lock()


@dataclass(frozen=True)
class Recipe:
    """A model, pickled, with what the user defined for it.

    Its name follows from its configuration and the user's code, not from weights, the learning rate or the numbers
    that Keras gives layers: models of the same name share what is compiled.
    """

    name: bytes
    backend: str
    policy: str
    custom: bytes
    pickled: bytes

    @classmethod
    def of(cls, model: Any) -> Recipe:
        """Return the recipe of a compiled model."""
        keras = importlib.import_module("keras")
        dumps = importlib.import_module("cloudpickle").dumps
        with name_functions(model) as names:
            custom: bytes = dumps((custom_objects(model), names))
            config = keras.saving.serialize_keras_object(model)
            pickled: bytes = dumps(model)
        rate = ((config.get("compile_config") or {}).get("optimizer") or {}).get("config", {})
        if isinstance(rate.get("learning_rate"), float):
            rate["learning_rate"] = 0.0
        rate.pop("name", None)
        names = {layer.name: f"layer {i}" for i, layer in enumerate(model._flatten_layers(recursive=True))}
        told = json.dumps(_rename(config, names), sort_keys=True, default=repr).encode()
        name = blake2b(told + custom, digest_size=16).digest()
        return cls(name, keras.backend.backend(), model.dtype_policy.name, custom, pickled)

    def load(self) -> Any:
        """Return a copy of the model."""
        try:
            custom, names = pickle.loads(self.custom)
            with _custom(custom), under_policy(self.policy):
                made = pickle.loads(self.pickled)
            for name, before in names.items():
                custom[name].__name__ = before
            return made
        except Exception as error:
            expected = "one that Keras can save and load, with a get_config() that fits its constructor"
            why = (str(error).splitlines() or [""])[0]
            came = f"a model of which Keras can't make a copy: {type(error).__name__}: {why}"
            raise ArgumentError(f"distribute: argument 'model' is {came}; expected {expected}") from error


def _rename(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _rename(one, names) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_rename(one, names) for one in value]
    return names.get(value, value) if isinstance(value, str) else value


def custom_objects(model: Any) -> dict[str, Any]:
    """Return the classes and functions that the user wrote for a model, by the names that Keras looks up."""
    registered = importlib.import_module("keras.saving").get_registered_name
    found: dict[str, Any] = {}
    for value in _parts(model):
        kind = value if isinstance(value, type | FunctionType) else type(value)
        if not _is_keras(kind):
            found |= {kind.__name__: kind, registered(kind): kind}
    return found


def _custom(objects: dict[str, Any]) -> AbstractContextManager[Any]:
    found: AbstractContextManager[Any] = importlib.import_module("keras.saving").custom_object_scope(objects)
    return found


@contextmanager
def under_policy(name: str) -> Iterator[None]:
    """Hold a dtype policy in this thread: by it Keras decides whether an optimiser scales its loss."""
    policies = importlib.import_module("keras.config")
    before = policies.dtype_policy()
    policies.set_dtype_policy(name)
    try:
        yield
    finally:
        policies.set_dtype_policy(before)


@contextmanager
def name_functions(model: Any) -> Iterator[dict[str, str]]:
    """Give a model's lambdas, and functions of one name, names of their own; yield these with the ones before.

    Keras would save a lambda's instructions without the names that they use, and finds other functions by name.
    """
    registered = importlib.import_module("keras.saving").get_registered_name
    functions = {id(f): f for f in _parts(model) if isinstance(f, FunctionType) and not _is_keras(f)}
    mine = [f for f in functions.values() if registered(f) == f.__name__]
    before = [f.__name__ for f in mine]
    with _naming:
        try:
            for number, function in enumerate(mine):
                if before.count(function.__name__) > 1 or not function.__name__.isidentifier():
                    function.__name__ = f"function_{number}"
            yield {f.__name__: name for f, name in zip(mine, before, strict=True) if f.__name__ != name}
        finally:
            for function, name in zip(mine, before, strict=True):
                function.__name__ = name


def _is_keras(function: Any) -> bool:
    return str(function.__module__).partition(".")[0] in ("keras", "builtins", "windrow")


def _parts(model: Any) -> Iterator[Any]:
    """Yield a model, its layers, what it was compiled with, and the functions and objects that these have."""
    compiled = [model.optimizer, find_innermost(model.optimizer), *_leaves(model.loss)]
    metrics = getattr(model, "_compile_metrics", None)
    if metrics is not None:
        compiled += _leaves([metrics._user_metrics, metrics._user_weighted_metrics])
    for value in (*model._flatten_layers(include_self=True, recursive=True), *compiled):
        yield value
        if not isinstance(value, type | FunctionType):
            # Keras puts functions of its own around a layer's methods, which bear the names of the user's.
            own = (one for name, one in vars(value).items() if not hasattr(type(value), name))
            yield from (one for one in own if isinstance(one, FunctionType) or _is_part(one))


def find_innermost(optimizer: Any) -> Any:
    """Return the optimiser that takes the steps, which one that scales the loss has within."""
    while hasattr(optimizer, "inner_optimizer"):
        optimizer = optimizer.inner_optimizer
    return optimizer


def _is_part(value: Any) -> bool:
    """Tell whether something is one of the small objects that Keras saves with a layer, such as an initializer."""
    return hasattr(value, "get_config") and hasattr(type(value), "from_config")


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for one in value:
            yield from _leaves(one)
    elif value is not None and not isinstance(value, str):
        yield value
