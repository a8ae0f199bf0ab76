"""Elementwise functions of `x[m]`, where `m` is a lazy mask. `x[m] = f(x[m])` becomes a `where` over whole arrays.

`x[m]` remembers the array and the mask. `f(x[m])` is `f(x)[m]`: a selection by the same mask, whose size is
computed only when something needs it. Assigned to `x[m]`, it reads the whole arrays; no elements are
counted, and no recipe runs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from ....graph.keyword_hints import aside
from ...base import SCALARS, ArrayBase, wrap
from ...execution.deferred import Chosen, defer_unsized

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from ...array import Array

F = TypeVar("F", bound=Callable[..., Any])

KINDS = frozenset("biufcmM")
"""Kinds of dtypes whose elements any function accepts: it is applied to all of them, not only to the selected ones.

Integers to negative powers raise, so powers of integers are an exception."""


def over_chosen(name: str, function: Callable[..., Any], values: Sequence[Any]) -> Array | None:
    """Return `f(x)[m]` for a function of `x[m]`; None unless all operands are scalars or selected by one mask."""
    waiting = [v._unsized if isinstance(v, ArrayBase) else None for v in values]
    chosen = [w.chosen for w in waiting if w is not None and w.chosen is not None]
    if not chosen:
        return None
    first = chosen[0]
    if len(chosen) < sum(w is not None for w in waiting) or any(not c.beside(first) for c in chosen):
        return None
    whole = [v if w is None or w.chosen is None else w.chosen.whole for v, w in zip(values, waiting, strict=True)]
    if any(not _single(v) for v, w in zip(values, waiting, strict=True) if w is None):
        return None
    result = function(*whole)
    if result is whole[0]:
        return values[0]  # type: ignore[no-any-return]  # nothing to do, and no copy to make
    kinds = {c.whole.dtype.kind for c in chosen} | {result.dtype.kind}
    if not kinds <= KINDS or (name == "power" and result.dtype.kind in "iu") or result.shape != first.whole.shape:
        return None
    arrays = [v for v in values if isinstance(v, ArrayBase)]
    others = tuple(None if isinstance(v, ArrayBase) else v for v in values)
    selected = Chosen(result, first.mask, first.axis)
    return defer_unsized(name, _apply, arrays, (function, others), selected.shape, result.dtype, selected)


def _single(value: object) -> bool:
    """Whether a value has no axes, and so broadcasts to any selection."""
    return isinstance(value, SCALARS) or (isinstance(value, ArrayBase | np.ndarray) and value.ndim == 0)


def _apply(*given: Any) -> Generator[Any, Any, Array]:
    """Recipe: apply the function to the selected elements, whose number is known by now."""
    *arrays, function, others = given
    selected = (wrap(a.expr) for a in arrays)
    yield from ()
    result: Array = function(*(next(selected) if v is None else v for v in others))
    return result


def elementwise(function: F) -> F:
    """Decorate an elementwise function of its first argument, so that `f(x[m])` is `f(x)[m]`."""

    @aside
    @wraps(function)
    def either(*args: Any, **keywords: Any) -> Any:
        x, others = args[:1], (*args[1:], *keywords.values())
        if x and isinstance(x[0], ArrayBase) and x[0]._unsized is not None and all(map(_plain, others)):
            name = function.__name__.removeprefix("_")
            selection = over_chosen(name, lambda whole: function(whole, *args[1:], **keywords), x)
            if selection is not None:
                return selection
        return function(*args, **keywords)

    return cast("F", either)


def _plain(value: object) -> bool:
    return not isinstance(value, ArrayBase | np.ndarray | list | tuple)
