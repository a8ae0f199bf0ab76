"""What `asks.py` has ranks ask each other: in a file that all of them import."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from windrow.workers.wire.protocol import RankMessage


@dataclass(frozen=True, slots=True)
class Add(RankMessage[tuple[int, int, Any]]):
    """Add one."""

    what: Any


@dataclass(frozen=True, slots=True)
class Silence(RankMessage[None]):
    """Say nothing."""
