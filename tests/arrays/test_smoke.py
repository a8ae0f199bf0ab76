"""The first things that anyone tries."""

from __future__ import annotations

import numpy as np

import windrow as wr


def test_sums_of_ones():
    assert wr.ones((100, 30), chunks=(30, 7)).sum().compute() == 3000


def test_an_expression_over_uneven_chunks():
    data = np.random.default_rng(0).random((37, 23))
    x = wr.from_array(data, chunks=(10, 5))
    np.testing.assert_allclose(((x - x.mean(axis=0)) / x.std(axis=0)).compute(), (data - data.mean(0)) / data.std(0))
    np.testing.assert_array_equal((x + x.T.rechunk(4).T).compute(), data + data)
    np.testing.assert_allclose((x @ x.T).compute(), data @ data.T)
