"""`python -m windrow`: run a script, a module, a command or a prompt on ranks; show the environment."""

from __future__ import annotations

import argparse
import os
import runpy
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any

from ..workers.config import config
from ..workers.mpi.environment import exports, ulfm_enabled, under_mpirun
from .cluster import Cluster
from .limits import arena_bytes

USAGE = """python -m windrow [-n RANKS] [--threads N] [--memory BYTES] [--transport WAY] [SCRIPT | -m MODULE | -c CODE] ARGS…
       python -m windrow env | doctor"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says and return the exit status. Ranks other than 0 never return."""
    options, rest = _parse(list(sys.argv[1:] if arguments is None else arguments))
    job = under_mpirun()
    if rest[:1] == ["env"] and not os.path.exists("env"):
        print("\n".join(f"export {name}={value}" for name, value in exports().items()))
        return 0
    if rest[:1] == ["doctor"] and not os.path.exists("doctor"):
        from .doctor import report

        print(report())
        return 0
    if job is not None:
        return _as_rank(options, rest)
    if options.n is None and not rest:
        options.n = 1
    if options.n is None or options.n == 1:
        return _drive(rest, lambda: None if options.n is None else _embedded(options))
    return _as_driver(options, rest)


def _parse(arguments: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """Read our own options; the first word that isn't one begins the script and its arguments."""
    parser = argparse.ArgumentParser(prog="python -m windrow", usage=USAGE, add_help=True)
    parser.add_argument("-n", type=int, metavar="RANKS")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--memory")
    parser.add_argument("--transport", choices=["auto", "map", "get", "service"])
    own: list[str] = []
    rest = list(arguments)
    while rest and rest[0].startswith("-") and rest[0] not in ("-m", "-c", "-"):
        word = rest.pop(0)
        own.append(word)
        if word in ("-n", "--threads", "--memory", "--transport") and rest:
            own.append(rest.pop(0))
    return parser.parse_args(own), rest


def _embedded(options: argparse.Namespace) -> Cluster:
    return Cluster(memory=options.memory, threads=options.threads)


def _as_driver(options: argparse.Namespace, rest: list[str]) -> int:
    """Start the ranks from here."""
    return _drive(rest, lambda: Cluster(options.n, options.memory, options.threads, options.transport))


def _as_rank(options: argparse.Namespace, rest: list[str]) -> int:
    """Be a rank of the job that mpirun or srun started; rank 0 runs the script."""
    from ..workers.loop import serve
    from ..workers.mpi.start import leave, world

    if options.n is not None:
        print("python -m windrow: -n starts ranks; under mpirun they are there already: leave it out", file=sys.stderr)
        return 2
    here = int(os.environ.get("OMPI_COMM_WORLD_LOCAL_SIZE", "1"))
    arena = Cluster._arena(options.memory, here) if options.memory or config.memory else arena_bytes(here)
    link = world(arena, options.transport or config.transport)
    if link.rank:
        try:
            serve(link)
        finally:
            leave(link)
    if not ulfm_enabled() and link.size > 1:
        print(
            "windrow: without --with-ft ulfm (or the exports of `python -m windrow env`) the death of a rank ends the job",
            file=sys.stderr,
        )
    cluster: list[Cluster] = []

    def start() -> Cluster:
        cluster.append(Cluster.over(link, arena, options.threads or 1))
        return cluster[0]

    status = _drive(rest, start)
    leave(link, status)


def _drive(rest: list[str], start: Callable[[], Any]) -> int:
    """Start a cluster, run what the words say as `__main__`, and close the cluster; return the exit status."""
    cluster = None
    try:
        _place(rest)
        cluster = start()
        _run(rest)
        return 0
    except SystemExit as exit:
        return _status(exit.code)
    except KeyboardInterrupt:
        traceback.print_exc()
        return 130
    except BaseException:
        _print_exception()
        return 1
    finally:
        if cluster is not None:
            cluster.close()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()


def _status(code: object) -> int:
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    print(code, file=sys.stderr)
    return 1


def _print_exception() -> None:
    """Print the traceback as plain Python would: without the frames of the runner."""
    kind, error, trace = sys.exc_info()
    while trace is not None and trace.tb_frame.f_code.co_filename in (__file__, runpy.__file__, "<frozen runpy>"):
        trace = trace.tb_next
    traceback.print_exception(kind, error, trace)


def _place(rest: list[str]) -> None:
    """Set sys.argv and sys.path as plain Python would, before ranks are told about them."""
    if not rest:
        sys.argv = [""]
        sys.path[0] = ""
    elif rest[0] == "-c":
        sys.argv = ["-c", *rest[2:]]
        sys.path[0] = ""
    elif rest[0] == "-m":
        sys.argv = rest[1:]
        sys.path[0] = os.getcwd()
    else:
        sys.argv = rest
        sys.path[0] = os.path.dirname(os.path.abspath(rest[0]))


def _run(rest: list[str]) -> None:
    if not rest:
        from .repl import interact

        interact()
    elif rest[0] == "-c":
        namespace = sys.modules["__main__"].__dict__
        namespace.clear()
        namespace["__name__"] = "__main__"
        namespace["__builtins__"] = __builtins__
        exec(compile(rest[1], "<string>", "exec"), namespace)
    elif rest[0] == "-m":
        runpy.run_module(rest[1], run_name="__main__", alter_sys=True)
    else:
        if not os.path.exists(rest[0]):
            raise SystemExit(f"python -m windrow: can't open file {rest[0]!r}: no such file")
        runpy.run_path(rest[0], run_name="__main__")
