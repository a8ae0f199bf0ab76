"""Filters by functions of the user's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.errors import ArgumentError, bad
from ....workers.kernels.blocks.scipy.ndimage import scipy_function
from ...base import check_axis
from ...user_functions.map_blocks import map_blocks
from ...user_functions.overlap import map_overlap
from ..bridge import attempt, find_function, like_scipy, numbers, plain_value
from .local import ABOUT, ROUND, footprint_reach, modes, output_dtype, read_reach

if TYPE_CHECKING:
    from ...array import Array
    from ...typing import OutLike


class ScipyCall:
    """A function of SciPy's with all arguments but the array."""

    def __init__(self, name: str, keywords: dict[str, Any]) -> None:
        self.name, self.keywords, self.__name__ = name, keywords, name

    def __call__(self, block: Any) -> Any:
        """Call it with a block."""
        return scipy_function(f"ndimage.{self.name}")(block, **self.keywords)


documented = like_scipy(
    "ndimage",
    ABOUT | {"function": "callable: What is called with the elements that the filter sees; it is pickled now."},
    "Lazy, in the shape of `input`; equal to what SciPy makes of the whole array.",
)


@documented
def generic_filter(name: str, arguments: dict[str, Any]) -> Array:
    """Call a function with the neighbours of each element.

    >>> import windrow as wr
    >>> wr.ndimage.generic_filter(wr.arange(6.0, chunks=2), lambda near: near.max(), size=3).compute()
    array([1., 2., 3., 4., 5., 5.])
    """
    x, function, passed, output = _split(name, arguments)
    options = {key: plain_value(name, key, value) for key, value in arguments.items()}
    dtype = _dtype(name, x, function, output, options | passed)
    depths = read_reach(name, x, options, footprint_reach())
    around = [m in ROUND for m in modes(options["mode"], x.ndim, options["axes"])]
    ends = tuple("periodic" if r and x.numblocks[i] > 1 else "none" for i, r in enumerate(around))
    call = ScipyCall(name, options | passed | {"function": function, "output": dtype})
    return map_overlap(call, x, depth=depths, boundary=ends, dtype=dtype)


@documented
def generic_filter1d(name: str, arguments: dict[str, Any]) -> Array:
    """Call a function with each extended line and the line that it fills; lines come into one chunk.

    >>> import windrow as wr
    >>> def double(line, out):
    ...     out[...] = line[1:-1] * 2
    >>> wr.ndimage.generic_filter1d(wr.arange(6.0, chunks=2), double, 3).compute()
    array([ 0.,  2.,  4.,  6.,  8., 10.])
    """
    x, function, passed, output = _split(name, arguments)
    at = check_axis(name, arguments["axis"], x.ndim)
    keywords = arguments | passed | {"axis": at}
    dtype = _dtype(name, x, function, output, keywords)
    lines = x.rechunk({at: x.shape[at]}) if x.numblocks[at] > 1 else x
    return map_blocks(ScipyCall(name, keywords | {"function": function, "output": dtype}), lines, dtype=dtype)


def _split(name: str, arguments: dict[str, Any]) -> tuple[Array, Any, dict[str, Any], Any]:
    """Take the array, the function, what it is called with, and the output out of arguments."""
    x = numbers(name, "input", arguments.pop("input"), "biuf")
    passed = {"extra_arguments": tuple(arguments.pop("extra_arguments"))}
    passed["extra_keywords"] = arguments.pop("extra_keywords")
    return x, arguments.pop("function"), passed, arguments.pop("output")


def _dtype(name: str, x: Array, function: Any, output: OutLike, keywords: dict[str, Any]) -> Any:
    """Return the result's dtype; what SciPy doesn't take is told now, of no elements: the function isn't called."""
    if not callable(function):
        raise ArgumentError(bad(name, "function", function, "a function"))
    output_dtype(name, output)
    attempt(name, find_function("ndimage", name), np.ones((0,) * x.ndim), function=function, **keywords)
    return x.dtype if output is None else np.dtype(output)
