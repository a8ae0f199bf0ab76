"""Tables and arrays of Arrow's, and objects with its protocol: DataFrames, record batches, columns."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.arguments import check_flag
from ...graph.errors import ArgumentError, DTypeError, bad
from ...workers.sources.arrow import arrow, is_arrow
from ...workers.sources.arrow_nulls import mask_nulls
from ..base import ArrayBase, grid_for
from ..chunking.rechunk import regrid
from ..ops.moves.joining import concatenate, stack
from .arrow import plain_pieces, read_pieces
from .from_data import from_array

if TYPE_CHECKING:
    from typing import TypeVar

    from ..array import Array
    from ..typing import ArrayLike, ChunksLike

    Name = TypeVar("Name", str, None)

__all__ = [
    "from_arrow",
]

MANY = 32
"""More pieces than so many are merged,"""
MERGED = 1 << 20
"""neighbours up to so many bytes in the widest column."""
NULLS = ("raise", "nan", "mask")


def from_arrow(x: ArrayLike, chunks: ChunksLike = None, *, nulls: str = "raise", matrix: bool = False) -> Any:
    """Return lazy arrays of an Arrow table or array, or of an object that exports Arrow data, such as a DataFrame.

    Data that Arrow has in the same bytes, numbers, dates and times without nulls, is referred to, not copied.

    Parameters
    ----------
    x : table or array
        A pyarrow Table, RecordBatch, RecordBatchReader, Array or ChunkedArray; a DataFrame of pandas, whose index is
        left out; or any object with `__arrow_c_stream__` or `__arrow_c_array__`, such as a DataFrame or Series of
        polars.
    chunks : int, str, tuple, dict or None
        Chunks of the result; None: the pieces that Arrow has, where they aren't larger than "auto" makes them;
        of more than 32 pieces neighbours are merged (copied), up to 1 MiB.
    nulls : str
        What becomes of nulls. "raise": they are an error. "nan": NaN and NaT; integers and booleans of columns with
        nulls are cast to float64. "mask": arrays are paired with boolean ones of their shape that are True where a null
        was, of a record or one of its fields; there stands NaN or NaT, or 0, False and "" where the dtype has neither.
    matrix : bool
        Whether a table becomes one 2-D array of the dtype that all its columns can be cast to.

    Returns
    -------
    Array, or dict of str to Array
        Of a table: lazy 1-D arrays by the names of their columns, all with the same chunks; lists of a fixed size, and
        tensors, have more axes. With `matrix`, a tuple of the 2-D array and the list of the columns' names. With
        `nulls="mask"`, a tuple of what is returned otherwise, with the masks in the same form after the arrays:
        (arrays, masks) or (matrix, mask, names).

    Raises
    ------
    ArgumentError
        `x` has no Arrow data, two columns bear one name, `nulls` is an unknown word, or `matrix` is asked of no table.
    DTypeError
        No dtype has a column's values: decimals, times of day, lists of any length. There are nulls and `nulls` is
        "raise", or "nan" for texts. With `matrix`: columns have no dtype in common.
    ChunksError
        `chunks` can't be read or doesn't fit.

    Notes
    -----
    pandas takes NaN for a null. Texts become as wide as the longest one. Time zones are left out: times are UTC's.

    >>> import pyarrow as pa
    >>> import windrow as wr
    >>> table = pa.table({"n": [1, 2, None], "x": [0.5, 1.5, 2.5]})
    >>> columns = wr.from_arrow(table, nulls="nan")
    >>> {name: column.sum().compute() for name, column in columns.items() if name == "x"}
    {'x': np.float64(4.5)}
    >>> matrix, mask, names = wr.from_arrow(table, nulls="mask", matrix=True)
    >>> names, matrix.shape, mask.sum().compute()
    (['n', 'x'], (3, 2), np.int64(1))
    """
    check_flag("from_arrow", "matrix", matrix)
    if not isinstance(nulls, str) or nulls not in NULLS:
        raise ArgumentError(bad("from_arrow", "nulls", nulls, f"one of {', '.join(map(repr, NULLS))}"))
    whole = _frame_of_pandas(x)
    if isinstance(x, ArrayBase) or not is_arrow(whole):
        raise ArgumentError(bad("from_arrow", "x", type(x).__name__, "an Arrow table or array, or a DataFrame"))
    pieces = read_pieces("from_arrow", whole)
    if not arrow("types").is_struct(pieces[0].type):
        if matrix:
            raise ArgumentError(bad("from_arrow", "matrix", matrix, f"False, since {type(x).__name__} is no table"))
        array_dicts = _arrays({None: pieces}, nulls, chunks)
        return tuple(f[None] for f in array_dicts) if nulls == "mask" else array_dicts[0][None]
    columns = _columns(pieces)
    if not matrix:
        column_dicts = _arrays(columns, nulls, chunks)
        return column_dicts if nulls == "mask" else column_dicts[0]
    values, masks = _arrays(columns, nulls, None)
    parts = [_matrix(part, chunks) for part in (values, masks) if part]
    return (*parts, list(columns))


def _frame_of_pandas(x: ArrayLike) -> Any:
    """Return a DataFrame of pandas as a table, without its index; anything else as it is."""
    pandas = type(x).__module__.partition(".")[0] == "pandas"
    return arrow().Table.from_pandas(x, preserve_index=False) if pandas and hasattr(x, "columns") else x


def _columns(pieces: list[Any]) -> dict[str, list[Any]]:
    """Return the pieces of each column of a table whose pieces are structs."""
    names = [field.name for field in pieces[0].type]
    if len(set(names)) < len(names) or not names:
        raise ArgumentError(bad("from_arrow", "x", f"a table with columns {names}", "columns of different names"))
    parts = [piece.flatten() for piece in pieces]
    return {name: [part[i] for part in parts] for i, name in enumerate(names)}


def _arrays(
    columns: dict[Name, list[Any]], nulls: str, chunks: ChunksLike
) -> tuple[dict[Name, Array], dict[Name, Array]]:
    """Return arrays and masks of columns, with the same chunks along the first axis; the name None means that there is
    no table."""
    how = "zero" if nulls == "mask" else nulls
    plain = {
        name: plain_pieces("from_arrow", "x" if name is None else f"x[{name!r}]", pieces, how)
        for name, pieces in columns.items()
    }
    runs = _runs(max(plain.values(), key=lambda pieces: sum(p.nbytes for p in pieces)))
    arrays = {name: _join(pieces, runs) for name, pieces in plain.items()}
    masks: dict[Name, Array] = {}
    for name, pieces in columns.items() if nulls == "mask" else ():
        masks[name] = _join([mask_nulls(piece) for piece in pieces], runs)
    widest = max(arrays, key=lambda name: arrays[name].nbytes)
    if chunks is not None:
        arrays[widest] = _rechunk(arrays[widest], chunks)
    (axis, *_) = arrays[widest].chunks

    def align(part: dict[Name, Array]) -> dict[Name, Array]:
        return {name: x if x.chunks[0] == axis else x.rechunk({0: axis}) for name, x in part.items()}

    return align(arrays), align(masks)


def _rechunk(x: Array, chunks: ChunksLike) -> Array:
    return regrid(x, grid_for("from_arrow", chunks, x.shape, x.dtype, x.expr.grid))


def _runs(pieces: list[np.ndarray[Any, Any]]) -> list[slice]:
    """Return the groups of neighbours that are merged: small ones, if there are many."""
    borders, size = [0], 0
    for i, piece in enumerate(pieces):
        size += piece.nbytes
        if len(pieces) <= MANY or size > MERGED:
            borders.append(i)
            size = piece.nbytes
    return [slice(*pair) for pair in itertools.pairwise([*borders, len(pieces)]) if pair[0] < pair[1]]


def _join(pieces: list[np.ndarray[Any, Any]], runs: list[slice]) -> Array:
    """Return pieces joined along the first axis; each is a chunk, or several."""
    merged = [pieces[run][0] if run.stop - run.start == 1 else np.concatenate(pieces[run]) for run in runs]
    return concatenate([from_array(piece) for piece in merged]) if len(merged) > 1 else from_array(merged[0])


def _matrix(columns: dict[str, Array], chunks: ChunksLike) -> Array:
    """Return columns side by side."""
    kinds = {
        "number" if x.dtype.kind in "biufc" else str(x.dtype) if x.dtype.kind == "V" else x.dtype.kind
        for x in columns.values()
    }
    if len(kinds) > 1 or any(x.ndim > 1 for x in columns.values()):
        dtypes = {name: str(x.dtype) for name, x in columns.items()}
        raise DTypeError(bad("from_arrow", "matrix", True, f"columns of one kind; these have {dtypes}"))
    side_by_side = stack(list(columns.values()), axis=1)
    return _rechunk(side_by_side, {1: -1} if chunks is None else chunks)
