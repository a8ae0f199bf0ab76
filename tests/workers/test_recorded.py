"""Compiled loops of recorded kernels: the bits of array arithmetic, for all distributions, wherever runs begin."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from windrow.workers.config import config
from windrow.workers.kernels import randoms
from windrow.workers.kernels.compiled.draws import recorded
from windrow.workers.kernels.compiled.llvm import numpy_loops
from windrow.workers.kernels.randoms.draws import Draws
from windrow.workers.kernels.randoms.recording import record

pytest.importorskip("llvmlite")

COUNTS = ("binomial", "geometric", "hypergeometric", "logseries", "negative_binomial", "poisson", "zipf")
PARAMETERS = {
    "beta": [(2.0, 3.0), (0.3, 0.001), (2.0, 0.5)],
    "binomial": [(100, 0.3), (20, 0.2), (20, 0.9), (10**9, 0.7), (0, 0.5), (5, 0.0), (5, 1.0)],
    "chisquare": [(3.0,), (0.4,)],
    "exponential": [(2.0,), (0.0,), (-0.0,)],
    "f": [(5.0, 22.0), (0.5, 0.25)],
    "gamma": [(2.0, 3.0), (0.5, 0.0), (1e300, 1.0)],
    "geometric": [(0.3,), (1.0,), (1e-9,)],
    "gumbel": [(1.0, 2.0), (-0.0, 0.0)],
    "hypergeometric": [(100, 200, 50), (5, 5, 3), (200, 100, 250), (0, 10, 4), (10**8, 10**8, 10**7)],
    "laplace": [(1.0, 2.0)],
    "log_gamma": [(2.0,), (0.01,)],
    "logistic": [(1.0, 2.0)],
    "logseries": [(0.6,), (0.999,), (1e-5,)],
    "pareto": [(3.0,)],
    "poisson": [(3.0,), (9.99,), (10.0,), (30.0,), (5000.0,), (9e18,), (0.0,)],
    "power": [(2.0,), (0.1,)],
    "rayleigh": [(2.0,)],
    "standard_cauchy": [()],
    "standard_exponential": [()],
    "standard_gamma": [(2.0,), (1.0,), (0.5,), (1e-4,), (0.0,), (12345.0,)],
    "standard_t": [(10.0,), (0.5,)],
    "triangular": [(-1.0, 0.5, 2.0), (0.0, 0.0, 1.0)],
    "vonmises": [(0.5, 4.0), (3.0, 0.0), (0.0, 1e-6), (0.0, 1e7), (-3.0, 0.7)],
    "wald": [(1.0, 2.0)],
    "weibull": [(2.0,), (0.0,)],
    "zipf": [(3.0,), (1.01,), (2000.0,)],
}
CASES = [(name, params) for name, several in PARAMETERS.items() for params in several]
ELSEWHERE = {"lognormal", "negative_binomial", "noncentral_chisquare", "noncentral_f", "normal", "uniform"}
"""Distributions that other loops make, or whose parameters are drawn."""


def draw(name, params, starts, length, dtype, jit):
    """Draw runs, and tell whether a recorded kernel did."""
    out = np.full(len(starts) * length, 77, dtype)
    source = wr.graph.kinds.source.Random(name, (7, 2**63 + 9), 0, params, 3)
    draws = Draws(source.key, source.jump, np.array(starts, np.uint64), length)
    with config.set(jit=jit):
        compiled = randoms._fill_compiled(source, draws, out)
        if not compiled:
            randoms._fill(source, draws, out)
    return out, compiled


def compare(name, params, starts, length, dtype):
    made, compiled = draw(name, params, starts, length, dtype, "on")
    wanted, interpreted = draw(name, params, starts, length, dtype, "off")
    assert (compiled, interpreted) == (True, False)
    assert made.tobytes() == wanted.tobytes()


def test_all_distributions_are_recorded():
    assert set(PARAMETERS) | ELSEWHERE == set(randoms.KERNELS)
    for name, params in CASES:
        assert record(randoms.KERNELS[name], list(params)) is not None, name


@pytest.mark.parametrize(("name", "params"), CASES)
def test_numbers_are_those_of_array_arithmetic(name, params):
    dtype = np.dtype("i8" if name in COUNTS else "f8")
    for starts, length in (([2**40 + 1], 40_003), ([5, 2**33, 77_777], 1501), (range(3, 90_000, 41), 3)):
        compare(name, params, list(starts), length, dtype)


@pytest.mark.parametrize("name", ["standard_gamma", "standard_exponential"])
def test_floats(name):
    compare(name, PARAMETERS[name][0], [11], 5001, np.dtype("f4"))


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["standard_gamma", "weibull", "poisson", "vonmises", "binomial"]),
    st.lists(st.integers(0, 2**50), min_size=1, max_size=40),
    st.integers(1, 3000),
)
def test_runs_wherever_they_begin(name, starts, length):
    starts *= -(-1100 // (len(starts) * length))
    compare(name, PARAMETERS[name][0], starts, length, np.dtype("i8" if name in COUNTS else "f8"))


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(["standard_gamma", "poisson", "zipf", "logseries", "vonmises", "geometric"]),
    st.floats(1e-3, 1.0, exclude_max=True),
    st.sampled_from([1.0, 1e2, 1e6]),
)
def test_any_parameter(name, share, scale):
    params = {"zipf": (1.001 + share * scale,), "vonmises": (share, share * scale)}.get(name, (share * scale,))
    params = (share,) if name in ("logseries", "geometric") else params
    compare(name, params, [13], 2500, np.dtype("i8" if name in COUNTS else "f8"))


def test_parameters_of_one_kind_share_a_loop():
    texts = {
        recorded.write(record(randoms.KERNELS["poisson"], [mean]), np.dtype("i8")).text for mean in (10.5, 30.0, 5e9)
    }
    assert len(texts) == 1


def test_values_of_a_piece_are_in_the_bound():
    frames = [
        recorded.write(record(randoms.KERNELS[name], list(params)), np.dtype("f8")).frame for name, params in CASES
    ]
    assert max(frames) <= recorded.FRAME


def test_without_a_loop_of_numpys_array_arithmetic_is_used(monkeypatch):
    monkeypatch.setattr(recorded, "loop_of", lambda *_: None)
    assert recorded.write(record(randoms.KERNELS["standard_gamma"], [2.0]), np.dtype("f8")) is None
    assert numpy_loops.loop_of("log", (np.dtype("f8"),) * 2) is not None


def test_arrays_of_gamma_numbers_don_t_depend_on_chunks():
    found = []
    for jit, chunks in (("on", (100, 397)), ("off", (100, 397)), ("on", (70, 13)), ("on", (301, 1))):
        with config.set(jit=jit):
            found.append(wr.random.default_rng(3).standard_gamma(0.7, (301, 397), chunks=chunks).compute())
    assert all(found[0].tobytes() == other.tobytes() for other in found[1:])
