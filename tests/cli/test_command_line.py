"""The command line's own words: options, commands, complaints. No ranks."""

from __future__ import annotations

import sys

import pytest

PYTHON = [sys.executable, "-m", "windrow"]
WINDROW = " ".join(PYTHON)


BAD = ["--nope x.py", "-n 0", "-n two", "-n", "--threads -1", "-c", "-m", "--thr 2", "--memory much x.py"]


@pytest.mark.parametrize("words", [*map(str.split, BAD), ["--transport", "pigeon"]], ids=" ".join)
def test_bad_options_are_told_with_status_2(jobs, words):
    done = jobs.run(PYTHON, *words)
    assert done.returncode == 2
    assert "python -m windrow" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_missing_script_is_told_as_python_does(jobs):
    done = jobs.run(PYTHON, "-n", "3", "nowhere.py")
    plain = jobs.run([sys.executable], "nowhere.py")
    assert done.returncode == plain.returncode == 2
    assert done.stderr.partition(": ")[2] == plain.stderr.partition(": ")[2]


def test_help_and_version(jobs):
    told = jobs.run(PYTHON, "--help")
    assert told.returncode == 0
    for word in ("mpirun", "srun", "doctor", "env", "-n", "--memory"):
        assert word in told.stdout
    assert jobs.run(PYTHON, "--version").stdout.startswith("windrow ")


def test_env_prints_what_a_shell_takes(jobs):
    (jobs.folder / "env").mkdir()  # a virtual environment of that name is common
    done = jobs.run(["bash", "-c", f'eval "$({sys.executable} -m windrow env)" && echo $OMPI_MCA_mpi_ft_enable'])
    assert done.stdout == "1\n"


def test_words_after_the_script_are_its_own(jobs):
    done = jobs.script("python", "import sys; print(sys.argv[1:])", "--help", "-n", "9")
    assert done.stdout == "['--help', '-n', '9']\n"


@pytest.mark.parametrize(
    ("words", "given"),
    [
        (["-c", "import sys; print(sys.argv, sys.path[0] == '', __name__)", "a"], ""),
        (["-m", "beside", "a"], ""),
        (["-", "a"], "import sys; print(sys.argv, __name__)"),
        (["folder", "a"], ""),
        (["script.py", "a"], ""),
    ],
)
def test_main_is_as_with_plain_python(jobs, words, given):
    text = "import os, sys; print(sys.argv, sys.path[0], __name__, __file__, os.getcwd())"
    jobs.write(text, "beside.py")
    jobs.write(text)
    (jobs.folder / "folder").mkdir()
    jobs.write(text, "folder/__main__.py")
    plain = jobs.run([sys.executable], *words, input=given)
    for command in (PYTHON, [*PYTHON, "-n", "1"]):
        done = jobs.run(command, *words, input=given)
        assert (done.returncode, done.stdout, done.stderr) == (0, plain.stdout, plain.stderr)


def test_a_pipe_is_a_script(jobs):
    assert jobs.run(PYTHON, input="print(6 * 7)").stdout == "42\n"


@pytest.mark.parametrize(
    "text",
    ["1 / 0", "def f():\n    raise KeyError('k')\nf()", "x = (", "import nowhere", "raise KeyboardInterrupt"],
)
def test_tracebacks_are_python_s_own(jobs, text):
    path = jobs.write(text)
    plain = jobs.run([sys.executable], path)
    done = jobs.run(PYTHON, path)
    assert (done.returncode, done.stdout, done.stderr) == (plain.returncode, plain.stdout, plain.stderr)


def test_the_users_own_excepthook_is_called(jobs):
    text = "import sys\nsys.excepthook = lambda kind, error, trace: print('hook', kind.__name__)\n1 / 0"
    done = jobs.script("python", text)
    assert (done.returncode, done.stdout, done.stderr) == (1, "hook ZeroDivisionError\n", "")


def test_plain_python_starts_no_mpi(jobs):
    text = """
        import sys
        import windrow as wr
        print(wr.arange(10, chunks=2).sum().compute(), "mpi4py" in sys.modules)
    """
    path = jobs.write(text)
    assert jobs.run([sys.executable], path).stdout == "45 False\n"
    assert jobs.run(PYTHON, path).stdout == "45 False\n"


