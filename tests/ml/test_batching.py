"""The batch size that is found by measuring."""

from __future__ import annotations

import numpy as np
import pytest

import windrow as wr
from windrow.ml import train
from windrow.ml.training.batching import double_batch, measure_growth, most_rows, room
from windrow.ml.training.shards import cut_shards


def plainly(work):
    return work(), 0


def test_it_grows_as_long_as_it_gains():
    assert double_batch(lambda size: 1.0 + size / 1000, 1 << 20, 1 << 40, plainly) == 4096  # 8192 would give 11 % more
    assert double_batch(lambda size: 1.0 + size / 100_000, 1 << 20, 1 << 40, plainly) == 1 << 19  # above 4096 as well
    assert double_batch(lambda size: 1.0, 5000, 1 << 40, plainly) == 4096
    assert double_batch(float, 1 << 20, 1 << 40, plainly) == 32


def test_it_ends_where_memory_does():
    sizes = []

    def growing(work):
        return work(), 1000 * sizes[-1]

    def seconds(size):
        sizes.append(size)
        return 1.0

    assert double_batch(seconds, 1 << 20, 1000 * 1024, growing) == 1024  # twice as many wouldn't fit
    assert sizes[-1] == 1024

    def failing(size):
        if size > 256:
            raise MemoryError
        return 1.0

    assert double_batch(failing, 1 << 20, 1 << 40, plainly) == 256


def test_memory_is_measured():
    def work():
        return float(np.ones(1 << 22).sum())

    found, grown = measure_growth(work)
    assert found == 1 << 22
    assert 24 << 20 < grown < 400 << 20  # 32 MiB, beside what other threads do
    assert 1 << 20 < room() < 1 << 50


def test_wide_rows_have_fewer_in_a_batch(monkeypatch):
    monkeypatch.setattr("windrow.ml.training.batching.room", lambda: 1 << 20)
    wide, narrow = (cut_shards("test", [wr.ones((64_000, n))], 2, False, 0) for n in (64, 1))
    assert most_rows(wide) == (1 << 20) // (4 * 64 * 8)
    assert most_rows(narrow) == 32_000 // 16


@pytest.mark.parametrize("batch_size", ["auto"])
def test_training_tells_it(batch_size):
    def step(w, X):
        return w + X.mean()

    _, history = train(step, np.zeros(1), wr.ones((200_000, 1)), batch_size=batch_size, shards=1)
    assert history.batch_size in [32 << k for k in range(9)]
    assert len(history.seconds) == 1
