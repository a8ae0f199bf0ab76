"""BLAS held to one thread while tasks run: tasks are what runs in parallel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...graph.lowering.stage import Stage


class BlasLimit:
    """Sets the limit when stages come that may use BLAS, and puts the user's setting back."""

    def __init__(self) -> None:
        self._controller: Any = None
        self._limit: Any = None

    def before(self, stages: Iterable[Stage]) -> None:
        """Limit BLAS if any of the stages may call it."""
        if self._limit is None and any(stage.whole for stage in stages):
            if self._controller is None:
                from threadpoolctl import ThreadpoolController

                self._controller = ThreadpoolController()
            self._limit = self._controller.limit(limits=1)

    def after(self) -> None:
        """Put the former setting back."""
        if self._limit is not None:
            self._limit.restore_original_limits()
            self._limit = None
