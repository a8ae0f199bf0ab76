"""What a kernel does with its draws, recorded once, so that a compiled loop does it for all elements.

A kernel whose parameters are the same for all elements runs once with `RecordedDraws` in place of draws. What it draws
are `RecordedValue`s, which note the operations on them; what follows from parameters alone is computed meanwhile, by
NumPy. `compiled.recorded` writes the loop: each operation is the same as in array arithmetic, so the bits are.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

if TYPE_CHECKING:
    from collections.abc import Callable

Array = np.ndarray[Any, Any]
WIDTH = 8
"""Entries of a parameter's array: several, as NumPy's loops go other ways for one."""
WHOLE = ("bitwise_and", "bitwise_or", "bitwise_xor", "invert")
TESTS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "isnan", "isinf", "isfinite")


class NotRecorded(Exception):
    """A kernel that asks for what isn't known before numbers are drawn."""


@dataclass(frozen=True)
class Node:
    """An operation: over values of its region, by their numbers, with what belongs to it besides."""

    op: str
    args: tuple[int, ...] = ()
    more: Any = None
    is_bool: bool = False


@dataclass(eq=False)
class RecordedRegion:
    """What is done for the same elements; inner regions are for some of those of the outer one.

    `captured` are the outer region's values that it uses, `words` and `lane` say what an attempt draws.
    """

    outer: RecordedRegion | None
    words: int = 0
    lane: int = 0
    nodes: list[Node] = field(default_factory=list)
    captured: list[int] = field(default_factory=list)
    outputs: tuple[int, ...] = ()
    _numbers: dict[Node, int] = field(default_factory=dict)

    def add(self, node: Node) -> int:
        """Return the number of an operation's value, which is there already or is noted now."""
        if node not in self._numbers:
            self._numbers[node] = len(self.nodes)
            self.nodes.append(node)
        return self._numbers[node]


@dataclass
class Recording:
    """What a kernel did: the outermost region, numbers that follow from parameters, and tables of them."""

    region: RecordedRegion = field(default_factory=lambda: RecordedRegion(None))
    numbers: list[float] = field(default_factory=list)
    tables: list[Array] = field(default_factory=list)

    def add(self, op: str, args: tuple[int, ...] = (), more: Any = None, is_bool: bool = False) -> RecordedValue:
        """Note an operation in the present region."""
        return RecordedValue(self, self.region, self.region.add(Node(op, args, more, is_bool)))

    def number_of(self, x: Any, region: RecordedRegion | None = None) -> int:
        """Return the number of what an operation in a region is given: a value, or one number for all."""
        region = region or self.region
        if isinstance(x, RecordedValue):
            if x.region is region:
                return x.number
            if region.outer is None:
                raise NotRecorded("a value of an inner region")
            outer = self.number_of(x, region.outer)
            if outer not in region.captured:
                region.captured.append(outer)
            kind = region.outer.nodes[outer].is_bool
            return region.add(Node("captured", (), region.captured.index(outer), kind))
        if isinstance(x, float | int) and not isinstance(x, np.generic):
            return region.add(Node("literal", (), float(x)))
        known = np.asarray(x).reshape(-1)
        if not known.size or known.tobytes() != np.full_like(known, known[0]).tobytes():
            raise NotRecorded("numbers that differ")
        if known.dtype == bool:
            return region.add(Node("flag", (), bool(known[0]), True))
        self.numbers.append(float(known[0]))
        return region.add(Node("number", (), len(self.numbers) - 1))

    def apply(self, name: str, given: tuple[Any, ...]) -> RecordedValue:
        """Note an elementwise function."""
        args = tuple([self.number_of(x) for x in given])
        kinds = [self.region.nodes[a].is_bool for a in args]
        if name == "where":
            kinds = kinds[1:]
        is_bool = name in TESTS or kinds[0]
        if any(kind != kinds[0] for kind in kinds) or (kinds[0] and name not in WHOLE):
            raise NotRecorded(f"{name} of truth values")
        return self.add(name, args, None, is_bool)

    def within(self, region: RecordedRegion, do: Callable[[], tuple[Any, ...]]) -> RecordedRegion:
        """Note what is done in an inner region, and what comes of it."""
        outer, self.region = self.region, region
        try:
            region.outputs = tuple([self.number_of(x) for x in do()])
        finally:
            self.region = outer
        return region


