"""What docstrings of random numbers have in common."""

from __future__ import annotations

from ...workers.docstrings import Glossary
from ..docstrings import COMMON

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
{numbers_from_zero}
Returns
-------
Array
    Lazy, of float64: numbers from 0 on.

{entry errors_and_numbers}
{numbers_about_loc}
Returns
-------
Array
    Lazy, of float64: numbers about `loc`.

{entry errors_and_numbers}
{numbers_from_one}
Returns
-------
Array
    Lazy, of int64: numbers from 1 on.

{entry errors_and_numbers}
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
