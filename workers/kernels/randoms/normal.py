"""Normal numbers by Box and Muller's method (1958), with sine and cosine of our own.

The draws d and d + 1 (d even) give the numbers of the positions d and d + 1: r cos(2 pi v) and r sin(2 pi v), with
v = u - 1/2 and r from the other draw. NumPy's sine and cosine of doubles take longer than all the rest. Here x, the
sine of a quarter of the angle times 2 ** 0.75, comes from seven terms (interpolated at Chebyshev's nodes of the eighth
of a circle that is left: exact to 4e-18), and doubling the angle twice makes of y = x ** 2 and k = sqrt(8) - y

    cos(2 pi v) = 1 - k y,    sin(2 pi v) = x sqrt(k) (sqrt(2) - y).

So all that is done is additions, products, roots and one logarithm.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..buffers import Buffers
from ..compiled.draws.drawing import draw_normal_runs
from .philox import fill_run, raw_at
from .recording import is_value

if TYPE_CHECKING:
    from .draws import Draws

Array = np.ndarray[Any, Any]
PIECE = 1 << 16
"""Large enough that threads don't wait for each other between loops, small enough for a core's own cache."""
SERIES = (
    2.6417540005910616,
    -1.0863777879512035,
    0.13402648746490328,
    -0.007873740533969583,
    0.00026982877703657837,
    -6.052172590598864e-06,
    9.475109441343972e-08,
)
_draws = Buffers(1 << 26, begin=1 << 16)


def polar(u: Array, v: Array, even: Array, odd: Array | None) -> None:
    """Fill `even` with r cos(2 pi v), `odd` with r sin(2 pi v), for draws u and v; they may share their memory."""
    r: Array
    if is_value(u):
        r, a, t, x, k = (u.like() for _ in range(5))
    else:
        r, a, t, x, k = _draws.lend("polar", (5, len(u)), np.dtype(np.float64))
    np.subtract(1.0, u, out=r)
    np.log(r, out=r)
    np.multiply(r, -2.0, out=r)
    np.sqrt(r, out=r)
    np.subtract(v, 0.5, out=a)
    np.multiply(a, a, out=t)
    np.multiply(t, SERIES[-1], out=x)
    for coefficient in SERIES[-2:0:-1]:
        np.add(x, coefficient, out=x)
        np.multiply(x, t, out=x)
    np.add(x, SERIES[0], out=x)
    np.multiply(x, a, out=x)
    np.multiply(x, x, out=t)
    np.subtract(8.0**0.5, t, out=k)
    if odd is not None:
        np.sqrt(k, out=a)
        np.multiply(x, a, out=x)
        np.subtract(2.0**0.5, t, out=a)
        np.multiply(x, a, out=x)
        np.multiply(x, r, out=odd)
    np.multiply(k, t, out=k)
    np.subtract(1.0, k, out=k)
    np.multiply(k, r, out=even)


def gauss(u: Array, v: Array) -> Array:
    """Return one normal number for each pair of draws."""
    out: Array
    if is_value(u):
        recorded_u: Any = u
        out = u.like()
        polar(recorded_u, v, out, None)
        return out
    out = np.empty(len(u))
    for lo in range(0, len(u), PIECE):
        polar(u[lo : lo + PIECE], v[lo : lo + PIECE], out[lo : lo + PIECE], None)
    return out


def standard(draws: Draws, out: Array) -> None:
    """Fill `out`, doubles or floats, with the normal numbers of the positions."""
    if draw_normal_runs(draws.name(1), *draws.even_runs, out, SERIES):
        return
    if draws.scattered:
        _single(draws, draws.positions, out)
    else:
        _pairs(draws, out)


def _single(draws: Draws, positions: Array, out: Array) -> None:
    """Make the pairs of some positions, and keep of each the one that is wanted."""
    odd = (positions & np.uint64(1)).astype(bool)
    u = raw_at(draws.name(1), positions & ~np.uint64(1), 2)
    pair = (u >> np.uint64(11)) * 2.0**-53
    first, second = np.empty(len(u)), np.empty(len(u))
    for lo in range(0, len(u), PIECE):
        hi = lo + PIECE
        polar(pair[lo:hi, 0], pair[lo:hi, 1], first[lo:hi], second[lo:hi])
    np.copyto(out, first)
    np.copyto(out, second, where=odd)


def _pairs(draws: Draws, out: Array) -> None:
    """Make whole pairs for all runs: in the result's own memory where it is one run of them."""
    runs = list(draws.runs())
    lengths = [(q % 2 + hi - lo + 1) // 2 * 2 for lo, hi, q in runs]
    own = lengths == [len(out)] and out.dtype == np.float64
    pairs = out if own else np.empty(sum(lengths))
    at = 0
    for (_, _, q), length in zip(runs, lengths, strict=True):
        fill_run(draws.name(1), q - q % 2, pairs[at : at + length])
        at += length
    for begin in range(0, len(pairs), PIECE):
        piece = pairs[begin : begin + PIECE]
        polar(piece[0::2], piece[1::2], piece[0::2], piece[1::2])
    at = 0
    if not own:
        for (lo, hi, q), length in zip(runs, lengths, strict=True):
            out[lo:hi] = pairs[at + q % 2 : at + q % 2 + hi - lo]
            at += length
