"""Functions whose results are views, where NumPy's are; see `arrays.storage`."""

from __future__ import annotations

import functools
import inspect
from itertools import repeat
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from ..graph.keyword_hints import aside
from .base import ArrayBase
from .storage import CHANGES, Storage, copies, find_layout, find_steps

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..graph.expr.expr import Expr
    from .storage import Steps

P = ParamSpec("P")
R = TypeVar("R")


def share(view: ArrayBase, of: ArrayBase, known: Expr | None, steps: Steps) -> bool:
    """Have a new array show elements of another one from now on, unless that isn't `known` any more; tell whether."""
    with CHANGES:
        if known is None or of._expr is not known:
            return False
        storage = of._storage
        if storage is None:
            storage = of._storage = Storage(known)
            storage.join(of)
        view._storage, view._steps = storage, of._steps + steps
        storage.join(view)
        return True


def is_contiguous(x: ArrayBase, order: str) -> bool:
    """Whether the elements of an array follow each other in NumPy's memory, in C order or in Fortran's."""
    layout = find_layout(x.expr if x._storage is None else x._storage.expr, x._steps)
    return layout is not None and bool(layout.flags.f_contiguous if order == "F" else layout.flags.c_contiguous)


def gives_view(function: Callable[P, R]) -> Callable[P, R]:
    """Have the results of a function be views where NumPy's are: of the first array, or each of its own."""
    return _shared(function, writable=True)


def gives_readonly_view(function: Callable[P, R]) -> Callable[P, R]:
    """Have the results of a function follow the first array, or each its own; they aren't written to."""
    return _shared(function, writable=False)


def _shared(function: Callable[P, R], writable: bool) -> Callable[P, R]:
    kind = next(iter(inspect.signature(function).parameters.values())).kind
    each_its_own = kind is inspect.Parameter.VAR_POSITIONAL  # as of `atleast_2d`; einsum has one result
    axes = 1 if function.__name__ in _SCALARS else 0

    @aside
    @functools.wraps(function)
    def view(*args: P.args, **keywords: P.kwargs) -> R:
        lazy = [each for each in (*args, *keywords.values()) if isinstance(each, ArrayBase)]
        while True:
            before = [each.expr if each._unsized is None else None for each in lazy]
            result = function(*args, **keywords)
            if keywords.get("copy"):
                return result
            results = result if isinstance(result, tuple | list) else (result,)
            sources = args if each_its_own and len(results) == len(args) else repeat(lazy[0] if lazy else None)
            pairs = [
                (array, of)
                for array, of in zip(results, sources, strict=False)
                if isinstance(array, ArrayBase) and isinstance(of, ArrayBase) and array is not of
            ]
            shown = all(_show(array, of, writable) for array, of in pairs if array.ndim >= axes)
            same = all(known is None or each._expr is known for each, known in zip(lazy, before, strict=True))
            if (shown and same) or not pairs:
                return result  # else another thread has set elements meanwhile

    return view


_SCALARS = ("flip", "unstack")
"""Functions whose results without axes are scalars in NumPy."""


def _show(array: ArrayBase, of: ArrayBase, writable: bool) -> bool:
    """Have an array show the elements of another one that it was made of, if it does in NumPy.

    False where the other one has taken other elements meanwhile.
    """
    known, expr, inner = of._expr, array._expr, array._storage
    if known is None or expr is None:
        return expr is None or of._unsized is not None
    if inner is not None and inner.expr is known:  # it is a view of another name of the same
        steps: Steps | None = array._steps
        if not writable:
            steps = tuple(step._replace(writable=False) for step in array._steps)
    else:
        steps = find_steps(expr, known, writable)
    if steps is None:
        return True
    if writable and copies(known if of._storage is None else of._storage.expr, of._steps, steps):
        array._detach(expr)
        return True
    return share(array, of, known, steps)
