"""Functions whose results are views, where NumPy's are; see `arrays.storage`."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from ..graph.keyword_hints import aside
from .base import ArrayBase
from .storage import CHANGES, Storage, copies, find_layout, find_steps

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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
    """Have the results of a function be views of its arguments, where they are views in NumPy."""
    return _shared(function, writable=True)


def gives_readonly_view(function: Callable[P, R]) -> Callable[P, R]:
    """Have the results of a function follow its arguments; they aren't written to."""
    return _shared(function, writable=False)


def _shared(function: Callable[P, R], writable: bool) -> Callable[P, R]:
    @aside
    @functools.wraps(function)
    def view(*args: P.args, **keywords: P.kwargs) -> R:
        result = function(*args, **keywords)
        if not keywords.get("copy"):
            of = [each for each in (*args, *keywords.values()) if isinstance(each, ArrayBase)]
            for array in of and (result if isinstance(result, tuple | list) else (result,)):
                _become_view(array, of, writable)
        return result

    return view


def _become_view(array: object, of: Sequence[ArrayBase], writable: bool) -> None:
    """Have what was made of one of some arrays show its elements, if it does in NumPy."""
    if not isinstance(array, ArrayBase) or any(each is array for each in of):
        return
    for each in of:
        if _show(array, each, writable):
            return


def _show(array: ArrayBase, of: ArrayBase, writable: bool) -> bool:
    """Have an array show the elements of another one, if it does in NumPy; tell whether it does."""
    known, expr, inner = of._expr, array._expr, array._storage
    if known is None or expr is None:
        return False
    if inner is not None and inner.expr is known:  # it is a view of another name of the same
        steps: Steps | None = array._steps
        if not writable:
            steps = tuple(step._replace(writable=False) for step in array._steps)
    else:
        steps = find_steps(expr, known, writable)
    if steps is None:
        return False
    if writable and copies(known if of._storage is None else of._storage.expr, of._steps + steps):
        array._detach(expr)
    else:
        share(array, of, known, steps)
    return True
