"""`python -m windrow`: see `windrow.scheduler.cli.main`."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from .scheduler.cli.main import main


def _names() -> dict[str, Any]:
    """Return what the prompt has from the start."""
    return {"wr": importlib.import_module("windrow"), "np": importlib.import_module("numpy")}


if __name__ == "__main__":
    sys.exit(main(names=_names))
