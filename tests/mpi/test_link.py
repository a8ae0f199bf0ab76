"""The MPI link with real ranks: every job is a subprocess with a limit, and must leave nothing behind."""

from __future__ import annotations

import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("mpi4py")
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
if shutil.which("mpirun") is None:
    pytest.skip("no mpirun on PATH", allow_module_level=True)

from support.ranks import without_noise
from support.transports import TransportTests
from support.waiting import until
from windrow.workers.mpi.start import environment

PROGRAMS = Path(__file__).parent / "programs"
LIMIT = 60
LAUNCHED = ["mpirun", "--with-ft", "ulfm", "--oversubscribe", "-n"]
WAYS = ["mpirun", "spawn"]


@pytest.fixture
def job(tmp_path):
    """Run one of the programs, in a temporary folder of its own that must be empty in the end."""

    def run(ranks, program, *args, how="mpirun", launcher=None, through=()):
        command = launcher or (LAUNCHED if how == "mpirun" else [])
        command = [*command, str(ranks)] if command else []
        limited = ["timeout", "-k", "2", str(LIMIT), *command]
        full = [*limited, *through, sys.executable, str(PROGRAMS / program), how, *args]
        env = surroundings(tmp_path)
        return subprocess.run(full, env=env, capture_output=True, text=True, timeout=LIMIT + 10)

    before = leftovers(tmp_path)
    yield run
    until(lambda: not leftovers(tmp_path) - before, lambda: leftovers(tmp_path) - before, 5)


