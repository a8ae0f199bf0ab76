"""Positions, and elements put at some."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import windrow as wr

if TYPE_CHECKING:
    from collections.abc import Callable


def cases(a: dict[str, wr.Array], keep: Callable[[wr.Array], wr.Array]) -> dict[str, wr.Array]:
    """Numbers of elements, triangles, diagonals."""
    y, i = a["y"][:150, :200], a["i"][:40, :50]
    put, along, diagonal, added = y * 2, y * 2, y * 2, y * 2
    wr.add.at(added, (abs(i[0]) % 150, abs(i[1]) % 200), y[0, :50])
    put.put(np.arange(0, 30_000, 7), [1.5, 2.5, 3.5])
    wr.put_along_axis(along, along.argmax(axis=1, keepdims=True), -1, axis=1)
    wr.fill_diagonal(diagonal, [1, 2, 3])
    return {
        "unravel_index": wr.unravel_index(abs(i), (40, 50))[1],
        "ravel_multi_index": wr.ravel_multi_index((i, i.T[:40, :1]), (30, 20), mode="wrap"),
        "tril_indices": wr.tril_indices(60, 3)[1],
        "ix_": y[wr.ix_([5, 149, 0], wr.arange(200) % 3 == 0)],
        "put": put,
        "put_along_axis": along,
        "fill_diagonal": diagonal,
        "add.at": added,
        "add.reduceat": wr.add.reduceat(y, np.arange(0, 150, 7)),
        "view": y.view("i8"),
        "view-halves": y.view("u4"),
        "percentile-lazy": wr.percentile(y, y[0, :3] % 1, axis=1),
    }
