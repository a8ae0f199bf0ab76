"""Sums, means, spreads and extremes of groups: what chunks have of each group is combined, where that is small."""

from __future__ import annotations

import dataclasses
import importlib
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.chunks.grid import Axis, Grid
from ....graph.kinds.mapping import BlockFunction
from ....graph.kinds.move import Move
from ....workers.config import config
from ....workers.kernels.blocks.statistics.groups import Grouped
from ...base import make
from ...chunking.coalesce import whole
from ...chunking.rechunk import drop_empty_chunks, regrid
from ...creation.from_data import from_array

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...array import Array

KINDS = {
    **{"sum": ("sum", "value"), "nansum": ("sum", "value"), "prod": ("prod", "value"), "nanprod": ("prod", "value")},
    **{"mean": ("sum", "mean"), "nanmean": ("sum", "mean"), "count": ("count", "value")},
    **{"max": ("max", "value"), "nanmax": ("max", "value"), "min": ("min", "value"), "nanmin": ("min", "value")},
    **{"any": ("any", "value"), "all": ("all", "value")},
    **{name: ("moments", name.removeprefix("nan")) for name in ("var", "nanvar", "std", "nanstd")},
}
"""What is found of each chunk for a reduction of flox's, and what the result is of that."""
COMBINED = {"count": "sum"}
LARGE = 1 << 26
"""Bytes up to which chunks are put together, so that less is found of more."""


def describe(
    options: Mapping[str, Any], own: np.dtype[Any], dtype: np.dtype[Any], nobody: Any = None
) -> Grouped | None:
    """Return what is reduced; None where only whole groups will do.

    `dtype` is the result's; `nobody` what a group has that hasn't enough elements, where labels aren't known yet.
    """
    func, finalize = options["func"], options.get("finalize_kwargs") or {}
    if not isinstance(func, str) or func not in KINDS or own.kind not in "biuf" or set(finalize) - {"ddof"}:
        return None
    if func in ("any", "all") and own.kind == "f":  # flox finds none in a group of NaN alone
        return None
    kind, how = KINDS[func]
    skips = own.kind == "f" and (func.startswith("nan") or func == "count")
    least, fill = int(options.get("min_count") or 0), options.get("fill_value")
    with_missing = nobody is not None and not least and (kind, how) in (("sum", "value"), ("prod", "value"))
    if nobody is not None:
        least, fill = max(1, least), nobody
    else:
        fill = np.nan if fill is None or not least else fill
        least = max(1, least) if skips and how == "mean" else least
    counts = least > 0 or kind == "moments"
    return Grouped(kind, how, skips, dtype.str, counts, least, fill, int(finalize.get("ddof", 0)), with_missing)


def reduce_known(array: Array, codes: Any, groups: int, grouped: Grouped, nobody: Any) -> Array:
    """Reduce groups whose numbers the last axes have; `nobody` is what a group without elements has."""
    sizes = np.bincount(codes[codes >= 0].ravel(), minlength=groups)
    lines = LabelledLines.of(array, codes.ndim)
    merged = _merged(lines, codes, groups, grouped)
    if codes.ndim == 1 and not ascends(codes) and merged is None and _are_apart(codes, *lines.axes):
        order = np.argsort(codes, kind="stable")
        lines, codes = lines.taken(order), codes[order]
    if codes.ndim == 1 and ascends(codes):
        reduced = _reduce_runs(lines, codes, sizes, grouped)
    elif merged is not None:
        reduced = _reduce_tree(merged, from_array(codes, chunks=merged.chunks), groups, sizes, grouped)
    else:
        reduced = _reduce_at_once(lines, codes, sizes, grouped)
    reduced = lines.last(reduced)
    if not sizes.all():
        reduced = _package().where(sizes > 0, reduced, nobody).astype(np.dtype(grouped.dtype))
    return reduced


