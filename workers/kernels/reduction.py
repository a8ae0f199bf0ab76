"""A reduction as one value: its steps, its dtypes, and what it makes of no elements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.errors import DTypeError, bad
from .compiled.fixed import combining

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...graph.expr.expr import DType
    from ...graph.kinds.reduction import Level

Array = np.ndarray[Any, Any]
NUMBERS = "biufc"
"""Kinds of dtypes of numbers and booleans."""


@dataclass(frozen=True)
class ReductionKernel:
    """The steps of a reduction.

    tile(x, axes, level, origin) -> state; merge(a, b) -> state; close(state, shape) -> partial result;
    combine(stack) -> partial result; finish(partial, level) -> result. States and partial results have a first axis
    of blocks, and length one along reduced axes. `placed` kernels want the positions at which a tile begins.
    fold(a, b) puts a large partial result into another, as combine does it, in place.
    """

    tile: Callable[[Array, tuple[int, ...], Level, Array], Any]
    merge: Callable[[Any, Any], Any]
    combine: Callable[[Array], Array]
    close: Callable[[Any, tuple[int, ...]], Array]
    finish: Callable[[Array, Level], Array]
    placed: bool = False
    fold: Callable[[Array, Array], object] | None = None
    room: int = 3
    """How many arrays of the size of a state it makes beside its arguments, at most; `tiles`: of the tile's size,
    beside one that is converted."""
    tiles: int = 2


def keep(state: Array, shape: tuple[int, ...]) -> Array:
    """Close a state that is a partial result."""
    return state.reshape(len(state), *shape)


def as_is(partial: Array, level: Level) -> Array:
    """Finish partial results that are results."""
    return partial


def halving(merge: Callable[[Array, Array], Array], *heads: str) -> Callable[[Array], Array]:
    """Return the step that combines by merging the second half of the partial results into the first, again and again.

    `heads` name the reductions for which a compiled loop may do so.
    """

    def combine(stack: Array) -> Array:
        combined = combining.combine(stack, heads) if heads else None
        if combined is not None:
            return combined
        while len(stack) > 1:
            half = len(stack) // 2
            merged = merge(stack[:half], stack[half : 2 * half])
            stack = np.concatenate([merged, stack[2 * half :]]) if len(stack) % 2 else merged
        return np.asarray(stack[0])

    return combine


# -------------------------------------------------------------------- dtypes of results, by those of elements


def native(dtype: DType) -> DType:
    """Return a dtype in this machine's byte order, in which ufuncs compute and NumPy's reductions answer."""
    return dtype.newbyteorder("=") if dtype.kind in "biufcmM" else dtype


def float_or_wider(dtype: DType) -> DType:
    """Return float64 for integers and booleans, else the dtype itself."""
    return np.dtype(np.float64) if dtype.kind in "biu" else native(dtype)


def real_float(dtype: DType) -> DType:
    """Return the same, for complex numbers the dtype of their parts."""
    values: Any = np.empty(0, float_or_wider(dtype))
    real: DType = values.real.dtype
    return real


def boolean(dtype: DType) -> DType:
    return np.dtype(np.bool)


def integer(dtype: DType) -> DType:
    return np.dtype(np.int64)


def dtype_by(ufunc: np.ufunc) -> Callable[[DType], DType]:
    """Return what tells the dtype of a ufunc's reduction, for sums and products that of wide integers."""
    return lambda dtype: native(ufunc.reduce(np.ones(1, dtype)).dtype)


@dataclass(frozen=True)
class Reduction:
    """All that is said of a reduction; `REDUCTIONS` in `reductions.py` lists them by name."""

    name: str
    kernel: ReductionKernel
    result: Callable[[DType], DType] = float_or_wider
    """The dtype of the result for that of the elements; a TypeError where it doesn't take these."""
    partial: Callable[[DType, DType], DType] | None = None
    """The dtype of partial results for those of the elements and the result; None: the result's."""
    kinds: str = NUMBERS
    """The kinds of dtypes that it takes; empty: whatever `result` takes."""
    casts: bool = False
    """Whether it computes in a dtype that is asked for."""
    widens: bool = False
    """Whether float16 is computed in float32."""
    empty: bool = True
    """Whether no elements have a result."""
    neutral: Any = None
    """What stands for elements that don't count; None: there is nothing that changes no result."""
    few: str = ""
    """What is warned of, in NumPy's words, where ddof leaves nothing to divide by."""
    ufunc: np.ufunc | None = None
    """The ufunc whose `reduce` it is."""
    selected: Callable[[Array, Level], Array] | None = None
    """How it finishes over what a mask selects, where that needs the number of elements; see `selected.py`."""

    def result_dtype(self, source: DType, dtype: DType | None = None, operation: str = "") -> DType:
        """Return the dtype of the result, as NumPy has it, if `dtype` is asked for; errors name what was called."""
        operation = operation or self.name
        if self.kinds and source.kind not in self.kinds:
            raise DTypeError(bad(operation, "a", source, "an array of numbers"))
        if dtype is not None and source.kind == "m":
            if dtype.kind == "M":
                raise DTypeError(bad(operation, "dtype", dtype, f"a dtype of durations, as {source} is"))
            return native(dtype if dtype.kind == "m" and dtype != np.dtype("m8") else source)  # as in NumPy
        if dtype is not None:
            if dtype.kind not in NUMBERS:
                raise DTypeError(bad(operation, "dtype", dtype, f"a dtype of numbers, as those of {source}"))
            return native(dtype)
        try:
            return self.result(source)
        except TypeError as error:
            raise DTypeError(bad(operation, "a", source, f"a dtype that it takes ({error})")) from error

    def partial_dtype(self, source: DType, target: DType) -> DType | None:
        """Return the dtype of partial results; None where it is the result's."""
        return None if self.partial is None else self.partial(source, target)
