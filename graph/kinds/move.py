"""Moves: results whose elements are elements of operands at other places.

Slicing, transposing, rechunking, broadcasting, joining, taking and halos are all of one kind: along each axis a map
says where positions come from. Reshape maps runs in C order instead. No arithmetic happens here.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..access import Piece, Rows, distinct, product_rows, ragged
from ..axismap import AxisMap, Fixed, Segment, Slice
from ..expr import Op
from ..grid import Axis, Grid, Index
from ..token import token_of

ONE = Axis.regular(1, 1)
"""Stands for the result's axis where a map fixes one position of the source."""


@dataclass(frozen=True)
class Route:
    """How one operand feeds the result: for each of its axes the result's axis that it runs along, and the map."""

    axes: tuple[tuple[int | None, AxisMap], ...]

    @cached_property
    def _name(self) -> str:
        return token_of(self.axes)

    def token_key(self) -> str:
        """Name by content, found once: elements set one after the other share routes."""
        return self._name

    @property
    def targets(self) -> tuple[int, ...]:
        """The result's axes that come from this operand, in the operand's order."""
        return tuple(a for a, _ in self.axes if a is not None)


@dataclass(frozen=True)
class Move(Op):
    """A result assembled from its operands along `routes`; `fill` is what stands where none leads."""

    name: str
    routes: tuple[Route, ...]
    fill: Any = None

    @property
    def label(self) -> str:
        """Name for people."""
        return self.name

    def rows(self, domain: Grid, sources: tuple[Grid, ...], blocks: Index) -> tuple[Rows, ...]:
        """See `graph.access.Access`."""
        index = domain.indices(blocks)
        first = self.first_block(domain, sources[0]) if len(sources) == 1 else None
        if first is not None:
            items = sources[0].number([at + k for at, k in zip(first, index, strict=True)])
            return (Rows(np.arange(len(blocks) + 1), np.broadcast_to(np.asarray(items, np.int64), blocks.shape)),)
        out = []
        for route, source in zip(self.routes, sources, strict=True):
            per_axis = []
            for (target, way), axis in zip(route.axes, source.axes, strict=True):
                if target is None:
                    per_axis.append(way.rows(ONE, axis, np.zeros(len(blocks), np.int64)))
                else:
                    per_axis.append(spread(way, domain.axes[target], axis, index[target]))
            if not per_axis:
                out.append(Rows(np.arange(len(blocks) + 1), np.zeros(len(blocks), np.int64)))
            else:
                out.append(product_rows(source.counts, per_axis))
        return tuple(out)

    def pieces(self, domain: Grid, sources: tuple[Grid, ...], block: int) -> list[Piece]:
        """See `graph.access.Access`."""
        index = domain.index(block)
        found = []
        for number, (route, source) in enumerate(zip(self.routes, sources, strict=True)):
            targets = route.targets
            order: tuple[int, ...] | None = tuple(int(i) for i in np.argsort(targets, kind="stable"))
            if order == tuple(range(len(targets))):
                order = None
            shape = self._expanded(domain, targets)
            segments = _segments(route, domain, source, index)
            if segments is None:
                continue
            whole: list[Any] = [slice(None)] * domain.ndim
            for chosen in itertools.product(*segments):
                put = whole.copy()
                at = 0
                for (a, _), segment, count in zip(route.axes, chosen, source.counts, strict=True):
                    at = at * count + segment.block
                    if a is not None:
                        put[a] = segment.put
                found.append(Piece(number, at, tuple([s.take for s in chosen]), order, shape, tuple(put)))
        return found

    def _expanded(self, domain: Grid, targets: tuple[int, ...]) -> tuple[int, ...] | None:
        """Return where axes of length one are to be put in (the shape with -1 for the others), if anywhere."""
        if len(targets) == domain.ndim:
            return None
        return tuple(-1 if a in targets else 1 for a in range(domain.ndim))

    def target_shape(self, domain: Grid, block: int) -> tuple[int, ...]:
        """See `graph.access.Access`."""
        return domain.block_shape(block)

    def first_block(self, domain: Grid, source: Grid) -> list[int] | None:
        """Return the index of the operand's block that the result's first one is, where only blocks are chosen.

        Then each block is a whole block of the one operand, as it lies there. None otherwise.
        """
        if len(self.routes) != 1 or len(self.routes[0].axes) != domain.ndim:
            return None
        found = []
        for i, (a, way) in enumerate(self.routes[0].axes):
            at = _first_chunk(way, domain.axes[i], source.axes[i]) if a == i and isinstance(way, Slice) else None
            if at is None:
                return None
            found.append(at)
        return found

    def composed(self, outer: Move) -> Move | None:
        """Return the one move that does this one and then `outer`, where slices and fixed indices allow it."""
        if self.fill is not None or outer.fill is not None or len(self.routes) != 1 or len(outer.routes) != 1:
            return None
        then = outer.routes[0].axes
        axes: list[tuple[int | None, AxisMap]] = []
        for target, way in self.routes[0].axes:
            if target is None:
                axes.append((None, way))
                continue
            target2, way2 = then[target]
            if not isinstance(way, Slice):
                return None
            if isinstance(way2, Slice):
                axes.append((target2, Slice(way.start + way.step * way2.start, way.step * way2.step)))
            elif isinstance(way2, Fixed):
                axes.append((None, Fixed(way.start + way.step * way2.index)))
            else:
                return None
        return Move(f"{self.name}+{outer.name}", (Route(tuple(axes)),))