def reduce_lazy(array: Array, codes: Array, groups: int, grouped: Grouped) -> Array:
    """Reduce groups whose numbers aren't known yet."""
    inner = LabelledLines.of(array, codes.ndim)
    return inner.last(_reduce_tree(inner, codes.rechunk(inner.chunks), groups, None, grouped))


@dataclasses.dataclass(frozen=True)
class LabelledLines:
    """An array whose labels run along `labels` axes from `first` on; `order` says which of the axes asked for they are.

    xarray has brought these to the end. Going back to where they lie, blocks are read as they are stored.
    """

    array: Array
    first: int
    labels: int
    order: tuple[int, ...]

    @classmethod
    def of(cls, array: Array, labels: int) -> LabelledLines:
        """Return an array with its last axes back where they were, if they followed each other there."""
        array = drop_empty_chunks(array, range(array.ndim - labels, array.ndim))
        op, last = array.expr.op, list(range(array.ndim - labels, array.ndim))
        routes = op.routes if isinstance(op, Move) else ()
        order = routes[0].targets if len(routes) == 1 else ()
        if len(order) == array.ndim and last[0] in order:
            first = order.index(last[0])
            if list(order[first : first + labels]) == last:
                return cls(array.transpose(order), first, labels, tuple(order))
        return cls(array, array.ndim - labels, labels, tuple(range(array.ndim)))

    @property
    def axes(self) -> tuple[Axis, ...]:
        """Axes of the labels."""
        return self.array.expr.grid.axes[self.first : self.first + self.labels]

    @property
    def chunks(self) -> tuple[tuple[int, ...], ...]:
        """Chunks of the labels."""
        return self.array.chunks[self.first : self.first + self.labels]

    @property
    def around(self) -> tuple[tuple[Axis, ...], tuple[Axis, ...]]:
        """Axes before and after those of the labels."""
        axes = self.array.expr.grid.axes
        return axes[: self.first], axes[self.first + self.labels :]

    @property
    def line(self) -> int:
        """Elements of a block beside each other for each label, at most."""
        return math.prod(a.largest for axes in self.around for a in axes)

    def on(self, axes: Any) -> LabelledLines:
        """Return the same in other chunks along the labels."""
        before, after = self.around
        return dataclasses.replace(self, array=regrid(self.array, Grid([*before, *axes, *after])))

    def taken(self, order: Any) -> LabelledLines:
        """Return the same with what the labels' axis has in another order."""
        return dataclasses.replace(self, array=self.array[(*(slice(None),) * self.first, order)])

    def last(self, found: Array) -> Array:
        """Return a result, whose groups are along one axis in the labels' place, with that last and others in order."""
        kept = [a for a in self.order if a < len(self.order) - self.labels]
        kept.insert(self.first, len(self.order))
        return found.transpose(np.argsort(kept).tolist())


def _package() -> Any:
    return importlib.import_module(str(__package__).partition(".")[0])


def ascends(codes: Any) -> bool:
    some = codes[codes >= 0]
    return bool((np.diff(some) >= 0).all())


def _are_apart(codes: Any, axis: Axis) -> bool:
    """Tell whether each chunk has elements of one group alone."""
    changes = np.flatnonzero(np.diff(codes)) + 1
    return bool(np.isin(changes, np.asarray(axis.start(np.arange(axis.count)))).all())


def _merged(lines: LabelledLines, codes: Any, groups: int, grouped: Grouped) -> LabelledLines | None:
    """Return the array in chunks of which half as much is found at most; None where they would be too large."""
    own = lines.array.dtype.itemsize
    times = groups * grouped.record(lines.array.dtype).itemsize / own
    if times * math.prod(a.count for a in lines.axes) <= codes.size / 2:
        return lines
    if codes.ndim > 1:
        return None
    (axis,) = lines.axes
    number = math.ceil(axis.count * 2 * times / codes.size)
    if number > axis.count or number * lines.array.expr.grid.largest * own > LARGE:
        return None
    return lines.on([merge(axis, number)])


