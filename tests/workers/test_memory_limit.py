"""What the processes of a job may use: of control groups of both versions, Slurm, and limits of a process."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import windrow as wr
from windrow.scheduler.session import resources
from windrow.scheduler.session.resources import arena_bytes, read_memory, usable_cores
from windrow.workers.memory.memory_limit import control_groups, memory_limit

GROUP = Path(__file__).parents[2] / "benchmarks" / "control_group.py"
ALL = 0x7FFFFFFFFFFFF000
V2 = "30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate"
V1 = "35 31 0:32 {} /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n31 23 0:2 / /sys/fs/cgroup rw - tmpfs tmpfs rw"
CPU = "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu"


@pytest.fixture
def tree(tmp_path):
    """Make a root folder with what the kernel would tell there."""

    def make(own, mounts, files):
        files = {"proc/self/cgroup": own, "proc/self/mountinfo": mounts, **files}
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{text}\n")
        return tmp_path

    return make


def limits(root):
    return [group.limit.nbytes for group in control_groups(root)]


def test_version_2_reads_the_own_group_and_all_above(tree):
    root = tree(
        "0::/user.slice/job/step",
        f"{CPU}\n{V2}",
        {
            "sys/fs/cgroup/user.slice/memory.max": 3 << 30,
            "sys/fs/cgroup/user.slice/job/memory.max": 2 << 30,
            "sys/fs/cgroup/user.slice/job/memory.high": 1 << 30,
            "sys/fs/cgroup/user.slice/job/step/memory.max": "max",
            "sys/fs/cgroup/user.slice/job/step/memory.high": "max",
        },
    )
    assert limits(root) == [1 << 30, 3 << 30]
    found = memory_limit(root, {})
    assert found.nbytes == 1 << 30
    assert found.who.endswith("user.slice/job (memory.high)")


def test_version_1_reads_the_own_group_and_all_above(tree):
    root = tree(
        "9:name=systemd:/\n4:memory:/slurm/job_1/step_0\n3:cpuset:/\n0::/",
        f"{CPU}\n{V1.format('/')}",
        {
            "sys/fs/cgroup/memory/memory.limit_in_bytes": ALL,
            "sys/fs/cgroup/memory/slurm/memory.limit_in_bytes": ALL,
            "sys/fs/cgroup/memory/slurm/job_1/memory.limit_in_bytes": 5 << 20,
            "sys/fs/cgroup/memory/slurm/job_1/step_0/memory.limit_in_bytes": 6 << 20,
        },
    )
    assert limits(root) == [6 << 20, 5 << 20]
    assert memory_limit(root, {}).nbytes == 5 << 20


@pytest.mark.parametrize("top", ["/", "/docker/abc", "/../.."])
def test_in_a_container_the_mount_is_the_own_group(tree, top):
    own = "/" if top == "/" else "/docker/abc"
    one = tree(f"4:memory:{own}", V1.format(top), {"sys/fs/cgroup/memory/memory.limit_in_bytes": 7 << 20})
    assert limits(one) == [7 << 20]


def test_without_control_groups_it_is_the_machine(tmp_path, tree):
    assert control_groups(tmp_path) == ()
    assert memory_limit(tmp_path, {}).who == "this machine"
    assert control_groups(tree("0::/x", V2, {})) == ()


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"SLURM_MEM_PER_NODE": "100"}, 100),
        ({"SLURM_MEM_PER_CPU": "100", "SLURM_CPUS_ON_NODE": "3"}, 300),
        ({"SLURM_MEM_PER_GPU": "50", "SLURM_GPUS_ON_NODE": "2"}, 100),
        ({"SLURM_MEM_PER_NODE": "0"}, None),
        ({"SLURM_MEM_PER_CPU": "100"}, None),
        ({"SLURM_MEM_PER_NODE": "100G"}, None),
    ],
)
def test_slurm_grants_memory_by_node_core_or_gpu(tmp_path, variables, expected):
    found = memory_limit(tmp_path, variables)
    if expected is None:
        assert found.who == "this machine"
    else:
        assert found.nbytes == expected << 20
        assert all(name in found.who for name in variables)


def test_used_leaves_out_what_the_kernel_takes_back(tree):
    files = {
        "sys/fs/cgroup/memory.max": 1000,
        "sys/fs/cgroup/memory.current": 900,
        "sys/fs/cgroup/memory.stat": "anon 200\nfile 500\nshmem 100\ninactive_file 250\nactive_file 150\nslab 10",
    }
    root = tree("0::/", V2, files)
    (group,) = control_groups(root)
    assert group.used() == 500
    (root / "sys/fs/cgroup/memory.stat").unlink()
    assert group.used() is None


@pytest.mark.parametrize(
    ("own", "files", "cores"),
    [
        ("0::/", {}, 8),
        ("0::/", {"cpu.max": "max 100000"}, 8),
        ("0::/", {"cpu.max": "150000 100000"}, 2),
        ("0::/", {"cpu.max": "10000 100000"}, 1),
        ("0::/", {"cpu.max": "6400000 100000"}, 8),
        ("0::/", {"cpu.max": "much"}, 8),
        ("0::/job/step", {"cpu.max": "400000 100000", "job/cpu.max": "300000 100000"}, 3),
        ("0::/job/step", {"cpu.max": "max 100000", "job/step/cpu.max": "5000 1000"}, 5),
    ],
)
def test_cores_are_what_the_groups_grant(tree, monkeypatch, own, files, cores):
    monkeypatch.setattr(resources.os, "sched_getaffinity", lambda _: set(range(8)))
    assert usable_cores(tree(own, V2, {f"sys/fs/cgroup/{name}": text for name, text in files.items()})) == cores


@pytest.mark.parametrize(
    ("quotas", "cores"), [((-1, -1), 8), ((250_000, -1), 3), ((-1, 700_000), 7), ((250_000, 100_000), 1)]
)
def test_cores_are_what_groups_of_version_1_grant(tree, monkeypatch, quotas, cores):
    monkeypatch.setattr(resources.os, "sched_getaffinity", lambda _: set(range(8)))
    top = "sys/fs/cgroup/cpu"
    files = {f"{top}/cpu.cfs_period_us": 100_000, f"{top}/job/cpu.cfs_period_us": 100_000}
    files |= {f"{top}/cpu.cfs_quota_us": quotas[0], f"{top}/job/cpu.cfs_quota_us": quotas[1]}
    assert usable_cores(tree("4:memory:/other\n1:cpuacct,cpu:/job", f"{V1.format('/')}\n{CPU}", files)) == cores


@pytest.mark.parametrize(
    "memory", ["lots", "2 apples", "-1GiB", "", " ", b"1 GiB", [1], float("inf"), float("nan"), 0, True]
)
def test_what_is_no_size_is_refused_by_name(memory):
    with pytest.raises(wr.ArgumentError, match="Cluster: argument 'memory'"):
        read_memory("Cluster", memory, 1)


@pytest.mark.parametrize("text", ["lots", "1e3 GiB!", "9" * 400 + " GiB", "0"])
def test_a_variable_that_is_no_size_is_refused_by_name(text):
    from windrow.workers.config import ConfigError, load

    with pytest.raises(ConfigError, match="WINDROW_MEMORY: setting 'memory' is"):
        load({"WINDROW_CONFIG": "", "WINDROW_MEMORY": text})


LIMITED = """
import resource, sys
import windrow as wr
kind, most = getattr(resource, sys.argv[1]), int(sys.argv[2])
resource.setrlimit(kind, (most, most))
try:
    with wr.Cluster(memory=sys.argv[3] if sys.argv[3:] else None) as cluster:
        print(cluster.info()[0]["arena_size"], float(wr.ones(1000, chunks=10).sum()))
