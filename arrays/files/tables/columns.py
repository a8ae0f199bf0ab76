"""Tables in files as arrays: dtypes of columns, treatment of nulls, and the nodes that read columns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import numpy as np

from ....graph.arguments import check_flag
from ....graph.chunks.grid import Axis, Grid
from ....graph.errors import ArgumentError, DTypeError, FileFormatError, bad
from ....graph.expr import origin
from ....graph.expr.expr import Expr
from ....graph.kinds.mapping import BlockFunction
from ....graph.kinds.source import Host, HostData
from ....workers.sources.arrow import arrow, without_views
from ....workers.sources.formats.csv import CsvPieces
from ....workers.sources.formats.table_blocks import TableColumns
from ....workers.sources.formats.tables import TablePieces, plain_dtype
from ...base import check_grid, grid_for, make, wrap
from ...chunking.rechunk import regrid
from ...creation.filled import zeros
from ...execution.deferred import evaluate

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....graph.expr.expr import DType
    from ....workers.sources.formats.places import FilePlace
    from ...array import Array

NULLS = (None, "raise", "nan", "mask")
NUMBERS = "biuf"
_KEYED = re.compile(r"([^/=]+)=([^/=]*)(?=/)")
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True)
class TableRequest:
    """The user's request: columns, treatment of nulls, form and chunks."""

    operation: str
    columns: Any
    nulls: Any
    matrix: Any
    chunks: Any

    def check(self) -> None:
        """Raise for unknown words."""
        if self.nulls not in NULLS:
            expected = f"one of {', '.join(map(repr, NULLS))}"
            raise ArgumentError(bad(self.operation, "nulls", self.nulls, expected))
        check_flag(self.operation, "matrix", self.matrix)

    def names(self, known: Sequence[str]) -> list[str]:
        """Return the columns to read."""
        if self.columns is None:
            return list(known)
        names = self.columns
        listed = isinstance(names, Sequence) and not isinstance(names, str | bytes)
        if not listed or any(n not in known for n in names) or len(set(names)) < len(names) or not len(names):
            raise ArgumentError(bad(self.operation, "columns", names, f"a list of some of {list(known)}"))
        return list(names)


def check_once(operation: str, place: FilePlace, found: Sequence[str], names: Sequence[str], instead: str = "") -> None:
    """Raise if a file has two columns of a requested name."""
    for name in names:
        if list(found).count(name) > 1:
            raise FileFormatError(
                f"{operation}: {place.path!r} has {list(found).count(name)} columns named {name!r}; expected one: name "
                f"others in argument 'columns'{instead}"
            )


def _join_schemas(operation: str, names: Sequence[str], places: Sequence[FilePlace], schemas: Sequence[Any]) -> Any:
    """Return one schema of the columns of all files; numbers become the wider type.

    A file that lacks a column, has two of its name, or has it in another type that doesn't fit is refused.
    """
    for place, schema in zip(places, schemas, strict=True):
        check_once(operation, place, schema.names, names)
    fields = {}
    for name in names:
        kinds: dict[Any, FilePlace] = {}
        for place, schema in zip(places, schemas, strict=True):
            if name not in schema.names:
                raise FileFormatError(
                    f"{operation}: {place.path!r} has no column {name!r}; expected it, as in {places[0].path!r}; there "
                    f"are {schema.names}"
                )
            kinds.setdefault(without_views(schema.field(name).type), place)
        fields[name] = _join_types(operation, name, kinds)
    return arrow().schema(list(fields.items()))


def _join_types(operation: str, name: str, kinds: dict[Any, FilePlace]) -> Any:
    (first, *others) = kinds
    if not others:
        return first
    try:
        parts = [arrow().schema([(name, kind)]) for kind in kinds]
        return arrow().unify_schemas(parts, promote_options="permissive").field(0).type
    except arrow().ArrowException as error:
        where = next(iter(kinds.values()))
        raise FileFormatError(
            f"{operation}: column {name!r} of {kinds[others[0]].path!r} is of type {others[0]}; it isn't as it is in "
            f"{where.path!r}, {first}"
        ) from error


def find_partitions(places: Sequence[FilePlace]) -> dict[str, tuple[Any, tuple[Any, ...]]]:
    """Return the columns in names of folders such as "year=2013", each with its type and a value for each file."""
    file_keys = [dict(_KEYED.findall(place.path)) for place in places]
    partitions = {}
    for name in file_keys[0]:
        if all(name in each for each in file_keys):
            texts = [None if each[name] == _NO_VALUE else unquote(each[name]) for each in file_keys]
            whole = all(text is None or re.fullmatch(r"-?(0|[1-9]\d{0,17})", text) for text in texts)
            values = [int(text) if whole and text is not None else text for text in texts]
            partitions[name] = (arrow().int64() if whole else arrow().string(), tuple(values))
    return partitions


