"""SciPy's k-d trees, once a host, asked over lazy arrays of points."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.arguments import is_integer
from ...graph.errors import ArgumentError, ShapeError, bad
from ...scheduler.sharing import share
from ..base import ArrayBase, plain_array
from ..execution.compute import compute_array
from ..user_functions.gufunc import apply_gufunc

if TYPE_CHECKING:
    from collections.abc import Callable


class KDTree:
    """SciPy's k-d tree where all ranks see it: built once, its memory shared by all ranks of a host.

    In functions that run on ranks it is SciPy's `KDTree`. In the script it answers for lazy arrays of points, lazily.

    Parameters
    ----------
    points : array_like or Array
        Coordinates, a row for each point. A lazy array is computed.
    **options : any
        As for `scipy.spatial.KDTree`: leafsize, balanced_tree, boxsize and others.

    Attributes
    ----------
    n : int
        Number of points.
    m : int
        Number of coordinates.
    nbytes : int
        What it takes, once a host.

    Raises
    ------
    ArgumentError
        SciPy is not installed, or takes no such points.

    Examples
    --------
    >>> import numpy as np
    >>> import windrow as wr
    >>> tree = wr.shared.KDTree([[0.0, 0.0], [1.0, 1.0], [5.0, 5.0]])
    >>> points = wr.from_array(np.array([[0.9, 1.0], [4.0, 5.0]]), chunks=1)
    >>> distance, index = tree.query(points)
    >>> index.compute()
    array([1, 2])
    """

    def __init__(self, points: Any, **options: Any) -> None:
        try:
            from scipy.spatial import KDTree as Tree
        except ImportError:
            raise ArgumentError("KDTree: SciPy is not installed; pip install scipy") from None
        given = compute_array(points) if isinstance(points, ArrayBase) else plain_array("KDTree", "points", points)
        _check_points("KDTree", "points", given.dtype)
        try:
            tree = Tree(given, **options)
        except (TypeError, ValueError) as error:
            came = f"of shape {given.shape} and dtype {given.dtype}"
            came += f", with {', '.join(f'{name}={value!r}' for name, value in options.items())}" if options else ""
            raise ArgumentError(f"KDTree: argument 'points' is {came}: SciPy says: {error}") from error
        self.n, self.m = int(tree.n), int(tree.m)
        self._shared = share(tree)

    @property
    def nbytes(self) -> int:
        """What it takes, once a host."""
        return self._shared.nbytes

    def __reduce__(self) -> Any:
        return self._shared.__reduce__()

    def __repr__(self) -> str:
        return f"<shared KDTree: {self.n} points of {self.m} coordinates>"

    def query(
        self, x: Any, k: int = 1, eps: float = 0.0, p: float = 2.0, distance_upper_bound: float = np.inf
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

        Examples
        --------
        >>> import windrow as wr
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
            found: tuple[Any, Any] = self._shared.value.query(x, **keywords)
            return found
        signature = "(d)->(),()" if k == 1 else "(d)->(k),(k)"
        lazily: Callable[..., Any] = partial(apply_gufunc, output_sizes={} if k == 1 else {"k": int(k)})
        distance, index = lazily(ask, signature, x, output_dtypes=[np.float64, np.intp])
        return distance, index

    def count_neighbors(self, x: Any, r: float, p: float = 2.0, eps: float = 0.0) -> Any:
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

        Examples
        --------
        >>> import windrow as wr
        >>> tree = wr.shared.KDTree([[0.0], [1.0], [5.0]])
        >>> tree.count_neighbors(wr.arange(4.0, chunks=2)[:, None], 1.5).compute()
        array([2, 2, 1, 0])
        """
        keywords = {"r": r, "p": p, "eps": eps, "return_length": True}
        x = self._check("count_neighbors", x)
        _check_reals("count_neighbors", r=r, p=p, eps=eps)
        if not isinstance(x, ArrayBase):
            return self._shared.value.query_ball_point(x, **keywords)
        ask = _Ask(self, "query_ball_point", keywords)
        return apply_gufunc(ask, "(d)->()", x, output_dtypes=[np.intp])

    def _check(self, operation: str, x: Any) -> Any:
        found = x if isinstance(x, ArrayBase) else plain_array(operation, "x", x)
        _check_points(operation, "x", found.dtype)
        if not found.ndim or found.shape[-1] != self.m:
            raise ShapeError(
                f"{operation}: argument 'x' has shape {found.shape}; expected points of {self.m} coordinates along the "
                "last axis"
            )
        return found


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
