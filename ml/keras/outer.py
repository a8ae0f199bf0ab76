"""Momentum of the averages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.errors import ArgumentError, bad

if TYPE_CHECKING:
    from ..training import Rounds

__all__ = ["Outer"]


class Outer:
    """Takes each average as a step, with momentum: blockwise model-update filtering with zeta 1.

    K. Chen, Q. Huo: Scalable training of deep learning machines by incremental block training with intra-block parallel
    optimization and blockwise model-update filtering, ICASSP (2016).
    """

    def __init__(self, rounds: Rounds, momentum: float) -> None:
        number = isinstance(momentum, int | float) and not isinstance(momentum, bool)
        if not number or not 0 <= momentum < 1:
            raise ArgumentError(bad("fit", "outer_momentum", momentum, "a number from 0 up to 1"))
        self._rounds, self._momentum = rounds, float(momentum)
        self._speed: list[Any] = []

    def run(self, epoch: int, number: int) -> dict[str, float]:
        """Run a round, and step on from its average."""
        if not self._momentum:
            return self._rounds.run(epoch, number)
        before = self._rounds.state["weights"]
        told = self._rounds.run(epoch, number)
        state = self._rounds.state
        speed = self._speed or [np.zeros_like(w) for w in before]
        self._speed = [self._momentum * v + (w - b) for v, w, b in zip(speed, state["weights"], before, strict=True)]
        stepped = [b + v for b, v in zip(before, self._speed, strict=True)]
        self._rounds.state = {**state, "weights": stepped}
        return told
