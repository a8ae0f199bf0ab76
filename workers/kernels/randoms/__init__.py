"""Random numbers by position, from NumPy's Philox 4x64-10 counter generator.

The element at flat C-order position p of a call whose numbers begin at position o of the generator is a function of
the key and of q = o + p alone; it depends neither on the chunks nor on who computes it. See `draws` for what it may
draw from, `normal` for normal numbers, `continuous`, `gamma`, `discrete`, `urns` and `vectors` for distributions,
`permuting` for permutations.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ...config import config
from ..buffers import Buffers
from ..compiled.courses.course import address_of
from ..compiled.draws.drawing import LEAST
from ..compiled.draws.recorded import FRAME, Recorded, write
from ..compiled.llvm.kernel_cache import ready
from . import continuous, discrete, gamma, urns
from .draws import Draws, run_starts
from .normal import standard
from .permuting import Permutation
from .philox import product
from .recording import record

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....graph.kinds.source import Random

Array = np.ndarray[Any, Any]


def _random(draws: Draws, out: Array) -> None:
    draws.fill(out)


def _uniform(draws: Draws, out: Array, low: float, high: float) -> None:
    _random(draws, out)
    np.multiply(out, high - low, out=out)
    np.add(out, low, out=out)


def _normal(draws: Draws, out: Array, loc: float, scale: float) -> None:
    standard(draws, out)
    np.multiply(out, scale, out=out)
    np.add(out, loc, out=out)


def _integers(draws: Draws, out: Array, low: int, span: int) -> None:
    """Scale draws by the high half of a product: no rejection; the bias is below span / 2**64."""
    high = draws.raw()[:, 0]
    if span != 1 << 64:
        high, _ = product(high, np.uint64(span))
    np.copyto(out, high + np.uint64(low & 0xFFFFFFFFFFFFFFFF), casting="unsafe")


def _permutation(draws: Draws, out: Array, n: int, offset: int) -> None:
    """Fill `out` with what a permutation of n has at the positions."""
    seed = (draws.key, draws.jump, offset)
    local = (draws.positions - np.uint64(offset)).astype(np.int64)
    np.copyto(out, Permutation(seed, n).forward(local), casting="same_kind")


def normal(draws: Draws, loc: Array, scale: Array) -> Array:
    """Return normal numbers of a mean and a deviation for each."""
    out = np.empty(draws.size)
    standard(draws, out)
    return out * scale + loc


def lognormal(draws: Draws, mean: Array, sigma: Array) -> Array:
    """Return exponentials of normal numbers."""
    return np.exp(normal(draws, mean, sigma))


_FILLS: dict[str, Callable[..., None]] = {
    "random": _random,
    "uniform": _uniform,
    "standard_normal": standard,
    "normal": _normal,
    "integers": _integers,
    "permutation": _permutation,
}
_MODULES = {
    continuous: """beta chisquare exponential f gamma gumbel laplace logistic noncentral_chisquare noncentral_f pareto
        power rayleigh standard_cauchy standard_exponential standard_t triangular uniform vonmises wald weibull""",
    discrete: "binomial geometric logseries negative_binomial poisson zipf",
    gamma: "log_gamma standard_gamma",
    urns: "hypergeometric",
}
KERNELS: dict[str, Callable[..., Array]] = {
    name: getattr(module, name) for module, names in _MODULES.items() for name in names.split()
}
KERNELS |= {"normal": normal, "lognormal": lognormal}
_FILL_ROOM, _SCATTERED_ROOM, _KERNEL_ROOM = 2, 12, 24
"""Arrays of 8 bytes for each number that is drawn at once, which kernels have beside the result, at most."""
_frames = Buffers(FRAME)
_SHORT = 64
"""Numbers that follow each other, from which on no more are drawn than are asked for."""


def room_of_random(source: Random, run: int) -> int:
    """Return how many bytes drawing takes for each number of those that are drawn at once, in runs of so many."""
    if source.distribution not in _FILLS:
        return 8 * (_KERNEL_ROOM + len(source.params))
    return 8 * (_FILL_ROOM if run >= _SHORT and source.distribution != "permutation" else _SCATTERED_ROOM)


def fill_random(source: Random, shape: tuple[int, ...], origin: Array, out: Array) -> None:
    """Fill `out` (blocks, *extents) with the numbers at the positions of blocks of an array of this shape."""
    _fill(source, draws_of(source.key, source.jump, source.offset, shape, origin, out.shape[1:]), out)


def fill_random_at(source: Random, positions: Array, out: Array) -> None:
    """Fill `out` with the numbers at flat positions, which have its shape."""
    starts = positions.reshape(-1).astype(np.uint64) + np.uint64(source.offset)
    _fill(source, Draws(source.key, source.jump, starts, 1), out)


def _fill(source: Random, draws: Draws, out: Array) -> None:
    flat = out.reshape(-1)
    if not flat.size or _fill_compiled(source, draws, flat):
        return
    with np.errstate(all="ignore"):
        if source.distribution in _FILLS:
            _FILLS[source.distribution](draws, flat, *source.params)
        else:
            params = [np.full(flat.size, p, np.float64) for p in source.params]
            np.copyto(flat, KERNELS[source.distribution](draws, *params), casting="unsafe")


@lru_cache(maxsize=128)
def recorded(distribution: str, params: bytes, dtype: np.dtype[Any]) -> Recorded | None:
    """Return the compiled loop of a distribution with such parameters, doubles; None where it can't be one."""
    recording = None if distribution in _FILLS else record(KERNELS[distribution], np.frombuffer(params).tolist())
    return None if recording is None else write(recording, dtype)


def _fill_compiled(source: Random, draws: Draws, out: Array) -> bool:
    """Fill `out` by a recorded kernel's loop; tell whether there is one."""
    if len(out) < LEAST or source.distribution in _FILLS or config.jit == "off":
        return False
    kernel = recorded(source.distribution, np.array(source.params, np.float64).tobytes(), out.dtype)
    function = None if kernel is None else ready(kernel.text, 2, kernel.work * len(out))
    if kernel is None or function is None:
        return False
    starts, length = draws.even_runs
    frame, table = _frames.lend("frame", (kernel.frame,), np.dtype(np.uint8)), kernel.table_of(source.key, source.jump)
    places = [address_of(each) for each in (starts, frame, table, out)]
    function(*places, len(starts), length, 0, 0)
    return True


def draws_of(
    key: tuple[int, int], jump: int, offset: int, shape: tuple[int, ...], origin: Array, extents: tuple[int, ...]
) -> Draws:
    """Return the draws of blocks of an array whose numbers begin at position `offset` of a generator."""
    starts = run_starts(shape, origin, extents, offset)
    return Draws(key, jump, starts, extents[-1] if extents else 1)
