"""The tile interpreter: runs a program over frames of blocks with NumPy's own kernels, temporaries in cache.

A frame is one block, or several small blocks of one shape; arrays have a first axis of blocks and then the domain's
axes, of length one where a value is broadcast. A large block is run tile by tile. Each operand is seen in C order,
whatever way it came, so that the bits are the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.chunks.block_reads import ByBlock, Piece
from ....graph.few import put, stack
from ....graph.kinds.mapping import BlockFunction, MapBlocks
from ....graph.kinds.move import Move
from ....graph.kinds.source import Full
from ....graph.lowering.program import Apply, Call, Generate, Load, Product, Program, Value
from ...rank.chunk_reader import points_first
from ..blocks import block_function, fills, takes_pieces
from ..buffers import ARGUMENTS
from ..compiled.courses import courses
from ..compiled.fixed.gathering import assemble, find_pieces, has_many, told
from ..contraction import Lying, contract
from ..reductions import kernel_of
from .block_calls import call_function, read_only
from .buffer_plan import BufferPlan, plan_of
from .fused_operand import ComputedBlock
from .piece_assembly import AssembledPieces, fill_around
from .tile_loop import Tiles
from .tile_regions import TILE, Region, regions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ....graph.lowering.program import Operand, ProgramForm
    from ....graph.lowering.stage import Stage
    from ...rank.chunk_reader import BatchReader
    from ..compiled.fixed.gathering import BlockPieces
    from ..contraction import Block
    from ..reduction import ReductionKernel

Array = np.ndarray[Any, Any]
FEW = 32
"""Pieces of a block that are remembered, at most."""
NOWHERE = np.empty((0, 0), np.int64)
"""For reductions that don't ask where a tile lies."""

MOST = 2048
"""Blocks whose pieces are remembered."""
BLOCKS = 16
"""Blocks of the largest stage of which they are: with more, making them is little beside computing."""
_pieces: dict[tuple[ProgramForm, int, int], tuple[list[Piece], tuple[int, ...]]] = {}
"""Of moved values, by the value's number and the block in its own grid."""