except MemoryError as error:
    print(type(error).__name__, error)
"""


def run(*words):
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, *words], capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout


@pytest.mark.parametrize("kind", ["RLIMIT_AS", "RLIMIT_DATA"])
def test_an_arena_fits_the_address_space(kind):
    size, found = run(kind, str(3 << 30)).split()
    assert int(size) < 3 << 29
    assert float(found) == 1000
    text = run(kind, str(3 << 30), "3 GiB")
    assert text.startswith("OutOfMemory Cluster: argument 'memory' is '3 GiB'")
    assert kind in text


def test_an_arena_is_never_nothing(monkeypatch):
    from windrow.workers.memory.memory_limit import Limit

    monkeypatch.setattr(resources, "address_room", lambda: Limit(0, "RLIMIT_AS"))
    assert arena_bytes(3) == resources.LEAST_MEMORY


IN_GROUP = """
import windrow as wr
print(sum(row["arena_size"] for row in wr.cluster().info()))
x = wr.random.default_rng(0).random((8000, 8000), chunks=1000).persist()  # 488 MiB
print(round(float((x + x.T).mean()), 3))
"""


@pytest.mark.parametrize("ranks", [1, pytest.param(2, marks=pytest.mark.ranks)])
def test_a_job_lives_in_a_small_control_group(ranks, launch, tmp_path, nothing_left):
    script = tmp_path / "script.py"
    script.write_text(IN_GROUP)
    words = [sys.executable, "-m", "windrow", *(["-n", "2"] if ranks > 1 else []), str(script)]
    done = launch(0, str(GROUP), str(640 << 20), *words)
    if "no memory control groups" in done.err:
        pytest.skip("no control group can be made here")
    assert json.loads(done.err.splitlines()[-1])["killed"] == 0, done.err
    assert done.out.split() == [str(320 << 20), "1.0"]
