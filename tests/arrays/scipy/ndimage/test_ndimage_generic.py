"""Filters by functions of the user's own are as in SciPy, whatever the chunks."""

from __future__ import annotations

import numpy as np
import pytest

import windrow as wr
from support.beside_scipy import same

ndimage = pytest.importorskip("scipy.ndimage")

A = np.random.default_rng(0).random((11, 13))


def spread(near, scale=1):
    return (near.max() - near.min()) * scale


def sums(line, out):
    out[...] = line[:-2] + line[2:]


@pytest.mark.parametrize("mode", ["reflect", "constant", "wrap", ["wrap", "nearest"]], ids=str)
def test_functions_of_neighbours(mode):
    same("ndimage", "generic_filter", [A], (4, 5), spread, 3, mode=mode)
    same("ndimage", "generic_filter", [A], (4, 5), spread, footprint=np.eye(3), origin=(1, 0), mode=mode)
    same("ndimage", "generic_filter", [A], (4, 5), spread, 2, mode=mode, extra_keywords={"scale": 2}, output="f4")
    if isinstance(mode, str):
        same("ndimage", "generic_filter1d", [A], (4, 5), sums, 3, 0, mode=mode)


def test_what_is_refused():
    with pytest.raises(wr.ArgumentError, match="generic_filter: argument 'function'"):
        wr.ndimage.generic_filter(wr.ones(3), 5, 3)
    with pytest.raises(wr.WindrowError, match="generic_filter"):
        wr.ndimage.generic_filter(wr.ones(3), spread)
