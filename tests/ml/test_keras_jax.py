"""The tests of Keras models once more on JAX's backend, where it is installed beside TensorFlow."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("jax", "keras")), reason="JAX and Keras aren't installed"
)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "name", ["test_keras.py", "test_keras_traps.py", "test_keras_limits.py", "test_keras_arguments.py"]
)
def test_on_jax(launch, name):
    here = Path(__file__).parent / name
    words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(here.parents[2]), str(here)]
    done = launch(0, *words, limit=400, KERAS_BACKEND="jax")
    assert done.status == 0, done.out
    assert " passed" in done.last
