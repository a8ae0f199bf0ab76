"""Comparing arrays in tests: where they are, without gathering them; see `numpy.testing`, whose names these are."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..graph.chunks.grid import Axis, Grid
from ..graph.kinds.mapping import BlockFunction
from .base import ArrayBase, as_array_nocopy, check_shape, make
from .execution.compute import compute
from .execution.deferred import evaluate
from .ops.elementwise import functions as ew
from .ops.elementwise import ufuncs
from .ops.reductions import extremes
from .ops.reductions import sums as red

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .array import Array
    from .typing import ShapeLike

__all__ = [
    "assert_allclose",
    "assert_array_equal",
    "assert_consistent",
    "assert_equal",
    "chunkings",
]

Chunks = tuple[tuple[int, ...], ...]


def assert_equal(actual: Any, desired: Any, err_msg: str = "", verbose: bool = True, *, strict: bool = False) -> None:
    """Raise unless two arrays, or lists, tuples and dicts of them, are equal; nan equals nan.

    Parameters
    ----------
    actual, desired : array, or list, tuple or dict of them
        What came, and what it should be.
    err_msg : str
        Begins the message.
    verbose : bool
        Whether the message has the elements that differ.
    strict : bool
        Whether dtypes must be the same, and scalars don't stand for whole arrays.

    Raises
    ------
    AssertionError
        Shapes, keys, lengths or elements differ (or dtypes, with `strict`).
    ArgumentError
        One of them is a lazy array, and the other can't be read as an array.

    Notes
    -----
    As `numpy.testing.assert_equal`, but lazy arrays are compared where their chunks are, and the message names the
    first block and position that differ.

    >>> x = wr.arange(6, chunks=4)
    >>> wr.testing.assert_equal(x + x, 2 * x)
    >>> wr.testing.assert_equal(x, [0, 1, 2, 3, 4, 7])
    Traceback (most recent call last):
        ...
    AssertionError: assert_equal: 1 of 6 elements differ, first in block (1,) at position (5,): 5, expected 7
    """
    if isinstance(actual, Mapping) and isinstance(desired, Mapping) and _lazy_inside([actual, desired]):
        assert list(actual) == list(desired), _text("assert_equal", err_msg, f"keys {[*actual]}, expected {[*desired]}")
        for key in actual:
            assert_equal(actual[key], desired[key], f"{err_msg}[{key!r}]", verbose, strict=strict)
    elif type(actual) in (list, tuple) and type(desired) is type(actual) and _lazy_inside([actual, desired]):
        lengths = len(actual), len(desired)
        assert lengths[0] == lengths[1], _text("assert_equal", err_msg, "{} items, expected {}".format(*lengths))
        for i, (one, other) in enumerate(zip(actual, desired, strict=True)):
            assert_equal(one, other, f"{err_msg}[{i}]", verbose, strict=strict)
    else:
        _assert("assert_equal", actual, desired, _equal, {}, err_msg, verbose, strict)


def assert_array_equal(
    actual: object, desired: object, err_msg: str = "", verbose: bool = True, *, strict: bool = False
) -> None:
    """Raise unless two arrays are equal; nan equals nan.

    Parameters
    ----------
    actual, desired : array_like
        What came, and what it should be; a scalar stands for a whole array.
    err_msg : str
        Begins the message.
    verbose : bool
        Whether the message has the elements that differ.
    strict : bool
        Whether dtypes must be the same, and scalars don't stand for whole arrays.

    Raises
    ------
    AssertionError
        Shapes or elements differ (or dtypes, with `strict`).
    ArgumentError
        One of them is a lazy array, and the other can't be read as an array.

    Notes
    -----
    Lazy arrays are compared where their chunks are; see `assert_equal`.

    >>> wr.testing.assert_array_equal(wr.ones(3), 1)
    """
    _assert("assert_array_equal", actual, desired, _equal, {}, err_msg, verbose, strict)


def assert_allclose(
    actual: object,
    desired: object,
    rtol: float = 1e-07,
    atol: float = 0,
    equal_nan: bool = True,
    err_msg: str = "",
    verbose: bool = True,
    *,
    strict: bool = False,
) -> None:
    """Raise unless elements differ by at most `atol + rtol * abs(desired)`.

    Parameters
    ----------
    actual, desired : array_like
        What came, and what it should be; a scalar stands for a whole array.
    rtol : float
        Relative tolerance, times `abs(desired)`.
    atol : float
        Absolute tolerance, added to the relative one.
    equal_nan : bool
        Whether nan equals nan.
    err_msg : str
        Begins the message.
    verbose : bool
        Whether the message has the elements that differ.
    strict : bool
        Whether dtypes must be the same, and scalars don't stand for whole arrays.

    Raises
    ------
    AssertionError
        Shapes differ, or elements by more than the tolerance (or dtypes, with `strict`).
    ArgumentError
        One of them is a lazy array, and the other can't be read as an array.
    DTypeError
        The elements aren't numbers.

    Notes
    -----
    Lazy arrays are compared where their chunks are; see `assert_equal`.

    >>> wr.testing.assert_allclose(wr.ones(3) + 1e-9, 1)
    """
    tolerances = {"rtol": rtol, "atol": atol, "equal_nan": equal_nan}
    _assert(
        "assert_allclose",
        actual,
        desired,
        lambda x, y: ew.isclose(x, y, rtol, atol, equal_nan),
        tolerances,
        err_msg,
        verbose,
        strict,
    )


def assert_consistent(x: Any) -> None:
    """Raise unless what an array says of itself is so: chunks add up to its shape, each has its size and dtype.

    Parameters
    ----------
    x : Array
        The array to look at; it is computed, and gathered.

    Raises
    ------
    AssertionError
        Chunks don't add up to the shape, or the array computes to another shape or dtype.

    >>> wr.testing.assert_consistent(wr.ones((3, 4), chunks=2).T)
    """
    _check_chunks("assert_consistent", x)
    said = x.shape, x.dtype
    computed = np.asarray(x.compute())
    if (computed.shape, computed.dtype) != said:
        raise AssertionError(f"assert_consistent: {x!r} computes to shape {computed.shape} and dtype {computed.dtype}")


def chunkings(shape: ShapeLike) -> Iterator[Chunks]:
    """Yield different ways to cut a shape.

    Parameters
    ----------
    shape : int or tuple of int
        The shape of the arrays to be made.

    Yields
    ------
    tuple of tuple of int
        What `chunks=` takes: one chunk, chunks of one element, even, uneven, with empty chunks; each once.

    Raises
    ------
    ArgumentError
        `shape` isn't an integer or a tuple of them.
    ShapeError
        A length is negative.

    >>> list(wr.testing.chunkings(5))
    [((5,),), ((1, 1, 1, 1, 1),), ((2, 2, 1),), ((3, 2),), ((4, 1),), ((0, 3, 0, 2),)]
    >>> for chunks in wr.testing.chunkings((4, 4)):
    ...     wr.testing.assert_equal(wr.ones((4, 4), chunks=chunks).sum(), 16)
    """
    lengths = check_shape("chunkings", shape)
    seen: set[Chunks] = set()
    for cut in (_whole, _single, _halves, _thirds, _uneven, _hollow):
        chunks = tuple(cut(n) for n in lengths)
        if chunks not in seen:
            seen.add(chunks)
            yield chunks


def _whole(n: int) -> tuple[int, ...]:
    return (n,)


def _single(n: int) -> tuple[int, ...]:
    return (1,) * n or (0,)


def _halves(n: int) -> tuple[int, ...]:
    return Axis.regular(n, max(1, n // 2)).sizes()


def _thirds(n: int) -> tuple[int, ...]:
    return Axis.regular(n, n // 3 * 2 + 1).sizes()


def _uneven(n: int) -> tuple[int, ...]:
    return (n - 1, 1) if n > 1 else (n,)


def _hollow(n: int) -> tuple[int, ...]:
    return (0, n - n // 2, 0, n // 2)


def _lazy_inside(value: object) -> bool:
    if isinstance(value, Mapping):
        return any(map(_lazy_inside, value.values()))
    return isinstance(value, ArrayBase) or (isinstance(value, list | tuple) and any(map(_lazy_inside, value)))


def _equal(x: Array, y: Array) -> Array:
    same: Array = ufuncs.equal(x, y)
    if x.dtype.kind in "mM" and y.dtype.kind in "mM":
        missing: Array = ufuncs.logical_and(ufuncs.isnat(x), ufuncs.isnat(y))
    elif x.dtype.kind in "fc" and y.dtype.kind in "fc":
        missing = ufuncs.logical_and(ufuncs.isnan(x), ufuncs.isnan(y))
    else:
        return same
    either: Array = ufuncs.logical_or(same, missing)
    return either


def _assert(
    name: str,
    actual: object,
    desired: object,
    same: Callable[[Array, Array], Array],
    keywords: dict[str, Any],
    err_msg: str,
    verbose: bool,
    strict: bool,
) -> None:
    if not isinstance(actual, ArrayBase) and not isinstance(desired, ArrayBase):
        function = getattr(importlib.import_module("numpy.testing"), name)
        strictly = {"strict": True} if strict else {}
        function(actual, desired, **keywords, err_msg=err_msg, verbose=verbose, **strictly)
        return
    x, y = as_array_nocopy(name, "actual", actual), as_array_nocopy(name, "desired", desired)
    _check_chunks(name, x)
    _check_chunks(name, y)
    if x.shape != y.shape and (strict or (x.ndim and y.ndim)):
        raise AssertionError(_text(name, err_msg, f"shape {x.shape}, expected {y.shape}"))
    if strict and x.dtype != y.dtype:
        raise AssertionError(_text(name, err_msg, f"dtype {x.dtype}, expected {y.dtype}"))
    wrong = ufuncs.logical_not(same(x, y))
    (count,) = evaluate([red.sum(wrong).expr])
    if count:
        raise AssertionError(_text(name, err_msg, _difference(x, y, wrong, int(count), verbose)))


def _text(name: str, err_msg: str, what: str) -> str:
    return f"{name}: {err_msg + ': ' if err_msg else ''}{what}"


def _check_chunks(name: str, x: Array) -> None:
    chunks = x.chunks
    if tuple(map(sum, chunks)) != x.shape:
        raise AssertionError(f"{name}: {x!r} has chunks that add up to {tuple(map(sum, chunks))}")


def _difference(x: Array, y: Array, wrong: Array, count: int, verbose: bool) -> str:
    """Say how many elements differ, where the first one is, and what they are."""
    grid = wrong.expr.grid
    marks = make(
        BlockFunction("elements.differences:first"), (wrong,), Grid([Axis.regular(n, 1) for n in grid.counts]), np.int64
    )
    (firsts,) = evaluate([marks.expr])
    block = int((firsts.reshape(-1) >= 0).argmax())
    within = np.unravel_index(int(firsts.reshape(-1)[block]), grid.block_shape(block))
    where = tuple(int(o + k) for o, k in zip(grid.block_origin(block), within, strict=True))
    text = f"{count:,} of {grid.size:,} elements differ, first in block {grid.index(block)} at position {where}"
    if not verbose:
        return text
    mine, other = compute(x[where] if x.ndim else x, y[where] if y.ndim else y)
    text += f": {np.asarray(mine)[()]}, expected {np.asarray(other)[()]}"
    if count > 1 and x.dtype.kind in "iufc" and y.dtype.kind in "iufc":
        text += f"; largest difference {extremes.max(ufuncs.absolute(ufuncs.subtract(x, y))).compute()}"
    return text
