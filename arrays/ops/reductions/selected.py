"""Reductions of what a lazy mask selects: block by block, under the mask, since nobody needs the elements' order.

`x[m].mean()` reads each block of `x` once, and holds none: elements are neither counted before, nor brought in order.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from ....graph.keyword_hints import aside
from ....workers.kernels.reductions import REDUCTIONS
from ....workers.kernels.selected import SELECTED
from ...base import ArrayBase, check_dtype
from ..elementwise.nodes import apply, choose
from ..elementwise.nodes import cast as cast_to
from ..moves.axis_moves import expand_dims
from ..outputs import deliver, deliver_reduced
from .nodes import check_freedom, find_axes, is_usual, make_reduction

if TYPE_CHECKING:
    from ...array import Array
    from ...execution.deferred import Chosen

F = TypeVar("F", bound=Callable[..., Any])
KINDS = frozenset("biufc")
"""Kinds of elements that are reduced so; others are selected first."""


def reduces_selection(function: F) -> F:
    """Let a reduction take what a lazy mask selects without its being selected."""
    signature = inspect.signature(function)
    name = function.__name__

    @aside
    @wraps(function)
    def either(*args: Any, **keywords: Any) -> Any:
        first = args[0] if args else keywords.get("a")
        if isinstance(first, ArrayBase) and first._unsized is not None and first._unsized.chosen is not None:
            arguments = _bind(signature, args, keywords)
            reduction = None if arguments is None else _reduce(name, function, first._unsized.chosen, arguments)
            if reduction is not None:
                return reduction
        return function(*args, **keywords)

    return cast("F", either)


def _bind(signature: inspect.Signature, args: tuple[Any, ...], keywords: dict[str, Any]) -> dict[str, Any] | None:
    """Return the arguments beside the array; None where they don't fit, which the function itself is to tell."""
    try:
        arguments = signature.bind(*args, **keywords).arguments
    except TypeError:
        return None
    return {name: value for name, value in arguments.items() if name != "a"}


def _reduce(name: str, function: Callable[..., Any], chosen: Chosen, keywords: dict[str, Any]) -> Any:
    """Return a reduction of a selection; None where it takes more than that, or doesn't go along all of the mask."""
    whole, mask, out = chosen.whole, chosen.mask, keywords.pop("out", None)
    keepdims, axis = keywords.pop("keepdims", False), keywords.pop("axis", None)
    usual = keywords.get("where", True) is True and keywords.get("mean") is None
    if not usual or not isinstance(keepdims, bool) or {whole.dtype.kind, mask.dtype.kind} - KINDS:
        return None
    ndim = len(chosen.shape)
    keywords.pop("where", None)
    axes = find_axes(name, axis, ndim, divides=bool(REDUCTIONS[name].few))
    if chosen.axis not in axes:
        return None
    more = mask.ndim - 1
    whole_axes = tuple(
        b for a in axes for b in (range(a, a + mask.ndim) if a == chosen.axis else [a + more * (a > chosen.axis)])
    )
    initial = keywords.get("initial", np._NoValue)
    if REDUCTIONS[name].selected is not None and (initial is None or initial is np._NoValue):
        if len(axes) < ndim or mask.ndim < whole.ndim:
            return None
        reduced = _paired(name, whole, mask, keywords)
        if reduced is None:
            return None
    elif initial is None:
        return None
    else:
        for _ in range(whole.ndim - chosen.axis - mask.ndim):
            mask = expand_dims(mask, mask.ndim)
        if name == "count_nonzero":
            reduced = function(choose(name, mask, whole, np.zeros((), whole.dtype)[()]), whole_axes)
        else:
            reduced = function(whole, whole_axes, where=mask, **keywords)
    if keepdims:
        reduced = expand_dims(reduced, sorted(axes))
    return (deliver if name == "std" else deliver_reduced)(name, reduced, out)


def _paired(name: str, whole: Array, mask: Array, keywords: dict[str, Any]) -> Array | None:
    """Return a reduction over all axes of pairs of an element and whether it counts."""
    ddof = check_freedom(name, keywords.get("ddof", 0), keywords.get("correction"))
    wanted = keywords.get("dtype")
    dtype = None if wanted is None else check_dtype(name, "dtype", wanted)
    if dtype is not None and not ((name == "mean" and dtype.kind == "c") or is_usual(whole.dtype, dtype)):
        return None
    reduction = REDUCTIONS[name]
    target = reduction.result_dtype(whole.dtype) if dtype is None else dtype
    if dtype is not None:
        whole = cast_to(whole, dtype if name == "mean" or whole.dtype.kind == "c" else np.finfo(dtype).dtype)
    elif whole.dtype == np.float16 and reduction.widens:
        whole = cast_to(whole, np.float32)
    record = np.dtype([("value", whole.dtype.newbyteorder("=")), ("counts", "?")], align=True)
    pairs = apply("getitem", "pair", (whole, mask), lambda x, m: np.empty(0, record))
    inner = reduction.result_dtype(whole.dtype)
    return cast_to(make_reduction(SELECTED + name, pairs, tuple(range(pairs.ndim)), False, inner, ddof), target)
