"""What libraries write into: what they are handed for reading can't be written to, so that nothing is lost silently."""

from __future__ import annotations

import numpy as np
import pytest

import windrow as wr

X = np.arange(12.0).reshape(3, 4)


def lazy():
    return wr.from_array(X.copy(), chunks=2)


BLANK = [
    lambda: wr.empty((3, 4)),
    lambda: wr.ones(()),
    lambda: np.zeros_like(lazy())[1:].reshape(-1),
    lambda: np.full_like(lazy(), 3).astype("f4").T,
    lambda: partly_filled(),
]


def partly_filled():
    x = np.zeros_like(lazy())
    x[0], x[[1, 2], [0, 1]] = 5, 7
    return x


@pytest.mark.parametrize("make", BLANK)
def test_what_libraries_make_to_be_filled_is_read_only(make):
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


READ = [
    lazy, lambda: lazy() + 1, lambda: lazy()[0, 0], lambda: lazy()[::-1], lambda: lazy().persist(),
    lambda: lazy().sum(), lambda: lazy().reshape(-1), lambda: wr.arange(6), lambda: wr.arange(3).persist(),
    lambda: wr.zeros((3, 4)) + lazy(),
]  # fmt: skip


@pytest.mark.parametrize("make", READ)
def test_what_is_computed_can_be_written_to_and_is_nobody_elses(make):
    x = make()
    for read in (np.asarray, np.asanyarray, lambda y: np.asarray(y, "f4"), lambda y: y.compute()[...]):
        before = np.array(x)
        found = read(x)
        found += 1
        np.testing.assert_allclose(found, before + 1)
        again = np.asarray(x)
        again *= 0
        np.testing.assert_array_equal(np.array(x), before)
        np.testing.assert_array_equal(x.compute(), before)
        np.testing.assert_array_equal((x + 0).compute(), before)


def test_writing_leaves_the_users_array_as_it_is():
    own, seen = X.copy(), X.copy()
    seen.flags.writeable = False
    for source in (own, seen):
        for x in (wr.from_array(source, chunks=2), wr.from_array(source), wr.asarray(source)):
            np.asarray(x)[...] = -1
            np.asarray(x[1:2])[...] = -1
            np.asarray(x[0])[...] = -1
            np.testing.assert_array_equal(source, X)
            np.testing.assert_array_equal(x.compute(), X)


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


def scale(x):
    x = np.asarray(x)
    x -= x.mean(0)
    x /= x.std(0)
    return x


def sort(x):
    x = np.asarray(x)
    x.sort(axis=1)
    return x


def of_scikit_learn(name, method="fit_transform", **keywords):
    """A call of an estimator of scikit-learn's on a table, with attributes where it predicts."""
    space, _, kind = name.partition(".")

    def call(x):
        module = pytest.importorskip("sklearn." + space)
        return getattr(getattr(module, kind)(**keywords), method)(x)

    return call


def of_skimage(space, name, **keywords):
    return lambda x: getattr(pytest.importorskip("skimage." + space), name)(x, **keywords)


def of_pandas(x):
    frame = pytest.importorskip("pandas").DataFrame(np.asarray(x), copy=False)
    frame.iloc[0] = 3
    return frame.to_numpy()


def of_pillow(x):
    image = pytest.importorskip("PIL.Image").fromarray(np.asarray(x, "u1"))
    image.putpixel((0, 0), 9)
    return np.asarray(image)


def of_bottleneck(x):
    x = np.asarray(x)
    pytest.importorskip("bottleneck").replace(x, 3.0, -1.0)
    return x


def of_matplotlib(x):
    pytest.importorskip("matplotlib")
    from matplotlib.cbook import safe_masked_invalid
    from matplotlib.colors import Normalize

    return np.stack([Normalize()(np.asarray(x)).data, safe_masked_invalid(x, copy=True)])


def of_scipy(space, name, *more, **keywords):
    return lambda x: getattr(pytest.importorskip("scipy." + space), name)(x, *more, **keywords)


