"""Jobs on three hosts, which are network namespaces of this one: stopped ranks, cut links, the choice of a network."""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import signal
import string
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

pytest.importorskip("mpi4py")
from windrow.workers.mpi.start import environment

pytestmark = [pytest.mark.slow, pytest.mark.ranks]

SCRIPTS = Path(sys.executable).parent
HEARTBEAT = 4
ON = """#!/bin/bash
name=$1; shift
exec ip netns exec "$name" unshare --uts --mount bash -c \
    'hostname "$0"; mount -t tmpfs none /dev/shm; exec "$@"' "$name" "$@"
"""
# As by ssh, a command of another host inherits nothing.
AGENT = """#!/bin/bash
while [[ "$1" == -* ]]; do shift; done
name=$1; shift
exec {on} "$name" env -i PATH="$PATH" HOME="$HOME" bash -c "$*"
"""
SLOW = """
import json, os, time
import windrow as wr

def slow(block):
    time.sleep(0.05)
    return block

work = wr.map_blocks(slow, wr.ones(300, chunks=1), dtype=float)
print("ready", json.dumps({row["rank"]: [row["host"], row["pid"]] for row in wr.cluster().info()}), flush=True)
begin = time.monotonic()
print("sum", float(work.sum().compute()), time.monotonic() - begin, flush=True)
"""


@dataclass
class Job:
    """A job under way: what it says goes to a file, since processes behind a cut link would keep a pipe open."""

    process: subprocess.Popen
    output: Path

    @property
    def said(self):
        """Its words so far."""
        return self.output.read_text(errors="replace").replace("\0", "")

    def await_word(self, word, limit=60.0):
        """Wait for the beginning of a line; return the rest of it."""
        deadline = time.monotonic() + limit
        while time.monotonic() < deadline:
            found = re.search(rf"^{word} (.*)\n", self.said, re.MULTILINE)
            if found:
                return found[1]
            assert self.process.poll() is None, self.said
            time.sleep(0.05)
        raise AssertionError(self.said)

    def ranks(self):
        """Return the processes of its ranks by host, once all are there."""
        found = {}
        for host, pid in json.loads(self.await_word("ready")).values():
            found.setdefault(host, []).append(pid)
        return found


