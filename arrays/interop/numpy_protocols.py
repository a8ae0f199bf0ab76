"""NumPy's functions called with lazy arrays: those of the same name here run instead."""

from __future__ import annotations

import functools
import importlib
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.errors import ArgumentError, bad
from ...graph.kinds.elementwise import Scalar
from ..base import ArrayBase
from ..files.npy import save_as_numpy
from ..ops.elementwise.nodes import sample_dtypes, split
from ..ops.elementwise.ufuncs import UFUNCS
from ..ops.moves.broadcasting import broadcast_any
from ..ops.moves.sliding_window import sliding_window_view
from ..ops.outputs import deliver
from ..storage import overlap
from ..user_functions.gufunc import apply_gufunc
from ..user_functions.gufunc_signature import read
from ..user_functions.map_blocks import map_blocks
from ..user_functions.travel.pickling import function_of
from .texts import TEXTS

if TYPE_CHECKING:
    from collections.abc import Callable


NAMESPACES = ("numpy", "numpy.linalg", "numpy.fft")
"""Modules of NumPy whose functions have namesakes here."""


def _sharing(tell: Callable[..., bool]) -> Callable[..., bool]:
    """Return what tells whether lazy arrays, and arrays of NumPy's, share elements; of these nobody's are shared."""
    return lambda a, b, *_, **__: isinstance(a, ArrayBase) and isinstance(b, ArrayBase) and overlap(a, b, tell)


ATTRIBUTES: dict[Callable[..., Any], Callable[..., Any]] = {
    np.array_repr: lambda arr, *_, **__: repr(arr),
    np.array_str: lambda a, *_, **__: str(a),
    np.broadcast_arrays: broadcast_any,
    np.may_share_memory: _sharing(np.may_share_memory),
    np.save: save_as_numpy,
    np.lib.stride_tricks.sliding_window_view: sliding_window_view,
    np.shares_memory: _sharing(np.shares_memory),
    **TEXTS,
}
"""Functions of NumPy that have no namesake here."""


def name_of(function: Any) -> str:
    """Return a function's name with its public modules: "numpy.linalg.norm"."""
    parts = [p for p in str(getattr(function, "__module__", None) or "").split(".") if p and not p.startswith("_")]
    return ".".join([*parts, str(getattr(function, "__name__", function))])


def by_ufunc(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Call what stands for a ufunc, or for one of its methods; raise where there is nothing."""
    function: Any = UFUNCS.get(ufunc)
    if function is not None:
        return (function if method == "__call__" else getattr(function, method))(*inputs, **keywords)
    if method == "__call__":
        out = keywords.pop("out", None)
        if ufunc.signature is not None:
            own = getattr(np, ufunc.__name__, None) is ufunc
            called = replacement(ufunc) if own else functools.partial(_foreign_gufunc, ufunc)
            return deliver(ufunc.__name__, called(*inputs, **keywords), out, broadcasts=True)
        if not keywords.keys() - PASSED:
            result = _foreign(ufunc, inputs, keywords)
            if ufunc.nout == 1:
                return deliver(ufunc.__name__, result, out, broadcasts=True)
            outs = out or (None,) * ufunc.nout
            return tuple(deliver(ufunc.__name__, f, o, broadcasts=True) for f, o in zip(result, outs, strict=True))
    name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
    suffix = f" with {', '.join(keywords)}" if keywords else ""
    raise ArgumentError(
        f"{name} doesn't take lazy arrays{suffix}; Windrow has no such form of it yet: compute() first, or map_blocks()"
    )


PASSED = {"dtype", "casting", "order", "signature", "sig", "subok"}
"""Keywords of ufuncs that are the same for each chunk."""


def _foreign(ufunc: np.ufunc, inputs: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Apply a ufunc of another package to each chunk."""
    name = ufunc.__name__
    arrays, args = split(name, inputs)
    dtypes = sample_dtypes(name, functools.partial(ufunc, **keywords), arrays, args)
    called = ScalarUfunc(ufunc, tuple(a.value if isinstance(a, Scalar) else None for a in args), keywords)
    if ufunc.nout == 1:
        return map_blocks(called, *arrays, dtype=dtypes[0])
    form = f"{','.join(['()'] * len(arrays))}->{','.join(['()'] * ufunc.nout)}"
    return apply_gufunc(called, form, *arrays, output_dtypes=dtypes)


def _foreign_gufunc(
    ufunc: np.ufunc, *inputs: Any, axis: Any = None, axes: Any = None, keepdims: bool = False, **unknown: object
) -> Any:
    """Apply another package's function of core axes, such as those of numba's `guvectorize`."""
    name = ufunc.__name__
    if unknown:
        raise ArgumentError(
            f"{name}: argument {next(iter(unknown))!r} is given for lazy arrays; expected axis, axes or keepdims"
        )
    form = read(name, ufunc.signature)
    if axis is not None:
        if axes is not None or len({n for core in (*form.inputs, *form.outputs) for n in core}) != 1:
            raise ArgumentError(bad(name, "axis", axis, f"one core axis everywhere, and no axes=: {ufunc.signature}"))
        axes = [(axis,) if core else () for core in (*form.inputs, *form.outputs)]
        axes = axes[: len(form.inputs)] if keepdims else axes
    called = function_of(ufunc, *(x.dtype for x in inputs if hasattr(x, "dtype")))
    return apply_gufunc(called, str(ufunc.signature), *inputs, axes=axes, keepdims=keepdims)


class ScalarUfunc:
    """A ufunc some of whose operands are scalars, with its keywords."""

    def __init__(self, ufunc: np.ufunc, scalars: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        self.ufunc, self.scalars, self.keywords, self.__name__ = ufunc, scalars, keywords, ufunc.__name__

    def __call__(self, *blocks: Any) -> Any:
        """Call it with blocks where no scalar stands."""
        operands = iter(blocks)
        return self.ufunc(*(next(operands) if value is None else value for value in self.scalars), **self.keywords)


def replacement(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that stands for one of NumPy's; raise where there is none."""
    if function in ATTRIBUTES:
        return ATTRIBUTES[function]
    name = getattr(function, "__name__", str(function))
    where = "numpy" if getattr(np, name, None) is function else getattr(function, "__module__", "")
    if where in NAMESPACES:
        space: Any = importlib.import_module(where.replace("numpy", str(__package__).partition(".")[0], 1))
        counterpart: Callable[..., Any] | None = getattr(space, name, None)
        if counterpart is not None and str(getattr(counterpart, "__module__", "")).startswith("windrow"):
            return counterpart
    from .unsupported import reason

    raise ArgumentError(
        f"{name_of(function)} doesn't take lazy arrays; those of NumPy that are like it are not here: "
        f"{reason(name, where.removeprefix('numpy').removeprefix('.'))} (see docs/operations.md)"
    )