def _partial(lines: LabelledLines, codes: Array, groups: list[Axis], grouped: Grouped) -> dict[str, Array]:
    """Return the fields of what chunks have of each group."""
    before, after = lines.around
    record = grouped.record(lines.array.dtype)
    first, n, new = lines.first, lines.labels, len(groups)
    axes = (*range(first + n), *range(first + new, first + new + len(after)))
    op = BlockFunction(
        "statistics.groups:partials",
        (first, grouped, lines.array.dtype.str),
        (axes, tuple(range(first, first + n))),
        where=True,
    )
    partials = make(op, (lines.array, codes), Grid([*before, *groups, *after]), record)
    own = (tuple(range(partials.ndim)),)
    return {
        name: make(BlockFunction("elements.records:field", (name,), own), (partials,), partials.expr.grid, record[name])
        for name in record.names or ()
    }


def _reduce_tree(lines: LabelledLines, codes: Array, groups: int, sizes: Any, grouped: Grouped) -> Array:
    """Combine what all chunks have of each group."""
    ones = [Axis.regular(a.count, 1) for a in lines.axes]
    parts = _partial(lines, codes, [*ones, Axis.whole(groups)], grouped)
    along = tuple(range(lines.first, lines.first + lines.labels))
    xp = _package()
    combined: dict[str, Array] = {}
    if "count" in parts:
        combined["count"] = parts["count"].sum(along, dtype=np.int64)
    if grouped.kind == "moments":
        mean = (parts["value"] * parts["count"]).sum(along, keepdims=True)
        mean = mean / xp.maximum(parts["count"].sum(along, dtype=np.int64, keepdims=True), 1)
        away = parts["value"] - mean
        combined["spread"] = parts["spread"].sum(along) + (parts["count"] * away * away).sum(along)
        combined["value"] = mean.squeeze(along)
    else:
        how = COMBINED.get(grouped.kind, grouped.kind)
        name = f"nan{how}" if how in ("min", "max") and grouped.skips else how
        combined["value"] = getattr(xp, name)(parts["value"], along)
    return _finish(lines, combined, sizes, grouped)


def _finish(lines: LabelledLines, parts: dict[str, Array], sizes: Any, grouped: Grouped) -> Array:
    """Return the results, with the groups' axis in the place of the labels'."""
    sizes = None if sizes is None else sizes.reshape(-1, *(1,) * len(lines.around[1]))
    reduced: Array = grouped.finish(parts, sizes, _package())
    return reduced


