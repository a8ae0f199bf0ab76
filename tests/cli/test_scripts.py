"""Scripts on ranks: they see what plain Python shows them, and end as there."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import textwrap
import time

import pytest

pytestmark = pytest.mark.ranks

SUM = "import windrow as wr\nassert wr.arange(1000, chunks=10).sum().compute() == 499500\n"


def test_status_argv_and_folder(jobs, how):
    text = SUM + "import sys, os; print(sys.argv[1:], os.getcwd(), sys.path[0]); sys.exit(3)"
    done = jobs.script(how, text, "a", "-n", "b c")
    assert done.returncode == 3, done.stderr
    assert done.stdout == f"['a', '-n', 'b c'] {jobs.folder} {jobs.folder}\n"


@pytest.mark.parametrize(("code", "status"), [("None", 0), ("'why'", 1), ("256 + 7", 7)])
def test_the_exit_status_is_systemexit_s(jobs, how, code, status):
    done = jobs.script(how, f"raise SystemExit({code})")
    assert done.returncode == status
    assert ("why" in done.stderr) == (code == "'why'")


def test_an_exception_ends_all_ranks(jobs, how):
    path = jobs.write(SUM + "def f():\n    raise KeyError('lost')\nf()\n")
    plain = jobs.run([sys.executable], path).stderr
    begin = time.monotonic()
    done = jobs.run(jobs.command(how), path)
    assert time.monotonic() - begin < 10
    assert done.returncode == 1
    assert plain.strip() in done.stderr


def test_an_interrupt_that_is_raised(jobs, how):
    done = jobs.script(how, SUM + "raise KeyboardInterrupt")
    assert done.returncode in (130, -signal.SIGINT)
    assert done.stderr.rstrip().endswith("KeyboardInterrupt")


@pytest.mark.parametrize("whom", ["driver", "launcher"])
def test_an_interrupt_under_mpirun(jobs, mpi, whom):
    text = """
        import os, time
        import windrow as wr
        slow = wr.map_blocks(lambda b: time.sleep(0.3) or b, wr.ones(1000, chunks=1), dtype=float)
        print(os.getpid(), flush=True)
        slow.compute()
    """
    # In the background timeout would hand an interrupt on twice, which has mpirun kill at once. After any signal it
    # kills mpirun when the time of -k is over; mpirun needs more than a second to end its ranks.
    command = ["timeout", "--foreground", "-k", "15", "30", *jobs.command("mpirun"), str(jobs.write(text))]
    with jobs.start(command) as job:
        driver = int(job.stdout.readline().replace("\0", ""))
        time.sleep(0.5)
        begin = time.monotonic()
        subprocess.run(["kill", "-INT", str(driver if whom == "driver" else job.pid)], check=True)
        said = job.stdout.read()
        status = job.wait(timeout=30)
    assert time.monotonic() - begin < 10
    assert status != 0
    if whom == "driver":
        assert "KeyboardInterrupt" in said
    else:
        assert "ended while it ran" not in said


@pytest.mark.parametrize("asked", [True, False])
def test_a_driver_that_is_asked_to_end_and_killed_at_once(jobs, mpi, asked):
    text = f"""
        import ctypes, os, subprocess
        import windrow as wr

        driver = os.getpid()

        def held(block):
            if os.getpid() == driver:
                ask = "kill -TERM %d; sleep 0.05; " % driver if {asked} else ""
                subprocess.Popen(["sh", "-c", "sleep 0.3; %skill -KILL %d" % (ask, driver)])
                ctypes.PyDLL(None).usleep(20_000_000)  # Python's lock is held: no handler runs
            return block

        child = os.fork()
        if not child:
            os.kill(os.getpid(), 15)  # is no word of the driver's
        os.waitpid(child, 0)
        wr.map_blocks(held, wr.ones(100, chunks=1), dtype=float).compute()
    """
    done = jobs.script("mpirun", text)
    assert done.returncode != 0
    assert ("ended while it ran" in done.stderr) != asked, done.stderr


def test_a_forked_child_computes_for_itself(jobs, how):
    text = """
        import multiprocessing, os, sys, warnings
        import windrow as wr

        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns: there are threads
        cluster = wr.cluster()
        kept = (wr.arange(1000, chunks=10) * 2).persist()
        kept.sum().compute()  # nothing is under way when the child is forked

        def total(n):
            return int(wr.arange(n, chunks=10).sum())

        with multiprocessing.get_context("fork").Pool(2) as pool:
            print(pool.map(total, [10, 100]), flush=True)
        child = os.fork()
        if not child:
            print(kept.sum().compute(), len(wr.cluster().info()), flush=True)
            try:
                cluster._session.run([kept.expr])
            except wr.ClusterError as error:
                print("forked" in str(error), flush=True)
            sys.exit(3)
        print(os.waitpid(child, 0)[1] >> 8)
        print(kept.sum().compute(), len(cluster.info()))
    """
    done = jobs.script(how, text)
    assert done.returncode == 0, done.stderr
    ranks = 1 if how == "python" else 3
    assert done.stdout.splitlines() == ["[45, 4950]", "999000 1", "True", "3", f"999000 {ranks}"]


def test_a_forked_child_leaves_shared_things_to_its_parent(jobs, how):
    text = """
        import os, signal, sys
        import numpy as np
        import windrow as wr

        values, counts, space = wr.shared.array(np.zeros(3)), wr.shared.symmetric(3, "i8"), wr.shared.space()
        table = wr.shared.Table([1], [2.0])

        def push(block):
            values.add_at([2], 1.0)
            return block

        wr.map_blocks(push, wr.ones(2, chunks=1), dtype=float).sum().compute()
        child = os.fork()
        if not child:
            signal.alarm(20)  # ends a child that waits for threads that it hasn't
            for act in (
                lambda: values[2],  # additions are due, which the parent makes
                lambda: values.update([0], 5.0),
                lambda: values.add([0], 5.0),
                lambda: table.put([1], 5.0),
                counts.sync,
                lambda: space.put("a", 1),
                lambda: space.get("a"),
            ):
                try:
                    act()
                    print("nothing raised", flush=True)
                except wr.ClusterError as error:
                    print("forked" in str(error), flush=True)
            os._exit(3)
        print(os.waitpid(child, 0)[1] >> 8)
        counts.sync()
        print(values[:], table.get(1), space.tags)
    """
    done = jobs.script(how, text)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [*["True"] * 7, "3", "[0. 0. 2.] 2.0 {}"]


@pytest.mark.parametrize("closed", [True, False])
def test_a_forked_child_starts_no_ranks(jobs, mpi, how, closed):
    text = """
        import os, sys, time, warnings
        import windrow as wr

        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns: there are threads
        cluster = wr.Cluster(2, "64 MiB") if {python} else wr.cluster()
        assert wr.arange(100, chunks=10).sum().compute() == 4950
        if {closed}:
            cluster.close()
        child = os.fork()
        if not child:
            begin = time.monotonic()
            try:
                wr.Cluster(2, "64 MiB")
            except wr.ClusterError as error:
                print("ranks=2" in str(error), "spawn" in str(error), time.monotonic() - begin < 10)
            print(wr.arange(100, chunks=10).sum().compute(), flush=True)
            os._exit(7)
        print(os.waitpid(child, 0)[1] >> 8)
    """
    done = jobs.script(how, textwrap.dedent(text).format(python=how == "python", closed=closed))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["True True True", "4950", "7"]


def test_a_forked_child_starts_ranks_where_the_parent_had_none(jobs, mpi):
    text = """
        import os, warnings
        import windrow as wr

        warnings.simplefilter("ignore", DeprecationWarning)
        print(wr.arange(100, chunks=10).sum().compute(), flush=True)
        child = os.fork()
        if not child:
            with wr.Cluster(2, "64 MiB") as cluster:
                print(wr.arange(100, chunks=10).sum().compute(), len(cluster.info()), flush=True)
            os._exit(7)
        print(os.waitpid(child, 0)[1] >> 8)
    """
    done = jobs.run([sys.executable], jobs.write(text))
    assert done.stdout.splitlines() == ["4950", "4950 2", "7"], done.stderr


CHILDREN = """
    import multiprocessing, sys
    from concurrent.futures import ProcessPoolExecutor
    import windrow as wr

    def total(n):
        return int(wr.arange(n, chunks=10).sum()), len(wr.cluster().info())

    def on_ranks(n):
        with wr.Cluster(2, "64 MiB"):
            return total(n)

    if __name__ == "__main__":
        context = multiprocessing.get_context(sys.argv[1])
        with context.Pool(2) as pool:
            print(pool.map(total, [10, 100]), flush=True)
        with ProcessPoolExecutor(1, mp_context=context) as pool:
            print(pool.submit(total, 20).result(), flush=True)
            print(pool.submit(on_ranks, 30).result(), flush=True)
        print(len(wr.cluster().info()))
