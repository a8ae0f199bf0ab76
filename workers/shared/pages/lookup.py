"""Keys and the places of their rows: what tasks see of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .snapshot import SharedSnapshot

Array = np.ndarray[Any, Any]
NOTHING = object()
"""No default."""


@dataclass(frozen=True)
class Sorted:
    """Keys in order, and the place of each; without places they are 0, 1, 2 and so on."""

    keys: Array
    places: Array | None

    @staticmethod
    def of(keys: Array) -> Sorted | Direct:
        """Return an index of keys whose places are 0, 1, 2, ...; one that is there twice is a ValueError's argument."""
        order = None if bool((keys[1:] > keys[:-1]).all()) else np.argsort(keys, kind="stable")
        ordered = keys if order is None else keys[order]
        if order is not None and len(keys) and (twice := np.flatnonzero(ordered[1:] == ordered[:-1])).size:
            raise ValueError(ordered[twice[0]].item())
        if len(keys) and keys.dtype.kind == "i":
            first, last = int(ordered[0]), int(ordered[-1])
            if last - first < 4 * len(keys):
                return Direct.of(keys, first, last, ordered=order is None)
        return Sorted(ordered, order)

    def find(self, keys: Array) -> Array:
        """Return the place of each key; -1: it isn't there."""
        if not len(self.keys):
            return np.full(keys.shape, -1, np.int64)
        cast_keys = keys.astype(self.keys.dtype) if keys.dtype != self.keys.dtype else keys
        at = np.minimum(np.searchsorted(self.keys, cast_keys), len(self.keys) - 1)
        right = self.keys[at] == keys
        return np.where(right, at if self.places is None else self.places[at], -1)


@dataclass(frozen=True)
class Direct:
    """Integers that lie close together: each one's place, by its distance from the first; None: it is that distance."""

    first: int
    count: int
    places: Array | None

    @staticmethod
    def of(keys: Array, first: int, last: int, *, ordered: bool) -> Direct:
        """Return an index of keys between two."""
        count = last - first + 1
        if ordered and count == len(keys):
            return Direct(first, count, None)
        places = np.full(count, -1, np.int64)
        places[keys - first] = np.arange(len(keys))
        return Direct(first, count, places)

    @property
    def keys(self) -> Array:
        """The keys in order."""
        there = np.arange(self.count) if self.places is None else np.flatnonzero(self.places >= 0)
        return there + self.first

    def find(self, keys: Array) -> Array:
        inside = None
        if keys.size and (int(keys.min()) < self.first or int(keys.max()) >= self.first + self.count):
            inside = (keys >= self.first) & (keys < self.first + self.count)
            keys = np.where(inside, keys, self.first)
        at = keys - self.first if self.first else keys
        places = at if self.places is None else self.places.take(at)
        return places if inside is None else np.where(inside, places, -1)


class TableView:
    """A version of a table, as functions that run on ranks see it."""

    def __init__(self, main: Sorted | Direct, more: Sorted | None, rows: SharedSnapshot) -> None:
        self._indexes = (main,) if more is None else (main, more)
        self._rows = rows

    def get(self, keys: Any, default: Any = NOTHING) -> Any:
        """Return the rows of keys, one after the other.

        Raises
        ------
        KeyError
            One isn't there, and there is no default.
        """
        places, missing = self.places(keys, default is NOTHING)
        return filled(self._rows[places], missing, default)

    __getitem__ = get

    def put(self, keys: Any, values: Any) -> None:
        """Raise: functions can't write."""
        raise TypeError(
            "a table's rows aren't set in functions: in the script table.put(keys, values) writes; in functions "
            "table.add(keys, values) adds when the computation is through"
        )

    def add(self, keys: Any, values: Any) -> None:
        """Add to the rows of keys when the computation is through; repeated keys count each.

        Raises
        ------
        KeyError
            One isn't there.
        """
        self._rows.add_at(self.places(keys, True)[0], values)

    def __contains__(self, key: Any) -> bool:
        return bool((find(self._indexes, as_keys("in", np.asarray(key), self._indexes[0])) >= 0).all())

    def places(self, keys: Any, strict: bool) -> tuple[Array, Array | None]:
        """Return where rows lie, and which keys aren't there, if any; those have the first place."""
        keys = as_keys("get", np.asarray(keys), self._indexes[0])
        return checked(find(self._indexes, keys), keys, strict)


def checked(found: Array, keys: Array, strict: bool) -> tuple[Array, Array | None]:
    """Return places, and which keys have none; a KeyError where that is `strict`."""
    if not found.size or int(found.min()) >= 0:
        return found, None
    missing = found < 0
    if strict:
        raise KeyError(keys[missing].flat[0].item())
    return np.where(missing, 0, found), missing


def filled(rows: Any, missing: Array | None, default: Any) -> Any:
    """Return rows with the default where there are none."""
    if missing is None:
        return rows
    rows = np.asarray(rows)
    rows[missing] = default
    return rows[()]


def find(indexes: tuple[Sorted | Direct, ...], keys: Array) -> Array:
    """Return the place of each key in the first index that has it."""
    places = indexes[0].find(keys)
    for more in indexes[1:]:
        if places.size and int(places.min()) < 0:
            places = np.where(places < 0, more.find(keys), places)
    return places


def signed(operation: str, keys: Array) -> Array:
    """Return integers as int64, or raise a TypeError."""
    if keys.dtype == np.uint64 and keys.size and int(keys.max()) > np.iinfo(np.int64).max:
        raise TypeError(f"{operation}: argument 'keys' has {int(keys.max())}; expected integers that int64 holds")
    return keys.astype(np.int64, copy=False)


def as_keys(operation: str, keys: Array, index: Sorted | Direct) -> Array:
    """Return keys of the kind that an index has, or raise a TypeError."""
    kind = "i" if isinstance(index, Direct) else index.keys.dtype.kind
    if kind == "i" and keys.dtype.kind in "iu":
        return signed(operation, keys)
    if keys.dtype.kind != kind and keys.size:
        expected = {"i": "integers", "U": "texts", "S": "bytes"}[kind]
        raise TypeError(f"{operation}: argument 'keys' has dtype {keys.dtype}; expected {expected}")
    return keys if keys.size else keys.astype(f"{kind}1" if kind != "i" else np.int64)
