"""Generators of random numbers: their states, and what they refuse."""

from __future__ import annotations

import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import windrow as wr


def test_states():
    rng = wr.random.default_rng(10)
    rng.random(7)
    kept = rng.bit_generator.state
    copy = pickle.loads(pickle.dumps(rng))
    a = rng.normal(size=5).compute()
    np.testing.assert_array_equal(copy.normal(size=5).compute(), a)
    rng.bit_generator.state = kept
    np.testing.assert_array_equal(rng.normal(size=5).compute(), a)
    rng.bit_generator.advance(-5)
    np.testing.assert_array_equal(rng.normal(size=5).compute(), a)
    bits = wr.random.Philox(10)
    assert wr.random.default_rng(bits).bit_generator is bits
    assert wr.random.default_rng(rng) is rng
    keyed = wr.random.Generator(wr.random.Philox(key=2**70 + 3))
    expected = np.random.Generator(np.random.Philox(key=2**70 + 3)).random(9)
    np.testing.assert_array_equal(keyed.random(9).compute(), expected)
    with pytest.raises(wr.ArgumentError, match="spawn"):
        keyed.spawn(2)
    for wrong in ({}, {"state": {"key": [1], "jumps": 0}, "position": 0}, 3):
        with pytest.raises(wr.ArgumentError, match="state"):
            bits.state = wrong  # type: ignore[assignment]
    with pytest.raises(wr.ArgumentError, match="advance"):
        bits.advance(-1)


def test_spawning_and_jumping():
    parent = wr.random.default_rng(11)
    children = [*parent.spawn(3), *parent.spawn(2)]
    theirs = np.random.SeedSequence(11).spawn(5)
    for child, seed in zip(children, theirs, strict=True):
        expected = np.random.Generator(np.random.Philox(seed)).random(50)
        np.testing.assert_array_equal(child.random(50).compute(), expected)
    assert wr.random.SeedSequence is np.random.SeedSequence
    jumped = [wr.random.Generator(parent.bit_generator.jumped(k)) for k in range(4)]
    streams = [rng.random(2000).compute() for rng in [*children, *jumped]]
    related = np.corrcoef(streams) - np.eye(len(streams))
    assert np.abs(related).max() < 4.5 / 2000**0.5
    np.testing.assert_array_equal(streams[5], wr.random.default_rng(11).random(2000).compute())