def _first_chunk(way: Slice, out: Axis, source: Axis) -> int | None:
    """Return the first of the source's chunks that are a slice's; None where it has others, or telling takes long."""
    stop = way.start + out.length
    if way.step != 1 or way.start < 0 or stop > source.length or not out.length:
        return None
    chunk = source.find(way.start)
    if out.count == 1:
        return chunk if (source.start(chunk), source.stop(chunk)) == (way.start, stop) else None
    same = out.is_regular and source.is_regular and out.step == source.step
    whole = same and way.start % out.step == 0 and (stop % out.step == 0 or stop == source.length)
    return chunk if whole else None


def _segments(route: Route, domain: Grid, source: Grid, index: tuple[int, ...]) -> list[list[Segment]] | None:
    """Return the segments along each axis of an operand, or None where it has no part in a block."""
    found = []
    for (a, way), axis in zip(route.axes, source.axes, strict=True):
        mine = way.segments(domain.axes[a], axis, index[a]) if a is not None else way.segments(ONE, axis, 0)
        if not mine:
            return None
        found.append(mine)
    return found


def spread(way: AxisMap, out: Axis, source: Axis, chunks: Index) -> Rows:
    """Ask an axis map once for each distinct chunk, and spread the answer over all result blocks."""
    if out.count <= len(chunks):  # mostly all are asked for
        asked, back = np.arange(out.count), chunks
    else:
        asked = distinct(chunks)
        back = np.searchsorted(asked, chunks)
    rows = way.rows(out, source, asked)
    lengths = rows.lengths[back]
    return Rows(np.concatenate([[0], np.cumsum(lengths)]), rows.items[ragged(rows.start[back], lengths)])


def rechunk(ndim: int) -> Move:
    """Return the move that only changes the chunk grid."""
    return Move("rechunk", (Route(tuple((i, Slice()) for i in range(ndim))),))


@dataclass(frozen=True)
class Reshape(Op):
    """The same elements in C order under another shape.

    `groups` pairs runs of source axes with runs of result axes that hold the same elements. Within a group the
    result's blocks are runs in C order (see `reshape_grid`), so a block is a range of flat positions in each group.
    """

    groups: tuple[tuple[tuple[int, int], tuple[int, int]], ...]

    def target_shape(self, domain: Grid, block: int) -> tuple[int, ...]:
        """The block with each group flattened."""
        shape = domain.block_shape(block)
        return tuple(math.prod(shape[lo:hi]) for _, (lo, hi) in self.groups)

    def rows(self, domain: Grid, sources: tuple[Grid, ...], blocks: Index) -> tuple[Rows, ...]:
        """See `graph.access.Access`."""
        (_source,) = sources
        number = [distinct(np.array([p.block for p in self.pieces(domain, sources, int(b))], np.int64)) for b in blocks]
        lengths = np.array([len(n) for n in number], np.int64)
        items = np.concatenate(number) if number else np.zeros(0, np.int64)
        return (Rows(np.concatenate([[0], np.cumsum(lengths)]), items),)

    def pieces(self, domain: Grid, sources: tuple[Grid, ...], block: int) -> list[Piece]:
        """See `graph.access.Access`."""
        (source,) = sources
        index, found = domain.index(block), []
        per_group = []
        for (slo, shi), (tlo, thi) in self.groups:
            axes = domain.axes[tlo:thi]
            lo, size = 0, 1
            for axis, k in zip(axes, index[tlo:thi], strict=True):
                lo = lo * axis.length + axis.start(k)
                size *= axis.size(k)
            per_group.append(_runs(source.axes[slo:shi], lo, lo + size))
        for chosen in itertools.product(*per_group):
            blocks = [k for run in chosen for k in run[0]]
            take = tuple(s for run in chosen for s in run[1])
            shape = tuple(run[2].stop - run[2].start for run in chosen)
            put = tuple(run[2] for run in chosen)
            found.append(Piece(0, source.number(blocks), take, None, shape, put))
        return found


Run = tuple[tuple[int, ...], tuple[slice, ...], slice]


def _runs(axes: tuple[Axis, ...], lo: int, hi: int) -> list[Run]:
    """Cut the flat range [lo, hi) of a group of axes into rectangles that each lie in one block and are one run."""
    if hi <= lo:
        return []
    if not axes:
        return [((), (), slice(0, 1))]
    runs: list[Run] = []
    _cut([a.length for a in axes], axes, lo, hi, lo, (), runs)
    return runs


