"""Stages: what one kind of task does. A task is the pair (stage, number) and covers a fixed run of blocks.

A stage's domain is the grid its program runs over; without a reduction that is the grid of its result, with one each
result block covers a group of the domain's blocks. Everything here follows from grids, never from ranks or memory.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..chunks.block_reads import ByBlock, Rows, concatenate_ranges
from ..expr.interned import BLOCKS
from ..few import ascending, distinct, positions_in
from ..kinds.anchor import COPY, HOLD, SPREAD
from ..kinds.gang import Gang
from ..kinds.mapping import BlockFunction, MapBlocks
from ..kinds.move import Move
from .program import Call, Fused, Load, Product, Program

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping, Sequence

    from ..chunks.grid import Grid, Index
    from ..expr.expr import DType
    from ..kinds.source import HostData
    from .program import Operand, Value

Reads = tuple[tuple[int, ...], list[Rows]]
"""What a stage's tasks read of each input, and how many blocks the inputs' tasks cover."""

FOLD_BYTES = 1 << 18
FOLD_BLOCKS = 4096
GATHER_BYTES = 1 << 24
"""Bytes of large blocks that a task reads parts of, where it covers blocks that read different ones."""
ALIGN = 64
LIGHT = 1 << 12
"""Elements of an array that is small."""
FEW_VALUES = 32
"""Values of a program that is short."""
ONE = Rows(np.arange(2), np.zeros(1, np.int64))
"""What one task reads of one."""


@dataclass(frozen=True, eq=False)
class Stage:
    """A program over a domain, its inputs (tokens and grids of the stages it reads), and what it makes.

    `data` is set instead of a program's values for arrays that the user handed in. `fixed`: how many blocks a task
    covers, where that doesn't follow from the program.
    """

    token: str
    name: str
    origin: str
    domain: Grid
    grid: Grid
    dtype: DType
    inputs: tuple[str, ...]
    input_grids: tuple[Grid, ...]
    program: Program
    data: HostData | None = None
    fixed: int = 0

    def rename(self, token: str, inputs: tuple[str, ...] | None = None) -> Stage:
        """Return the same stage under a name of its own; it reads `inputs` in place of its inputs."""
        return self.remake(token=token, inputs=self.inputs if inputs is None else inputs)

    def remake(self, **changes: object) -> Stage:
        """Return the stage with other names, data or scalars: what follows from its grids stays known."""
        stage = object.__new__(Stage)
        stage.__dict__.update(self.__dict__, **changes)
        return stage

    def __getstate__(self) -> dict[str, object]:
        """Leave out what follows from the fields: it may have an entry for each task."""
        return {field.name: self.__dict__[field.name] for field in fields(self)}

    def learn(self) -> None:
        """Find what follows from the program and the grids, for stages that are made from this one again and again."""
        self.program.form.recurs = True
        for name, value in vars(Stage).items():
            if isinstance(value, cached_property):
                getattr(self, name)

    @cached_property
    def groups(self) -> tuple[int, ...]:
        """Blocks of the domain along each axis that one block of the result covers."""
        level = self.program.level
        return level.groups if level is not None else (1,) * self.domain.ndim

    @cached_property
    def group_counts(self) -> tuple[int, ...]:
        """Number of groups along each axis of the domain."""
        return tuple(-(-n // g) for n, g in zip(self.domain.counts, self.groups, strict=True))

    @cached_property
    def foreign(self) -> bool:
        """Whether a user's function is called: nobody knows how long that takes, and the user sees the blocks."""
        return any(isinstance(v, Call) and isinstance(v.op, MapBlocks | Gang) for v in self.program.values)

    @cached_property
    def functions(self) -> frozenset[tuple[str, str]]:
        """The users' functions that may end a process: their names, and the line that made the operation."""
        calls = (v.op for v in self.program.values if isinstance(v, Call))
        users = (op for op in calls if isinstance(op, MapBlocks) or (isinstance(op, Gang) and not op.own))
        return frozenset((op.label, self.origin) for op in users)

    @cached_property
    def gang(self) -> Gang | None:
        """The rank program that all tasks run together, if it is one."""
        result = self.program.result
        return result.op if isinstance(result, Call) and isinstance(result.op, Gang) else None

    @cached_property
    def at_driver(self) -> bool:
        """Whether rank 0 alone runs the tasks: what they make is there as long as the job."""
        return self._copies(COPY) is not None

    @cached_property
    def spread(self) -> int:
        """Over how many ranks the blocks are spread in equal runs; 0: they lie with the ranks that were free."""
        copying = self._copies(SPREAD)
        return 0 if copying is None else int(copying.params[0])

    def _copies(self, function: str) -> BlockFunction | None:
        """Return the function of whole blocks that makes the result, if it is this one."""
        result = self.program.result
        op = result.op if isinstance(result, Call) else None
        return op if isinstance(op, BlockFunction) and op.function == function else None

    @cached_property
    def holds(self) -> int:
        """Into how many parts each block of a source is cut that is copied here; 0: none is."""
        copying = self._copies(HOLD)
        return 0 if copying is None else int(copying.params[0])

    @cached_property
    def whole(self) -> bool:
        """Whether whole blocks are computed with: what does may use libraries with threads of their own."""
        return any(isinstance(v, Product | Call) for v in self.program.values)

    @cached_property
    def costly(self) -> bool:
        """Whether a task may take much longer than its bytes tell."""
        return self.foreign or any(isinstance(v, Product) for v in self.program.values)

    @cached_property
    def light(self) -> bool:
        """Whether all that it reads and makes is small: then a task takes no longer than a word to a thread."""
        values = self.program.values
        if self.foreign or self.fixed or self.data is not None or any(isinstance(v, Call) for v in values):
            return False
        return all(grid.size <= LIGHT for grid in (self.domain, *self.input_grids)) and len(values) <= FEW_VALUES

    @cached_property
    def blocks_per_task(self) -> int:
        """Blocks of the result that one task covers."""
        if self.holds:  # nobody is to wait for another's reading
            return self.holds
        if self.foreign or self.fixed:
            return self.fixed or 1
        widest = max([self.dtype.itemsize, *(v.dtype.itemsize for v in self.program.values)])
        bytes_each = self.domain.largest * widest
        for g in self.groups:
            bytes_each *= g
        bytes_each = max(bytes_each, self._argument_bytes)
        per_block = max(1, FOLD_BLOCKS // int(np.prod(self.groups)))
        return self._not_gathered(int(max(1, min(per_block, FOLD_BYTES // max(1, bytes_each), self._share))))

    def _not_gathered(self, most: int) -> int:
        """Return how many of so many blocks a task may cover: the large ones that they read wait together."""
        loads = [v for v in self.program.values if isinstance(v, Load) and not isinstance(v.access, ByBlock)]
        sizes = {i: self.input_grids[i].largest * v.dtype.itemsize for v in loads for i in v.inputs}
        if most == 1 or max(sizes.values(), default=0) <= FOLD_BYTES:
            return most
        first = self.grid.nblocks // most // 2 * most
        run = range(first, min(first + most, self.grid.nblocks))
        blocks = np.concatenate([self.domain_blocks(block) for block in run])
        for number, rows in (each for value in loads for each in self.rows(value, blocks)):
            count = len(distinct(rows.items))
            if (nbytes := count * sizes[number]) > GATHER_BYTES:
                most = min(most, max(1, most // count, most * GATHER_BYTES // nbytes))
        return most

    @property
    def _share(self) -> int:
        """Blocks of the result that a task may cover so that each rank has some."""
        n, ranks = self.grid.nblocks, max(1, self.spread)
        most = -(-n // ranks)
        return most if -(-n // max(1, most)) >= min(n, ranks) else n // ranks

    @property
    def _argument_bytes(self) -> int:
        """Bytes of the largest operand of a product or a function of whole blocks, which may make little of much."""
        values, grids = self.program.values, self.input_grids
        products = [v for v in values if isinstance(v, Product)]
        sizes = [self.operand_grid(o).largest * v.dtype.itemsize for v in products for o in v.operands]
        if any(isinstance(v, Call) for v in values):
            loads = [v for v in values if isinstance(v, Load) and v.inputs]
            sizes += [(v.frame or grids[v.inputs[0]]).largest * v.dtype.itemsize for v in loads]
        return max(sizes, default=0)

    @cached_property
    def heft(self) -> int:
        """Bytes of the largest block that a task reads or makes."""
        itemsize = max([self.dtype.itemsize, *(v.dtype.itemsize for v in self.program.values)])
        frames = [v.frame for v in self.program.values if isinstance(v, Load) and v.frame is not None]
        return max(grid.largest for grid in (self.grid, self.domain, *frames)) * itemsize

    @cached_property
    def ntasks(self) -> int:
        return -(-self.grid.nblocks // self.blocks_per_task)

    def blocks(self, task: int) -> range:
        """Blocks of the result that a task makes."""
        return range(task * self.blocks_per_task, min((task + 1) * self.blocks_per_task, self.grid.nblocks))

    def domain_blocks(self, block: int) -> Index:
        """Blocks of the domain that a block of the result covers, in C order."""
        if self.program.level is None:
            return np.array([block])
        ranges: list[Index] = []
        for g, size, n in zip(_unravel(block, self.group_counts), self.groups, self.domain.counts, strict=True):
            ranges.append(ascending(g * size, min((g + 1) * size, n)))
        number: Index = ranges[0] if ranges else np.zeros(1, np.int64)
        for count, axis in zip(self.domain.counts[1:], ranges[1:], strict=True):
            number = (number[:, None] * count + axis).reshape(-1)
        return number

    def offsets(self, task: int) -> Index:
        """Return where each block of a task begins in the task's slab, and at the end the slab's size, in bytes."""
        if self.grid.nblocks > BLOCKS:
            return self._find_offsets(task)
        known = self.program.form.offsets
        key = task, self.blocks_per_task
        offsets = known.get(key)
        if offsets is None:
            offsets = known[key] = self._find_offsets(task)
            offsets.flags.writeable = False
        return offsets

    def _find_offsets(self, task: int) -> Index:
        run = self.blocks(task)
        sizes = self.grid.block_sizes(ascending(run.start, run.stop)) * self.dtype.itemsize
        return np.concatenate([[0], np.cumsum(sizes)])

    def find_offsets(self, blocks: Index) -> Index:
        """Return where blocks begin in their tasks' slabs, in bytes, of many blocks at once."""
        count, itemsize = self.blocks_per_task, self.dtype.itemsize
        if self.grid.is_even:
            return blocks % count * (self.grid.largest * itemsize)
        tasks = distinct(blocks // count)
        first = tasks * count
        lengths = np.minimum(first + count, self.grid.nblocks) - first
        sizes = self.grid.block_sizes(concatenate_ranges(first, lengths)) * itemsize
        begins, ends = np.cumsum(sizes) - sizes, np.cumsum(lengths)
        at = (ends - lengths)[positions_in(tasks, blocks // count)]
        offsets: Index = begins[at + blocks % count] - begins[at]
        return offsets

    def task_bytes(self, tasks: Index) -> Index:
        """Return the bytes that each task makes."""
        if self.blocks_per_task == 1:
            return self.grid.block_sizes(tasks) * self.dtype.itemsize
        start = tasks * self.blocks_per_task
        lengths = np.minimum(start + self.blocks_per_task, self.grid.nblocks) - start
        each = self.grid.block_sizes(concatenate_ranges(start, lengths))
        sizes: Index = np.add.reduceat(each, np.concatenate([[0], np.cumsum(lengths)[:-1]])) * self.dtype.itemsize
        return sizes

    @cached_property
    def all_slab_bytes(self) -> Index:
        """Bytes of every task's slab; not to be changed."""
        sizes = self.slab_bytes(np.arange(self.ntasks))
        sizes.flags.writeable = False
        return sizes

    def slab_bytes(self, tasks: Index) -> Index:
        """Return the bytes of each task's slab, rounded up for the arena."""
        sizes = self.task_bytes(tasks)
        return np.maximum(ALIGN, -(-sizes // ALIGN) * ALIGN)

    def _tasks_of_domain(self, blocks: Index) -> Index:
        if self.program.level is None:
            return blocks // self.blocks_per_task
        index = self.domain.indices(blocks)
        number: Index = np.zeros(len(blocks), np.int64)
        for i, g, n in zip(index, self.groups, self.group_counts, strict=True):
            number = number * n + i // g
        return number // self.blocks_per_task

    def all_reads(self, sizes: Sequence[int]) -> list[Rows]:
        """Return, for each input, whose tasks cover so many blocks each, which of its tasks each task reads."""
        blocks = np.arange(self.domain.nblocks)
        tasks = self._tasks_of_domain(blocks)
        pairs: list[list[tuple[Index, Index]]] = [[] for _ in self.inputs]
        for value in self.program.values:
            for number, rows in self.rows(value, blocks):
                pairs[number].append((tasks[rows.row_numbers()], rows.items // sizes[number]))
        reads: list[Rows] = []
        for number, mine in enumerate(pairs):
            row, item = (np.concatenate(column) for column in zip(*mine, strict=True))
            ntasks = -(-self.input_grids[number].nblocks // sizes[number])
            reads.append(Rows.from_pairs(row, item, self.ntasks, ntasks))
        return reads

    def reads(self, number: int, blocks_per_task: int) -> Rows:
        """Return which tasks of input `number`, whose tasks cover `blocks_per_task` blocks each, each task reads."""
        return self.all_reads([blocks_per_task] * len(self.inputs))[number]

    def operand_grid(self, operand: Operand) -> Grid:
        """Return the blocks of a product's operand."""
        return operand.grid if isinstance(operand, Fused) else self.input_grids[operand]

    def fused(self, operand: Fused) -> Stage:
        """Return a fused operand as a stage of its own, which reads the inputs of this one."""
        grid, dtype = operand.grid, operand.program.result.dtype
        contents = self.inputs, self.input_grids, operand.program
        return Stage(self.token, self.name, self.origin, grid, grid, dtype, *contents)

    def rows(self, value: Value, blocks: Index) -> Iterator[tuple[int, Rows]]:
        """Yield the inputs that a value is read from, and which of their blocks blocks of the domain read."""
        if isinstance(value, Load) and value.inputs:
            grids = tuple(self.input_grids[i] for i in value.inputs)
            frame, within = value.frame_blocks(self.domain, blocks)
            yield from zip(value.inputs, value.access.rows(frame, grids, within), strict=True)
        elif isinstance(value, Product):
            left, right = (self.operand_grid(operand) for operand in value.operands)
            for operand, rows in zip(value.operands, value.op.rows(self.domain, left, right, blocks), strict=True):
                if not isinstance(operand, Fused):
                    yield operand, rows
                    continue
                part = self.fused(operand)
                for inner in part.program.values:
                    for number, below in part.rows(inner, rows.items):
                        yield number, Rows(below.start[rows.start], below.items)


def relations(stages: Sequence[Stage], sizes: Mapping[str, int]) -> dict[str, Reads]:
    """Return what stages read, by token; `sizes` has how many blocks a task covers of inputs that aren't among them."""
    sizes = {**sizes, **{stage.token: stage.blocks_per_task for stage in stages}}
    alike: dict[Hashable, list[Rows]] = {}
    reads: dict[str, Reads] = {}
    for stage in stages:
        input_sizes = tuple(map(sizes.__getitem__, stage.inputs))
        known, key = stage.program.form.reads, (stage.blocks_per_task, *input_sizes)
        rows = known.get(key)
        if rows is None:
            rows = _reads_alike(stage, input_sizes, alike)
            if stage.domain.nblocks <= BLOCKS or stage.program.form.recurs:
                known[key] = rows
        reads[stage.token] = input_sizes, rows
    return reads


def _reads_alike(stage: Stage, sizes: tuple[int, ...], known: dict[Hashable, list[Rows]]) -> list[Rows]:
    """Return `stage.all_reads`, found once for stages that read alike: a loop's turns in one graph."""
    if _is_single(stage):
        return [ONE] * len(stage.inputs)
    loads: list[Hashable] = []
    for value in stage.program.values:
        if isinstance(value, Product):
            return stage.all_reads(sizes)
        if isinstance(value, Load) and value.inputs:
            loads.append((value.inputs, value.access, value.axes, value.full, value.frame))
    key = (stage.domain, stage.grid, stage.groups, stage.blocks_per_task, stage.input_grids, sizes, *loads)
    try:
        reads = known.get(key)
    except TypeError:  # arrays of positions have no hash
        return stage.all_reads(sizes)
    if reads is None:
        reads = known[key] = stage.all_reads(sizes)
    return reads


def _is_single(stage: Stage) -> bool:
    """Whether one block reads some of the one block of each input, which needn't be looked at."""
    if any(grid.nblocks != 1 or not grid.size for grid in (stage.domain, *stage.input_grids)):
        return False
    accesses = [v.access for v in stage.program.values if isinstance(v, Load)]
    plain = all(
        isinstance(a, ByBlock) or (isinstance(a, Move) and len(a.routes) == 1 and a.fill is None) for a in accesses
    )
    fused = any(isinstance(v, Product) and v.fused for v in stage.program.values)
    return plain and not fused


def _unravel(block: int, counts: tuple[int, ...]) -> tuple[int, ...]:
    out: list[int] = []
    for count in reversed(counts):
        block, k = divmod(block, count)
        out.append(k)
    return tuple(reversed(out))
