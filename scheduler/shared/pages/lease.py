"""What keeps a version of a shared array."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .versions import Version


class Lease:
    """Held by whoever may need a version once more."""

    def __init__(self, version: Version) -> None:
        self.version = version


class Elsewhere(Lease):
    """Stands for the lease of a version that another process keeps."""

    def __init__(self) -> None:
        """See the class."""
