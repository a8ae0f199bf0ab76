"""Names of users' functions by content that are the same in all processes of a job that run one script.

A pickle's bytes are not: sets lie in the order of hashes, which are salted; classes of the script get random numbers;
what is met twice is told once if it is one object, and unpickling a class of the script puts copies of its methods in
their place. So functions, classes and code of the script are named by what they consist of, sets are sorted, and texts
and tuples are told whenever they are met; the rest is pickled.
"""

from __future__ import annotations

import enum
import functools
import importlib
import io
import types
from hashlib import blake2b
from typing import Any

import cloudpickle

_UNTOLD = frozenset(
    f"__{name}__"
    for name in (
        *("dict", "weakref", "doc", "module", "firstlineno", "static_attributes", "abstractmethods", "slotnames"),
        *("annotations", "annotations_cache", "annotate", "annotate_func", "parameters"),
    )
) | {"_abc_impl"}
"""What classes have beside what they do."""


_Cache = type(functools.cache(len))


class _Naming(cloudpickle.Pickler):  # type: ignore[misc] # it has no types
    """Pickles what shall be named; nobody loads it. `within` are the functions and classes it is a part of."""

    def __init__(self, file: io.BytesIO, within: tuple[int, ...]) -> None:
        super().__init__(file, protocol=5)
        self._within = within

    def persistent_id(self, obj: Any) -> Any:
        """See `pickle.Pickler`."""
        kind = type(obj)
        if kind is str:
            return b"s" + obj.encode("utf-8", "surrogatepass")
        if kind is bytes:
            return b"b" + obj
        if kind is tuple:
            return b"t" + b"".join(_name(each, self._within) for each in obj)
        if kind is set or kind is frozenset:
            return kind.__name__.encode() + b"".join(sorted(_name(each, self._within) for each in obj))
        named_by = getattr(kind, "_named_by", None)
        parts = _parts(obj) if named_by is None else (kind.__qualname__, named_by(obj))
        if parts is None:
            return None
        if id(obj) in self._within:  # a function that calls itself
            return b"again" + str(self._within.index(id(obj))).encode()
        return b"o" + _name(parts, (*self._within, id(obj)))


def _parts(obj: object) -> tuple[Any, ...] | None:
    """Return what a function, a class or code of the script consists of; None for all else."""
    if isinstance(obj, types.CodeType):
        flags = (obj.co_argcount, obj.co_posonlyargcount, obj.co_kwonlyargcount, obj.co_flags)
        return obj.co_name, flags, obj.co_code, obj.co_consts, obj.co_names, obj.co_varnames, obj.co_freevars
    if isinstance(obj, _Cache) and obj.__module__ == "__main__":
        return "cache", obj.__wrapped__, _items(dict(obj.cache_parameters()))
    if isinstance(obj, staticmethod | classmethod):
        return type(obj).__name__, obj.__func__
    if isinstance(obj, property):
        return "property", obj.fget, obj.fset, obj.fdel
    if isinstance(obj, types.FunctionType | type) and not _by_reference(obj):
        return _function(obj) if isinstance(obj, types.FunctionType) else _class(obj)
    if isinstance(obj, types.MemberDescriptorType | types.GetSetDescriptorType):
        return "slot", obj.__name__
    return None


def _by_reference(obj: object) -> bool:
    return bool(importlib.import_module("cloudpickle.cloudpickle")._should_pickle_by_reference(obj))


def _function(obj: types.FunctionType) -> tuple[Any, ...]:
    names = importlib.import_module("cloudpickle.cloudpickle")._extract_code_globals(obj.__code__)
    used = tuple((name, obj.__globals__[name]) for name in sorted(names) if name in obj.__globals__)
    return obj.__qualname__, obj.__code__, obj.__defaults__, _items(obj.__kwdefaults__ or {}), _cells(obj), used


def _cells(obj: types.FunctionType) -> tuple[Any, ...]:
    contents: list[Any] = []
    for cell in obj.__closure__ or ():
        try:
            contents.append((cell.cell_contents,))
        except ValueError:  # what isn't assigned yet
            contents.append(())
    return tuple(contents)


def _class(obj: type) -> tuple[Any, ...]:
    if issubclass(obj, enum.Enum):
        return obj.__qualname__, obj.__bases__, tuple((each.name, each.value) for each in obj)
    attributes = {name: value for name, value in vars(obj).items() if name not in _UNTOLD}
    return obj.__qualname__, obj.__bases__, type(obj), _items(attributes)


def _items(some: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(sorted(some.items(), key=lambda item: item[0]))


def _name(value: object, within: tuple[int, ...]) -> bytes:
    file = io.BytesIO()
    try:
        _Naming(file, within).dump(value)
    except Exception:  # a part that is pickled by another's name
        file = io.BytesIO(f"{type(value).__qualname__} {getattr(value, '__qualname__', '')}".encode())
    return blake2b(file.getbuffer(), digest_size=16).digest()


def fingerprint(value: object) -> bytes:
    """Return a digest of anything that cloudpickle takes.

    Examples
    --------
    >>> fingerprint({"a", "b"}) == fingerprint({"b", "a"})
    True
    >>> fingerprint(len) == fingerprint(max)
    False
    """
    return _name(value, ())
