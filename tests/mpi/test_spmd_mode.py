"""SPMD mode: every rank runs the script; what it computes is collective; what goes wrong has a name."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from support.ranks import without_noise

PROGRAMS = Path(__file__).parent / "programs"
pytestmark = pytest.mark.ranks


@pytest.fixture
def spmd(launch, nothing_left, tmp_path):
    """Run a script on all of some ranks: spmd(ranks, text, *words, **how)."""

    def run(ranks: int, text: str, *words: str, limit: float = 60, **how):
        script = tmp_path / "script.py"
        script.write_text(text)
        return launch(ranks, "--spmd", str(script), *words, limit=limit, **how)

    return run


@pytest.mark.parametrize("transport", ["auto", *(pytest.param(t, marks=pytest.mark.slow) for t in ("service", "get"))])
def test_all_ranks_have_the_same_results(launch, nothing_left, tmp_path, transport):
    ended = launch(3, "--spmd", "--transport", transport, str(PROGRAMS / "spmd_results.py"), str(tmp_path))
    assert ended.status == 0, ended.err[-3000:]
    assert ended.out == "all is well\n"
    found = [json.loads((tmp_path / f"{rank}.json").read_text()) for rank in range(3)]
    own = ("rank", "arena", "mine", "slices", "small")
    assert [f["small"] for f in found] == [11, 11, 9], "small arrays are spread over the ranks"
    assert [f["rank"] for f in found] == [f["arena"] for f in found] == [0, 1, 2]
    assert sorted(k for f in found for k in f["mine"]) == list(range(40))
    assert [[k * 10_000, k * 10_000 + 10_000] for f in found for k in f["mine"]] == [
        s for f in found for s in f["slices"]
    ]
    first = {name: value for name, value in found[0].items() if name not in own}
    assert all({name: value for name, value in f.items() if name not in own} == first for f in found)
    assert 0 < first["mean"] < 1
    assert first["total"] == pytest.approx(179700.0)
    assert first["whole"] == [400_000, 1_200_000.0]
    assert (first["sums"], first["mapped"], first["masked"], first["unique"]) == (1_200_000.0, 2_400_000.0, 400, 11)
    assert (first["gang"], first["same class"], first["loop"]) == ([0, 1, 2], True, 3_200_000.0)
    assert (first["error"], first["waited"], first["after"]) == ("of the function", "of the function", 1.0)
    assert (first["loaded"], first["npy"], first["file"]) == (3_200_000.0, 3_200_000.0, 3_200_000.0)
    assert first["table"] == [0, 9]
    assert first["looked up"] == [k * k for k in range(10)]


DIFFERENT = """
import windrow as wr
x = wr.ones(10)
try:
    if wr.rank() == 1:
        x.sum().compute()
    else:
        x.mean().compute()
except wr.ClusterError as error:
    told = str(error)
assert told == wr.comm().bcast(told)
assert x.sum().compute() == 10  # they go on together
data = wr.asarray([1.0, wr.rank()])
try:
    data.sum().compute()
except wr.ClusterError as error:
    other = str(error)
if wr.rank() == 0:
    print(told)
    print(other)
"""


def test_different_requests_are_an_error_that_names_both_lines(spmd):
    ended = spmd(3, DIFFERENT)
    assert ended.status == 0, ended.err[-3000:]
    different, data = ended.out.splitlines()
    assert re.search("ranks? 0(, 2)?: compute of mean [(][)] at", different)
    assert "script.py:8" in different
    assert "rank 1: compute of sum () at" in different
    assert "script.py:6" in different
    assert "script.py:15" in data
    assert "data that was handed in" in data


LATE = """
import time
import windrow as wr
if wr.rank() == 1:
    time.sleep(2)
try:
    wr.ones(3).sum().compute()
except wr.ClusterError as error:
    print(error, flush=True)
wr.comm().Barrier()
assert float(wr.ones(3).sum()) == 3
"""


def test_a_late_rank_is_named(spmd):
    ended = spmd(2, LATE, WINDROW_LATE_LIMIT="1")
    assert ended.status == 0, ended.err[-3000:]
    assert len(ended.out.splitlines()) == 2, ended.out
    for line in ended.out.splitlines():
        assert "rank 1 didn't come within 1 s (the setting late_limit); rank 0 waited" in line
        assert "script.py:7" in line


REFUSED = """
import numpy as np
import windrow as wr
from windrow.ml import train
try:
    train(lambda w, X: w, np.zeros(1), np.ones((80, 1)), average="async", shards=2)
