"""Positions of extremes that pass over NaN."""

from __future__ import annotations

import numpy as np
import pytest

import windrow as wr

RNG = np.random.default_rng(4)


@pytest.mark.parametrize("name", ["nanargmin", "nanargmax", "argmin", "argmax"])
@pytest.mark.parametrize(("shape", "chunks"), [((40, 9, 70), (7, 4, 70)), ((300, 80), (90, 80)), ((100,), (30,))])
def test_positions_are_numpys_beside_infinities_and_nan(name, shape, chunks):
    """Of NaN and an infinity that is the worst NumPy takes the first, whichever that is."""
    few = RNG.integers(0, 9, shape).astype("f4")
    few[RNG.random(shape) < 0.3] = np.nan
    for infinity in (np.inf, -np.inf):
        few[RNG.random(shape) < 0.1] = infinity
        worst = np.where(RNG.random(shape) < 0.7, infinity, np.float32(np.nan)).astype("f4")
        worst[..., -1], worst[-1] = infinity, infinity
        for values in (few, worst):
            for axis in (None, *range(len(shape))):
                if name.startswith("nan") and np.isnan(values).all(axis).any():
                    continue
                found = getattr(wr, name)(wr.from_array(values, chunks=chunks), axis)
                np.testing.assert_array_equal(found.compute(), getattr(np, name)(values, axis))


def test_what_is_reduced_is_read_once():
    x = wr.from_array(RNG.random((40, 50)), chunks=(10, 50))
    assert sum(stage.bytes_read for stage in wr.explain(wr.nanargmax(x, 0)).stages) == x.nbytes


def test_lines_of_nan_alone_raise():
    values = RNG.random((20, 90))
    values[:, 5] = np.nan
    for axis in (0, 1):
        given = wr.from_array(values if axis == 0 else values.T, chunks=7)
        with pytest.raises(ValueError, match="nanargmax: all-NaN slice encountered"):
            wr.nanargmax(given, axis).compute()
