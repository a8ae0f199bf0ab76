"""What of a job other hosts can reach: nothing on one host, but for a launcher that the user has started."""

from __future__ import annotations

import json
import os
import socket

import pytest

from windrow.workers.mpi.messages.listening_sockets import confine, doors
from windrow.workers.mpi.start import environment

LISTS = """
    import json, os, sys, time
    import windrow as wr
    from windrow.workers.mpi.messages.listening_sockets import doors
    from windrow.workers.mpi.deaths.processes import children, name_of

    if {python}:
        wr.Cluster(3)
    assert wr.arange(1000, chunks=10).sum().compute() == 499500

    def below(pid):
        return [pid, *(x for child in children(pid) for x in below(child))]

    top = os.getpid() if {python} or {spawned} else os.getppid()
    pids = below(top)
    assert {{row["pid"] for row in wr.cluster().info()}} <= set(pids)
    for _ in range(50):  # each rank closes its own when it has joined: some a moment later than others
        found = [(name_of(x.pid), x.address, x.device, x.open) for x in doors(pids)]
        if not any(is_open for name, *_, is_open in found if name != "prterun"):
            break
        time.sleep(0.1)
    print(json.dumps(found))
"""


@pytest.mark.ranks
@pytest.mark.parametrize("interface", ["", "lo"])
def test_a_job_on_one_host_is_closed_to_others(jobs, mpi, how, interface):
    if interface:
        jobs.environment["WINDROW_INTERFACE"] = interface
    done = jobs.script(how, LISTS.format(python=how == "python", spawned=how == "spawn"))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    reached = [name for name, _, _, is_open in found if is_open]
    if how != "mpirun":
        assert reached == [], found
        assert found  # ranks that were spawned meet over the loopback interface
    else:
        assert set(reached) <= {"prterun"}, found
        assert any(name != "prterun" for name, *_ in found) is bool(interface)


@pytest.mark.ranks
def test_ranks_that_a_driver_spawns_meet_over_the_loopback_interface(jobs, mpi):
    """So that several networks of the host don't matter; what else the driver starts is told nothing of it."""
    done = jobs.script(
        "spawn",
        """
        import os
        import windrow as wr

        def told(block):
            return block + (os.environ.get("OMPI_MCA_btl_tcp_if_include") == "lo")

        print(wr.map_blocks(told, wr.zeros(60, chunks=1), dtype=float).sum().compute() > 0)
        print(os.environ.get("OMPI_MCA_btl_tcp_if_include"))
        """,
    )
    assert (done.returncode, done.stdout.split()) == (0, ["True", "None"]), done.stderr


def test_a_socket_that_is_confined_is_no_open_door(monkeypatch):
    def refuse(*_):
        raise PermissionError

    with socket.socket() as wide, socket.socket() as narrow, socket.socket(socket.AF_INET6) as loop:
        for each, address in ((wide, "0.0.0.0"), (narrow, "127.0.0.1"), (loop, "::1")):
            try:
                each.bind((address, 0))
            except OSError:
                pytest.skip(f"no {address} here")
            each.listen()
        mine = {each.fileno(): each.getsockname()[1] for each in (wide, narrow, loop)}
        found = {x.descriptor: x for x in doors([os.getpid()]) if x.descriptor in mine}
        assert {fd: x.port for fd, x in found.items()} == mine
        assert [found[each.fileno()].open for each in (wide, narrow, loop)] == [True, False, False]
        with monkeypatch.context() as patch:  # another user's process: the kernel's tables tell
            patch.setattr(socket.socket, "getsockopt", refuse)
            listed = {x.descriptor: x for x in doors([os.getpid()]) if x.descriptor in mine}
        assert listed == found
        confine(found.values())
        with socket.create_connection(("127.0.0.1", wide.getsockname()[1]), 5):
            pass
        found = {x.descriptor: x for x in doors([os.getpid()]) if x.descriptor in mine}
        assert found[wide.fileno()].device == "lo"
        assert not any(x.open for x in found.values())


def test_what_a_rank_tells_mpi_of_the_network(monkeypatch):
    monkeypatch.delenv("OMPI_MCA_btl", raising=False)
    assert environment.rank_settings(True, None)["OMPI_MCA_btl"] == "^ofi,uct,tcp"
    assert environment.rank_settings(False, None)["OMPI_MCA_btl"] == "^ofi"
    asked = environment.rank_settings(False, "10.0.0.0/8")
    assert (asked["OMPI_MCA_btl"], asked["OMPI_MCA_btl_tcp_if_include"]) == ("^ofi", "10.0.0.0/8")
    monkeypatch.setenv("OMPI_MCA_btl", "tcp,self")
    assert "OMPI_MCA_btl" not in environment.rank_settings(True, None)
    exported = environment.exports("eth1")
    assert exported["PRTE_MCA_prte_if_include"] == exported["OMPI_MCA_btl_tcp_if_include"] == "eth1"
    monkeypatch.setenv("OMPI_MCA_btl_tcp_if_include", "eth1")
    monkeypatch.delenv("OMPI_MCA_btl", raising=False)
    assert environment.rank_settings(True, None)["OMPI_MCA_btl"] == "^ofi", "asked for by what is exported"
    assert "PRTE_MCA_prte_if_include" not in environment.exports()
