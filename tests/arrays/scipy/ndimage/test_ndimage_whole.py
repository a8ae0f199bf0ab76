"""What needs a whole array is as in SciPy; several chunks are refused, by name."""

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


def test_what_is_refused():
    with pytest.raises(wr.ArgumentError, match="distance_transform_edt: indices"):
        wr.ndimage.distance_transform_edt(wr.ones(3), return_indices=True)
