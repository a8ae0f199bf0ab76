"""The parts of the MPI link that need no MPI."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from windrow.workers.mpi.deaths import janitor
from windrow.workers.mpi.messages.wakeup import Bell
from windrow.workers.mpi.rma.memory import PeerMemory, make_arena
from windrow.workers.mpi.start import environment
from windrow.workers.mpi.start import private_folders as private

SCRIPT = Path(janitor.__file__)


@pytest.mark.parametrize(
    ("variables", "found"),
    [
        ({}, None),
        (
            {"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "4", "PMIX_NAMESPACE": "a@1"},
            ("openmpi", 2, 4, "a@1"),
        ),
        ({"PMI_RANK": "0", "PMI_SIZE": "2"}, ("pmi", 0, 2, "")),
        ({"PMIX_RANK": "1", "SLURM_NTASKS": "2", "PMIX_NAMESPACE": "s.1"}, ("pmix", 1, 2, "s.1")),
        (
            {
                "SLURM_PROCID": "1",
                "SLURM_STEP_ID": "0",
                "SLURM_STEP_NUM_TASKS": "8",
                "SLURM_JOB_ID": "5",
            },
            ("slurm", 1, 8, "5.0"),
        ),
        # A batch script is one process, whatever its allocation.
        ({"SLURM_PROCID": "0", "SLURM_NTASKS": "8", "SLURM_JOB_ID": "5"}, None),
        ({"SLURM_PROCID": "0", "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "1"}, None),
    ],
)
def test_a_rank_knows_its_job(variables, found):
    job = environment.under_mpirun(variables)
    assert job == (None if found is None else environment.LaunchedJob(*found))


@pytest.mark.parametrize(
    ("mark", "rank"),
    [
        ("own openmpi 1/4 a@1", True),
        ("1 openmpi 1/4 a@1", False),
        ("1 openmpi 1/4 b@1", True),  # another job's, inside of which this one was launched
        ("1 openmpi 0/4 a@1", True),
        ("", True),
    ],
)
def test_a_rank_s_child_is_no_rank(mark, rank):
    mark = mark.replace("own", str(os.getpid()))
    told = {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "4", "PMIX_NAMESPACE": "a@1", "WINDROW_RANK": mark}
    assert (environment.under_mpirun(told) is not None) is rank


def test_leaving_a_job_keeps_the_settings(monkeypatch):
    told = {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "4", "PMIX_NAMESPACE": "a@1", "PRTE_LAUNCHED": "1"}
    kept = {"OMPI_MCA_btl": "^ofi", "OMPI_ALLOW_RUN_AS_ROOT": "1", "PRTE_MCA_state_base_recoverable": "1"}
    for name, value in (told | kept).items():
        monkeypatch.setenv(name, value)
    environment.leave_job()
    assert not told.keys() & os.environ.keys()
    assert kept.items() <= os.environ.items()


def test_exports_are_what_recovery_needs():
    found = environment.exports()
    assert found["OMPI_MCA_mpi_ft_enable"] == "1"
    assert found["PRTE_MCA_state_base_recoverable"] == "1"


HOSTS = ("SLURM_JOB_NUM_NODES", "SLURM_NNODES", "PBS_NODEFILE", "LSB_HOSTS", "PE_HOSTFILE", "FLUX_JOB_ID")
BY_MPIRUN = {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "1", "PMIX_NAMESPACE": "a@1"}


@pytest.mark.parametrize(
    ("variables", "words", "asked", "found"),
    [
        ({}, "", None, "lo"),
        ({"SLURM_JOB_NUM_NODES": "1"}, "", None, "lo"),
        ({"SLURM_JOB_NUM_NODES": "2"}, "", None, None),
        ({"PBS_NODEFILE": "/nodes"}, "", None, None),
        ({"OMPI_MCA_btl_tcp_if_exclude": "eth0"}, "", None, None),
        ({"OMPI_MCA_btl_tcp_if_include": "eth1"}, "", "eth0", "eth1"),
        ({}, "", "eth0", "eth0"),
        (BY_MPIRUN, "mpirun -n 1 python script.py", None, "lo"),
        (BY_MPIRUN, "mpirun --host a,b -n 1 python script.py", None, None),
        ({}, "bash -H a", None, "lo"),
    ],
)
def test_spawned_ranks_meet_over_loopback_unless_somebody_asks_for_hosts(monkeypatch, variables, words, asked, found):
    for name in [*HOSTS, *(x for x in os.environ if x.startswith(("OMPI_", "PRTE_", "PMIX_", "SLURM_", "PMI_")))]:
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(environment, "words_of", lambda pid: words.split())
    assert environment.choose_interface(asked) == found


def test_importing_the_package_does_not_start_mpi():
    code = "import sys; from windrow.workers.mpi.start import environment, start; sys.exit('mpi4py' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_an_arena_is_mapped_by_its_name():
    arena = make_arena(3, 1 << 20)
    arena.memory[:5] = range(5)
    memory = PeerMemory()
    assert not memory.map_arena(3, replace(arena.name, token=bytes(16)))
    assert memory.map_arena(3, arena.name)
    view = memory.arena(3)
    assert view is not None
    assert view[:5].tolist() == [0, 1, 2, 3, 4]
    arena.memory[0] = 9
    assert view[0] == 9
    assert not view.flags.writeable


def test_a_views_memory_outlives_its_arena():
    arena = make_arena(0, 1 << 20)
    view = arena.memory[:10]
    view[:] = 5
    arena.close()
    assert view.tolist() == [5] * 10


def test_a_number_used_again_is_another_file(tmp_path):
    memory = PeerMemory()
    fd = os.open(tmp_path, os.O_TMPFILE | os.O_RDWR)
    os.write(fd, b"first")
    first = memory.map_spill_file(1, os.getpid(), fd)
    assert first is not None
    assert memory.map_spill_file(1, os.getpid(), fd) is first
    os.write(fd, b" longer")
    longer = memory.map_spill_file(1, os.getpid(), fd)
    assert longer is not None
    assert longer.tobytes() == b"first longer"
    os.close(fd)
    assert memory.map_spill_file(1, os.getpid(), fd) is None
    again = os.open(tmp_path, os.O_TMPFILE | os.O_RDWR)
    assert again == fd
    os.write(again, b"second")
    second = memory.map_spill_file(1, os.getpid(), again)
    assert second is not None
    assert second.tobytes() == b"second"
    assert first.tobytes() == b"first"
    os.close(again)


def test_a_bell_wakes_and_tells_who():
    one, two = Bell("test-word", 1), Bell("test-word", 2)
    two.ring(1)
    assert one.wait(1.0)
    assert not one.take_wake()
    assert not one.wait(0.01)
    one.wake()
    assert one.wait(1.0)
    assert one.take_wake()
    assert not one.take_wake()
    two.ring(7)  # nobody there
    one.close()
    two.close()


def start_janitor(driver, *words):
    """A janitor, and the pipe to it."""
    command = [sys.executable, "-I", "-S", "-E", str(SCRIPT), str(driver), *words]
    return subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)


def sleeper():
    """A process that would stay for a minute, without this one's pipes."""
    return subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(60)"])


