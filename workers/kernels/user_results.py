"""Users' functions: of what they warn, and what they return, arrays without masks of elements that the dtype holds."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...graph.errors import ArgumentError, DTypeError

Array = np.ndarray[Any, Any]


def usual_warnings() -> np.errstate:
    """Return a context in which floats warn as NumPy has it from the start, where kernels let them pass."""
    return np.errstate(divide="warn", over="warn", under="ignore", invalid="warn")


def plain(name: str, made: Any) -> Array:
    """Return what a user's function returned as an array.

    None, which NumPy would take for NaN, and a masked array, whose mask would be lost, are an ArgumentError.
    """
    if made is None:
        raise ArgumentError(f"{name}: the function returned None; expected an array: does it end with return?")
    if isinstance(made, np.ma.MaskedArray):
        raise ArgumentError(
            f"{name}: the function returned a masked array; expected one without a mask, since chunks have none: "
            "return made.filled(value), with NaN for what is missing, or make the mask an array of its own"
        )
    return np.asarray(made)


def check_kept(name: str, made: Array, dtype: np.dtype[Any], where: str = "", advice: str = "") -> None:
    """Raise where the operation was made with a dtype that can't hold what a function returned.

    Sizes within a kind may differ, as with NumPy's rule "same_kind", and integers be without a sign; text must fit, and
    neither what follows the point nor the imaginary part may be lost. `advice` says how to name the dtype, where that
    is no `dtype=`.
    """
    if made.dtype.names is not None and made.dtype.names == dtype.names:
        for field in made.dtype.names:
            check_kept(name, made[field], dtype[field].base, f" in field {field!r}{where}", advice)
        return
    if made.dtype.kind in "SU" and dtype.kind in "SU":
        kept = made.dtype.itemsize <= dtype.itemsize or bool((made.astype(dtype) == made).all())
    else:
        kept = (
            np.can_cast(made.dtype, dtype, "same_kind")
            or (made.dtype.kind in "iu" and dtype.kind in "iu")
            or made.dtype.hasobject
        )
    if not kept:
        descr = made.dtype.descr if made.dtype.names else made.dtype.str
        raise DTypeError(
            f"{name}: the function returned dtype {made.dtype}{where}; expected {dtype}, as the operation was "
            f"made with; {advice or f'say dtype={descr!r}'}, or cast in the function"
        )
