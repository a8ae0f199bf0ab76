"""A spawned rank: `python -m windrow.workers`."""

from __future__ import annotations

from .mpi.start.start import join_spawned
from .rank.loop import work


def main() -> None:
    """Join the driver that spawned this process, and serve."""
    work(join_spawned())


if __name__ == "__main__":
    main()
