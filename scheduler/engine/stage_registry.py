"""What ranks know of stages: each is told of one when it first runs a task of it, of all that were entered until then.

Steps of a loop over small arrays run on one rank; the others hear nothing of them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ...workers.wire.protocol import Define, Forget

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...graph.lowering.stage import Stage
    from ...workers.wire.protocol import Command


class StageRegistry:
    """Tells ranks of stages by `send(rank, command)`; rank 0 knows all of them at once, with the user's data."""

    def __init__(self, ranks: int, send: Callable[[int, Command], None]) -> None:
        self._send = send
        self._unannounced: list[dict[str, Stage]] = [{} for _ in range(ranks)]

    def enter(self, stages: Sequence[Stage], alive: Sequence[bool]) -> None:
        """Note stages that tasks will be run of."""
        if not stages:
            return
        self._send(0, Define(tuple(stages)))
        for unannounced, lives in zip(self._unannounced[1:], alive[1:], strict=True):
            if lives:
                unannounced.update((stage.token, stage) for stage in stages)

    def announce(self, rank: int, token: str) -> None:
        """Tell a rank what it needs to run a task of a stage: all that it wasn't told."""
        if token not in (unannounced := self._unannounced[rank]):
            return
        stages = tuple(unannounced.values())
        unannounced.clear()
        here = tuple(s if s.data is None or s.data.file is not None else replace(s, data=None) for s in stages)
        self._send(rank, Define(here))

    def forget(self, tokens: Sequence[str], alive: Sequence[bool]) -> None:
        """Have ranks forget stages; who was told nothing of them has nothing to forget."""
        for rank, (unannounced, lives) in enumerate(zip(self._unannounced, alive, strict=True)):
            known = tuple(token for token in tokens if unannounced.pop(token, None) is None)
            if lives and known:
                self._send(rank, Forget(known))