def build_groups(
    asked: TableRequest,
    kind: type[TablePieces],
    places: Sequence[FilePlace],
    schemas: Sequence[Any],
    groups: Sequence[tuple[int, int, int]],
    count_nulls: Callable[[list[str]], dict[str, int]] = lambda names: {},
) -> Any:
    """Return the requested columns of files with schemas; a group of rows is a file, its number there and its length.

    `count_nulls` returns the numbers of nulls of those columns for which the files say.
    """
    partitions = {k: v for k, v in find_partitions(places).items() if k not in schemas[0].names}
    names = asked.names([*schemas[0].names, *partitions])
    schema = _join_schemas(asked.operation, [n for n in names if n not in partitions], places, schemas)
    for name in partitions.keys() & set(names):
        schema = schema.append(arrow().field(name, partitions[name][0]))
    table = np.array(groups, np.int64).reshape(-1, 3)
    pieces = {
        "places": tuple(places),
        "index": table[:, :2],
        "schema": schema,
        "partitions": {name: values for name, (_, values) in partitions.items()},
    }
    known = count_nulls(names) | {k: 0 for k, (_, values) in partitions.items() if None not in values}
    return build(asked, kind, pieces, table[:, 2], names, known)


def build(
    asked: TableRequest,
    kind: type[TablePieces],
    pieces: dict[str, Any],
    rows: Any,
    names: list[str],
    known: dict[str, int],
    widths: dict[str, int] | None = None,
) -> Any:
    """Return the requested columns of a table whose pieces and schema are known.

    `rows` has the rows of each piece of `pieces["index"]`; `known` has the numbers of nulls of columns, and `widths`
    the widths of texts, as far as they are known. With widths, the columns of a piece are read at once.
    """
    rows = np.asarray(rows, np.int64)
    full = rows > 0
    bounds = np.concatenate([[0], np.cumsum(rows[full])]).astype(np.int64)
    schema = pieces["schema"]
    table = kind(
        pieces["places"],
        np.asarray(pieces["index"], np.int64)[full],
        bounds,
        schema.serialize().to_pybytes(),
        tuple(pieces.get("partitions", {}).items()),
        **pieces.get("more", {}),
    )
    grid = Grid([Axis.of_sizes(rows[full])])
    check_grid(asked.operation, grid)
    dtypes = {name: _plain(asked.operation, name, schema.field(name).type) for name in names}
    stats = _learn(asked, table, dtypes, known, widths or {})
    dtypes = {name: _settle(asked, name, dtypes[name], *stats[name]) for name in names}
    if asked.matrix:
        return _matrix(asked, table, grid, dtypes)
    if widths is not None and len(names) > 1:
        return _together(asked, table, grid, dtypes)
    return _arrays(asked, table, grid, dtypes, {name for name in names if stats[name][0] == 0})


def _plain(operation: str, name: str, kind: object) -> DType:
    dtype = plain_dtype(kind)
    if dtype is None:
        raise DTypeError(
            f"{operation}: column {name!r} is of type {kind}; expected bool, numbers, texts, dates or times: "
            "name others in argument 'columns'"
        )
    return dtype


def _learn(
    asked: TableRequest, pieces: TablePieces, dtypes: dict[str, DType], known: dict[str, int], widths: dict[str, int]
) -> dict[str, tuple[int | None, int]]:
    """Return the number of nulls of each column, None if it isn't needed, and the width of its texts.

    Ranks scan the columns for which the files don't say.
    """
    kinds = {"nan": NUMBERS[:-1] + "US", "mask": "US", "raise": "US", None: "US"}[asked.nulls]
    there = {n for n, d in dtypes.items() if n in known and (n in widths or d.kind not in "US")}
    wanted = [n for n, d in dtypes.items() if d.kind in kinds and n not in there]
    stats: dict[str, tuple[int | None, int]] = {name: (known.get(name), widths.get(name, 0)) for name in dtypes}
    if not wanted or not len(pieces.index):
        return stats
    op = BlockFunction("files.tables:inspect", (pieces, tuple(wanted)), axes=(), where=True)
    grid = Grid([Axis.regular(len(pieces.index), 1), Axis.whole(2 * len(wanted))])
    (counts,) = evaluate([make(op, (), grid, np.int64).expr])
    for i, name in enumerate(wanted):
        stats[name] = int(counts[:, 2 * i].sum()), int(counts[:, 2 * i + 1].max())
    return stats


