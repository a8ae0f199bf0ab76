"""Uniform numbers, integers and bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.errors import ArgumentError, DTypeError, bad
from ....graph.kinds.mapping import BlockFunction
from ....workers.kernels.randoms.checks import check_range
from ....workers.kernels.randoms.philox import raw_run
from ...base import ArrayBase, as_array, check_dtype, make
from ..docstrings import RANDOM
from ..drawing import Drawing, find_size, fit_chunks, into, operand_axes, real_dtype, whole_number

if TYPE_CHECKING:
    import builtins

    from ...array import Array
    from ...typing import ChunksLike, DTypeLike, OutLike, ShapeLike


class Plain(Drawing):
    """Random bits as they come."""

    def random(
        self, size: ShapeLike = None, dtype: DTypeLike = np.float64, out: OutLike = None, *, chunks: ChunksLike = "auto"
    ) -> Array:
        """Draw from the uniform distribution on [0, 1).

        Parameters
        ----------
        {size, dtype, out, chunks}

        Returns
        -------
        Array
            Lazy, of `dtype`, in the shape `size`.

        Raises
        ------
        {out_errors}

        Notes
        -----
        The numbers are those of `numpy.random.Generator(numpy.random.Philox(seed)).random`, whatever the chunks.

        >>> x = wr.random.default_rng(1).random((3, 4), chunks=2)
        >>> y = wr.random.default_rng(1).random((3, 4))
        >>> bool((x == y).all())  # whatever the chunks
        True
        """
        return self._uniform("random", size, dtype, out, chunks)

    def _uniform(self, operation: str, size: ShapeLike, dtype: DTypeLike, out: OutLike, chunks: ChunksLike) -> Array:
        known = real_dtype(operation, dtype)
        _, grid = find_size(operation, size, (), chunks, known, out)
        return into(operation, out, self._plain(operation, "random", (), grid, known))

    def integers(
        self,
        low: Any,
        high: Any = None,
        size: Any = None,
        dtype: Any = np.int64,
        endpoint: bool = False,
        *,
        chunks: Any = "auto",
    ) -> Array:
        """Draw integers from `low` up to `high`; with one number: from 0 up to it.

        Parameters
        ----------
        {bounds, size, integer_dtype}
        endpoint : bool
            Whether `high` itself is drawn too.
        {chunks}

        Returns
        -------
        {equally_likely}

        Raises
        ------
        {integer_errors, integer_dtype_error, ChunksError}

        Notes
        -----
        {numbers}

        >>> x = wr.random.default_rng(1).integers(1, 7, 1000)
        >>> int(x.min()), int(x.max())
        (1, 6)
        """
        return self._integers("integers", low, high, size, dtype, endpoint, chunks)

    def _integers(
        self,
        operation: str,
        low: Any,
        high: Any,
        size: Any,
        dtype: Any,
        endpoint: bool,
        chunks: Any,
        least: int = 0,
    ) -> Array:
        """Draw integers from `low` to `high`; with one number from `least` to it."""
        known = check_dtype(operation, "dtype", dtype)
        if known.kind not in "iub":
            raise DTypeError(bad(operation, "dtype", known, "a dtype of integers, or bool"))
        first, last, end = (least, low, "low") if high is None else (low, high, "high")
        lowest, highest = (0, 1) if known.kind == "b" else (int(np.iinfo(known).min), int(np.iinfo(known).max))
        bounds = [_bound(operation, name, value) for name, value in (("low", first), (end, last))]
        if all(isinstance(b, int) for b in bounds):
            span = bounds[1] - bounds[0] + bool(endpoint)
            if span < 1 or bounds[0] < lowest or bounds[0] + span - 1 > highest:
                expected = f"the end of a range from {first} on that {known} can hold"
                raise ArgumentError(bad(operation, end, last, expected))
            _, grid = find_size(operation, size, (), chunks, known)
            return self._plain(operation, "integers", (bounds[0], span), grid, known)
        arrays = [b for b in bounds if isinstance(b, ArrayBase)]
        shape, grid = find_size(operation, size, arrays, chunks, known)
        operands = [fit_chunks(as_array(operation, "size", _to_signed(b)), grid) for b in bounds]
        stream = self._stream(operation, grid.size)
        limits = (lowest, highest)
        if not any(isinstance(x, ArrayBase) for x in (first, last)):
            check_range(np.asarray(first), np.asarray(last), bool(endpoint), limits, known)
        params = (bool(endpoint), limits, stream, shape, known)
        return make(
            BlockFunction("elements.draws:integers", params, operand_axes(operands, grid.ndim), where=True),
            operands,
            grid,
            known,
        )

    def bytes(self, length: int) -> builtins.bytes:
        """Draw bytes, at once: this is no array.

        Parameters
        ----------
        length : int
            How many bytes.

        Returns
        -------
        bytes
            Drawn at once; eight of them take one position of the generator.

        Raises
        ------
        ArgumentError
            `length` isn't an integer, or is negative.

        Notes
        -----
        They aren't those that NumPy draws.

        >>> len(wr.random.default_rng(1).bytes(10))
        10
        """
        count = whole_number("bytes", "length", length)
        if count < 0:
            raise ArgumentError(bad("bytes", "length", length, "a number that is not negative"))
        words = -(-count // 8)
        (first, second), jumps, offset = self._stream("bytes", words)
        raw = raw_run((first, second, jumps, 0, 0), offset, words)
        return raw.astype("<u8").tobytes()[:count]


def _bound(operation: str, argument: str, value: object) -> Any:
    """Return one end of a range: an integer, or an array of them."""
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return int(value)
    if not isinstance(value, ArrayBase | np.ndarray | list | tuple):
        raise ArgumentError(bad(operation, argument, value, "an integer or an array of integers"))
    array = as_array(operation, argument, value)
    if array.dtype.kind not in "iu":
        raise ArgumentError(bad(operation, argument, array.dtype, "integers"))
    return array


def _to_signed(bound: Any) -> Any:
    """Return an end of a range as NumPy's widest integers."""
    return (
        np.asarray(bound, np.uint64 if bound > np.iinfo(np.int64).max else np.int64)
        if isinstance(bound, int)
        else bound
    )


RANDOM.fill(__name__)
