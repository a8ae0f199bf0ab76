"""What docstrings of random numbers have in common."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from ...workers.docstrings import Glossary
from ..docstrings import COMMON

F = TypeVar("F", bound=Callable[..., Any])

RANDOM = Glossary(
    """
{bounds}
low, high : int or array of int
    The first integer, and the end, which isn't drawn; `high` left out: from 0 up to `low`. Arrays broadcast.
{chunks}
chunks : int, str, tuple, dict or None
    Chunk sizes of the result, as for `windrow.zeros`; "auto" chooses them by the setting `chunk_bytes`. The
    numbers don't depend on them.
{chunks_of_vectors}
chunks : int, str, tuple, dict or None
    Chunk sizes of the axes of `size`; vectors have one chunk each. The numbers don't depend on them.
{dtype}
dtype : float64 or float32
    What is drawn.
{integer_dtype}
dtype : dtype of integers, or bool
    What is drawn: integers, or bool.
{out}
out : Array, optional
    Its elements are set to the result, in its chunks; has the shape `size`, or gives it.
{size}
size : int, tuple of int or None
    Shape of the result. None: the shape to which the parameters broadcast; without arrays, a single number.
{size_of_vectors}
size : int, tuple of int or None
    How many vectors. None: as many as the parameters broadcast to; without arrays, a single one. The result has
    one more axis, the last one, along which the vectors lie.
{equally_likely}
Array
    Lazy, of `dtype`: integers, each equally likely.
{DTypeError}
DTypeError
    A lazy parameter isn't real numbers.
{integer_dtype_error}
DTypeError
    `dtype` isn't of integers or bool.
{integer_errors}
ArgumentError
    `low` or `high` isn't integers, or `size` isn't. The range is empty, or `dtype` can't hold it (lazy bounds:
    when they are computed).
ShapeError
    Bounds don't broadcast to `size`.
{out_errors}
ArgumentError
    `size` isn't integers, or `out` is no lazy array.
ShapeError
    `size` has a negative length; or `out` has another shape or dtype.
DTypeError
    `dtype` is neither float64 nor float32.
{entry ChunksError}
{errors_and_numbers}
Raises
------
ArgumentError
    A parameter isn't real numbers, or is out of its range (a lazy one: when it is computed); or `size` isn't
    integers.
ShapeError
    The parameters don't broadcast to `size`.
{entry DTypeError, ChunksError}

Notes
-----
{entry numbers}
{size_errors}
ArgumentError
    `size` isn't integers.
ShapeError
    `size` has a negative length.
{entry ChunksError}
{numbers}
The numbers follow from the seed and their position alone, whatever the chunks; they are of NumPy's
distribution, but not NumPy's numbers.
""",
    COMMON,
)


def draws(returns: str, of: str = "float64", **about: str) -> Callable[[F], F]:
    """Put what distributions have in common into a method's docstring, before its example.

    `returns` tells of the numbers, whose dtype is `of`; `about` of the distribution's parameters.
    """
    entries = "\n".join(f"{name} : float or array\n    {text}" for name, text in about.items())

    def decorate(method: F) -> F:
        summary, mark, example = inspect.cleandoc(method.__doc__ or "").partition("\n\n>>> ")
        method.__doc__ = (
            f"{summary}\n\nParameters\n----------\n{entries}\n{{size, chunks}}\n\n"
            f"Returns\n-------\nArray\n    Lazy, of {of}: {returns}\n\n{{errors_and_numbers}}{mark}{example}\n"
        )
        return method

    return decorate
