"""Reading signatures of generalised functions, such as "(i,j),(j)->(i)"."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from ...graph.errors import ArgumentError, ShapeError, bad

_NAME = r"[^\W\d]\w*"
_CORE = rf"\(\s*(?:{_NAME}(?:\s*,\s*{_NAME})*)?\s*,?\s*\)"
_LIST = rf"{_CORE}(?:\s*,\s*{_CORE})*"
_WHOLE = re.compile(rf"\s*({_LIST})?\s*->\s*({_LIST})\s*")

Core = tuple[str, ...]


@dataclass(frozen=True)
class Signature:
    """The names of the core axes of each argument and of each result."""

    inputs: tuple[Core, ...]
    outputs: tuple[Core, ...]
    several: bool
    """Whether the function returns a tuple, even of one."""


def read(operation: str, signature: Any) -> Signature:
    """Read a signature; a comma at its end makes a tuple of one result."""
    text = signature.strip() if isinstance(signature, str) else signature
    match = _WHOLE.fullmatch(text.rstrip(",")) if isinstance(text, str) else None
    if match is None:
        raise ArgumentError(bad(operation, "signature", signature, "text such as '(i,j),(j)->(i)'"))
    inputs, outputs = (tuple(_names(c) for c in re.findall(_CORE, part or "")) for part in match.groups())
    return Signature(inputs, outputs, len(outputs) > 1 or text.endswith(","))


def _names(core: str) -> Core:
    return tuple(n.strip() for n in core.strip("() ").split(",") if n.strip())


def core_sizes(operation: str, signature: Signature, shapes: list[tuple[int, ...]]) -> dict[str, int]:
    """Return the length of each named axis, from the shapes of arguments whose core axes are the last ones."""
    sizes: dict[str, int] = {}
    for number, (names, shape) in enumerate(zip(signature.inputs, shapes, strict=True)):
        if len(shape) < len(names):
            raise ShapeError(bad(operation, f"args[{number}]", shape, f"at least the axes {names}"))
        for name, length in zip(names, shape[len(shape) - len(names) :], strict=True):
            if sizes.setdefault(name, length) != length:
                expected = f"length {sizes[name]} along {name!r}, as in other arguments"
                raise ShapeError(bad(operation, f"args[{number}]", shape, expected))
    return sizes
