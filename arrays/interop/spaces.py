"""Modules of public functions: what they have, and what they say of names that they lack."""

from __future__ import annotations

import importlib
import sys
from functools import partial
from typing import Any

from ...workers.public_api import publish


def missing(space: str, name: str) -> Any:
    """Raise for a name that `windrow` or one of its modules hasn't; what to say of it is loaded when it is needed."""
    raise importlib.import_module(".unsupported", __package__).missing_function(name, space)


def publish_space(module: str, space: str, plain: bool = False) -> None:
    """Make public what a module has in its `__all__`, as `windrow.<space>`, and have it show that alone."""
    publish(module, plain=plain)
    names = vars(sys.modules[module])
    names.setdefault("__getattr__", partial(missing, space))
    names.setdefault("__dir__", lambda: sorted(names["__all__"]))