"""


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_children_that_are_not_forked_compute_for_themselves(jobs, mpi, how, method):
    done = jobs.script(how, CHILDREN, method)
    assert done.returncode == 0, done.stderr
    ranks = "1" if how == "python" else "3"
    assert done.stdout.splitlines() == ["[(45, 1), (4950, 1)]", "(190, 1)", "(435, 2)", ranks]


def test_what_ranks_run_computes_for_itself(jobs, mpi, how):
    text = """
        import subprocess, sys
        import windrow as wr

        text = "import windrow as wr; print(wr.arange(10, chunks=2).sum().compute(), len(wr.cluster().info()))"

        def run(*words):
            command = [sys.executable, *words, "-c", text]
            return subprocess.run(command, check=True, text=True, timeout=30, stdout=subprocess.PIPE).stdout

        def block(x):
            assert run() == "45 1\\n"
            return x

        print(run() + run("-m", "windrow") + run("-m", "windrow", "-n", "2"), end="")
        print(wr.map_blocks(block, wr.ones(3, chunks=1), dtype=float).sum().compute())
    """
    done = jobs.script(how, text)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["45 1", "45 1", "45 2", "3.0"]


def test_ranks_that_never_join_mpirun_s_own(jobs, mpi):
    # The launcher is not the driver's child: its end can't be what ends the wait.
    text = """
        import sys, time
        import windrow as wr

        wr.config.set(start_limit=2)
        wr.cluster()
        sys.executable = "/bin/false"
        begin = time.monotonic()
        try:
            wr.Cluster(2, "64 MiB")
        except wr.ClusterError as error:
            print("did not join within 2 s" in str(error), time.monotonic() - begin < 10)
        print(wr.arange(100, chunks=10).sum().compute(), len(wr.cluster().info()))
    """
    jobs.environment["WINDROW_INTERFACE"] = "lo"
    done = jobs.script("mpirun", text)
    assert done.stdout.splitlines() == ["True True", "4950 3"], done.stderr
    del jobs.environment["WINDROW_INTERFACE"]  # then there is no network between the ranks of a host, nor to others
    done = jobs.script("mpirun", "import windrow as wr\nwr.cluster()\nwr.Cluster(2, '64 MiB')")
    assert done.returncode == 1
    assert "set WINDROW_INTERFACE=lo for all ranks" in done.stderr


def test_a_script_reads_standard_input(jobs, how):
    # Open MPI 5's mpirun passes on lines, but not the end of the input.
    text = SUM + "print(input() + input())" + ("" if how == "mpirun" else "; import sys; print(sys.stdin.read())")
    done = jobs.script(how, text, input="a\nb\nrest\n")
    assert done.returncode == 0
    assert done.stdout.split() == (["ab"] if how == "mpirun" else ["ab", "rest"])


def test_a_script_without_arrays(jobs, how):
    done = jobs.script(how, "print('nothing to do')")
    assert (done.returncode, done.stdout) == (0, "nothing to do\n")


def test_caches_of_a_script_s_functions_travel(jobs, how):
    text = """
        import functools
        import windrow as wr

        @functools.cache
        def table(n):
            return [k * k for k in range(n)]

        print(wr.map_blocks(lambda block: block + table(9)[3], wr.arange(4, chunks=2), dtype=int).compute().tolist())
    """
    done = jobs.script(how, text)
    assert done.stdout == "[9, 10, 11, 12]\n", done.stderr


def test_a_module_beside_the_script(jobs, how):
    jobs.write("import numpy as np\ndef double(block):\n    return 2 * block\n", "beside.py")
    text = """
        import windrow as wr
        from beside import double
        print(wr.map_blocks(double, wr.arange(6, chunks=1), dtype=int).compute().tolist())
    """
    path = jobs.write(text)
    done = jobs.run(jobs.command(how), path.relative_to(jobs.folder.parent), cwd=jobs.folder.parent)
    assert done.stdout == "[0, 2, 4, 6, 8, 10]\n", done.stderr


PRINTS = """
    import sys, time, warnings
    import windrow as wr
    def f(block):
        time.sleep(0.05)
        print("block", end=" ")
        print(int(block[0]))
        print("half", end="")
        warnings.warn("careful")
        return block
    print("before")
    wr.map_blocks(f, wr.arange(9, chunks=1), dtype=int).compute()
    print("after")
    print("mine", file=sys.stderr)
