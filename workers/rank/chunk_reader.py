"""Where a program's inputs come from: chunks in arenas that can be read in place, spilled ones, fetched pieces."""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.few import ascending, positions_in
from ..sources import source_reader
from ..wire.transport import Bytes, Region

if TYPE_CHECKING:
    from ...graph.chunks.block_reads import Piece
    from ...graph.chunks.grid import Grid, Index
    from ...graph.kinds.source import HostData
    from ...graph.lowering.stage import Stage
    from ..memory.spill_reads import SpillReads
    from ..sources.io_pool import Reading
    from ..wire.protocol import Places

Array = np.ndarray[Any, Any]
HOST = -2
"""Owner of chunks that lie in the user's own array or file."""
_LISTED = 16
"""Offsets that are compared as a list, which is faster where they are few."""
_DENSE = 4
"""Positions in files that are this close on average are read with all that is between them."""


@dataclass(frozen=True, slots=True)
class SlabPlace:
    """Where a task's slab lies: a rank's arena (`source` -1) or one of its spill files, from `offset` on."""

    owner: int
    offset: int
    source: int = -1


class Located(Mapping[int, SlabPlace]):
    """Places of many tasks, as a rank is told them: parallel columns, sorted by task."""

    def __init__(self, places: Places) -> None:
        self._columns = places
        self._by_task: dict[int, SlabPlace] | None = None

    def __getitem__(self, task: int) -> SlabPlace:
        if self._by_task is None:
            c = self._columns
            if len(c.tasks) == 1:
                self._by_task = {int(c.tasks[0]): SlabPlace(int(c.owners[0]), int(c.offsets[0]), int(c.sources[0]))}
                return self._by_task[task]
            rows = zip(*(a.tolist() for a in (c.tasks, c.owners, c.offsets, c.sources)), strict=True)
            self._by_task = {task: SlabPlace(owner, offset, source) for task, owner, offset, source in rows}
        return self._by_task[task]

    def __iter__(self) -> Iterator[int]:
        return iter(self._columns.tasks.tolist())

    def __len__(self) -> int:
        return len(self._columns.tasks)

    def all_in(self, owner: int) -> bool:
        """Whether one rank, or the user, has all of them."""
        return bool((self._columns.owners == owner).all())

    def memories(self) -> list[SlabPlace]:
        """Return one place in each memory that holds some of the tasks."""
        pairs = set(zip(self._columns.owners.tolist(), self._columns.sources.tolist(), strict=True))
        return [SlabPlace(owner, 0, source) for owner, source in sorted(pairs)]

    def by_memory(self, tasks: Index) -> list[tuple[SlabPlace, Index, Index]]:
        """Return for each memory that holds some of the tasks which ones these are, and their offsets there."""
        c = self._columns
        if len(c.tasks) == 1:
            where = SlabPlace(int(c.owners[0]), 0, int(c.sources[0]))
            return [(where, ascending(0, len(tasks)), np.full(len(tasks), c.offsets[0]))]
        at = positions_in(c.tasks, tasks)
        owners, sources, offsets = c.owners[at], c.sources[at], c.offsets[at]
        groups = []
        for place in self.memories():
            mine = np.flatnonzero((owners == place.owner) & (sources == place.source))
            if len(mine):
                groups.append((place, mine, offsets[mine]))
        return groups

    def find_spacing(self, first: int, count: int) -> tuple[SlabPlace, int] | None:
        """Return the first of consecutive tasks' places and their distance, where they lie at equal distances."""
        c = self._columns
        lo = bisect_left(c.tasks, first)
        run = slice(lo, lo + count)
        step = spacing(c.offsets[run])
        same = lo + count <= len(c.tasks) and c.tasks[lo + count - 1] == first + count - 1
        if not same or step is None or np.ptp(c.owners[run]) or np.ptp(c.sources[run]):
            return None
        return SlabPlace(int(c.owners[lo]), int(c.offsets[lo]), int(c.sources[lo])), step


def spacing(offsets: Index) -> int | None:
    """Return the distance between offsets that ascend by one distance, else None."""
    if len(offsets) < 2:
        return None
    first, second = offsets[:2].tolist()
    step: int = second - first
    wanted = range(first, first + step * len(offsets), step) if step > 0 else ()
    if len(offsets) <= _LISTED:
        return step if offsets.tolist() == list(wanted) else None
    return step if step > 0 and bool((offsets[1:] - offsets[:-1] == step).all()) else None


