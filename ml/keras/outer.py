"""Momentum of the averages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.errors import ArgumentError, bad
from ..averaging.asynchronous import Asynchronous
from ..averaging.rounds import join_rounds

if TYPE_CHECKING:
    from ..averaging.rounds import RoundMetrics, Rounds
    from ..progress import Progress

__all__ = ["Outer"]


class Outer:
    """Takes each average as a step, with momentum: blockwise model-update filtering with zeta 1.

    K. Chen, Q. Huo: Scalable training of deep learning machines by incremental block training with intra-block parallel
    optimization and blockwise model-update filtering, ICASSP (2016).

    Attributes
    ----------
    speed : list of numpy.ndarray
        Of each weight; empty before the first step, and without momentum.
    """

    def __init__(self, rounds: Rounds | Asynchronous, momentum: float, speed: list[Any]) -> None:
        number = isinstance(momentum, int | float) and not isinstance(momentum, bool)
        if not number or not 0 <= momentum < 1:
            raise ArgumentError(bad("fit", "outer_momentum", momentum, "a number from 0 up to 1"))
        if momentum and isinstance(rounds, Asynchronous):
            raise ArgumentError(bad("fit", "outer_momentum", momentum, "0 where average is 'async'"))
        self._rounds, self._momentum = rounds, float(momentum)
        self.speed = speed

    def epoch(self, epoch: int, count: int, progress: Progress | None = None) -> RoundMetrics:
        """Run an epoch of so many rounds, and step on from the average of each."""
        if isinstance(self._rounds, Asynchronous) or not self._momentum:
            return self._rounds.epoch(epoch, count, progress)
        told = []
        for number in range(count):
            told.append(self._step(self._rounds, epoch, number))
            if progress is not None:
                progress.advance(told[-1].rows)
        return join_rounds(told)

    def _step(self, rounds: Rounds, epoch: int, number: int) -> RoundMetrics:
        before = rounds.state["weights"]
        told = rounds.run(epoch, number)
        state = rounds.state
        speed = self.speed or [np.zeros_like(w) for w in before]
        self.speed = [self._momentum * v + (w - b) for v, w, b in zip(speed, state["weights"], before, strict=True)]
        rounds.state = {**state, "weights": [b + v for b, v in zip(before, self.speed, strict=True)]}
        return told
