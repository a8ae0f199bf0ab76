"""The tests of Keras models once more on JAX's backend, where it is installed beside TensorFlow."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("jax")
pytest.importorskip("keras")


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", ["test_keras.py", "test_keras_traps.py", "test_keras_limits.py"])
def test_on_jax(launch, name):
    here = Path(__file__).parent / name
    words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(here.parents[2]), str(here)]
    done = launch(0, *words, limit=400, KERAS_BACKEND="jax")
    assert done.status == 0, done.out
    assert " passed" in done.last
