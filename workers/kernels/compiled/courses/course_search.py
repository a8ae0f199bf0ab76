"""Reductions of a course in which no order can be seen, as compiled loops: where extremes are, how many aren't NaN."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...blocks.elements.positions import coordinates
from ..llvm.instructions import UFUNCS
from ..llvm.kernel_cache import ENTRY, ready
from ..llvm.text import Body, DType, Text, cast, kind, memory, register
from .course import FIRST_GROUP, Spot
from .course_folds import held
from .course_plan import NotCourse

if TYPE_CHECKING:
    from .....graph.kinds.reduction import Level
    from ...interpreter.frame import Frame
    from .course_folds import TileFold
    from .course_plan import Plot

Array = np.ndarray[Any, Any]
INT = np.dtype(np.int64)
SEARCHES = ("argmin", "argmax", "count_some")
LANES = 16
"""Extremes of a row are looked for so many elements at once."""
SHORT = 64
"""Rows that are shorter are searched one after the other in one call."""
WORK = 2


class Searched:
    """The calls of one compiled loop, which brings a tile's rows to the state: of values, or of numbers and indices."""

    def __init__(self, plot: Plot, fold: TileFold, level: Level, source: DType) -> None:
        if source.kind not in "iuf" or (source.kind == "f" and source.itemsize not in (4, 8)):
            raise NotCourse("searches of these dtypes")
        self.plot, self.fold, self.level, self.source = plot, fold, level, source
        head = level.reduce.head
        self._dtypes: tuple[DType, ...]
        self._counts, self._is_short = head == "count_some", False
        if self._counts:
            if source.kind != "f" or level.target not in (INT, np.dtype(float)):
                raise NotCourse("counts of these dtypes")
            self._text, self._dtypes = _count_text(source, level.target), (level.target,)
        else:
            wide = fold.width > 1 or fold.first == FIRST_GROUP
            self._is_short = not wide and not fold.first and fold.rows < SHORT
            text = _short_text(source, head == "argmax") if self._is_short else None
            self._text, self._dtypes = text or _extreme_text(source, head == "argmax", wide), (source, INT)
        self._state = [plot.keep(fold.results * d.itemsize) for d in self._dtypes]

    def functions(self, elements: int) -> dict[str, Any]:
        """Return the loop; None in place of one that isn't there, but will be."""
        return {self._text: ready(self._text, 2, WORK * elements)}

    def write(self, source: Spot, elements: int, tiles: int, functions: dict[str, int]) -> None:
        """Add the calls that bring tiles of so many elements to the state."""
        fold = self.fold
        outer, rows, width = fold.extents(elements)
        state = [
            Spot(s.operand, s.base, fold.group * d.itemsize, fold.tile * d.itemsize, width * d.itemsize)
            for s, d in zip(self._state, self._dtypes, strict=True)
        ]
        table = self.plot.constant(fold.rows_before().astype(np.int64))
        before = Spot(table.operand, table.base, 8 * fold.cut.tiles, 8)
        spots = (source.going(outer=rows * width * self.source.itemsize), state[0], state[-1], before)
        if self._is_short:
            self.plot.add((functions[self._text], 1), spots, (1, outer, rows), tiles, kind=len(spots))
            return
        for begins, when in ((1, fold.first), (0, -fold.first)) if fold.first else ((1, 0),):
            self.plot.add((functions[self._text], begins), spots, (outer, rows, width), tiles, when, len(spots))

    def read(self, memory: Array, frame: Frame) -> Array | tuple[Array, Array]:
        """Return the state, as the head closes it; the values are copied then."""
        fold, level = self.fold, self.level
        shape = (len(memory), *[1 if i in fold.axes else n for i, n in enumerate(fold.cut.shape)])
        states = [
            held(memory, s, fold.results, d).reshape(shape) for s, d in zip(self._state, self._dtypes, strict=True)
        ]
        if self._counts:
            return states[0].copy()
        inner = coordinates(states[1], [fold.cut.shape[a] for a in fold.axes]) if len(fold.axes) > 1 else states[1:]
        index: Any = None
        for a, i in zip(fold.axes, inner, strict=True):
            own = i + frame.origins[:, a].reshape(-1, *(1,) * (len(shape) - 1))
            index = own if index is None else index * level.shape[a] + own
        return states[0], index


@lru_cache(maxsize=2)
def zeroed_text(dtype: DType) -> str:
    """Write the loop that puts zero in place of NaN."""
    body = Body()
    text, t = body.text, register(dtype)
    with body.loop("0", "%count", "1") as i:
        value = text.load(dtype, "%x", i)
        lost = text.set(f"fcmp uno {t} {value}, {value}")
        text.store(dtype, text.set(f"select i1 {lost}, {t} 0.0, {t} {value}"), "%out", i)
    pointers = "ptr noalias readonly %x, ptr %none, ptr noalias %out"
    return body.whole(f"define void @{ENTRY}({pointers}, i64 %rows, i64 %count, i64 %c, i64 %d) {{")


@lru_cache(maxsize=8)
def _count_text(source: DType, target: DType) -> str:
    body = Body()
    text = body.text
    with body.loop("0", "%width", "1") as i:
        begins = text.set("icmp ne i64 %begins, 0")
        old = text.load(target, "%state", i)
        t = register(target)
        text.store(target, text.set(f"select i1 {begins}, {t} {_zero(target)}, {t} {old}"), "%state", i)
    with body.loop("0", "%rows", "1") as row:
        base = text.set(f"mul i64 {row}, %width")
        with body.loop("0", "%width", "1") as i:
            value = text.load(source, "%x", text.set(f"add nsw nuw i64 {base}, {i}"))
            some = text.set(f"fcmp ord {register(source)} {value}, {value}")
            one = cast(text, some, np.dtype(bool), target)
            total = UFUNCS["add"][kind(target)](text, register(target), [text.load(target, "%state", i), one])
            text.store(target, total, "%state", i)
    return _whole(body)


