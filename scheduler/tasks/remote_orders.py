"""What tasks on other ranks ask of the driver when they submit tasks, and what it tells them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .record import Demand

SUBMIT, FORGET, CANCEL, LOOK, PLACE, LARGEST = (
    "task board: submit",
    "task board: forget",
    "task board: cancel",
    "task board: look",
    "task board: place",
    "task board: largest",
)
"""Services of the driver's."""
FUTURES = "task futures: "
OUTCOME = "task futures: outcome"
"""The service of a rank that has futures: how tasks ended."""

RETURNED, STAYS, RAISED, CANCELLED = "returned", "stays", "raised", "cancelled"
"""How a task ended: its result comes along, or stays with a rank; an exception; it was cancelled."""


class Submitted(NamedTuple):
    """A task that a task on another rank submits; `needs` are tasks that it has submitted before, by number."""

    number: int
    name: str
    call: bytes
    function: int
    needs: tuple[int, ...]
    demand: Demand
    same: str
    origin: str


class Ended(NamedTuple):
    """How a task ended, for its future on another rank."""

    number: int
    how: str
    packed: bytes
