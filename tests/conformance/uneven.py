"""Windrow with every array that is made cut into several uneven chunks: `ARRAY_API_TESTS_MODULE=uneven`.

The suite's arrays are small, so each would be one chunk, and nothing that chunks do to each other would be tested.
"""

from __future__ import annotations

from functools import wraps

import windrow

globals().update({name: getattr(windrow, name) for name in dir(windrow) if name != "ml"})


def cut(n):
    """Sizes of at most three chunks of an axis, the second one the smallest."""
    if n < 3:
        return (1,) * n if n else (0,)
    first, second = (n + 1) // 2, n // 6 or 1  # `max` is Windrow's here
    return tuple(size for size in (first, second, n - first - second) if size)


def in_chunks(function):
    """Cut what a function makes; the array stays the one it is."""

    @wraps(function)
    def made(*args, **keywords):
        found = function(*args, **keywords)
        for array in found if isinstance(found, list | tuple) else (found,):
            array.expr = array.rechunk(tuple(cut(n) for n in array.shape)).expr
        return found

    return made


MAKERS = (
    "arange", "asarray", "empty", "empty_like", "eye", "from_dlpack", "full", "full_like", "linspace", "meshgrid",
    "ones", "ones_like", "tril", "triu", "zeros", "zeros_like",
)  # fmt: skip
globals().update({name: in_chunks(getattr(windrow, name)) for name in MAKERS if hasattr(windrow, name)})
