"""The workloads, a file for each group, in the table's order."""

from __future__ import annotations

from importlib import import_module

GROUPS = ("sums", "moves", "stores", "climate", "groups", "programs", "heat", "regridding", "operations")


def load() -> None:
    """Import all groups."""
    for group in GROUPS:
        import_module(f"{__name__}.{group}")
