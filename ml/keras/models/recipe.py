"""The recipe of a Keras model: a pickle from which ranks make copies."""

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
from ....graph.errors import ArgumentError, BadValue, InWords, bad
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
"""Numbers of a model from which on its pickle is a shared object; a smaller one is sent with each round."""
_naming = threading.Lock()


@dataclass(frozen=True)
class Recipe:
    """A pickled model, with the classes and functions that the user wrote for it.

    Its name follows from the configuration, the user's code and the pace, but not from weights, the learning rate or
    the numbers that Keras gives layers. Models of the same name share compiled functions.
    """

    name: bytes
    backend: str
    policy: str
    custom: bytes
    pickled: Any
    """Bytes, or a shared object with an array of them."""
    pace: Pace
    log_level: str = ""
    """The script's level of TensorFlow's log messages."""
    content: bytes = b""
    """A fingerprint of configuration, code and weights, if several processes run the script (SPMD mode); else empty."""

    @classmethod
    def of(cls, model: Any, pace: Pace | None = None) -> Recipe:
        """Return the recipe of a model whose copies train at this pace."""
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
        """Return the recipe for many rounds: the pickle of a large model is shared, so it is sent once to each host."""
        if sum(int(np.prod(v.shape)) for v in model.variables) < LARGE:  # decided by the same number on all ranks
            return self
        return replace(self, pickled=share(np.frombuffer(self.pickled, np.uint8)))

    def _named_by(self) -> tuple[Any, ...]:
        """Return what names a function that refers to this recipe; pickles differ between processes."""
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


def _name_content(config: bytes, objects: dict[str, Any], model: Any) -> bytes:
    """Return a fingerprint of a model with its weights; raise where ranks that run the script have another one."""
    weights = fingerprint([np.asarray(v) for v in model.variables])
    if weights != session().once("model", (), lambda: weights):
        expected = "the same on all ranks: keras.utils.set_random_seed before it is built, or set_weights"
        raise BadValue(bad("fit", "model", InWords("one whose weights are others than on rank 0"), expected))
    return fingerprint((config, objects, weights))


def _rename(value: Any, names: dict[str, str], shared: dict[int, int]) -> Any:
    """Return a configuration in which the names of layers and the ids of shared objects are numbered anew."""
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
    """Set a dtype policy in this thread: by it Keras decides whether an optimiser scales its loss."""
    policies = importlib.import_module("keras.config")
    before = policies.dtype_policy()
    policies.set_dtype_policy(name)
    try:
        yield
    finally:
        policies.set_dtype_policy(before)


@contextmanager
def name_functions(model: Any) -> Iterator[dict[str, str]]:
    """Rename a model's lambdas, and functions with equal names, for a while; yield the new names with the old ones.

    Keras would save a lambda's bytecode without its globals; it looks up other functions by name.
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
    """Yield a model, its layers, its optimiser, losses and metrics, and the functions and objects within these."""
    optimizer, metrics = getattr(model, "optimizer", None), getattr(model, "_compile_metrics", None)
    compiled = [optimizer, find_innermost(optimizer), *_leaves(model.loss)] if optimizer is not None else []
    if metrics is not None:
        compiled += _leaves([metrics._user_metrics, metrics._user_weighted_metrics])
    for value in (*model._flatten_layers(include_self=True, recursive=True), *compiled):
        yield value
        if not isinstance(value, type | FunctionType):
            # Keras wraps a layer's methods in functions of its own, with the names of the user's.
            own = (one for name, one in vars(value).items() if not hasattr(type(value), name))
            yield from (one for one in own if isinstance(one, FunctionType) or _is_part(one))


def _is_part(value: Any) -> bool:
    """Tell whether a value is an object that Keras saves with a layer, such as an initializer."""
    return hasattr(value, "get_config") and hasattr(type(value), "from_config")


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for one in value:
            yield from _leaves(one)
    elif value is not None and not isinstance(value, str):
        yield value
