"""Variances of what is not NaN in a course: as `course_moments`, with a count of elements for each result."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..llvm.kernel_cache import ENTRY, ready
from ..llvm.text import Body, cast, register
from .course import COPY
from .course_folds import Reducer, held
from .course_moments import DOUBLE, WORK, Moments, correct, load, merge
from .course_search import zeroed_text

if TYPE_CHECKING:
    from ...interpreter.frame import Frame
    from ..llvm.text import DType
    from .course import Spot
    from .course_folds import TileFold
    from .course_plan import Plot

Array = np.ndarray[Any, Any]


class SomeMoments(Moments):
    """The calls of `moments.some_moments_tile`; the state are the four fields of a partial result."""

    def __init__(self, plot: Plot, fold: TileFold, partial: DType) -> None:
        super().__init__(plot, fold, partial)
        self._counter = Reducer(plot, fold, "add", DOUBLE)
        self._n = plot.keep(self.results * DOUBLE.itemsize)

    def functions(self, elements: int) -> dict[str, Any]:
        """Return the loops, or None in place of one that isn't there; then see to it that it will be."""
        dtype = self.dtype
        texts = zeroed_text(dtype), _known_text(dtype), _mean_text(dtype), _kept_text(dtype)
        pointers = dict.fromkeys(texts, 3) | {_rest_text(dtype): 4, _merge_text(dtype): 8}
        return {text: ready(text, count - 2, WORK * elements) for text, count in pointers.items()}

    def write(self, source: Spot, elements: int, tiles: int, functions: dict[str, int]) -> None:
        plot, size, dtype = self.plot, self.dtype.itemsize, self.dtype
        outer, _, width = self.fold.extents(elements)
        count = outer * width

        def call(text: str, spots: tuple[Spot, ...], length: int, when: int = 0) -> None:
            plot.add((functions[text], 0), spots, (1, 0, length), tiles, when, len(spots))

        mean, rest, squares = (plot.lend(("moments of a tile", k), count * size) for k in range(3))
        n = plot.lend("counts of a tile", count * DOUBLE.itemsize)
        known = plot.lend("known", plot.cut.tile * DOUBLE.itemsize).going(step=DOUBLE.itemsize)
        zeroed, away = (plot.lend(name, plot.cut.tile * size).going(step=size) for name in ("zeroed", "distances"))
        call(_known_text(dtype), (source, source, known), elements)
        self.add_up(self._counter, known, elements, tiles, n)
        call(zeroed_text(dtype), (source, source, zeroed), elements)
        self.add_up(self._sums, zeroed, elements, tiles, mean)
        call(_mean_text(dtype), (n, n, mean), count)
        self.take_means(zeroed, mean, away, elements, tiles)
        call(_kept_text(dtype), (source, source, away), elements)
        self.add_up(self._sums, away, elements, tiles, rest)
        plot.add(self._square, (away, away), (1, 1, elements), tiles)
        self.add_up(self._sums, away, elements, tiles, squares)
        call(_rest_text(dtype), (mean, n, rest, squares), count)
        sizes = DOUBLE.itemsize, size, size, size
        state = [self.placed(spot, k) for spot, k in zip((self._n, *self.state), sizes, strict=True)]
        sets = n, mean, rest, squares
        for to, moment, k in zip(state, sets, sizes, strict=True):
            plot.add((0, 0), (to, moment), (1, 1, count * k), tiles, self.fold.first, COPY)
        if self.fold.first:
            call(_merge_text(dtype), (*state, *sets), count, -self.fold.first)

    def read(self, memory: Array, frame: Frame) -> Array:
        out = super().read(memory, frame)
        out["n"] = held(memory, self._n, self.results, DOUBLE).reshape(out.shape)
        return out


def _over(pointers: str, body: Body) -> str:
    return body.whole(f"define void @{ENTRY}({pointers}, i64 %rows, i64 %count, i64 %c, i64 %d) {{")


@lru_cache(maxsize=2)
def _known_text(dtype: DType) -> str:
    """Write the loop that puts one in place of numbers and zero in place of NaN."""
    body = Body()
    with body.loop("0", "%count", "1") as i:
        value = body.text.load(dtype, "%x", i)
        there = body.text.set(f"fcmp ord {register(dtype)} {value}, {value}")
        body.text.store(DOUBLE, cast(body.text, there, np.dtype(bool), DOUBLE), "%out", i)
    return _over("ptr noalias readonly %x, ptr %none, ptr noalias %out", body)


@lru_cache(maxsize=2)
def _kept_text(dtype: DType) -> str:
    """Write the loop that puts zero in place of distances of NaN."""
    body, t = Body(), register(dtype)
    with body.loop("0", "%count", "1") as i:
        value, away = body.text.load(dtype, "%x", i), body.text.load(dtype, "%away", i)
        there = body.text.set(f"fcmp ord {t} {value}, {value}")
        body.text.store(dtype, body.text.set(f"select i1 {there}, {t} {away}, {t} 0.0"), "%away", i)
    return _over("ptr noalias readonly %x, ptr %none, ptr noalias %away", body)


@lru_cache(maxsize=2)
def _mean_text(dtype: DType) -> str:
    """Write the loop that divides sums by counts, or by one where there is nothing."""
    body = Body()
    with body.loop("0", "%count", "1") as i:
        many = load(body, "%n", DOUBLE, i).at_least(1.0).to(dtype)
        body.text.store(dtype, (load(body, "%mean", dtype, i) / many).name, "%mean", i)
    return _over("ptr %n, ptr %none, ptr %mean", body)


@lru_cache(maxsize=2)
def _rest_text(dtype: DType) -> str:
    """Write `correct` with a count for each result."""
    body = Body()
    with body.loop("0", "%count", "1") as i:
        correct(body, dtype, load(body, "%n", DOUBLE, i).at_least(1.0), i)
    return _over("ptr %mean, ptr %n, ptr %rest, ptr %m2", body)


@lru_cache(maxsize=2)
def _merge_text(dtype: DType) -> str:
    """Write `merge` with counts for each result."""
    body = Body()
    with body.loop("0", "%count", "1") as i:
        before, more = load(body, "%an", DOUBLE, i), load(body, "%bn", DOUBLE, i)
        both = before + more
        merge(body, dtype, before, more / both.at_least(1.0), i)
        body.text.store(DOUBLE, both.name, "%an", i)
    return _over("ptr %an, ptr %a0, ptr %a1, ptr %a2, ptr %bn, ptr %b0, ptr %b1, ptr %b2", body)
