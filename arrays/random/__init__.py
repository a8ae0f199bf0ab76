"""Random numbers: the element at a position follows from the seed and the position, whatever the chunks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...graph.errors import ArgumentError, bad
from .distributions.continuous import Continuous
from .distributions.counts import Counts
from .distributions.gammas import Gammas
from .distributions.plain import Plain
from .distributions.vectors import Vectors
from .legacy import shared
from .legacy.random_state import RandomState
from .legacy.shared import *
from .orders import Orders
from .state import Philox, stream

if TYPE_CHECKING:
    from numpy.random import SeedSequence

__all__ = [
    "Generator",
    "Philox",
    "RandomState",
    "SeedSequence",
    "default_rng",
]
__all__ += shared.__all__


class Generator(Plain, Continuous, Gammas, Counts, Vectors, Orders):
    """A stream of random numbers with the methods of NumPy's generator; make one by `default_rng`.

    The element at flat C-order position p of a call is a function of the seed and (offset + p), where the offset is the
    number of positions that all calls before have taken: one for each element, unless a method says otherwise. So
    values don't depend on chunks or ranks, and two calls differ. An attempt of a rejection method takes a fixed number
    of draws at the element's position; further attempts draw from a stream of their own.

    Parameters of distributions may be numbers, NumPy's arrays or lazy ones, which broadcast to the size; lazy ones are
    checked when they are computed. `random` has the numbers of `numpy.random.Generator(numpy.random.Philox(seed))`;
    all else has NumPy's distributions, not its numbers.

    Parameters
    ----------
    bit_generator : Philox
        The stream that it draws from; `windrow.random.Philox(seed)`.

    Raises
    ------
    ArgumentError
        `bit_generator` isn't a `windrow.random.Philox`.

    >>> import numpy as np
    >>> import windrow as wr
    >>> x = wr.random.default_rng(7).random((3, 4), chunks=2)
    >>> bool((x.compute() == np.random.Generator(np.random.Philox(7)).random((3, 4))).all())
    True
    """

    def __init__(self, bit_generator: Philox) -> None:
        if not isinstance(bit_generator, Philox):
            raise ArgumentError(bad("Generator", "bit_generator", bit_generator, "windrow.random.Philox(seed)"))
        super().__init__(bit_generator)

    @property
    def bit_generator(self) -> Philox:
        """Where the generator stands; `state` can be read and set."""
        return self._bits

    def spawn(self, n_children: int) -> list[Generator]:
        """Return independent generators.

        Parameters
        ----------
        n_children : int
            How many.

        Returns
        -------
        list of Generator
            With the keys that NumPy's Philox of the same seed spawns.

        Raises
        ------
        ArgumentError
            The generator was made from a key; there is no seed to spawn from.

        >>> a, b = wr.random.default_rng(1).spawn(2)
        >>> bool((a.random(3) == b.random(3)).any())
        False
        """
        return [Generator(child) for child in self._bits.spawn(n_children)]

    def __reduce__(self) -> Any:
        return Generator, (self._bits,)

    def __repr__(self) -> str:
        return f"Generator({self._bits!r})"


def default_rng(seed: object = None) -> Generator:
    """Make a generator of random numbers.

    Parameters
    ----------
    seed : int, sequence of int, numpy.random.SeedSequence, Philox, Generator, RandomState or None
        None: entropy of the system, drawn once. A generator is returned as it is; one of a `RandomState` draws from its
        stream.

    Returns
    -------
    Generator
        What draws: lazy arrays that are the same for the same seed, in whatever chunks, on any number of ranks.

    Raises
    ------
    ArgumentError
        `seed` can't be read.

    Notes
    -----
    `random` has the numbers of `numpy.random.Generator(numpy.random.Philox(seed))`; NumPy's own `default_rng` has
    another bit generator, PCG64.

    >>> rng = wr.random.default_rng(42)
    >>> bool((rng.random(3) == rng.random(3)).any())  # each call goes on
    False
    >>> bool((wr.random.default_rng(42).random(3) == wr.random.default_rng(42).random(3)).all())
    True
    """
    if isinstance(seed, Generator):
        return seed
    if isinstance(seed, RandomState):
        return Generator(seed._bits)
    return Generator(stream("default_rng", seed))


def __getattr__(name: str) -> Any:
    if name == "SeedSequence":  # NumPy itself loads this part when it is first used
        from numpy.random import SeedSequence

        return SeedSequence
    from ..interop.unsupported import missing_function

    raise missing_function(name, "random")
