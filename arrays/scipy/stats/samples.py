"""What statistics are made of: samples along axes, their means and central moments."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.arguments import check_flag
from ....graph.errors import ArgumentError, DTypeError, ShapeError, bad
from ...base import as_array, check_axes, check_axis
from ...ops.elementwise.functions import astype, where
from ...ops.elementwise.ufuncs import absolute

if TYPE_CHECKING:
    from ...array import Array
    from ...typing import AxisLike

ABOUT = {
    "a": "array_like: The sample, real numbers.",
    "b": "array_like: The other sample.",
    "x": "array_like: The sample, real numbers.",
    "y": "array_like: The other sample, in the shape of `x`.",
    "popmean": "float or array_like: The mean that is expected.",
    "axis": "int, tuple of int or None: The axes along which samples lie; None: all.",
    "ddof": "int: Subtracted from the number of elements where it divides.",
    "bias": "bool: False corrects for bias.",
    "fisher": "bool: Whether 3 is subtracted, so that it is 0 for normal numbers.",
    "nan_policy": 'str: Only "propagate": samples with NaN give NaN.',
    "keepdims": "bool: Whether the axes stay, with length one.",
    "alternative": '{"two-sided", "less", "greater"}: What is held against the hypothesis.',
    "equal_var": "bool: Whether variances are taken for equal; False: Welch's test.",
    "trim": "float: Only 0.",
    "method": "None: Resampling is refused.",
    "order": "int: Order of the moment.",
    "center": "float or array_like, optional: About what; None: the mean.",
    "weights": "array_like, optional: Weights, in the shape of `a`; None: all are one.",
    "dtype": "dtype, optional: In which the computation is done.",
    "p": "float: Exponent of the mean.",
    "scores": "array_like: What is compared.",
    "compare": "array_like: The sample that it is compared with.",
    "f_obs": "array_like: Counts that were observed.",
    "f_exp": "array_like, optional: Counts that were expected; None: their mean.",
    "lambda_": "float or str, optional: Power of the divergence; None: Pearson's.",
    "sum_check": "bool: Whether sums of both counts must agree; known when computed.",
    "samples": "array_like: Two samples or more.",
    "pk": "array_like: A distribution; it is divided by its sum.",
    "qk": "array_like, optional: Another one, for the relative entropy.",
    "base": "float, optional: Of the logarithm; None: e.",
    "scale": "float: What the result is divided by.",
    "rng": "pair of float: The percentiles.",
    "interpolation": "str: How percentiles between elements are found, as `percentile` has it.",
}


class Sample:
    """Elements along axes, as floating-point numbers."""

    def __init__(self, name: str, argument: str, value: object, axis: AxisLike, nan_policy: Any = "propagate") -> None:
        refuse_policy(name, nan_policy)
        x = as_array(name, argument, value)
        if x.dtype.kind not in "biuf":
            raise DTypeError(bad(name, argument, x.dtype, "real numbers"))
        self.name, self.x = name, x if x.dtype.kind == "f" else astype(x, float)
        if axis is None or isinstance(axis, tuple | list):
            self.axes = check_axes(name, None if axis is None else tuple(axis), x.ndim)
        else:
            self.axes = (check_axis(name, axis, x.ndim),)
        self.n = math.prod(x.shape[i] for i in self.axes)

    def mean(self) -> Array:
        """Return means; the axes stay."""
        return self.x.mean(axis=self.axes, keepdims=True)

    def moment(self, order: int, center: Any = None) -> Array:
        """Return a moment about the mean; the axes stay."""
        moment: Array
        if order == 0:
            moment = self.mean() * 0 + 1
            return moment
        off = self.x - (self.mean() if center is None else center)
        powers = off
        for _ in range(order - 1):
            powers = powers * off
        moment = powers.mean(axis=self.axes, keepdims=True)
        return moment

    def var(self, ddof: float = 1) -> Array:
        """Return variances; the axes stay."""
        variance: Array = self.x.var(axis=self.axes, ddof=ddof, keepdims=True)
        return variance

    def settle(self, found: Array, keepdims: bool = False) -> Array:
        """Return a result without the axes, unless they are kept."""
        settled: Array = found if check_flag(self.name, "keepdims", keepdims) else found.squeeze(self.axes)
        return settled

    def flat(self, second: Array) -> Array:
        """Tell where a second moment is 0 but for rounding."""
        small = absolute(self.mean()) * float(np.finfo(self.x.dtype).resolution)
        is_flat: Array = second <= small * small
        return is_flat


def nan_where(condition: Array, found: Array) -> Array:
    """Return NaN where a condition holds."""
    masked: Array = where(condition, found.dtype.type(np.nan), found)
    return masked


def refuse_policy(name: str, policy: object) -> None:
    """Raise for what is done with NaN otherwise."""
    if policy != "propagate":
        raise ArgumentError(
            bad(name, "nan_policy", policy, "'propagate'; leave NaN out beforehand, or compute() first")
        )


def check_alternative(name: str, alternative: object) -> None:
    """Raise for an unknown alternative."""
    if alternative not in ("two-sided", "less", "greater"):
        raise ArgumentError(bad(name, "alternative", alternative, "'two-sided', 'less' or 'greater'"))


def refuse_other(name: str, **given: tuple[object, object]) -> None:
    """Raise for arguments that only have one value here."""
    for argument, (value, only) in given.items():
        if not (value is only or value == only):
            raise ArgumentError(bad(name, argument, value, f"{only!r}; compute() first for others"))


def same_lengths(name: str, a: Sample, b: Sample) -> None:
    """Raise where paired samples have different lengths."""
    if a.x.shape != b.x.shape:
        raise ShapeError(bad(name, "b", b.x.shape, f"the shape of the other sample, {a.x.shape}"))
