"""Which ranks hold which pages: a dictionary at the driver, which tells each asker where to read, and notes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

DRIVER = 0


class Directory:
    """Holders of pages by the pages' numbers; of the driver, which holds all, nothing is noted.

    Who asks holds the page soon: others are sent there already, and wait until it has come. So a page that all want at
    once leaves the driver once or twice, and spreads by itself. Of two holders, chosen at random, the one that has been
    named less is named: nobody need know how busy each is.
    """

    def __init__(self, seed: int = 0) -> None:
        self._holders: dict[int, list[int]] = {}
        self._named: dict[int, int] = {}
        from random import Random

        self._random = Random(seed)

    def __len__(self) -> int:
        return len(self._holders)

    def where(self, asker: int, numbers: Sequence[int]) -> list[int]:
        """Return for each page who is to be asked for it; the asker is one of its holders from now on."""
        sources = []
        for number in numbers:
            held = self._holders.setdefault(number, [])
            others = [DRIVER, *(rank for rank in held if rank != asker)]
            two = self._random.sample(others, 2) if len(others) > 1 else others
            chosen = min(two, key=lambda rank: self._named.get(rank, 0))
            self._named[chosen] = self._named.get(chosen, 0) + 1
            if asker not in held:
                held.append(asker)
            sources.append(chosen)
        return sources

    def lose(self, ranks: Sequence[int]) -> None:
        gone = set(ranks)
        for held in self._holders.values():
            held[:] = [rank for rank in held if rank not in gone]

    def forget(self, numbers: Sequence[int]) -> None:
        """Forget pages that nobody needs any more."""
        for number in numbers:
            self._holders.pop(number, None)
