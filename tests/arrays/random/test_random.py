"""Random numbers: distributions, and their independence of chunks."""

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from windrow.workers.kernels.randoms import philox
from windrow.workers.kernels.randoms.special import log_factorial, stirling_rest

N = 60_000

CONTINUOUS: list[tuple[str, tuple[float, ...]]] = [
    ("random", ()),
    ("uniform", (-1.0, 3.0)),
    ("standard_normal", ()),
    ("normal", (2.0, 3.0)),
    ("lognormal", (0.1, 0.5)),
    ("standard_exponential", ()),
    ("exponential", (2.0,)),
    ("laplace", (1.0, 2.0)),
    ("gumbel", (1.0, 2.0)),
    ("logistic", (1.0, 2.0)),
    ("rayleigh", (2.0,)),
    ("triangular", (0.0, 1.0, 3.0)),
    ("triangular", (0.0, 3.0, 3.0)),
    ("standard_gamma", (0.05,)),
    ("standard_gamma", (1.0,)),
    ("gamma", (40.0, 0.5)),
    ("beta", (2.0, 3.0)),
    ("beta", (0.1, 0.2)),
    ("chisquare", (1.0,)),
    ("chisquare", (30.0,)),
    ("noncentral_chisquare", (0.5, 2.0)),
    ("noncentral_chisquare", (3.0, 40.0)),
    ("f", (5.0, 22.0)),
    ("noncentral_f", (5.0, 22.0, 3.0)),
    ("standard_t", (12.0,)),
    ("vonmises", (1.0, 2.0)),
    ("vonmises", (-3.0, 0.3)),
    ("vonmises", (0.5, 1e-9)),
    ("vonmises", (0.5, 3e-6)),
    ("vonmises", (0.5, 3e6)),
    ("pareto", (9.0,)),
    ("weibull", (1.7,)),
    ("power", (2.5,)),
    ("wald", (2.0, 3.0)),
]
WITHOUT_MOMENTS: list[tuple[str, tuple[float, ...]]] = [
    ("standard_cauchy", ()),
    ("standard_t", (1.0,)),
    ("pareto", (0.7,)),
]
DISCRETE: list[tuple[str, tuple[float, ...]]] = [
    ("binomial", (20, 0.3)),
    ("binomial", (20, 0.9)),
    ("binomial", (100, 0.3)),
    ("binomial", (5000, 0.7)),
    ("negative_binomial", (5, 0.4)),
    ("negative_binomial", (0.5, 0.1)),
    ("poisson", (0.3,)),
    ("poisson", (9.9,)),
    ("poisson", (10.0,)),
    ("poisson", (300.0,)),
    ("geometric", (0.05,)),
    ("geometric", (0.7,)),
    ("hypergeometric", (10, 20, 5)),
    ("hypergeometric", (100, 200, 50)),
    ("hypergeometric", (200, 100, 250)),
    ("hypergeometric", (30, 20, 45)),
    ("hypergeometric", (5, 3000, 800)),
    ("zipf", (2.5,)),
    ("zipf", (6.0,)),
    ("logseries", (0.2,)),
    ("logseries", (0.95,)),
    ("integers", (-3, 40)),
]
ALL = CONTINUOUS + WITHOUT_MOMENTS + DISCRETE


def drawn(name: str, params: tuple[Any, ...], size: Any = N, seed: int = 5, chunks: Any = 17_001) -> Any:
    return getattr(wr.random.default_rng(seed), name)(*params, size=size, chunks=chunks).compute()


def of_numpy(name: str, params: tuple[Any, ...], count: int = N, seed: int = 8) -> Any:
    return getattr(np.random.default_rng(seed), name)(*params, size=count)


def distance(a: np.ndarray, b: np.ndarray) -> float:
    """Kolmogorov and Smirnov's statistic of two samples, scaled: below 1.95 in 999 of 1000 cases."""
    a, b = np.sort(a), np.sort(b)
    every = np.concatenate([a, b])
    apart = np.searchsorted(a, every, "right") / len(a) - np.searchsorted(b, every, "right") / len(b)
    return float(np.abs(apart).max() * math.sqrt(len(a) * len(b) / (len(a) + len(b))))


