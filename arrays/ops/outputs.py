"""`out=`: a lazy array's elements are set, which computes nothing; a NumPy array is filled at the call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.errors import ArgumentError, DTypeError, ShapeError, bad
from ..base import ArrayBase, check_writable
from .elementwise.nodes import cast
from .moves.broadcasting import broadcast_to

if TYPE_CHECKING:
    from ..typing import ArrayLike, DTypeLike, OutLike


def deliver(operation: str, result: Any, out: Any, casting: str = "same_kind", *, broadcasts: bool = False) -> Any:
    """Return a result; with `out`, assign it to `out` as NumPy would, and return `out`.

    A lazy `out` gets the result's expression, and keeps its shape and dtype. A NumPy array is filled, so the result is
    computed now. `out` has the result's shape; with `broadcasts`, as for ufuncs, the result may broadcast to it.
    """
    if isinstance(out, tuple) and len(out) == 1:
        (out,) = out
    if out is None:
        return result
    out = check_out(operation, result, out, casting)
    if out.shape != result.shape:
        fits = (
            broadcasts
            and len(out.shape) >= result.ndim
            and all(n in (1, m) for n, m in zip(result.shape[::-1], out.shape[::-1], strict=False))
        )
        if not fits:
            raise ShapeError(bad(operation, "out", out.shape, f"an array of the result's shape {result.shape}"))
        result = broadcast_to(result, out.shape)
    if isinstance(out, ArrayBase):
        check_writable(operation, out)
        out.expr = cast(result, out.dtype).expr
    else:
        np.copyto(out, np.asarray(result.compute()), casting="unsafe")
    return out


def check_out(operation: str, result: Any, out: Any, casting: str) -> Any:
    """Return `out` if it is an array to which the result may be cast; else raise."""
    if not isinstance(out, ArrayBase | np.ndarray):
        raise ArgumentError(bad(operation, "out", type(out).__name__, "None, a Windrow array, or a NumPy array"))
    if not np.can_cast(result.dtype, out.dtype, casting=casting):  # type: ignore[arg-type]
        raise DTypeError(
            f"{operation}: the result has dtype {result.dtype}, which isn't cast to {out.dtype} of 'out' "
            f"by the rule {casting!r}; cast the operands, or leave 'out' away"
        )
    return out


def dtype_by_out(a: ArrayLike, dtype: DTypeLike, out: OutLike) -> Any:
    """Return the dtype in which to compute: `dtype`, else that of `out` where it is wider than that of `a`.

    NumPy computes in the dtype of `out` in any case. Here a narrower `out` doesn't narrow the computation: its result
    is rounded once, at the end.
    """
    own, held = getattr(a, "dtype", None), dtype_of_out(out)
    if dtype is not None or not isinstance(own, np.dtype) or held is None:
        return dtype
    wider = own.kind in "biufc" and held.kind in "fc" and (own.kind in "biu" or np.promote_types(own, held) == held)
    return held if wider else None


def deliver_positions(operation: str, found: object, out: OutLike) -> Any:
    """Return positions, or assign them to `out`, whose dtype must cast safely to int64, as in NumPy."""
    dtype = dtype_of_out(out)
    if dtype is not None and not np.can_cast(dtype, np.int64, "safe"):
        raise DTypeError(bad(operation, "out", dtype, "an array of integers that int64 holds"))
    return deliver(operation, found, out, "unsafe")


def deliver_reduced(operation: str, found: object, out: OutLike) -> Any:
    """Return a reduction's result, or assign it to `out`, whose dtype may be any of numbers, as in NumPy."""
    return _deliver_numbers(operation, found, out, "biufc")


def deliver_inexact(operation: str, found: object, out: OutLike) -> Any:
    """Return a result that isn't an integer, such as a root, or assign it to `out`, whose dtype is float or complex."""
    return _deliver_numbers(operation, found, out, "fc")


def _deliver_numbers(operation: str, found: Any, out: OutLike, kinds: str) -> Any:
    held = dtype_of_out(out)
    numbers = held is not None and held.kind in kinds and found.dtype.kind in "biufc"
    return deliver(operation, found, out, "unsafe" if numbers else "same_kind")


def divides_in_out(dtype: DTypeLike, out: OutLike) -> bool:
    """Tell whether a mean adds up in a dtype of integers, and divides in the dtype of `out`, as NumPy does.

    So `mean(x, dtype=int, out=floats)` adds up integers, and the quotient isn't truncated.
    """
    return dtype is not None and np.dtype(dtype).kind in "biu" and dtype_of_out(out) is not None


def dtype_of_out(out: OutLike) -> np.dtype[Any] | None:
    """Return the dtype of `out`, which may be a tuple of one; None where it has none."""
    held = getattr(out[0] if isinstance(out, tuple) and len(out) == 1 else out, "dtype", None)
    return held if isinstance(held, np.dtype) else None
