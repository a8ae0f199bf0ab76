"""How long the tasks of stages take, remembered when the stages are forgotten: plans tell it when they come again."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..engine.engine import Engine
    from .stage_record import StageRecord

REMEMBERED = 4096
"""So many stages are remembered, the latest ones."""


class Timings:
    """Seconds that a task took on average, by the stage's token."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def note(self, record: StageRecord) -> None:
        """Remember what the tasks of a record have taken."""
        if record.ran:
            name = record.stage.token.partition("/")[0]  # without what told apart stages that wrote a user's result
            self.seconds.pop(name, None)
            self.seconds[name] = record.spent / record.ran
            if len(self.seconds) > REMEMBERED:
                del self.seconds[next(iter(self.seconds))]


def find_seconds(engine: Engine, tokens: Iterable[str]) -> dict[str, float]:
    """Return the seconds that a task of each stage took, of those that are known; on the engine's thread."""
    seconds = {}
    for token in tokens:
        record = engine.ledger.records.get(token)
        if record is not None and record.ran:
            seconds[token] = record.spent / record.ran
        elif token in engine.ledger.timings.seconds:
            seconds[token] = engine.ledger.timings.seconds[token]
    return seconds
