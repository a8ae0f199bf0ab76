"""Random numbers: each distribution, with numbers and with arrays as parameters, and random orders."""

from __future__ import annotations

from typing import TYPE_CHECKING

import windrow as wr

if TYPE_CHECKING:
    from collections.abc import Callable

SIMPLE = {
    "standard_exponential": (),
    "exponential": (2.0,),
    "uniform": (-1.0, 3.0),
    "standard_cauchy": (),
    "laplace": (1.0, 2.0),
    "gumbel": (1.0, 2.0),
    "logistic": (1.0, 2.0),
    "lognormal": (0.1, 0.4),
    "rayleigh": (2.0,),
    "triangular": (0.0, 1.0, 3.0),
    "standard_gamma": (0.7,),
    "gamma": (2.0, 3.0),
    "beta": (0.5, 2.0),
    "chisquare": (3.0,),
    "noncentral_chisquare": (3.0, 2.0),
    "f": (5.0, 9.0),
    "noncentral_f": (5.0, 9.0, 1.0),
    "standard_t": (5.0,),
    "vonmises": (0.5, 2.0),
    "pareto": (3.0,),
    "weibull": (1.5,),
    "power": (2.5,),
    "wald": (1.0, 2.0),
    "binomial": (40, 0.4),
    "negative_binomial": (5, 0.4),
    "poisson": (12.0,),
    "geometric": (0.2,),
    "hypergeometric": (30, 40, 20),
    "zipf": (2.5,),
    "logseries": (0.7,),
}


def cases(a: dict[str, wr.Array], keep: Callable[[wr.Array], wr.Array]) -> dict[str, wr.Array]:
    """Return one expression for each distribution, and what is done in random order."""
    rng = wr.random.default_rng(17)
    y, i, line = a["y"], a["i"], a["line"]
    found = {
        f"random-{name}": getattr(rng, name)(*params, (50, 31), chunks=(33, 17)) for name, params in SIMPLE.items()
    }
    shuffled = line[:60_000] + 0
    rng.shuffle(shuffled)
    return found | {
        "random-float32": rng.standard_normal((55, 33), "f4", chunks=(20, 11)),
        "random-of-arrays": keep(rng.gamma(y[:90], y[:90] + 1)) + rng.poisson(y[:90] * 20),
        "random-integers-of-arrays": rng.integers(i, i + 9),
        "random-normal-fused": (rng.normal(y, 0.1) * 2).sum(axis=0),
        "random-multinomial": rng.multinomial(50, [0.2, 0.3, 0.5], (30, 7), chunks=(16, 4)),
        "random-multivariate_hypergeometric": rng.multivariate_hypergeometric([9, 30, 14], 12, 200, chunks=70),
        "random-dirichlet": rng.dirichlet([0.1, 2.0, 3.0], 300, chunks=110),
        "random-multivariate_normal": rng.multivariate_normal([0, 1], [[2, 0.5], [0.5, 1]], 300, chunks=110),
        "random-permutation": rng.permutation(70_001, chunks=20_000),
        "random-permutation-of-rows": rng.permutation(y),
        "random-permutation-across": rng.permutation(keep(y * 2), axis=1),
        "random-shuffle": shuffled,
        "random-permuted": rng.permuted(y, axis=1),
        "random-choice": rng.choice(1000, (40, 50), chunks=(13, 50)),
        "random-choice-weighted": rng.choice(3, 1000, p=[0.2, 0.5, 0.3], chunks=300),
        "random-choice-once": rng.choice(line, 100, replace=False),
        "random-choice-once-weighted": rng.choice(4, 3, replace=False, p=[0.1, 0.2, 0.3, 0.4]),
    }