def test_errors():
    rng: Any = wr.random.default_rng(1)
    generator: Any = wr.random.Generator
    shape, kind, dtype = wr.ShapeError, wr.ArgumentError, wr.DTypeError
    cases = [
        (lambda: rng.normal(0, -1, 3), kind, "normal: argument 'scale' is -1.*not negative"),
        (lambda: rng.normal("a"), kind, "normal.*'loc'"),
        (lambda: rng.normal(1j), kind, "normal.*'loc'"),
        (lambda: rng.normal(wr.ones(3) * 1j), dtype, "normal.*'loc'"),
        (lambda: rng.normal([1, 2, 3], 1, 4), shape, "normal"),
        (lambda: rng.normal([1, 2, 3], 1, (3, 1)), shape, "normal.*'size'"),
        (lambda: rng.normal(size=-1), shape, "normal.*'size'"),
        (lambda: rng.uniform(2, 1), kind, "uniform.*'high'"),
        (lambda: rng.triangular(0, 5, 3), kind, "triangular.*mode"),
        (lambda: rng.uniform([0, 5, 1], [3, 4, 2]), kind, "uniform.*'high' is 4.*low=5"),
        (lambda: rng.uniform(-1e308, [1, 1.7e308]), wr.RangeError, "uniform.*'high' is 1.7e"),
        (lambda: rng.triangular([0, 2], 1, 3), kind, "triangular.*'mode' is 1.*left=2"),
        (lambda: rng.triangular(0, [[1], [4]], [5, 3]), kind, "triangular.*'right' is 3.*mode=4"),
        (lambda: rng.negative_binomial([5, 1e19], 0.5), kind, "negative_binomial.*'n' is too large"),
        (lambda: rng.negative_binomial(5, 1e-300), kind, "negative_binomial.*'p' too small"),
        (lambda: rng.normal(10**400), kind, "normal.*'loc'"),
        (lambda: rng.exponential([1, -2]), kind, "exponential.*'scale' is -2"),
        (lambda: rng.standard_exponential(method="no"), kind, "standard_exponential.*'method'"),
        (lambda: rng.standard_gamma(1, 3, "i4"), dtype, "standard_gamma.*'dtype'"),
        (lambda: rng.gamma(-1), kind, "gamma.*'shape'"),
        (lambda: rng.beta(0, 1), kind, "beta.*'a'"),
        (lambda: rng.binomial(-1, 0.5), kind, "binomial.*'n'"),
        (lambda: rng.binomial(2.5, 0.5), kind, "binomial.*'n'"),
        (lambda: rng.binomial(2, 1.5), kind, "binomial.*'p'"),
        (lambda: rng.poisson(np.nan), kind, "poisson.*'lam'"),
        (lambda: rng.poisson(1e19), kind, "poisson.*'lam'"),
        (lambda: rng.gamma(np.inf), kind, "gamma.*'shape' is inf"),
        (lambda: rng.geometric(0), kind, "geometric.*'p'"),
        (lambda: rng.zipf(1), kind, "zipf.*'a'"),
        (lambda: rng.logseries(1.0), kind, "logseries.*'p'"),
        (lambda: rng.hypergeometric(3, 4, 8), kind, "hypergeometric.*'nsample'"),
        (lambda: rng.hypergeometric(10**9, 4, 8), kind, "hypergeometric.*'ngood'"),
        (lambda: rng.integers([1, 2], 1.5), kind, "integers.*'high'"),
        (lambda: rng.integers([1.0, 2]), kind, "integers.*'low'"),
        (lambda: rng.integers([1, 5], [[6], [5]]), kind, "integers.*'high' is 5.*low=5"),
        (lambda: rng.integers(0, [300, 40], dtype="u1"), kind, "integers.*'high' is 300.*uint8"),
        (lambda: rng.integers([-1, 0], 4, dtype="u8"), kind, "integers.*'low' is -1.*uint64"),
        (lambda: rng.multinomial(3, [0.9, 0.9, 0.1]), kind, "multinomial.*'pvals'"),
        (lambda: rng.multinomial(3, 0.5), kind, "multinomial.*'pvals'"),
        (lambda: rng.multivariate_hypergeometric([3, 4], 8), kind, "multivariate_hypergeometric.*'nsample'"),
        (lambda: rng.multivariate_normal([0, 0], [[1]]), shape, "multivariate_normal.*'cov'"),
        (lambda: rng.dirichlet([-1, 2]), kind, "dirichlet.*'alpha'"),
        (lambda: rng.choice(0, 1), kind, "choice.*'a'"),
        (lambda: rng.choice(3, 4, replace=False), kind, "choice.*'size'"),
        (lambda: rng.choice(3, 4, p=[0.5, 0.5]), shape, "choice.*'p'"),
        (lambda: rng.choice(3, 4, p=[0.5, 0.5, 0.5]), kind, "choice.*'p'"),
        (lambda: rng.choice(3, 3, replace=False, p=[0.5, 0.5, 0]), kind, "choice.*'p'"),
        (lambda: rng.shuffle(3), kind, "shuffle.*'x'"),
        (lambda: rng.permutation(wr.ones(3), axis=1), wr.AxisError, "permutation.*'axis'"),
        (lambda: rng.bytes(-1), kind, "bytes.*'length'"),
        (lambda: generator(5), kind, "Generator.*'bit_generator'"),
        (lambda: rng.random(2**62 + 1, chunks=2**50), shape, "random: .* positions"),
    ]
    for call, error, message in cases:
        with pytest.raises(error, match=message):
            call()


def test_parameters_at_the_ends_of_their_ranges():
    rng = wr.random.default_rng(1)
    assert rng.logseries(0.0, 3).compute().tolist() == [1, 1, 1]
    assert rng.triangular([2, 3], [2, 3], [2, 3]).compute().tolist() == [2, 3]
    assert rng.uniform([2, 3], [2, 3]).compute().tolist() == [2, 3]
    assert abs(rng.normal(2**70).compute() / 2.0**70 - 1) < 1e-9


def test_lazy_parameters_are_checked_when_they_are_computed():
    rng = wr.random.default_rng(1)
    wrong = wr.from_array(np.array([1.0, 2.0, -3.0]), chunks=2)
    for made in (rng.exponential(wrong), rng.normal(0, wrong), rng.poisson(wrong), rng.binomial(wrong, 0.5)):
        with pytest.raises(wr.ArgumentError, match=r"argument '(scale|lam|n)' is -3"):
            made.compute()
    for made in (rng.uniform(1, wrong), rng.triangular(wrong, 1.5, 9), rng.triangular(-5, -2, wrong)):
        with pytest.raises(wr.ArgumentError, match=r"(uniform|triangular): argument '(high|mode|right)' is"):
            made.compute()
    with pytest.raises(wr.ArgumentError, match=r"hypergeometric.*'nsample' is 9.*: 7"):
        rng.hypergeometric(3, 4, wr.full(3, 9)).compute()
    with pytest.raises(wr.ArgumentError, match=r"integers.*'high'"):
        rng.integers(wr.full(3, 9), 4).compute()
    with pytest.raises(wr.ArgumentError, match=r"negative_binomial.*'p' too small"):
        rng.negative_binomial(5, wr.full(3, 1e-300)).compute()
    with pytest.raises(wr.ArgumentError, match=r"integers.*uint8"):
        rng.integers(wr.full(3, 9), 400, dtype="u1").compute()


def test_the_guide_prints_what_stands_on_it(capsys):
    page = (Path(__file__).parents[3] / "docs" / "guides" / "random.md").read_text(encoding="utf-8")
    found = re.findall(r"^```(\w+)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    code, expected = ("".join(text for kind, text in found if kind == wanted) for wanted in ("python", "text"))
    exec(code, {"__name__": "guide"})
    assert capsys.readouterr().out == expected