except wr.ClusterError as error:
    print(error, flush=True)
assert float(wr.ones(3).sum()) == 3
"""


def test_what_goes_on_with_what_comes_first_is_refused(spmd):
    ended = spmd(2, REFUSED)
    assert ended.status == 0, ended.err[-3000:]
    assert ended.out.count("average='async' goes on with what arrives first, and that differs by rank") == 2


ENDS = """
import sys
import windrow as wr
rank, how, waits = int(sys.argv[1]), sys.argv[2], sys.argv[3]
if wr.rank() == rank:
    if how == "raise":
        raise ValueError("only here")
    sys.exit(int(how))
if waits == "mpi":
    wr.comm().recv(source=rank)
elif waits == "compute":
    wr.ones(3).sum().compute()
"""


@pytest.mark.parametrize(
    ("rank", "how", "waits", "status"),
    [
        (1, "raise", "compute", 1),
        (0, "raise", "mpi", 1),
        (2, "3", "compute", 3),
        (1, "3", "nothing", 3),
        (1, "0", "nothing", 0),
        (0, "0", "compute", 1),
    ],
)
def test_a_script_that_ends_early_hangs_nobody(spmd, rank, how, waits, status):
    ended = spmd(3, ENDS, str(rank), how, waits, limit=40)
    assert ended.status == status, ended.err[-3000:]
    if how == "raise":
        own, line, error = (f"[rank {rank}] the script has failed", "script.py", "ValueError: only here")
        assert [ended.err.count(text) for text in (own, line, error)] == [1, 1, 1], ended.err
        assert ended.err.count("Traceback") == 1, "who waits for it has nothing to say"
        assert "MPI_ERR" not in ended.err
    elif waits == "compute":
        over = {"3": "has ended with status 3", "0": "has ended"}
        assert f"that of rank {rank} {over[how]}" in ended.err
        assert "script.py:12" in ended.err


AT_ONCE = """
import os
if os.environ["OMPI_COMM_WORLD_RANK"] == "2":
    raise ValueError("at once")
import windrow as wr
comm = wr.comm()
comm.Split(comm.rank % 2).allreduce(1)
raise SystemExit("nobody can have come")
"""


@pytest.mark.parametrize("times", [3, pytest.param(50, marks=[pytest.mark.slow, pytest.mark.timeout(900)])])
def test_a_script_that_fails_while_others_begin(spmd, times):
    """What others still make was revoked: their errors, or the end of their processes, hid the script's own error."""
    for _ in range(times):
        ended = spmd(4, AT_ONCE, limit=60)
        first, *_, last = without_noise(ended.err).strip().splitlines()
        assert (ended.status, first, last) == (1, "[rank 2] the script has failed:", "ValueError: at once"), ended.err
        assert ended.err.count("Traceback") == 1, ended.err
        assert "was lost" not in ended.err


IN_VAIN = """
import windrow as wr
from mpi4py import MPI
wr.comm().Revoke()
wr.comm().Barrier()
"""


@pytest.mark.slow
def test_a_script_that_revokes_its_communicator_itself_is_told(spmd):
    ended = spmd(2, IN_VAIN, limit=40)
    assert ended.status == 1
    assert "MPI_ERR_REVOKED" in ended.err
    assert "the script has failed" in ended.err


GOES_ON = """
import sys, time
import windrow as wr
if wr.rank() == int(sys.argv[1]):
    raise ValueError("only here")
time.sleep(60)
"""


@pytest.mark.slow
@pytest.mark.parametrize("rank", [0, 1])
def test_a_job_of_which_a_part_has_failed_is_ended(spmd, rank):
    ended = spmd(2, GOES_ON, str(rank), limit=40)
    assert ended.status == 1, ended.err[-3000:]
    assert "ValueError: only here" in ended.err
    assert f"the script of rank {1 - rank} has not ended 10 s after another rank's script has failed" in ended.err


def test_a_launcher_is_started(launch, nothing_left, tmp_path):
    ended = launch(0, "-m", "windrow", "-n", "2", "--spmd", "-c", "import windrow as wr; print(wr.rank(), wr.size())")
    assert ended.status == 0, ended.err[-3000:]
    assert sorted(ended.out.splitlines()) == ["0 2", "1 2"]


def test_alone_it_is_a_script(launch, tmp_path):
    ended = launch(
        0, "-m", "windrow", "--spmd", "-c", "import windrow as wr; print(wr.rank(), wr.size(), wr.comm().size)"
    )
    assert (ended.status, ended.out) == (0, "0 1 1\n"), ended.err[-3000:]


