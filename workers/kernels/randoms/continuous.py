"""Continuous distributions: by the inverse of the distribution function, or from others of these.

A kernel gets the elements' draws and each parameter as an array of one entry for each element.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .checks import check_order
from .discrete import poisson
from .gamma import log_gamma, standard_gamma
from .normal import gauss

if TYPE_CHECKING:
    from .draws import Draws

Array = np.ndarray[Any, Any]
TINY = 2.0**-54


def open_uniform(draws: Draws) -> Array:
    """Return numbers in (0, 1): half of what follows zero stands for zero."""
    (u,) = draws.uniform()
    return np.maximum(u, TINY, out=u)


def standard_exponential(draws: Draws) -> Array:
    """-log(1 - u)."""
    (u,) = draws.uniform()
    np.subtract(1.0, u, out=u)
    np.log(u, out=u)
    return np.negative(u, out=u)


def exponential(draws: Draws, scale: Array) -> Array:
    """The standard one, scaled."""
    return standard_exponential(draws) * scale


def uniform(draws: Draws, low: Array, high: Array) -> Array:
    """Scaled and shifted."""
    check_order("uniform", low, high)
    (u,) = draws.uniform()
    u *= high - low
    u += low
    return u


def standard_cauchy(draws: Draws) -> Array:
    """tan(pi (u - 1/2))."""
    (u,) = draws.uniform()
    return np.tan(np.pi * (u - 0.5))


def pareto(draws: Draws, a: Array) -> Array:
    """exp(e / a) - 1."""
    return np.expm1(standard_exponential(draws) / a)


def weibull(draws: Draws, a: Array) -> Array:
    """e to the power of 1/a; zero for a = 0."""
    return np.where(a == 0, 0.0, standard_exponential(draws) ** (1.0 / a))


def power(draws: Draws, a: Array) -> Array:
    """u to the power of 1/a."""
    return open_uniform(draws) ** (1.0 / a)


def laplace(draws: Draws, loc: Array, scale: Array) -> Array:
    """The logarithm of what is left of u on its side of the middle."""
    u = open_uniform(draws)
    side = np.where(u < 0.5, 2.0 * u, 2.0 - 2.0 * u)
    samples: Array = loc + scale * np.where(u < 0.5, np.log(side), -np.log(side))
    return samples


def gumbel(draws: Draws, loc: Array, scale: Array) -> Array:
    """loc - scale log(-log u)."""
    samples: Array = loc - scale * np.log(-np.log(open_uniform(draws)))
    return samples


def logistic(draws: Draws, loc: Array, scale: Array) -> Array:
    """loc + scale log(u / (1 - u))."""
    u = open_uniform(draws)
    samples: Array = loc + scale * (np.log(u) - np.log(1.0 - u))
    return samples


def rayleigh(draws: Draws, scale: Array) -> Array:
    """scale sqrt(2 e)."""
    return scale * np.sqrt(2.0 * standard_exponential(draws))


def triangular(draws: Draws, left: Array, mode: Array, right: Array) -> Array:
    """Each side's own square root."""
    check_order("triangular", left, mode, right)
    (u,) = draws.uniform()
    base, rise = right - left, mode - left
    below = left + np.sqrt(u * rise * base)
    samples: Array = np.where(u * base <= rise, below, right - np.sqrt((1.0 - u) * (right - mode) * base))
    return samples


def wald(draws: Draws, mean: Array, scale: Array) -> Array:
    """Michael, Schucany and Haas (1976)."""
    u, v, w, _ = draws.uniform(4)
    y = mean * np.square(gauss(u, v))
    x = mean * (1.0 - 2.0 / (1.0 + np.sqrt(1.0 + 4.0 * scale / y)))
    samples: Array = np.where(w * (mean + x) <= mean, x, mean * mean / x)
    return samples


def gamma(draws: Draws, shape: Array, scale: Array) -> Array:
    """Gamma numbers, scaled."""
    return standard_gamma(draws, shape) * scale


def chisquare(draws: Draws, df: Array) -> Array:
    """Twice a gamma number."""
    return 2.0 * standard_gamma(draws, df / 2.0)


def noncentral_chisquare(draws: Draws, df: Array, nonc: Array) -> Array:
    """Chi-square with 2 k degrees of freedom more, where k is a Poisson number."""
    more = poisson(draws.at_lane(1), nonc / 2.0)
    return chisquare(draws, df + 2.0 * more)


def f(draws: Draws, dfnum: Array, dfden: Array) -> Array:
    """The ratio of two mean squares."""
    ratio: Array = (chisquare(draws.at_lane(1), dfnum) * dfden) / (chisquare(draws.at_lane(2), dfden) * dfnum)
    return ratio


def noncentral_f(draws: Draws, dfnum: Array, dfden: Array, nonc: Array) -> Array:
    """The ratio of two mean squares, the upper one noncentral."""
    above = noncentral_chisquare(draws.at_lane(1), dfnum, nonc)
    ratio: Array = (above * dfden) / (chisquare(draws.at_lane(2), dfden) * dfnum)
    return ratio


def standard_t(draws: Draws, df: Array) -> Array:
    """A normal number over the root of a mean square."""
    u, v = draws.at_lane(1).uniform(2)
    return gauss(u, v) * np.sqrt(df / chisquare(draws.at_lane(2), df))


def beta(draws: Draws, a: Array, b: Array) -> Array:
    """x / (x + y) of two gamma numbers, by their logarithms: small parameters make both vanish."""
    difference = log_gamma(draws.at_lane(2), b) - log_gamma(draws.at_lane(1), a)
    samples: Array = 1.0 / (1.0 + np.exp(difference))
    return samples


def vonmises(draws: Draws, mu: Array, kappa: Array) -> Array:
    """Best and Fisher (1979); a uniform angle for hardly any concentration, a normal one for a great deal."""
    root = 1.0 + np.sqrt(1.0 + 4.0 * kappa * kappa)
    rho = (root - np.sqrt(2.0 * root)) / (2.0 * kappa)
    s = np.where(kappa < 1e-5, 1.0 / kappa + kappa, (1.0 + rho * rho) / (2.0 * rho))

    def propose(drawn: tuple[Array, ...], params: tuple[Array, ...]) -> tuple[Array, Array]:
        u, v, w, _ = drawn
        k, s = params
        z = np.cos(np.pi * u)
        x = (1.0 + s * z) / (s + z)
        y = k * (s - x)
        holds = (y * (2.0 - y) >= v) | (np.log(y / v) + 1.0 >= y)
        angle = np.arccos(np.clip(x, -1.0, 1.0))
        angle = np.where(w < 0.5, -angle, angle)
        wide, narrow = k < 1e-8, k > 1e6
        angle = np.where(wide, np.pi * (2.0 * u - 1.0), angle)
        if narrow.any():
            angle = np.where(narrow, gauss(u, v) / np.sqrt(k), angle)
        return angle, holds | wide | narrow | ~(k >= 0)

    angle = mu + draws.accept(4, propose, (kappa, s))
    turned = np.abs(angle)
    turned = np.fmod(turned + math.pi, 2.0 * math.pi) - math.pi
    return np.where(np.abs(angle) > math.pi, np.copysign(1.0, angle) * turned, angle)
