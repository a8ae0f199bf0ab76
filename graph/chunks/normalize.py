"""Reading `chunks=`: an integer, a tuple, a dict, -1, None, "auto" or a number of bytes, to a `Grid`.

-1 is the whole axis. None leaves an axis as it is where the array has chunks already (rechunk, reshape), and is the
whole axis where it is made.

"auto" is a function of the shape, the dtype and the limit alone, so that a value never depends on ranks or memory.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

import numpy as np

from ..arguments import is_integer
from ..errors import ChunksError
from .grid import Axis, Grid, check_sizes

LINE = 64
"""Bytes of a line of the processor's cache."""
_UNITS = {
    **{"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12},
    **{"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40, "K": 2**10, "M": 2**20, "G": 2**30},
}


class FreeSizes(tuple[int, ...]):
    """Sizes of an axis's chunks that nobody gave, on their way through another library: `Axis.is_free` as a tuple."""


def parse_bytes(text: str | float) -> int:
    """Return a number of bytes: an integer, a float that is one (2e9), or text such as "1.5GB"; or raise ValueError."""
    if is_integer(text) or (isinstance(text, float) and text.is_integer()):
        value, unit = float(text), ""
    elif not isinstance(text, str):
        raise ValueError(f"{text!r} is no whole number of bytes")
    else:
        match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([a-zA-Z]*)\s*", text)
        if not match or match[2].upper() not in _UNITS:
            raise ValueError(f"{text!r} is no number of bytes such as '64 MiB'")
        value, unit = float(match[1]), match[2].upper()
    size = value * _UNITS[unit]
    if not math.isfinite(size):
        raise ValueError(f"{text!r} is no number of bytes")
    count = int(size)
    if count < 1:
        raise ValueError(f"{text!r} is less than one byte")
    return count


def normalize(
    operation: str,
    chunks: object,
    shape: Sequence[int],
    dtype: np.dtype[Any],
    limit: int,
    previous: Grid | None = None,
) -> Grid:
    """Return the grid that `chunks` means for a shape.

    -1 is the whole axis; None, or what is left out of a dict, is as in `previous`, the grid of the array that is
    rechunked, else the whole axis; "auto", or bytes as text, aims at chunks of so many, or `limit`. `operation` is for
    messages.
    """
    ndim = len(shape)
    specs = _per_axis(operation, chunks, ndim, previous)
    axes: list[Axis | None] = []
    auto: list[int] = []
    for i, (spec, n) in enumerate(zip(specs, shape, strict=True)):
        if isinstance(spec, Axis):
            axes.append(spec)
        elif isinstance(spec, str):
            if spec != "auto":
                limit = _limit(operation, spec)
            axes.append(None)
            auto.append(i)
        elif spec is None and previous is not None:
            axes.append(previous.axes[i])
        else:
            axes.append(_axis(operation, spec, n, i))
    if auto:
        fixed = math.prod(a.largest for a in axes if a is not None)
        for i, step in zip(auto, auto_steps([shape[i] for i in auto], fixed, dtype, limit), strict=True):
            line = LINE // max(1, dtype.itemsize) if math.prod(shape[i + 1 :]) == 1 else 1
            axes[i] = Axis.regular(shape[i], even_step(shape[i], step, max(1, line))).freed()
    return Grid([a for a in axes if a is not None])


def _per_axis(operation: str, chunks: object, ndim: int, previous: Grid | None) -> list[object]:
    if _is_mapping(chunks):
        specs: list[object] = list(previous.axes) if previous is not None else [-1] * ndim
        for axis, spec in chunks.items():
            if not _is_number(axis) or not -ndim <= axis < ndim:
                raise ChunksError(f"{operation}: argument 'chunks' names axis {axis!r}; the array has {ndim} axes")
            specs[int(axis)] = spec
        return specs
    if _is_listed(chunks):
        if ndim == 1 and len(chunks) != 1 and all(_is_number(each) for each in chunks):
            return [tuple(chunks)]
        if len(chunks) != ndim:
            raise ChunksError(
                f"{operation}: argument 'chunks' is {chunks!r}; expected one entry for each of {ndim} axes"
            )
        return list(chunks)
    return [chunks] * ndim


def _axis(operation: str, spec: object, n: int, axis: int) -> Axis:
    if spec is None or (_is_number(spec) and spec == -1):
        return Axis.whole(n)
    if _is_number(spec) and not isinstance(spec, bool) and (spec > 0 or spec == n == 0):
        return Axis.regular(n, max(1, int(spec)))
    if _is_listed(spec):
        sizes = [int(size) for size in spec if _is_number(size)]
        if len(sizes) == len(spec):
            check_sizes(operation, sizes, n, axis)
            return Axis.of_sizes(sizes).freed(isinstance(spec, FreeSizes))
    raise ChunksError(
        f"{operation}: argument 'chunks' is {spec!r} for axis {axis}; expected a positive integer, -1, None, "
        "'auto', bytes such as '64 MiB', or a tuple of chunk sizes"
    )


def _is_number(value: object) -> TypeGuard[int]:
    return isinstance(value, int | np.integer)


def _is_listed(value: object) -> TypeGuard[tuple[object, ...] | list[object]]:
    return isinstance(value, tuple | list)


def _is_mapping(value: object) -> TypeGuard[Mapping[object, object]]:
    return isinstance(value, Mapping)


def _limit(operation: str, spec: str) -> int:
    try:
        return parse_bytes(spec)
    except ValueError as error:
        raise ChunksError(f"{operation}: argument 'chunks' is {spec!r}; expected 'auto' or '64 MiB'") from error


def even_step(length: int, step: int, line: int) -> int:
    """Return the least step that takes no more chunks than `step`; long ones are whole lines of the cache."""
    if length <= step:
        return step
    least = -(-length // -(-length // step))
    whole = -(-least // line) * line
    return whole if 16 * line < whole <= step else least


def auto_steps(lengths: list[int], fixed: int, dtype: np.dtype[Any], limit: int) -> list[int]:
    """Steps as near to a cube as the lengths allow, so that a chunk has about `limit` bytes."""
    budget = max(1.0, limit / max(1, dtype.itemsize) / max(1, fixed))
    steps = [0] * len(lengths)
    left = sorted(range(len(lengths)), key=lambda i: lengths[i])
    while left:
        side = budget ** (1 / len(left))
        i = left[0]
        if lengths[i] > side:
            for j in left:
                steps[j] = max(1, int(side))
            break
        steps[i] = max(1, lengths[i])
        budget /= steps[i]
        left.pop(0)
    return steps