class Hosts:
    """Three hosts on one bridge, with a second network each."""

    def __init__(self, folder):
        word = f"{os.getpid() % 10**5}{secrets.choice(string.ascii_lowercase)}"
        self.bridges = [f"wb{i}{word}" for i in (0, 1)]
        self.names = [f"wh{i}{word}" for i in range(3)]
        self.jobs = []
        self.folder = folder
        self.on = folder / "on"
        self.agent = folder / "agent"
        self.on.write_text(ON)
        self.agent.write_text(AGENT.format(on=self.on))
        for path in (self.on, self.agent):
            path.chmod(0o755)

    def up(self):
        """Make them."""
        listed = "".join(f"10.88.0.{10 + i} {name}\n" for i, name in enumerate(self.names))
        for bridge in self.bridges:
            ip(f"link add {bridge} type bridge")
            ip(f"link set {bridge} up")
        for i, name in enumerate(self.names):
            ip(f"netns add {name}")
            Path(f"/etc/netns/{name}").mkdir(parents=True, exist_ok=True)
            Path(f"/etc/netns/{name}/hosts").write_text(f"127.0.0.1 localhost\n{listed}")
            ip(f"-n {name} link set lo up")
            for k, bridge in enumerate(self.bridges):
                ip(f"link add v{k}{name} type veth peer name eth{k} netns {name}")
                ip(f"link set v{k}{name} master {bridge} up")
                ip(f"-n {name} addr add 10.8{8 + k}.0.{10 + i}/24 dev eth{k}")
                ip(f"-n {name} link set eth{k} up")

    def down(self):
        """End what runs on them, and remove them."""
        for name in self.names:
            for pid in ip(f"netns pids {name}", check=False).split():
                try:
                    os.kill(int(pid), signal.SIGKILL)
                except OSError:
                    continue
            ip(f"netns del {name}", check=False)
            shutil.rmtree(f"/etc/netns/{name}", ignore_errors=True)
        for bridge in self.bridges:
            ip(f"link del {bridge}", check=False)
        for job in self.jobs:
            job.kill()
            job.wait()

    def cut(self, name):
        """Cut a host's links, so that neither side is told."""
        for k in range(len(self.bridges)):
            ip(f"link set v{k}{name} nomaster")

    def processes(self, name, program):
        """Return the processes of a program on a host."""
        found = []
        for pid in map(int, ip(f"netns pids {name}", check=False).split()):
            try:
                if program in Path(f"/proc/{pid}/cmdline").read_text().split("\0"):
                    found.append(pid)
            except OSError:
                continue
        return found

    def start(self, ranks, text, options=(), **more):
        """Start a script on ranks, the first ones on the first host."""
        script = self.folder / "script.py"
        script.write_text(text)
        found = {k: v for k, v in os.environ.items() if not k.startswith(("OMPI_", "PRTE_", "PMIX_", "WINDROW_"))}
        found |= environment.AS_ROOT | {"TMPDIR": str(self.folder)} | more
        found["PATH"] = os.pathsep.join([str(SCRIPTS), found["PATH"]])
        each = -(-ranks // 3)
        launcher = ["mpirun", "--with-ft", "ulfm", "--host", ",".join(f"{x}:{each}" for x in self.names)]
        launcher += ["--mca", "plm_ssh_agent", str(self.agent), "--map-by", "slot", "--bind-to", "none"]
        command = ["timeout", "-k", "2", "90", str(self.on), self.names[0], *launcher, "-n", str(ranks)]
        command += [sys.executable, "-m", "windrow", *options, str(script)]
        output = self.folder / "output"
        with output.open("w") as file:
            process = subprocess.Popen(
                command, env=found, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=file, stderr=file
            )
        self.jobs.append(process)
        return Job(process, output)


def ip(words, check=True):
    """Run ip."""
    done = subprocess.run(["ip", *words.split()], check=False, capture_output=True, text=True)
    if done.returncode and check:
        pytest.skip(f"no hosts can be simulated here: ip {words}: {done.stderr}")
    return done.stdout


@pytest.fixture
def hosts(tmp_path):
    """Three hosts."""
    if os.geteuid() or shutil.which("ip") is None or shutil.which("unshare") is None:
        pytest.skip("not root, or no ip: no hosts can be simulated")
    made = Hosts(tmp_path)
    try:
        made.up()
        yield made
    finally:
        made.down()


def test_a_stopped_rank_of_another_host_is_killed_there(hosts):
    job = hosts.start(6, SLOW, WINDROW_HEARTBEAT=str(HEARTBEAT))
    stopped = job.ranks()[hosts.names[2]][0]
    time.sleep(0.5)
    os.kill(stopped, signal.SIGSTOP)
    total, seconds = map(float, job.await_word("sum").split())
    assert total == 300.0
    assert seconds < 3 * HEARTBEAT, "no other rank has waited"
    assert job.process.wait(10) == 0, job.said
    assert "on its host, is asked to kill it" in job.said
    assert "it is killed" not in job.said


def test_a_job_with_a_cut_link_ends_soon_after_its_script(hosts):
    job = hosts.start(6, SLOW, WINDROW_HEARTBEAT=str(HEARTBEAT))
    job.ranks()
    time.sleep(0.5)
    hosts.cut(hosts.names[2])
    assert job.await_word("sum").startswith("300.0 ")
    begin = time.monotonic()
    job.process.wait(15)
    assert time.monotonic() - begin < 12
    assert "it is killed" not in job.said
    assert "prterun is ended" in job.said, job.said
    while (left := [hosts.processes(name, "-m") for name in hosts.names]) != [[], [], []]:
        assert time.monotonic() - begin < 5 * HEARTBEAT, f"ranks behind the cut: {left}"
        time.sleep(0.1)


DOORS = """
import json, os
import windrow as wr
from windrow.workers.mpi.messages.listening_sockets import doors

def mine(block):
    import time
    time.sleep(0.02)
    print("door", os.uname().nodename, json.dumps([x.device for x in doors([os.getpid()])]), flush=True)
    return block

print("ready", json.dumps({row["rank"]: [row["host"], row["pid"]] for row in wr.cluster().info()}), flush=True)
print("sum", float(wr.map_blocks(mine, wr.ones(60, chunks=1), dtype=float).sum().compute()), flush=True)
"""


def test_what_env_exports_chooses_the_network_of_all_hosts(hosts):
    """Ranks of other hosts see no variable of ours, only what the launcher hands on."""
    asked = os.environ | {"WINDROW_INTERFACE": "eth1"}
    told = subprocess.run(
        [sys.executable, "-m", "windrow", "env"], env=asked, check=True, capture_output=True, text=True
    ).stdout
    exported = dict(line.removeprefix("export ").split("=", 1) for line in told.splitlines())
    job = hosts.start(6, DOORS, **exported)
    assert job.await_word("sum") == "60.0"
    assert job.process.wait(10) == 0, job.said
    said = job.said
    found = {(host, device) for host, text in re.findall(r"door (\S+) (\[.*?\])", said) for device in json.loads(text)}
    assert found == {(name, "eth1") for name in hosts.names}, said


READS = """
import json, time
import windrow as wr
from windrow.scheduler.session.cluster import session

def slow(block):
    time.sleep(0.05)
    return block

link = session().engine.transport
print("ready", json.dumps({row["rank"]: [row["host"], row["pid"]] for row in wr.cluster().info()}), flush=True)
x = wr.map_blocks(slow, wr.arange(30_000, chunks=1000), dtype=int).persist()
total = int(x.rechunk(3000).sum())
whole = bool((x.compute() == range(30_000)).all())
found = [total, whole, sorted({peer.route for peer in link.peers if not peer.same_node}), link.peers[0].window.alone]
print("read", json.dumps([*found, link._fetcher.counts["get"] > 0]), flush=True)
"""


@pytest.mark.parametrize(("transport", "route"), [("auto", "service"), ("get", "get")])
def test_chunks_of_other_hosts_are_asked_for_unless_gets_are_forced(hosts, transport, route):
    """A Get over TCP needs its target."""
    asked = {"WINDROW_TRANSPORT": transport, "OMPI_MCA_btl_tcp_if_include": "eth0"}
    job = hosts.start(6, READS, **asked)
    total = sum(range(30_000))
    assert json.loads(job.await_word("read")) == [total, True, [route], False, route == "get"], job.said
    assert job.process.wait(10) == 0, job.said


PROGRAMS = Path(__file__).parent / "programs"


def test_arrays_that_all_write_are_exact_across_hosts(hosts):
    """In place on each host, in messages between them; what sync keeps goes to the driver's host."""
    job = hosts.start(6, (PROGRAMS / "symmetric_arrays.py").read_text())
    assert job.process.wait(80) == 0, job.said
    found = json.loads(next(line for line in job.said.splitlines() if line.startswith('{"size"')))
    assert (found["size"], found["counts"], found["weights"], found["after"]) == (6, True, True, True)
    assert (found["numbers"], found["owned"], found["held"]) == (300, 1000, [[0, 0]] * 6)
    assert [copies[:2] for copies in found["copies"]] == [[[21.0] * 5, [5.0] * 5]] * 6


def test_ranks_of_all_hosts_run_the_script(hosts, tmp_path):
    """What lies on other hosts is fetched by each rank."""
    text = (PROGRAMS / "spmd_results.py").read_text().replace("sys.argv[1]", repr(str(tmp_path)))
    job = hosts.start(6, text, ("--spmd",))
    assert job.process.wait(80) == 0, job.said
    found = [json.loads((tmp_path / f"{rank}.json").read_text()) for rank in range(6)]
    assert [each["arena"] for each in found] == list(range(6))
    own = {name: [each.pop(name) for each in found] for name in ("rank", "arena", "mine", "slices")}
    assert sorted(k for mine in own["mine"] for k in mine) == list(range(40))
    assert found[1:] == found[:1] * 5
    assert found[0]["whole"] == [400_000, 1_200_000.0]


@pytest.mark.parametrize("kind", ["program", "blocks"])
def test_arrays_that_all_write_are_back_after_a_death_on_another_host(hosts, kind):
    text = (PROGRAMS / "symmetric_deaths.py").read_text()
    text = text.replace("seed, kind = int(sys.argv[1]), sys.argv[2]", f"seed, kind = 3, {kind!r}")
    job = hosts.start(6, text)
    assert job.process.wait(80) == 0, job.said
    found = json.loads(next(line for line in job.said.splitlines() if line.startswith('{"wrong"')))
    assert not found["wrong"], found
    assert (found["size"], found["alike"], len(found["losses"])) == (5, True, 3)


HOT = """
import json
import numpy as np
import windrow as wr

known = np.arange(400_000)
spreading, asking = (wr.shared.array(known, page="64 KiB", spread=spread) for spread in (True, False))
x = wr.from_array(np.random.default_rng(0).integers(0, 100_000, 60_000), chunks=500)
print("ready", json.dumps({row["rank"]: [row["host"], row["pid"]] for row in wr.cluster().info()}), flush=True)
sent, right = [], []
for v in (spreading, asking):
    for turn in range(3):
        found = wr.map_blocks(lambda block: v[block] + turn, x, dtype=int).compute()
        right.append(bool((found == x.compute() + turn).all()))
    sent.append(v.info()["sent"])
print("hot", json.dumps([right, *sent]), flush=True)
"""


def test_hot_pages_leave_the_drivers_host_seldom(hosts):
    job = hosts.start(6, HOT, OMPI_MCA_btl_tcp_if_include="eth0")
    right, spreading, asking = json.loads(job.await_word("hot"))
    assert all(right)
    assert 0 < spreading <= 2 * 13 * 65536, "each page goes to each of two hosts at most once"
    assert asking >= 5 * spreading
    assert job.process.wait(10) == 0, job.said


SHARES = """
import json, os, signal, time
import numpy as np
import windrow as wr
from windrow.scheduler.session.cluster import session
from windrow.workers.rank.task_context import own_rank

table = wr.shared.object(np.arange(300_000))

def look(comm):
    right = int(table[-1]) == 299_999 and not table.flags.writeable
    rank = own_rank()
    where = 0 if rank is None else rank.copies.fetched
    return os.uname().nodename, right, where

print("ready", json.dumps({row["rank"]: [row["host"], row["pid"]] for row in wr.cluster().info()}), flush=True)
first = wr.spmd(look)
served = session().engine.transport._fetcher.served
print("shared", json.dumps([first, served]), flush=True)
"""


def test_a_shared_object_comes_to_each_host_once(hosts):
    job = hosts.start(6, SHARES)
    found, served = json.loads(job.await_word("shared"))
    assert all(right for _, right, _ in found), job.said
    copies = {}
    for host, _, fetched in found:
        copies[host] = copies.get(host, 0) + fetched
    assert sorted(copies.values()) == [0, 1, 1], found
    assert 2 * 2_400_000 <= served < 2 * 2_500_000, "two copies leave the driver's host"
    assert job.process.wait(10) == 0, job.said
