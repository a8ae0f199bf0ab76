"""Variances in a course: NumPy's passes over a tile, and compiled loops for the formulas of `kernels.moments`.

The sums are those of `course_folds`. What follows them, the rest of a mean and the update of two sets, is done here
element by element, with each operation in the dtypes that NumPy takes for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..llvm.instructions import UFUNCS
from ..llvm.kernel_cache import ENTRY, ready
from ..llvm.text import Body, DType, Text, cast, register
from .course import COPY, Spot
from .course_folds import Reducer, held
from .course_plan import NotCourse, ufunc_loop

if TYPE_CHECKING:
    from ...interpreter.frame import Frame
    from .course_folds import TileFold
    from .course_plan import Plot

Array = np.ndarray[Any, Any]
DOUBLE = np.dtype(np.float64)
CLOSE = 2.0**-10
"""As `moments.CLOSE`."""
WORK = 3


@dataclass(frozen=True)
class Number:
    """A register and its dtype; arithmetic is NumPy's between arrays of these dtypes."""

    text: Text
    name: str
    dtype: DType

    def to(self, dtype: DType) -> Number:
        return Number(self.text, cast(self.text, self.name, self.dtype, dtype), dtype)

    def _do(self, ufunc: str, other: Number | float) -> Number:
        if not isinstance(other, Number):
            other = Number(self.text, repr(float(other)), self.dtype)
        dtype = np.result_type(self.dtype, other.dtype)
        values = [self.to(dtype).name, other.to(dtype).name]
        name = UFUNCS[ufunc]["f"](self.text, register(dtype), values)
        return Number(self.text, name, np.dtype(bool) if ufunc == "less" else dtype)

    def __add__(self, other: Number) -> Number:
        return self._do("add", other)

    def __sub__(self, other: Number) -> Number:
        return self._do("subtract", other)

    def __mul__(self, other: Number | float) -> Number:
        return self._do("multiply", other)

    def __truediv__(self, other: Number) -> Number:
        return self._do("divide", other)

    def less(self, other: Number) -> Number:
        return self._do("less", other)

    def at_least(self, number: float) -> Number:
        """Return the greater of it and a number; NaN stays."""
        return self._do("maximum", number)

    def is_finite(self) -> Number:
        name = UFUNCS["isfinite"]["f"](self.text, register(self.dtype), [self.name])
        return Number(self.text, name, np.dtype(bool))

    def where(self, a: Number, b: Number | float) -> Number:
        """Choose by it."""
        t = register(a.dtype)
        other = b.to(a.dtype).name if isinstance(b, Number) else repr(float(b))
        return Number(self.text, self.text.set(f"select i1 {self.name}, {t} {a.name}, {t} {other}"), a.dtype)

    def both(self, other: Number) -> Number:
        return Number(self.text, self.text.set(f"and i1 {self.name}, {other.name}"), np.dtype(bool))


class Moments:
    """The calls for variances of a block's tiles; the state are three arrays: means, their rests, sums of squares."""

    def __init__(self, plot: Plot, fold: TileFold, partial: DType) -> None:
        dtype = partial["mean"]
        if dtype.kind != "f" or dtype.itemsize not in (4, 8):
            raise NotCourse("moments of these dtypes")
        self.plot, self.fold, self.dtype, self.partial = plot, fold, dtype, partial
        self._sums = Reducer(plot, fold, "add", dtype)
        self._subtract, self._divide = (ufunc_loop(name, dtype, dtype, dtype) for name in ("subtract", "divide"))
        self._square = ufunc_loop("square", dtype, dtype)
        self.results = fold.results
        self.state = [plot.keep(self.results * dtype.itemsize) for _ in range(3)]

    def functions(self, elements: int) -> dict[str, Any]:
        """Return the two loops, or None in place of one that isn't there; then see to it that it will be."""
        texts = (_rest_text(self.dtype), 4), (_merge_text(self.dtype), 7)
        return {text: ready(text, inputs, WORK * elements) for text, inputs in texts}

    def write(self, source: Spot, elements: int, tiles: int, functions: dict[str, int]) -> None:
        """Add the calls for tiles of so many elements."""
        plot, size = self.plot, self.dtype.itemsize
        outer, rows, width = self.fold.extents(elements)
        count = outer * width
        mean, rest, squares = (plot.lend(("moments of a tile", k), count * size) for k in range(3))
        away = plot.lend("distances", plot.cut.tile * size)
        self.add_up(self._sums, source, elements, tiles, mean)
        each = plot.constant(np.full(1, rows, self.dtype))
        plot.add(self._divide, (mean.going(step=size), each, mean.going(step=size)), (1, 1, count), tiles)
        self.take_means(source, mean, away, elements, tiles)
        self.add_up(self._sums, away, elements, tiles, rest)
        plot.add(self._square, (away.going(step=size), away.going(step=size)), (1, 1, elements), tiles)
        self.add_up(self._sums, away, elements, tiles, squares)
        many = plot.constant(np.full(1, rows, DOUBLE))
        both = mean, many, many, rest, rest, squares
        plot.add((functions[_rest_text(self.dtype)], 0), both, (1, 0, count), tiles, kind=len(both))
        state = [self.placed(spot, size) for spot in self.state]
        for to, moment in zip(state, (mean, rest, squares), strict=True):
            plot.add((0, 0), (to, moment), (1, 1, count * size), tiles, self.fold.first, COPY)
        if self.fold.first:
            sets = (*state, self._counts(), mean, rest, squares, squares, squares)
            plot.add((functions[_merge_text(self.dtype)], 0), sets, (1, 0, count), tiles, -self.fold.first, len(sets))

    def take_means(self, source: Spot, mean: Spot, away: Spot, elements: int, tiles: int) -> None:
        """Add the calls that subtract each result's mean from its elements."""
        plot, size = self.plot, self.dtype.itemsize
        outer, rows, width = self.fold.extents(elements)
        length = width * size
        if width == 1:
            spots = source.going(rows * size, 0, size), mean.going(outer=size), away.going(rows * size, 0, size)
            plot.add(self._subtract, spots, (outer, 1, rows), tiles)
        else:
            way = rows * length, length, size
            spots = source.going(*way), mean.going(length, 0, size), away.going(*way)
            plot.add(self._subtract, spots, (outer, rows, width), tiles)

    def placed(self, spot: Spot, size: int) -> Spot:
        """Return where the present tile's results lie in a state of numbers of so many bytes."""
        return Spot(spot.operand, spot.base, self.fold.group * size, self.fold.tile * size)

    def _counts(self) -> Spot:
        """Return where a tile's two numbers are: how many elements came before, and which share its own are of all."""
        cut, fold = self.plot.cut, self.fold
        before = fold.rows_before()
        many = np.array([fold.extents(min(cut.tile, cut.group - tile * cut.tile))[1] for tile in range(cut.tiles)])
        table = np.stack([before, many / np.maximum(before + many, 1)], -1)
        spot = self.plot.constant(table)
        return Spot(spot.operand, spot.base, table.strides[0], table.strides[1])

    def add_up(self, sums: Reducer, source: Spot, elements: int, tiles: int, to: Spot) -> None:
        """Add the calls that add up a tile."""
        if not self.fold.lanes:
            sums.reduce(source, elements, tiles, to)
            return
        lanes, count = sums.lanes(source, elements, tiles, ("lanes of moments", sums.size))
        sums.halve(lanes, count, tiles)
        self.plot.add((0, 0), (to, lanes), (1, 1, sums.size), tiles, kind=COPY)

    def read(self, memory: Array, frame: Frame) -> Array:
        """Return the state as records of a partial result."""
        fold = self.fold
        n = fold.cut.size // max(self.results, 1)
        shape = len(memory), *[1 if i in fold.axes else n for i, n in enumerate(fold.cut.shape)]
        out = np.empty(shape, self.partial)
        out["n"] = n
        for name, spot in zip(("mean", "rest", "m2"), self.state, strict=True):
            out[name] = held(memory, spot, self.results, self.dtype).reshape(shape)
        return out


