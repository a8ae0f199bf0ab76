"""The workloads by name: what is measured, and the check of what came out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from .systems.base import System


def _unchecked(at: System, found: Any) -> None:
    raise AssertionError("this workload has no check")


@dataclass
class Workload:
    """One row of the table.

    Attributes
    ----------
    name
        Its words in the table and on the command line.
    run
        What is timed: from nothing to values or to a store.
    stores
        The data sets that it reads.
    held
        Those of them that NumPy's arrays hold when it begins.
    without
        Systems that can't, by the reason.
    check
        Compares what the last run gave with NumPy's, in blocks; raises AssertionError.
    """

    name: str
    run: Callable[[System], Any]
    stores: tuple[str, ...] = ()
    held: tuple[str, ...] = ()
    without: dict[str, str] = field(default_factory=dict)
    check: Callable[[System, Any], None] = _unchecked

    def checked(self, check: Callable[[System, Any], None]) -> Callable[[System, Any], None]:
        """Take a function as the check."""
        self.check = check
        return check


WORKLOADS: dict[str, Workload] = {}


def workload(
    name: str,
    *,
    stores: tuple[str, ...] = (),
    held: tuple[str, ...] = (),
    without: dict[str, str] | None = None,
) -> Callable[[Callable[[System], Any]], Workload]:
    """Enter a function as the workload of this name."""

    def enter(run: Callable[[System], Any]) -> Workload:
        WORKLOADS[name] = Workload(name, run, stores, held, without or {})
        return WORKLOADS[name]

    return enter


def load() -> dict[str, Workload]:
    """Return all workloads, in the table's order."""
    from . import workloads

    workloads.load()
    return WORKLOADS