@dataclass
class Frame:
    """Blocks of the domain that are run at once: their numbers, their common shape, where each begins."""

    stage: Stage
    reader: BatchReader
    blocks: list[int]
    shape: tuple[int, ...]
    wholes: dict[int, Array] = field(default_factory=dict)
    gathers: dict[int, AssembledPieces | BlockPieces | None] = field(default_factory=dict)
    _numbers: dict[int, list[int]] = field(default_factory=dict)
    _found: dict[int, tuple[list[Piece], tuple[int, ...]]] = field(default_factory=dict)

    @cached_property
    def origins(self) -> Array:
        """Positions of the blocks' first elements, (blocks, axes)."""
        if len(self.blocks) == 1:
            return np.array([self.stage.domain.block_origin(self.blocks[0])], np.int64)
        return self.stage.domain.block_origins(np.asarray(self.blocks, np.int64))

    @property
    def is_wide(self) -> bool:
        """Whether it has several blocks that don't fit a tile: only courses take these at once."""
        return len(self.blocks) > 1 and len(self.blocks) * math.prod(self.shape) > TILE

    def alone(self, i: int) -> Frame:
        """Return block i as a frame of its own."""
        return Frame(self.stage, self.reader, self.blocks[i : i + 1], self.shape)

    @property
    def program(self) -> Program:
        return self.stage.program

    @property
    def head(self) -> ReductionKernel:
        """The steps of the program's reduction."""
        assert self.program.level is not None
        return kernel_of(self.program.level)

    def plan(self, last: int) -> BufferPlan:
        return plan_of(self.stage, last)

    def store(self, out: courses.Places) -> None:
        """Compute the program's result into `out`: (blocks, *shape), or of calls and products an array for each."""
        last = len(self.program.values) - 1
        value = self.program.values[last]
        if isinstance(out, list):
            self._make(last, out)
        elif isinstance(value, Apply | Generate):
            self._fill(last, out)
        elif isinstance(value, Load) and isinstance(value.access, ByBlock):
            np.copyto(out, self.whole(last))
        else:
            self._make(last, out)

    def reduce(self) -> Array | None:
        """Reduce the program's result over the level's axes; return a partial result for each block.

        None where the frame is wide and no course takes it.
        """
        if (partials := self.reduce_by_course()) is not None or self.is_wide:
            return partials
        out: Array | None = None
        for kept, part in self.reduce_parts():
            if part.shape == self.partial_shape:
                return part
            if out is None:
                out = np.empty(self.partial_shape, part.dtype)
            out[(slice(None), *kept)] = part
        assert out is not None
        return out

    @property
    def partial_shape(self) -> tuple[int, ...]:
        """The shape of the blocks' partial results."""
        level = self.program.level
        assert level is not None
        return (len(self.blocks), *(1 if i in level.reduce.axes else n for i, n in enumerate(self.shape)))

    def reduce_by_course(self) -> Array | None:
        """Return a partial result for each block where a course makes them."""
        level = self.program.level
        assert level is not None
        if (states := courses.reduce(self)) is None:
            return None
        return self.head.close(tuple(states) if level.parts else states[0], self.partial_shape[1:])

    def reduce_parts(self) -> Iterator[tuple[Region, Array]]:
        """Reduce tile by tile; give each part of the partial results, and where it belongs."""
        level = self.program.level
        assert level is not None
        last, head = len(self.program.values) - 1, self.head
        axes = tuple(a + 1 for a in level.reduce.axes)
        states: dict[tuple[int, ...], tuple[Region, Any]] = {}
        for region, tile in self._tiles(last):
            kept = tuple([slice(0, 1) if i in level.reduce.axes else s for i, s in enumerate(region)])
            key = tuple([s.start for s in kept])
            origin = self.origins + [s.start for s in region] if head.placed else NOWHERE
            state = head.tile(tile, axes, level, origin)
            states[key] = (kept, head.merge(states[key][1], state) if key in states else state)
        for kept, state in states.values():
            yield kept, head.close(state, tuple(s.stop - s.start for s in kept))

    def _fill(self, number: int, out: Array) -> None:
        """Make a value that is generated or applied in `out`: by a course, or tile by tile."""
        if not courses.store(self, number, out):
            for region, tile in self._tiles(number, out):
                _put(out, region, tile)

    def _tiles(self, last: int, out: Array | None = None) -> Iterator[tuple[Region, Array]]:
        """Make a value tile by tile, where it is not there as a whole."""
        tiles = Tiles(self, last, out)
        whole = tuple(slice(0, n) for n in self.shape)
        for region in (whole,) if len(self.blocks) > 1 else regions(self.shape):
            yield region, tiles(region)

    def assemble_pieces(self, number: int) -> AssembledPieces | BlockPieces | None:
        """Return the pieces of a moved block that is made tile by tile: several, in the domain's own frame."""
        value = self.program.values[number]
        if number in self.wholes or not isinstance(value, Load):
            return None
        if number not in self.gathers:
            self.gathers[number] = None
            plain = len(self.blocks) == 1 and isinstance(value.access, Move) and value.frame == self.stage.domain
            if plain and value.axes == tuple(range(len(self.shape))) and len(regions(self.shape)) > 1:
                self.gathers[number] = gathered = find_pieces(self, number)
                if gathered is not None:
                    return gathered
                pieces, shape = self.pieces(number, value, 0)
                if len(pieces) > 1 and AssembledPieces.takes(pieces):
                    self.gathers[number] = told(self, number, AssembledPieces(value, pieces, shape, self.reader))
        return self.gathers[number]

    def whole(self, number: int) -> Array:
        """Return a whole-block value of all blocks of the frame, (blocks, *extents)."""
        if number not in self.wholes:
            value = self.program.values[number]
            if isinstance(value, Load) and isinstance(value.access, ByBlock):
                self.wholes[number] = self._load(value, value.access)
            elif isinstance(value, Load) and len(self.blocks) == 1 and (view := self._view(number, value)) is not None:
                self.wholes[number] = view
            else:
                out = np.empty((len(self.blocks), *self.own_shape(number)), value.dtype)
                if isinstance(value, Call) and isinstance(value.op, MapBlocks) and len(self.blocks) == 1:
                    out = self._taken(value, out)
                else:
                    self._make(number, out)
                self.wholes[number] = self._align_to_domain(number, out)
        return self.wholes[number]

    def _taken(self, value: Call, out: Array) -> Array:
        """Return a user's function's result where it is, or in `out` if it isn't as a block is.

        A function may use its memory again, so that another call would change what isn't copied.
        """
        block = self._call(value, 0, out[0, ...])
        alone = sum(isinstance(v, Call) and isinstance(v.op, MapBlocks) for v in self.program.values) == 1
        if alone and block.dtype == out.dtype and block.flags.c_contiguous and block.flags.aligned:
            return block[None]
        np.copyto(out[0, ...], block, casting="unsafe")
        return out

    def lent(self, number: int, kept: bool = False) -> Array:
        """Return a whole-block value of a frame of one block; what has to be put together, in memory used again.

        What is given to a user's function may be `kept` by it: such memory is used again when it is free.
        """
        if number not in self.wholes and self.in_place(number) is None:
            value = self.program.values[number]
            shape = (1, *self.own_shape(number))
            if kept:
                out = ARGUMENTS.lend_free((number, kept), shape, value.dtype)
            else:
                out = ARGUMENTS.lend(number, shape, value.dtype)
            self._make(number, out)
            self.wholes[number] = self._align_to_domain(number, out)
        return self.whole(number)

    def in_place(self, number: int) -> Array | None:
        """Return a loaded value of all blocks of the frame where it lies; None if it must be put together."""
        value = self.program.values[number]
        if number not in self.wholes and isinstance(value, Load) and not isinstance(value.access, ByBlock):
            view = self._view(number, value) if len(self.blocks) == 1 else None
            if view is None:
                return None
            self.wholes[number] = view
        return self.whole(number)

    def block_within(self, number: int, i: int) -> int:
        """Return the block in a moved value's own grid that is block i of the frame."""
        value = self.program.values[number]
        assert isinstance(value, Load)
        return self._within(number, value)[i]

    def own_shape(self, number: int) -> tuple[int, ...]:
        """Return the shape that a value has in each block of the frame."""
        value = self.program.values[number]
        if isinstance(value, Load) and value.frame is not None:
            own = self._within(number, value)
            if len(own) == 1:
                return value.frame.block_shape(own[0])
            shapes = value.frame.block_shapes(np.asarray(own))
            assert (shapes == shapes[0]).all()
            return tuple(shapes[0].tolist())
        return self.shape

    def _within(self, number: int, value: Load) -> list[int]:
        """Return the blocks in a moved value's own grid that are the frame's."""
        if number not in self._numbers:
            blocks = np.asarray(self.blocks, np.int64)
            self._numbers[number] = value.frame_blocks(self.stage.domain, blocks)[1].tolist()
        return self._numbers[number]

    def _align_to_domain(self, number: int, own: Array) -> Array:
        """Put axes of length one where a value doesn't extend along the domain's axes."""
        value = self.program.values[number]
        if not isinstance(value, Load) or not value.full:
            return own
        if isinstance(value.access, ByBlock):
            axes = value.access.axes
        elif value.frame is not None:
            axes = value.axes
        else:
            return own
        lengths = {a: n for a, n in zip(axes, own.shape[1:], strict=True) if a is not None}
        return own.reshape(len(own), *(lengths.get(i, 1) for i in range(len(value.full))))

    def _load(self, value: Load, access: ByBlock) -> Array:
        (number,) = value.inputs
        source = self.stage.input_grids[number]
        domain = self.stage.domain
        if len(self.blocks) == 1:
            own = self.reader.block(number, access.source_block(domain, source, self.blocks[0]))[None]
        else:
            mine = access.rows(domain, (source,), np.asarray(self.blocks))[0].items.tolist()
            run = self.reader.run(number, mine)
            own = run if run is not None else stack([self.reader.block(number, b) for b in mine])
        if not value.full:
            return own
        lengths = {a: n for a, n in zip(access.axes, own.shape[1:], strict=True) if a is not None}
        index: list[Any] = [slice(None)]
        index += [0 if a is None else slice(None) for a in access.axes]
        own = own[tuple(index)]
        framed: Array = own[(slice(None), *(slice(None) if i in lengths else None for i in range(len(value.full))))]
        return framed

    def pieces(self, number: int, value: Load, i: int) -> tuple[list[Piece], tuple[int, ...]]:
        """Return the pieces of a moved value in block i of the frame; of a single block they are kept."""
        assert not isinstance(value.access, ByBlock)
        assert value.frame is not None
        if number in self._found:
            return self._found[number]
        stage, at = self.stage, self._within(number, value)[i]
        key = stage.program.form, number, at
        entry = _pieces.get(key)
        if entry is None:
            grids = tuple([stage.input_grids[k] for k in value.inputs])
            entry = value.access.pieces(value.frame, grids, at), value.access.target_shape(value.frame, at)
            if stage.domain.nblocks <= BLOCKS and _are_few(entry[0]):
                if len(_pieces) >= MOST:
                    _pieces.clear()
                _pieces[key] = entry
        if len(self.blocks) == 1:
            self._found[number] = entry
        return entry

    def _view(self, number: int, value: Load) -> Array | None:
        """Return a moved block as a view, where it is one rectangle of one block."""
        if getattr(value.access, "fill", None) is not None or has_many(self, number, 0):
            return None
        pieces, _ = self.pieces(number, value, 0)
        if len(pieces) != 1 or any(isinstance(t, np.ndarray) for t in pieces[0].put):
            return None
        view, own_shape = self.reader.piece(value.inputs, pieces[0]), self.own_shape(number)
        if pieces[0].into is not None and view.size != math.prod(own_shape):  # it is put several times
            return None
        whole = np.broadcast_to(view, own_shape) if pieces[0].into is None else view.reshape(own_shape)
        return self._own_frame(value, whole)[None]

    def _own_frame(self, value: Load, own: Array) -> Array:
        if not value.full:
            return own
        index = tuple(0 if a is None else slice(None) for a in value.axes)
        axes = [a for a in value.axes if a is not None]
        own = own[(*index, ...)]  # an array even where no axis is left
        return own[tuple(slice(None) if i in axes else None for i in range(len(value.full)))]

    def _make(self, number: int, out: courses.Places) -> None:
        """Compute a whole-block value into `out` (blocks, *own shape)."""
        value = self.program.values[number]
        if isinstance(value, Load) and isinstance(out, np.ndarray):
            if len(self.blocks) == 1 or not self._copy_whole(number, value, out):
                for i in range(len(self.blocks)):
                    self._assemble(number, value, i, out[i, ...])
            return
        for i, block in enumerate(self.blocks):
            target = out[i] if isinstance(out, list) else out[i, ...]
            if isinstance(value, Product):
                self._contract(value, block, target)
            else:
                assert isinstance(value, Call)
                result = self._call(value, i, target)
                if result is not target:
                    put(target, result)

    def _call(self, value: Call, i: int, target: Array) -> Array:
        """Return what a function of block i gave: `target` where it filled that."""
        args = [[*map(read_only, a)] if isinstance(a, list) else read_only(a) for a in self._arguments(value, i)]
        return call_function(value, args, self.stage, self.blocks[i], target)

    def _copy_whole(self, number: int, value: Load, out: Array) -> bool:
        """Copy blocks of a moved value that are whole blocks of inputs, runs of them at once; tell whether all are."""
        access = value.access
        if not isinstance(access, Move) or value.frame is None or self.reader.fetched or self.reader.ahead:
            return False
        grids = tuple([self.stage.input_grids[k] for k in value.inputs])
        parts = access.whole_parts(value.frame, grids, np.asarray(self._within(number, value)))
        for part in parts or ():
            where = (slice(None),) * (access.joins or 0) + (part.put or slice(None),)
            for mine, whole in self.reader.runs(value.inputs[part.operand], part.numbers, part.mine):
                target = out[(mine, *where)]
                target[...] = whole.reshape(target.shape)
        return parts is not None

    def _assemble(self, number: int, value: Load, i: int, out: Array) -> None:
        """Bring a moved value's block i of the frame together."""
        if assemble(self, number, i, out):
            return
        pieces, shape = self.pieces(number, value, i)
        target = out.reshape(shape)
        if not np.shares_memory(target, out) and out.size:
            target = np.empty(shape, out.dtype)
        fill = getattr(value.access, "fill", None)
        if fill is not None:
            fill_around(pieces, target, fill)
        for piece in pieces:
            part = self.reader.piece(value.inputs, piece)
            if piece.into is not None:
                target[piece.into.where].reshape(piece.into.shape)[piece.put] = part
                continue
            arrays = sum(isinstance(p, np.ndarray) for p in piece.put)
            if arrays > 1 and piece.points:
                view, at = points_first(target, piece.put)
                view[at] = part
            elif arrays > 1:
                lengths = [
                    np.arange(n)[p] if isinstance(p, slice) else p for p, n in zip(piece.put, shape, strict=True)
                ]
                target[np.ix_(*lengths)] = part
            else:
                target[piece.put] = part
        if not np.shares_memory(target, out) and out.size:
            np.copyto(out, target.reshape(out.shape))

    def _contract(self, product: Product, block: int, out: Array) -> None:
        left, right = (self.stage.operand_grid(operand) for operand in product.operands)
        op = product.op
        pairs = (self._pair(product, *pair) for pair in op.reads(self.stage.domain, left, right, block))
        contract(op, pairs, out[0, ...] if op.split > 1 else out)

    def _pair(self, product: Product, left: int, right: int) -> tuple[Block, Block]:
        """Return blocks of a product's operands; one that is both of them is made once."""
        first, second = product.operands
        one = self._operand(first, left, 0)
        return one, one if (first, left) == (second, right) else self._operand(second, right, 1)

    def _operand(self, operand: Operand, block: int, side: int) -> Block:
        if isinstance(operand, int):
            return Lying(self.reader.block(operand, block))
        stage = self.stage.fused(operand)
        frame = Frame(stage, self.reader, [block], stage.domain.block_shape(block))
        moved = isinstance(stage.program.result, Load)
        lying = frame.in_place(len(stage.program.values) - 1) if moved else None
        return ComputedBlock(frame, side) if lying is None else Lying(lying[0])

    def _arguments(self, value: Call, i: int) -> list[Array | list[Array]]:
        """Return a call's arguments for block i of the frame, as whole blocks, or as pieces."""
        arguments: list[Array | list[Array]] = []
        built_in = block_function(value.op.function) if isinstance(value.op, BlockFunction) else None
        lends, apart = (built_in is not None and mark(built_in) for mark in (fills, takes_pieces))
        for number in value.args:
            if apart and _is_moved(load := self.program.values[number]):
                assert isinstance(load, Load)
                pieces, _ = self.pieces(number, load, i)
                arguments.append([self.reader.piece(load.inputs, piece) for piece in pieces])
            elif isinstance(self.program.values[number], Apply | Generate):
                if number not in self.wholes:
                    self.wholes[number] = self._filled(number, kept=isinstance(value.op, MapBlocks))
                arguments.append(self.wholes[number][i, ...])
            elif len(self.blocks) > 1:
                arguments.append(self._alone(number, i))
            else:
                foreign = isinstance(value.op, MapBlocks)
                lent = (lends or foreign) and _is_moved(self.program.values[number])
                blocks = self.lent(number, kept=foreign) if lent else self.whole(number)
                arguments.append(blocks[i, ...])
        return arguments

    def _filled(self, number: int, kept: bool) -> Array:
        """Return an argument that is generated or applied here."""
        value, shape = self.program.values[number], (len(self.blocks), *self.shape)
        if _is_zero(value) and math.prod(shape) * value.dtype.itemsize > ARGUMENTS.most:
            return np.zeros(shape, value.dtype)  # pages that are only read take no memory
        out = ARGUMENTS.lend_free((number, kept), shape, value.dtype) if kept else np.empty(shape, value.dtype)
        self._fill(number, out)
        return out

    def _alone(self, number: int, i: int) -> Array:
        """Return an argument for block i alone: equal blocks of a result may come from blocks of other shapes."""
        value = self.program.values[number]
        assert isinstance(value, Load)
        alone: Array = self.alone(i).whole(number)[0, ...]
        return alone


def _are_few(pieces: list[Piece]) -> bool:
    """Whether pieces may be remembered: none has an array of positions."""
    if len(pieces) > FEW:
        return False
    return not any(isinstance(pick, np.ndarray) for piece in pieces for pick in (*piece.take, *piece.put))


def _is_zero(value: Value) -> bool:
    """Whether each element's bytes are zeros."""
    if not (isinstance(value, Generate) and isinstance(value.source, Full)) or value.dtype.kind not in "biufc":
        return False
    return not any(np.asarray(value.source.value, value.dtype).tobytes())


def _is_moved(value: Value) -> bool:
    """Whether a value is read from inputs as other blocks than theirs."""
    return isinstance(value, Load) and not isinstance(value.access, ByBlock)


def _put(out: Array, region: Region, made: Array) -> None:
    place = out[(slice(None), *region)]
    if place.size and place.ctypes.data != made.ctypes.data:
        np.copyto(place, made)
