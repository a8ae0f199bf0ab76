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
""")
