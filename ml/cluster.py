"""K-means by Lloyd's iterations. Assignments and sums are computed block by block, so the result is exact."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn import cluster as own
from sklearn.exceptions import ConvergenceWarning

from ..arrays.base import ArrayBase, make
from ..arrays.execution.compute import persist
from ..arrays.interop.spaces import publish_space
from ..arrays.user_functions.travel.pickling import payload
from ..graph.chunks.grid import Grid
from ..graph.errors import ShapeError, bad
from ..graph.expr import names
from ..graph.kinds.mapping import MapBlocks
from ..workers.public_api import warn
from .docstrings import ESTIMATORS
from .estimators.lloyd import costs, distances, farthest, nearest, sums
from .fitted import Lazily
from .rows import by_block, finite, is_lazy, learn_names, samples, some_weight, total, weights

if TYPE_CHECKING:
    from typing import Self

    from ..arrays.array import Array

__all__ = ["KMeans"]

Values = np.ndarray[Any, Any]


class KMeans(Lazily, own.KMeans):
    """Scikit-learn's `KMeans`; Windrow arrays are clustered by exact iterations of Lloyd over their chunks.

    Parameters
    ----------
    init : {'k-means++', 'random'}, callable, or array of shape (n_clusters, features), default='k-means++'
        The initial centres. For Windrow arrays "k-means++" means k-means|| (Bahmani et al., 2012). "random" draws
        rows. A function is called with the rows, `n_clusters` and `random_state`, and returns centres.

    Notes
    -----
    Rows are persisted while the model is fitted. `labels_` is a lazy array, and isn't pickled.
    `algorithm`, `copy_x` and `verbose` are ignored for Windrow arrays. With the same
    initial centres the result is scikit-learn's up to rounding; drawn initial centres differ from scikit-learn's.

    >>> import numpy as np
    >>> import windrow as wr
    >>> from windrow.ml.cluster import KMeans
    >>> X = wr.random.default_rng(1).normal(size=(1000, 2), chunks=(100, 2))
    >>> X = wr.concatenate([X, X + 50])
    >>> model = KMeans(2, n_init=1, random_state=0).fit(X)
    >>> sorted(model.cluster_centers_[:, 0].round(-1) + 0.0)
    [np.float64(0.0), np.float64(50.0)]
    """

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the centres.

        Parameters
        ----------
        {X, no_y, sample_weight}

        Returns
        -------
        self
            With `cluster_centers_`, `labels_` (lazy), `inertia_` and `n_iter_`.

        Raises
        ------
        ShapeError
            `X` isn't 2-D, or has no rows or no features, or fewer rows than centres; `sample_weight` hasn't one entry
            for each row; centres to start with have another shape.
        {DTypeError, BadValue, ValueError}
        """
        if not is_lazy(X, sample_weight):
            super().fit(X, y, sample_weight)
            return self
        self._validate_params()
        arrays = [samples("KMeans.fit", X)]
        if sample_weight is not None:
            arrays.append(weights("KMeans.fit", sample_weight, arrays[0]))
            some_weight("KMeans.fit", arrays[1], negative=False)
        arrays = list(persist(*arrays))
        rows = arrays[0]
        if rows.shape[0] < self.n_clusters:
            raise ShapeError(bad("KMeans.fit", "X", rows.shape, f"at least {self.n_clusters} rows"))
        runs = 1 if self.n_init == "auto" or not isinstance(self.init, str) else int(self.n_init)
        seeds = np.random.SeedSequence(_seed(self.random_state)).spawn(runs)
        tolerance = self.tol * float(rows.var(axis=0).mean()) if self.tol else 0.0
        finite("KMeans.fit", X=tolerance)
        solutions = [self._lloyd(arrays, tolerance, np.random.default_rng(seed)) for seed in seeds]
        self.inertia_, centres, self.n_iter_, settled = min(solutions, key=lambda run: run[0])
        if not settled and self.tol > 0:
            message = f"KMeans: no convergence in max_iter={self.max_iter} iterations"
            warn(message, ConvergenceWarning)
        self.cluster_centers_ = centres.astype(rows.dtype)
        learn_names(self, X)
        self.n_features_in_, self._n_features_out, self._n_threads = rows.shape[1], self.n_clusters, 1
        origin = centres.mean(axis=0)
        packed = payload("KMeans", nearest, (centres - origin, origin), {})
        grid = Grid(rows.expr.grid.axes[:1])
        self.labels_ = make(MapBlocks(packed, ((0, None),)), (rows,), grid, np.int32)
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled and sent to ranks: all but lazy labels."""
        state: Any = super().__getstate__()
        return {name: value for name, value in state.items() if not isinstance(value, ArrayBase)}

    def _lloyd(
        self, arrays: list[Array], tolerance: float, rng: np.random.Generator
    ) -> tuple[float, Values, int, bool]:
        centres = self._start(arrays, rng)
        origin = centres.mean(axis=0)
        centres = centres - origin
        k, d = centres.shape
        settled, turns = False, 0
        while turns < self.max_iter and not settled:
            turns += 1
            cluster_sums = total(sums, arrays, (k, d + 1), centres, origin)
            finite("KMeans.fit", X=cluster_sums)
            moved = _move_centres(arrays, cluster_sums, centres, origin)
            shift, centres = float(((moved - centres) ** 2).sum()), moved
            settled = shift <= tolerance
        return float(total(costs, arrays, (), centres, origin)), centres + origin, turns, settled

    def _start(self, arrays: list[Array], rng: np.random.Generator) -> Values:
        rows = arrays[0]
        if not isinstance(self.init, str):
            initial = self.init(rows, self.n_clusters, random_state=rng) if callable(self.init) else self.init
            centres = np.asarray(initial, np.float64)
            if centres.shape != (self.n_clusters, rows.shape[1]):
                expected = f"centres of shape {(self.n_clusters, rows.shape[1])}"
                raise ShapeError(bad("KMeans.fit", "init", centres.shape, expected))
            return centres
        if self.init == "random":
            return _draw_rows(arrays, self.n_clusters, rng)
        return _scalable(arrays, self.n_clusters, rng)


def _seed(state: Any) -> Any:
    if state is None:
        return names.entropy("seed")
    if isinstance(state, int | np.integer):
        return state
    return int(state.randint(0, 2**31 - 1))


def _draw_rows(arrays: list[Array], count: int, rng: np.random.Generator) -> Values:
    """Return rows drawn by their weights; rows of weight zero only where there are too few others."""
    rows, *weighted = arrays
    if not weighted:
        chosen = rng.choice(rows.shape[0], count, replace=False)
    else:
        weight = np.asarray(weighted[0].compute())
        some = min(count, int(np.count_nonzero(weight)))
        chosen = rng.choice(len(weight), some, replace=False, p=weight / weight.sum())
        chosen = np.concatenate([chosen, np.flatnonzero(weight == 0)[: count - some]])
    return np.asarray(rows[np.sort(chosen)].compute(), np.float64)


def _move_centres(arrays: list[Array], found: Values, centres: Values, origin: Values) -> Values:
    """Return the mean of each centre's rows; a centre without rows moves to a row far from its own centre."""
    sums_of, counts = found[:, :-1].copy(), found[:, -1].copy()
    empty = np.flatnonzero(counts == 0)
    if len(empty):
        width = 3 + arrays[0].shape[1]
        packed = by_block(farthest, arrays, (len(empty), width), centres, origin, len(empty))
        far = packed.compute().reshape(-1, width)
        far = far[~np.isnan(far[:, 0])]
        far = far[np.argsort(-far[:, 0], kind="stable")][: len(empty)]
        for to, (_, label, weight, *row) in zip(empty, far, strict=False):
            place = (np.asarray(row) - origin) * weight
            sums_of[int(label)] -= place
            counts[int(label)] -= weight
            sums_of[to], counts[to] = place, weight
    some = counts > 0
    return np.where(some[:, None], sums_of / np.where(some, counts, 1.0)[:, None], centres)


