"""Arrays as Arrow arrays and tables, and Arrow's data as NumPy arrays."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.errors import ArgumentError, BadValue, DTypeError, ShapeError, bad
from ...workers.sources.arrow import arrow, give, pieces_of, shape_rows, to_numpy, value_type
from ...workers.sources.arrow_nulls import settle_nulls
from ..base import as_array_nocopy
from ..execution.compute import compute, compute_array

if TYPE_CHECKING:
    import pyarrow

    from ..base import ArrayBase
    from ..typing import ArrayLike

__all__ = [
    "to_arrow",
]

MOST = 1 << 12
"""Persisted arrays of more chunks than this are copied as a whole."""

_INSTEAD = {
    "raise": "none; from_arrow(nulls=) makes NaN or a mask of them",
    "nan": "none, since there is no NaN of that type; from_arrow(nulls='mask') tells where they were",
}


def to_arrow(x: Any, names: Sequence[str] | None = None) -> pyarrow.Array | pyarrow.Table:
    """Compute an array, or several, and return an Arrow array, or a table.

    A 1-D array becomes a flat Arrow array, one with more axes a `FixedShapeTensorArray` with a tensor for each position
    along the first axis. A table's columns have the chunks that the arrays have. A persisted array of a single chunk
    isn't copied: the Arrow array refers to the chunk and keeps it alive, unless Arrow represents its values
    differently.

    Parameters
    ----------
    x : array_like, or dict of str to array_like
        The array. A dict of arrays of one length becomes a table, and so does a 1-D array of records.
    names : sequence of str, optional
        Names for the columns of a 2-D array, which becomes a table.

    Returns
    -------
    pyarrow.Array or pyarrow.Table
        The elements, in the driver's memory. Booleans are packed as bits; complex numbers are lists of two; strings,
        records, and dates that Arrow counts otherwise are converted; NaT is null.

    Raises
    ------
    DTypeError
        Arrow has no type for the dtype, such as longdouble.
    ShapeError
        Arrays of a dict have no axes or not one length; `names` are given for an array that hasn't as many columns.
    ArgumentError
        A dict is empty; names are no texts, or two are the same; `names` are given beside a dict.
    BadValue
        There are dates further away than Arrow counts.
    ImportError
        pyarrow isn't installed.

    >>> wr.arange(3).to_arrow().to_pylist()
    [0, 1, 2]
    >>> wr.to_arrow({"n": wr.arange(3), "half": wr.arange(3) / 2}).column_names
    ['n', 'half']
    >>> wr.to_arrow(wr.ones((2, 2)), names=["a", "b"]).to_pydict()
    {'a': [1.0, 1.0], 'b': [1.0, 1.0]}
    """
    if names is not None:
        _check_names(x, names)
    if isinstance(x, Mapping):
        return _table(*_columns(x))
    array = as_array_nocopy("to_arrow", "x", x)
    if names is not None:
        if array.ndim != 2 or array.shape[1] != len(names):
            raise ShapeError(bad("to_arrow", "x", array.shape, f"two axes, with {len(names)} columns for 'names'"))
        return _table(list(names), [array[:, i] for i in range(len(names))])
    if array.dtype.names is not None and array.ndim == 1:
        return arrow().Table.from_batches([arrow().RecordBatch.from_struct_array(p) for p in chunk_pieces(array)])
    return elements(array)


def _check_names(x: ArrayLike, names: Any) -> None:
    """Raise an error if names of columns aren't distinct texts."""
    if isinstance(x, Mapping):
        raise ArgumentError(bad("to_arrow", "names", names, "None, since x, a dict, has names"))
    listed = isinstance(names, Sequence | np.ndarray) and not isinstance(names, str | bytes)
    if not listed or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise ArgumentError(bad("to_arrow", "names", names, "a list of texts, each another, one for each column"))


def elements(x: ArrayBase) -> Any:
    """Compute an array and return it as an Arrow array."""
    _check("x", x)
    return give_as("x", x.shape, *(_in_place(x) or (compute_array(x), None)))


def _columns(x: Mapping[Any, Any]) -> tuple[list[str], list[ArrayBase]]:
    if not x or not all(isinstance(name, str) for name in x):
        raise ArgumentError(bad("to_arrow", "x", list(x), "columns whose names are text"))
    arrays: list[ArrayBase] = [as_array_nocopy("to_arrow", f"x[{name!r}]", value) for name, value in x.items()]
    if len({a.shape[:1] for a in arrays}) > 1 or not arrays[0].ndim:
        raise ShapeError(bad("to_arrow", "x", [a.shape for a in arrays], "arrays of one length along the first axis"))
    return list(x), arrays


