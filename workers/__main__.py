"""A spawned rank: `python -m windrow.workers`."""

from __future__ import annotations

from .loop import serve
from .mpi.start import joined, leave


def main() -> None:
    """Join the driver that spawned this process, and serve."""
    link = joined()
    try:
        serve(link)
    finally:
        leave(link)


if __name__ == "__main__":
    main()
