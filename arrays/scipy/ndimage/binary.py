"""Morphology of arrays of true and false."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.arguments import is_integer
from ....graph.errors import ArgumentError, bad
from ...base import as_array
from ...creation.filled import zeros_like
from ...execution.deferred import defer
from ...ops.elementwise.ufuncs import logical_not
from ...ops.reductions.extremes import any as any_of
from ..bridge import row
from .local import Reach, Reacher, around, filter_axes, filter_locally, filtered, lengths, like, local, output_dtype

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from ...array import Array


def _reach(times: int = 1, kernels: tuple[str, ...] = ("structure",)) -> Reacher:
    def reach(given: Mapping[str, Any], ndim: int) -> Reach:
        size = lengths(None, filter_axes(given.get("axes"), ndim), *(given.get(k) for k in kernels))
        shifts = [np.ravel(given.get(o) or 0) for o in ("origin", "origin1", "origin2")]
        return around(size, np.concatenate(shifts), times)

    return reach


def _times(operation: str, iterations: Any) -> int:
    if not is_integer(iterations):
        raise ArgumentError(bad(operation, "iterations", iterations, "an integer"))
    return int(iterations)


@filtered
def binary_propagation(name: str, arguments: dict[str, Any]) -> Array:
    """Dilate within a mask until nothing changes.

    >>> import windrow as wr
    >>> seed, mask = wr.asarray([0, 1, 0, 0, 0, 0], chunks=2), wr.asarray([1, 1, 1, 0, 1, 1], chunks=2)
    >>> wr.ndimage.binary_propagation(seed, mask=mask).compute()
    array([ True,  True,  True, False, False, False])
    """
    return _repeat("binary_dilation", arguments | {"iterations": -1}, name)


@filtered
def binary_fill_holes(name: str, arguments: dict[str, Any]) -> Array:
    """Make what is false and surrounded by what is true, true.

    >>> import windrow as wr
    >>> wr.ndimage.binary_fill_holes(wr.asarray([0, 1, 0, 0, 1, 0], chunks=2)).compute()
    array([False,  True,  True,  True,  True, False])
    """
    output_dtype(name, arguments.pop("output"))
    x = as_array(name, "input", arguments["input"])
    seed = {"input": zeros_like(x, dtype=bool), "mask": logical_not(x), "border_value": 1, "iterations": -1}
    filled: Array = logical_not(_repeat("binary_dilation", arguments | seed, name))
    return filled


def _twice(name: str, arguments: dict[str, Any]) -> Array:
    """Do one after the other, as SciPy does."""
    x = as_array(name, "input", arguments.pop("input"))
    arguments["output"] = output_dtype(name, arguments["output"])
    first, then = (binary_erosion, binary_dilation) if name == "binary_opening" else (binary_dilation, binary_erosion)
    twice: Array = then(first(x, **arguments), **arguments)
    return twice


def _repeat(name: str, arguments: dict[str, Any], called: str = "") -> Array:
    """Erode or dilate so many times, or until nothing changes."""
    called = called or name
    times = _times(called, arguments["iterations"])
    arguments = {"output": None, **arguments} | {"output": output_dtype(called, arguments.get("output"))}
    if times >= 1:
        return filter_locally(name, arguments, _reach(times), ("mask",))
    x = as_array(called, "input", arguments.pop("input"))
    if all(n == 1 for n in x.numblocks):
        return filter_locally(name, {"input": x, **arguments}, _reach(), ("mask",))
    if not _has_centre(arguments, x.ndim):
        whole = filter_locally(name, {"input": x.rechunk(x.shape), **arguments}, _reach(), ("mask",))
        return whole.rechunk(x.chunks)
    once = filter_locally(name, {"input": x, **arguments, "iterations": 1}, _reach(), ("mask",))
    mask = arguments.pop("mask", None)
    operands = [once] if mask is None else [once, like(called, "mask", mask, x)]
    quiet = arguments | {"border_value": 0 if name == "binary_dilation" else 1}
    known = tuple((k, v) for k, v in quiet.items() if k != "output")
    return defer(called, _settle, operands, (name, known), once.expr.grid, once.dtype)


def _has_centre(given: Mapping[str, Any], ndim: int) -> bool:
    """Whether a structure has its own place: else what was true needn't stay so, and chunks can't settle apart."""
    if given.get("structure") is None:
        return True
    structure = np.asarray(given["structure"], bool)
    origins = np.broadcast_to(given.get("origin") or 0, structure.ndim)
    return bool(structure[tuple(n // 2 + int(o) for n, o in zip(structure.shape, origins, strict=True))])


def _settle(x: Array, *rest: Any) -> Generator[Any, Any, Array]:
    """Let each chunk with its margin come to rest, until none changes: the order doesn't matter.

    Beyond the ends there is what changes nothing; what is there in truth has worked before.
    """
    *masks, name, known = rest
    while True:
        arguments = {"input": x, "mask": masks[0] if masks else None, **dict(known)}
        after: Array = filter_locally(name, arguments, _reach(), ("mask",)).astype(x.dtype).persist()
        changed = yield any_of(after != x)
        if not changed:
            return after
        x = after


binary_erosion = row(
    filtered,
    _repeat,
    "binary_erosion",
    "Erode: an element stays true where all under the structuring element are.",
    "wr.ndimage.binary_erosion(wr.asarray([0, 1, 1, 1, 1, 0], chunks=2)).compute()",
    "array([False, False,  True,  True, False, False])",
)
binary_dilation = row(
    filtered,
    _repeat,
    "binary_dilation",
    "Dilate: an element becomes true where any under the structuring element is.",
    "wr.ndimage.binary_dilation(wr.asarray([0, 0, 1, 0, 0, 0], chunks=2)).compute()",
    "array([False,  True,  True,  True, False, False])",
)
binary_opening = row(
    filtered,
    _twice,
    "binary_opening",
    "Erode, then dilate.",
    "wr.ndimage.binary_opening(wr.asarray([1, 0, 1, 1, 1, 0], chunks=2)).compute()",
    "array([False, False,  True,  True,  True, False])",
)
binary_closing = row(
    filtered,
    _twice,
    "binary_closing",
    "Dilate, then erode.",
    "wr.ndimage.binary_closing(wr.asarray([0, 1, 0, 1, 1, 0], chunks=2)).compute()",
    "array([False,  True,  True,  True,  True, False])",
)
binary_hit_or_miss = local(
    "binary_hit_or_miss",
    _reach(1, ("structure1", "structure2")),
    "Find where one structuring element fits what is true, and another one what is false.",
    "binary_hit_or_miss(wr.asarray([0, 1, 1, 0, 1, 0], chunks=2), [1, 1, 0])",
    "array([False, False,  True, False, False, False])",
)