def test_the_janitor_ends_ranks_and_deletes_when_the_driver_dies(tmp_path):
    folder = tmp_path / "private"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "file").write_text("x")
    (folder / "link").symlink_to(tmp_path)
    driver, rank = sleeper(), sleeper()
    with start_janitor(driver.pid) as process:
        assert process.stdin is not None
        process.stdin.write(f"guard {rank.pid}\nfolder {folder}\n".encode())
        process.stdin.flush()
        time.sleep(0.3)
        assert rank.poll() is None
        driver.kill()  # the pipe stays open, as it does when the driver has forked
        driver.wait()
        assert rank.wait(5) == -9
        assert process.wait(5) == 0
    assert not folder.exists()
    assert tmp_path.exists()


STUBBORN = """
import signal, sys, time

def asked(*_):
    asked.times += 1
    if asked.times == 2:
        sys.exit(7)

asked.times = 0
signal.signal(signal.SIGTERM, asked)
print("ready", flush=True)
for _ in range(60):
    time.sleep(1)
"""


def test_the_janitor_asks_a_launcher_that_waits_for_its_daemons_again():
    driver = sleeper()
    stubborn = [sys.executable, "-S", "-c", STUBBORN]
    with (
        subprocess.Popen(stubborn, stdout=subprocess.PIPE) as launcher,
        start_janitor(driver.pid) as process,
    ):
        assert launcher.stdout is not None
        launcher.stdout.readline()
        assert process.stdin is not None
        process.stdin.write(f"launcher {launcher.pid} 60\nlauncher {launcher.pid} 0.2\n".encode())
        process.stdin.flush()
        time.sleep(0.3)
        assert launcher.poll() is None
        driver.kill()
        driver.wait()
        assert launcher.wait(8) == 7
        assert process.wait(8) == 0


