"""Sorting, sets, searching, quantiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import windrow as wr

if TYPE_CHECKING:
    from collections.abc import Callable


def cases(a: dict[str, wr.Array], keep: Callable[[wr.Array], wr.Array]) -> dict[str, wr.Array]:
    """Short and long axes of each operation."""
    x, i, line = a["x"], a["i"], a["line"]
    short = line[:70_100]  # just too long for one chunk
    whole = keep((short * 100).astype("i8"))
    values, first, inverse, counts = wr.unique_all(whole)
    return {
        "sort": wr.sort(x, 0),
        "sort-descending": wr.sort(i, descending=True),
        "sort-long": wr.sort(line),
        "sort-dealt": wr.sort(keep(line * 3)),
        "argsort": wr.argsort(x, 1),
        "argsort-long": wr.argsort(short),
        "partition": wr.partition(short, 100),
        "argpartition": wr.argpartition(short, 100),
        "lexsort": wr.lexsort((whole, whole % 7)),
        "topk-values": wr.topk(short, 9),
        "topk-indices": wr.argtopk(short, 9),
        "searchsorted": wr.searchsorted(wr.arange(-3, 3, 0.001, chunks=999), short),
        "digitize": wr.digitize(x, [-1.0, 0.0, 2.0]),
        "isin": wr.isin(i, [1, 5, 900]),
        "unique-values": values,
        "unique-indices": first,
        "unique-inverse": inverse,
        "unique-counts": counts,
        "unique-axis": wr.unique(i[:, :2] // 500, axis=0),
        "union1d": wr.union1d(whole, i[0]),
        "intersect1d": wr.intersect1d(whole, i[0]),
        "setdiff1d": wr.setdiff1d(whole, i[0]),
        "setxor1d": wr.setxor1d(whole, i[0]),
        "median": wr.median(x, 1),
        "nanmedian": wr.nanmedian(x, 0),
        "percentile": wr.percentile(line, [1, 50, 99]),
        "nanpercentile": wr.nanpercentile(x[:, :50], 30),
        "quantile": wr.quantile(x, [0.1, 0.9], axis=0, method="hazen"),
        "nanquantile": wr.nanquantile(line, 0.3),
    }
