"""Jobs of the command line: each a process with a limit, which must leave nothing behind."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import pytest

from support.ranks import without_noise
from support.waiting import until

ROOT = Path(__file__).parents[2]
LIMIT = 60
SETTINGS = ("OMPI_", "PRTE_", "PMIX_", "WINDROW_", "SLURM_")
AS_ROOT = (
    "OMPI_ALLOW_RUN_AS_ROOT",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM",
    "PRTE_ALLOW_RUN_AS_ROOT",
    "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM",
)
PLAIN_MPIRUN = ["mpirun", "--oversubscribe", "--bind-to", "none", "-n"]
MPIRUN = ["mpirun", "--with-ft", "ulfm", *PLAIN_MPIRUN[1:]]


class Jobs:
    """Runs command lines in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "work"
        self.folder.mkdir()
        self.temporary = Path(tempfile.mkdtemp(prefix="job-"))  # sockets lie in it, whose paths must be short
        found = {k: v for k, v in os.environ.items() if not k.startswith(SETTINGS)}
        found |= dict.fromkeys(AS_ROOT, "1")
        found["TMPDIR"] = str(self.temporary)
        found["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), found["PATH"]])
        found["PYTHONPATH"] = str(ROOT / "src")
        found["WINDROW_START_LIMIT"] = "40"  # what waits at the start says so before it is ended
        self.environment = found
        self.ranks = False

    def write(self, text: str, name: str = "script.py") -> Path:
        """Write a file beside which the job runs."""
        path = self.folder / name
        path.write_text(textwrap.dedent(text))
        return path

    def command(self, how: str, ranks: int = 3) -> list[str]:
        """Return the words up to `windrow`, and `-n` where it starts the ranks."""
        python = [sys.executable, "-m", "windrow"]
        self.ranks = how != "python"
        launcher = {"mpirun": MPIRUN, "plain mpirun": PLAIN_MPIRUN}.get(how)
        if launcher is not None:
            return [*launcher, str(ranks), *python]
        return [*python, "-n", str(ranks)] if how == "spawn" else python

    def run(self, command, *words, **options):
        """Run a command to its end."""
        full = ["timeout", "-k", "2", str(LIMIT), *command, *map(str, words)]
        options = {"cwd": self.folder, "env": self.environment, "stdin": subprocess.DEVNULL} | options
        if "input" in options:
            del options["stdin"]
        done = subprocess.run(full, check=False, text=True, capture_output=True, timeout=LIMIT + 10, **options)
        done.stdout, done.stderr = without_noise(done.stdout), without_noise(done.stderr)
        return done

    def start(self, command):
        """Start a command; what it prints comes by a pipe."""
        return subprocess.Popen(
            command,
            cwd=self.folder,
            env=self.environment,
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def script(self, how, text, *words, ranks=3, **options):
        """Run a script to its end."""
        return self.run(self.command(how, ranks), self.write(text), *words, **options)

    def processes(self) -> dict[str, str]:
        """Return the living processes that were started here, and what each is."""
        found = {}
        for path in Path("/proc").glob("[0-9]*"):
            try:
                words = (path / "environ").read_bytes().split(b"\0")
                if f"TMPDIR={self.temporary}".encode() in words:
                    found[path.name] = (path / "cmdline").read_text().replace("\0", " ")
            except OSError:
                continue
        return found

    def left(self, before: set[str]) -> list[str]:
        """Return what is still there: files, processes, and shared memory that nobody uses any more."""
        # The launcher makes this one under the user's name, for all jobs of the user, and never removes it.
        files = [str(x) for x in self.temporary.iterdir() if not x.name.startswith("ompi.")]
        # Only ranks share memory, and its names do not tell whose it is: the host's other jobs make some too.
        shared = [x for x in shared_memory() - before if not in_use(x)] if self.ranks else []
        return [*files, *shared, *self.processes().values()]


def shared_memory() -> set[str]:
    """Return what lies in /dev/shm and may be ours."""
    names = os.listdir("/dev/shm") if os.path.isdir("/dev/shm") else []
    return {x for x in names if x.startswith(("windrow", "sm_segment"))}


def in_use(name: str) -> bool:
    """Tell whether a process knows the file or folder in /dev/shm: another job's, then."""
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if name in (path / "maps").read_text() or name.encode() in (path / "environ").read_bytes():
                return True
        except OSError:
            continue
    return False


@pytest.fixture
def jobs(tmp_path):
    """Run jobs; after the test nothing of them may be left."""
    made = Jobs(tmp_path)
    before = shared_memory()
    yield made
    try:
        until(lambda: not made.left(before), lambda: f"{made.left(before)} are gone", 8, 0.1)
    finally:
        shutil.rmtree(made.temporary)


@pytest.fixture(params=["python", "spawn", "mpirun"])
def how(request):
    """Each way to run a script: in one process, on ranks started from it, on ranks that mpirun starts."""
    if request.param != "python":
        need_mpi()
    return request.param


@pytest.fixture
def mpi():
    """Skip the test where there is no MPI."""
    need_mpi()


def need_mpi() -> None:
    """Skip the test where there is no MPI."""
    pytest.importorskip("mpi4py")
    if shutil.which("mpirun", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}") is None:
        pytest.skip("no mpirun on PATH")
