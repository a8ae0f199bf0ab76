"""Ranks that die or stop while a job starts: it ends soon, says who is missing, and leaves nothing behind."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.ranks

STRIKES = """
    import os, sys

    rank, when, number = os.environ["STRIKE"].split(":")
    if "PMIX_NAMESPACE" in os.environ and os.environ.get("PMIX_RANK") == rank:

        class Strike:
            @staticmethod
            def find_spec(name, path=None, target=None):
                if name == when:
                    os.kill(os.getpid(), int(number))

        sys.meta_path.insert(0, Strike)
"""
SUM = "import windrow as wr\nassert wr.arange(1000, chunks=10).sum().compute() == 499500\n"
BEFORE_WINDROW = "windrow"
BEFORE_MPI, BEFORE_JOINING = "mpi4py.MPI", "windrow.workers.mpi.messages.link"


@pytest.fixture
def struck(jobs, mpi):
    """Run a script whose rank gets a signal when it imports a module; returns how it ended, and the seconds."""

    def run(command, rank, when, number, **more):
        jobs.write(STRIKES, "sitecustomize.py")
        jobs.environment["PYTHONPATH"] = os.pathsep.join([str(jobs.folder), jobs.environment["PYTHONPATH"]])
        jobs.environment |= {"STRIKE": f"{rank}:{when}:{number}"} | more
        begin = time.monotonic()
        done = jobs.run(command, jobs.write(SUM))
        return done, time.monotonic() - begin

    return run


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("when", [BEFORE_MPI, BEFORE_JOINING])
def test_a_rank_of_mpirun_is_killed(jobs, struck, rank, when):
    done, seconds = struck(jobs.command("mpirun"), rank, when, 9)
    assert done.returncode not in (0, 124, 137)
    assert "before" in done.stderr, done.stderr
    assert "rank 1 (pid" in done.stderr or rank == 0
    assert done.stderr.count("the job ends") == 1, done.stderr
    assert seconds < 30


@pytest.mark.parametrize("rank", [0, 1])
def test_a_rank_of_mpirun_is_stopped(jobs, struck, rank):
    done, _ = struck(jobs.command("mpirun"), rank, BEFORE_MPI, 19, WINDROW_START_LIMIT="8")
    assert done.returncode not in (0, 124, 137)
    assert f"did not come together within 8 s (the setting start_limit): rank {rank} (pid" in done.stderr
    assert "is stopped" in done.stderr


@pytest.mark.parametrize("when", [BEFORE_MPI, BEFORE_JOINING])
def test_a_spawned_rank_is_killed(jobs, struck, when):
    done, seconds = struck(jobs.command("spawn"), 1, when, 9)
    assert done.returncode == 1
    assert "spawned ranks ended before they joined (pid" in done.stderr, done.stderr
    assert seconds < 30


def test_a_spawned_rank_is_stopped(jobs, struck):
    done, _ = struck(jobs.command("spawn"), 0, BEFORE_MPI, 19, WINDROW_START_LIMIT="8")
    assert done.returncode == 1
    assert "did not join within 8 s (the setting start_limit); stopped: pid" in done.stderr, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rank", "when", "number"),
    [
        (0, BEFORE_WINDROW, 9),
        (1, BEFORE_WINDROW, 9),
        (0, BEFORE_MPI, 9),
        (1, BEFORE_MPI, 9),
        (0, BEFORE_MPI, 19),
        (1, BEFORE_MPI, 19),
    ],
)
def test_a_rank_of_srun_is_struck(jobs, struck, rank, when, number):
    if shutil.which("srun") is None or subprocess.run(["sinfo"], check=False, capture_output=True).returncode:
        pytest.skip("no Slurm here")
    jobs.environment |= {k: v for k, v in os.environ.items() if k.startswith("SLURM_")}
    command = ["srun", "-n", "3", "--overcommit", "--mpi=pmix", sys.executable, "-m", "windrow"]
    jobs.ranks = True  # what they leave in shared memory is looked for
    done, seconds = struck(command, rank, when, number, WINDROW_START_LIMIT="8" if number == 19 else "60")
    assert done.returncode not in (0, 124)
    assert "the job ends" in done.stderr
    assert seconds < 30


@pytest.mark.parametrize("how", ["", "--spmd"])
def test_processes_that_a_foreign_launcher_starts_run_no_script_each(jobs, mpi, how):
    """They are no job to this MPI: each would be rank 0 of a job of its own."""
    jobs.ranks = True  # nor is memory left behind
    more = {"env": jobs.environment | {"PMI_RANK": "0", "PMI_SIZE": "3"}}
    done = jobs.run([sys.executable, "-m", "windrow", *how.split()], jobs.write("print('run')"), **more)
    assert (done.returncode, done.stdout) == (1, ""), done.stderr
    assert "the launcher has started 3 processes, of which MPI knows this one alone" in done.stderr


NAMES = """
import windrow as wr
print([open(f"/proc/{each['pid']}/comm").read().strip() for each in wr.cluster().info()])
"""


@pytest.mark.parametrize("started", [2, 0])
def test_processes_have_names(launch, started):
    """`top` shows which rank is which; the process that starts ranks by itself keeps its own name."""
    ended = launch(started, "-c", NAMES) if started else launch(0, "-m", "windrow", "-n", "2", "-c", NAMES)
    names = eval(ended.last)
    assert names[1] == "windrow 1 of 2"
    assert (names[0] == "windrow 0 of 2") == bool(started)
