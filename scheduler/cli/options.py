"""Reading the command line of `python -m windrow`."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field

from ..session.resources import read_memory, spread_over_cores

USAGE = """python -m windrow [options] [SCRIPT | -m MODULE | -c CODE | -] [arguments …]
       python -m windrow env | doctor"""
TEXT = "Run a Python script, or a prompt, whose arrays live on MPI ranks."
EXAMPLES = """\
ways to run:
  python -m windrow -n 4 script.py       start 4 ranks and run the script; this process is rank 0
  python -m windrow -n auto script.py    a rank for each four cores of this machine, with four threads
  python -m windrow -n 4                 a prompt on 4 ranks; Ctrl-C stops a computation, Ctrl-D leaves
  python -m windrow script.py            in this process, with threads, as `python script.py` does
  mpirun --with-ft ulfm --oversubscribe --bind-to none -n 4 python -m windrow script.py
  srun --mpi=pmix -n 64 python -m windrow script.py
                                         be the ranks that the launcher starts
  python -m windrow -n 4 --spmd script.py
  mpirun --with-ft ulfm -n 4 python -m windrow --spmd script.py
                                         every rank runs the script, as MPI programs do

commands:
  env       print what to export so that a plain mpirun's job survives the death of a rank:
            eval "$(python -m windrow env)"
  doctor    show what was found here, how ranks reach each other, and what to do about problems
"""
COMMANDS = {
    "env": """usage: eval "$(python -m windrow env)"

Print what to export so that a plain mpirun's job survives the death of a rank.""",
    "doctor": """usage: python -m windrow doctor
       mpirun -n 2 python -m windrow doctor

Show what was found here, how ranks reach each other, and what to do about problems.""",
}
TAKING = ("-n", "--threads", "--memory", "--transport")


@dataclass(frozen=True)
class Options:
    """What the command line asks for; `words` are the script or command and its arguments."""

    ranks: int | None = None
    threads: int | None = None
    memory: str | None = None
    transport: str | None = None
    spmd: bool = False
    words: list[str] = field(default_factory=lambda: [])

    @property
    def given(self) -> bool:
        """Whether the cluster is described at all."""
        return any(x is not None for x in (self.ranks, self.threads, self.memory, self.transport))

    def again(self) -> list[str]:
        """Return the words with which a launcher starts each rank."""
        own = [("--threads", self.threads), ("--memory", self.memory), ("--transport", self.transport)]
        options = [word for name, value in own if value is not None for word in (name, str(value))]
        return ["--spmd", *options, *(["--"] if self.words[0].startswith("--") else []), *self.words]

    def arena(self, ranks: int) -> int:
        """Return the bytes of a rank's arena, of so many on this host."""
        return read_memory("Cluster", self.memory, ranks)


def parse(arguments: list[str], version: str) -> Options:
    """Read our own options, as argparse does; the first word that is none begins the script and its arguments."""
    parser = _parser(version)
    own: list[str] = []
    rest = list(arguments)
    while rest and rest[0].startswith("-") and rest[0] not in ("-m", "-c", "-", "--"):
        own.append(rest.pop(0))
        if own[-1] in TAKING and rest:
            own.append(rest.pop(0))
    if rest[:1] == ["--"]:
        rest.pop(0)
    namespace = parser.parse_args(own)
    if len(rest) == 2 and rest[0] in COMMANDS and rest[1] in ("-h", "--help"):
        print(COMMANDS[rest[0]])
        raise SystemExit(0)
    if rest[:1] in (["-m"], ["-c"]) and len(rest) == 1:
        parser.error(f"argument expected for the {rest[0]} option")
    threads = namespace.threads
    if namespace.n == "auto":
        namespace.n, share = spread_over_cores()
        threads = threads or (share if namespace.n > 1 else None)
    return Options(namespace.n, threads, namespace.memory, namespace.transport, namespace.spmd, rest)


def _parser(version: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m windrow",
        usage=USAGE,
        description=TEXT,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "-n", type=_ranks, metavar="RANKS", help="start ranks, this process included; auto: one for each four cores"
    )
    parser.add_argument("--threads", type=_positive, metavar="N", help="compute threads of each rank")
    parser.add_argument("--memory", metavar="BYTES", help='of each rank\'s chunks, such as "2 GiB"')
    parser.add_argument(
        "--transport",
        choices=["auto", "map", "get", "service"],
        help="how ranks read each other's chunks; auto finds out",
    )
    parser.add_argument("--spmd", action="store_true", help="every rank runs the script; see windrow.rank")
    parser.add_argument("--version", action="version", version=f"windrow {version}")
    return parser


def _ranks(text: str) -> int | str:
    return text if text == "auto" else _positive(text)


def _positive(text: str) -> int:
    value = int(text) if text.isascii() and text.isdigit() else 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no positive number")
    return value