def _cut(
    lengths: list[int],
    axes: tuple[Axis, ...],
    lo: int,
    hi: int,
    base: int,
    head: tuple[int, ...],
    runs: list[Run],
) -> None:
    depth = len(head)
    inner = math.prod(lengths[depth + 1 :])
    first, last = lo // inner, (hi - 1) // inner
    whole_inner = all(a.count == 1 for a in axes[depth + 1 :])
    if depth == len(lengths) - 1 or (whole_inner and lo % inner == 0 and hi % inner == 0):
        position = first
        while position <= last:
            k = axes[depth].find(position)
            stop = min(last + 1, axes[depth].stop(k))
            offset = axes[depth].start(k)
            blocks = (
                *(a.find(h) for a, h in zip(axes, head, strict=False)),
                k,
                *(0 for _ in axes[depth + 1 :]),
            )
            take = (
                *(slice(h - a.start(a.find(h)), h - a.start(a.find(h)) + 1) for a, h in zip(axes, head, strict=False)),
                slice(position - offset, stop - offset),
                *(slice(0, a.length) for a in axes[depth + 1 :]),
            )
            at = _flat(lengths, head) + position * inner - base
            runs.append((blocks, take, slice(at, at + (stop - position) * inner)))
            position = stop
        return
    if whole_inner:
        a, b = -(-lo // inner), hi // inner
        if a < b:
            for part in ((lo, a * inner), (a * inner, b * inner), (b * inner, hi)):
                if part[0] < part[1]:
                    _cut(lengths, axes, part[0], part[1], base, head, runs)
            return
    for k in range(first, last + 1):
        _cut(lengths, axes, max(lo - k * inner, 0), min(hi - k * inner, inner), base, (*head, k), runs)


def _flat(lengths: list[int], head: tuple[int, ...]) -> int:
    return sum(h * math.prod(lengths[i + 1 :]) for i, h in enumerate(head))


def reshape_groups(
    source: tuple[int, ...], target: tuple[int, ...]
) -> tuple[tuple[tuple[int, int], tuple[int, int]], ...]:
    """Return the shortest runs of axes of two shapes of one size that hold the same elements."""
    groups, i, j = [], 0, 0
    while i < len(source) or j < len(target):
        i0, j0 = i, j
        a = source[i] if i < len(source) else 1
        b = target[j] if j < len(target) else 1
        i, j = min(i + 1, len(source)), min(j + 1, len(target))
        while a != b:
            if a < b:
                a, i = a * source[i], i + 1
            else:
                b, j = b * target[j], j + 1
        groups.append(((i0, i), (j0, j)))
    return tuple(groups)


def reshape_grid(
    groups: tuple[tuple[tuple[int, int], tuple[int, int]], ...], source: Grid, target: tuple[int, ...]
) -> Grid:
    """Return a grid for a reshape's result: in each group blocks are runs in C order, about as large as the source's.

    Where the source's blocks are runs too and their borders fit, each block of the result comes from one block.
    """
    axes: list[Axis] = [Axis.regular(n, max(1, n)) for n in target]
    for (slo, shi), (tlo, thi) in groups:
        axes[tlo:thi] = _split_run(_run_axis(source.axes[slo:shi]), target[tlo:thi])
    return Grid(axes)


def _run_axis(axes: tuple[Axis, ...]) -> Axis:
    """Return a group of axes seen as one in C order, with chunks that are whole blocks if these are runs."""
    lengths = [a.length for a in axes]
    if not axes:
        return Axis.regular(1, 1)
    lead = 0
    while lead < len(axes) - 1 and axes[lead].largest <= 1:
        lead += 1
    inner, size = math.prod(lengths[lead + 1 :]), math.prod(lengths)
    if all(a.count == 1 for a in axes[lead + 1 :]):
        if math.prod(lengths[:lead]) == 1 and not axes[lead].is_regular:
            return Axis.of_sizes(n * inner for n in axes[lead].sizes())
        return Axis.regular(size, axes[lead].largest * inner)
    block = math.prod(a.largest for a in axes)
    return Axis.regular(size, block // inner * inner if block >= inner else block)


def _split_run(run: Axis, lengths: tuple[int, ...]) -> list[Axis]:
    """Cut axes into blocks that are runs in C order, with the borders of `run` where they fit."""
    axes = [Axis.regular(n, n) for n in lengths]
    for i, n in enumerate(lengths):
        inner = math.prod(lengths[i + 1 :])
        if not run.is_regular and i == 0 and all(size % inner == 0 for size in run.sizes()):
            axes[0] = Axis.of_sizes(size // inner for size in run.sizes())
            break
        step = run.largest
        axes[i] = Axis.regular(n, max(1, step // inner))
        if step >= inner:
            break
        run = Axis.regular(inner, step)
    return axes
