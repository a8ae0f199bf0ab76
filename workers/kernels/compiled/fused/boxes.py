"""Boxes of a block in each of which every input lies in one place: what a strided kernel's table says.

`lay_out` finds them by index arithmetic alone; `BoxTable.table` puts addresses in, once it is known where chunks lie.
So what was found for a block serves in each step of a loop, and for each stage that reads in the same way.
"""

from __future__ import annotations

import itertools
import math
from collections import OrderedDict
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .....graph.chunks.block_reads import ByBlock
from .....graph.kinds.source import Inside
from .....graph.lowering.program import Load
from ....rank.chunk_reader import arrange, take_part
from ...interpreter.piece_assembly import AssembledPieces
from .strided_text import find_boxes

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from .....graph.chunks.block_reads import Piece
    from .....graph.lowering.program import Generate
    from .....graph.lowering.stage import Stage
    from ...interpreter.frame import Frame
    from .fused import FusedKernel

    Get = Callable[[Load, Piece | int, list[int]], tuple[np.ndarray[Any, Any], int, int]]

Array = np.ndarray[Any, Any]
Base = Any
"""What an input's place is told from: an input's number and a block of it, or an array."""

LITTLE = 1 << 14
"""Elements of an input that are copied, at most, since they aren't contiguous."""
FEW, LEAST_BOX = 64, 256
"""Boxes of a block: few, or so many elements each on average; else interpreting is no slower."""
BLOCKS = 1024
"""Layouts that are kept for stages that read in one way."""


class NotStrided(Exception):
    """A block's inputs don't lie as a strided kernel needs them."""


class NotInPlace(NotStrided):
    """An input isn't there as whole chunks in C order."""


class InputPieces(NamedTuple):
    """An input's pieces in a block: their boxes, the base of each and where it begins there, its strides in bytes."""

    lo: Array
    hi: Array
    base: Array
    offset: Array
    strides: Array
    fill: Any


@dataclass
class BoxTable:
    """A table but for addresses: in `rows`, column k is to be added to base `which[:, k]`; base 0 is the result.

    `beside` boxes each lie side by side along the last axis. `itemsize` is that of the result's elements.
    """

    bases: list[Base]
    which: Array
    rows: Array
    beside: int
    itemsize: int

    @cached_property
    def blocks(self) -> list[tuple[int, Array, Array]]:
        """Of each input that all bases are blocks of: its number, its places among the bases, and the blocks."""
        numbers, blocks = np.array(self.bases[1:], np.int64).reshape(-1, 2).T
        each = [(number, np.flatnonzero(numbers == number)) for number in np.unique(numbers).tolist()]
        return [(number, mine + 1, blocks[mine]) for number, mine in each]

    def table(self, addresses: Sequence[int] | Array) -> Array:
        """Return the table for bases at these addresses."""
        table = self.rows.copy()
        table[:, : self.which.shape[1]] += np.asarray(addresses, np.int64)[self.which]
        return table


@dataclass
class Layouts:
    """The layouts of blocks that are read in one way, by number; None where they can't be read in place."""

    by_block: dict[int, BoxTable | None] = field(default_factory=dict)

    def find(self, block: int, lay_out: Callable[[], BoxTable]) -> BoxTable | None:
        """Return a block's layout, which is found when it is asked for first."""
        layouts = self.by_block
        if block in layouts:
            return layouts[block]
        try:
            layout: BoxTable | None = lay_out()
        except NotInPlace:
            layout = None
        if len(self.by_block) >= BLOCKS:
            self.by_block = {}
        self.by_block[block] = layout
        return layout


_layouts: OrderedDict[Hashable, Layouts] = OrderedDict()


def layouts_of(stage: Stage, fused: FusedKernel) -> Layouts:
    """Return what is kept for stages that read as this one does."""
    key = way_of_reading(stage, fused)
    try:
        layouts = _layouts.setdefault(key, Layouts())
        _layouts.move_to_end(key)
    except (TypeError, KeyError):  # arrays of positions have no hash; another thread may just have dropped it
        return Layouts()
    if len(_layouts) > 64:
        _layouts.popitem(last=False)
    return layouts


def way_of_reading(stage: Stage, fused: FusedKernel) -> tuple[object, ...]:
    """Return what decides a stage's layouts, to be compared; arrays of positions in it have no hash."""
    loads = [v for v in map(stage.program.values.__getitem__, fused.loads) if isinstance(v, Load)]
    ways = tuple(
        [(v.access, v.axes, v.dtype, v.full, v.frame and v.frame.axes, v.inputs, _fill_bytes(v)) for v in loads]
    )
    grids = tuple([grid.axes for grid in stage.input_grids])
    boxes = tuple([v.source for v in find_boxes(stage.program)])
    return stage.domain.axes, stage.dtype, ways, grids, boxes


