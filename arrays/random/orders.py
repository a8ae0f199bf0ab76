"""Random orders and random choices."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.errors import ArgumentError, ShapeError, bad
from ...graph.kinds.mapping import BlockFunction
from ...graph.kinds.source import Random
from ...workers.kernels.randoms.permuting import Permutation
from ..base import ArrayBase, check_axis, check_shape, check_writable, grid_for, make
from ..chunking.coalesce import whole
from ..chunking.rechunk import regrid
from ..ops.moves.taking import take
from .docstrings import RANDOM
from .drawing import F8, I8, Drawing, into, parameter, require_known
from .exchange import permutation_of

if TYPE_CHECKING:
    from ...graph.chunks.grid import Grid
    from ...workers.kernels.randoms.permuting import Seed
    from ..array import Array
    from ..typing import ArrayLike, AxisLike, ChunksLike, OutLike, ShapeLike


class Orders(Drawing):
    """Permutations and choices by position, without sorting: see
    `workers.kernels.randoms.permuting`."""

    def permutation(self, x: ArrayLike, axis: int = 0, *, chunks: ChunksLike = "auto") -> Array:
        """Return numbers from 0 on, or an array, in random order.

        Parameters
        ----------
        x : int or array
            How many integers from 0 on, or the array to permute.
        axis : int
            The axis along which an array is permuted, all else moving with it.
        chunks : int, str, tuple, dict or None
            Chunk sizes of the integers, where `x` is their number; an array keeps its own.

        Returns
        -------
        Array
            Lazy: the integers as int64, or the array in another order. Takes as many positions of the generator as
            there are elements along the axis.

        Raises
        ------
        ArgumentError
            `x` can't be read as an array.
        ShapeError
            `x` is a negative number.
        {AxisError, ChunksError}

        Notes
        -----
        No elements are gathered, and no array of indices is made. Up to 65,536 positions, every order is equally
        likely. Beyond, the order is that of a Feistel network of eight rounds over random tables, which needs neither
        sorting nor communication.

        The order isn't NumPy's.

        >>> x = wr.random.default_rng(1).permutation(10)
        >>> sorted(x.tolist()) == list(range(10))
        True
        """
        if isinstance(x, int | np.integer) and not isinstance(x, bool):
            shape = check_shape("permutation", x, "x")
            return self._indices("permutation", int(x), grid_for("permutation", chunks, shape, I8))
        return self._permute("permutation", require_known("permutation", "x", x), axis)

    def _permute(self, operation: str, x: Array, axis: AxisLike) -> Array:
        along = check_axis(operation, axis, x.ndim)
        return permutation_of(operation, x, self._seed(operation, x.shape[along]), along)

    def _seed(self, operation: str, n: int) -> Seed:
        return self._stream(operation, n)

    def _indices(self, operation: str, n: int, grid: Grid) -> Array:
        """Return the first positions of a permutation of n, in C order."""
        key, jumps, offset = self._seed(operation, n)
        return make(Random("permutation", key, offset, (n, offset), jumps), (), grid, I8)

    def shuffle(self, x: ArrayLike, axis: int = 0) -> None:
        """Bring an array into random order, in place.

        Parameters
        ----------
        x : Array, numpy.ndarray or list
            NumPy's arrays and lists are shuffled at once.
        axis : int
            The axis along which it is shuffled, all else moving with it; 0 of a list.

        Raises
        ------
        ArgumentError
            `x` isn't an array or a list.
        {AxisError}

        Notes
        -----
        A lazy array gets another expression, and nothing is computed; NumPy writes to the array's memory.

        >>> x = wr.arange(10)
        >>> wr.random.default_rng(1).shuffle(x)
        >>> sorted(x.tolist()) == list(range(10))
        True
        """
        if isinstance(x, ArrayBase):
            check_writable("shuffle", x)
            x.expr = self._permute("shuffle", require_known("shuffle", "x", x), axis).expr
            return
        if not isinstance(x, np.ndarray | list):
            raise ArgumentError(bad("shuffle", "x", type(x).__name__, "an array or a list"))
        along = check_axis("shuffle", axis, x.ndim if isinstance(x, np.ndarray) else 1)
        n = x.shape[along] if isinstance(x, np.ndarray) else len(x)
        order = Permutation(self._seed("shuffle", n), n).forward(np.arange(n))
        x[:] = x.take(order, along) if isinstance(x, np.ndarray) else [x[i] for i in order.tolist()]

    def permuted(self, x: ArrayLike, *, axis: int | None = None, out: OutLike = None) -> Array:
        """Return an array in which each line along an axis is in a random order of its own.

        Parameters
        ----------
        x : array_like
            What to permute.
        axis : int or None
            The axis whose lines are permuted, which is brought into one chunk; None: all elements are permuted.
        out : Array, optional
            Its elements are set to the result; has its shape and dtype.

        Returns
        -------
        Array
            Lazy, in the shape and dtype of `x`. Takes a position of the generator for each element.

        Raises
        ------
        ArgumentError
            `x` can't be read as an array, or `out` is no lazy array.
        {AxisError}
        ShapeError
            `out` has another shape or dtype.

        Notes
        -----
        The order isn't NumPy's.

        >>> x = wr.random.default_rng(1).permuted([[1, 2, 3], [4, 5, 6]], axis=1)
        >>> wr.sum(x, axis=1).compute()
        array([ 6, 15])
        """
        array = require_known("permuted", "x", x)
        if axis is None:
            flat = array.reshape(-1)
            shuffled = permutation_of("permuted", flat, self._seed("permuted", flat.size), 0)
            return into("permuted", out, regrid(shuffled.reshape(array.shape), array.expr.grid))
        along = check_axis("permuted", axis, array.ndim)
        lines = whole(array, [along])
        stream = self._stream("permuted", array.size)
        op = BlockFunction("order.permutations:permute_lines", (along, stream, array.shape), where=True)
        return into("permuted", out, make(op, [lines], lines.expr.grid, array.dtype))

    def choice(
        self,
        a: Any,
        size: ShapeLike = None,
        replace: bool = True,
        p: ArrayLike | None = None,
        axis: int = 0,
        shuffle: bool = True,
        *,
        chunks: ChunksLike = "auto",
    ) -> Array:
        """Choose integers below a number, or elements of an array.

        Parameters
        ----------
        a : int or array
            Choose from the integers from 0 on below it, or from the elements of an array.
        size : int, tuple of int or None
            Shape of what is chosen; None: a single one.
        replace : bool
            Whether one may be chosen again.
        p : array_like, optional
            How likely each is, adding up to 1, 1-D; None: equally. It is brought into one chunk.
        axis : int
            The axis of `a` along which is chosen, all else with it.
        shuffle : bool
            Accepted for NumPy and ignored: the order is always random.
        chunks : int, str, tuple, dict or None
            Chunk sizes of what is chosen, along the axes of `size`.

        Returns
        -------
        Array
            Lazy: int64, or the elements of `a` with `size` in place of `axis`.

        Raises
        ------
        ArgumentError
            `a` or `p` can't be read as numbers or an array.
            There is nothing to choose from, or too little without replacement; `p` has a number outside 0 to 1, or
            another sum than 1.
        AxisError
            `a` has no such axis.
        ShapeError
            `p` has another length than `a`.
        {ChunksError}

        Notes
        -----
        Without replacement and equally likely, these are the first elements of a permutation, whatever the size of `a`.
        With `p`, exponential numbers divided by `p` are sorted, and the smallest are chosen: this is drawing one after
        the other, each with a probability in proportion to its `p` among those left.

        What is chosen isn't what NumPy chooses.

        >>> x = wr.random.default_rng(1).choice(["a", "b"], 1000, p=[0.1, 0.9])
        >>> int((x == "a").sum()) < 150
        True
        """
        number = isinstance(a, int | np.integer) and not isinstance(a, bool)
        array = None if number else require_known("choice", "a", a)
        along = 0 if array is None else check_axis("choice", axis, array.ndim)
        n = int(a) if array is None else array.shape[along]
        shape = () if size is None else check_shape("choice", size, "size")
        count = math.prod(shape)
        if n < 0 or (n == 0 and count):
            raise ArgumentError(bad("choice", "a", a, "a positive integer, or an array that is not empty"))
        if not replace and count > n:
            raise ArgumentError(bad("choice", "size", size, f"at most {n}: a sample without replacement is no larger"))
        weights = None if p is None else _weights(p, n, None if replace else count)
        grid = grid_for("choice", chunks, shape, I8)
        chosen = self._choose(n, count, grid, replace, weights)
        return chosen if array is None else take(array, chosen, axis=along)

    def _choose(self, n: int, count: int, grid: Grid, replace: bool, weights: Array | None) -> Array:
        """Return the positions that are chosen."""
        if weights is None and replace:
            return self._plain("choice", "integers", (0, max(1, n)), grid, I8)
        if weights is None:
            return self._indices("choice", n, grid)
        if replace:
            u = self._plain("choice", "random", (), grid, F8)
            op = BlockFunction("order.permutations:find_quantiles", (), (tuple(range(grid.ndim)), (None,)))
            return make(op, [u, whole(weights, [0])], grid, I8)
        from ..sorting.sorts import argsort

        keys = self._plain("choice", "standard_exponential", (), weights.expr.grid, F8) / weights
        return regrid(argsort(keys)[:count].reshape(grid.shape), grid)


def _weights(p: ArrayLike, n: int, least: int | None) -> Array:
    """Return weights, checked where they are known."""
    weights = parameter("choice", "p", p, "share")
    if not isinstance(weights, ArrayBase) or weights.shape != (n,):
        raise ShapeError(bad("choice", "p", getattr(p, "shape", p), f"as many probabilities as there are in a: {n}"))
    if not isinstance(p, ArrayBase):
        probabilities = np.asarray(p, np.float64)
        if n and abs(math.fsum(probabilities) - 1.0) > 1.5e-8:  # NumPy's own tolerance
            raise ArgumentError(
                bad("choice", "p", f"probabilities that add up to {math.fsum(probabilities)}", "a sum of 1")
            )
        if least is not None and np.count_nonzero(probabilities) < least:
            raise ArgumentError(bad("choice", "p", "too few that are not zero", f"at least {least}, the size"))
    return weights  # type: ignore[return-value]


RANDOM.fill(__name__)
