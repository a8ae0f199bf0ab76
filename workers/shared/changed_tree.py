"""A k-d tree that has changed, as functions on ranks see it: SciPy's trees of its parts, and what was erased."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["ChangedTree", "TreePart"]

Values = np.ndarray[Any, Any]


@dataclass(frozen=True)
class TreePart:
    """SciPy's tree of some points, and the index of each; None: they are 0, 1, 2 and so on."""

    tree: Any
    indexes: Values | None

    def indexes_of(self, places: Values, n: int) -> Values:
        """Return the indexes of points by their places in the tree; where there is none, `n`."""
        if not self.tree.n:
            return np.full(places.shape, n, np.intp)
        there = places < self.tree.n
        indexes = places if self.indexes is None else self.indexes[np.where(there, places, 0)]
        return np.where(there, indexes, n)


@dataclass(frozen=True)
class ChangedTree:
    """Answers as SciPy's `KDTree` of the points that are there; each keeps its index.

    Attributes
    ----------
    parts : tuple of TreePart
    erased : numpy.ndarray
        Indexes of points that the parts have, and the tree hasn't, in order.
    n : int
        Indexes that there are, those that were erased too; where no neighbour is, the answer is `n`.
    m : int
        Number of coordinates.
    """

    parts: tuple[TreePart, ...]
    erased: Values
    n: int
    m: int

    def query(
        self,
        x: Any,
        k: Any = 1,
        eps: float = 0.0,
        p: float = 2.0,
        distance_upper_bound: float = np.inf,
        workers: int = 1,
    ) -> tuple[Any, Any]:
        """Find the nearest points; see `scipy.spatial.KDTree.query`."""
        how = {"eps": eps, "p": p, "distance_upper_bound": distance_upper_bound, "workers": workers}
        points = np.asarray(x, np.float64)
        wanted = np.arange(1, k + 1) if np.ndim(k) == 0 else np.asarray(k)
        rows, most = points.reshape(-1, self.m), int(wanted.max())
        nearest = [self._nearest(part, rows, most, how) for part in self.parts]
        distances, indexes = (np.concatenate(each, axis=1) for each in zip(*nearest, strict=True))
        order = np.argsort(distances, axis=1, kind="stable")[:, wanted - 1]
        shape = points.shape[:-1] if np.ndim(k) == 0 and k == 1 else (*points.shape[:-1], len(wanted))
        best = (np.take_along_axis(each, order, axis=1).reshape(shape)[()] for each in (distances, indexes))
        return next(best), next(best)

    def query_ball_point(
        self,
        x: Any,
        r: Any,
        p: float = 2.0,
        eps: float = 0.0,
        workers: int = 1,
        return_sorted: bool | None = None,
        return_length: bool = False,
    ) -> Any:
        """Find the points within a distance; see `scipy.spatial.KDTree.query_ball_point`."""
        points = np.asarray(x, np.float64)
        lists = np.empty(points.shape[:-1], object)
        neighbors = [part.tree.query_ball_point(points, r, p, eps, workers) for part in self.parts]
        for at in np.ndindex(lists.shape):
            near = [
                self._kept(part, each[at] if lists.shape else each)
                for part, each in zip(self.parts, neighbors, strict=True)
            ]
            joined = np.concatenate(near)
            sort = return_sorted if return_sorted is not None else lists.ndim > 0
            lists[at] = (np.sort(joined) if sort else joined).tolist()
        if not return_length:
            return lists[()]
        counts = np.array([len(each) for each in lists.flat], np.intp).reshape(lists.shape)
        return counts[()]

    def _kept(self, part: TreePart, places: list[int]) -> Values:
        indexes = part.indexes_of(np.asarray(places, np.intp), self.n)
        return indexes[~self._is_erased(indexes)]

    def _is_erased(self, indexes: Values) -> Values:
        if not len(self.erased):
            return np.zeros(indexes.shape, bool)
        at = np.minimum(np.searchsorted(self.erased, indexes), len(self.erased) - 1)
        return np.asarray(self.erased[at] == indexes)

    def _nearest(self, part: TreePart, rows: Values, k: int, how: dict[str, Any]) -> tuple[Values, Values]:
        """Return distances and indexes of a part's nearest points: more are asked for where some are erased."""
        distances, indexes = np.full((len(rows), k), np.inf), np.full((len(rows), k), self.n, np.intp)
        open_rows, width = np.arange(len(rows)), k
        while len(open_rows):
            far, places = part.tree.query(rows[open_rows], k=np.arange(1, width + 1), **how)
            near = part.indexes_of(places, self.n)
            there = (near < self.n) & ~self._is_erased(near)
            first = np.argsort(~there, axis=1, kind="stable")[:, :k]
            kept = np.take_along_axis(there, first, axis=1)
            distances[open_rows] = np.where(kept, np.take_along_axis(far, first, axis=1), np.inf)
            indexes[open_rows] = np.where(kept, np.take_along_axis(near, first, axis=1), self.n)
            short = ~kept[:, -1] & (places[:, -1] < part.tree.n) & (width < part.tree.n)  # there may be farther ones
            open_rows, width = open_rows[short], min(2 * width + 1, part.tree.n)
        return distances, indexes
