"""The benchmarks run; their figures are nobody's business here."""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BENCHMARKS = ROOT / "benchmarks"
SUITE = {
    "halved": ("def kernel(n, x, out):\n    out[1:] = x[1:] * 0.5\n    return x.sum()", ["out"]),
    "typed": ("def kernel(n, x, out):\n    return x * 2 if type(x) is np.ndarray else x", []),
    "stuck": (
        "import time\n\ndef kernel(n, x, out):\n    time.sleep(0 if type(x) is np.ndarray else 100)\n    return x",
        [],
    ),
    "bad": (
        "def kernel(n, x, out):\n    if type(x) is not np.ndarray:\n        raise ValueError(n)\n    return x",
        ["out"],
    ),
    "small": ("def kernel(n, x, out):\n    out += np.sin(x)", []),
}


def run(tmp_path, *words):
    return subprocess.run(
        [sys.executable, *map(str, words)],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src"), "WINDROW_CONFIG": ""},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def module(monkeypatch):
    """Import a module of the benchmarks' folder, which is no package."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    yield importlib.import_module
    for name, loaded in list(sys.modules.items()):
        if (getattr(loaded, "__file__", None) or "").startswith(str(BENCHMARKS)):
            del sys.modules[name]


@pytest.fixture
def suite(tmp_path):
    """Write kernels in npbench's layout."""
    (tmp_path / "bench_info").mkdir()
    folder = tmp_path / "npbench" / "benchmarks" / "own"
    folder.mkdir(parents=True)
    for name, (function, outputs) in SUITE.items():
        info = {
            "relative_path": "own", "module_name": name, "func_name": "kernel",
            "parameters": {"S": {"n": 10}, "M": {"n": 2000}},
            "init": {"func_name": "start", "input_args": ["n"], "output_args": ["x", "out"]},
            "input_args": ["n", "x", "out"], "array_args": ["x", "out"], "output_args": outputs,
        }  # fmt: skip
        (tmp_path / "bench_info" / f"{name}.json").write_text(json.dumps({"benchmark": info}))
        start = "import numpy as np\n\ndef start(n):\n    return np.arange(n) / n, np.ones(n)\n"
        (folder / f"{name}.py").write_text(start)
        (folder / f"{name}_numpy.py").write_text(f"import numpy as np\n\n{function}\n")
    return tmp_path


def test_benchmarks_run_in_small(tmp_path):
    file = tmp_path / "times.json"
    words = ["--quick", "--only", "W1,W2", "--rounds", "1", "--systems", "windrow,numpy", "--json", file]
    done = run(tmp_path, BENCHMARKS / "run.py", *words)
    assert done.returncode == 0, done.stdout + done.stderr
    times = json.loads(file.read_text())["times"]
    assert {frozenset(systems) for systems in times.values()} == {frozenset({"windrow", "numpy"})}
    assert "W2" in times
    assert "W1 map_blocks, us a chunk" in done.stdout
    assert "geometric mean of 1 rows, windrow against numpy" in done.stdout
    assert "limit (times it)" in done.stdout


def test_rows_of_loops_are_right_in_small(tmp_path):
    words = ["--quick", "--only", "W8,W9,W14,host", "--rounds", "1", "--repeats", "1", "--systems", "windrow,numpy"]
    done = run(tmp_path, BENCHMARKS / "run.py", *words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "failed" not in done.stdout


def test_each_limit_is_a_row_s(module):
    sizes = module("workloads").Sizes()
    limits, rows = module("limits").works(sizes), module("rows").cases(sizes)
    assert set(limits) <= set(rows)
    assert all(work.bytes > 0 for work in limits.values())
    machine = module("limits").Machine(bytes=10e9, flops=100e9)
    assert machine.seconds(limits["W2"]) == pytest.approx(2 * 8 * 32_000_000 / 10e9)
    assert machine.seconds(limits["W5 1000"]) == pytest.approx(2 * 4000**3 / 100e9)


def test_rows_are_judged_by_the_best_peer_and_means_without_overhead(module):
    results = module("report").Results()
    for name, mine, dask, numpy in (("W1 5", 1.0, 100.0, 1.0), ("W2", 1.0, 8.0, 5.0), ("W4", 1.0, 2.0, 1.1)):
        for system, seconds in (("windrow", mine), ("dask-threads", dask), ("numpy", numpy)):
            results.add(system, name, {"times": [seconds, 2 * seconds], "chunks": 0, "once": False})
    lines = module("means").judge(results)
    assert any(line.startswith("PASS  W2: faster than its best peer, numpy: 5 times") for line in lines)
    assert any(line.startswith("FAIL  W4: faster than its best peer, numpy: 1.1 times") for line in lines)
    mean = next(line for line in lines if "windrow against dask-threads" in line)
    assert mean.startswith("PASS  geometric mean of 2 rows, windrow against dask-threads: 4 times (at least 4)")


def test_a_slower_row_is_marked(module):
    pair = module("compare").Pair("W2", [1.0, 1.2], [1.06, 1.1])
    assert pair.line().endswith("1.060 (0.982)  SLOWER")
    assert "SLOWER" not in module("compare").Pair("W2", [1.0], [1.04]).line()


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a checkout")
def test_two_revisions_take_turns_and_the_worktree_goes(tmp_path):
    before = subprocess.run(["git", "worktree", "list"], cwd=ROOT, capture_output=True, check=True).stdout
    words = ["--quick", "--compare", "HEAD", "--only", "W2", "--rounds", "1", "--repeats", "1"]
    done = run(tmp_path, BENCHMARKS / "run.py", *words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "geometric mean of 1 ratios" in done.stdout
    assert subprocess.run(["git", "worktree", "list"], cwd=ROOT, capture_output=True, check=True).stdout == before


def test_kernels_of_npbench_are_run_lazily_and_compared(suite):
    file = suite / "rows.json"
    done = run(suite, BENCHMARKS / "npbench", suite, "--limit", "10", "--json", file)
    assert done.returncode == 1, done.stdout + done.stderr
    rows = {row["kernel"]: row for row in json.loads(file.read_text())}
    verdicts = {name: row["verdict"] for name, row in rows.items()}
    assert verdicts == {"halved": "right", "typed": "wrong", "stuck": "timeout", "bad": "error", "small": "right"}
    assert rows["halved"]["preset"] in ("S", "M")
    assert rows["halved"]["windrow"] > 0
    traced = {name: row["traced_verdict"] for name, row in rows.items()}
    assert traced == {"halved": "right", "typed": "wrong", "stuck": "timeout", "bad": "error", "small": "right"}
    assert rows["halved"]["traced"] > 0
    assert "windrow: right 2, wrong 1, error 1, timeout 1, none 0" in done.stdout


def test_one_kernel_of_npbench_is_run_by_its_description(suite):
    done = run(suite, BENCHMARKS / "npbench", suite / "bench_info" / "halved.json", "--preset", "S")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "traced: geometric mean over 1 right" in done.stdout


OPERATIONS = re.findall(r'^    "([a-z0-9-]+)":', (BENCHMARKS / "arena/operations.py").read_text(), re.MULTILINE)
OPERATIONS = [f"{source}/{name}" for source in ("zarr", "memory") for name in OPERATIONS]
ARENA = """
import json, sys
from arena.measuring import Order, measure
from arena.options import size
from arena.registry import load

system, data, *only = sys.argv[1:]
for name, workload in load().items():
    if system not in workload.without and (name in only if only else "/" not in name):
        order = Order(name, system, data, f"{data}/late", size("1GiB"), 60, 1, True, 2)
        try:
            found = measure(order, lambda: 0)
        except Exception as error:
            found = {"wrong": repr(error)}
        print(json.dumps([name, found]), flush=True)
"""


@pytest.mark.parametrize(
    ("system", "only"),
    [
        ("windrow", []),
        ("windrow", ["zarr/day-of-year", "memory/day-of-year", "zarr/rolling-mean", "zarr/to-zarr-series"]),
        pytest.param("windrow2", [], marks=[pytest.mark.slow, pytest.mark.ranks, pytest.mark.timeout(660)]),
        pytest.param("windrow", OPERATIONS, marks=[pytest.mark.slow, pytest.mark.timeout(660)]),
    ],
    ids=["all", "climate", "all on ranks", "all of climate"],
)
def test_workloads_of_the_arena_are_right_in_small(tmp_path, system, only):
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}:{BENCHMARKS}", "WINDROW_CONFIG": ""}
    command = [sys.executable, "-c", ARENA, system, str(tmp_path), *only]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(rows) == len(only) or (not only and len(rows) >= 25)
    wrong = {name: row["wrong"] for name, row in rows if row["wrong"]}
    assert wrong == {}
    assert all(row["figures"]["times"] and row["figures"]["first_task"] >= 0 for _, row in rows)


def test_the_arena_measures_under_a_limit_and_goes_on_where_it_was(tmp_path):
    words = ["--scale", "small", "--only", "dot", "--memory", "6GiB", "--repeats", "1", "--limit", "60"]
    words += ["--results", tmp_path / "results.jsonl", "--data", tmp_path]
    done = run(tmp_path, BENCHMARKS / "arena", *words, "--systems", "windrow,windrow2,numpy")
    assert done.returncode == 0, done.stdout + done.stderr
    cells = [json.loads(line) for line in (tmp_path / "results.jsonl").read_text().splitlines()]
    assert [cell["system"] for cell in cells] == ["windrow", "windrow2", "numpy"]
    assert all(cell["times"] and cell["peak"] > 2**20 and not cell["error"] for cell in cells), cells
    assert run(tmp_path, BENCHMARKS / "arena", *words, "--systems", "numpy").returncode == 0
    assert len((tmp_path / "results.jsonl").read_text().splitlines()) == 3
    shown = run(tmp_path, BENCHMARKS / "arena", *words, "--table")
    assert "| dot |" in shown.stdout


@pytest.mark.parametrize("kind", ["group", "address space"])
def test_who_dies_of_memory_in_the_arena_is_written_so(module, monkeypatch, tmp_path, kind):
    cells, options = module("arena.cells"), module("arena.options")
    if kind == "address space":
        monkeypatch.setattr(module("control_group"), "_make", lambda *_: None)
    words = ["--memory", "2GiB", "--only", "ols", "--repeats", "1", "--limit", "60", "--data", str(tmp_path)]
    cell = cells.measure("ols", "numpy", options.arguments(words), "")
    assert cell.error.startswith("died at"), cell
    assert kind == "group" or cell.limiter.startswith("RLIMIT_AS")


def test_tables_of_the_arena_tell_who_is_ahead(module):
    cell, tables, comparison = module("arena.cells").Cell, module("arena.table"), module("arena.comparison")

    def made(workload, system, seconds, gib, error=""):
        figures = {"times": [seconds, 2 * seconds], "cpu": [seconds], "first_task": 0.5, "peak": int(gib * 2**30)}
        return cell(workload, system, 2**33, False, "", error=error, **(figures if not error else {}))

    rows = [
        made("dot", "windrow", 2.0, 1), made("dot", "dask", 6.0, 2), made("ols", "windrow", 3.0, 4),
        made("ols", "dask", 2.0, 1), made("sort", "windrow", 1.0, 1), made("sort", "dask", 0, 0, "died at 8 GiB"),
    ]  # fmt: skip
    text = tables.table(rows, ["windrow", "dask"], ["dot", "ols", "sort"])
    assert "| dot | 2 (3) · 1 | 6 (9) · 2 | windrow 0.5, dask 0.5 | 3 |" in text
    assert "| sort | 1 (1.5) · 1 | died at 8 GiB | windrow 0.5 |  |" in text
    assert "1.4 times as fast as dask in the geometric mean of 2 rows." in text
    assert "Not ahead in:\n\n- ols: 3 s, dask 2 s\n- ols: 4 GiB, dask 1 GiB\n" in text
    rows = [made("zarr/a", "windrow", 1.0, 1), made("zarr/a", "dask", 2.0, 1), made("memory/a", "windrow", 3.0, 2)]
    text = comparison.comparison([*rows, made("memory/a", "dask", 1.0, 1)], ["windrow", "dask"])
    assert "processor time 0.50 times that of dask in the geometric mean of 1 operations, 0 above 1" in text
    assert "processor time 3.00 times that of dask in the geometric mean of 1 operations, 1 above 1" in text
    assert "- memory/a: 2 GiB, dask 1 GiB" in text


@pytest.mark.slow
@pytest.mark.ranks
@pytest.mark.timeout(900)
@pytest.mark.parametrize("ranks", [1, 2])
def test_more_than_memory_goes_from_files_to_files(tmp_path, ranks):
    words = ["--gib", 0.75, "--memory", "128 MiB", "--ranks", ranks, "--seconds", 100]
    done = run(tmp_path, BENCHMARKS / "out_of_core.py", *words)
    if "no memory control groups" in done.stderr:
        pytest.skip("no control group can be made here")
    assert done.returncode == 0, done.stdout + done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) == 8
    for step in found:
        assert not step["wrong"], step
        assert not step["killed"], step
        if step["step"].startswith(("reduce", "standardise", "sort npy")):  # of spills the cache keeps some
            assert step["peak"] < step["limit"], step
