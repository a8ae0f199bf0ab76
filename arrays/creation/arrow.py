"""Arrays as Arrow arrays."""

from __future__ import annotations

import importlib
import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.errors import ArgumentError, DTypeError, bad
from ..execution.compute import compute

if TYPE_CHECKING:
    import pyarrow

    from ..base import ArrayBase

__all__ = [
    "to_arrow",
]


class _Held(np.ndarray[Any, Any]):
    """A view of a chunk that keeps the chunk where it is."""

    pin: object = None


def to_arrow(x: ArrayBase) -> pyarrow.Array:
    """Compute an array and return its elements as an Arrow array.

    A 1-D array becomes a flat Arrow array, one with more axes a `FixedShapeTensorArray` with a tensor for each position
    along the first axis. A persisted array of a single chunk isn't copied: the Arrow array reads the chunk and keeps it
    alive. Booleans are copied, since Arrow packs their bits.

    Parameters
    ----------
    x : Array
        Of booleans, integers, real numbers, dates and times with a unit that Arrow has, or strings.

    Returns
    -------
    pyarrow.Array
        The elements, in the driver's memory.

    Raises
    ------
    DTypeError
        Arrow has no type for the dtype, such as complex numbers.
    ImportError
        pyarrow isn't installed.

    Examples
    --------
    >>> import windrow as wr
    >>> wr.arange(3).to_arrow().to_pylist()
    [0, 1, 2]
    """
    arrow: Any = importlib.import_module("pyarrow")
    try:
        element = arrow.from_numpy_dtype(x.dtype)
    except (arrow.ArrowNotImplementedError, arrow.ArrowInvalid, NotImplementedError) as error:
        raise DTypeError(bad("to_arrow", "x", x.dtype, "a dtype that Arrow has")) from error
    if x.expr.pin is not None and x.npartitions == 1:
        pin: Any = x.expr.pin
        session = pin.session
        kept = session.keep([x.expr])[0]  # its own, taken before the chunk is looked for: release(x) doesn't free it
        flat: Any = session.chunk(x.expr, 0).reshape(-1).view(_Held)
        flat.pin = kept
    else:
        flat = np.asarray(compute(x)).reshape(-1)
    if x.dtype.kind in "iuf" and x.dtype.isnative:
        found = arrow.Array.from_buffers(element, flat.size, [None, arrow.py_buffer(flat)])
    else:
        found = arrow.array(np.asarray(flat).astype(x.dtype.newbyteorder("="), copy=False))
    if x.ndim < 2:
        return found
    tensor = arrow.fixed_shape_tensor(element, list(x.shape[1:]))
    count = int(np.prod(x.shape[1:]))
    storage = arrow.Array.from_buffers(arrow.list_(element, count), x.shape[0], [None], children=[found])
    return arrow.ExtensionArray.from_storage(tensor, storage)


def arrow_stream(x: ArrayBase, requested_schema: object) -> object:
    """Return a stream of an array's chunks along the first axis, for `__arrow_c_stream__`."""
    arrow: Any = importlib.import_module("pyarrow")
    whole = to_arrow(x)
    if not x.ndim:
        pieces = [whole]
    else:
        ends = np.cumsum((0, *x.chunks[0]))
        pieces = [whole[a:b] for a, b in itertools.pairwise(ends)]
    return arrow.chunked_array(pieces, type=whole.type).__arrow_c_stream__(requested_schema)


def from_arrow(operation: str, x: Any) -> list[np.ndarray[Any, Any]] | None:
    """Return the pieces of something that has Arrow's PyCapsules, as NumPy arrays, in place where that can be.

    None where it has none, or where it is an array by NumPy's manners too.
    """
    stream = hasattr(x, "__arrow_c_stream__")
    if isinstance(getattr(x, "dtype", None), np.dtype) or not (stream or hasattr(x, "__arrow_c_array__")):
        return None
    arrow: Any = importlib.import_module("pyarrow")
    try:
        whole = arrow.chunked_array(x) if stream else arrow.array(x)
    except (TypeError, arrow.ArrowInvalid, arrow.ArrowNotImplementedError) as error:
        raise ArgumentError(bad(operation, "x", type(x).__name__, f"an Arrow array, no table ({error})")) from error
    if arrow.types.is_struct(whole.type):
        expected = "an array, or one column of a table; of a table of one dtype take to_numpy()"
        raise ArgumentError(bad(operation, "x", type(x).__name__, expected))
    if whole.null_count:
        raise DTypeError(bad(operation, "x", f"an Arrow array with {whole.null_count} nulls", "none; fill them first"))
    pieces = whole.chunks if stream else [whole]
    return [_plain(piece) for piece in (pieces or [arrow.array([], whole.type)])]


def _plain(piece: Any) -> np.ndarray[Any, Any]:
    if hasattr(piece, "to_numpy_ndarray"):
        return np.asarray(piece.to_numpy_ndarray())
    found: np.ndarray[Any, Any] = piece.to_numpy(zero_copy_only=False)
    return np.asarray(found.tolist()) if found.dtype == object and found.size else found