def _settle(asked: TableRequest, name: str, dtype: DType, nulls: int | None, width: int) -> DType:
    """Return the dtype of a column's array; raise for nulls that aren't allowed."""
    if dtype.kind in "US" and dtype.itemsize <= 4:
        dtype = np.dtype(f"{dtype.kind}{max(1, width)}")
    if not nulls or asked.nulls == "mask":
        return dtype
    if asked.nulls == "nan" and dtype.kind in "biu":
        return np.dtype(float)
    if asked.nulls == "raise" or dtype.kind not in "fmM":
        instead = "'mask'" if dtype.kind in "US" else "'nan' or 'mask'"
        raise DTypeError(
            f"{asked.operation}: column {name!r} has {nulls} nulls; expected none, or nulls={instead} for {dtype}"
        )
    return dtype


def _arrays(asked: TableRequest, pieces: TablePieces, grid: Grid, dtypes: dict[str, DType], whole: set[str]) -> Any:
    """Return arrays of columns, and masks where they are asked for; `whole` names columns without nulls."""
    values, masks = {}, {}
    for name, dtype in dtypes.items():
        values[name] = _read(asked, pieces, (name,), grid, dtype)
        if asked.nulls == "mask":
            masks[name] = _read(asked, pieces, (name,), grid, None)
            if name in whole:
                masks[name] = zeros(grid.shape, bool, chunks=masks[name].chunks)
    return (values, masks) if asked.nulls == "mask" else values


def _together(asked: TableRequest, pieces: TablePieces, grid: Grid, dtypes: dict[str, DType]) -> Any:
    """Return arrays of columns, and masks where they are asked for, that are fields of records: one read has all."""
    fields = [(f"v{i}", dtype) for i, dtype in enumerate(dtypes.values())]
    if asked.nulls == "mask":
        fields += [(f"m{i}", np.dtype(bool)) for i in range(len(dtypes))]
    op = BlockFunction(
        "files.tables:records", (pieces, tuple(dtypes), np.dtype(fields), asked.nulls), axes=(), where=True
    )
    rows = _fit(asked, make(op, (), grid, np.dtype(fields)))
    values = {name: rows[f"v{i}"] for i, name in enumerate(dtypes)}
    return (values, {name: rows[f"m{i}"] for i, name in enumerate(dtypes)}) if asked.nulls == "mask" else values


def _matrix(asked: TableRequest, pieces: TablePieces, grid: Grid, dtypes: dict[str, DType]) -> Any:
    kinds = {"number" if d.kind in NUMBERS else d.kind for d in dtypes.values()}
    if len(kinds) > 1:
        dtype_names = {name: str(d) for name, d in dtypes.items()}
        raise DTypeError(bad(asked.operation, "matrix", True, f"columns of one kind; these have {dtype_names}"))
    dtype, names = np.result_type(*dtypes.values()), tuple(dtypes)
    wide = Grid([*grid.axes, Axis.whole(len(names))])
    parts = [_read(asked, pieces, names, wide, dtype)]
    if asked.nulls == "mask":
        parts.append(_read(asked, pieces, names, wide, None))
    return (*parts, list(names))


def _read(asked: TableRequest, pieces: TablePieces, names: tuple[str, ...], grid: Grid, dtype: DType | None) -> Array:
    """Return an array of columns; of masks without a dtype.

    Columns that are fast to read are sources, which each computation reads again; rows of text are parsed once in a
    computation.
    """
    result_dtype = np.dtype(bool) if dtype is None else dtype
    if isinstance(pieces, CsvPieces):
        op = BlockFunction(
            "files.tables:columns", (pieces, names, dtype, asked.nulls, grid.ndim == 2), axes=(), where=True
        )
        return _fit(asked, make(op, (), grid, result_dtype))
    file = TableColumns(pieces, names, dtype, asked.nulls, grid.ndim == 2)
    data = HostData(None, in_place=False, file=file, label=asked.operation)
    return _fit(asked, wrap(Expr(Host(data), (), grid, result_dtype, origin.find_origin())))


def _fit(asked: TableRequest, x: Array) -> Array:
    """Return an array in the requested chunks."""
    if asked.chunks is None:
        return x
    chunks = asked.chunks
    if x.ndim == 2 and not isinstance(chunks, dict | tuple):
        chunks = (chunks, -1)
    return regrid(x, grid_for(asked.operation, chunks, x.shape, x.dtype, x.expr.grid))
