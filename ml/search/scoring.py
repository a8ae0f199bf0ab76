"""What a trial is worth: its score, its loss, its time, or a function of them; greater is better."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ...graph.errors import ArgumentError, bad

if TYPE_CHECKING:
    from .trials import Told

__all__ = ["check_scoring", "worth"]


def check_scoring(operation: str, scoring: Any) -> None:
    """Raise where scoring is none."""
    if scoring not in ("score", "loss", "time") and not callable(scoring):
        raise ArgumentError(bad(operation, "scoring", scoring, "'score', 'loss', 'time' or a function of a dict"))


def worth(operation: str, scoring: Any, told: Told, params: dict[str, Any], epochs: int) -> float:
    """Return what one fold of a trial is worth; losses and times are negative."""
    if scoring == "score":
        return told.score
    if scoring == "loss":
        return -told.loss
    if scoring == "time":
        return -told.fit_time
    given = {"score": told.score, "loss": told.loss, "time": told.fit_time, "epochs": epochs, "params": dict(params)}
    found = scoring(given)
    try:
        return float(found)
    except (TypeError, ValueError) as error:
        raise ArgumentError(bad(operation, "scoring", f"a function that gave {found!r}", "a number")) from error


def better_first(scores: list[float]) -> list[int]:
    """Return positions, the best first; of equals the first one, what is no number last."""
    return sorted(
        range(len(scores)), key=lambda i: (math.isnan(scores[i]), -scores[i] if scores[i] == scores[i] else 0, i)
    )