def _zero(dtype: DType) -> str:
    return "0.0" if dtype.kind == "f" else "0"


def _whole(body: Body) -> str:
    pointers = "ptr noalias readonly %x, ptr noalias %state, ptr %index, ptr noalias readonly %before"
    return body.whole(f"define void @{ENTRY}({pointers}, i64 %rows, i64 %width, i64 %begins, i64 %none) {{")


def _better(text: Text, dtype: DType, largest: bool, value: str, best: str) -> str:
    """Write whether a value goes before the best one; the first NaN goes before all numbers."""
    t, k = register(dtype), kind(dtype)
    if k != "f":
        return text.set(f"icmp {'s' if k == 'i' else 'u'}{'gt' if largest else 'lt'} {t} {value}, {best}")
    is_better = text.set(f"fcmp {'ogt' if largest else 'olt'} {t} {value}, {best}")
    lost, there = text.set(f"fcmp uno {t} {value}, {value}"), text.set(f"fcmp ord {t} {best}, {best}")
    return text.set(f"or i1 {is_better}, {text.set(f'and i1 {lost}, {there}')}")


def goes_before(text: Text, dtype: DType, largest: bool, a: tuple[str, str], b: tuple[str, str]) -> str:
    """Write whether a value with its index goes before another one: of equal ones the first."""
    takes = _better(text, dtype, largest, a[0], b[0])
    back = text.set(f"xor i1 {_better(text, dtype, largest, b[0], a[0])}, true")
    ties = text.set(f"and i1 {back}, {text.set(f'icmp slt i64 {a[1]}, {b[1]}')}")
    return text.set(f"or i1 {takes}, {ties}")


@lru_cache(maxsize=32)
def _extreme_text(dtype: DType, largest: bool, wide: bool) -> str:
    """Write the loop over rows; of rows of one element that many of them are gone over at once."""
    body = Body()
    text = body.text
    before = text.load(INT, "%before", "0")
    take = partial(_take, text, dtype, largest)
    with body.loop("0", text.set("mul i64 %begins, %width"), "1") as i:
        text.store(dtype, text.load(dtype, "%x", i), "%state", i)
        text.store(INT, before, "%index", i)
    if wide:
        with body.loop("0", "%rows", "1") as row:
            base, index = text.set(f"mul i64 {row}, %width"), text.set(f"add i64 {before}, {row}")
            with body.loop("0", "%width", "1") as i:
                take(text.load(dtype, "%x", text.set(f"add nsw nuw i64 {base}, {i}")), index, "%state", "%index", i)
        return _whole(body)
    body.entry.lines += [f"  %best = alloca [{LANES} x {memory(dtype)}], align 64"]
    body.entry.lines += [f"  %where = alloca [{LANES} x i64], align 64"]
    first = text.load(dtype, "%x", "0")
    with body.loop("0", str(LANES), "1") as lane:
        text.store(dtype, first, "%best", lane)
        text.store(INT, before, "%where", lane)
    with body.loop("0", "%rows", str(LANES)) as row:
        rest = body.least(text.set(f"sub i64 %rows, {row}"), str(LANES))
        with body.loop("0", rest, "1") as lane:
            at = text.set(f"add nsw nuw i64 {row}, {lane}")
            take(text.load(dtype, "%x", at), text.set(f"add i64 {before}, {at}"), "%best", "%where", lane)
    with body.loop("0", str(LANES), "1") as lane:
        take(text.load(dtype, "%best", lane), text.load(INT, "%where", lane), "%state", "%index", "0", ties=True)
    return _whole(body)


@lru_cache(maxsize=32)
def _short_text(dtype: DType, largest: bool) -> str:
    """Write the loop over rows of a few elements, each of which comes to one value."""
    body = Body()
    text = body.text
    body.entry.lines += [f"  %best = alloca {memory(dtype)}", "  %where = alloca i64"]
    with body.loop("0", "%rows", "1") as row:
        base = text.set(f"mul i64 {row}, %width")
        text.store(dtype, text.load(dtype, "%x", base), "%best", "0")
        text.store(INT, "0", "%where", "0")
        with body.loop("1", "%width", "1") as i:
            value = text.load(dtype, "%x", text.set(f"add nsw nuw i64 {base}, {i}"))
            _take(text, dtype, largest, value, i, "%best", "%where", "0")
        text.store(dtype, text.load(dtype, "%best", "0"), "%state", row)
        text.store(INT, text.load(INT, "%where", "0"), "%index", row)
    return _whole(body)


def _take(
    text: Text,
    dtype: DType,
    largest: bool,
    value: str,
    index: str,
    values: str,
    indices: str,
    at: str,
    ties: bool = False,
) -> None:
    """Write that a value and its index are put in place of those that it goes before."""
    t = register(dtype)
    best, where = text.load(dtype, values, at), text.load(INT, indices, at)
    if ties:
        takes = goes_before(text, dtype, largest, (value, index), (best, where))
    else:
        takes = _better(text, dtype, largest, value, best)
    text.store(dtype, text.set(f"select i1 {takes}, {t} {value}, {t} {best}"), values, at)
    text.store(INT, text.set(f"select i1 {takes}, i64 {index}, i64 {where}"), indices, at)
