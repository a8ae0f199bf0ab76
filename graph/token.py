"""Deterministic names: equal expressions get equal tokens, on every rank and in every session.

What has no content to name it (an array in the user's memory) brings a name of its own: a method `token_key`.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from functools import cache
from hashlib import blake2b
from typing import Any

import numpy as np

from .grid import Axis, Grid


def token_of(*parts: Any) -> str:
    """Return the name of a sequence of plain values, dtypes, grids, small arrays and frozen dataclasses."""
    found: list[bytes] = []
    for part in parts:
        _feed(found, part)
    return blake2b(b"".join(found), digest_size=16).hexdigest()


_PLAIN = frozenset({type(None), bool, int, float, complex, str})


def _feed(found: list[bytes], part: Any) -> None:
    """Add what tells a value from all others, its type before it."""
    kind: Any = type(part)
    if kind in _PLAIN:
        found.append(f"{kind.__name__}\0{part!r}\0".encode())
        return
    found.append(f"{kind.__name__}\0".encode())
    if isinstance(part, bytes):
        found.append(b"%d\0" % len(part) + part)
    elif isinstance(part, bool | int | float | complex | str):
        found.append(repr(part).encode() + b"\0")
    elif isinstance(part, tuple | list):
        found.append(b"%d\0" % len(part))
        for item in part:
            _feed(found, item)
    elif isinstance(part, Axis):
        length, step, bounds = part.key()
        found.append(b"%d %d %d\0" % (length, step, len(bounds)) + bounds)
    elif isinstance(part, Grid):
        found.append(b"%d\0" % part.ndim)
        for axis in part.axes:
            _feed(found, axis)
    elif isinstance(part, np.dtype):
        found.append(_describe(part))
    elif isinstance(part, np.ndarray | np.generic):
        found.append(_describe(part.dtype) + repr(part.shape).encode() + np.ascontiguousarray(part).tobytes())
    elif isinstance(part, slice):
        _feed(found, (part.start, part.stop, part.step))
    elif hasattr(part, "token_key"):
        _feed(found, part.token_key())
    elif is_dataclass(part):
        for name in _named(kind):
            _feed(found, getattr(part, name))
    else:
        raise TypeError(f"no token for {kind.__name__}")


@cache
def _describe(dtype: np.dtype[Any]) -> bytes:
    return repr(dtype if dtype.names else dtype.str).encode() + b"\0"


@cache
def _named(kind: Any) -> tuple[str, ...]:
    """Return the fields of a dataclass that name its values."""
    return tuple(field.name for field in fields(kind) if field.metadata.get("token", True))
