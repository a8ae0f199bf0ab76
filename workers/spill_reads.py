"""What batches read of spill files: asked for while they wait for their turn, and let go of when they have ended."""

from __future__ import annotations

import math
import mmap
from typing import TYPE_CHECKING

from .page_cache import advise, ask_ahead, fits, let_go
from .reader import Place
from .reading import read_soon

if TYPE_CHECKING:
    from .protocol import Run
    from .reader import Reader
    from .transport import Bytes

WHOLE = 4
"""Slabs are read ahead whole if they are no more than so many times as many bytes as the batch takes of them."""


class SpillReads:
    """The slabs in spill files that a batch reads, as they are mapped."""

    def __init__(self, run: Run, reader: Reader) -> None:
        self._parts: list[Bytes] = []
        files: dict[tuple[int, int], Bytes] = {}
        stage = reader.stage
        for places, producer in zip(run.inputs, reader.producers, strict=True):
            for i in (places.sources >= 0).nonzero()[0].tolist():
                file = int(places.owners[i]), int(places.sources[i])
                memory = reader.memory(Place(file[0], 0, file[1]))
                if memory is not None:
                    files[file] = memory
                    begin, size = int(places.offsets[i]), int(producer.all_slab_bytes[places.tasks[i]])
                    self._parts.append(memory[begin : begin + size])
        self._all_bytes = sum(memory.nbytes for memory in files.values())
        each = stage.domain.largest * math.prod(stage.groups) * stage.blocks_per_task * stage.dtype.itemsize
        taken = each * len(run.tasks) * max(1, len(run.inputs))
        if self._parts and sum(part.nbytes for part in self._parts) <= WHOLE * taken:
            read_soon(self._ask_ahead)
        elif self._parts and not fits(self._all_bytes):
            for memory in files.values():
                advise(memory, mmap.MADV_RANDOM)

    def _ask_ahead(self) -> None:
        for part in self._parts:
            ask_ahead(part)

    def end(self) -> None:
        """Give memory back that the files don't fit."""
        if self._parts and not fits(self._all_bytes):
            for part in self._parts:
                let_go(part)
        self._parts.clear()