def _square_distances(X: Values, centres: Values) -> Values:
    """Return each row's squared distance from the nearest centre."""
    return distances(X, centres - centres[0], centres[0])


def _cost(X: Values, *more: Values) -> Values:
    *weights, centres = more
    squared_distances = _square_distances(X, centres)
    return np.asarray(weights[0] @ squared_distances if weights else squared_distances.sum())


def _pick_rows(X: Values, *more: Any, block: int) -> Values:
    """Return rows drawn with a chance proportional to weight times squared distance; unused places are NaN."""
    *weights, centres, rate, seeds = more
    rng, most = np.random.default_rng((*seeds, block)), seeds[0]
    cost = _square_distances(X, centres) * weights[0] if weights else _square_distances(X, centres)
    chance = np.minimum(cost * rate, 1.0)
    rows = np.flatnonzero(rng.random(len(X)) < chance)[:most]
    out = np.full((most, X.shape[1]), np.nan)
    out[: len(rows)] = X[rows]
    return out


def _counts(X: Values, *more: Values) -> Values:
    *weights, centres = more
    labels = nearest(X, centres - centres[0], centres[0])
    return np.asarray(np.bincount(labels, weights[0] if weights else None, len(centres)), np.float64)


def _scalable(arrays: list[Array], k: int, rng: np.random.Generator) -> Values:
    """Choose initial centres by k-means||: a few passes draw rows far from the centres so far; these are clustered.

    B. Bahmani, B. Moseley, A. Vattani, R. Kumar, S. Vassilvitskii: Scalable K-Means++, PVLDB 5 (2012).
    """
    rows = arrays[0]
    centres = _draw_rows(arrays, 1, rng)
    draws = 2 * k
    for turn in range(5):
        cost = float(total(_cost, arrays, (), centres))
        if cost == 0.0:
            break
        seeds = (draws, int(rng.integers(2**31)), turn)
        packed = by_block(_pick_rows, arrays, (draws, rows.shape[1]), centres, draws / cost, seeds, numbered=True)
        drawn = packed.compute().reshape(-1, rows.shape[1])
        centres = np.concatenate([centres, drawn[~np.isnan(drawn[:, 0])]])
    weights = total(_counts, arrays, (len(centres),), centres)
    if len(centres) < k:
        return np.concatenate([centres, _draw_rows(arrays, k - len(centres), rng)])
    seed = int(rng.integers(2**31 - 1))
    start, _ = own.kmeans_plusplus(centres, k, sample_weight=np.maximum(weights, 1e-12), random_state=seed)
    kmeans: Any = own.KMeans
    fitted = kmeans(k, init=start, n_init=1, max_iter=100).fit(centres, sample_weight=np.maximum(weights, 1e-12))
    return np.asarray(fitted.cluster_centers_, np.float64)


ESTIMATORS.fill(__name__)
publish_space(__name__, "ml.cluster")
