"""A spawned rank: `python -m windrow.workers`."""

from __future__ import annotations

from .loop import work
from .mpi.start import joined


def main() -> None:
    """Join the driver that spawned this process, and serve."""
    work(joined())


if __name__ == "__main__":
    main()
