"""Components of rows with more features than rows, and those found by random vectors."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.decomposition

import windrow as wr
from windrow.ml.decomposition import PCA, TruncatedSVD
from windrow.ml.estimators import directions

RNG = np.random.default_rng(4)
WIDE = (RNG.normal(size=(60, 60)) * 0.88 ** np.arange(60)) @ RNG.normal(size=(60, 400)) + RNG.normal(size=400)
ATTRIBUTES = ("components_", "singular_values_", "explained_variance_", "explained_variance_ratio_")


def lazy(rows):
    return wr.from_array(rows, chunks=(17, rows.shape[1]))


def close(model, wanted, **how):
    for name in ATTRIBUTES:
        np.testing.assert_allclose(getattr(model, name), getattr(wanted, name), err_msg=name, **how)


@pytest.fixture
def no_squares(monkeypatch):
    """Let nothing make a matrix of features by features."""

    def refused(X, centre):
        raise AssertionError("X'X of wide rows")

    monkeypatch.setattr(directions, "_square", refused)


@pytest.mark.parametrize("count", [5, 0.9, None])
def test_wide_rows_have_scikit_learns_components(no_squares, count):
    model, wanted = PCA(count).fit(lazy(WIDE)), sklearn.decomposition.PCA(count, svd_solver="full").fit(WIDE)
    shown = slice(0, 59 if count is None else None)  # 60 centred rows have 59 directions
    assert model.components_.shape == wanted.components_.shape
    np.testing.assert_allclose(model.components_[shown], wanted.components_[shown], rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(model.singular_values_[shown], wanted.singular_values_[shown], rtol=1e-7)
    np.testing.assert_allclose(model.explained_variance_ratio_, wanted.explained_variance_ratio_, atol=1e-12)
    np.testing.assert_allclose(model.noise_variance_, wanted.noise_variance_, rtol=1e-9, atol=1e-12)
    identity = model.components_ @ model.components_.T
    np.testing.assert_allclose(identity, np.eye(len(identity)), atol=1e-12)
    np.testing.assert_allclose(
        model.transform(lazy(WIDE)).compute()[:, shown], wanted.transform(WIDE)[:, shown], atol=1e-7
    )


def test_wide_rows_have_scikit_learns_singular_vectors(no_squares):
    wanted = sklearn.decomposition.TruncatedSVD(6, algorithm="arpack").fit(WIDE)
    close(TruncatedSVD(6).fit(lazy(WIDE)), wanted, rtol=1e-6, atol=1e-9)


def test_more_singular_vectors_than_rows():
    model = TruncatedSVD(9).fit(lazy(WIDE[:7, :20]))
    assert model.components_.shape == (9, 20)
    np.testing.assert_allclose(model.singular_values_[7:], 0.0, atol=1e-6)


@pytest.mark.parametrize("shape", [(60, 400), (400, 60)])
def test_random_vectors_find_what_decays(no_squares, shape):
    rows = WIDE.reshape(shape) if shape == WIDE.shape else np.ascontiguousarray(WIDE.T)
    model = PCA(4, svd_solver="randomized").fit(lazy(rows))
    close(model, sklearn.decomposition.PCA(4, svd_solver="full").fit(rows), rtol=1e-4, atol=1e-5)
    again = PCA(4, svd_solver="randomized", random_state=0).fit(lazy(rows))
    assert (again.components_ == model.components_).all()
    other = PCA(4, svd_solver="randomized", random_state=1).fit(lazy(rows))
    assert (other.components_ != model.components_).any()
    with pytest.raises(wr.ArgumentError, match=r"n_components' is 0.5; expected an integer"):
        PCA(0.5, svd_solver="randomized").fit(lazy(rows))


def test_large_sides_are_found_by_random_vectors(monkeypatch, no_squares):
    monkeypatch.setattr("windrow.ml.decomposition.EXACT", 50)
    monkeypatch.setattr(directions, "exact_directions", None)
    tall = np.ascontiguousarray(WIDE.T)
    close(PCA(4).fit(lazy(tall)), sklearn.decomposition.PCA(4).fit(tall), rtol=1e-3, atol=1e-4)
    wanted = sklearn.decomposition.TruncatedSVD(4, algorithm="arpack").fit(tall)
    close(TruncatedSVD(4).fit(lazy(tall)), wanted, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("model", [PCA(2), PCA(2, svd_solver="randomized"), TruncatedSVD(2)])
def test_nan_in_wide_rows_is_refused(model):
    rows = WIDE.copy()
    rows[40, 3] = np.nan
    with pytest.raises(wr.BadValue, match="'X' is 'NaN or infinity"):
        model.fit(lazy(rows))
