"""What `numpy.random` has besides generators: `RandomState`, and functions that draw from one that all share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.errors import ArgumentError, bad
from ..base import check_shape
from .counts import Counts
from .location import Location
from .orders import Orders
from .plain import Plain
from .shaped import Shaped
from .state import stream
from .vectors import Vectors

if TYPE_CHECKING:
    from ..array import Array

__all__ = [
    "RandomState",
    "beta",
    "binomial",
    "bytes",
    "chisquare",
    "choice",
    "dirichlet",
    "exponential",
    "f",
    "gamma",
    "geometric",
    "get_state",
    "gumbel",
    "hypergeometric",
    "laplace",
    "logistic",
    "lognormal",
    "logseries",
    "multinomial",
    "multivariate_normal",
    "negative_binomial",
    "noncentral_chisquare",
    "noncentral_f",
    "normal",
    "pareto",
    "permutation",
    "poisson",
    "power",
    "rand",
    "randint",
    "randn",
    "random",
    "random_integers",
    "random_sample",
    "ranf",
    "rayleigh",
    "sample",
    "seed",
    "set_state",
    "shuffle",
    "standard_cauchy",
    "standard_exponential",
    "standard_gamma",
    "standard_normal",
    "standard_t",
    "triangular",
    "uniform",
    "vonmises",
    "wald",
    "weibull",
    "zipf",
]


class RandomState(Plain, Location, Shaped, Counts, Vectors, Orders):
    """A stream of random numbers under the names that NumPy's `RandomState` has.

    It is a `Generator` with other names: the same seed gives the same numbers in whatever chunks, NumPy's
    distributions, and not NumPy's own numbers (but `random_sample` has those of
    `numpy.random.Generator(numpy.random.Philox(seed)).random`). The functions of `windrow.random` draw from one that
    all of a program share, which `windrow.random.seed` seeds; before that it has entropy of the system.

    Parameters
    ----------
    seed : int, sequence of int, numpy.random.SeedSequence, Philox or None

    Examples
    --------
    >>> import windrow as wr
    >>> wr.random.seed(7)
    >>> x = wr.random.normal(size=(3, 4), chunks=2)
    >>> bool((x == wr.random.RandomState(7).normal(size=(3, 4))).all())
    True
    """

    def __init__(self, seed: Any = None) -> None:
        super().__init__(stream("RandomState", seed))

    def seed(self, seed: Any = None) -> None:
        """Begin a new stream; arrays that were made before stay as they are.

        Parameters
        ----------
        seed : int, sequence of int or None
            None: entropy of the system, drawn once.

        Examples
        --------
        >>> import windrow as wr
        >>> wr.random.seed(1)
        >>> x = wr.random.rand(3)
        >>> wr.random.seed(1)
        >>> bool((x == wr.random.rand(3)).all())
        True
        """
        self._bits = stream("seed", seed)

    def get_state(self, legacy: bool = False) -> dict[str, Any]:
        """Return where the stream stands, for `set_state`.

        Parameters
        ----------
        legacy : bool
            NumPy's tuple is of its Mersenne Twister, and isn't there.

        Returns
        -------
        dict

        Examples
        --------
        >>> import windrow as wr
        >>> state = wr.random.get_state()
        >>> x = wr.random.rand(3)
        >>> wr.random.set_state(state)
        >>> bool((x == wr.random.rand(3)).all())
        True
        """
        if legacy:
            raise ArgumentError(bad("get_state", "legacy", legacy, "False: the stream is no Mersenne Twister"))
        return self._bits.state

    def set_state(self, state: Any) -> None:
        """Go on where a stream stood; see `get_state`.

        Parameters
        ----------
        state : dict
        """
        self._bits.state = state

    def random_sample(self, size: Any = None, chunks: Any = "auto") -> Array:
        """Draw from the uniform distribution on [0, 1).

        Parameters
        ----------
        size : int, tuple of int or None
            The shape; None: a single number.
        chunks : int, str, tuple, dict or None

        Returns
        -------
        Array
        """
        return self._uniform("random_sample", size, np.float64, None, chunks)

    def random(self, size: Any = None, chunks: Any = "auto") -> Array:  # type: ignore[override]
        """Draw from the uniform distribution on [0, 1); see `random_sample`."""
        return super().random(size, chunks=chunks)

    def rand(self, *shape: Any, chunks: Any = "auto") -> Array:
        """Draw from the uniform distribution on [0, 1), with the shape as arguments.

        Parameters
        ----------
        *shape : int
        chunks : int, str, tuple, dict or None

        Returns
        -------
        Array

        Examples
        --------
        >>> import windrow as wr
        >>> wr.random.rand(3, 4, chunks=2).shape
        (3, 4)
        """
        return self._uniform("rand", check_shape("rand", shape), np.float64, None, chunks)

    def randn(self, *shape: Any, chunks: Any = "auto") -> Array:
        """Draw from the normal distribution with mean 0 and standard deviation 1, with the shape as arguments.

        Parameters
        ----------
        *shape : int
        chunks : int, str, tuple, dict or None

        Returns
        -------
        Array
        """
        return self._draw("randn", (), check_shape("randn", shape), chunks, name="standard_normal")

    def randint(self, low: Any, high: Any = None, size: Any = None, dtype: Any = int, chunks: Any = "auto") -> Array:
        """Draw integers from `low` up to `high`, which isn't drawn; with one number: from 0 up to it.

        Parameters
        ----------
        low, high : int or array of int
        size : int, tuple of int or None
        dtype : dtype of integers, or bool
        chunks : int, str, tuple, dict or None

        Returns
        -------
        Array
        """
        return self._integers("randint", low, high, size, dtype, False, chunks)

    def random_integers(self, low: Any, high: Any = None, size: Any = None, chunks: Any = "auto") -> Array:
        """Draw integers from `low` to `high`, which is drawn too; with one number: from 1 to it.

        Parameters
        ----------
        low, high : int or array of int
        size : int, tuple of int or None
        chunks : int, str, tuple, dict or None

        Returns
        -------
        Array
        """
        return self._integers("random_integers", low, high, size, int, True, chunks, least=1)

    def tomaxint(self, size: Any = None, chunks: Any = "auto") -> Array:
        """Draw integers that are not negative, of all that an int64 holds.

        Parameters
        ----------
        size : int, tuple of int or None
        chunks : int, str, tuple, dict or None

        Returns
        -------
        Array
        """
        return self._integers("tomaxint", 0, np.iinfo(np.int64).max, size, int, True, chunks)

    def standard_normal(self, size: Any = None, chunks: Any = "auto") -> Array:  # type: ignore[override]
        """Draw from the normal distribution with mean 0 and standard deviation 1; see `normal`."""
        return super().standard_normal(size, chunks=chunks)

    def standard_exponential(self, size: Any = None, chunks: Any = "auto") -> Array:  # type: ignore[override]
        """Draw from the exponential distribution with mean 1; see `exponential`."""
        return super().standard_exponential(size, chunks=chunks)

    def standard_gamma(self, shape: Any, size: Any = None, chunks: Any = "auto") -> Array:  # type: ignore[override]
        """Draw from the gamma distribution of scale 1; see `gamma`."""
        return super().standard_gamma(shape, size, chunks=chunks)

    def choice(  # type: ignore[override]
        self, a: Any, size: Any = None, replace: bool = True, p: Any = None, chunks: Any = "auto"
    ) -> Array:
        """Choose numbers below an integer, or elements of a line; see `Generator.choice`."""
        return super().choice(a, size, replace, p, chunks=chunks)

    def __reduce__(self) -> Any:
        return RandomState, (self._bits,)

    def __repr__(self) -> str:
        return f"RandomState({self._bits!r})"


class _Shared(RandomState):
    """The stream behind the functions of `windrow.random`; its entropy is drawn when it is first used."""

    def __init__(self) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        if name != "_bits":
            raise AttributeError(f"'RandomState' object has no attribute {name!r}", name=name, obj=self)
        self.seed()
        return self._bits


_shared = _Shared()

beta = _shared.beta
binomial = _shared.binomial
bytes = _shared.bytes
chisquare = _shared.chisquare
choice = _shared.choice
dirichlet = _shared.dirichlet
exponential = _shared.exponential
f = _shared.f
gamma = _shared.gamma
geometric = _shared.geometric
get_state = _shared.get_state
gumbel = _shared.gumbel
hypergeometric = _shared.hypergeometric
laplace = _shared.laplace
logistic = _shared.logistic
lognormal = _shared.lognormal
logseries = _shared.logseries
multinomial = _shared.multinomial
multivariate_normal = _shared.multivariate_normal
negative_binomial = _shared.negative_binomial
noncentral_chisquare = _shared.noncentral_chisquare
noncentral_f = _shared.noncentral_f
normal = _shared.normal
pareto = _shared.pareto
permutation = _shared.permutation
poisson = _shared.poisson
power = _shared.power
rand = _shared.rand
randint = _shared.randint
randn = _shared.randn
random = _shared.random
random_integers = _shared.random_integers
random_sample = ranf = sample = _shared.random_sample
rayleigh = _shared.rayleigh
seed = _shared.seed
set_state = _shared.set_state
shuffle = _shared.shuffle
standard_cauchy = _shared.standard_cauchy
standard_exponential = _shared.standard_exponential
standard_gamma = _shared.standard_gamma
standard_normal = _shared.standard_normal
standard_t = _shared.standard_t
triangular = _shared.triangular
uniform = _shared.uniform
vonmises = _shared.vonmises
wald = _shared.wald
weibull = _shared.weibull
zipf = _shared.zipf
