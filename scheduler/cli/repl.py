"""The prompt: IPython where it is installed, else Python's own with tab completion."""

from __future__ import annotations

import code
import contextlib
import importlib
import os
import sys
from typing import TYPE_CHECKING, Any

from ..session.cluster import cluster

if TYPE_CHECKING:
    import types


def interact(module: types.ModuleType, names: dict[str, Any]) -> None:
    """Read and run commands in the module `__main__`, with some names from the start, until the user leaves."""
    module.__dict__.update(names)
    banner = f"{cluster()!r}\n{', '.join(names)} imported; Ctrl-C stops a computation, Ctrl-D leaves"
    try:
        # The variable is Python's own, for a prompt that is as simple as can be.
        shell = None if os.environ.get("PYTHON_BASIC_REPL") else importlib.import_module("IPython")
    except ImportError:
        shell = None
    if shell is not None:
        _ipython(shell, module, banner)
    else:
        _plain(module, banner)


def _ipython(shell: Any, module: types.ModuleType, banner: str) -> None:
    config = importlib.import_module("traitlets.config").Config()
    config.TerminalInteractiveShell.banner1 = f"Python {sys.version.split()[0]}, IPython {shell.__version__}\n"
    config.TerminalInteractiveShell.banner2 = banner
    shell.start_ipython(argv=[], user_module=module, user_ns=module.__dict__, config=config)


def _plain(module: types.ModuleType, banner: str) -> None:
    with contextlib.suppress(ImportError):
        import readline
        import rlcompleter

        readline.set_completer(rlcompleter.Completer(module.__dict__).complete)
        readline.parse_and_bind("tab: complete")
    greeting = f"Python {sys.version.split()[0]}\n{banner}"
    console = code.InteractiveConsole(module.__dict__)
    while True:
        try:
            console.interact(greeting, exitmsg="")
            return
        except KeyboardInterrupt:  # a second one, while the first was being told
            greeting = ""
