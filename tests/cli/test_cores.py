"""As many ranks as suit the cores: `-n auto`, `Cluster("auto")` and the setting `ranks`."""

from __future__ import annotations

import os
import sys

import pytest

import windrow as wr
from windrow.scheduler.cli.options import parse
from windrow.scheduler.session import resources
from windrow.workers.config import ConfigError, load

GIB = 1 << 30
CORES = "import os\nos.sched_getaffinity = lambda pid: set(range(8))\n"
SCRIPT = """
    import windrow as wr

    print(wr.cluster())
    print(float(wr.arange(1000, chunks=10).sum()))
"""
"""On 8 cores that are made up: two ranks of four threads each."""


@pytest.fixture
def machine(monkeypatch):
    """Make up a machine's cores and memory."""

    def make(cores: int, gib: int) -> None:
        monkeypatch.setattr(resources, "usable_cores", lambda: cores)
        monkeypatch.setattr(resources, "usable_memory", lambda: gib * GIB)

    return make


@pytest.mark.parametrize(
    ("cores", "gib", "ranks", "threads"),
    [
        (1, 64, 1, 1),
        (2, 64, 1, 2),
        (4, 64, 1, 4),
        (5, 64, 2, 3),
        (8, 64, 2, 4),
        (16, 64, 4, 4),
        (96, 500, 24, 4),
        (96, 3, 3, 32),
        (16, 0, 1, 16),
    ],
)
def test_a_rank_for_each_four_cores_and_a_gib_for_each_rank(machine, cores, gib, ranks, threads):
    machine(cores, gib)
    assert resources.spread_over_cores() == (ranks, threads)
    found = parse(["-n", "auto", "script.py"], "0")
    assert (found.ranks, found.threads) == (ranks, threads if ranks > 1 else None)
    assert parse(["-n", "auto", "--threads", "3", "script.py"], "0").threads == 3


def test_the_setting_takes_numbers_and_auto():
    assert load({"WINDROW_CONFIG": ""}).ranks is None
    assert load({"WINDROW_CONFIG": "", "WINDROW_RANKS": "auto"}).ranks == "auto"
    assert load({"WINDROW_CONFIG": "", "WINDROW_RANKS": "3"}).ranks == 3
    for bad in ("many", "0", "-1", "1.5"):
        with pytest.raises(ConfigError, match="setting 'ranks'"):
            load({"WINDROW_CONFIG": "", "WINDROW_RANKS": bad})


def test_auto_on_few_cores_is_the_embedded_engine(machine):
    machine(3, 64)
    with wr.Cluster("auto") as cluster, wr.config.set(ranks="auto"), wr.Cluster(threads=2) as other:
        assert (cluster.size, other.size, other.threads) == (1, 1, 2)
    with pytest.raises(ValueError, match="'ranks'"):
        wr.Cluster("many")
    with wr.config.set(ranks=3), wr.Cluster(1, threads=2) as cluster:
        assert cluster.size == 1


@pytest.mark.ranks
@pytest.mark.parametrize("how", ["-n auto", "setting"])
def test_auto_starts_ranks(jobs, mpi, how):
    jobs.write(CORES, "sitecustomize.py")
    jobs.environment["PYTHONPATH"] = os.pathsep.join([str(jobs.folder), jobs.environment["PYTHONPATH"]])
    if how == "setting":
        jobs.environment["WINDROW_RANKS"] = "auto"
    words = ["-m", "windrow", "-n", "auto"] if how == "-n auto" else []
    jobs.ranks = True
    done = jobs.run([sys.executable, *words], jobs.write(SCRIPT))
    assert done.stdout.splitlines() == ["<Cluster: 2 of 2 ranks, 4 threads each>", "499500.0"], done.stderr
