"""The learning rate of shards: each takes so many times fewer steps, and the average of their moves is as long as one.

P. Goyal et al.: Accurate, large minibatch SGD: training ImageNet in 1 hour (2017). S. Stich: Local SGD converges fast
and communicates little, ICLR (2019).
"""

from __future__ import annotations

from typing import Any

from ...graph.errors import ArgumentError, bad

__all__ = ["ADAPTIVE", "PLAIN", "WARM", "check_scale", "rate_factor"]

PLAIN, ADAPTIVE = 0.25, 0.05
"""Lengths of steps, rate / (1 - momentum), to which larger rates lead at most: SGD's, and those of normed gradients."""
WARM = 8
"""Steps over which a larger rate grows to its size."""


def check_scale(operation: str, scale: Any) -> None:
    """Raise where `scale_learning_rate` is none of what it may be."""
    if not isinstance(scale, bool) and not (isinstance(scale, str) and scale == "auto"):
        raise ArgumentError(bad(operation, "scale_learning_rate", scale, "True, False or 'auto'"))


def rate_factor(scale: bool | str, average: Any, shards: int, step: float, longest: float) -> float:
    """Return by how much learning rates grow; "auto" leaves those alone with which one optimiser steps for all.

    So many times as there are shards, but to steps of length `longest` at most, since larger ones may diverge.
    """
    if scale is False or (scale == "auto" and isinstance(average, str) and average == "gradient"):
        return 1.0
    return float(shards) if scale is True else max(1.0, min(float(shards), longest / (step or longest)))