TABLE = np.random.default_rng(3).random((40, 4))
LIBRARIES = {
    "numpy in place": scale,
    "numpy sort": sort,
    "numpy shuffle": lambda x: np.random.default_rng(0).permuted(np.asarray(x), axis=0, out=np.asarray(x)),
    "KMeans": of_scikit_learn("cluster.KMeans", "fit_predict", n_clusters=3, random_state=0, n_init=2),
    "BisectingKMeans": of_scikit_learn("cluster.BisectingKMeans", "fit_predict", n_clusters=3, random_state=0),
    "SpectralClustering": of_scikit_learn("cluster.SpectralClustering", "fit_predict", n_clusters=2, random_state=0),
    "FastICA": of_scikit_learn("decomposition.FastICA", random_state=0, whiten="unit-variance", max_iter=2000),
    "FactorAnalysis": of_scikit_learn("decomposition.FactorAnalysis", random_state=0),
    "NMF": of_scikit_learn("decomposition.NMF", n_components=2, random_state=0, max_iter=2000),
    "PCA copy=False": of_scikit_learn("decomposition.PCA", n_components=2, copy=False),
    "StandardScaler copy=False": of_scikit_learn("preprocessing.StandardScaler", copy=False),
    "Normalizer copy=False": of_scikit_learn("preprocessing.Normalizer", copy=False),
    "PowerTransformer": of_scikit_learn("preprocessing.PowerTransformer", copy=False),
    "SimpleImputer copy=False": of_scikit_learn("impute.SimpleImputer", copy=False),
    "GaussianMixture": of_scikit_learn("mixture.GaussianMixture", "fit_predict", n_components=2, random_state=0),
    "IsolationForest": of_scikit_learn("ensemble.IsolationForest", "fit_predict", random_state=0, n_estimators=9),
    "skimage flood_fill": of_skimage("segmentation", "flood_fill", seed_point=(0, 0), new_value=5),
    "skimage rescale_intensity": of_skimage("exposure", "rescale_intensity"),
    "skimage denoise": of_skimage("restoration", "denoise_tv_chambolle"),
    "skimage reconstruction": lambda x: of_skimage("morphology", "reconstruction", mask=TABLE + 1)(x),
    "skimage erosion": of_skimage("morphology", "erosion"),
    "skimage median": of_skimage("filters", "median"),
    "scipy.linalg overwriting": of_scipy("linalg", "svd", overwrite_a=True, compute_uv=False),
    "scipy.linalg qr": of_scipy("linalg", "qr", overwrite_a=True, mode="r"),
    "scipy.fft overwriting": of_scipy("fft", "fft", overwrite_x=True),
    "scipy.signal detrend": of_scipy("signal", "detrend", overwrite_data=True),
    "scipy.cluster": of_scipy("cluster.vq", "whiten"),
    "scipy.stats": of_scipy("stats", "zscore"),
    "pandas": of_pandas,
    "PIL": of_pillow,
    "bottleneck": of_bottleneck,
    "matplotlib": of_matplotlib,
}
REFUSED = {"skimage erosion", "skimage median"}
"""What makes its result by `empty_like`, in C: an error, never zeros."""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", LIBRARIES)
def test_libraries_that_write_are_right(name):
    x = wr.from_array(TABLE.copy(), chunks=(16, 3))
    expected = LIBRARIES[name](TABLE.copy())
    try:
        found = LIBRARIES[name](x)
    except ValueError as error:
        assert name in REFUSED, error  # noqa: PT017
        return
    for one, other in zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]:
        np.testing.assert_allclose(np.asarray(one), other, rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(x.compute(), TABLE)


def test_blank_arrays_joined_with_themselves_are_told_at_once():
    x = wr.zeros(1)
    for _ in range(64):
        x = wr.concatenate([x, x])[:1]
    assert not np.asarray(x).flags.writeable


def test_results_that_are_equal_have_memory_of_their_own():
    x = lazy()
    for pair in ((x, x), (x, x.rechunk(1)), (wr.zeros(3), wr.zeros(3)), ([x, x],)):
        first, second = wr.compute(*pair)
        before = second.copy()
        first += 1
        np.testing.assert_array_equal(second, before)
