"""Where the results of a program's stages lie in its memory.

The graph is functional: setting elements makes another array. Here memory is what changes. If nobody reads the array
that was before any more, elements are set in it (`Step.puts`). What is only reshaped lies where it was, and memory that
nobody reads any more is used again. All this follows from the order of the stages and from what they read.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .splitting import is_renamed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...graph.lowering.stage import Stage
    from .writes import Put, Write

Array = np.ndarray[Any, Any]
NEVER = 1 << 62
"""Later than any step: inputs and results stay."""


@dataclass(frozen=True)
class Place:
    """Where a stage's only block lies: in C order, from the beginning of a slot of memory."""

    slot: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def view(self, memory: Sequence[Array]) -> Array:
        """Return the array that lies there, of slots of memory."""
        return np.ndarray(self.shape, self.dtype, memory[self.slot])

    def nowhere(self) -> Array:
        """Return an array that lies as this one does, but has no elements."""
        strides = [self.dtype.itemsize * math.prod(self.shape[a + 1 :]) for a in range(len(self.shape))]
        return np.lib.stride_tricks.as_strided(np.empty(1, self.dtype), self.shape, strides)


@dataclass(frozen=True)
class Step:
    """What is done for a stage: it is run, or if there are `puts`, these are set in what `place` holds already.

    `reads` are the numbers of the stage's inputs among the program's values.
    """

    stage: Stage
    reads: tuple[int, ...]
    place: Place
    puts: tuple[Put, ...] | None = None


@dataclass(frozen=True)
class MemoryPlan:
    """Where values lie, what is done in order, and the bytes of each slot."""

    places: list[Place]
    steps: list[Step]
    sizes: list[int]
    inputs: int
    """How many slots are inputs': the first ones."""

    def slots(self, step: Step) -> set[int]:
        """Return the slots that a step reads or fills."""
        return {step.place.slot, *(self.places[number].slot for number in step.reads)}

    def value(self, number: int, inputs: Sequence[Array], memory: Sequence[Array]) -> Array:
        """Return a value, of arrays for inputs and slots of memory."""
        return inputs[number] if number < self.inputs else self.places[number].view(memory)


def plan_memory(
    inputs: Sequence[Stage], stages: Sequence[Stage], results: Sequence[str], writes: Mapping[str, Write]
) -> MemoryPlan:
    """Return where the values of a program lie: those of inputs, each in a slot of its own, then those of stages.

    Parameters
    ----------
    inputs : sequence of Stage
        What stands for arrays that are only read.
    stages : sequence of Stage
        Each of one block, inputs before their readers.
    results : sequence of str
        The tokens of what must be there at the end: arrays in C order, each in a slot of its own.
    writes : mapping of str to Write
        See `find_writes`.
    """
    return _Planner((*inputs, *stages), len(inputs), results, writes).plan()


class _Planner:
    def __init__(
        self, every: Sequence[Stage], ninputs: int, results: Sequence[str], writes: Mapping[str, Write]
    ) -> None:
        numbers = {stage.token: number for number, stage in enumerate(every)}
        self.every, self.ninputs = every, ninputs
        self.results = {numbers[token] for token in results}
        self.reads = [tuple([numbers[token] for token in stage.inputs]) for stage in every]
        self.last = [NEVER if number in self.results else number for number in range(len(every))]
        for number, mine in enumerate(self.reads):
            for read in mine:
                self.last[read] = max(self.last[read], number)
        self.writes = {numbers[token]: write for token, write in writes.items()}
        self.places: list[Place] = []
        self.sizes: list[int] = []
        self.holds: list[list[int]] = []
        """Of each slot: the numbers of the values that lie in it."""
        self.free: dict[int, list[int]] = {}

    def plan(self) -> MemoryPlan:
        steps: list[Step] = []
        for number, stage in enumerate(self.every):
            if number < self.ninputs:
                self.places.append(self._take(number))
                continue
            write = self.writes.get(number)
            puts: tuple[Put, ...] | None = None
            place = self._alias(number)
            if place is not None:
                puts = ()
            elif write is not None and self._changes(number, write):
                place, puts = self.places[self.reads[number][write.base]], write.puts
            else:
                place = self._take(number)
            self.places.append(place)
            if number not in self.holds[place.slot]:
                self.holds[place.slot].append(number)
            if puts is None or puts:
                steps.append(Step(stage, self.reads[number], place, puts))
            for slot in {place.slot, *(self.places[read].slot for read in self.reads[number])}:
                if slot >= self.ninputs and self._end(slot) == number:
                    self.free.setdefault(self.sizes[slot], []).append(slot)
        return MemoryPlan(self.places, steps, self.sizes, self.ninputs)

    def _take(self, number: int) -> Place:
        """Return the place of a value in a slot that nobody reads any more, or in a new one."""
        stage = self.every[number]
        nbytes = stage.grid.size * stage.dtype.itemsize
        free = self.free.get(nbytes) if number not in self.results else None
        if free:
            slot = free.pop()
            self.holds[slot] = [number]
        else:
            slot = len(self.sizes)
            self.sizes.append(nbytes)
            self.holds.append([number])
        return Place(slot, stage.grid.shape, stage.dtype)

    def _end(self, slot: int) -> int:
        """Return the last step that reads what a slot holds, as far as is known."""
        return max(self.last[number] for number in self.holds[slot])

    def _alias(self, number: int) -> Place | None:
        """Return where a value lies already that is another under another shape."""
        stage = self.every[number]
        if not is_renamed(stage):
            return None
        place = self.places[self.reads[number][0]]
        kept = number in self.results and place.slot < self.ninputs  # the user's memory, who may write to it
        return None if kept else Place(place.slot, stage.grid.shape, stage.dtype)

    def _changes(self, number: int, write: Write) -> bool:
        """Whether a stage may set elements where the array that it reads lies: nobody reads that later."""
        reads = self.reads[number]
        slot = self.places[reads[write.base]].slot
        elsewhere = all(self.places[reads[put.source]].slot != slot for put in write.puts)
        return slot >= self.ninputs and elsewhere and self._end(slot) == number
