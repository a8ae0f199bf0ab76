"""`python -m windrow doctor`: one screen, with or without MPI."""

from __future__ import annotations

import importlib.metadata
import re
import sys
import time

import pytest

from windrow.scheduler.cli import doctor

PYTHON = [sys.executable, "-m", "windrow"]
NAMES = ("windrow", "Python", "packages", "MPI", "memory", "cores", "/dev/shm", "spill folder", "two ranks")


def check_screen(done):
    """It went well and fits a screen."""
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) <= 24
    for name in NAMES:
        assert any(line.startswith(name) for line in lines), name


@pytest.mark.ranks
def test_all_is_there(jobs, mpi):
    done = jobs.run(PYTHON, "doctor")
    check_screen(done)
    for part in ("mpi4py", "libmpi", "between them", "fault tolerance", "started, asked and stopped in"):
        assert part in done.stdout
    assert re.search(r"window +made at start in [\d.]+ ms, .* model unified; a Get needs its target", done.stdout)


@pytest.mark.ranks
def test_the_launcher_is_missing(jobs, mpi):
    jobs.environment["MPI4PY_LIBMPI"] = "/nowhere/libmpi.so"
    done = jobs.run(PYTHON, "doctor")
    check_screen(done)
    assert "problem: mpi4py finds no MPI" in done.stdout


def test_without_mpi4py(jobs):
    text = "import runpy, sys; sys.modules['mpi4py'] = None; sys.argv[1:] = {}; "
    text += "runpy.run_module('windrow', run_name='__main__')"
    done = jobs.run([sys.executable, "-c", text.format(["doctor"])])
    check_screen(done)
    assert "problem: mpi4py is missing" in done.stdout
    done = jobs.run([sys.executable, "-c", text.format(["-n", "3", "-c", "1"])])
    assert done.returncode == 1
    assert "python -m windrow doctor" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("version", "said"),
    [("0.44.0", "llvmlite 0.44.0 is older than 0.45"), ("0.45.1", ""), ("1.0", ""), (None, "llvmlite is missing")],
)
def test_what_compiles_kernels(monkeypatch, version, said):
    real = importlib.metadata.version

    def find(name):
        if name != "llvmlite":
            return real(name)
        if version is None:
            raise importlib.metadata.PackageNotFoundError(name)
        return version

    monkeypatch.setattr(importlib.metadata, "version", find)
    made = doctor.DoctorReport()
    line = doctor._packages(made)
    assert f"llvmlite {version or 'missing'}" in line
    assert "numba" not in line
    assert [text.partition(", so")[0] for text in made.advice] == ([said] if said else [])
    assert all('pip install "windrow[jit]"' in text for text in made.advice)


@pytest.mark.ranks
def test_problems_have_a_line_of_advice(jobs):
    jobs.environment["WINDROW_SPILL_DIR"] = "/nowhere"
    done = jobs.run(PYTHON, "doctor")
    check_screen(done)
    assert "problem: the spill folder" in done.stdout
    jobs.environment["WINDROW_HEARTBEAT"] = "soon"
    done = jobs.run(PYTHON, "doctor")
    check_screen(done)
    assert "WINDROW_HEARTBEAT" in done.stdout


@pytest.mark.ranks
def test_a_way_that_was_chosen_is_no_problem(jobs):
    jobs.environment["WINDROW_TRANSPORT"] = "service"
    done = jobs.run(PYTHON, "doctor")
    check_screen(done)
    assert "between them     service: the setting transport is 'service'" in done.stdout
    assert "can't map" not in done.stdout


def test_ranks_of_other_hosts_need_not_be_mapped():
    made = doctor.DoctorReport()
    assert doctor._routes(made, ["map"], ["service"]).count(";") >= 1
    assert not made.advice
    doctor._routes(made, ["map", "service"])
    assert len(made.advice) == 1


@pytest.mark.ranks
def test_under_mpirun_it_reports_the_ranks_that_it_is_part_of(jobs, mpi):
    begin = time.monotonic()
    done = jobs.run(jobs.command("mpirun"), "doctor")
    assert time.monotonic() - begin < 40
    assert done.returncode == 0, done.stderr
    assert "ranks            3 of one job: 3 on " in done.stdout
    assert "between them     map" in done.stdout
    assert re.search(r"window +made at start in [\d.]+ ms", done.stdout)
    assert "two ranks" not in done.stdout
    assert "can't be started" not in done.stdout
    assert "network          open to other hosts: prterun" in done.stdout  # which can't be told otherwise
    assert "python (pid" not in done.stdout


@pytest.mark.ranks
def test_under_mpirun_of_one_it_tries_two(jobs, mpi):
    done = jobs.run(jobs.command("mpirun", 1), "doctor")
    check_screen(done)
    assert "started, asked and stopped in" in done.stdout
    assert "network          nothing listens for other hosts" in done.stdout