"""


@pytest.mark.parametrize("how", ["spawn", "mpirun"])
def test_what_tasks_print_bears_the_ranks_name(jobs, mpi, how):
    done = jobs.script(how, PRINTS)
    lines = done.stdout.splitlines()
    assert (lines[0], lines[-1]) == ("before", "after")
    named = [re.fullmatch(r"\[rank ([012])\] (block \d|half)", x) for x in lines[1:-1]]
    found = [x.groups() for x in named if x]
    assert len(found) == len(named), done.stdout
    assert {rank for rank, _ in found} == {"0", "1", "2"}
    assert sorted(text for _, text in found) == [*(f"block {i}" for i in range(9)), *["half"] * 9]
    errors = done.stderr.splitlines()
    assert "mine" in errors
    for rank in range(3):
        assert any(x.startswith(f"[rank {rank}] ") and x.endswith("UserWarning: careful") for x in errors)


def test_a_closed_pipe_ends_no_task(jobs, mpi):
    path = jobs.write(PRINTS.replace('print("after")', 'print("end", file=sys.stderr)'))
    done = jobs.run(["bash", "-c", f"{' '.join(jobs.command('spawn'))} {path} | head -n 1"])
    assert done.stdout == "before\n" or done.stdout.startswith("[rank")
    assert "end\n" in done.stderr


def test_one_process_names_no_rank(jobs):
    assert "[rank" not in jobs.script("python", PRINTS).stdout


def test_a_script_s_own_exception_comes_back(jobs, how):
    text = """
        import windrow as wr
        class Mine(Exception): pass
        def f(block):
            if block[0] == 5: raise Mine("five")
            return block
        try:
            wr.map_blocks(f, wr.arange(9, chunks=1), dtype=int).compute()
        except Mine as error:
            print(error, "(5,)" in error.__notes__[0])
    """
    assert jobs.script(how, text).stdout == "five True\n"


def test_what_is_registered_for_the_end_is_called(jobs, how):
    text = (
        SUM
        + """
