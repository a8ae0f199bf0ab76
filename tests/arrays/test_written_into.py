"""What libraries write into: what they are handed for reading can't be written to, so that nothing is lost silently."""

from __future__ import annotations

import numpy as np
import pytest

import windrow as wr

X = np.arange(12.0).reshape(3, 4)


def lazy():
    return wr.from_array(X.copy(), chunks=2)


@pytest.mark.parametrize(
    "make", [lazy, lambda: lazy() + 1, lambda: wr.empty((3, 4)), lambda: lazy()[0, 0], lambda: wr.ones(())]
)
def test_what_is_handed_for_reading_is_read_only(make):
    for found in (np.asarray(make()), np.asanyarray(make()), np.asarray(make(), "f4"), np.asarray(make(), copy=None)):
        assert not found.flags.writeable
    for found in (
        np.array(make()),
        np.asarray(make(), copy=True),
        np.array(make(), "f4"),
        np.require(make(), "f8", "W"),
    ):
        assert found.flags.writeable
        assert found.flags.owndata


def test_what_users_compute_is_their_own():
    for found in (lazy().compute(), wr.compute(lazy(), wr.ones(3))[1], wr.ones(()).compute(), lazy()[0, ...].compute()):
        assert found.flags.writeable
        found[...] = 5


def test_writing_into_a_temporary_is_an_error():
    def erode(image, out):
        """As libraries in C do: what isn't NumPy's is converted, and written to."""
        target = np.asarray(out)
        np.minimum(image, 3, out=target)
        return out

    with pytest.raises(ValueError, match="read-only"):
        erode(X, wr.empty((3, 4)))
    own = np.empty((3, 4))
    assert erode(X, own) is own
    np.testing.assert_array_equal(own, np.minimum(X, 3))


def test_scipy_that_filters_into_an_output():
    ndimage = pytest.importorskip("scipy.ndimage")
    found = ndimage.grey_erosion(lazy(), size=3)
    np.testing.assert_array_equal(found, ndimage.grey_erosion(X, size=3))
    with pytest.raises(ValueError, match="read-only"):
        ndimage.grey_erosion(X, size=3, output=np.asarray(wr.zeros((3, 4))))


def test_skimage_erosion_says_so():
    morphology = pytest.importorskip("skimage.morphology")
    try:
        found = morphology.erosion(lazy())
    except ValueError as error:
        assert "read-only" in str(error)  # noqa: PT017
    else:
        np.testing.assert_array_equal(found, morphology.erosion(X))
    np.testing.assert_array_equal(morphology.erosion(lazy().compute()), morphology.erosion(X))


def test_scikit_learn_that_writes_takes_a_copy():
    preprocessing = pytest.importorskip("sklearn.preprocessing")
    found = preprocessing.StandardScaler(copy=False).fit_transform(np.array(lazy()))
    np.testing.assert_allclose(found, preprocessing.StandardScaler().fit_transform(X))