def load(body: Body, pointer: str, dtype: DType, at: str) -> Number:
    return Number(body.text, body.text.load(dtype, pointer, at), dtype)


@lru_cache(maxsize=2)
def _rest_text(dtype: DType) -> str:
    """Write `correct` for a tile whose results have equally many elements."""
    body = Body()
    with body.loop("0", "%count", "1") as i:
        correct(body, dtype, load(body, "%n", DOUBLE, "0"), i)
    pointers = "ptr %mean, ptr %n, ptr %none, ptr %rest, ptr %other, ptr %m2"
    return body.whole(f"define void @{ENTRY}({pointers}, i64 %rows, i64 %count, i64 %c, i64 %d) {{")


def correct(body: Body, dtype: DType, many: Number, i: str) -> None:
    """Write what `moments._correct` does: the rest of a mean that needs it is found, and taken out of the squares."""
    mean, m2 = load(body, "%mean", dtype, i), load(body, "%m2", dtype, i)
    close = m2.less(mean * mean * many * CLOSE)
    rest = load(body, "%rest", dtype, i) / many
    rest = close.both(rest.is_finite()).where(rest, 0.0)
    left = close.where((m2.to(DOUBLE) - rest * rest * many).at_least(0.0), m2)
    body.text.store(dtype, rest.to(dtype).name, "%rest", i)
    body.text.store(dtype, left.to(dtype).name, "%m2", i)


@lru_cache(maxsize=2)
def _merge_text(dtype: DType) -> str:
    """Write `merge` for sets whose results have equally many elements."""
    body = Body()
    with body.loop("0", "%count", "1") as i:
        before, share = (load(body, "%counts", DOUBLE, k) for k in ("0", "1"))
        merge(body, dtype, before, share, i)
    pointers = "ptr %a0, ptr %a1, ptr %a2, ptr %counts, ptr %b0, ptr %b1, ptr %b2, ptr %none, ptr %other"
    return body.whole(f"define void @{ENTRY}({pointers}, i64 %rows, i64 %count, i64 %c, i64 %d) {{")


def merge(body: Body, dtype: DType, before: Number, share: Number, i: str) -> None:
    """Write what `moments.moments_merge` does: a set's moments are brought to those of another.

    `before` are the elements of the other set, `share` those of the first one of both.
    """
    a, b = ([load(body, f"%{side}{k}", dtype, i) for k in range(3)] for side in "ab")
    for value, to in zip(merged(a, b, before, share), ("%a0", "%a1", "%a2"), strict=True):
        body.text.store(dtype, value.name, to, i)


def merged(a: list[Number], b: list[Number], before: Number, share: Number) -> list[Number]:
    """Write the mean, its rest and the sum of squares of two sets; see `merge`."""
    (mean_a, rest_a, m2_a), (mean_b, rest_b, m2_b) = a, b
    apart, rests = mean_b - mean_a, rest_b - rest_a
    wide = apart * share
    step = wide.to(mean_a.dtype)
    mean = mean_a + step
    whole = mean - mean_a
    lost = (mean_a - (mean - whole)) + (step - whole) + (wide - step)
    rest = lost.is_finite().where(lost, 0.0) + (rest_a + rests * share)
    both = apart + rests
    m2 = m2_a + m2_b + both * both * (before * share)
    return [value.to(mean_a.dtype) for value in (mean, rest, m2)]