import atexit, threading, time
atexit.register(lambda: print("at exit", wr.ones(5, chunks=1).sum().compute()))
threading.Thread(target=lambda: time.sleep(0.3) or print("thread")).start()
print("end")
"""
    )
    assert jobs.script(how, text).stdout == "end\nthread\nat exit 5.0\n"


def test_plain_mpirun_says_once_what_a_death_does(jobs, mpi):
    done = jobs.script("plain mpirun", SUM + "print('done')")
    assert (done.returncode, done.stdout) == (0, "done\n")
    assert done.stderr.count("the death of a rank will end this job") == 1
    assert "improper" not in done.stderr
    assert "death" not in jobs.script("mpirun", SUM).stderr


KILLS = """
    import os, signal, time
    import windrow as wr
    from windrow.scheduler.session.cluster import cluster
    assert wr.arange(1000, chunks=10).sum().compute() == 499500
    os.kill(cluster().info()[1]["pid"], signal.SIGKILL)
    time.sleep(0.3)
    assert wr.arange(1000, chunks=10).sum().compute() == 499500
    print(len(cluster().info()), "left")
"""


@pytest.mark.parametrize("how", ["spawn", "mpirun"])
def test_the_driver_outlives_a_rank(jobs, mpi, how):
    done = jobs.script(how, KILLS)
    assert (done.returncode, done.stdout) == (0, "2 left\n"), done.stderr
    assert "rank 1" in done.stderr  # who was lost is told


def test_plain_mpirun_with_the_exports_recovers(jobs, mpi):
    path = jobs.write(KILLS)
    windrow = " ".join(jobs.command("plain mpirun"))
    done = jobs.run(["bash", "-c", f'eval "$({sys.executable} -m windrow env)"; {windrow} {path}'])
    assert (done.returncode, done.stdout) == (0, "2 left\n"), done.stderr
    assert "death" not in done.stderr


def test_python_under_mpirun_by_mistake(jobs, mpi):
    path = jobs.write("import windrow as wr; wr.ones(3).compute()")
    done = jobs.run([*jobs.command("mpirun")[:-2], path])
    assert done.returncode != 0
    assert f"mpirun -n 3 python -m windrow {path}" in done.stderr


CLUSTERS = """
    import os, signal, time
    import windrow as wr
    x = wr.random.default_rng(1).random(2000, chunks=20)
    right = x.sum().compute()
    for i in range(2):
        with wr.Cluster(3) as cluster:
            assert x.sum().compute() == right
            if {kill}:
                os.kill(cluster.info()[1]["pid"], signal.SIGKILL)
                time.sleep(0.3)
            assert x.sum().compute() == right
            print(len(cluster.info()))
    assert x.sum().compute() == right
"""


def test_ranks_find_the_package_where_the_driver_found_it(jobs, mpi):
    source = jobs.environment.pop("PYTHONPATH")
    done = jobs.run(
        [sys.executable], jobs.write(f"    import sys; sys.path.append({source!r})" + CLUSTERS.format(kill=0))
    )
    assert (done.returncode, done.stdout) == (0, "3\n3\n"), done.stderr


@pytest.mark.parametrize(("kill", "left"), [(False, "3\n3\n"), (True, "2\n2\n")])
def test_clusters_of_a_script(jobs, mpi, kill, left):
    path = jobs.write(CLUSTERS.format(kill=kill))
    done = jobs.run([sys.executable], path)
    assert (done.returncode, done.stdout) == (0, left), done.stderr


def test_a_cluster_beside_the_ranks(jobs, mpi):
    done = jobs.script("spawn", CLUSTERS.format(kill=False))
    assert (done.returncode, done.stdout) == (0, "3\n3\n"), done.stderr