def _fill_bytes(value: Load) -> bytes:
    """Return what a move is filled with; equal numbers may have other bits."""
    fill = getattr(value.access, "fill", None)
    return b"" if fill is None else np.asarray(fill).astype(value.dtype).tobytes()


def lay_out(
    frame: Frame,
    fused: FusedKernel,
    i: int,
    out: np.dtype[Any],
    real: bool,
    spaced: bool = False,
) -> BoxTable:
    """Return the layout of block i of a frame: with `real` arrays as bases, or whole chunks wherever they lie.

    Of a `spaced` kernel the table says strides along the last axis, too.

    Raises
    ------
    NotStrided
        When inputs aren't contiguous along the last axis, or there are very many boxes.
    """
    bases: list[Base] = [None]
    values = frame.program.values
    get = _real(frame, bases) if real else _imagined(frame, bases, spaced)
    inputs = [_parts(frame, number, i, get) for number in fused.loads]
    chosen = [_clip(v, frame.origins[i], frame.shape) for v in find_boxes(frame.program)]
    lo, hi, beside = _cut(frame.shape, [*((p.lo, p.hi) for p in inputs), *chosen])
    columns = []
    strides = [out.itemsize * math.prod(frame.shape[a + 1 :]) for a in range(len(frame.shape))]
    whole = np.array([frame.shape], np.int64)
    result = InputPieces(
        np.zeros_like(whole), whole, np.zeros(1, np.int64), np.zeros(1, np.int64), np.array([strides], np.int64), None
    )
    for dtype, parts in [(out, result), *((values[k].dtype, p) for k, p in zip(fused.loads, inputs, strict=True))]:
        base, offset, steps = _place(parts, lo, hi, dtype, bases)
        if ((offset | np.bitwise_or.reduce(steps, 1)) % dtype.itemsize).any():
            raise NotStrided
        columns.append((base, offset, (steps if spaced else steps[:, :-1]) // dtype.itemsize))
    flags = [((first <= lo) & (stop >= hi)).all(1, keepdims=True).astype(np.int64) for first, stop in chosen]
    which = np.stack([base for base, _, _ in columns], 1)
    extents = hi - lo if frame.shape else np.ones((1, 1), np.int64)
    rows = np.concatenate([np.stack([o for _, o, _ in columns], 1), extents, *(s for _, _, s in columns), *flags], 1)
    return BoxTable(bases, which, rows, beside, out.itemsize)


def _real(frame: Frame, bases: list[Base]) -> Get:
    """Return a function that reads a piece, or a whole block, and tells its base and where it begins there."""

    def get(value: Load, piece: Piece | int, extents: list[int]) -> tuple[Array, int, int]:
        reader = frame.reader
        part = reader.block(value.inputs[0], piece) if isinstance(piece, int) else reader.piece(value.inputs, piece)
        part = _contiguous(np.broadcast_to(part, extents), value.dtype)
        bases.append(part)
        return part, len(bases) - 1, 0

    return get


_NOWHERE = np.zeros(64, np.uint8)


def _imagined(frame: Frame, bases: list[Base], spaced: bool) -> Get:
    """Take pieces of arrays that have the shape of whole chunks, but no elements."""
    known: dict[tuple[int, int], int] = {}

    def get(value: Load, piece: Piece | int, extents: list[int]) -> tuple[Array, int, int]:
        number, block = (
            (value.inputs[0], piece) if isinstance(piece, int) else (value.inputs[piece.operand], piece.block)
        )
        if (number, block) not in known:
            known[number, block] = len(bases)
            bases.append((number, block))
        shape = frame.stage.input_grids[number].block_shape(block)
        strides = [value.dtype.itemsize * math.prod(shape[a + 1 :]) for a in range(len(shape))]
        whole = np.lib.stride_tricks.as_strided(_NOWHERE[: value.dtype.itemsize].view(value.dtype), shape, strides)
        part = whole
        if not isinstance(piece, int):
            if any(isinstance(t, np.ndarray) for t in piece.take):
                raise NotInPlace
            part = arrange(take_part(whole, piece.take), piece)
        part = np.broadcast_to(part, extents)
        if not spaced and not _is_contiguous(part):
            raise NotInPlace
        return part, known[number, block], address_of(part) - address_of(_NOWHERE)

    return get


def _clip(value: Generate, origin: Array, shape: tuple[int, ...]) -> tuple[Array, Array]:
    """Return what of a box lies in a block."""
    assert isinstance(value.source, Inside)
    lo, hi = (np.clip(ends - origin, 0, shape)[None] for ends in np.array(value.source.box, np.int64).T)
    return lo, hi


def _cut(shape: tuple[int, ...], given: list[tuple[Array, Array]]) -> tuple[Array, Array, int]:
    """Return where boxes begin and end, so that each lies in one piece of each input, and how many are side by side."""
    along = []
    for axis, n in enumerate(shape):
        ends = (end[:, axis].tolist() for pair in given for end in pair)
        along.append(sorted({0, n}.union(*ends)))
    boxes = math.prod([len(borders) - 1 for borders in along])
    if boxes > FEW and boxes * LEAST_BOX > math.prod(shape):
        raise NotStrided
    lo, hi = (
        np.array([*itertools.product(*ends)], np.int64) for ends in ([b[:-1] for b in along], [b[1:] for b in along])
    )
    return lo, hi, len(along[-1]) - 1 if along else 1


def _place(
    parts: InputPieces, lo: Array, hi: Array, dtype: np.dtype[Any], bases: list[Base]
) -> tuple[Array, Array, Array]:
    """Return an input's base in each box, where it begins there, and its strides; the last piece there counts."""
    inside = np.all((parts.lo <= lo[:, None]) & (parts.hi >= hi[:, None]), axis=2)
    covered = np.any(inside, axis=1)
    base, offset, strides = np.zeros(len(lo), np.int64), np.zeros(len(lo), np.int64), np.zeros(lo.shape, np.int64)
    mine = len(parts.lo) - 1 - inside[covered, ::-1].argmax(1) if len(parts.lo) else np.zeros(0, np.int64)
    base[covered], strides[covered] = parts.base[mine], parts.strides[mine]
    offset[covered] = parts.offset[mine] + ((lo[covered] - parts.lo[mine]) * strides[covered]).sum(1)
    if not covered.all():
        value = np.asarray(0 if parts.fill is None else parts.fill).astype(dtype).tobytes()
        base[~covered] = len(bases)
        bases.append(_fill_row(value, dtype, int((hi - lo)[~covered, -1].max())))
    return base, offset, strides


@lru_cache(maxsize=64)
def _fill_row(value: bytes, dtype: np.dtype[Any], count: int) -> Array:
    return np.full(count, np.frombuffer(value, dtype)[0], dtype)


def _parts(frame: Frame, number: int, i: int, get: Get) -> InputPieces:
    """Return the pieces of an input in block i of the frame."""
    value = frame.program.values[number]
    assert isinstance(value, Load)
    pieces: list[Any]
    if isinstance(value.access, ByBlock):
        source = frame.stage.input_grids[value.inputs[0]]
        pieces = [value.access.source_block(frame.stage.domain, source, frame.blocks[i])]
        axes, shape = value.access.axes, source.block_shape(pieces[0])
    else:
        pieces, shape = frame.pieces(number, value, i)
        axes = value.axes
        if not AssembledPieces.takes(pieces) or any(p.into is not None or p.points for p in pieces):
            raise NotStrided
    count, ndim = len(pieces), len(frame.shape)
    lo, hi = np.zeros((count, ndim), np.int64), np.array(frame.shape, np.int64)[None].repeat(count, 0)
    base, offset, strides = np.zeros(count, np.int64), np.zeros(count, np.int64), np.zeros((count, ndim), np.int64)
    for p, piece in enumerate(pieces):
        if isinstance(piece, int):
            ends = [(0, n if a is None else frame.shape[a]) for a, n in zip(axes, shape, strict=True)]
        else:
            ends = [s.indices(n)[:2] for s, n in zip(piece.put, shape, strict=True)]
        part, base[p], offset[p] = get(value, piece, [hi - lo for lo, hi in ends])
        for own, a in enumerate(axes):
            if a is not None:
                (lo[p, a], hi[p, a]), strides[p, a] = ends[own], part.strides[own]
    return InputPieces(lo, hi, base, offset, strides, getattr(value.access, "fill", None))


def _contiguous(part: Array, dtype: np.dtype[Any]) -> Array:
    """Return an array whose last axis is contiguous; a little is copied for that."""
    if part.dtype != dtype or not part.flags.aligned:
        raise NotStrided
    if _is_contiguous(part):
        return part
    once = part[tuple([slice(0, 1) if s == 0 else slice(None) for s in part.strides[:-1]])]
    if once.size > LITTLE:
        raise NotStrided
    return np.broadcast_to(np.ascontiguousarray(once), part.shape)


def _is_contiguous(part: Array) -> bool:
    return not part.ndim or part.shape[-1] <= 1 or part.strides[-1] == part.itemsize


def address_of(x: Array) -> int:
    """Return where an array begins."""
    address: int = x.__array_interface__["data"][0]
    return address
