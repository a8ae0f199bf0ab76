"""What tests of training share."""

from __future__ import annotations

import importlib.util
import os
from collections import OrderedDict

import pytest

import windrow as wr
from windrow.ml.keras.backends.on_tensorflow import TensorFlow
from windrow.ml.keras.models import replicas

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
if importlib.util.find_spec("tensorflow") is None:  # before any test imports Keras
    os.environ.setdefault("KERAS_BACKEND", "jax")

ONE_COPY = {
    "test_keras",
    "test_keras_arguments",
    "test_keras_fit",
    "test_keras_limits",
    "test_keras_metrics",
    "test_keras_shards",
    "test_keras_travel",
    "test_search_keras",
}
"""Tests of what a model learns; test_keras_traps and those on ranks train copies of a model side by side."""

AS_GRAPHS = {
    "test_async",
    "test_going_on",
    "test_keras_arguments",
    "test_keras_metrics",
    "test_keras_shards",
    "test_keras_traps",
    "test_search_keras",
}
"""Tests that don't depend on who compiles a model: XLA, which the others use, takes twice as long as TensorFlow."""


@pytest.fixture(autouse=True, scope="module")
def as_graphs(request):
    """Leave XLA out; copies of models that were compiled by it aren't lent, nor any of these afterwards."""
    if name_of(request.module) not in AS_GRAPHS:
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TensorFlow, "modes", ("graph",))
        patch.setattr(replicas, "_idle", OrderedDict())
        yield


def name_of(module):
    return module.__name__.rpartition(".")[2]


@pytest.fixture(autouse=True, scope="module")
def one_copy(request):
    """One thread, so one copy of a model: TensorFlow takes seconds to compile each."""
    if name_of(request.module) not in ONE_COPY:
        yield
        return
    with wr.Cluster(threads=1):
        yield