class RecordedValue(NDArrayOperatorsMixin):
    """A value for each element, which nobody knows yet."""

    def __init__(self, recording: Recording, region: RecordedRegion, number: int) -> None:
        self.recording, self.region, self.number = recording, region, number

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *given: Any, out: Any = None, **options: Any
    ) -> RecordedValue:
        if method != "__call__" or options:
            raise NotRecorded(f"{ufunc.__name__}.{method}")
        recorded = self.recording.apply(ufunc.__name__, given)
        if out is None:
            return recorded
        (target,) = out
        if not isinstance(target, RecordedValue):
            raise NotRecorded("an array that values go to")
        target.region, target.number = recorded.region, recorded.number
        return target

    def __array_function__(self, function: Any, types: Any, args: tuple[Any, ...], options: Any) -> Any:
        if function is np.where and len(args) == 3:
            condition, yes, no = args
            if isinstance(condition, RecordedValue):
                return self.recording.apply("where", args)
            known = np.asarray(condition).reshape(-1)
            if known.all() or not known.any():
                return yes if known.all() else no
        if function is np.clip and len(args) == 3:
            x, least, most = args
            return np.minimum(np.maximum(x, least), most)
        raise NotRecorded(getattr(function, "__name__", "a function"))

    def _refuse(self, *args: Any, **options: Any) -> Any:
        raise NotRecorded("what isn't known before numbers are drawn")

    all = any = astype = _refuse
    __array__ = __bool__ = __len__ = __getitem__ = __setitem__ = __iter__ = __float__ = _refuse

    def like(self) -> Any:
        """Return what an `out` may be: it stands for what is put there."""
        return RecordedValue(self.recording, self.region, self.number)

    def climb(self, heights: list[float]) -> Any:
        """Return how many heights, one after the other, can be taken off."""
        self.recording.tables.append(np.array(heights))
        number = self.recording.number_of(self)
        return self.recording.add("climb", (number,), len(self.recording.tables) - 1)

    def look_up(self, table: Array) -> Any:
        """Return a table's entries at whole numbers, or its first or last one."""
        self.recording.tables.append(table)
        number = self.recording.number_of(self)
        return self.recording.add("look_up", (number,), len(self.recording.tables) - 1)

    def change(self, value: Any, method: Callable[..., Any], given: tuple[Any, ...]) -> Any:
        """Return `value`, but where this holds what a method makes of what it is given."""
        recording = self.recording
        inner = recording.within(RecordedRegion(recording.region), lambda: (method(*given),))
        first = recording.number_of(self), recording.number_of(value)
        is_bool = recording.region.nodes[first[1]].is_bool
        return recording.add("some", (*first, *inner.captured), inner, is_bool)


def is_value(x: Any) -> TypeGuard[RecordedValue]:
    """Whether this is a value that nobody knows yet."""
    return isinstance(x, RecordedValue)


@dataclass(frozen=True)
class RecordedDraws:
    """Stands for the draws of all elements; see `draws.Draws`."""

    recording: Recording
    lane: int = 0
    size: int = WIDTH

    def __getattr__(self, name: str) -> Any:
        raise NotRecorded(f"the {name} of draws")

    def at_lane(self, lane: int) -> RecordedDraws:
        """Return other draws of the same elements."""
        return RecordedDraws(self.recording, self.lane * 16 + lane)

    def uniform(self, words: int = 1, attempt: int = 0, which: Any = None) -> tuple[RecordedValue, ...]:
        """Return numbers in [0, 1) of all elements."""
        if attempt or self.recording.region.outer is not None or (which is not None and len(which) != self.size):
            raise NotRecorded("draws of some elements")
        return tuple([self.recording.add("draw", (), (words, self.lane, word)) for word in range(words)])

    def accept(
        self,
        words: int,
        propose: Callable[[tuple[Any, ...], tuple[Any, ...]], tuple[Any, Any]],
        params: tuple[Any, ...],
        which: Any = None,
    ) -> RecordedValue:
        """Draw until every element has a value."""
        recording = self.recording

        def attempt() -> tuple[Any, ...]:
            drawn = [recording.add("draw", (), (words, self.lane, word)) for word in range(words)]
            return propose(tuple(drawn), params)

        if recording.region.outer is not None:
            raise NotRecorded("draws of some elements")
        inner = recording.within(RecordedRegion(recording.region, words, self.lane), attempt)
        return recording.add("accept", tuple(inner.captured), inner)


def record(kernel: Callable[..., Any], params: list[float]) -> Recording | None:
    """Return what a kernel does where parameters are the same for all elements; None where that can't be told."""
    recording = Recording()
    try:
        with np.errstate(all="ignore"):
            output = kernel(RecordedDraws(recording), *[np.full(WIDTH, p, np.float64) for p in params])
        recording.region.outputs = (recording.number_of(output),)
    except NotRecorded:
        return None
    return recording
