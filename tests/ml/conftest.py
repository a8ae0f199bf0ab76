"""What tests of training share."""

from __future__ import annotations

import importlib.util
import os

import pytest

import windrow as wr

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


@pytest.fixture(autouse=True, scope="module")
def one_copy(request):
    """One thread, so one copy of a model: TensorFlow takes seconds to compile each."""
    if request.module.__name__.rpartition(".")[2] not in ONE_COPY:
        yield
        return
    with wr.Cluster(threads=1):
        yield
