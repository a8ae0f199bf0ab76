"""Lists, dicts and sets of shared objects: they can be read as such, and refuse to be changed."""

from __future__ import annotations

from typing import Any, NoReturn

CONTAINERS = (list, dict, set)


def freeze(value: Any) -> Any:
    """Return a value whose lists, dicts and sets, in one another and in tuples, refuse to be changed.

    Examples
    --------
    >>> table = freeze({"names": ["a", "b"]})
    >>> table, isinstance(table["names"], list)
    ({'names': ['a', 'b']}, True)
    >>> table["names"].append("c")
    Traceback (most recent call last):
        ...
    TypeError: append: a list of a shared object doesn't change; change a copy and share that
    """
    return _convert(value, {})


def _convert(value: Any, known: dict[int, Any]) -> Any:
    """Return a value that can't be changed; `known` has what each container became, since one may be in it twice."""
    kind: Any = type(value)
    if kind not in CONTAINERS and not issubclass(kind, tuple):
        return value
    if id(value) in known:
        return known[id(value)]
    if kind is list:
        known[id(value)] = items = FrozenList()
        list.extend(items, (_convert(each, known) for each in value))
        return items
    if kind is dict:
        known[id(value)] = table = FrozenDict()
        for key, each in value.items():
            dict.__setitem__(table, key, _convert(each, known))
        return table
    if kind is set:
        return FrozenSet(value)
    parts = [_convert(each, known) for each in value]
    if all(part is each for part, each in zip(parts, value, strict=True)):
        return value
    if kind is tuple:
        return tuple(parts)
    make = getattr(value, "_make", None)  # a named tuple's
    return value if make is None else make(parts)


def _refusing(base: type, name: str) -> Any:
    def refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(f"{name}: a {base.__name__} of a shared object doesn't change; change a copy and share that")

    return refuse


class FrozenList(list[Any]):
    """A list that refuses to be changed; copies of it are plain lists."""

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (list(self),)

    def __copy__(self) -> list[Any]:
        return list(self)


class FrozenDict(dict[Any, Any]):
    """A dict that refuses to be changed; copies of it are plain dicts."""

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)

    def __copy__(self) -> dict[Any, Any]:
        return dict(self)


class FrozenSet(set[Any]):
    """A set that refuses to be changed; copies of it are plain sets."""

    def __reduce__(self) -> tuple[Any, ...]:
        return set, (set(self),)

    def copy(self) -> set[Any]:
        """Return a plain set."""
        return set(self)

    __copy__ = copy


_CHANGES: dict[type, str] = {
    FrozenList: "append clear extend insert pop remove reverse sort __setitem__ __delitem__ __iadd__ __imul__",
    FrozenDict: "clear pop popitem setdefault update __setitem__ __delitem__ __ior__",
    FrozenSet: "add clear difference_update discard intersection_update pop remove symmetric_difference_update "
    "update __iand__ __ior__ __isub__ __ixor__",
}
for _kind, _names in _CHANGES.items():
    for _name in _names.split():
        setattr(_kind, _name, _refusing(_kind.__mro__[1], _name))


def type_as_shared(value: Any) -> type:
    """Return the type that an object had when it was shared."""
    kind = type(value)
    return kind.__mro__[1] if kind in _CHANGES else kind
