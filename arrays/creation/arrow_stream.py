"""Arrays as Arrow's streams: a record batch for each chunk along the first axis, made when it is asked for."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ...workers.config import config
from ...workers.sources.arrow import arrow, value_type
from ..execution.compute import compute_array, persist_array, release
from .arrow import chunk_pieces, elements, give_as, hold

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..array import Array
    from ..base import ArrayBase

AT_ONCE = 4
"""An array of up to this many times `config.chunk_bytes` is computed as a whole when its stream begins."""


def arrow_stream(x: ArrayBase, requested_schema: object) -> object:
    """Return a stream of an array's chunks along the first axis, for `__arrow_c_stream__`.

    An array of two axes is a table, whose columns are named as `to_parquet` names them; one of records is a table, too;
    any other one is a column, of tensors where it has more axes.
    """
    wanted = _type_of(requested_schema)
    if _is_table(x, wanted):
        schema = _schema(x)
        reader = arrow().RecordBatchReader.from_batches(schema, _batches(cast("Array", x), schema))
        if wanted is not None:
            reader = reader.cast(arrow().schema(list(wanted)))
        return reader.__arrow_c_stream__()
    pieces = chunk_pieces(x) if x.ndim else [elements(x)]
    whole = arrow().chunked_array(pieces, type=pieces[0].type)
    if (
        arrow("types").is_struct(whole.type) and wanted is None
    ):  # a struct with an offset is no record batch for readers
        batches = [arrow().RecordBatch.from_struct_array(piece) for piece in pieces]
        return arrow().RecordBatchReader.from_batches(arrow().schema(list(whole.type)), batches).__arrow_c_stream__()
    if wanted is not None and wanted != whole.type:
        whole = whole.cast(wanted)
    return whole.__arrow_c_stream__()


def arrow_array(x: ArrayBase, requested_schema: object) -> tuple[object, object]:
    """Return an array whole, for `__arrow_c_array__`: in the form that its stream has."""
    wanted = _type_of(requested_schema)
    if _is_table(x, wanted):
        held = hold(x) if x.npartitions == 1 else None
        values, owner = (compute_array(x), None) if held is None else (held[0][0], held[1])
        whole = _batch(values, _schema(x), owner).to_struct_array()
    else:
        whole = elements(x)
    if wanted is not None and wanted != whole.type:
        whole = whole.cast(wanted)
    capsules: tuple[object, object] = whole.__arrow_c_array__()
    return capsules


def _is_table(x: ArrayBase, wanted: Any) -> bool:
    """Whether an array is exported as a table of its columns."""
    plain = x.ndim == 2 and x.shape[1] > 0 and x.dtype.names is None and value_type(x.dtype) is not None
    return plain and (wanted is None or bool(arrow("types").is_struct(wanted)))


def _schema(x: ArrayBase) -> Any:
    return arrow().schema([(str(i), value_type(x.dtype)) for i in range(x.shape[1])])


def _type_of(requested_schema: object) -> Any:
    if requested_schema is None:
        return None
    return arrow().DataType._import_from_c_capsule(requested_schema)


def _batches(x: Array, schema: Any) -> Iterator[Any]:
    """Yield record batches: of a persisted array's chunks, of an array computed at once, or of one part after another.

    In the last case the ranks keep the array until the stream ends.
    """
    bounds = np.cumsum((0, *x.chunks[0])).tolist()
    held = hold(x)
    if held is not None:
        for part in held[0]:
            yield _batch(part, schema, held[1])
        return
    if x.nbytes <= AT_ONCE * config.chunk_bytes:
        whole = compute_array(x)
        for start, stop in itertools.pairwise(bounds):
            yield _batch(whole[start:stop], schema, None)
        return
    kept = persist_array(x)
    try:
        for start, stop in itertools.pairwise(bounds):
            yield _batch(kept[start:stop].compute(), schema, None)
    finally:
        release(kept)


def _batch(values: Any, schema: Any, owner: Any) -> Any:
    """Return rows as a record batch; a column that is contiguous, such as an only one, isn't copied."""
    columns = [give_as("x", (len(values),), values[:, j], owner) for j in range(values.shape[1])]
    return arrow().RecordBatch.from_arrays(columns, schema=schema)
