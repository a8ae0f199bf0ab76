"""`x.flat`: an array's elements by their numbers in C order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.arguments import is_integer
from ....graph.errors import IndexingError, ShapeError, bad
from ...base import ArrayBase, wrap
from ...chunking.rechunk import regrid
from ...ops.elementwise.nodes import cast_values
from ...values import assigned, read
from ..conditional import resize

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...array import Array
    from ...typing import ArrayLike, DTypeLike, KeyLike


class FlatView:
    """The elements of an array along one axis, in C order, as NumPy's `flat` has them.

    Parts of it are lazy arrays of their own; setting elements makes the array stand for what it holds then. Iterating
    computes the whole array once.

    Examples
    --------
    >>> import windrow as wr
    >>> x = wr.arange(6).reshape(2, 3)
    >>> x.flat[4].compute()
    np.int64(4)
    >>> x.flat[1::2] = -1
    >>> x.compute()
    array([[ 0, -1,  2],
           [-1,  4, -1]])
    """

    def __init__(self, base: ArrayBase) -> None:
        self.base = base

    def _line(self) -> Array:
        return wrap(self.base.expr).reshape(-1)

    def __getitem__(self, key: KeyLike) -> Array:
        return self._line()[... if isinstance(key, tuple) and not key else _check_key(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        line = self._line()
        alone = is_integer(key) and np.ndim(value) == 0
        values = cast_values("flat", "value", value, self.base.dtype, assigned if alone else read)
        chosen = line[_check_key(key)]
        if chosen.ndim == 0 and values.size != 1:
            raise ShapeError(bad("flat", "value", values.shape, "one element, as one is set"))
        if values.size == 0:
            return
        if values.size not in (1, chosen.size):  # as in NumPy: values are repeated or cut to the number of elements
            values = resize(values, chosen.size)
        line[key] = values.reshape(()) if values.size == 1 else values.reshape(chosen.shape)
        grid = self.base.expr.grid
        self.base.expr = regrid(line.reshape(grid.shape), grid).expr

    def __len__(self) -> int:
        return self.base.expr.grid.size

    def __iter__(self) -> Iterator[Any]:
        return iter(np.asarray(self.base).flat)

    def __array__(self, dtype: DTypeLike = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return self._line().__array__(dtype, copy)

    def __lt__(self, other: ArrayLike) -> Any:
        return self._line() < other

    def __le__(self, other: ArrayLike) -> Any:
        return self._line() <= other

    def __gt__(self, other: ArrayLike) -> Any:
        return self._line() > other

    def __ge__(self, other: ArrayLike) -> Any:
        return self._line() >= other

    def __eq__(self, other: object) -> Any:
        return self._line() == other

    def __ne__(self, other: object) -> Any:
        return self._line() != other

    __hash__ = None  # type: ignore[assignment] # as NumPy's, since equality is a matter of elements

    def copy(self) -> Array:
        """Return the elements as a 1-D array."""
        return self._line()

    def __repr__(self) -> str:
        return f"FlatView({self.base!r})"


def _check_key(key: KeyLike) -> Any:
    """Return a key that has no new axis and isn't one truth value, which NumPy's `flat` refuses."""
    items = key if isinstance(key, tuple) else (key,)
    if items == () or any(item is None or isinstance(item, bool | np.bool) for item in items):
        raise IndexingError(bad("flat", "key", key, "an integer, a slice, ..., an array of integers or of bool"))
    return key