def _table(names: list[str], arrays: list[ArrayBase]) -> Any:
    """Return a table of arrays that are computed together."""
    for name, array in zip(names, arrays, strict=True):
        _check(f"x[{name!r}]", array)
    held = [hold(a) for a in arrays]
    rest = iter(compute([a for a, one in zip(arrays, held, strict=True) if not one or not one[0]]))
    pieces = []
    for name, array, holding in zip(names, arrays, held, strict=True):
        if holding and holding[0]:
            parts = [give_as(f"x[{name!r}]", part.shape, part, holding[1]) for part in holding[0]]
        else:
            parts = _cut(array, give_as(f"x[{name!r}]", array.shape, next(rest), None))
        pieces.append(arrow().chunked_array(parts))
    return arrow().Table.from_arrays(pieces, names=names)


def _check(argument: str, x: ArrayBase) -> None:
    if value_type(x.dtype) is None:
        raise DTypeError(bad("to_arrow", argument, x.dtype, "a dtype that Arrow has"))


def hold(x: ArrayBase) -> tuple[list[Any], object] | None:
    """Return the chunks along the first axis of a persisted array in place, and an object that keeps them alive.

    None if they aren't all on this host, or aren't whole rows.
    """
    if x.expr.pin is None or x.npartitions > max((1, *x.numblocks[:1])) or x.npartitions > MOST:
        return None
    pin: Any = x.expr.pin
    session = pin.session
    kept = session.keep([x.expr])[0]  # its own, taken before the chunks are looked for: release(x) doesn't free it
    chunks = [session.chunk_here(x.expr, k) for k in range(x.npartitions)]
    return None if any(part is None for part in chunks) else (chunks, kept)


def _in_place(x: ArrayBase) -> tuple[Any, object] | None:
    """Return the only chunk of a persisted array in place, and an object that keeps it alive; None for other arrays."""
    held = hold(x) if x.npartitions == 1 else None
    return None if held is None else (held[0][0], held[1])


def chunk_pieces(x: ArrayBase) -> list[Any]:
    """Return an array's chunks along the first axis as Arrow arrays; those of a persisted one in place."""
    _check("x", x)
    held = hold(x) if x.ndim == 1 else None
    if held is None or not held[0]:
        return _cut(x, elements(x))
    return [give_as("x", part.shape, part, held[1]) for part in held[0]]


def give_as(argument: str, shape: tuple[int, ...], values: ArrayLike, owner: object) -> Any:
    """Return values as an Arrow array, with a tensor for each position along the first of several axes."""
    try:
        return shape_rows(give(np.asarray(values), owner), shape)
    except BadValue as error:
        raise BadValue(f"to_arrow: argument {argument!r}: {error}; expected nearer ones") from error


def _cut(x: ArrayBase, whole: Any) -> list[Any]:
    """Return an array's chunks along the first axis as the pieces of an Arrow array."""
    if not x.ndim:
        return [whole]
    return [whole[a:b] for a, b in itertools.pairwise(np.cumsum((0, *x.chunks[0])).tolist())]


def arrow_pieces(operation: str, x: ArrayLike) -> list[np.ndarray[Any, Any]] | None:
    """Return the pieces of an object with Arrow's PyCapsules as NumPy arrays, in place if possible.

    None if it has none, or if it follows NumPy's protocols, too.
    """
    capsules = hasattr(x, "__arrow_c_stream__") or hasattr(x, "__arrow_c_array__")
    if isinstance(getattr(x, "dtype", None), np.dtype) or not capsules:
        return None
    pieces = read_pieces(operation, x)
    if arrow("types").is_struct(pieces[0].type):
        raise ArgumentError(bad(operation, "x", type(x).__name__, "an array; wr.from_arrow(x) takes tables"))
    return plain_pieces(operation, "x", pieces, "raise")


def read_pieces(operation: str, x: ArrayLike) -> list[Any]:
    """Return the pieces of an object with Arrow's PyCapsules as Arrow arrays, those of a table as structs."""
    try:
        return pieces_of(x)
    except (TypeError, ValueError, NotImplementedError) as error:
        raise ArgumentError(bad(operation, "x", type(x).__name__, f"an Arrow array ({error})")) from error


def plain_pieces(operation: str, argument: str, pieces: list[Any], nulls: str) -> list[np.ndarray[Any, Any]]:
    """Return pieces of one type as NumPy arrays."""
    try:
        return [to_numpy(piece) for piece in settle_nulls(pieces, nulls)]
    except ValueError as error:
        raise DTypeError(bad(operation, argument, f"an Arrow array with {error}", _INSTEAD[nulls])) from error
    except TypeError as error:
        raise DTypeError(bad(operation, argument, pieces[0].type, f"a type that a dtype has ({error})")) from error
