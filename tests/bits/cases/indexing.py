"""Indexing, setting, searching: positions known and lazy, masks at any place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import windrow as wr

if TYPE_CHECKING:
    from collections.abc import Callable


def cases(a: dict[str, wr.Array], keep: Callable[[wr.Array], wr.Array]) -> dict[str, wr.Array]:
    """One entry for each way of reading or writing elements by position."""
    x, y, i, f, line = (a[name] for name in ("x", "y", "i", "f", "line"))
    generator = np.random.default_rng(3)
    rows, columns = generator.integers(-300, 300, 700), generator.integers(-420, 420, 700)
    lazy_rows = wr.from_array(rows, chunks=111)
    chosen = keep(y[0] > 0.9)
    found = {
        "source-swapped": wr.from_array(rows.astype(">i4"), chunks=3),
        "source-swapped-text": wr.from_array(rows.astype(">U4"), chunks=3),
        "source-swapped-sum": wr.from_array(rows.astype(">f8"), chunks=3).sum(),
        "index-points": y[rows, columns],
        "index-points-apart": wr.stack([y, f])[:, rows[:9], 5:90:3],
        "index-integers-2d": y[rows.reshape(20, 35), ::-50],
        "index-mask-2d": y[y > 1.4],
        **{f"selected-{name}": getattr(wr, name)(y[y > 1.1]) for name in ("sum", "mean", "std", "max")},
        "index-mask-known": x[np.arange(300) % 3 == 0],
        "index-lazy": y[lazy_rows],
        "index-lazy-points": y[lazy_rows, columns],
        "index-lookup": y[:3][:, wr.from_array(columns, chunks=100)],
        "index-mask-last": y[:, chosen],
        "index-masks": y[wr.from_array(np.arange(300) < 9), wr.from_array(np.arange(420) < 9)],
        "nonzero": wr.nonzero(i > 900)[1],
        "argwhere": wr.argwhere(i > 900),
        "flatnonzero": wr.flatnonzero(x > 1e6),
        "take_along_axis": wr.take_along_axis(y, wr.from_array(columns.reshape(1, 700) % 420, chunks=99), 1),
        "choose": wr.choose(i % 3, [x, y, f]),
        "compress": wr.compress(line > 2, line),
        "extract": wr.extract(y > 1.45, y),
        "delete": wr.delete(y, [3, 4, 5, 200, -1], 0),
        "insert": wr.insert(y, [7, 100], f[:2], 0),
        "insert-many": wr.insert(y, np.arange(0, 180, 2), f[:1], 0),
        "delete-many": wr.delete(y, np.arange(0, 180, 2), 0),
        "repeat": wr.repeat(y, 3, 1),
        "tile": wr.tile(y[:90], (3, 2)),
        "append": wr.append(y, f, 1),
    }
    for name, key, value in (
        ("slice", np.s_[10:200:3, ::-7], f[:64, :60]),
        ("number", np.s_[5], 1.5),
        ("points", (rows, columns), line[:700]),
        ("rows", (lazy_rows,), 7),
        ("mask-number", (y > 1.0,), -1),
        ("mask-row", (y[:, 0] > 1.0,), f[0]),
        ("mask-column", (slice(None), chosen), f[:, :1]),
    ):
        changed = y.copy()
        changed[key] = value
        found[f"set-{name}"] = changed
    some = y.copy()
    for k in range(200):
        some[k, 2 * k] = k if k % 3 else f[k, k]
    found["set-elements"] = some
    dealt = line.copy()
    dealt[line > 0.5] *= 2
    chain = y.copy()
    for k in range(5):
        chain[k + 1] = chain[k] + f[k]
    return found | {"set-dealt": dealt, "set-chain": chain}
