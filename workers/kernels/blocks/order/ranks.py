"""Which elements in order make a quantile, and with what weights: the methods of Hyndman and Fan, and NumPy's own."""

from __future__ import annotations

from typing import Any

import numpy as np

Values = np.ndarray[Any, Any]

_LINES = {
    "interpolated_inverted_cdf": (0.0, 1.0),
    "hazen": (0.5, 0.5),
    "weibull": (0.0, 0.0),
    "median_unbiased": (1 / 3.0, 1 / 3.0),
    "normal_unbiased": (3 / 8.0, 3 / 8.0),
}
"""Where the continuous methods lay the line between positions and quantiles: Hyndman and Fan's alpha and beta."""

METHODS = (
    "inverted_cdf",
    "averaged_inverted_cdf",
    "closest_observation",
    *_LINES,
    "linear",
    "lower",
    "higher",
    "midpoint",
    "nearest",
)


def ranks(method: str, n: Any, q: Values) -> tuple[Values, Values, Values | None]:
    """Return the positions before and after each quantile among n elements in order, and the weight of the latter.

    `n` may be an array. The weight is None for methods that choose an element.
    """
    last = np.asarray(n) - 1
    if method == "linear" and q.dtype.kind in "iu":
        return last * q, last * q, None
    n = np.asarray(n).astype(q.dtype if q.dtype.kind == "f" else np.float64)  # as a Python number in NumPy's formulas
    at = (n - 1) * q
    if method in ("lower", "higher", "nearest"):
        rounded = np.floor(at) if method == "lower" else np.ceil(at) if method == "higher" else np.around(at)
        chosen = np.minimum(rounded.astype(np.int64), last)
        return chosen, chosen, None
    if method in ("inverted_cdf", "closest_observation"):
        at = n * q - (1 if method == "inverted_cdf" else 1.5)
        before = np.floor(at)
        exact = at == before
        if method == "closest_observation":
            exact &= before % 2 == 1
        chosen = np.where(exact, before, before + 1).astype(np.int64).clip(0, last)
        return chosen, chosen, None
    if method == "midpoint":
        at = 0.5 * (np.floor(at) + np.ceil(at))
    elif method == "averaged_inverted_cdf":
        at = n * q - 1
    elif method in _LINES:
        alpha, beta = _LINES[method]
        at = n * q + (alpha + q * (1 - alpha - beta)) - 1
    before = np.floor(at)
    above, under = at >= n - 1, at < 0
    end = np.where(under, 0, last)
    first = np.where(above | under, end, before).astype(np.int64)
    second = np.where(above | under, end, before + 1).astype(np.int64)
    weight = np.asarray(at - np.where(above, -1, np.where(under, 0, before)).astype(at.dtype))
    if method == "midpoint":
        weight = np.where(at % 1 == 0, 0.0, 0.5).astype(at.dtype)
    elif method == "averaged_inverted_cdf":
        weight = np.where(weight == 0, 0.5, 1.0).astype(at.dtype)
    return first, second, weight


def between(before: Values, after: Values, weight: Values, dtype: np.dtype[Any]) -> Values:
    """Return the points on the lines from `before` to `after`, in a dtype of weights, as NumPy rounds them."""
    span = after - before
    lower = before + span * weight.astype(dtype)
    upper = after - span * (1 - weight).astype(dtype)
    return np.asarray(np.where(weight >= 0.5, upper, lower))
