"""Reductions with masks and initial values, ufuncs with options, operators in place; what is joined and reshaped."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import windrow as wr

if TYPE_CHECKING:
    from collections.abc import Callable


def cases(a: dict[str, wr.Array], keep: Callable[[wr.Array], wr.Array]) -> dict[str, wr.Array]:
    """Everything that arrays/ops/reductions/sums.py and arrays/ops/elementwise/ufunc.py make of options."""
    y, i, f, line = a["y"], a["i"], a["f"], a["line"]
    mask = keep(y > 1)
    changed = y + 0
    changed *= 3
    out = wr.zeros(y.shape[1])
    np.subtract(y[0], 1, out=out, where=mask[0])
    return {
        "sum-where": y.sum(axis=0, where=mask, initial=2.0),
        "mean-where": f.mean(axis=1, where=f > 1),
        "var-where": y.var(axis=0, where=mask),
        "var-mean": wr.var(y, axis=1, mean=keep(y.mean(axis=1, keepdims=True)), correction=1),
        "max-initial": y.max(axis=1, initial=1.2, where=mask),
        "bitwise_xor-reduce": np.bitwise_xor.reduce(i, axis=0),
        "bitwise_and-reduce": np.bitwise_and.reduce(i, axis=None),
        "logaddexp-reduce": np.logaddexp.reduce(y, axis=1),
        "hypot-reduce": np.hypot.reduce(line),
        "fmin-reduce": np.fmin.reduce(y, axis=(0, 1)),
        "logical_xor-reduce": np.logical_xor.reduce(i, axis=1),
        "gcd-reduce": np.gcd.reduce(i, axis=0),
        "add-outer": np.add.outer(y[0], f[0]),
        "add-dtype": np.add(i, f, dtype="f8"),
        "in-place": changed,
        "out": out,
        "linspace-arrays": wr.linspace(y[0], y[1], 5),
        "reshape-fortran": wr.reshape(y, (420, 300), order="F"),
        "roll-axes": wr.roll(y, (7, -11), axis=(0, 1)),
        "unstack": wr.add(*wr.unstack(y[:2])),
        "product-broadcast": y @ y[:4].T - y[:1] @ y[:4].T,
    }
