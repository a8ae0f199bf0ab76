"""Statistics, NumPy's other names, and users' own operations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import windrow as wr

if TYPE_CHECKING:
    from collections.abc import Callable


def ends(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A generalised function of two results."""
    return x.min(axis=-1), x.argmax(axis=-1)


def cases(a: dict[str, wr.Array], keep: Callable[[wr.Array], wr.Array]) -> dict[str, wr.Array]:
    """One expression or more for each operation."""
    x, y, i, f, line = (a[name] for name in ("x", "y", "i", "f", "line"))
    holes = keep(wr.where(y > 1, y, np.nan))
    table = keep(y[:, :12])
    counts, edges = wr.histogram(line, 50)
    plane, *_ = wr.histogram2d(y[0], y[1], (4, 5))
    low, place = wr.apply_gufunc(ends, "(i)->(),()", table)
    placed, copied = i + 0, i + 0
    wr.place(placed, i > 500, [1, 2, 3])
    wr.copyto(copied, f, casting="unsafe", where=i < 0)
    return {
        **{f"{name}-1": getattr(wr, name)(holes, axis=1) for name in ("nansum", "nanmean", "nanvar", "nanargmin")},
        **{f"{name}-all": getattr(wr, name)(holes) for name in ("nanprod", "nanmin", "nanmax", "nanstd", "nanargmax")},
        "nansum-x": wr.nansum(x),
        "histogram": counts,
        "histogram-edges": edges,
        "histogram-weights": wr.histogram(y, 30, (0.5, 1.5), weights=f)[0],
        "histogram-density": wr.histogram(line, [-2, -1, 0, 0.5, 3], density=True)[0],
        "histogram-sturges": wr.histogram(line, "sturges")[0],
        "histogram2d": plane,
        "bincount": wr.bincount(abs(i[3])),
        "bincount-weights": wr.bincount(abs(i[3]), y[3]),
        "cov": wr.cov(table, rowvar=False, aweights=y[:, 20]),
        "corrcoef": wr.corrcoef(table.T),
        "average": wr.average(y, 0, f),
        "allclose": wr.allclose(y, f),
        "array_equal": wr.array_equal(y, y.T.T),
        "block": wr.block([[table, table[:, :3]], [i[:2, :15]]]),
        "array_split": wr.concatenate(wr.array_split(line, 7)[::-1]),
        "dstack": wr.dstack([table, table]),
        "column_stack": wr.column_stack([line[:300], table]),
        "meshgrid": wr.meshgrid(line[:40], y[0, :30])[0],
        "indices": wr.indices((30, 40), chunks=17),
        "mgrid": wr.mgrid[0:1:11j, 3:9],
        "geomspace": wr.geomspace(1, 1000, 101, chunks=30),
        "logspace": wr.logspace(0, 2, 50, chunks=30),
        "select": wr.select([y > 1.2, x > 0], [x, f]),
        "piecewise": wr.piecewise(y, [y > 1], [wr.sqrt, 0.5]),
        "place": placed,
        "copyto": copied,
        "resize": wr.resize(i[0], (7, 99)),
        "trim_zeros": wr.trim_zeros(wr.where(i[5] > 900, i[5], 0)),
        "packbits": wr.packbits(i > 0, 1),
        "unpackbits": wr.unpackbits((i[:20] % 256).astype("u1"), 0),
        "apply_gufunc-low": low,
        "apply_gufunc-place": place,
        "blockwise": wr.blockwise(np.multiply, "ji", y.T, "ji", f.T, "ji"),
        "reduction": wr.reduction(y, np.sum, np.sum, 0),
        "apply_along_axis": wr.apply_along_axis(np.sort, 0, table),
        "vectorize": wr.vectorize(max, otypes=[float])(table[:20], 1.0),
    }
