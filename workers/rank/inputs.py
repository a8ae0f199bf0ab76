"""Inputs of a batch that can't be read in place: other ranks' memory is fetched, I/O threads read slow sources."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.chunks.block_reads import ByBlock
from ...graph.lowering.program import Fused, Load, Product
from ..sources.io_pool import read_soon, share
from .chunk_reader import region_of, take_key

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...graph.chunks.block_reads import Piece
    from ...graph.chunks.grid import Index
    from ...graph.lowering.program import Operand
    from ...graph.lowering.stage import Stage
    from ..wire.protocol import Run
    from .chunk_reader import BatchReader
    from .rank import Rank


class BatchInputs:
    """Fetches or reads the pieces of a batch that can't be read in place, then starts it. On the rank's I/O thread.

    `remote` says which (input, task) lie where they can't be read in place, `slow` which inputs I/O threads read.
    """

    def __init__(
        self, rank: Rank, run: Run, reader: BatchReader, remote: set[tuple[int, int]], slow: frozenset[int]
    ) -> None:
        self.rank, self.run, self.reader, self.remote, self.slow = rank, run, reader, remote, slow
        self.pending = 0
        self.failed = False

    def start(self) -> None:
        """Begin to fetch and read them."""
        wanted: dict[tuple[int, int, tuple[Any, ...]], tuple[Any, ...]] = {}
        for number, block, take in list_read(self.reader.stage, self.run.tasks) if self.remote else ():
            if (number, block // self.reader.producers[number].blocks_per_task) in self.remote:
                wanted[number, block, take_key(take) if take else ()] = take
        ahead = self._list_ahead()
        self.pending = len(wanted) + len(ahead) + 1
        for key, (number, piece) in ahead.items():
            self._read_soon(key, number, piece)
        for (number, block, key), take in wanted.items():
            producer = self.reader.producers[number]
            place = self.reader.places[number][block // producer.blocks_per_task]
            full = take or tuple(slice(None) for _ in producer.grid.shape)
            region, shape = region_of(producer, place, self.reader.at(number, block), block, full)
            into = np.empty(int(np.prod(shape)) * producer.dtype.itemsize, np.uint8)
            self.reader.fetched[number, block, key] = into.view(producer.dtype).reshape(shape)
            self.rank.transport.fetch(place.owner, region, into, self._on_arrival)
        self._on_arrival(True)

    def _read_soon(self, key: tuple[int, int, tuple[Any, ...]], number: int, piece: Piece | int) -> None:
        """Read a piece of a source on an I/O thread."""
        source, batch = self.reader.producers[number].token, self.run.batch
        points = not isinstance(piece, int) and piece.points
        reading, new = share((source, *key[1:], points))
        self.reader.ahead[key] = reading
        arrived = partial(self._on_arrival, True)
        reading.call_when_read(lambda: self.rank.waits(batch), lambda: self.rank.do_later(arrived))
        if new:
            read_soon(lambda: reading.read(lambda: self.reader.read_ahead(number, piece)))

    def _on_arrival(self, ok: bool) -> None:
        self.pending -= 1
        self.failed |= not ok
        if self.pending == 0:
            if self.failed:
                self.rank.give_back(self.run.batch)
            else:
                self.rank.begin_soon(self.run.batch)

    def _list_ahead(self) -> dict[tuple[int, int, tuple[Any, ...]], tuple[int, Piece | int]]:
        """Return (input, piece or whole block) for what I/O threads are to read, each once."""
        reads: dict[tuple[int, int, tuple[Any, ...]], tuple[int, Piece | int]] = {}
        for stage, value, block in self._loads() if self.slow else ():
            if isinstance(value.access, ByBlock):
                if value.inputs[0] in self.slow:
                    whole = value.access.source_block(stage.domain, stage.input_grids[value.inputs[0]], block)
                    reads[value.inputs[0], whole, ()] = value.inputs[0], whole
                continue
            for piece in _pieces(stage, value, block):
                number = value.inputs[piece.operand]
                if number in self.slow:
                    reads[number, piece.block, take_key(piece.take)] = number, piece if piece.take else piece.block
        for stage, product, block in self._products() if self.slow else ():
            for number, whole in _operands(stage, product, block):
                if number in self.slow:
                    reads[number, whole, ()] = number, whole
        return reads

    def _values(self) -> Iterator[tuple[Stage, Any, int]]:
        return _values_of_tasks(self.reader.stage, self.run.tasks)

    def _loads(self) -> Iterator[tuple[Stage, Load, int]]:
        return ((stage, value, block) for stage, value, block in self._values() if isinstance(value, Load))

    def _products(self) -> Iterator[tuple[Stage, Product, int]]:
        return ((stage, value, block) for stage, value, block in self._values() if isinstance(value, Product))


def list_read(stage: Stage, tasks: Index) -> Iterator[tuple[int, int, tuple[Any, ...]]]:
    """Yield (input, block, take) for all that tasks read; an empty take is the whole block."""
    for inner, value, block in _values_of_tasks(stage, tasks):
        if isinstance(value, Load) and isinstance(value.access, ByBlock):
            source = value.access.source_block(inner.domain, inner.input_grids[value.inputs[0]], block)
            yield value.inputs[0], source, ()
        elif isinstance(value, Load):
            yield from ((value.inputs[p.operand], p.block, p.take) for p in _pieces(inner, value, block))
        elif isinstance(value, Product):
            yield from ((number, whole, ()) for number, whole in _operands(inner, value, block))


def _values_of_tasks(stage: Stage, tasks: Index) -> Iterator[tuple[Stage, Any, int]]:
    for task in tasks.tolist():
        for block in (int(d) for b in stage.blocks(task) for d in stage.domain_blocks(b)):
            yield from _values_of(stage, block)


def _pieces(stage: Stage, value: Load, block: int) -> Iterator[Piece]:
    grids = tuple(stage.input_grids[i] for i in value.inputs)
    frame, within = value.frame_blocks(stage.domain, np.array([block]))
    yield from value.access.pieces(frame, grids, int(within[0]))  # type: ignore[union-attr]


def _values_of(stage: Stage, block: int) -> Iterator[tuple[Stage, Any, int]]:
    """Yield the values of a block, and below products those of their operands' blocks."""
    for value in stage.program.values:
        yield stage, value, block
        if isinstance(value, Product) and value.fused:
            for operand, whole in _operand_blocks(stage, value, block):
                if isinstance(operand, Fused):
                    yield from _values_of(stage.fused(operand), whole)


def _operands(stage: Stage, product: Product, block: int) -> Iterator[tuple[int, int]]:
    """Return (input, block) for each operand block of a product's block that is read as it is."""
    return ((o, whole) for o, whole in _operand_blocks(stage, product, block) if isinstance(o, int))


def _operand_blocks(stage: Stage, product: Product, block: int) -> Iterator[tuple[Operand, int]]:
    left, right = (stage.operand_grid(operand) for operand in product.operands)
    for pair in product.op.reads(stage.domain, left, right, block):
        yield from zip(product.operands, pair, strict=True)
