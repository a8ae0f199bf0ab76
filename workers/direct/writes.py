"""Stages that set elements, and the order in which they come after who reads what was there."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush
from typing import TYPE_CHECKING

import numpy as np

from ...graph.kinds.move import Move
from ...graph.lowering.program import Load

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...graph.chunks.block_reads import Piece
    from ...graph.lowering.stage import Stage


@dataclass(frozen=True)
class Put:
    """A piece of an input that is set in an array: `source` is the input's number among the stage's."""

    piece: Piece
    source: int


@dataclass(frozen=True)
class Write:
    """What a stage does that sets elements: the input whose elements are replaced, and what is put where."""

    base: int
    puts: tuple[Put, ...]


def find_writes(stages: Sequence[Stage]) -> dict[str, Write]:
    """Return what stages of one block do that set elements, by their tokens."""
    writes = ((stage.token, _find_write(stage)) for stage in stages)
    return {token: write for token, write in writes if write is not None}


def _find_write(stage: Stage) -> Write | None:
    """Return how a stage sets elements; None where it does anything else, or not by slices."""
    value = stage.program.only
    if not isinstance(value, Load):
        return None
    access = value.access
    if not isinstance(access, Move) or not access.sets_elements or value.frame != stage.domain:
        return None
    grids = tuple([stage.input_grids[k] for k in value.inputs])
    first, *pieces = access.pieces(stage.domain, grids, 0)
    if first.operand or not _is_whole(first, stage.grid.shape) or any(not _is_sliced(piece) for piece in pieces):
        return None
    puts = [Put(piece, value.inputs[piece.operand]) for piece in pieces]
    return Write(value.inputs[0], tuple(puts))


def _is_sliced(piece: Piece) -> bool:
    picks = (*piece.take, *piece.put)
    return piece.into is None and not piece.points and not any(isinstance(pick, np.ndarray) for pick in picks)


def _is_whole(piece: Piece, shape: tuple[int, ...]) -> bool:
    """Whether a piece is all of an operand's block, as it lies."""
    plain = _is_sliced(piece) and piece.order is None and piece.shape is None and len(piece.take) == len(shape)
    return plain and all(
        isinstance(t, slice) and t.indices(n) == (0, n, 1) for t, n in zip(piece.take, shape, strict=True)
    )


def in_order(stages: Sequence[Stage], writes: Mapping[str, Write]) -> list[Stage]:
    """Return stages in an order in which elements are set after what was there before is read, as far as can be.

    Inputs come before their readers, and else all is as it was. Who reads an array that is only reshaped isn't seen.
    """
    return _Order(stages, writes).find()


class _Order:
    def __init__(self, stages: Sequence[Stage], writes: Mapping[str, Write]) -> None:
        numbers = {stage.token: number for number, stage in enumerate(stages)}
        self.stages = stages
        self.reads = [{numbers[token] for token in stage.inputs if token in numbers} for stage in stages]
        self.readers: list[list[int]] = [[] for _ in stages]
        for number, mine in enumerate(self.reads):
            for read in mine:
                self.readers[read].append(number)
        inputs = {numbers[token]: stages[numbers[token]].inputs[write.base] for token, write in writes.items()}
        self.bases = {number: numbers[base] for number, base in inputs.items() if base in numbers}
        self.missing = [len(mine) for mine in self.reads]
        self.unread = [len(mine) for mine in self.readers]

    def find(self) -> list[Stage]:
        ready = [number for number, count in enumerate(self.missing) if not count]
        held: set[int] = set()
        ordered: list[Stage] = []
        while ready or held:
            if not ready:  # two that set elements wait for each other
                number = min(held)
                held.remove(number)
                ordered.append(self._take(number, ready, held))
                continue
            number = heappop(ready)
            if number in self.bases and self.unread[self.bases[number]] > 1:
                held.add(number)
            else:
                ordered.append(self._take(number, ready, held))
        return ordered

    def _take(self, number: int, ready: list[int], held: set[int]) -> Stage:
        """Take a stage, and see which are ready then."""
        for read in self.reads[number]:
            self.unread[read] -= 1
            if self.unread[read] == 1:
                for write in [write for write in held if self.bases[write] == read]:
                    held.remove(write)
                    heappush(ready, write)
        for reader in self.readers[number]:
            self.missing[reader] -= 1
            if not self.missing[reader]:
                heappush(ready, reader)
        return self.stages[number]