@pytest.mark.parametrize(("name", "params"), CONTINUOUS + WITHOUT_MOMENTS)
def test_continuous_distributions_are_numpys(name, params):
    ours, theirs = drawn(name, params), of_numpy(name, params)
    assert ours.dtype == np.float64
    assert distance(ours, theirs) < 1.95
    if (name, params) in CONTINUOUS:
        for power in (1, 2):
            x, y = ours**power, theirs**power
            assert abs(x.mean() - y.mean()) < 4.5 * math.sqrt((x.var() + y.var()) / N)
    assert abs(np.corrcoef(np.argsort(np.argsort(ours[:-1])), np.argsort(np.argsort(ours[1:])))[0, 1]) < 4.5 / N**0.5


@pytest.mark.parametrize(("name", "params"), DISCRETE)
def test_discrete_distributions_are_numpys(name, params):
    ours, theirs = drawn(name, params), of_numpy(name, params, 4 * N)
    assert ours.dtype == np.int64
    edges = np.unique(np.quantile(theirs, np.linspace(0, 1, 40)))
    a, b = (np.bincount(np.searchsorted(edges, x, "left"), minlength=len(edges) + 1) for x in (ours, theirs))
    some = a + b > 40
    pooled = (a + b)[some] / 5
    statistic = ((a[some] - pooled) ** 2 / pooled + (b[some] - 4 * pooled) ** 2 / (4 * pooled)).sum()
    freedom = max(1, some.sum() - 1)
    assert (statistic - freedom) / math.sqrt(2 * freedom) < 4.5
    if name != "zipf":
        assert abs(ours.mean() - theirs.mean()) < 4.5 * math.sqrt(ours.var() / N + theirs.var() / (4 * N)) + 1e-12


@pytest.mark.parametrize(
    ("name", "params", "cdf"),
    [
        ("standard_normal", (), lambda x: 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))),
        ("standard_exponential", (), lambda x: -np.expm1(-x)),
        ("standard_cauchy", (), lambda x: 0.5 + np.arctan(x) / np.pi),
        ("weibull", (1.7,), lambda x: -np.expm1(-(x**1.7))),
        ("pareto", (0.7,), lambda x: 1 - (1 + x) ** -0.7),
        ("power", (2.5,), lambda x: x**2.5),
        ("logistic", (0.0, 1.0), lambda x: 1 / (1 + np.exp(-x))),
        ("gumbel", (0.0, 1.0), lambda x: np.exp(-np.exp(-x))),
        ("rayleigh", (1.0,), lambda x: -np.expm1(-(x**2) / 2)),
        ("gamma", (2.0, 1.0), lambda x: 1 - np.exp(-x) * (1 + x)),
        ("beta", (2.0, 1.0), lambda x: x * x),
        ("chisquare", (2.0,), lambda x: -np.expm1(-x / 2)),
    ],
)
def test_distribution_functions_are_exact(name, params, cdf):
    level = np.sort(cdf(drawn(name, params)))
    steps = np.arange(N + 1) / N
    apart = max((steps[1:] - level).max(), (level - steps[:-1]).max())
    assert apart * math.sqrt(N) < 1.95


def test_tails_of_normal_numbers():
    x = np.abs(drawn("standard_normal", (), 2_000_000, chunks=300_000))
    for limit in (2.0, 3.0, 4.0, 4.5):
        expected = math.erfc(limit / math.sqrt(2)) * len(x)
        assert abs((x > limit).sum() - expected) < 4.5 * math.sqrt(expected)


def test_extreme_parameters():
    rng = wr.random.default_rng(2)
    assert (rng.binomial(7, 0.0, 99).compute() == 0).all()
    assert (rng.binomial([0, 7], 1.0).compute() == [0, 7]).all()
    assert (rng.poisson(0.0, 99).compute() == 0).all()
    assert (rng.geometric(1.0, 99).compute() == 1).all()
    assert (rng.geometric(1e-300, 9).compute() > 2**62).all()
    assert (rng.standard_gamma(0.0, 99).compute() == 0).all()
    assert (rng.weibull(0.0, 9).compute() == 0).all()
    assert (rng.hypergeometric(5, 0, 3, 9).compute() == 3).all()
    assert (rng.hypergeometric([0, 5, 40], [5, 0, 0], [3, 5, 20]).compute() == [0, 5, 20]).all()
    assert (rng.zipf(2000.0, 99).compute() == 1).all()
    assert (rng.normal(3, 0, 9).compute() == 3).all()
    large = rng.binomial(10**15, 0.25, 20_000).compute()
    assert abs(large.mean() - 2.5e14) < 5 * math.sqrt(1e15 * 3 / 16 / 20_000)
    assert abs(large.std() / math.sqrt(1e15 * 3 / 16) - 1) < 0.03
    many = rng.poisson(1e15, 20_000).compute()
    assert abs(many.std() / 1e15**0.5 - 1) < 0.03
    tiny = rng.beta(1e-3, 1e-3, 5000).compute()
    assert np.isfinite(tiny).all()
    assert abs(tiny.mean() - 0.5) < 0.05
    assert np.isfinite(rng.dirichlet([1e-4, 1e-4, 1e-4], 2000).compute()).all()


