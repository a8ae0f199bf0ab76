"""Filters by functions of the user's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .....graph.errors import ArgumentError, bad
from .....workers.kernels.blocks.scipy.ndimage import find as find_function
from ....base import check_axis
from ....user_functions.map_blocks import map_blocks
from ....user_functions.overlap import map_overlap
from ...bridge import attempt, find, numbers, plain_value
from .linear import Numbers, documented
from .local import ROUND, footprint_reach, modes, output_dtype, read_reach

if TYPE_CHECKING:
    from ....array import Array

__all__ = [
    "generic_filter",
    "generic_filter1d",
]


class ScipyCall:
    """A function of SciPy's with all arguments but the array."""

    def __init__(self, name: str, keywords: dict[str, Any]) -> None:
        self.name, self.keywords, self.__name__ = name, keywords, name

    def __call__(self, block: Any) -> Any:
        """Call it with a block."""
        return find_function(f"ndimage.{self.name}")(block, **self.keywords)


@documented
def generic_filter(
    input: Any,
    function: Any,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Numbers = 0,
    extra_arguments: Any = (),
    extra_keywords: Any = None,
    *,
    axes: Any = None,
) -> Array:
    """Call a function with the neighbours of each element.

    >>> import windrow as wr
    >>> wr.ndimage.generic_filter(wr.arange(6.0, chunks=2), lambda near: near.max(), size=3).compute()
    array([1., 2., 3., 4., 5., 5.])
    """
    name = "generic_filter"
    x = numbers(name, "input", input, "biuf")
    options = {"size": size, "footprint": footprint, "mode": mode, "cval": cval, "origin": origin, "axes": axes}
    settled = {k: plain_value(name, k, v) for k, v in options.items()}
    keywords = settled | {"extra_arguments": tuple(extra_arguments), "extra_keywords": extra_keywords}
    dtype = _dtype(name, x, function, output, keywords)
    depths = read_reach(name, x, settled, footprint_reach())
    around = [m in ROUND for m in modes(mode, x.ndim, axes)]
    ends = tuple("periodic" if r and x.numblocks[i] > 1 else "none" for i, r in enumerate(around))
    return map_overlap(
        ScipyCall(name, keywords | {"function": function, "output": dtype}), x, depth=depths, boundary=ends, dtype=dtype
    )


@documented
def generic_filter1d(
    input: Any,
    function: Any,
    filter_size: int,
    axis: int = -1,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: int = 0,
    extra_arguments: Any = (),
    extra_keywords: Any = None,
) -> Array:
    """Call a function with each extended line and the line that it fills; lines come into one chunk.

    >>> import windrow as wr
    >>> def double(line, out):
    ...     out[...] = line[1:-1] * 2
    >>> wr.ndimage.generic_filter1d(wr.arange(6.0, chunks=2), double, 3).compute()
    array([ 0.,  2.,  4.,  6.,  8., 10.])
    """
    name = "generic_filter1d"
    x = numbers(name, "input", input, "biuf")
    at = check_axis(name, axis, x.ndim)
    keywords = {"filter_size": filter_size, "axis": at, "mode": mode, "cval": cval, "origin": origin}
    keywords |= {"extra_arguments": tuple(extra_arguments), "extra_keywords": extra_keywords}
    dtype = _dtype(name, x, function, output, keywords)
    lines = x.rechunk({at: x.shape[at]}) if x.numblocks[at] > 1 else x
    return map_blocks(ScipyCall(name, keywords | {"function": function, "output": dtype}), lines, dtype=dtype)


def _dtype(name: str, x: Array, function: Any, output: Any, keywords: dict[str, Any]) -> Any:
    """Return the result's dtype; what SciPy doesn't take is told now, of no elements: the function isn't called."""
    if not callable(function):
        raise ArgumentError(bad(name, "function", function, "a function"))
    output_dtype(name, output)
    attempt(name, getattr(find("ndimage", name), name), np.ones((0,) * x.ndim), function=function, **keywords)
    return x.dtype if output is None else np.dtype(output)
