"""Random numbers in a course: Philox's loop, and what makes each distribution's numbers of its draws, tile after tile.

That are Box and Muller's loop with NumPy's logarithm, products for integers, and NumPy's loops for the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .....graph.kinds.source import Random
from .....graph.kinds.view import View
from ..draws.drawing import (
    NARROW,
    WORK,
    integers_text,
    philox_text,
    pick_text,
    polar_text,
    signed,
    single_text,
    spread_text,
)
from ..llvm.kernel_cache import ready
from .course import Spot
from .course_plan import NotCourse, ufunc_loop

if TYPE_CHECKING:
    from .....graph.lowering.program import Generate
    from ...interpreter.frame import Frame
    from .course_plan import Cut, Plot

Array = np.ndarray[Any, Any]
DOUBLE, WORD = np.dtype(np.float64), np.dtype(np.uint64)
NORMALS = ("standard_normal", "normal")
EXPONENTIALS = ("standard_exponential", "exponential")
NOWHERE = np.zeros(0, np.uint64)


def is_drawn(step: Generate) -> bool:
    """Whether a value is random numbers, or a part of them."""
    source = step.source
    while isinstance(source, View):
        source = source.source
    return isinstance(source, Random)


@dataclass(frozen=True)
class Drawn:
    """The draws of blocks: runs of `length` elements, each of which begins up to `cut` draws after a block of four.

    `starts` are the numbers of the runs' first draws, a row for each block: of pieces of a tile, where a run is longer.
    Of `even` runs they are, for each tile, that of the first one and how far it is from there to the next.
    """

    source: Random
    starts: Array
    length: int
    cut: int
    name: tuple[int, ...]
    even: bool

    @staticmethod
    def of(frame: Frame, step: Generate, cut: Cut) -> Drawn:
        """Return the draws of a frame's block; NotCourse where they aren't runs in the block's order."""
        from ...randoms.draws import Draws, find_even_runs, run_starts
        from ...sources import unshift

        whole = step.axes == tuple(range(len(frame.shape))) and step.shape == frame.stage.domain.shape
        source, shape, origins, extents = unshift(step.source, step.shape, frame.origins, frame.shape)
        if not isinstance(source, Random) or not _is_taken(source.distribution, step.dtype) or not whole:
            raise NotCourse("values that are generated")
        name = Draws(source.key, source.jump, NOWHERE, 1).name(1)
        even_runs = find_even_runs(shape, origins[0].tolist(), extents, source.offset)
        if even_runs is not None:
            _, length, count, apart = even_runs
            first = run_starts(shape, origins, (1,) * len(shape), source.offset)
            if length <= cut.tile:
                return _draw_even_runs(source, first, length, apart, name, cut)
            starts = first[:, None] + np.arange(count, dtype=np.uint64) * np.uint64(apart)
        else:
            begins = run_starts(shape, origins, extents, source.offset).reshape(len(frame.blocks), -1)
            starts, length = Draws(source.key, source.jump, begins[0], extents[-1]).even_runs
            if ((begins - begins[:, :1]) != begins[0] - begins[0, 0]).any():
                raise NotCourse("runs that lie otherwise in each block")
            starts = starts + (begins[:, :1] - begins[0, 0])
        if length > cut.tile and length % cut.group == 0:  # a run goes over one group of tiles or several
            groups = np.arange(length // cut.group, dtype=np.uint64) * np.uint64(cut.group)
            pieces = groups[:, None] + np.arange(cut.tiles, dtype=np.uint64) * np.uint64(cut.tile)
            starts = (starts[:, :, None] + pieces.reshape(-1)).reshape(len(starts), -1)
        else:
            _check_whole(length, cut)
        return Drawn(source, starts, length, int((starts & np.uint64(3)).max()), name, False)

    @property
    def key(self) -> tuple[int, int, bool]:
        """What a course depends on beside the source."""
        return self.length, self.cut, self.even


def _draw_even_runs(source: Random, first: Array, length: int, apart: int, name: tuple[int, ...], cut: Cut) -> Drawn:
    """Return the draws of blocks of runs that are equally far apart, and no longer than a tile."""
    _check_whole(length, cut)
    tiles = np.arange(cut.groups)[:, None] * cut.group + np.arange(cut.tiles) * cut.tile
    runs = (tiles.reshape(-1) // length).astype(np.uint64)
    table = np.empty((len(first), tiles.size, 2), np.uint64)
    table[:, :, 0] = first[:, None] + runs * np.uint64(apart)
    table[:, :, 1] = apart
    begins = first[:, None] + np.arange(4, dtype=np.uint64) * np.uint64(apart)
    return Drawn(source, table, length, int((begins & np.uint64(3)).max()), name, True)


def _is_taken(distribution: str, dtype: np.dtype[Any]) -> bool:
    """Whether the interpreter makes a distribution's numbers in their own dtype, by what a course can call."""
    if distribution == "integers":
        return dtype.kind in "iu"
    return distribution in ("random", "uniform", *NORMALS) or (distribution in EXPONENTIALS and dtype == DOUBLE)


def _check_whole(length: int, cut: Cut) -> None:
    """Raise where tiles have parts of runs."""
    if cut.tile % length or cut.group % length:
        raise NotCourse("runs that are cut")


@dataclass(frozen=True)
class Draw:
    """The calls that draw the tiles of a value; `operand` is the course's number of the runs' beginnings."""

    cut: Cut
    drawn: Drawn
    dtype: np.dtype[Any]
    operand: int

    def functions(self, elements: int) -> dict[str, Any]:
        """Return the loops; None in place of one that isn't there, but will be."""
        texts = [text for n, _ in self.cut.kinds() for text in self._texts(n) if text]
        texts += [spread_text()] if self.drawn.even else []
        texts += [self._integers()] if self.drawn.source.distribution == "integers" else []
        return {text: ready(text, 1, WORK * elements) for text in texts}

    @property
    def _drawn_dtype(self) -> np.dtype[Any]:
        """The dtype of draws, which integers are made of."""
        return WORD if self.drawn.source.distribution == "integers" else self.dtype

    def _integers(self) -> str:
        return integers_text(self.dtype, self.drawn.source.params[1] == 1 << 64)

    def _runs(self, elements: int) -> tuple[int, int, int]:
        """Return of a tile how many runs it has, their length, and how many blocks each is drawn from."""
        length = min(self.drawn.length, elements)
        return elements // length, length, -(-(self.drawn.cut + length) // 4)

    def _texts(self, elements: int) -> tuple[str, str, str]:
        """Return the loops that draw, make normal numbers, and pick the runs' draws; "" for what isn't needed."""
        from ...randoms.normal import SERIES

        _, length, width = self._runs(elements)
        is_normal = self.drawn.source.distribution in NORMALS
        if length == 1 and not is_normal:
            return single_text(self._drawn_dtype), "", ""
        philox = philox_text(DOUBLE if is_normal else self._drawn_dtype, is_normal, width < NARROW)
        polar = polar_text(self.dtype, SERIES) if is_normal else ""
        is_even = self.drawn.cut == 0 and length == 4 * width and width >= NARROW
        return philox, polar, "" if is_even else pick_text(self._drawn_dtype, width, length)

    def write(self, plot: Plot, to: Spot, elements: int, tiles: int, functions: dict[str, int]) -> None:
        """Add the calls for tiles of so many elements."""
        distribution = self.drawn.source.distribution
        if distribution == "integers":
            raw = plot.lend(("raw", self.operand), plot.cut.tile * WORD.itemsize).going(step=WORD.itemsize)
            self._draw(plot, raw, elements, tiles, functions)
            low, span = self.drawn.source.params
            way = functions[self._integers()], signed(span % (1 << 64))
            plot.add(way, (raw, raw, to), (1, 0, elements), tiles, kind=3, more=signed(low % (1 << 64)))
            return
        self._draw(plot, to, elements, tiles, functions)
        if distribution in ("uniform", "normal"):
            first, second = self.drawn.source.params
            factor, more = (second - first, first) if distribution == "uniform" else (second, first)
            self._apply(plot, to, elements, tiles, "multiply", factor)
            self._apply(plot, to, elements, tiles, "add", more)
        elif distribution in EXPONENTIALS:
            one = plot.constant(np.ones(1, self.dtype))
            plot.add(ufunc_loop("subtract", *[self.dtype] * 3), (one, to, to), (1, 1, elements), tiles)
            for name in ("log", "negative"):
                plot.add(ufunc_loop(name, *[self.dtype] * 2), (to, to), (1, 1, elements), tiles)
            for scale in self.drawn.source.params:
                self._apply(plot, to, elements, tiles, "multiply", scale)

    def _apply(self, plot: Plot, to: Spot, elements: int, tiles: int, name: str, number: float) -> None:
        """Add the call of a ufunc with one number for all."""
        other = plot.constant(np.full(1, number, self.dtype))
        plot.add(ufunc_loop(name, *[self.dtype] * 3), (to, other, to), (1, 1, elements), tiles)

    def _draw(self, plot: Plot, to: Spot, elements: int, tiles: int, functions: dict[str, int]) -> None:
        """Add the calls that draw words, numbers in [0, 1) or normal ones."""
        runs, length, width = self._runs(elements)
        philox, polar, pick = self._texts(elements)
        size, count = self._drawn_dtype.itemsize, runs * width
        whole = plot.lend(("whole", self.operand, tiles), 4 * count * size) if pick else to
        each = self.drawn.length
        if self.drawn.even:
            table = Spot(self.operand, 0, plot.cut.tiles * 16, 16)
            starts = plot.lend(("starts", self.operand, tiles), runs * 8)
            plot.add((functions[spread_text()], 0), (table, table, starts), (1, runs, 0), tiles, kind=3)
        else:
            steps = (plot.cut.tiles, 1) if each > self.cut.tile else (plot.cut.group // each, plot.cut.tile // each)
            starts = Spot(self.operand, 0, steps[0] * 8, steps[1] * 8)
        stream = plot.constant(np.array(self.drawn.name, np.uint64))
        if polar:
            parts = plot.lend(("parts", self.operand, tiles), 4 * count * 8).going(step=8)
            plot.add((functions[philox], 0), (starts, stream, parts), (1, runs, width), tiles, kind=3)
            plot.add(ufunc_loop("log", DOUBLE, DOUBLE), (parts, parts), (1, 1, 2 * count), tiles)
            plot.add((functions[polar], 0), (parts, parts, whole), (1, count, 0), tiles, kind=3)
        else:
            plot.add((functions[philox], 0), (starts, stream, whole), (1, runs, width), tiles, kind=3)
        if pick:
            plot.add((functions[pick], width), (starts, whole, to), (1, runs, length), tiles, kind=3)