def test_log_factorials():
    k = np.array([0, 1, 2, 9, 10, 11, 126, 127, 128, 129, 1000, 4095, 4096, 10**6])
    exact = np.array([math.lgamma(i + 1) for i in k])
    np.testing.assert_allclose(log_factorial(k.astype(float)), exact, rtol=1e-14, atol=1e-15)
    x = k + 1.0
    rest = exact - ((x - 0.5) * np.log(x) - x + 0.5 * math.log(2 * math.pi))
    np.testing.assert_allclose(stirling_rest(k.astype(float)), rest, atol=1e-9)
    np.testing.assert_allclose(stirling_rest(k[:8].astype(float)), rest[:8], rtol=1e-8)


def test_scattered_draws_are_philoxs():
    for name in ((3, 5, 0, 0, 0), (2**64 - 1, 5, 1, 7, 2**63 + 9)):
        run = philox.raw_run(name, 6, 90)
        at = np.arange(6, 96, dtype=np.uint64)
        np.testing.assert_array_equal(philox.raw_at(name, at, 1)[:, 0], run)
        np.testing.assert_array_equal(philox.raw_at(name, at[::2], 2).reshape(-1), run)
    theirs = np.random.Generator(np.random.Philox(7)).random(N)
    np.testing.assert_array_equal(wr.random.default_rng(7).random(N, chunks=19).compute(), theirs)
    np.testing.assert_array_equal(wr.random.default_rng(7).random(N, chunks=1900).compute(), theirs)


GRIDS = st.lists(st.integers(1, 9), min_size=1, max_size=3).flatmap(
    lambda shape: st.tuples(st.just(tuple(shape)), st.tuples(*(st.integers(1, n) for n in shape)))
)


