"""Statistics and tests of hypotheses give what SciPy gives."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import windrow as wr
from support.beside_scipy import alike, computed, outcome, same

stats = pytest.importorskip("scipy.stats")

RNG = np.random.default_rng(0)
A = RNG.random((14, 9)) + 0.1
B = A + RNG.normal(0.02, 0.1, A.shape)
FLAT = A.copy()
FLAT[:, 2] = 3.0
WITH_NAN = A.copy()
WITH_NAN[3, 4] = np.nan
COUNTS = RNG.integers(1, 9, A.shape)

ONE = {
    "moment": [{"order": 3}, {"order": 2, "center": 0.2}, {}, {"order": 0}],
    "skew": [{}, {"bias": False}],
    "kurtosis": [{}, {"bias": False}, {"fisher": False}],
    "variation": [{}, {"ddof": 1}],
    "sem": [{}, {"ddof": 0}],
    "gmean": [{}, {"weights": B}],
    "hmean": [{}, {"weights": B}],
    "pmean": [{"p": 2}, {"p": -1.5}, {"p": 0}],
    "gstd": [{}],
    "entropy": [{}, {"base": 2}, {"qk": A[::-1]}],
    "iqr": [{}, {"rng": (10, 60)}],
    "jarque_bera": [{}],
    "chisquare": [{}, {"ddof": 1}],
    "power_divergence": [{"lambda_": "neyman"}, {"lambda_": 0}, {"lambda_": -1}, {"lambda_": "cressie-read"}],
    "ttest_1samp": [{"popmean": 0.5}, {"popmean": 0.5, "alternative": "less"}, {"popmean": 0.5, "alternative": "no"}],
}
SCORES = {"zscore": [{}, {"ddof": 1}], "gzscore": [{}]}
TWO = {
    "ttest_ind": [{}, {"equal_var": False}, {"alternative": "greater"}],
    "ttest_rel": [{}, {"alternative": "less"}],
    "pearsonr": [{}, {"alternative": "greater"}, {"alternative": "less"}],
    "linregress": [{}, {"alternative": "less"}],
    "f_oneway": [{}],
    "zmap": [{}],
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [*ONE, *SCORES])
def test_statistics_of_one_sample(name):
    for keywords in (ONE | SCORES)[name]:
        for axis in (0, 1, -1, None, *([] if name in SCORES else [(0, 1)])):
            plain = keywords if axis is not None or "qk" not in keywords else {}
            for x in (A, COUNTS):
                compare(name, [x], (5, 4), axis=axis, **plain)
        for x in (FLAT, WITH_NAN):
            if not keywords.keys() & {"weights", "qk"}:
                compare(name, [x], 5, axis=0, **keywords)
        compare(name, [A[:, 0]], 4, **{k: v[:, 0] if isinstance(v, np.ndarray) else v for k, v in keywords.items()})
    compare(name, [A[:, 0]], 4, axis=3, **(ONE | SCORES)[name][0])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", TWO)
def test_statistics_of_two_samples(name):
    for keywords in TWO[name]:
        for axis in (0, 1):
            compare(name, [A, B], (5, 4), axis=axis, **keywords)
        compare(name, [A[:, 0], B[:, 0]], 5, **keywords)
        if name != "linregress":  # whether x is constant is known when it is computed
            compare(name, [FLAT, B], 5, axis=0, **keywords)
    compare(name, [A, B[:9]], (5, 4), axis=0)


def compare(name, arrays, chunks, **keywords):
    """As `same`, and results of several fields by their order."""
    want = outcome(getattr(stats, name), *arrays, **keywords)
    if isinstance(want, Exception):
        same("stats", name, arrays, chunks, **keywords)
        return
    lazy = [wr.from_array(a, chunks=chunks) for a in arrays]
    got = outcome(getattr(wr.stats, name), *lazy, **keywords)
    assert not isinstance(got, Exception), (name, keywords, got)
    if isinstance(got, tuple):
        fields = got._fields
        got = [getattr(got, f) for f in fields]
        want = [getattr(want, f) for f in fields]
        want = [np.broadcast_to(w, np.shape(g)) for w, g in zip(want, got, strict=True)]
        assert all(isinstance(g, wr.Array) for g in got)
        for field, one, other in zip(fields, want, wr.compute(*got), strict=True):
            alike(np.asarray(one, float), other, f"{name}.{field} {keywords}", atol=1e-10)
        return
    alike(want, computed(got), f"{name} {keywords}")


def test_results_unpack_as_in_scipy():
    data = np.random.default_rng(3).random((2, 30))
    x, y = (wr.from_array(each, chunks=7) for each in data)
    found, wanted = wr.stats.ttest_ind(x, y), stats.ttest_ind(*data)
    statistic, pvalue = found
    np.testing.assert_allclose(wr.compute(statistic, pvalue), tuple(wanted))
    computed = wr.compute(found)
    assert type(computed) is type(found)
    np.testing.assert_allclose([*computed, computed.df], [*wanted, wanted.df])
    assert pickle.loads(pickle.dumps(computed)).df == computed.df
    line, expected = wr.compute(wr.stats.linregress(x, y)), stats.linregress(*data)
    slope, intercept, rvalue, p, stderr = line
    np.testing.assert_allclose([slope, intercept, rvalue, p, stderr], list(expected))
    assert np.isclose(line.intercept_stderr, expected.intercept_stderr)


def test_describe():
    for x, keywords in ((A, {}), (A, {"axis": 1, "ddof": 0}), (COUNTS, {"axis": None, "bias": False})):
        want, got = stats.describe(x, **keywords), wr.stats.describe(wr.from_array(x, chunks=5), **keywords)
        assert want.nobs == got.nobs
        for one, other in zip((*want.minmax, *want[2:]), (*got.minmax, *got[2:]), strict=True):
            alike(one, other.compute(), "describe")


def test_expected_counts():
    expected = np.full(A.shape, COUNTS.mean(axis=0))
    x = wr.from_array(COUNTS, chunks=5)
    want, got = stats.chisquare(COUNTS, expected), wr.stats.chisquare(x, expected)
    alike(want.statistic, got.statistic.compute(), "chisquare")
    alike(want.pvalue, got.pvalue.compute(), "chisquare")
    with pytest.raises(wr.ArgumentError, match="chisquare: sums of f_obs and f_exp differ"):
        wr.stats.chisquare(x, expected * 2)


def test_what_is_refused_is_named():
    x = wr.from_array(A, chunks=5)
    with pytest.raises(wr.ArgumentError, match="skew: argument 'nan_policy'"):
        wr.stats.skew(x, nan_policy="omit")
    with pytest.raises(wr.ArgumentError, match="ttest_ind: argument 'trim'"):
        wr.stats.ttest_ind(x, x, trim=0.1)
    with pytest.raises(wr.ArgumentError, match="pearsonr: argument 'method'"):
        wr.stats.pearsonr(x, x, method=stats.PermutationMethod())
    with pytest.raises(wr.DTypeError, match="skew: argument 'a'"):
        wr.stats.skew(x * 1j)


@pytest.mark.parametrize("qk", [np.array([1.0]), np.arange(1.0, 7), np.ones((5, 1)), np.arange(1.0, 31).reshape(5, 6)])
@pytest.mark.parametrize("axis", [0, 1])
def test_relative_entropies_of_shapes_that_broadcast(qk, axis):
    x = np.arange(1.0, 31).reshape(5, 6)
    stats = pytest.importorskip("scipy.stats")
    expected = stats.entropy(x, qk, axis=axis)
    np.testing.assert_allclose(
        wr.stats.entropy(wr.from_array(x, chunks=3), qk, axis=axis).compute(), expected, rtol=1e-12
    )
    with pytest.raises(ValueError, match=r"entropy: argument 'qk'.*\(5,\)"):
        wr.stats.entropy(wr.from_array(x, chunks=3), np.ones(5))
