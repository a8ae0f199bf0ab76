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
    digest = blake2b(digest_size=16)
    for part in parts:
        _feed(digest, part)
    return digest.hexdigest()


def _feed(digest: blake2b, part: Any) -> None:
    digest.update(type(part).__name__.encode() + b"\0")
    if part is None or isinstance(part, bool | int | float | complex | str | bytes):
        raw = part if isinstance(part, bytes) else repr(part).encode()
        digest.update(raw + b"\0")
    elif isinstance(part, tuple | list):
        digest.update(str(len(part)).encode())
        for item in part:
            _feed(digest, item)
    elif isinstance(part, Axis | Grid):
        _feed(digest, part.key())
    elif isinstance(part, np.dtype):
        digest.update(repr(part if part.names else part.str).encode())
    elif isinstance(part, np.ndarray | np.generic):
        _feed(digest, part.dtype)
        digest.update(repr(part.shape).encode() + np.ascontiguousarray(part).tobytes())
    elif isinstance(part, slice):
        _feed(digest, (part.start, part.stop, part.step))
    elif hasattr(part, "token_key"):
        _feed(digest, part.token_key())
    elif is_dataclass(part):
        kind: Any = type(part)
        for name in _named(kind):
            _feed(digest, getattr(part, name))
    else:
        raise TypeError(f"no token for {type(part).__name__}")


@cache
def _named(kind: Any) -> tuple[str, ...]:
    """Return the fields of a dataclass that name its values."""
    return tuple(field.name for field in fields(kind) if field.metadata.get("token", True))
