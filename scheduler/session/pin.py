"""What a persisted array has of its chunks: they stay as long as it does."""

from __future__ import annotations

import time
import weakref
from functools import partial
from typing import TYPE_CHECKING

from .result_collector import ResultCollector, insist

if TYPE_CHECKING:
    from ..engine.engine import Engine
    from .job import Job
    from .session import Session

PAUSE = 0.01
"""Seconds between looks at what is made again."""


class Pin:
    """The chunks of a persisted array: they are freed when this object goes, or by `release`."""

    def __init__(self, session: Session, token: str, job: Job, number: int) -> None:
        self.session, self.token, self.job = session, token, job
        self.counted = False
        """Whether what its functions have added to shared arrays is due."""
        self._finalizer = weakref.finalize(self, insist, partial(session.drop, token, job, number))

    def release(self) -> None:
        """Free the chunks now; arrays made from them compute them again."""
        self._finalizer()

    @property
    def held(self) -> bool:
        """Whether the chunks are (or will be) there."""
        return self._finalizer.alive and self.job.error is None

    @property
    def known(self) -> bool:
        """Whether there is something to wait for: chunks, or the error that came instead."""
        return self._finalizer.alive

    @property
    def complete(self) -> bool:
        """Whether all chunks have been stored; one that a dead rank has taken with it is made again."""
        return self.held and self.job.finished

    def wait(self, deadline: float | None = None) -> bool:
        """Wait until all chunks are stored, at most until `deadline`; tell whether they are.

        Those that a dead rank took with it are waited for again. What stopped the computation is raised.
        """
        engine = self.session.engine
        while ResultCollector(engine, self.job, []).run(deadline):
            if not engine.losses or engine.ask(self._is_whole):
                self.session.check_open()  # chunks go with their cluster
                return True
            if deadline is not None and time.monotonic() >= deadline:
                return False
            time.sleep(PAUSE)
        return False

    def _is_whole(self, engine: Engine) -> bool:
        record = engine.ledger.records.get(self.token)
        return record is None or record.complete
