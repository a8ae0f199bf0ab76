"""SciPy's k-d trees, once a host, asked over lazy arrays of points, and changed between computations.

Points that come in lie in a second, small tree, and points that go are listed. Both are shared anew with each change,
and what was made before keeps those of then. When they are many, one tree is built of all.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.arguments import is_integer
from ...graph.errors import ArgumentError, BadValue, IndexingError, ShapeError, bad
from ...scheduler.shared.shared_objects import share
from ...workers.shared.changed_tree import ChangedTree, TreePart
from ..base import ArrayBase, plain_array
from ..execution.compute import compute_array
from ..user_functions.gufunc import apply_gufunc

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..typing import ArrayLike

FEW = 4096
"""Points that may have come in, or gone, before one tree is built of all; an eighth of a larger tree."""


class KDTree:
    """SciPy's k-d tree where all ranks see it: built once, its memory shared by all ranks of a host.

    In functions that run on ranks it is SciPy's `KDTree`; once it has been changed it answers `query` and
    `query_ball_point` as that does. In the script it answers for lazy arrays of points, lazily. What is lazy sees the
    points that were there when it was made.

    Parameters
    ----------
    points : array_like or Array
        Coordinates, a row for each point. A lazy array is computed.
    **options : any
        As for `scipy.spatial.KDTree`: leafsize, balanced_tree, boxsize and others.

    Attributes
    ----------
    n : int
        Number of indexes: of points that are there or were erased. `len(tree)` is the number of those that are there.
    m : int
        Number of coordinates.
    nbytes : int
        What it takes, once a host.

    Raises
    ------
    ArgumentError
        SciPy is not installed, or takes no such points.

    >>> import numpy as np
    >>> import windrow as wr
    >>> tree = wr.shared.KDTree([[0.0, 0.0], [1.0, 1.0], [5.0, 5.0]])
    >>> points = wr.from_array(np.array([[0.9, 1.0], [4.0, 5.0]]), chunks=1)
    >>> distance, index = tree.query(points)
    >>> index.compute()
    array([1, 2])
    """

    def __init__(self, points: ArrayLike, **options: Any) -> None:
        point_array = _read_points("KDTree", points)
        self._options = options
        self._there = np.ones(len(point_array), bool)
        self._beside = self._erased = np.zeros(0, np.intp)
        self._shared = share(self._build("KDTree", point_array))
        self._more: Any = None
        self._gone: Any = None
        self._indexes: Any = None
        self.m = int(self._shared.value.m)

    @property
    def n(self) -> int:
        """Number of indexes: of points that are there or were erased."""
        return len(self._there)

    @property
    def nbytes(self) -> int:
        """What it takes, once a host."""
        return sum(each.nbytes for each in (self._shared, self._more, self._gone, self._indexes) if each is not None)

    def __len__(self) -> int:
        return int(np.count_nonzero(self._there))

    def __reduce__(self) -> Any:
        if self._is_plain:
            return self._shared.__reduce__()
        return _changed_tree, (self._shared, self._indexes, self._more, self._gone, self.n)

    def __repr__(self) -> str:
        return f"<shared KDTree: {len(self)} points of {self.m} coordinates>"

    @property
    def _is_plain(self) -> bool:
        return self._more is None and self._gone is None and self._indexes is None

    @property
    def _view(self) -> Any:
        """What answers in the script."""
        if self._is_plain:
            return self._shared.value
        indexes, more, gone = (None if each is None else each.value for each in (self._indexes, self._more, self._gone))
        return _changed_tree(self._shared.value, indexes, more, gone, self.n)

    def insert(self, points: ArrayLike) -> np.ndarray[Any, Any]:
        """Add points.

        Parameters
        ----------
        points : array_like or Array
            Coordinates, a row for each point. A lazy array is computed.

        Returns
        -------
        numpy.ndarray
            Their indexes, which follow those that there were.

        Raises
        ------
        ArgumentError
            They are no real numbers, or SciPy takes no such points.
        ShapeError
            They have another number of coordinates.

        Notes
        -----
        Many points at once take little longer than one.

        >>> tree = wr.shared.KDTree([[0.0], [5.0]])
        >>> tree.insert([[2.4]])
        array([2])
        >>> tree.query(wr.arange(4.0, chunks=2)[:, None])[1].compute()
        array([0, 0, 2, 2])
        """
        point_array = _read_points("insert", points)
        if point_array.ndim != 2 or point_array.shape[1] != self.m:
            raise ShapeError(
                bad("insert", "points", point_array.shape, f"a row of {self.m} coordinates for each point")
            )
        fresh = np.arange(self.n, self.n + len(point_array))
        if len(point_array):
            there = np.concatenate([self._there, np.ones(len(point_array), bool)])
            coordinates = np.concatenate([self._coordinates_beside(), point_array])
            self._change("insert", there, np.concatenate([self._beside, fresh]), coordinates, self._erased)
        return fresh

    def erase(self, indexes: ArrayLike) -> None:
        """Take points out; other points keep their indexes.

        Parameters
        ----------
        indexes : array_like or Array
            Indexes of points, each once. A lazy array is computed.

        Raises
        ------
        ArgumentError
            They are no integers.
        IndexingError
            There is no such point, or it is erased already.
        BadValue
            An index is there twice.

        >>> tree = wr.shared.KDTree([[0.0], [1.0], [5.0]])
        >>> tree.erase([1])
        >>> tree.query(wr.arange(4.0, chunks=2)[:, None])[1].compute(), len(tree)
        (array([0, 0, 0, 2]), 2)
        """
        positions = (
            compute_array(indexes) if isinstance(indexes, ArrayBase) else plain_array("erase", "indexes", indexes)
        )
        if positions.size and positions.dtype.kind not in "iu":
            raise ArgumentError(bad("erase", "indexes", positions.dtype, "integers"))
        positions = positions.reshape(-1).astype(np.intp)
        odd = positions[(positions < 0) | (positions >= self.n)]
        odd = odd if len(odd) else positions[~self._there[positions]]
        if len(odd):
            raise IndexingError(bad("erase", "indexes", int(odd[0]), f"one of the {len(self)} points that are there"))
        if len(np.unique(positions)) < len(positions):
            raise BadValue(bad("erase", "indexes", "an index twice", "each once"))
        if len(positions):
            there = self._there.copy()
            there[positions] = False
            erased = np.union1d(self._erased, positions)
            self._change("erase", there, self._beside, self._coordinates_beside(), erased)

    def _build(self, operation: str, points: np.ndarray[Any, Any]) -> Any:
        """Return SciPy's tree of some points."""
        try:
            from scipy.spatial import KDTree as Tree
        except ImportError:
            raise ArgumentError("KDTree: SciPy is not installed; pip install scipy") from None
        try:
            return Tree(points, **self._options)
        except (TypeError, ValueError) as error:
            came = f"of shape {points.shape} and dtype {points.dtype}"
            options = ", ".join(f"{name}={value!r}" for name, value in self._options.items())
            came += f", with {options}" if options else ""
            raise ArgumentError(f"{operation}: argument 'points' is {came}: SciPy says: {error}") from error

    def _coordinates_beside(self) -> np.ndarray[Any, Any]:
        return np.zeros((0, self.m)) if self._more is None else np.asarray(self._more.value.tree.data)

    def _change(
        self,
        operation: str,
        there: np.ndarray[Any, Any],
        beside: np.ndarray[Any, Any],
        coordinates: np.ndarray[Any, Any],
        erased: np.ndarray[Any, Any],
    ) -> None:
        """Have these points there: by a second tree and a list, or where these are large by one tree of all."""
        main = self._shared.value
        if len(beside) + len(erased) > max(FEW, main.n // 8):
            indexes = np.concatenate([np.arange(main.n) if self._indexes is None else self._indexes.value, beside])
            kept = there[indexes]
            tree = self._build(operation, np.concatenate([main.data, coordinates])[kept])
            self._shared, self._indexes, self._more, self._gone = share(tree), share(indexes[kept]), None, None
            beside = erased = np.zeros(0, np.intp)
        elif len(beside) > len(self._beside):
            self._more = share(TreePart(self._build(operation, coordinates), beside))
        else:
            self._gone = share(erased)
        self._there, self._beside, self._erased = there, beside, erased

    def query(
        self, x: ArrayLike, k: int = 1, eps: float = 0.0, p: float = 2.0, distance_upper_bound: float = np.inf
    ) -> tuple[Any, Any]:
        """Find the nearest points.

        Parameters
        ----------
        x : array_like or Array
            Points to ask for; the last axis has their coordinates.
        k : int
            How many neighbours.
        eps, p, distance_upper_bound : float
            As for `scipy.spatial.KDTree.query`.

        Returns
        -------
        distances, indexes : numpy.ndarray or Array
            For each point; with `k` over 1 the neighbours lie along a last axis. Lazy where `x` is. Where there are no
            so many neighbours, distances are inf and indexes `n`.

        Raises
        ------
        ArgumentError
            `k` is not a positive integer.
        ShapeError
            Points have another number of coordinates.

        >>> tree = wr.shared.KDTree([[0.0], [1.0], [5.0]])
        >>> distance, index = tree.query(wr.arange(3.0, chunks=2)[:, None], k=2)
        >>> index.compute()
        array([[0, 1],
               [1, 0],
               [1, 0]])
        """
        if not is_integer(k) or k < 1:
            raise ArgumentError(bad("query", "k", k, "a positive integer"))
        _check_reals("query", eps=eps, p=p, distance_upper_bound=distance_upper_bound)
        keywords = {"k": int(k), "eps": eps, "p": p, "distance_upper_bound": distance_upper_bound}
        x = self._check("query", x)
        ask = _Ask(self, "query", keywords)
        if not isinstance(x, ArrayBase):
            nearest: tuple[Any, Any] = self._view.query(x, **keywords)
            return nearest
        signature = "(d)->(),()" if k == 1 else "(d)->(k),(k)"
        lazily: Callable[..., Any] = partial(apply_gufunc, output_sizes={} if k == 1 else {"k": int(k)})
        distance, index = lazily(ask, signature, x, output_dtypes=[np.float64, np.intp])
        return distance, index

    def count_neighbors(self, x: ArrayLike, r: float, p: float = 2.0, eps: float = 0.0) -> Any:
        """Count the points within a distance, as `query_ball_point(return_length=True)` does.

        Parameters
        ----------
        x : array_like or Array
            Points to ask for; the last axis has their coordinates.
        r : float
            The distance.
        p, eps : float
            As for `scipy.spatial.KDTree.query_ball_point`.

        Returns
        -------
        numpy.ndarray or Array
            A number for each point. Lazy where `x` is.

        Raises
        ------
        ShapeError
            Points have another number of coordinates.

        >>> tree = wr.shared.KDTree([[0.0], [1.0], [5.0]])
        >>> tree.count_neighbors(wr.arange(4.0, chunks=2)[:, None], 1.5).compute()
        array([2, 2, 1, 0])
        """
        keywords = {"r": r, "p": p, "eps": eps, "return_length": True}
        x = self._check("count_neighbors", x)
        _check_reals("count_neighbors", r=r, p=p, eps=eps)
        if not isinstance(x, ArrayBase):
            return self._view.query_ball_point(x, **keywords)
        ask = _Ask(self, "query_ball_point", keywords)
        return apply_gufunc(ask, "(d)->()", x, output_dtypes=[np.intp])

    def _check(self, operation: str, x: ArrayLike) -> Any:
        points = x if isinstance(x, ArrayBase) else plain_array(operation, "x", x)
        _check_points(operation, "x", points.dtype)
        if not points.ndim or points.shape[-1] != self.m:
            raise ShapeError(
                f"{operation}: argument 'x' has shape {points.shape}; expected points of {self.m} coordinates along "
                "the last axis"
            )
        return points


def _changed_tree(tree: Any, indexes: Any, more: Any, erased: Any, n: int) -> ChangedTree:
    """Return what answers for a tree that has changed, of parts that are shared; called by pickles."""
    parts = (TreePart(tree, indexes), *(() if more is None else (more,)))
    return ChangedTree(parts, np.zeros(0, np.intp) if erased is None else erased, n, int(tree.m))


def _read_points(operation: str, points: ArrayLike) -> np.ndarray[Any, Any]:
    point_array = compute_array(points) if isinstance(points, ArrayBase) else plain_array(operation, "points", points)
    _check_points(operation, "points", point_array.dtype)
    return point_array


def _check_points(operation: str, name: str, dtype: np.dtype[Any]) -> None:
    if dtype.kind not in "biuf":
        raise ArgumentError(f"{operation}: argument '{name}' has dtype {dtype}; expected real numbers")


def _check_reals(operation: str, **given: Any) -> None:
    """Raise for a parameter that is no real number: it holds for all points."""
    for name, value in given.items():
        if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
            raise ArgumentError(bad(operation, name, value, "a real number"))
    if not given.get("p", 1) >= 1:
        raise ArgumentError(bad(operation, "p", given["p"], "a number from 1 on"))


@dataclass(frozen=True)
class _Ask:
    """A question to a tree, which on ranks is SciPy's own."""

    tree: Any
    method: str
    keywords: dict[str, Any]

    def __call__(self, points: Any) -> Any:
        """Ask it for some points."""
        return getattr(self.tree, self.method)(np.ascontiguousarray(points), **self.keywords)
