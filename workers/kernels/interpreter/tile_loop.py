"""Making a value tile by tile: what is found once for a frame, so that a tile costs little more than its kernels.

The kernels let go of Python's lock; what runs between them does not, and keeps the other threads waiting.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ....graph.kinds.source import Full
from ....graph.lowering.program import Apply, Generate
from ...config import config
from ..buffers import Buffers
from ..compiled.fixed.transposing import copy_tile
from ..compiled.fused.segments import LEAST_ELEMENTS, LoopSegment, fits, segments
from ..functions import function
from ..sources import generate
from .tile_regions import TILE, Region, regions

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..compiled.llvm.machine_code import Native
    from .frame import Frame

Array = np.ndarray[Any, Any]
Step = tuple[int, "Callable[..., Any] | None", list[tuple[bool, Any]]]
ALL = slice(None)
SHORT = 128
WIDENED = -(1 << 20)
"""Slots of what is widened count down from here."""
KEPT = -(1 << 21)
"""And those of what compiled loops make: they may not write where they read."""
BEGIN = TILE
"""Bytes of the least buffer."""
_tiles = Buffers(TILE * 16, begin=BEGIN)


class CompiledSteps(NamedTuple):
    """Several steps as one compiled loop."""

    segment: LoopSegment
    loop: Native


class Tiles:
    """Makes the tiles of value `last` of a frame; straight in `out` where a tile lies there in one piece."""

    def __init__(self, frame: Frame, last: int, out: Array | None = None) -> None:
        self._frame, self._last, self._out = frame, last, out
        self._plan = frame.plan(last)
        self._loads = [(i, frame.assemble_pieces(i), all(frame.program.values[i].full)) for i in self._plan.wholes]
        self._wholes = {i: frame.whole(i) for i, gathered, _ in self._loads if gathered is None}
        self._steps = self._list_steps()
        self._targets: dict[tuple[int, ...], dict[int, Array]] = {}
        values = frame.program.values
        self._narrow = {
            (i, a)
            for i, _, args in (step for step in self._steps if not isinstance(step, CompiledSteps))
            for is_value, a in args
            if is_value and all(values[i].full) and self._is_short(values[a].full)
        }

    def _is_short(self, full: tuple[bool, ...]) -> bool:
        """Whether a value that is broadcast would be read in short runs, the same ones in all tiles.

        NumPy's loops then take longer to begin than to run: a row for each of many short rows, say.
        """
        if all(full) or not any(full):
            return False
        run = 1
        for n, f in zip(reversed(self._frame.shape), reversed(full), strict=True):
            if f != full[-1]:
                break
            run *= n
        cut = regions(self._frame.shape)[0]
        whole = all(s.stop == n for s, n, f in zip(cut, self._frame.shape, full, strict=True) if f)
        return run < SHORT and whole and math.prod(self._frame.shape) > SHORT * SHORT

    def _list_steps(self) -> list[Step | CompiledSteps]:
        """Return NumPy's loops and compiled ones, in order."""
        frame, plan = self._frame, self._plan
        count, values = len(frame.blocks) * math.prod(frame.shape), frame.program.values
        if config.jit == "off" or count < LEAST_ELEMENTS:
            return [self._step(i) for i in plan.tiled]
        steps: list[Step | CompiledSteps] = []
        for each in segments(frame.program, plan, self._last):
            if isinstance(each, int):
                steps.append(self._step(each))
                continue
            full = {i: values[i].full for i in each.inputs}
            loop = each.function(count) if fits(each, frame.shape, full, len(frame.blocks)) else None
            steps += [self._step(i) for i in each.numbers] if loop is None else [CompiledSteps(each, loop)]
        return steps

    def _step(self, number: int) -> Step:
        value = self._frame.program.values[number]
        if isinstance(value, Apply):
            args = [(True, a) if isinstance(a, int) else (False, a.value) for a in value.args]
            return number, function(value.function), args
        assert isinstance(value, Generate)
        return number, None, []

    def __call__(self, region: Region, into: Array | None = None) -> Array:
        """Return one tile; it is made in `into` where that is given."""
        lengths = tuple([s.stop - s.start for s in region])
        targets = self._targets.get(lengths)
        if targets is None:
            targets = self._targets[lengths] = self._buffers(lengths)
        index = (ALL, *region)
        values: dict[int, Array] = {}
        for number, gathered, full in self._loads:
            if gathered is not None:
                values[number] = targets[number]
                gathered.fill(region, targets[number][0])
            else:
                values[number] = self._part(number, index if full else self._slice_targets(number, region), targets)
        for step in self._steps:
            if isinstance(step, CompiledSteps):
                arguments = [values[i] for i in step.segment.inputs]
                kept = [self._target(i, targets, index, into) for i in step.segment.outputs]
                step.segment.run(step.loop, arguments, kept)
                values.update(zip(step.segment.outputs, kept, strict=True))
                continue
            number, call, args = step
            target = self._target(number, targets, index, into)
            if call is None:
                self._generate(number, region, target)
            else:
                arguments = [values[a] if is_value else a for is_value, a in args]
                if self._narrow:
                    arguments = [
                        self._widen(a, values[a], target.shape, targets) if (number, a) in self._narrow else value
                        for value, (_, a) in zip(arguments, args, strict=True)
                    ]
                call(*arguments, out=target)
            values[number] = target
        return values[self._last]

    def _target(self, number: int, targets: dict[int, Array], index: tuple[Any, ...], into: Array | None) -> Array:
        """Return where a value of a tile is made."""
        target = targets[number]
        if number == self._last and into is not None:
            return into
        if number == self._last and self._out is not None:
            place = self._out[index]
            return place if place.flags.c_contiguous and place.shape == target.shape else target
        return target

    def _widen(self, number: int, part: Array, shape: tuple[int, ...], targets: dict[int, Array]) -> Array:
        """Return a value written out over a tile, once for all tiles of these extents."""
        slot = WIDENED - number
        if slot not in targets:
            targets[slot] = _tiles.lend(slot, shape, part.dtype)
            np.copyto(targets[slot], part)
        return targets[slot]

    def _part(self, number: int, index: tuple[Any, ...], targets: dict[int, Array]) -> Array:
        part: Array = self._wholes[number][index]
        if part.flags.c_contiguous:
            return part
        if number not in targets:
            targets[number] = _tiles.lend(-2 - number, part.shape, part.dtype)
        copy_tile(targets[number], part)
        return targets[number]

    def _slice_targets(self, number: int, region: Region) -> tuple[slice, ...]:
        full = self._frame.program.values[number].full
        return (ALL, *(s if f else ALL for s, f in zip(region, full, strict=True)))

    def _buffers(self, lengths: tuple[int, ...]) -> dict[int, Array]:
        """Return where the values of a tile of these extents go."""
        buffers = {}
        values, slots = self._frame.program.values, self._plan.slot
        count = len(self._frame.blocks)
        compiled = [step.segment for step in self._steps if isinstance(step, CompiledSteps)]
        kept = {i for segment in compiled for i in segment.outputs}
        inside = {i for segment in compiled for i in segment.numbers} - kept
        for i in (number for number in self._plan.tiled if number not in inside):
            shape = (count, *(n if f else 1 for n, f in zip(lengths, values[i].full, strict=True)))
            buffers[i] = _tiles.lend(KEPT - i if i in kept else slots[i], shape, values[i].dtype)
        for i, gathered, _ in self._loads:
            if gathered is not None:
                buffers[i] = _tiles.lend(-2 - i, (count, *lengths), values[i].dtype)
        return buffers

    def _generate(self, number: int, region: Region, target: Array) -> None:
        step = self._frame.program.values[number]
        assert isinstance(step, Generate)
        if isinstance(step.source, Full):  # the same everywhere
            target.fill(step.source.value)
            return
        origin = np.zeros((len(self._frame.blocks), len(step.axes)), np.int64)
        for own, a in enumerate(step.axes):
            if a is not None:
                origin[:, own] = self._frame.origins[:, a] + region[a].start
        extents = [1 if a is None else region[a].stop - region[a].start for a in step.axes]
        generate(step.source, step.shape, origin, target.reshape(len(self._frame.blocks), *extents))