def test_the_janitor_asks_a_launcher_that_stays_to_end():
    driver, launcher = sleeper(), sleeper()
    with start_janitor(driver.pid) as process:
        assert process.stdin is not None
        process.stdin.write(f"launcher {launcher.pid} 0.5\n".encode())
        process.stdin.flush()
        time.sleep(0.3)
        assert launcher.poll() is None
        driver.kill()
        driver.wait()
        assert launcher.wait(8) == -15
        assert process.wait(8) == 0


def test_the_janitor_ends_late_ranks_alone():
    late, other = sleeper(), sleeper()
    with start_janitor(os.getpid()) as process:
        assert process.stdin is not None
        process.stdin.write(f"guard {late.pid}\nguard {other.pid}\nleave 0.2 {late.pid}\n".encode())
        process.stdin.flush()
        assert late.wait(5) == -9
        assert other.poll() is None
        process.stdin.close()
        assert other.wait(5) == -9


def test_a_waiting_janitor_kills_nobody(tmp_path):
    folder = tmp_path / "private"
    folder.mkdir()
    first, rank = sleeper(), sleeper()
    with start_janitor(first.pid, "wait") as process:
        assert process.stdin is not None
        process.stdin.write(f"guard {rank.pid}\nfolder {folder}\n".encode())
        process.stdin.flush()
        time.sleep(0.2)
        first.kill()
        first.wait()
        time.sleep(1.0)
        assert rank.poll() is None
        assert folder.exists()
        rank.kill()
        rank.wait()
        assert process.wait(5) == 0
    assert not folder.exists()


HOLDS = """
import sys
from windrow.workers.mpi.start import private_folders as private
private.SHARED_MEMORY = sys.argv[1]
print(private.make_job_folder(sys.argv[2]), flush=True)
sys.stdin.read()
"""


def test_the_next_job_deletes_what_a_killed_one_has_left(tmp_path, monkeypatch):
    monkeypatch.setattr(private, "SHARED_MEMORY", str(tmp_path))
    living, killed, foreign = (tmp_path / f"windrow-{name}" for name in ("0-living", "0-killed", "results"))
    foreign.mkdir()
    (foreign / "file").write_text("a user's own")
    jobs = {}
    for folder in (living, killed):
        words = [sys.executable, "-c", HOLDS, str(tmp_path), str(folder)]
        jobs[folder] = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert jobs[folder].stdout.readline() == b"True\n"
        (folder / "segment").write_text("shared memory")
    private.sweep()
    assert living.exists()
    assert killed.exists()
    jobs[killed].kill()
    jobs[killed].communicate()
    private.sweep()
    assert not killed.exists()
    assert (living / "segment").exists()
    assert (foreign / "file").exists()
    jobs[living].communicate(timeout=10)


def test_private_folders_leave_the_environment_as_it_was(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    told: list[str] = []

    def guarded(paths):
        assert not any(os.path.exists(path) for path in paths)
        told.extend(paths)

    folders = private.make("windrow-test", guarded)
    assert set(folders.all()) <= set(told)
    before = dict(os.environ)
    with private.in_force(folders), private.initialising(folders):
        assert os.environ["TMPDIR"] == folders.sessions
        for name in private.segment_settings(""):
            assert os.environ[name] == folders.segments
    assert dict(os.environ) == before
    for folder in folders.all():
        janitor.remove(folder)
        assert not os.path.exists(folder)