def test_a_prompt_is_refused(launch):
    ended = launch(0, "-m", "windrow", "-n", "2", "--spmd")
    assert ended.status == 2
    assert ended.err.count("--spmd needs a script") == 1


def check(launch, seed: int, name: str, **more: str) -> None:
    ended = launch(3, "--spmd", str(PROGRAMS / "spmd_deaths.py"), str(seed), name, limit=90, **more)
    assert (ended.status, ended.out.strip()) == (0, "right 1"), ended.err[-3000:]


def test_the_others_go_on_when_a_rank_is_killed(launch, nothing_left):
    check(launch, 1, "SIGKILL")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_twenty_kills(launch, nothing_left):
    for seed in range(20):
        check(launch, seed, "SIGKILL")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_ranks_that_are_stopped(launch, nothing_left):
    for seed in range(5):
        check(launch, seed, "SIGSTOP", WINDROW_HEARTBEAT="1.5")


def test_all_end_with_rank_0(spmd):
    kill = "import os, signal, time, windrow as wr; wr.rank() or os.kill(os.getpid(), signal.SIGKILL); time.sleep(30)"
    assert spmd(3, kill, limit=20).status not in (0, 124)


def test_each_rank_reads_its_part_of_a_file(launch, nothing_left, tmp_path):
    data = np.random.default_rng(5).normal(size=(5000, 8))
    data.tofile(tmp_path / "rows.bin")
    words = (str(PROGRAMS / "spmd_read_parts.py"), str(tmp_path / "rows.bin"), str(tmp_path / "report"))
    ended = launch(3, "--spmd", *words)
    assert ended.status == 0, ended.err[-3000:]
    rows, outliers, *mean = (tmp_path / "report").read_text().split()
    far = np.abs(data - data.mean(axis=0)).max(axis=1) > 2 * data.std(axis=0).max()
    assert (int(rows), int(outliers)) == (5000, int(far.sum()))
    np.testing.assert_allclose([float(m) for m in mean], data.mean(axis=0), atol=1e-6)


def test_the_heat_equation_by_messages_and_by_arrays(launch, nothing_left):
    ended = launch(3, "--spmd", str(PROGRAMS / "spmd_heat.py"))
    assert ended.status == 0, ended.err[-3000:]
    steps = [line.split() for line in ended.out.splitlines()]
    assert [int(step) for step, _ in steps] == [20, 40, 60]
    largest = [float(value) for _, value in steps]
    assert largest == sorted(largest, reverse=True)


def test_shared_things_loops_and_training(launch, nothing_left, tmp_path):
    ended = launch(3, "--spmd", str(PROGRAMS / "spmd_shared.py"), str(tmp_path))
    assert ended.status == 0, ended.err[-3000:]
    found = [json.loads((tmp_path / f"{rank}.json").read_text()) for rank in range(3)]
    assert found[1:] == found[:1] * 2
    first = found[0]
    assert (first["counts"], first["part"], first["nearest"]) == ([6] * 10, [0, 1, 2], list(range(5)))
    assert first["loop"] == pytest.approx(0.2024817739516)
    assert first["while"] == 1270.0
    assert first["logistic"] > 0.97
    assert first["sgd"] > 0.9
    assert first["search"][0] > 0.9
    assert first["picked"] == [20.0, 3.0, 2.0, 2.0, 10.0]
    assert first["each its own"] == [10.0, 2.0, 2.0]
    assert first["before and after"] == [[0.0, 1.0, 2.0, 3.0, 4.0], [10.0, 2.0, 2.0, 3.0, 20.0]]
    assert (first["ten"], first["added"]) == (9, [14.0, 5.0, 5.0])
    assert first["large"] == [90_000 * 89_999 // 2 + 180_000, [14.0 + 30_004, 5.0 + 30_003, 5.0 + 30_003]]
    assert first["copied"]
    assert first["of lazy"] == [2, 3]
    assert "rank 0: update at" in first["other values"]
    assert first["beyond"] == [30_018.0]
    assert first["table"] == [[7.0, 3.0, -1.0], [7.5, 3.0, 1.5], [7.5]]
    assert first["keys"] == 11_000
    assert first["streamed"] == [1.0, 6.0]
    assert (first["summed"], first["of the last"]) == ([6, 6], [2, 2])
    assert "rank 0: symmetric: symmetric of shape (3,), float64, filled with 0.0 at" in first["shapes"]