def view_strided(
    memory: Bytes, offset: int, step: int, count: int, dtype: np.dtype[Any], shape: tuple[int, ...]
) -> Array:
    """Return blocks of one shape that lie at equal distances as one array (count, *shape)."""
    strides = [dtype.itemsize]
    for n in reversed(shape[1:]):
        strides.append(strides[-1] * n)
    return np.ndarray((count, *shape), dtype, memory, offset, (step, *reversed(strides[: len(shape)])))


@dataclass
class BatchReader:
    """The inputs of one batch: a place for each (input, task), and what had to be fetched beforehand.

    `memory(place)` returns the bytes that hold the place where they can be read in place, else None.
    """

    stage: Stage
    producers: tuple[Stage, ...]
    places: Sequence[Mapping[int, SlabPlace]]
    memory: Callable[[SlabPlace], Bytes | None]
    fetched: dict[tuple[int, int, tuple[Any, ...]], Array] = field(default_factory=dict)
    ahead: dict[tuple[int, int, tuple[Any, ...]], Reading] = field(default_factory=dict)
    spilled: SpillReads | None = None
    _offsets: dict[tuple[int, int], list[int]] = field(default_factory=dict)

    def read_ahead(self, number: int, piece: Piece | int) -> Array | BaseException:
        """Read a piece of a source, or a whole block, before the batch begins; what goes wrong is raised then."""
        try:
            array = self.block(number, piece) if isinstance(piece, int) else self._taken(number, piece)
        except BaseException as error:
            return error
        array.flags.writeable = False  # other batches may have it, too
        return array

    def _find_ahead(self, number: int, block: int, take: tuple[Any, ...]) -> Array | None:
        reading = self.ahead.get((number, block, take_key(take)))
        if reading is None or not hasattr(reading, "outcome"):
            return None
        if isinstance(reading.outcome, BaseException):
            raise reading.outcome
        return reading.outcome

    def block(self, number: int, block: int) -> Array:
        """Return one block of an input in place."""
        producer = self.producers[number]
        if self.ahead and (read := self._find_ahead(number, block, ())) is not None:
            return read
        slab = self._slab(number, block)
        if slab is None:
            return self.fetched[number, block, ()]
        if isinstance(slab, slice):
            assert producer.data is not None
            return source_reader.read(producer.data, producer.grid.block_slices(block)).view(np.ndarray)
        shape = producer.grid.block_shape(block)
        count = math.prod(shape) * producer.dtype.itemsize
        at = self.at(number, block)
        return slab[at : at + count].view(producer.dtype).reshape(shape)

    def addresses(self, number: int, blocks: Index) -> Index | None:
        """Return the addresses of whole blocks of an input; None where some can't be read in place.

        The blocks are in C order, and stay there as long as the batch runs.
        """
        places, producer = self.places[number], self.producers[number]
        if not isinstance(places, Located) or self.ahead or self.fetched:
            return None
        tasks, addresses = blocks // producer.blocks_per_task, np.zeros(len(blocks), np.int64)
        for place, mine, offsets in places.by_memory(tasks):
            memory = None if place.owner == HOST else self.memory(place)
            if memory is None:
                return None
            addresses[mine] = memory.__array_interface__["data"][0] + offsets
        return addresses if producer.blocks_per_task == 1 else addresses + producer.find_offsets(blocks)

    def strided_addresses(self, number: int, blocks: Index) -> tuple[Index, Index] | None:
        """Return the addresses and the strides of blocks of an input, also in the user's memory.

        None where some can't be read in place.
        """
        producer, places = self.producers[number], self.places[number]
        data = producer.data
        if data is not None and data.in_memory and isinstance(places, Located) and places.all_in(HOST):
            whole = source_reader.read(data, tuple([slice(0, n) for n in producer.grid.shape])).view(np.ndarray)
            if whole.dtype != producer.dtype:
                return None
            begin = producer.grid.block_origins(blocks) @ np.array(whole.strides, np.int64)
            return whole.__array_interface__["data"][0] + begin, np.broadcast_to(
                whole.strides, (len(blocks), whole.ndim)
            )
        at = self.addresses(number, blocks)
        if at is None:
            return None
        apart = np.full((len(blocks), producer.grid.ndim), producer.dtype.itemsize, np.int64)
        if producer.grid.ndim > 1:
            lengths = producer.grid.block_shapes(blocks)[:, :0:-1]
            apart[:, :-1] *= np.cumprod(lengths, 1)[:, ::-1]
        return at, apart

    def _slab(self, number: int, block: int) -> Bytes | slice | None:
        producer = self.producers[number]
        place = self.places[number][block // producer.blocks_per_task]
        if place.owner == HOST:
            return slice(None)
        memory = self.memory(place)
        return None if memory is None else memory[place.offset :]

    def at(self, number: int, block: int) -> int:
        """Return where a block of an input begins in its task's slab; found once for all blocks of a task."""
        producer = self.producers[number]
        if producer.blocks_per_task == 1:
            return 0
        task, k = divmod(block, producer.blocks_per_task)
        known = self._offsets.get((number, task))
        if known is None:
            known = self._offsets[number, task] = producer.offsets(task).tolist()
        return known[k]

    def run(self, number: int, blocks: list[int]) -> Array | None:
        """Return consecutive blocks of one shape as `(blocks, *shape)` in place, where they lie at equal distances.

        Those in the user's memory that lie side by side are read at once.
        """
        producer = self.producers[number]
        first, last = blocks[0], blocks[-1]
        if last - first + 1 != len(blocks):
            return None
        shape = producer.grid.block_shape(first)
        places = self.places[number]
        data = producer.data
        if data is not None and data.in_place and places[first // producer.blocks_per_task].owner == HOST:
            begin, end = (producer.grid.index(b) for b in (first, last))
            if not begin or begin[:-1] != end[:-1]:
                return None
            ends = zip(producer.grid.block_slices(first), producer.grid.block_slices(last), strict=True)
            side = source_reader.read(data, tuple([slice(a.start, b.stop) for a, b in ends])).view(np.ndarray)
            return np.ascontiguousarray(np.moveaxis(side.reshape(*shape[:-1], len(blocks), shape[-1]), -2, 0))
        if first // producer.blocks_per_task == last // producer.blocks_per_task:
            place, step = places[first // producer.blocks_per_task], math.prod(shape) * producer.dtype.itemsize
        elif (
            producer.blocks_per_task == 1
            and isinstance(places, Located)
            and (spacing := places.find_spacing(first, len(blocks)))
        ):
            place, step = spacing
        else:
            return None
        memory = self.memory(place) if place.owner != HOST else None
        if memory is None:
            return None
        return view_strided(memory, place.offset + self.at(number, first), step, len(blocks), producer.dtype, shape)

    def runs(self, number: int, blocks: Index, keys: Index) -> Iterator[tuple[slice, Array]]:
        """Yield blocks of one shape as `(blocks, *shape)`, with a slice of keys: as long as both follow each other."""
        task = blocks // self.producers[number].blocks_per_task
        borders = np.flatnonzero((np.diff(blocks) != 1) | (np.diff(keys) != 1) | (np.diff(task) > 0)) + 1
        for first, stop in itertools.pairwise([0, *borders.tolist(), len(blocks)]):
            mine, at = blocks[first:stop].tolist(), int(keys[first])
            run = self.run(number, mine) if len(mine) > 1 else None
            if run is not None:
                yield slice(at, at + len(mine)), run
                continue
            for k, each in enumerate(mine, at):
                yield slice(k, k + 1), self.block(number, each)[None]

    def _taken(self, number: int, piece: Piece) -> Array:
        """Return what a piece takes of a block that can be read in place, or from files."""
        data = self.producers[number].data
        if data is not None and piece.take and (data.file is not None or self._is_object(number, piece.block)):
            return _from_source(data, self.producers[number].grid, piece)
        return take_part(self.block(number, piece.block), piece.take, piece.points)

    def _is_object(self, number: int, block: int) -> bool:
        """Whether a block is read here from an object of the user's, which isn't in memory."""
        producer = self.producers[number]
        outside = producer.data is not None and not producer.data.in_place
        return outside and self.places[number][block // producer.blocks_per_task].owner == HOST

    def piece(self, inputs: tuple[int, ...], piece: Piece) -> Array:
        """Return what a piece takes, transposed and shaped as it is to be put."""
        number = inputs[piece.operand]
        if self.fetched and (key := (number, piece.block, take_key(piece.take))) in self.fetched:
            rest = tuple(
                t if isinstance(t, np.ndarray) else 0 if isinstance(t, int) else slice(None) for t in piece.take
            )
            part = take_part(self.fetched[key], rest, piece.points)
        else:
            read = self._find_ahead(number, piece.block, piece.take) if self.ahead else None
            part = self._taken(number, piece) if read is None else read
        return arrange(part, piece)


def arrange(part: Array, piece: Piece) -> Array:
    """Return what a piece takes, transposed and shaped as it is to be put."""
    if piece.order is not None:
        part = part.transpose(piece.order)
    if piece.shape is not None:
        lengths = iter(part.shape)
        part = part.reshape(
            [next(lengths) if n == -1 else n for n in piece.shape] if -1 in piece.shape else piece.shape
        )
    return part


def _from_source(data: HostData, grid: Grid, piece: Piece) -> Array:
    """Return what a piece takes of a block in files, or of an object, of which no more is read than needed."""
    where, shape = grid.block_slices(piece.block), grid.block_shape(piece.block)
    picks: list[range | Index] = [range(n) for n in shape]
    rest: list[Any] = [slice(None)] * len(shape)
    for axis, pick in enumerate(piece.take, len(shape) - len(piece.take)):
        if isinstance(pick, slice):
            picks[axis] = range(*pick.indices(shape[axis]))
        elif isinstance(pick, np.ndarray):
            picks[axis], rest[axis] = _positions(pick, piece.points)
        else:
            picks[axis], rest[axis] = range(pick, pick + 1), 0
    return take_part(source_reader.pick(data, where, tuple(picks)), tuple(rest), piece.points)


def _positions(pick: Index, points: bool) -> tuple[range | Index, Index]:
    """Return what to read for positions along an axis, and where they are in it: each once, or all between."""
    unique, within = np.unique(pick, return_inverse=True)
    if len(unique) and (points or int(unique[-1]) - int(unique[0]) < _DENSE * len(unique)):
        return range(int(unique[0]), int(unique[-1]) + 1), pick - unique[0]
    return unique, within.reshape(pick.shape)


def take_part(block: Array, take: tuple[Any, ...], points: bool = False) -> Array:
    """Apply slices, integers and arrays of positions, each to its own axis, or arrays together as points."""
    if not any(isinstance(t, np.ndarray) for t in take):
        return block[(..., *take)]
    if points:
        return take_points(block, take)
    part = block[tuple(slice(None) if isinstance(t, np.ndarray) else t for t in take)]
    kept = [t for t in take if not isinstance(t, int)]
    for axis, pick in enumerate(kept):
        if isinstance(pick, np.ndarray):
            part = np.take(part, pick, axis)
    return part


def take_points(block: Array, where: tuple[Any, ...]) -> Array:
    """Apply slices; return the points that the arrays of positions tell, (points, *the other axes)."""
    at = [i for i, t in enumerate(where) if isinstance(t, np.ndarray)]
    view, chosen = points_first(block, where)
    if len(at) == 1:
        return np.take(view, chosen[0], 0)
    picked: Array = view[chosen]
    return picked


def points_first(block: Array, where: tuple[Any, ...]) -> tuple[Array, tuple[Array, ...]]:
    """Return a view whose first axes are those that arrays of positions speak of, and these arrays."""
    at = [i for i, t in enumerate(where) if isinstance(t, np.ndarray)]
    rest = [i for i in range(block.ndim) if i not in at]
    sliced = block[tuple(slice(None) if i in at else t for i, t in enumerate(where))]
    return sliced.transpose(*at, *rest), tuple(where[i] for i in at)


def take_key(take: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a hashable form of a piece's `take`."""
    return tuple(
        t.tobytes() if isinstance(t, np.ndarray) else (t.start, t.stop, t.step) if isinstance(t, slice) else t
        for t in take
    )


def region_of(
    stage: Stage, place: SlabPlace, at: int, block: int, take: tuple[Any, ...]
) -> tuple[Region, tuple[int, ...]]:
    """Return the bytes to fetch for a piece (arrays of positions are cut from their range), and their shape.

    The block begins at `at` in the slab that lies at the place.
    """
    shape = stage.grid.block_shape(block)
    at += place.offset
    stride = stage.dtype.itemsize
    strides: list[int] = []
    for n in reversed(shape):
        strides.append(stride)
        stride *= n
    strides.reverse()
    counts = []
    for axis, pick in enumerate(take):
        if isinstance(pick, slice):
            start, stop, step = pick.indices(shape[axis])
            counts.append(len(range(start, stop, step)))
            at += start * strides[axis]
            strides[axis] *= step
        elif isinstance(pick, int):
            counts.append(1)
            at += pick * strides[axis]
        else:
            counts.append(shape[axis])
    return Region(at, tuple(counts), tuple(strides), stage.dtype.itemsize, place.source), tuple(counts)
