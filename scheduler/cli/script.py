"""Running a script, a module, code or a prompt as `__main__`, as plain Python would."""

from __future__ import annotations

import atexit
import builtins
import io
import os
import runpy
import signal
import sys
import threading
import traceback
import types
import zipfile
from typing import TYPE_CHECKING, Any

from ...graph.errors import WindrowError

if TYPE_CHECKING:
    from collections.abc import Callable

FAILED, MISUSED, INTERRUPTED = 1, 2, 130
_RUNNERS = (__file__, runpy.__file__, "<frozen runpy>")


def check(words: list[str]) -> int | None:
    """Complain as Python does when there is no such script, and return the exit status; else None."""
    if not words or words[0] in ("-", "-c", "-m"):
        return None
    try:
        if not os.path.isdir(words[0]):
            io.open_code(os.path.abspath(words[0])).close()
    except OSError as error:
        path = os.path.abspath(words[0])
        print(
            f"python -m windrow: can't open file {path!r}: [Errno {error.errno}] {error.strerror}",
            file=sys.stderr,
        )
        return MISUSED
    return None


def execute(
    words: list[str],
    start: Callable[[], None],
    names: Callable[[], dict[str, Any]],
    report: Callable[[BaseException], None] | None = None,
) -> int:
    """Start the cluster, run the words, and return the exit status.

    The words are script and arguments, or "-m", "-c" and theirs; none for a prompt, which has `names` from the start.
    `start` is called when sys.path is set, which ranks take over. `report` prints an exception that the words don't
    catch; None: as Python does.
    """
    try:
        _place(words)
        start()
    except KeyboardInterrupt:
        return INTERRUPTED
    except (WindrowError, RuntimeError, OSError, ImportError) as error:
        print(f"python -m windrow: the ranks could not be started: {error}", file=sys.stderr)
        print("python -m windrow doctor shows what is missing", file=sys.stderr)
        return FAILED
    try:
        _run(words, names)
    except SystemExit as end:
        return _status(end.code)
    except BaseException as error:
        (report or print_error)(error)
        return INTERRUPTED if isinstance(error, KeyboardInterrupt) else FAILED
    return 0


def wind_up() -> None:
    """Do what Python does at its end, for a process that will end without it: threads, atexit, flush."""
    for step in (threading._shutdown, atexit._run_exitfuncs, sys.stdout.flush, sys.stderr.flush):  # type: ignore[attr-defined]
        try:
            step()
        except BaseException:
            traceback.print_exc()


def die_by_interrupt() -> None:
    """End this process by SIGINT, as plain Python ends after Ctrl-C: a shell's loop around it stops too."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGINT)


def _status(code: object) -> int:
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    print(code, file=sys.stderr)
    return FAILED


def print_error(error: BaseException) -> None:
    """Print an uncaught exception, without the frames of the runner."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename in _RUNNERS:
        trace = trace.tb_next
    error = error.with_traceback(trace)
    sys.stdout.flush()
    sys.excepthook(type(error), error, trace)


def _place(words: list[str]) -> None:
    """Set sys.argv and sys.path as plain Python would, before ranks are told about them."""
    first, argv = "", words or [""]
    if words[:1] == ["-c"]:
        argv = ["-c", *words[2:]]
    elif words[:1] == ["-m"]:
        argv, first = words[1:], os.getcwd()
    elif words and words[0] != "-":
        path = os.path.realpath(words[0])
        first = os.path.dirname(path) if _is_file(path) else os.path.abspath(words[0])
    sys.argv = argv
    if not sys.flags.safe_path:
        sys.path[0] = first


def _is_file(path: str) -> bool:
    return not os.path.isdir(path) and not zipfile.is_zipfile(path)


def _run(words: list[str], names: Callable[[], dict[str, Any]]) -> None:
    if not words and sys.stdin.isatty():
        from .repl import interact

        interact(main_module(None), names())
    elif not words or words[0] == "-":
        _execute(sys.stdin.read(), "<stdin>")
    elif words[0] == "-c":
        _execute(words[1], "<string>")
    elif words[0] == "-m":
        _as_main(words[1], True)
    elif not _is_file(words[0]):
        _as_main("__main__", False)
    else:
        path = os.path.abspath(words[0])
        with io.open_code(path) as file:
            _execute(file.read(), path)


def _execute(source: str | bytes, name: str) -> None:
    module = main_module(None if name.startswith("<") else name)
    exec(compile(source, name, "exec", dont_inherit=True), module.__dict__)


def _as_main(name: str, sets_argv: bool) -> None:
    """Run a module as Python's own -m does; a folder or an archive on sys.path has one named `__main__`."""
    main_module(None)
    runpy._run_module_as_main(name, sets_argv)  # type: ignore[attr-defined]


def main_module(path: str | None) -> types.ModuleType:
    """Make the module `__main__`, which functions and classes of a script belong to."""
    module = types.ModuleType("__main__")
    module.__dict__["__builtins__"] = builtins
    if path is not None:
        module.__file__ = path
    sys.modules["__main__"] = module
    return module