def _reduce_runs(lines: LabelledLines, codes: Any, sizes: Any, grouped: Grouped) -> Array:
    """Reduce groups that follow each other, of which a chunk has few: those at its ends are combined with others'."""
    (axis,) = lines.axes
    itemsize, line = lines.array.dtype.itemsize, lines.line
    if grouped.kind == "moments" or axis.count == 1:
        return _reduce_whole(lines, codes, sizes, grouped)
    if len(sizes) + axis.count > len(codes) / 2:  # what is found of chunks is hardly smaller than they are
        if int(sizes.max(initial=1)) * line * itemsize <= LARGE:
            return _reduce_whole(lines, codes, sizes, grouped)
        lines = lines.on([merge(axis, max(1, LARGE // (axis.largest * line * itemsize)))])
        (axis,) = lines.axes
    own = np.asarray(axis.sizes())
    stops, filled = np.cumsum(own), np.maximum.accumulate(np.maximum(codes, 0))
    low, high = filled[stops - own], filled[stops - 1]
    local = from_array(np.where(codes < 0, -1, codes - np.repeat(low, own)), chunks=lines.chunks)
    parts = _partial(lines, local, [Axis.of_sizes(high - low + 1)], grouped)
    of_row = np.concatenate([np.arange(i, j + 1) for i, j in zip(low, high, strict=True)])
    combined = {
        name: _reduce_whole(
            dataclasses.replace(lines, array=part), of_row, sizes, _combining(name, grouped, part.dtype)
        )
        for name, part in parts.items()
    }
    return _finish(lines, combined, sizes, grouped)


def _combining(name: str, grouped: Grouped, dtype: np.dtype[Any]) -> Grouped:
    """Return what combines a field of what chunks have of a group."""
    kind = "sum" if name == "count" or grouped.kind == "count" else grouped.kind
    wide = np.dtype(np.int64) if name == "count" else dtype
    return Grouped(kind, "value", grouped.skips and kind in ("min", "max"), wide.str, False, 0, None)


def merge(axis: Axis, number: int) -> Axis:
    """Return an axis with so many chunks in one."""
    sizes = np.asarray(axis.sizes())
    return Axis.of_sizes(np.add.reduceat(sizes, np.arange(0, len(sizes), number)))


def of_whole_groups(lines: LabelledLines, codes: Any, sizes: Any) -> tuple[LabelledLines, Array, Array, Axis]:
    """Return an array in chunks of about the size that they have, each of whole groups, which follow each other.

    With it come the groups of its elements, counted from their chunk's first one, the groups' sizes and their axis.
    """
    (axis,) = lines.axes
    groups = Axis.regular(len(sizes), max(1, round(axis.largest * len(sizes) / max(1, len(codes)))))
    firsts = np.asarray(groups.start(np.arange(groups.count)))
    borders = np.searchsorted(np.maximum.accumulate(np.maximum(codes, 0)), firsts[1:])
    cut = np.diff(borders, prepend=0, append=len(codes))
    local = np.where(codes < 0, -1, codes - np.repeat(firsts, cut))
    rechunked = lines.on([Axis.of_sizes(cut)])
    return rechunked, from_array(local, chunks=rechunked.chunks), from_array(sizes, chunks=groups.step), groups


def _reduce_whole(lines: LabelledLines, codes: Any, sizes: Any, grouped: Grouped) -> Array:
    """Reduce groups that follow each other, each in one block."""
    lines, local, counted, groups = of_whole_groups(lines, codes, sizes)
    before, after = lines.around
    axes = (tuple(range(lines.array.ndim)), (lines.first,), (lines.first,))
    op = BlockFunction("statistics.groups:finished", (lines.first, grouped), axes, where=True)
    grid = Grid([*before, groups, *after])
    return make(op, (lines.array, local, counted), grid, np.dtype(grouped.dtype))


def _reduce_at_once(lines: LabelledLines, codes: Any, sizes: Any, grouped: Grouped) -> Array:
    """Reduce groups in blocks that have all of them; along other axes the result has the array's chunks."""
    along = range(lines.first, lines.first + lines.labels)
    array, own = whole(lines.array, along), lines.array.expr.grid
    axes = array.expr.grid.axes
    before, after = axes[: lines.first], axes[lines.first + lines.labels :]
    places = (
        *range(lines.first),
        *(None,) * lines.labels,
        *range(lines.first + 1, lines.first + 1 + len(after)),
    )
    op = BlockFunction(
        "statistics.groups:finished",
        (lines.first, grouped),
        (places, (None,) * lines.labels, (lines.first,)),
        where=True,
    )
    operands = (array, from_array(codes, chunks=-1), from_array(sizes, chunks=-1))
    reduced = make(op, operands, Grid([*before, Axis.whole(len(sizes)), *after]), np.dtype(grouped.dtype))
    kept = (*own.axes[: lines.first], Axis.whole(len(sizes)), *own.axes[lines.first + lines.labels :])
    return in_chunks(reduced, kept, lines.array)


def in_chunks(found: Array, axes: Any, array: Array) -> Array:
    """Return what was found of an array in chunks along these axes, unless they would be larger than the array's."""
    grid, room = Grid(axes), array.expr.grid.largest * array.dtype.itemsize
    return regrid(found, grid) if grid.largest * found.dtype.itemsize <= max(room, config.chunk_bytes) else found