def surroundings(folder):
    """The environment of a job: its own temporary folder, and this interpreter's programs on PATH."""
    found = dict(os.environ) | environment.AS_ROOT
    for name in [x for x in found if x.startswith(("OMPI_MCA", "PRTE_MCA"))]:
        del found[name]
    found["TMPDIR"] = str(folder)
    found["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), found["PATH"]])
    found["PYTHONPATH"] = str(PROGRAMS.parents[1])  # what tests share
    return found


def leftovers(folder):
    """What a job could leave: files in its temporary folder, shared memory, processes that know it."""
    # Open MPI makes this one under the user's name, for all jobs of the user, and never removes it.
    files = {str(x) for x in folder.iterdir() if not x.name.startswith("ompi.")}
    shared = {x for x in os.listdir("/dev/shm") if x.startswith("windrow-")}
    found = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = Path(f"/proc/{pid}/environ").read_bytes()
        except OSError:
            continue
        if f"TMPDIR={folder}".encode() in words.split(b"\0"):
            found.add(pid)
    return files | shared | found


def gone(pid):
    """Tell whether a process has ended; a zombie has."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


def check(done, *lines):
    """The job ended well and said these things."""
    assert done.returncode == 0, done.stdout + done.stderr
    said = done.stdout.replace("\0", "").splitlines()
    for line in lines:
        assert line in said, done.stdout + done.stderr


@pytest.mark.parametrize("how", WAYS)
def test_messages_keep_order_and_never_wait(job, how):
    check(job(3, "messages.py", how=how), "order", "large")


def test_plain_mpirun_ends_properly(job):
    done = job(3, "messages.py", launcher=["mpirun", "--oversubscribe", "-n"])
    check(done, "order", "large")
    assert "improper" not in done.stderr


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize(
    ("transport", "route"), [("auto", "map"), ("map", "map"), ("get", "get"), ("service", "service")]
)
def test_all_routes_bring_the_same_bytes(job, how, transport, route):
    check(job(3, "routes.py", transport, route, how=how), "equal", "spilled")


@pytest.mark.parametrize(("how", "transport"), [("mpirun", "auto"), ("spawn", "service"), ("mpirun", "get")])
def test_it_does_what_every_transport_does(job, how, transport):
    names = [name for name in vars(TransportTests) if name.startswith("test_")]
    check(job(3, "transport.py", transport, how=how), *names)


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("transport", ["auto", "get"])
def test_a_window_exposes_each_arena_from_the_start(job, how, transport):
    done = job(3, "windows.py", transport, how=how)
    check(done, "exposed")
    assert not without_noise(done.stderr).strip()


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("transport", ["map", "get", "service"])
def test_a_death_is_reported_once_and_the_rest_goes_on(job, how, transport):
    check(job(4, "deaths.py", transport, how=how), "went on")


@pytest.mark.parametrize("how", WAYS)
def test_ranks_end_with_rank_0(job, how):
    begin = time.monotonic()
    done = job(3, "driver_killed.py", how=how)
    pids = next(x for x in done.stdout.splitlines() if x.startswith("pids")).split()[1:]
    # Limits with the start; the rank in C code would sleep for a minute.
    until(lambda: all(map(gone, pids)), "the ranks have ended", 40 - (time.monotonic() - begin))


ORDINARY = ("setpriv", "--bounding-set=-net_raw,-net_admin", "--inh-caps=-net_raw,-net_admin")
"""As a user who may bind a socket to an interface, but not take it off again."""


@pytest.mark.parametrize("through", [(), ORDINARY], ids=["as it is", "ordinary"])
def test_one_process_spawns_again_and_again(job, through):
    if through and (os.geteuid() or shutil.which(through[0]) is None):
        pytest.skip("not root, or no setpriv")
    done = job(3, "spawn_twice.py", how="spawn", through=through)
    assert done.returncode == 7, done.stdout + done.stderr
    assert "lives" in done.stdout


@pytest.fixture
def bridge():
    """A second network of this host, on which nobody else is."""
    name = f"wr{os.getpid() % 10**8}"
    lines = (f"link add {name} type bridge", f"addr add 10.99.0.1/24 dev {name}", f"link set {name} up")
    if os.geteuid() or shutil.which("ip") is None:
        pytest.skip("not root, or no ip: no further network can be made")
    try:
        for line in lines:
            if subprocess.run(["ip", *line.split()], check=False, capture_output=True).returncode:
                pytest.skip("no further network can be made here")
        yield
    finally:
        subprocess.run(["ip", "link", "del", name], check=False, capture_output=True)


def test_ranks_meet_on_a_host_with_several_networks(job, bridge):
    """Large messages go over all networks that MPI uses, each of which is begun when the doors are closed."""
    check(job(3, "messages.py", how="spawn"), "order", "large")


def test_ctrl_c_reaches_the_driver_alone(tmp_path):
    pid, terminal = pty.fork()  # the child leads a session of its own, as a notebook kernel does
    if pid == 0:
        os.execve(sys.executable, [sys.executable, str(PROGRAMS / "interrupts.py")], surroundings(tmp_path))
    said = b""
    sent = 0
    deadline = time.monotonic() + 30
    try:
        while time.monotonic() < deadline:
            if not select.select([terminal], [], [], 0.1)[0]:
                continue
            try:
                said += os.read(terminal, 4096)
            except OSError:
                break
            if sent < 2 and f"READY {sent}".encode() in said:
                sent += 1
                time.sleep(0.2)
                os.write(terminal, b"\x03")
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(terminal)
    text = said.decode(errors="replace")
    assert "INTERRUPTED 0" in text, text
    assert "INTERRUPTED 1" in text, text
    assert "ALIVE" in text, text
    assert "bort" not in text, text


def test_other_hosts_are_asked(job):
    """Each rank has a host name of its own: nothing is mapped, and TCP is not one-sided."""
    apart = ["unshare", "--uts", "true"]
    if shutil.which("unshare") is None or subprocess.run(apart, check=False, capture_output=True).returncode:
        pytest.skip("no rights to give a process a host name of its own")
    named = 'hostname "host$OMPI_COMM_WORLD_RANK" && exec "$@"'
    through = ["unshare", "--uts", "sh", "-c", named, "sh"]
    launcher = [*LAUNCHED[:-1], "--mca", "btl", "tcp,self", "-n"]
    check(job(3, "routes.py", "auto", "service", launcher=launcher, through=through), "equal", "spilled")


def test_all_end_when_the_launcher_is_killed(tmp_path):
    full = [*LAUNCHED, "3", sys.executable, str(PROGRAMS / "waits.py"), "mpirun"]
    env = surroundings(tmp_path)
    with subprocess.Popen(full, env=env, stdout=subprocess.PIPE, text=True) as launcher:
        pids = launcher.stdout.readline().replace("\0", "").split()[1:]
        launcher.kill()
    assert len(pids) == 3
    until(lambda: all(map(gone, pids)), "the ranks have ended", 5)


@pytest.mark.parametrize("launcher", [LAUNCHED, ["mpirun", "--oversubscribe", "-n"]], ids=["ulfm", "plain"])
@pytest.mark.parametrize(("ranks", "status"), [(1, 0), (3, 0), (3, 3)])
def test_the_exit_status_is_rank_0s(job, launcher, ranks, status):
    done = job(ranks, "ends.py", str(ranks), str(status), launcher=launcher)
    assert done.returncode == status, done.stdout + done.stderr
    assert "ended" in done.stdout
    assert "improper" not in done.stderr


def test_ranks_that_never_come_are_an_error(job):
    done = job(3, "spawn_fails.py", how="spawn")
    check(done, "refused")
    assert "there_is_no_such_module" in done.stderr