@given(GRIDS, st.integers(0, 7), st.lists(st.sampled_from(ALL), min_size=3, max_size=3))
def test_numbers_do_not_depend_on_chunks(grid, skip, some):
    shape, chunks = grid

    def draw(chunks):
        rng = wr.random.default_rng(5)
        rng.random(skip)
        return wr.compute([getattr(rng, name)(*params, size=shape, chunks=chunks) for name, params in some])

    for one, other in zip(draw(-1), draw(chunks), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(("name", "params"), ALL)
def test_arrays_as_parameters_give_the_same_numbers(name, params):
    alone = drawn(name, params, (30, 41), chunks=-1)
    np.testing.assert_array_equal(drawn(name, params, (30, 41), chunks=(7, 13)), alone)
    np.testing.assert_array_equal(drawn(name, params, (30, 41), chunks=(30, 1)), alone)
    if not params:
        return
    dtype = np.int64 if name == "integers" else None
    rng = wr.random.default_rng(5)
    first = wr.full((30, 41), np.asarray(params[0], dtype)[()], chunks=(11, 10))
    np.testing.assert_array_equal(getattr(rng, name)(first, *params[1:], size=(30, 41)).compute(), alone)
    rng = wr.random.default_rng(5)
    last = np.full(41, params[-1], dtype)
    found = getattr(rng, name)(*params[:-1], last, size=(30, 41), chunks=(8, 9))
    assert found.chunksize == (8, 9)
    np.testing.assert_array_equal(found.compute(), alone)


def test_parameters_broadcast():
    rng = wr.random.default_rng(1)
    assert rng.normal(np.zeros((3, 1)), np.ones(4)).shape == (3, 4)
    assert rng.normal(wr.zeros((3, 1)), 1.0, (5, 3, 4)).shape == (5, 3, 4)
    assert rng.poisson([1, 2, 3]).shape == (3,)
    x = rng.normal(np.array([0.0, 1000.0]), 1.0, (4000, 2)).compute()
    np.testing.assert_allclose(x.mean(axis=0), [0, 1000], atol=0.1)
    assert rng.gamma([], 1.0).compute().shape == (0,)
    dice = rng.integers([1, 10, 100], [7, 20, 1000], (500, 3)).compute()
    assert (dice >= [1, 10, 100]).all()
    assert (dice < [7, 20, 1000]).all()
    assert set(dice[:, 0]) == set(range(1, 7))
    assert rng.integers(0, [256], dtype="u1").dtype == np.uint8
    full = rng.integers(np.array([0], "u8"), np.array([2**64 - 1], "u8"), 9, "u8", endpoint=True)
    assert len(set(full.tolist())) == 9


def test_offsets():
    rng = wr.random.default_rng(4)
    a, b = rng.normal(size=10), rng.normal(size=10)
    assert not (a.compute() == b.compute()).any()
    again = wr.random.default_rng(4).normal(size=20).compute()
    np.testing.assert_array_equal(again, np.concatenate(wr.compute(a, b)))
    assert a.compute().tobytes() == a.compute().tobytes()
    lanes = [wr.random.default_rng(4).gamma(2.0, size=1000), wr.random.default_rng(4).random(1000)]
    x, y = wr.compute(*lanes)
    assert abs(np.corrcoef(x, y)[0, 1]) < 4.5 / 1000**0.5


def test_sizes_and_dtypes():
    rng = wr.random.default_rng(4)
    for name, params in ALL:
        assert getattr(rng, name)(*params).shape == ()
        assert getattr(rng, name)(*params, size=(0, 3)).compute().shape == (0, 3)
        assert getattr(rng, name)(*params, 3).compute().shape == (3,)
    for name in ("random", "standard_normal", "standard_exponential"):
        x = getattr(rng, name)(20_000, dtype="f4")
        assert x.dtype == x.compute().dtype == np.float32
        assert distance(x.compute(), of_numpy(name, ())) < 1.95
    x = rng.standard_gamma(2.0, 20_000, np.float32)
    assert x.compute().dtype == np.float32
    assert distance(x.compute(), of_numpy("standard_gamma", (2.0,))) < 1.95
    assert set(np.unique(rng.integers(2, size=100, dtype=bool).compute())) == {False, True}


def test_methods_take_what_numpys_take():
    mine, theirs = wr.random.Generator, np.random.Generator
    for name in dir(theirs):
        if name.startswith("_") or name == "bit_generator":
            continue
        wanted = inspect.signature(getattr(theirs, name)).parameters
        have = inspect.signature(getattr(mine, name)).parameters
        assert [p for p in have if p != "chunks"] == list(wanted), name
        for key, parameter in wanted.items():
            kinds = {have[key].kind, parameter.kind}
            assert kinds <= {parameter.KEYWORD_ONLY} or parameter.KEYWORD_ONLY not in kinds, (name, key)
            given = (parameter.default, have[key].default)
            assert given[0] == given[1] or inspect.Parameter.empty not in given, (name, key)
        assert ">>>" in (getattr(mine, name).__doc__ or ""), name


def test_out():
    rng = wr.random.default_rng(4)
    x = wr.zeros((20, 30), chunks=7)
    assert rng.random(out=x) is x
    np.testing.assert_array_equal(x.compute(), wr.random.default_rng(4).random((20, 30)).compute())
    assert x.chunksize == (7, 7)
    for name, params in (("standard_normal", ()), ("standard_exponential", ()), ("standard_gamma", (2.0,))):
        assert getattr(rng, name)(*params, out=x) is x
    assert rng.permuted(x, axis=1, out=x) is x
    with pytest.raises(wr.ShapeError, match=r"random.*'out'"):
        rng.random(3, out=x)
    with pytest.raises(wr.ArgumentError, match=r"random.*'out'"):
        rng.random(out=np.zeros(3))


def test_multinomial():
    rng = wr.random.default_rng(6)
    p = np.array([0.1, 0.0, 0.6, 0.3])
    x = rng.multinomial(30, p, (4000, 5), chunks=(700, 2))
    assert x.dtype == np.int64
    assert x.chunks[2] == (4,)
    found = x.compute()
    assert (found.sum(axis=2) == 30).all()
    assert (found[..., 1] == 0).all()
    np.testing.assert_allclose(found.mean(axis=(0, 1)), 30 * p, atol=0.1)
    covariance = np.cov(found.reshape(-1, 4).T)
    np.testing.assert_allclose(covariance, 30 * (np.diag(p) - np.outer(p, p)), atol=0.2)
    again = wr.random.default_rng(6).multinomial(30, p, (4000, 5), chunks=-1)
    np.testing.assert_array_equal(found, again.compute())
    each = rng.multinomial([3, 8], [[0.5, 0.5], [0.0, 1.0]]).compute()
    assert each.sum(axis=1).tolist() == [3, 8]
    assert each[1].tolist() == [0, 8]
    lazy = rng.multinomial(wr.arange(50, chunks=20), wr.full(3, 1 / 3, chunks=2)).compute()
    assert (lazy.sum(axis=1) == np.arange(50)).all()
    assert rng.multinomial(5, [1.0]).compute().tolist() == [5]


@pytest.mark.parametrize("method", ["marginals", "count"])
def test_multivariate_hypergeometric(method):
    rng = wr.random.default_rng(6)
    colors = [16, 8, 4, 0]
    x = rng.multivariate_hypergeometric(colors, 12, 8000, method, chunks=3000).compute()
    theirs = np.random.default_rng(1).multivariate_hypergeometric(colors, 12, 8000)
    assert (x.sum(axis=1) == 12).all()
    assert (x <= colors).all()
    np.testing.assert_allclose(x.mean(axis=0), theirs.mean(axis=0), atol=0.1)
    np.testing.assert_allclose(np.cov(x.T), np.cov(theirs.T), atol=0.15)


def test_dirichlet():
    rng = wr.random.default_rng(6)
    alpha = np.array([0.3, 1.0, 4.0])
    x = rng.dirichlet(alpha, (500, 40), chunks=(130, 11)).compute()
    np.testing.assert_allclose(x.sum(axis=2), 1, rtol=1e-14)
    theirs = np.random.default_rng(3).dirichlet(alpha, 20_000)
    for k in range(3):
        assert distance(x[..., k].reshape(-1), theirs[:, k]) < 1.95
    again = wr.random.default_rng(6).dirichlet(wr.from_array(alpha, chunks=2), (500, 40), chunks=-1)
    np.testing.assert_array_equal(x, again.compute())


@pytest.mark.parametrize("method", ["svd", "eigh", "cholesky"])
def test_multivariate_normal(method):
    mean, cov = np.array([1.0, -2.0, 0.0]), np.array([[2.0, 0.5, 0.0], [0.5, 1.0, -0.3], [0.0, -0.3, 0.5]])
    x = wr.random.default_rng(6).multivariate_normal(mean, cov, 40_000, method=method, chunks=9000).compute()
    np.testing.assert_allclose(x.mean(axis=0), mean, atol=0.04)
    np.testing.assert_allclose(np.cov(x.T), cov, atol=0.06)
    lazy = wr.from_array(cov, chunks=2)
    rng = wr.random.default_rng(6)
    again = rng.multivariate_normal(wr.from_array(mean, chunks=1), lazy, 40_000, method=method, chunks=-1)
    np.testing.assert_array_equal(x, again.compute())
    assert wr.random.default_rng(6).multivariate_normal(mean, cov).shape == (3,)


def test_covariances_that_are_none():
    rng = wr.random.default_rng(6)
    with pytest.warns(RuntimeWarning, match="multivariate_normal: argument 'cov' is not symmetric") as caught:
        rng.multivariate_normal([0, 0], [[1, 2], [2, 1]], 3)
    assert caught[0].filename == __file__
    with pytest.raises(wr.ArgumentError, match="multivariate_normal: argument 'cov' is not symmetric"):
        rng.multivariate_normal([0, 0], [[1, 2], [2, 1]], 3, "raise")
    with pytest.raises(wr.ArgumentError, match="multivariate_normal: argument 'cov'"):
        rng.multivariate_normal([0, 0], [[1, 2], [2, 1]], 3, method="cholesky")
