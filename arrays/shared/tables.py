"""Tables from keys to rows, which tasks look up and the driver updates while data stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.errors import ArgumentError, BadValue, ShapeError, bad
from ...scheduler.shared.shared_objects import share
from ...workers.shared.pages.lookup import NOTHING, Direct, Sorted, TableView, as_keys, checked, filled, find, signed
from ..base import ArrayBase, plain_array
from ..user_functions.map_blocks import map_blocks
from .arrays import PAGE, make_empty, read_page

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from ..typing import ArrayLike


Rows = np.ndarray[Any, Any]
FEW = 4096
"""New keys that may lie beside the others."""


class Table:
    """Keys with a row each: looked up by functions on ranks and over lazy arrays, updated between computations.

    A function that uses it sees the version that was there when its lazy array was made: in it `table.get(keys)`
    returns rows, and `table.add(keys, values)` adds to rows of keys that are there when the computation is through.

    Parameters
    ----------
    keys : array_like
        Integers, texts or bytes, none of them twice.
    rows : array_like
        A number, or an array, for each key along the first axis.
    page : int or str
        As for `windrow.shared.array`.

    Attributes
    ----------
    nbytes : int
        Bytes of the rows.
    row_shape : tuple of int
        Shape of a row.
    dtype : numpy.dtype
        The rows' dtype.

    Raises
    ------
    ArgumentError
        Keys are no integers, texts or bytes.
    BadValue
        A key is there twice.
    ShapeError
        There isn't a row for each key.

    >>> table = wr.shared.Table(["a", "b", "c"], [1, 2, 3])
    >>> words = wr.from_array(["b", "a", "z", "b"], chunks=2)
    >>> table.get(words, default=0).compute()
    array([2, 1, 0, 2])
    >>> table.put("z", 26)
    >>> table.add(["a", "a"], 10)
    >>> table.get(words).compute()
    array([ 2, 21, 26,  2])
    """

    def __init__(self, keys: ArrayLike, rows: ArrayLike, *, page: int | str = PAGE) -> None:
        self._page = read_page("Table", page)
        key_array = _read_keys("Table", keys)
        held = plain_array("Table", "rows", rows)
        if not held.ndim or len(held) != len(key_array):
            raise ShapeError(
                f"Table: argument 'rows' has shape {held.shape}; expected a row for each of {len(key_array)} keys"
            )
        if held.dtype.hasobject:
            raise ArgumentError(bad("Table", "rows", rows, "numbers, or texts or bytes: no Python objects"))
        self._index = _index_of("Table", key_array)
        self._main = share(self._index)
        self._more: Sorted | None = None
        self._beside: Any = None
        self._count = len(held)
        self._rows = make_empty("Table", (max(2 * len(held), FEW), *held.shape[1:]), held.dtype, self._page)
        self._rows._fill(slice(len(held)), held)
        self._rows._begin()

    @property
    def nbytes(self) -> int:
        """Bytes of the rows."""
        return self._count * int(np.prod(self.row_shape, dtype=np.int64)) * self.dtype.itemsize

    @property
    def row_shape(self) -> tuple[int, ...]:
        """Shape of a row."""
        return self._rows.shape[1:]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The rows' dtype."""
        return self._rows.dtype

    def __len__(self) -> int:
        return self._count

    def __contains__(self, key: Hashable) -> bool:
        return bool((self._find("in", key)[0] >= 0).all())

    def __iter__(self) -> Iterator[Any]:
        return iter(self.keys())

    def __repr__(self) -> str:
        return f"<shared table: {self._count} keys, rows {self.row_shape}, {self.dtype}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return TableView, (self._main, self._beside, self._rows)

    def keys(self) -> Rows:
        """Return all keys.

        Returns
        -------
        numpy.ndarray
            In order, but for those that are new.

        >>> wr.shared.Table([3, 1], [0.5, 1.5]).keys()
        array([1, 3])
        """
        parts = [self._index.keys] if self._more is None else [self._index.keys, self._more.keys]
        return np.concatenate(parts)

    def get(self, keys: ArrayLike, default: object = NOTHING) -> Any:
        """Look keys up.

        Parameters
        ----------
        keys : array_like or Array
            Keys, of any shape.
        default : any, optional
            Row of keys that aren't there. Without one they are an error.

        Returns
        -------
        numpy.ndarray or Array
            The keys' rows, behind the axes of `keys`. For a lazy array of keys a lazy one.

        Raises
        ------
        KeyError
            A key isn't there; for lazy keys, when it is computed.
        ArgumentError
            Keys are of another kind.
        DTypeError, BadValue
            `default` is no row of the table's dtype and shape.

        >>> table = wr.shared.Table([10, 20], [[1.0, 2.0], [3.0, 4.0]])
        >>> table.get(20), table.get([10, 99], default=0.0)
        (array([3., 4.]), array([[1., 2.],
               [0., 0.]]))
        """
        if default is not NOTHING:
            default = self._rows._check_values("get", self.row_shape, default, "default")
        if isinstance(keys, ArrayBase):
            return self._get_lazily(keys, default)
        rows, key_array = self._find("get", keys)
        places, missing = checked(rows, key_array, default is NOTHING)
        return filled(self._rows[places], missing, default)

    __getitem__ = get

    def _get_lazily(self, keys: ArrayBase, default: object) -> Any:
        if keys.dtype.kind != self._kind and not (self._kind == "i" and keys.dtype.kind == "u"):
            raise ArgumentError(f"get: argument 'keys' has dtype {keys.dtype}; expected {_KINDS[self._kind]}")
        more = () if default is NOTHING else (default,)
        added = tuple(range(keys.ndim, keys.ndim + len(self.row_shape)))
        chunks = (*keys.chunks, *((n,) for n in self.row_shape)) if added else None
        return map_blocks(
            _look_up, keys, self, *more, dtype=self.dtype, new_axis=added or None, chunks=chunks, name="get"
        )

    def put(self, keys: ArrayLike, rows: ArrayLike) -> None:
        """Set the rows of keys; those that aren't there come in.

        Parameters
        ----------
        keys : array_like
            Keys; where one is there twice, the last row holds.
        rows : array_like
            What broadcasts to a row for each key.

        Raises
        ------
        ArgumentError
            Keys are of another kind.
        DTypeError, BadValue
            As for `SharedArray.update`.

        >>> table = wr.shared.Table([10, 20], [1.0, 2.0])
        >>> table.put([20, 30], 5)
        >>> table.get([10, 20, 30])
        array([1., 5., 5.])
        """
        places, held = self._make_places("put", keys, rows, "rows")
        self._rows.update(places, held)

    def add(self, keys: ArrayLike, values: ArrayLike) -> None:
        """Add to the rows of keys; those that aren't there begin at zero. Repeated keys count each.

        Parameters
        ----------
        keys : array_like
            Keys.
        values : array_like
            What broadcasts to a row for each key.

        Raises
        ------
        ArgumentError
            Keys are of another kind.
        DTypeError, BadValue
            As for `SharedArray.add`.

        >>> table = wr.shared.Table(["the"], [1])
        >>> table.add(["the", "cat", "the"], 1)
        >>> table.get(["the", "cat"])
        array([3, 1])
        """
        places, held = self._make_places("add", keys, values)
        self._rows.add(places, held)

    # ---------------------------------------------------------------- keys

    @property
    def _kind(self) -> str:
        return "i" if isinstance(self._index, Direct) else self._index.keys.dtype.kind

    def _find(self, operation: str, keys: object) -> tuple[Rows, Rows]:
        try:
            key_array = as_keys(operation, _alike(operation, keys), self._index)
        except TypeError as error:
            raise ArgumentError(str(error)) from None
        indexes = (self._index,) if self._more is None else (self._index, self._more)
        return find(indexes, key_array), key_array

    def _make_places(
        self, operation: str, keys: ArrayLike, values: ArrayLike, argument: str = "values"
    ) -> tuple[Rows, Rows]:
        """Return where rows of keys are, after making places for new ones, and values that fit them."""
        rows, key_array = self._find(operation, keys)
        held = self._rows._check_values(operation, (*key_array.shape, *self.row_shape), values, argument)
        if not rows.size or int(rows.min()) >= 0:
            return rows, held
        fresh = np.unique(key_array[rows < 0])
        self._make_room(len(fresh))
        places = np.arange(self._count, self._count + len(fresh))
        self._count += len(fresh)
        if self._more is not None:
            fresh, places = np.concatenate([self._more.keys, fresh]), np.concatenate([self._places(self._more), places])
        order = np.argsort(fresh, kind="stable")
        self._more = Sorted(fresh[order], places[order])
        if len(fresh) > max(FEW, self._count // 8):
            self._merge()
        else:
            self._beside = share(self._more)
        return self._find(operation, keys)[0], held

    @staticmethod
    def _places(index: Sorted) -> Rows:
        assert index.places is not None
        return index.places

    def _merge(self) -> None:
        """Put new keys among the others."""
        assert self._more is not None
        old = self._index.keys
        keys = np.concatenate([old, self._more.keys])
        places = np.concatenate([self._index.find(old), self._places(self._more)])
        by_place = np.empty_like(keys)
        by_place[places] = keys
        self._index, self._more, self._beside = Sorted.of(by_place), None, None
        self._main = share(self._index)

    def _make_room(self, more: int) -> None:
        """Have places for so many more rows; what tasks add late to the old ones goes to the new."""
        if self._count + more <= len(self._rows):
            return
        old = self._rows
        shape = (2 * (self._count + more), *self.row_shape)
        self._rows = make_empty("Table", shape, self.dtype, self._page)
        self._rows._fill(slice(self._count), old[: self._count])
        self._rows._begin()
        self._rows._stand_in(old)


_KINDS = {"i": "integers", "U": "texts", "S": "bytes"}


def _read_keys(operation: str, keys: ArrayLike) -> Rows:
    key_array = _alike(operation, keys)
    if key_array.ndim != 1 or (key_array.dtype.kind not in "iuUS" and key_array.size):
        came = f"of shape {key_array.shape} and dtype {key_array.dtype}"
        raise ArgumentError(f"{operation}: argument 'keys' is {came}; expected a sequence of integers, texts or bytes")
    try:
        return key_array if key_array.dtype.kind in "US" else signed(operation, key_array).astype(np.int64)
    except TypeError as error:
        raise ArgumentError(str(error)) from None


def _alike(operation: str, keys: object) -> Rows:
    """Return keys as an array; in NumPy's a number among texts would be a text."""
    key_array = plain_array(operation, "keys", keys)
    if key_array.dtype.kind in "US" and isinstance(keys, list | tuple):
        expected = str if key_array.dtype.kind == "U" else bytes
        for key in np.array(keys, object).flat:
            if not isinstance(key, expected):
                raise ArgumentError(bad(operation, "keys", key, "texts alone, or bytes, or integers"))
    return key_array


def _index_of(operation: str, keys: Rows) -> Sorted | Direct:
    try:
        return Sorted.of(keys)
    except ValueError as error:
        raise BadValue(f"{operation}: argument 'keys' has {error.args[0]!r} twice; expected each once") from None


def _look_up(keys: Rows, table: TableView, *default: Any) -> Rows:
    return np.asarray(table.get(keys, *default))
