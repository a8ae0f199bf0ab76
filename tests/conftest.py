"""What tests share: running a program as a user would, with a limit, and looking at what it leaves behind."""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from support.waiting import until

if TYPE_CHECKING:
    from collections.abc import Generator

settings.register_profile("windrow", max_examples=int(os.environ.get("HYPOTHESIS_EXAMPLES", "30")), deadline=None)
settings.load_profile("windrow")

os.environ.setdefault("WINDROW_FULL_TRACEBACK", "1")  # a test that fails is looked into

if (
    signal.getsignal(signal.SIGINT) is signal.SIG_IGN
):  # begun in a shell's background: what is started would ignore it too
    signal.signal(signal.SIGINT, signal.default_int_handler)

if "PYTEST_XDIST_WORKER" in os.environ:  # what one worker's tests leave isn't looked for by the other's
    os.environ["TMPDIR"] = tempfile.mkdtemp(prefix="tests-")
    tempfile.tempdir = None  # mkdtemp has remembered the folder before
    atexit.register(shutil.rmtree, os.environ["TMPDIR"], ignore_errors=True)

OWN = "TESTS_OF_WINDROW"
os.environ[OWN] = str(os.getpid())  # by which processes are known that these tests have started
TESTS = Path(__file__).parent
SOURCE = TESTS.parent / "src"
AS_ROOT = ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM")
AS_ROOT += ("PRTE_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM")


STARTS = {"job", "jobs", "launch", "mpi", "nothing_left", "programs"}  # fixtures of tests that start processes


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that start processes are one group, and the first one: two workers run them beside the others."""
    unlike = [x.nodeid for x in items if " at 0x" in x.nodeid]
    if unlike:
        raise pytest.UsageError(f"each worker must see the same names, these have addresses: {unlike[:3]}")
    starting = [x for x in items if x.get_closest_marker("ranks") or STARTS & set(getattr(x, "fixturenames", ()))]
    grouped = set(map(id, starting))
    for item in items:
        item.add_marker(pytest.mark.xdist_group("processes" if id(item) in grouped else item.path.stem))
    items.sort(key=lambda x: id(x) not in grouped)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Leave what is imported here out of every garbage collection: there are a million objects."""
    gc.disable()
    try:
        result = yield
        gc.collect()
        gc.freeze()
    finally:
        gc.enable()
    return result


class Reruns:
    """Runs tests again, each alone, that failed in a run of several workers; where all pass then, the run has passed.

    What passed only then is listed, with what it said, at the end of the run and in build/flaky.txt: its cause is to
    be found before the next whole run.
    """

    MOST = 20
    """If more tests than that fail, they aren't flaky."""

    def __init__(self) -> None:
        self.failures: dict[str, str] = {}
        self.flaky: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note what failed, without the group that pytest-xdist puts behind its name."""
        name, at, group = report.nodeid.rpartition("@")
        if report.failed:
            self.failures[name if at and "]" not in group else report.nodeid] = report.longreprtext

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Run them again."""
        if exitstatus != pytest.ExitCode.TESTS_FAILED or len(self.failures) > self.MOST:
            return
        marks = ["-m", session.config.option.markexpr]
        for name, text in self.failures.items():
            command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *marks, name]
            alone = subprocess.run(command, cwd=session.config.rootpath, capture_output=True, text=True, check=False)
            if not alone.returncode:
                self.flaky[name] = text
        if len(self.flaky) == len(self.failures):
            session.exitstatus = pytest.ExitCode.OK

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """List them."""
        if not self.flaky:
            return
        lines = [f"{name}\n{text}\n" for name, text in self.flaky.items()]
        terminalreporter.section("flaky: failed in the run, passed alone")
        terminalreporter.write_line("\n".join(lines))
        path = terminalreporter.config.rootpath / "build" / "flaky.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n".join(lines))


def pytest_configure(config: pytest.Config) -> None:
    """Only the process that hands tests to workers sees all that fails."""
    if config.getoption("numprocesses", None) and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Reruns(), "reruns")


@dataclass(frozen=True)
class Ended:
    """How a program ended."""

    status: int
    out: str
    err: str

    @property
    def last(self) -> str:
        """Last line on standard output."""
        return self.out.strip().splitlines()[-1]


def environment(**more: str) -> dict[str, str]:
    """The environment for programs: our source and what tests share, this Python on PATH, root allowed to mpirun."""
    found = dict(os.environ) | dict.fromkeys(AS_ROOT, "1")
    found.pop("TF_NUM_INTRAOP_THREADS", None)  # windrow.ml sets it where a test imports it
    found["PYTHONPATH"] = os.pathsep.join(p for p in (str(SOURCE), str(TESTS), found.get("PYTHONPATH", "")) if p)
    found["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), found["PATH"]])
    return found | more


def mpirun(ranks: int, *, ulfm: bool = True) -> list[str]:
    """The words that start ranks."""
    tool = shutil.which("mpirun", path=environment()["PATH"])
    assert tool is not None, "tests on ranks need an mpirun"
    fault = ["--with-ft", "ulfm"] if ulfm else []
    return [tool, *fault, "--oversubscribe", "--bind-to", "none", "-n", str(ranks)]


@pytest.fixture(scope="session", autouse=True)
def plans_are_verified():
    """Check each plan that a test makes in this process."""
    from support.verified import verifying

    with verifying():
        yield


@pytest.fixture
def programs():
    """The words and the environment for programs that a test starts itself."""
    return SimpleNamespace(mpirun=mpirun, environment=environment)


@pytest.fixture
def launch(tmp_path):
    """Run Python with some words, on ranks or (0) without: launch(ranks, *words, limit=60, **environment)."""

    def run(ranks: int, *words: str, limit: float = 60, ulfm: bool = True, **more: str) -> Ended:
        command = [sys.executable, *words]
        if ranks:
            command = [*mpirun(ranks, ulfm=ulfm), sys.executable, "-m", "windrow", *words]
        done = subprocess.run(
            ["timeout", "-k", "3", str(limit), *command],
            env=environment(**more),
            cwd=tmp_path,
            capture_output=True,
            timeout=limit + 10,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        out, err = (text.decode(errors="replace").replace("\0", "") for text in (done.stdout, done.stderr))
        return Ended(done.returncode, out, err)

    return run


def held_by_others(paths: set[str]) -> set[str]:
    """Return what processes have open that these tests didn't start: whoever else computes on the machine."""
    mine, held = f"{OWN}={os.environ[OWN]}\0".encode(), set()
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mine in (process / "environ").read_bytes():
                continue
            opened = [os.readlink(each) for each in (process / "fd").iterdir()]
            used = "\n".join([*opened, (process / "maps").read_text()])
            held |= {path for path in paths if path in used}
    return held


@pytest.fixture
def nothing_left():
    """Fail when a test leaves something of ours in shared memory or the temporary folder."""

    def ours() -> set[str]:
        folders = (Path("/dev/shm"), Path(tempfile.gettempdir()))
        names = {str(p) for folder in folders if folder.exists() for p in folder.glob("windrow-*")}
        return names | {str(p) for p in Path("/dev/shm").glob("sm_segment*")}

    before = ours()
    yield

    def left() -> set[str]:
        fresh = ours() - before
        return fresh and fresh - held_by_others(fresh)

    until(lambda: not left(), lambda: f"{left()} are gone", 5, 0.1)
