"""When the states of shards are averaged, how long the steps of a shard are meanwhile, and what the mean moves.

Each of some shards takes so many times fewer steps than one process, and the average of their moves is as long as one:
larger learning rates give it back, and so does momentum of the averages, each of which is a step from the state before.

P. Goyal et al.: Accurate, large minibatch SGD: training ImageNet in 1 hour (2017). S. Stich: Local SGD converges fast
and communicates little, ICLR (2019). K. Chen, Q. Huo: Scalable training of deep learning machines by incremental block
training with intra-block parallel optimization and blockwise model-update filtering, ICASSP (2016). J. Wang et al.:
SlowMo, ICLR (2020). A. Douillard et al.: DiLoCo (2023).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...graph.arguments import check_flag, check_integer
from ...graph.errors import ArgumentError, bad
from .state import map_leaves
from .tasks import Update

__all__ = ["ADAPTIVE", "PLAIN", "PUSHES", "WARM", "Averaging", "outer_update"]

Values = np.ndarray[Any, Any]
PUSHES = 16
"""Asynchronous rounds of an epoch where nothing else is said: the shorter they are, the nearer to averaging."""
PLAIN, ADAPTIVE = 0.25, 0.05
"""Lengths of steps, rate / (1 - momentum), to which larger rates lead at most: SGD's, and those of normed gradients."""
WARM = 8
"""Steps over which a larger rate grows to its size."""


@dataclass(frozen=True)
class Averaging:
    """When states are averaged, and how they move then: `average` and the arguments beside it, checked.

    Attributes
    ----------
    operation : str
        For messages.
    average : {"epoch", "batch", "gradient", "async"}, int or ("async", int)
    momentum, rate, nesterov
        Of the outer steps.
    scale : bool or "auto"
        Whether learning rates grow with the number of shards.
    """

    operation: str
    average: str | int | tuple[str, int]
    momentum: float = 0.0
    rate: float = 1.0
    nesterov: bool = False
    scale: bool | str = False

    def __post_init__(self) -> None:
        self.period(1)
        if not isinstance(self.scale, bool) and not (isinstance(self.scale, str) and self.scale == "auto"):
            raise ArgumentError(bad(self.operation, "scale_learning_rate", self.scale, "True, False or 'auto'"))
        if not _is_number(self.momentum) or not 0 <= self.momentum < 1:
            raise ArgumentError(bad(self.operation, "outer_momentum", self.momentum, "a number from 0 up to 1"))
        if not _is_number(self.rate) or not 0 < self.rate < np.inf:
            raise ArgumentError(bad(self.operation, "outer_learning_rate", self.rate, "a positive number"))
        check_flag(self.operation, "outer_nesterov", self.nesterov)
        if self.kind in ("async", "gradient"):
            for name, value, plain in (("momentum", self.momentum, 0), ("learning_rate", self.rate, 1)):
                if value != plain:
                    expected = f"{plain} where average is {self.kind!r}"
                    raise ArgumentError(bad(self.operation, f"outer_{name}", value, expected))

    @property
    def kind(self) -> Any:
        """What `average` is, without a number of batches: "epoch", "batch", "gradient" or "async"."""
        average = self.average[0] if isinstance(self.average, tuple) and self.average else self.average
        return average if isinstance(average, str) else "batch"

    def period(self, batches: int) -> int:
        """Return the batches of a round, of the most that a shard has in an epoch."""
        periods = {"epoch": batches, "batch": 1, "gradient": 1, "async": -(-batches // PUSHES)}
        if isinstance(self.average, str) and self.average in periods:
            return periods[self.average]
        period: Any = self.average
        if isinstance(period, tuple) and len(period) == 2 and self.kind == "async":
            period = period[1]
        expected = "'epoch', 'batch', 'gradient', 'async', a positive number of batches, or ('async', such a number)"
        return min(check_integer(self.operation, "average", period, 1, expected=expected), batches)

    def rounds(self, batches: int) -> int:
        """Return the rounds of an epoch."""
        return -(-batches // self.period(batches))

    def outer(self, state: Any, left: tuple[str, ...] = ()) -> Update | None:
        """Return what moves a state when the mean is known; see `outer_update`."""
        return outer_update(state, self.momentum, self.rate, self.nesterov, left)

    def rate_factor(self, shards: int, step: float, longest: float) -> float:
        """Return by how much learning rates grow; "auto" leaves those alone with which one optimiser steps for all.

        So many times as there are shards, but to steps of length `longest` at most, since larger ones may diverge.
        """
        if self.scale is False or (self.scale == "auto" and self.kind == "gradient"):
            return 1.0
        return float(shards) if self.scale is True else max(1.0, min(float(shards), longest / (step or longest)))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def outer_update(state: Any, momentum: float, rate: float, nesterov: bool, left: tuple[str, ...] = ()) -> Update | None:
    """Return the update that steps on from each mean; None where the mean is the new state.

    What lies under the names in `left`, and what are no floats, is the mean as ever.
    """
    if not momentum and rate == 1:
        return None
    step, speed = OuterStep(float(momentum), float(rate), bool(nesterov), left), []
    map_leaves(lambda path, value: speed.append(np.zeros_like(value)) if step.moves(path, value) else None, "", state)
    return Update(step, speed)


@dataclass(frozen=True)
class OuterStep:
    """speed = momentum * speed + rate * (mean - state); state += speed, or Nesterov's look-ahead from there."""

    momentum: float
    rate: float
    nesterov: bool
    left: tuple[str, ...]

    def moves(self, path: str, value: Any) -> bool:
        """Tell whether an array of the state has a speed."""
        return np.asarray(value).dtype.kind in "fc" and not any(f"[{name!r}]" in path for name in self.left)

    def __call__(self, state: Any, speed: list[Values], mean: Any) -> tuple[Any, list[Values]]:
        speeds, means, new = iter(speed), iter(leaves_of(mean)), []

        def move(path: str, before: Values) -> Values:
            after = next(means)
            if not self.moves(path, before):
                return after
            change = self.rate * (after - before)
            new.append(self.momentum * next(speeds) + change)
            return before + (self.momentum * new[-1] + change if self.nesterov else new[-1])

        return map_leaves(move, "", state), new


def leaves_of(state: Any) -> list[Values]:
    """Return the arrays of a state, in order."""
    leaves: list[Values] = []
    map_leaves(lambda _, value: leaves.append(value), "", state)
    return leaves
