"""Momentum of the averages: each mean is taken as a step from the state before.

K. Chen, Q. Huo: Scalable training of deep learning machines by incremental block training with intra-block parallel
optimization and blockwise model-update filtering, ICASSP (2016). J. Wang et al.: SlowMo, ICLR (2020). A. Douillard
et al.: DiLoCo (2023).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...graph.errors import ArgumentError, bad
from ..averaging.tasks import Update
from .state import map_leaves

__all__ = ["check_outer", "outer_update"]

Values = np.ndarray[Any, Any]


def check_outer(operation: str, average: Any, momentum: Any, rate: Any, nesterov: Any) -> None:
    """Raise where the arguments of an outer step are none of what they may be."""
    numbers = [isinstance(v, int | float | np.number) and not isinstance(v, bool) for v in (momentum, rate)]
    if not numbers[0] or not 0 <= momentum < 1:
        raise ArgumentError(bad(operation, "outer_momentum", momentum, "a number from 0 up to 1"))
    if not numbers[1] or not 0 < rate < np.inf:
        raise ArgumentError(bad(operation, "outer_learning_rate", rate, "a positive number"))
    if not isinstance(nesterov, bool | np.bool):
        raise ArgumentError(bad(operation, "outer_nesterov", nesterov, "True or False"))
    kind = average[0] if isinstance(average, tuple) and average else average
    if kind in ("async", "gradient") if isinstance(kind, str) else False:
        for name, value, plain in (("momentum", momentum, 0), ("learning_rate", rate, 1)):
            if value != plain:
                raise ArgumentError(bad(operation, f"outer_{name}", value, f"{plain} where average is {kind!r}"))


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
