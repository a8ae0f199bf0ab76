"""What docstrings of several folders have in common; folders whose functions have more add entries of their own."""

from __future__ import annotations

from ..workers.docstrings import Glossary

COMMON = Glossary("""
{axis}
axis : int, tuple of int or None, optional
    The axes to reduce; None: all.
{chunks}
chunks : int, str, tuple, dict or None
    Chunks of the result: a size for each axis, -1 for a whole axis, or "auto": about `config.chunk_bytes` each.
    See `normalize_chunks`.
{device}
device : str, optional
    Accepted for the array API standard: None or "cpu", the only device.
{k}
k : int
    The diagonal: 0 is the main one, positive ones lie above it.
{keepdims}
keepdims : bool, optional
    Whether the reduced axes stay, as size-1 axes.
{out}
out : Array or numpy.ndarray, optional
    Takes the result: a lazy array stands for it from then on, a NumPy array is filled at the call.
{where}
where : array of bool, optional
    Which elements count; broadcasts to the shape of `a`. True: all.
{ArgumentError}
ArgumentError
    `a` can't be read as an array.
{AxisError}
AxisError
    The array has no such axis.
{ChunksError}
ChunksError
    `chunks` can't be read or doesn't fit the shape.
{extreme_errors}
ArgumentError
    `a` can't be read as an array; `keepdims` isn't True or False; `initial` isn't a number, or `where` is given without
    it; or `out` isn't an array.
{entry AxisError}
ShapeError
    There are no elements, and no `initial`; `where` does not broadcast to the shape of `a`; an axis is named twice; or
    `out` has another shape than the result.
DTypeError
    `a` isn't numbers, dates or times, `where` isn't bool, or the result isn't cast to the dtype of `out`.
{initial_errors}
BadValue
    The result's dtype has no such value as `initial`: NaN among integers, or a text.
RangeError
    The result's dtype can't hold a number as large as `initial`.
{masked_errors}
ArgumentError
    `a` can't be read as an array; `keepdims` isn't True or False; or `out` isn't an array.
{entry AxisError}
ShapeError
    `where` doesn't broadcast, an axis is named twice, or `out` has another shape than the result.
{sum_errors}
ArgumentError
    `a` can't be read as an array; `keepdims` isn't True or False; `initial` isn't a number, or is None beside `where`;
    or `out` isn't an array.
{entry AxisError}
ShapeError
    `where` doesn't broadcast, an axis is named twice, `out` has another shape than the result, or there are no elements
    and `initial` is None.
DTypeError
    `a` isn't numbers, `dtype` is no dtype, `where` isn't bool, or the result isn't cast to the dtype of `out`.
""")
