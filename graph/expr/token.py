"""Deterministic names: equal expressions get equal tokens, on every rank and in every session.

What has no content to name it (an array in the user's memory) brings a name of its own: a method `token_key`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import cache
from hashlib import blake2b
from typing import Any

import numpy as np

from ..chunks.grid import Axis, Grid

STRETCH = 1 << 15
"""Integers that are named together, while they are in cache."""
LARGE = 1 << 16
"""Bytes of an array from which on it is named by a digest of its own."""


def token_of(*parts: object) -> str:
    """Return the name of a sequence of plain values, dtypes, grids, small arrays and frozen dataclasses."""
    encoded: list[bytes] = []
    for part in parts:
        _feed(encoded, part)
    return blake2b(b"".join(encoded), digest_size=16).hexdigest()


def name_node(form: str, given: tuple[object, ...], operands: list[str]) -> str:
    """Return the name of a form over operands, by their names, with what is put into it."""
    encoded = [f"{form} {len(operands)} {' '.join(operands)}\0".encode()]
    for part in given:
        _feed(encoded, part)
    return blake2b(b"".join(encoded), digest_size=16).hexdigest()


def _feed(found: list[bytes], part: object) -> None:
    """Add what tells a value from all others, its type before it."""
    kind = type(part)
    head, encode = _known.get(kind) or _choose(kind)
    found.append(head)
    encode(found, part)


def _plain(found: list[bytes], part: object) -> None:
    found.append(f"{part!r}\0".encode())


def _bytes(found: list[bytes], part: bytes) -> None:
    found.append(b"%d\0" % len(part) + part)


def _sequence(found: list[bytes], part: Sequence[object]) -> None:
    found.append(b"%d\0" % len(part))
    for item in part:
        _feed(found, item)


def _axis(found: list[bytes], part: Axis) -> None:
    length, step, bounds = part.key()
    found.append(b"%d %d %d\0" % (length, step, len(bounds)) + bounds)


def _grid(found: list[bytes], part: Grid) -> None:
    found.append(b"%d\0" % part.ndim)
    for axis in part.axes:
        _axis(found, axis)


@cache
def _describe(dtype: np.dtype[Any]) -> bytes:
    return repr(dtype if dtype.names else dtype.str).encode() + b"\0"


def _dtype(found: list[bytes], part: np.dtype[Any]) -> None:
    found.append(_describe(part))


def _array(found: list[bytes], part: np.ndarray[Any, Any]) -> None:
    found.append(_describe(part.dtype) + repr(part.shape).encode())
    if part.nbytes < LARGE:
        found.append(np.ascontiguousarray(part).tobytes())
    elif part.dtype == np.int64:
        found.append(_digest_integers(np.ascontiguousarray(part).reshape(-1)))
    else:  # it is read where it lies
        data = np.ascontiguousarray(part).reshape(-1).view(np.uint8).data
        found.append(blake2b(data, digest_size=32).digest())


def _digest_integers(flat: np.ndarray[Any, Any]) -> bytes:
    """Return a digest of integers, as few bytes: positions lie near each other, and a hash takes 1 ns a byte.

    A stretch is told by its least and the rest above that, or where it ascends by its steps.
    """
    digest = blake2b(digest_size=32, person=b"stretches")
    for at in range(0, len(flat), STRETCH):
        part = flat[at : at + STRETCH].view(np.uint64)  # differences wrap
        steps = part[1:] - part[:-1]
        ascends = not len(steps) or int(steps.max()) < 1 << 16
        base = part[0] if ascends else part.view(np.int64).min().view(np.uint64)
        rest = steps if ascends else part - base
        most = int(rest.max()) if len(rest) else 0
        width = next(w for w in (1, 2, 4, 8) if most < 1 << (8 * w))
        if at == 0 and width == 8:  # others are hardly nearer
            return blake2b(flat.data, digest_size=32).digest()
        digest.update(b"%d %d %d\0" % (ascends, width, base))
        digest.update(rest.astype(f"u{width}").data)
    return digest.digest()


def _slice(found: list[bytes], part: slice) -> None:
    _sequence(found, (part.start, part.stop, part.step))


def _keyed(found: list[bytes], part: Any) -> None:
    _feed(found, part.token_key())


_Encode = Callable[[list[bytes], Any], None]
_KINDS: tuple[tuple[Any, _Encode], ...] = (
    (bytes, _bytes),
    (bool | int | float | complex | str | type(None), _plain),
    ((tuple, list), _sequence),
    (Axis, _axis),
    (Grid, _grid),
    (np.dtype, _dtype),
    (np.ndarray | np.generic, _array),
    (slice, _slice),
)
_known: dict[type, tuple[bytes, _Encode]] = {}
"""How values of a type are named, as far as some came: looking through `_KINDS` takes longer than naming."""


def _choose(kind: type) -> tuple[bytes, _Encode]:
    name = kind.__name__
    encode = next((encode for kinds, encode in _KINDS if issubclass(kind, kinds)), None)
    if encode is None and hasattr(kind, "token_key"):
        encode = _keyed
    if encode is None and hasattr(kind, "__dataclass_fields__"):
        encode = _by_fields(kind)
    if encode is None:
        raise TypeError(f"no token for {name}")
    _known[kind] = entry = f"{name}\0".encode(), encode
    return entry


def _by_fields(kind: Any) -> _Encode:
    """Return what names a dataclass's values by those of its fields that name them."""
    names = tuple(field.name for field in fields(kind) if field.metadata.get("token", True))

    def encode(found: list[bytes], part: object) -> None:
        for name in names:
            _feed(found, getattr(part, name))

    return encode