def test_a_rank_by_mistake_is_told_the_command(jobs):
    path = jobs.write("import windrow as wr; wr.ones(3).compute()")
    jobs.environment |= {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "4"}
    done = jobs.run([sys.executable], path)
    assert done.returncode == 1
    assert f"mpirun -n 4 python -m windrow {path}" in done.stderr


def test_a_child_of_a_rank_of_another_mpi_starts_no_ranks(jobs):
    jobs.environment |= {"PMI_RANK": "0", "PMI_SIZE": "2", "WINDROW_RANK": "1 pmi 0/2 "}
    done = jobs.run([sys.executable], jobs.write("import windrow as wr; print(float(wr.ones(3).sum())); wr.Cluster(2)"))
    assert (done.returncode, done.stdout) == (1, "3.0\n")
    assert "ClusterError: Cluster: ranks=2" in done.stderr


def test_one_rank_speaks_for_all(jobs):
    jobs.environment |= {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "4"}
    done = jobs.run(PYTHON, "--nope")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "")
    jobs.environment["OMPI_COMM_WORLD_RANK"] = "0"
    assert "--nope" in jobs.run(PYTHON, "--nope").stderr
    assert "leave out" in jobs.run(PYTHON, "-n", "4", "script.py").stderr
    assert "python -m windrow -n 4" in jobs.run(PYTHON).stderr


@pytest.mark.parametrize("word", ["env", "doctor"])
def test_commands_have_help(jobs, word):
    told = jobs.run(PYTHON, word, "--help")
    assert told.returncode == 0
    assert told.stdout.startswith("usage: ")
    assert f"python -m windrow {word}" in told.stdout


BAD_SETTINGS = [("THREADS", "abc"), ("MEMORY", "lots"), ("HEARTBEAT", "soon")]


@pytest.mark.parametrize(
    ("words", "setting"), list(zip([["-c", "1"], ["env"], ["-n", "2", "-c", "1"]], BAD_SETTINGS, strict=True)), ids=str
)
def test_a_bad_setting_is_one_line(jobs, monkeypatch, words, setting):
    name, value = setting
    monkeypatch.setitem(jobs.environment, f"WINDROW_{name}", value)
    done = jobs.run(PYTHON, *words)
    assert done.returncode
    (line,) = done.stderr.strip().splitlines()
    assert f"WINDROW_{name}: setting {name.lower()!r} is {value!r}: {value!r} is no " in line


def test_a_bad_setting_is_one_error_in_plain_python(jobs, monkeypatch):
    monkeypatch.setitem(jobs.environment, "WINDROW_THREADS", "abc")
    monkeypatch.delitem(jobs.environment, "WINDROW_FULL_TRACEBACK", raising=False)
    done = jobs.run([sys.executable], "-c", "import windrow as wr\nwr.ones(3).sum().compute()")
    assert done.stderr.count("Traceback") == 1, done.stderr
    assert done.stderr.rstrip().endswith("WINDROW_THREADS: setting 'threads' is 'abc': 'abc' is no positive integer")
    assert len(done.stderr.splitlines()) <= 8


def test_memory_beyond_the_machine_is_said(jobs):
    done = jobs.run(PYTHON, "--memory", "64 TiB", "-c", "import windrow as wr; print(wr.ones(3).sum().compute())")
    assert done.stdout == "3.0\n"
    (line,) = done.stderr.strip().splitlines()
    assert line.startswith("Cluster: memory='64.0 TiB' is more than the ")


def test_a_bad_spill_folder_is_found_at_the_start(jobs, monkeypatch):
    monkeypatch.setitem(jobs.environment, "WINDROW_SPILL_DIR", "/nowhere/at/all")
    done = jobs.run(PYTHON, "--memory", "1 MiB", "-c", "print('begun')")
    assert done.returncode
    assert done.stdout == ""
    assert "Cluster: setting 'spill_dir' is '/nowhere/at/all', which is no folder" in done.stderr.splitlines()[0]
