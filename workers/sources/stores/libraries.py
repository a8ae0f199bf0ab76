"""Libraries that only some files need: loaded when such a file is met."""

from __future__ import annotations

import importlib
import sys
from typing import Any

MISSING = "{0}: {1} is not installed; pip install 'windrow[files]' brings it"


def library(operation: str, name: str) -> Any:
    """Return a module; ModuleNotFoundError says how to install it."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not name.startswith(error.name):
            raise
        raise ModuleNotFoundError(MISSING.format(operation, name.partition(".")[0]), name=error.name) from error


def is_of(value: Any, module: str, kind: str) -> bool:
    """Tell whether a value is of a library's class, without loading the library: who has one has loaded it."""
    cls = getattr(sys.modules.get(module), kind, None)
    return isinstance(cls, type) and isinstance(value, cls)
