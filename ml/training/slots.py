"""What each shard keeps for itself, such as its optimiser's slots, from one training to the next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .asynchronous import Asynchronous
    from .rounds import Rounds

__all__ = ["keep_slots", "mean_slots", "restore_slots"]


def mean_slots(rounds: Rounds | Asynchronous) -> Any:
    """Return the mean of what the shards keep: what an estimator has that is trained on by other means."""
    return rounds.task.own.unpack(_mean(rounds, rounds.owns))


def keep_slots(rounds: Rounds | Asynchronous, model: Any) -> None:
    """Have a model keep what each shard does; `over_rows` leaves it at home."""
    if len(rounds.owns) > 1 and rounds.task.own.leaves:
        model._slots = rounds.owns.copy()


def restore_slots(rounds: Rounds | Asynchronous, start: Any) -> None:
    """Give each shard what it kept when `start` was trained.

    Where there are other shards now, or the model has since learnt by other means, all go on from its own.
    """
    slots, own = getattr(start, "_slots", None), rounds.owns
    if slots is not None and slots.shape == own.shape and np.array_equal(_mean(rounds, slots), own[0]):
        rounds.owns = slots.copy()


def _mean(rounds: Rounds | Asynchronous, slots: np.ndarray[Any, Any]) -> Any:
    return rounds.task.own.mean(slots, np.ones(len(slots)))
