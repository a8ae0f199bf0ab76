"""Writing columns to a folder of files: a file for a run of chunks, each written by the rank that has them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.chunks.grid import Axis, Grid
from ....graph.errors import ArgumentError, DTypeError, ShapeError, bad
from ....graph.kinds.mapping import BlockFunction
from ....workers.sources.arrow_folder import file_name
from ...base import ArrayBase, as_array_nocopy, make
from ...chunking.rechunk import align_chunks, regrid
from ...execution.deferred import evaluate
from ..glob import location, read_options
from ..writing.atomic_write import runs_of, write_once
from ..writing.new_folder import check_files, new_folder

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...array import Array
    from ...typing import PathLike, TableLike
    from ..glob import Options


def write_table(
    operation: str,
    path: PathLike,
    x: TableLike,
    overwrite: bool,
    ending: str,
    storage_options: Mapping[str, Any] | None,
) -> None:
    """Compute arrays and write them as the columns of a folder of files, which appears when it is complete."""
    options = read_options(operation, storage_options)
    target = location(operation, path, options)
    names, arrays = _columns(operation, x)
    for name, array in zip(names, arrays, strict=False):
        _check_column(operation, name, array)
    work = partial(_write, operation, ending, target, options, overwrite, names)
    write_once(operation, target, overwrite, arrays, work)


def _write(
    operation: str, ending: str, target: str, options: Options, overwrite: bool, names: list[str], *arrays: Array
) -> None:
    runs = runs_of(Grid(arrays[0].expr.grid.axes[:1]), sum(_row_bytes(a) for a in arrays))
    (merged,) = runs.merged.axes
    fitted = [regrid(a, Grid([merged, *(Axis.whole(n) for n in a.shape[1:])])) for a in arrays]
    operand_axes = tuple((0,) if a.ndim == 1 else (0, None) for a in arrays)
    with new_folder(operation, target, options, overwrite, _ours(ending)) as folder:
        op = BlockFunction(f"files.files:{operation}", (folder, tuple(names), runs), axes=operand_axes, where=True)
        written = make(op, fitted, Grid([Axis.regular(runs.counts[0], 1)]), np.int64)
        (sizes,) = evaluate([written.expr])
        check_files(operation, folder, [file_name(i, ending) for i in range(sizes.size)], sizes)


def _ours(ending: str) -> Callable[[list[str]], bool]:
    return lambda names: all(n.endswith(f".{ending}") and "/" not in n for n in names)


def _row_bytes(x: ArrayBase) -> int:
    return x.dtype.itemsize * (x.shape[1] if x.ndim == 2 else 1)


def _columns(operation: str, x: Any) -> tuple[list[str], list[Array]]:
    """Return the columns' names, and 1-D arrays, or one 2-D array of all columns."""
    if not isinstance(x, Mapping):
        array = as_array_nocopy(operation, "x", x)
        if array.ndim not in (1, 2) or (array.ndim == 2 and not array.shape[1]):
            raise ShapeError(bad(operation, "x", array.shape, "a 1-D array, or a 2-D one with columns"))
        return ["values"] if array.ndim == 1 else [str(i) for i in range(array.shape[1])], [array]
    if not x or not all(isinstance(name, str) for name in x):
        raise ArgumentError(bad(operation, "x", list(x), "columns whose names are text"))
    arrays = [as_array_nocopy(operation, f"x[{name!r}]", value) for name, value in x.items()]
    shapes = {a.shape for a in arrays}
    if len(shapes) > 1 or len(next(iter(shapes))) != 1:
        raise ShapeError(bad(operation, "x", sorted(shapes), "1-D arrays of one length"))
    return list(x), align_chunks(operation, arrays)[1]


def _check_column(operation: str, name: str, array: ArrayBase) -> None:
    kind = array.dtype.kind
    fits = kind in "biufUS" and (array.dtype.itemsize <= 8 or kind in "US")
    units = ("s", "ms", "us", "ns", "D") if kind == "M" else ("s", "ms", "us", "ns")
    dated = kind in "mM" and np.datetime_data(array.dtype) in [(unit, 1) for unit in units]
    if not (array.dtype.isnative and (fits or (dated and (operation, kind) != ("to_csv", "m")))):
        expected = "bool, integers, real numbers, texts, dates and times in s to ns"
        raise DTypeError(bad(operation, f"x[{name!r}]", array.dtype, expected))
