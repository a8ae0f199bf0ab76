"""The order in which one thread would compute tasks, and what it would hold: by that memory is bounded and kept to.

One task after the other, each chunk freed when its last reader is through: what lives at each moment follows from the
relations between stages alone. It is found for a few orders, and the one that holds least is taken.

    eager         whatever has its inputs, at once; so what several results read is freed early
    depth first   what the first result block needs, then the second: for moves, which need some chunks of each input
    abreast       eager, and all stages that read nothing advance at the same pace
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..ledger.arena import LARGE, STAGGER

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from ...graph.chunks.block_reads import Rows
    from ...graph.chunks.grid import Index

    Mask = NDArray[np.bool_]

MUCH = 1 << 25
"""Tasks times stages from which on no order is looked for: stages are taken one after the other."""


@dataclass(frozen=True, eq=False)
class SequenceStep:
    """The tasks of one stage that are to run: `tasks`, or all.

    `sizes` are the bytes of an arena that each task makes. `inputs` are numbers of steps that are read, and which of
    their tasks each task reads. `kept`: what is made stays when it has been read.
    """

    sizes: Index
    inputs: tuple[tuple[int, Rows], ...]
    kept: bool = False
    tasks: Mask | None = None


class Order:
    """One order of the tasks of some steps, inputs before their readers.

    `places` has for each step the place of each task, -1 for those that aren't to run; `live` the bytes that lie in
    arenas while the task at each place runs; `begins` and `ends` the places at which each task's slab, by its place,
    comes and is last read.
    """

    def __init__(self, steps: Sequence[SequenceStep], places: list[Index]) -> None:
        self.places = places
        count = sum(int((p >= 0).sum()) for p in places)
        self.sizes: Index = np.zeros(count, np.int64)
        self.ends: Index = np.arange(count)
        for step, mine in zip(steps, places, strict=True):
            own = mine >= 0
            self.sizes[mine[own]] = padded(step.sizes[own])
            if step.kept:
                self.ends[mine[own]] = count
        for step, mine in zip(steps, places, strict=True):
            for number, rows in step.inputs:
                reader, read = mine[rows.row_numbers()], places[number][rows.items]
                both = (reader >= 0) & (read >= 0)
                np.maximum.at(self.ends, read[both], reader[both])
        freed: Index = np.zeros(count + 2, np.int64)
        np.add.at(freed, self.ends + 1, self.sizes)
        self.live: Index = np.cumsum(self.sizes) - np.cumsum(freed[:count])

    @property
    def peak(self) -> int:
        """The most that lives at once."""
        return int(self.live.max(initial=0))


def padded(sizes: Index) -> Index:
    """Return at least what slabs really take, as `ArenaAllocator.pad_size` has it."""
    return np.where(sizes < LARGE, sizes, sizes + (sizes >> 6) + STAGGER)


def best_order(steps: Sequence[SequenceStep]) -> Order:
    """Return the order of some steps, inputs before their readers, that holds least."""
    count = sum(len(step.sizes) for step in steps)
    known = any(step.inputs for step in steps) and count * len(steps) <= MUCH
    orders = [*(_orders(steps) if known else ()), _by_stages(steps)]
    return min((Order(steps, places) for places in orders), key=lambda order: order.peak)


def _starts(steps: Sequence[SequenceStep]) -> list[int]:
    starts: list[int] = np.cumsum([0, *(len(step.sizes) for step in steps)]).tolist()
    return starts


def _split(steps: Sequence[SequenceStep], sequence: Index) -> list[Index]:
    """Return each step's places for tasks, numbered through all steps, in order."""
    begins = _starts(steps)
    place: Index = np.full(begins[-1], -1, np.int64)
    place[sequence] = np.arange(len(sequence))
    return [place[a:b] for a, b in itertools.pairwise(begins)]


def _to_run(steps: Sequence[SequenceStep]) -> list[Index]:
    """Return the numbers of each step's tasks that are to run."""
    every = [np.arange(len(s.sizes)) if s.tasks is None else np.flatnonzero(s.tasks) for s in steps]
    return [begin + mine for begin, mine in zip(_starts(steps), every, strict=False)]


def _by_stages(steps: Sequence[SequenceStep]) -> list[Index]:
    return _split(steps, np.concatenate([np.zeros(0, np.int64), *_to_run(steps)]))


def _orders(steps: Sequence[SequenceStep]) -> Iterator[list[Index]]:
    depth = _depth_first(steps)
    ranks: Index = np.full(_starts(steps)[-1], -1, np.int64)
    ranks[depth] = np.arange(len(depth))
    yield _split(steps, _eager(steps, ranks.astype(float)))
    yield _split(steps, depth)
    pace = np.concatenate([np.arange(n := len(step.sizes)) / max(1, n) for step in steps])
    yield _split(steps, _eager(steps, pace))


def _depth_first(steps: Sequence[SequenceStep]) -> Index:
    """Return the tasks in the order in which results need them: each just before its first reader."""
    begins, mine = _starts(steps), _to_run(steps)
    users: list[list[tuple[int, Rows]]] = [[] for _ in steps]
    for number, step in enumerate(steps):
        for other, rows in step.inputs:
            users[other].append((begins[number], rows))
    sequence: Index = np.zeros(0, np.int64)
    place: Index = np.full(begins[-1], -1, np.int64)
    for number in range(len(steps) - 1, -1, -1):
        before: Index = np.full(len(steps[number].sizes), len(sequence))
        for begin, rows in users[number]:
            reader = place[begin + rows.row_numbers()]
            known = reader >= 0
            np.minimum.at(before, rows.items[known], reader[known])
        before = before[mine[number] - begins[number]] % max(1, len(sequence))  # results of earlier steps go first
        order = np.argsort(before, kind="stable")
        sequence = np.insert(sequence, before[order], mine[number][order])
        place[sequence] = np.arange(len(sequence))
    return sequence


def _eager(steps: Sequence[SequenceStep], pace: NDArray[np.float64]) -> Index:
    """Return the tasks in the order in which they have their inputs; those without any go by their pace."""
    begins, mine = _starts(steps), _to_run(steps)
    ready = np.full(begins[-1], -1.0)
    for number, (step, tasks) in enumerate(zip(steps, mine, strict=True)):
        key = np.full(len(step.sizes), -1.0)
        for other, rows in step.inputs:
            np.maximum.at(key, rows.row_numbers(), ready[begins[other] + rows.items])
        own = np.arange(begins[number], begins[number + 1])
        key = np.where(key < 0, pace[own], key)
        ready[tasks] = key[tasks - begins[number]]
    tasks = np.concatenate(mine) if mine else np.zeros(0, np.int64)
    order: Index = tasks[np.argsort(ready[tasks], kind="stable")]  # of equal ones the earlier stage goes first
    return order
