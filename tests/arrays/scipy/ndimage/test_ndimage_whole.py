"""What needs a whole array, or a function of the user's own, is as in SciPy; several chunks are refused, by name."""

from __future__ import annotations

import numpy as np
import pytest

import windrow as wr
from support.beside_scipy import same

ndimage = pytest.importorskip("scipy.ndimage")

A = np.random.default_rng(0).random((11, 13))
WHOLE = {
    "fourier_gaussian": [((1.5,), {}), (((1, 2),), {"n": 24, "axis": 1})],
    "fourier_uniform": [((3,), {}), (((1, 2),), {"n": 20, "axis": 0})],
    "fourier_ellipsoid": [((3,), {})],
    "fourier_shift": [((1.5,), {}), (((1, 2),), {})],
    "distance_transform_edt": [((), {}), ((), {"sampling": (1, 2)})],
    "distance_transform_cdt": [((), {}), (("taxicab",), {})],
}


@pytest.mark.parametrize("name", WHOLE)
def test_whole_arrays(name):
    for x in (A, (A > 0.3).astype(np.uint8), A.astype("f4")):
        for args, keywords in WHOLE[name]:
            same("ndimage", name, [x], -1, *args, rtol=1e-5, **keywords)
    (args, keywords), *_ = WHOLE[name]
    with pytest.raises(wr.ArgumentError, match=rf"{name}: it needs the whole array"):
        getattr(wr.ndimage, name)(wr.from_array(A, chunks=5), *args, **keywords)


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
    with pytest.raises(wr.ArgumentError, match="distance_transform_edt: indices"):
        wr.ndimage.distance_transform_edt(wr.ones(3), return_indices=True)
