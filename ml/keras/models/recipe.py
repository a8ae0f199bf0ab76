"""A model as it travels to ranks."""

from __future__ import annotations

import importlib
import json
import os
import pickle
import threading
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from hashlib import blake2b
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from ....arrays.user_functions.travel.fingerprints import fingerprint
from ....graph.errors import ArgumentError, BadValue, bad
from ....graph.expr.names import agreed
from ....scheduler.session.cluster import session
from ....scheduler.shared.shared_objects import share
from ....workers.shared.shared_objects import Shared
from ..pace import Pace, find_innermost

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["LOG_LEVEL", "Recipe", "custom_objects", "name_functions", "under_policy"]

LOG_LEVEL = "TF_CPP_MIN_LOG_LEVEL"
LARGE = 1 << 14
"""Numbers of a model from which on it is shared: what is smaller travels as fast with each round."""
_naming = threading.Lock()


@dataclass(frozen=True)
class Recipe:
    """A model, pickled, with what the user defined for it.

    Its name follows from its configuration, the user's code and its pace, not from weights, the learning rate or the
    numbers that Keras gives layers: models of the same name share what is compiled.
    """

    name: bytes
    backend: str
    policy: str
    custom: bytes
    pickled: Any
    """Bytes, or an array of such, which may be shared."""
    pace: Pace
    log_level: str = ""
    """What the script has set for TensorFlow's messages."""
    content: bytes = b""
    """Of its configuration, the user's code and its weights, where several processes have the model; else empty."""

    @classmethod
    def of(cls, model: Any, pace: Pace | None = None) -> Recipe:
        """Return the recipe of a model, whose copies train at a pace."""
        pace = pace or Pace()
        keras = importlib.import_module("keras")
        dumps = importlib.import_module("cloudpickle").dumps
        with name_functions(model) as names:
            objects = custom_objects(model)
            custom: bytes = dumps((objects, names))
            config = keras.saving.serialize_keras_object(model)
            pickled: bytes = dumps(model)
        rate = ((config.get("compile_config") or {}).get("optimizer") or {}).get("config", {})
        if isinstance(rate.get("learning_rate"), float):
            rate["learning_rate"] = 0.0
        rate.pop("name", None)
        names = {layer.name: f"layer {i}" for i, layer in enumerate(model._flatten_layers(recursive=True))}
        config_json = json.dumps(_rename(config, names, {}), sort_keys=True, default=repr).encode()
        name = blake2b(config_json + custom + repr(pace).encode(), digest_size=16).digest()
        content = _name_content(config_json, objects, model) if agreed() else b""
        return cls(
            name,
            keras.backend.backend(),
            model.dtype_policy.name,
            custom,
            pickled,
            pace,
            os.environ.get(LOG_LEVEL, ""),
            content,
        )

    def shared(self, model: Any) -> Recipe:
        """Return it for many rounds of a model's training: a large one travels by name, and once to each host."""
        if sum(int(np.prod(v.shape)) for v in model.variables) < LARGE:  # the same on all ranks
            return self
        return replace(self, pickled=share(np.frombuffer(self.pickled, np.uint8)))

    def _named_by(self) -> tuple[Any, ...]:
        """Tell by what a function is named that holds this: pickles differ between processes."""
        return self.content, self.backend, self.policy, self.pace

    def load(self) -> Any:
        """Return a copy of the model."""
        try:
            custom, names = pickle.loads(self.custom)
            with _custom(custom), under_policy(self.policy):
                model = pickle.loads(self.pickled.value if isinstance(self.pickled, Shared) else self.pickled)
            for name, before in names.items():
                custom[name].__name__ = before
            self.pace.set(model)
            return model
        except Exception as error:
            expected = "one that Keras can save and load, with a get_config() that fits its constructor"
            why = (str(error).splitlines() or [""])[0]
            came = f"a model of which Keras can't make a copy: {type(error).__name__}: {why}"
            raise ArgumentError(f"distribute: argument 'model' is {came}; expected {expected}") from error


def _name_content(told: bytes, objects: dict[str, Any], model: Any) -> bytes:
    """Return what names a model with its weights in all processes that run this program.

    Raises
    ------
    BadValue
        Its weights are others than in the first process.
    """
    weights = fingerprint([np.asarray(v) for v in model.variables])
    if weights != session().once("model", (), lambda: weights):
        expected = "the same on all ranks: keras.utils.set_random_seed before it is built, or set_weights"
        raise BadValue(bad("fit", "model", "one whose weights are others than on rank 0", expected))
    return fingerprint((told, objects, weights))


def _rename(value: Any, names: dict[str, str], shared: dict[int, int]) -> Any:
    """Return a configuration without what differs from model to model, and the ids of what it has several times."""
    if isinstance(value, dict):
        renamed = {key: _rename(one, names, shared) for key, one in value.items()}
        if "shared_object_id" in renamed:
            renamed["shared_object_id"] = shared.setdefault(renamed["shared_object_id"], len(shared))
        return renamed
    if isinstance(value, list | tuple):
        return [_rename(one, names, shared) for one in value]
    return names.get(value, value) if isinstance(value, str) else value


def custom_objects(model: Any) -> dict[str, Any]:
    """Return the classes and functions that the user wrote for a model, by the names that Keras looks up."""
    registered = importlib.import_module("keras.saving").get_registered_name
    objects: dict[str, Any] = {}
    for value in _parts(model):
        kind = value if isinstance(value, type | FunctionType) else type(value)
        if not _is_keras(kind):
            objects |= {kind.__name__: kind, registered(kind): kind}
    return objects


def _custom(objects: dict[str, Any]) -> AbstractContextManager[Any]:
    scope: AbstractContextManager[Any] = importlib.import_module("keras.saving").custom_object_scope(objects)
    return scope


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
    optimizer, metrics = getattr(model, "optimizer", None), getattr(model, "_compile_metrics", None)
    compiled = [optimizer, find_innermost(optimizer), *_leaves(model.loss)] if optimizer is not None else []
    if metrics is not None:
        compiled += _leaves([metrics._user_metrics, metrics._user_weighted_metrics])
    for value in (*model._flatten_layers(include_self=True, recursive=True), *compiled):
        yield value
        if not isinstance(value, type | FunctionType):
            # Keras puts functions of its own around a layer's methods, which bear the names of the user's.
            own = (one for name, one in vars(value).items() if not hasattr(type(value), name))
            yield from (one for one in own if isinstance(one, FunctionType) or _is_part(one))


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
