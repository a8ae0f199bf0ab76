"""Write docs/dask-names.md: every public name of dask's arrays, delayed calls and clients, and what it is here.

    python docs/make_dask_names.py

The names are those of the dask that is installed; `ELSE` says what is called otherwise, or isn't here. A name that is
in neither Windrow nor `ELSE` is an error, and tests/test_dask_names.py compares the page with dask.
"""

from __future__ import annotations

import importlib
import inspect
import sys
import textwrap
import types
from pathlib import Path
from typing import Any

import numpy as np

import windrow as wr

PAGE = Path(__file__).with_name("dask-names.md")

SPACES: dict[str, str] = {
    "dask.array": "windrow",
    "dask.array.Array": "windrow.Array",
    "dask.array.linalg": "windrow.linalg",
    "dask.array.fft": "windrow.fft",
    "dask.array.random": "windrow.random",
    "dask.array.overlap": "windrow.overlap",
    "dask.array.lib.stride_tricks": "windrow",
    "dask.array.stats": "windrow.stats",
    "dask.array.ma": "",
    "dask": "windrow",
    "dask.delayed": "windrow",
    "dask.delayed.Delayed": "windrow.Delayed",
    "distributed.Client": "windrow",
    "distributed.Future": "windrow.Future",
    "distributed": "windrow",
}
"""Modules and classes of dask's, and where their names are here."""

MASKED = "no masked chunks: NaN, or an array of bool beside it, and `where=`"
LOGS = "no web page, no logs of a scheduler: `x.explain()`, the progress bar, `cluster.info()`"
PLUGIN = "no plugins: ranks run one program"
RESIZE = "the ranks are those of the start"
DATASET = "`wr.shared.object` has what all ranks see"
SHARED = "`wr.shared` has what all ranks see: arrays, tables, counters, a space of objects"
GRAPH = "no graphs of dask's: `x.graph()` gives networkx's"
TASK_CALL = "tasks don't start tasks: the program submits them"
THERE = "`x.persist()`, `wr.wait(x)`"

ELSE: dict[str, dict[str, str]] = {
    "dask.array": {
        "PerformanceWarning": "`x.explain()` warns of what is costly",
        "array_expr_enabled": "no settings of how graphs are made",
        "assert_eq": "`wr.testing.assert_equal`, `wr.testing.assert_allclose`",
        "atop": "`blockwise`",
        "from_tiledb": "open it: `from_array` reads what has slices",
        "to_tiledb": "open it: `store` writes to what takes slices",
        "to_hdf5": "open a data set: `store` writes to it",
        "frompyfunc": "`vectorize`, whose results aren't Python objects",
        "optimize": "graphs are always optimised",
        "register_chunk_type": "chunks are always NumPy arrays",
    },
    "dask.array.Array": {
        "A": "`x` itself",
        "dask": GRAPH,
        "name": "arrays have no names; `x.expr.token` tells equal ones",
        "to_backend": "chunks are always NumPy arrays",
        "to_dask_dataframe": "`to_parquet`, `to_arrow`, `to_csv`: no data frames here",
        "to_hdf5": "`wr.store(x, dataset)`",
        "to_svg": "a notebook shows it; `visualize` draws the operations",
        "to_tiledb": "`wr.store(x, target)`",
    },
    "dask.array.linalg": {
        "dotmany": "`matmul` and sums",
        "solve_triangular_safe": "`solve_triangular`",
        "svd_flip": "signs follow from the algorithm: none to flip",
    },
    "dask.array.fft": {"fft_wrap": "`apply_along_axis` with any function"},
    "dask.array.overlap": {
        "add_dummy_padding": "`overlap(boundary=)`",
        "boundaries": "`overlap(boundary=)`",
        "coerce_boundary": "an inner function of dask's",
        "coerce_depth": "an inner function of dask's",
        "coerce_depth_type": "an inner function of dask's",
        "constant": "`overlap(boundary=number)`",
        "ensure_minimum_chunksize": "`rechunk`; margins may be wider than chunks",
        "nearest": '`overlap(boundary="nearest")`',
        "overlap_internal": "`overlap`",
        "periodic": '`overlap(boundary="periodic")`',
        "push": "`wr.push`",
        "reflect": '`overlap(boundary="reflect")`',
    },
    "dask": {
        "annotate": "`cores=`, `memory=`, `retries=`, `priority=` of `submit` and `delayed`",
        "get": "`wr.dask.get` runs dask's own graphs on the ranks; `compute` runs Windrow's",
        "get_annotations": "none to look up",
        "is_dask_collection": "`isinstance(x, wr.Array)`",
        "istask": GRAPH,
        "optimize": "graphs are always optimised",
        "Expr": GRAPH,
        "HLGExpr": GRAPH,
        "LLGExpr": GRAPH,
        "SingletonExpr": GRAPH,
    },
    "dask.delayed": {},
    "dask.delayed.Delayed": {
        "dask": GRAPH,
        "key": "calls have no names",
        "persist": "`wr.submit`: the result stays on its rank",
        "visualize": "`visualize` draws arrays",
    },
    "distributed.Client": {
        "amm": "memory is looked after by itself: [Memory](guides/memory.md)",
        "as_current": "the script has one cluster",
        "asynchronous": "`await x`, `await future`",
        "benchmark_hardware": "`python -m windrow doctor`",
        "call_stack": LOGS,
        "cancel": "`future.cancel()`",
        "close": "`cluster.close()`, or the end of `with wr.Cluster(…)`",
        "current": "`wr.cluster()`",
        "dashboard_link": LOGS,
        "dump_cluster_state": "`cluster.info()`",
        "forward_logging": "what ranks print comes out of the driver",
        "futures_of": "an array's chunks: `x.owners()`",
        "get": "`wr.compute`",
        "get_dataset": DATASET,
        "get_events": LOGS,
        "get_executor": "`wr.Executor()`",
        "get_metadata": DATASET,
        "get_scheduler_logs": LOGS,
        "get_task_stream": LOGS,
        "get_versions": "`python -m windrow doctor`",
        "get_worker_logs": LOGS,
        "has_what": "`x.owners()`: the rank of each chunk",
        "list_datasets": DATASET,
        "log_event": LOGS,
        "loop": "no event loop of Tornado's",
        "nbytes": "`x.nbytes`, `cluster.info()`",
        "ncores": "`cluster.info()`",
        "normalize_collection": GRAPH,
        "nthreads": "`cluster.info()`",
        "processing": LOGS,
        "profile": LOGS,
        "publish_dataset": DATASET,
        "rebalance": "chunks are placed by who reads them",
        "register_plugin": PLUGIN,
        "register_worker_callbacks": PLUGIN,
        "replicate": "chunks are made again when a rank is lost; `wr.shared.object` is on all ranks",
        "restart": "close the cluster and start another",
        "restart_workers": RESIZE,
        "retire_workers": RESIZE,
        "retry": "`retries=`; lost results are made again by themselves",
        "run": "`wr.spmd(function)` runs one on all ranks",
        "run_on_scheduler": "the script runs on rank 0",
        "scheduler_info": "`cluster.info()`",
        "set_metadata": DATASET,
        "shutdown": "`cluster.close()`",
        "start": "`wr.Cluster(ranks=…)`",
        "story": LOGS,
        "subscribe_topic": SHARED,
        "sync": "calls wait by themselves",
        "unforward_logging": "what ranks print comes out of the driver",
        "unpublish_dataset": DATASET,
        "unregister_scheduler_plugin": PLUGIN,
        "unregister_worker_plugin": PLUGIN,
        "unsubscribe_topic": SHARED,
        "upload_file": "functions travel with what they need of the script; install packages for all ranks",
        "wait_for_workers": "`wr.Cluster` returns when all ranks are there",
        "who_has": "`x.owners()`: the rank of each chunk",
        "write_scheduler_file": "none: `mpirun` or `srun` starts the ranks",
    },
    "distributed.Future": {
        "bind_client": "futures belong to the one cluster",
        "client": "`wr.cluster()`",
        "executor": "`wr.Executor()`",
        "key": "`future.name` is the function's",
        "release": "let go of it: `del future`",
        "retry": "`retries=`",
        "status": "`future.done()`, `running()`, `cancelled()`",
        "substitute": GRAPH,
        "traceback": "`future.exception()` has it",
        "type": "`type(future.result())`",
    },
    "distributed": {
        "Actor": SHARED,
        "ActorFuture": SHARED,
        "Adaptive": RESIZE,
        "BaseActorFuture": SHARED,
        "CancelledError": "`concurrent.futures.CancelledError`",
        "Client": "`wr.Cluster`, and the functions of `wr`",
        "CompatibleExecutor": "`wr.Executor`",
        "CondaInstall": PLUGIN,
        "Environ": PLUGIN,
        "Event": SHARED,
        "InstallPlugin": PLUGIN,
        "KilledWorker": "`wr.ClusterError`",
        "LocalCluster": "`wr.Cluster(ranks=4)`",
        "Lock": SHARED,
        "MultiLock": SHARED,
        "Nanny": "a janitor looks after rank 0; nothing to start",
        "NannyPlugin": PLUGIN,
        "PipInstall": PLUGIN,
        "Queue": SHARED,
        "Reschedule": "`retries=`",
        "SSHCluster": "`mpirun` or `srun`: [Ranks and Slurm](guides/ranks.md)",
        "Scheduler": "rank 0, beside the script",
        "SchedulerPlugin": PLUGIN,
        "Security": "no sockets on one host; between hosts MPI's",
        "Semaphore": SHARED,
        "SpecCluster": "`wr.Cluster`",
        "Status": "`cluster.info()`",
        "SubprocessCluster": "`wr.Cluster(ranks=4)`",
        "TimeoutError": "`wr.WaitTimeout`, the built-in `TimeoutError`",
        "UploadDirectory": PLUGIN,
        "UploadFile": PLUGIN,
        "Variable": SHARED,
        "Worker": "a rank",
        "WorkerPlugin": PLUGIN,
        "as_completed": "`concurrent.futures.as_completed` takes these futures",
        "connect": "ranks talk by MPI",
        "default_client": "`wr.cluster()`",
        "fire_and_forget": "keep the future: its result is given up with it",
        "futures_of": "an array's chunks: `x.owners()`",
        "get_client": "`wr.cluster()`",
        "get_task_metadata": LOGS,
        "get_task_stream": LOGS,
        "get_worker": "`wr.rank()`",
        "local_client": TASK_CALL,
        "performance_report": LOGS,
        "print": "`print`: what ranks print comes out of the driver",
        "progress": "a progress bar shows by itself: the setting `progress`",
        "rejoin": TASK_CALL,
        "rpc": "ranks talk by MPI",
        "secede": TASK_CALL,
        "span": "operations are named by the lines that made them: `x.explain()`",
        "sync": "calls wait by themselves",
        "warn": "`warnings.warn`",
        "worker_client": TASK_CALL,
    },
}
"""What isn't here by its name, and why or what it is."""

UNLIKE: dict[str, dict[str, str]] = {
    "dask.array": {
        "from_delayed": "the same, of known lengths: NaN and None are refused; then `wr.asarray(call.compute())`",
    },
}
"""What is here by its name, and takes less."""

INTRO = """# Names of dask's, and what they are here

Every public name of dask {dask}'s arrays and delayed calls and of distributed {distributed}'s clients. [Coming from
dask](guides/from-dask.md) tells what behaves otherwise. This page is written by `docs/make_dask_names.py`.
"""


def find(path: str) -> Any:
    """Return a module, or a class in one."""
    try:
        return importlib.import_module(path)
    except ImportError:
        holder, _, name = path.rpartition(".")
        return getattr(importlib.import_module(holder), name)


def public(path: str) -> list[str]:
    """Return the names that dask offers there: no modules, and in modules within it nothing from elsewhere."""
    space = find(path)
    names = [name for name in getattr(space, "__all__", None) or dir(space) if not name.startswith("_")]
    found = [name for name in names if not isinstance(getattr(space, name, None), types.ModuleType)]
    if inspect.ismodule(space) and path not in ("dask.array", "dask", "distributed"):
        found = [name for name in found if is_own(path, name, getattr(space, name))]
    return sorted({name for name in found if name not in ("annotations", "config", "dask", "widgets")} - DROPPED)


DROPPED = {
    "array_safe",
    "chunk_error",
    "fft_preamble",
    "skip_doctest",
    "getitem",
    "doc_wraps",
    "normalize_masked_array",
}


def is_own(path: str, name: str, value: Any) -> bool:
    """Tell whether a module of dask's defines a name, or one of NumPy's stands behind it."""
    home = str(getattr(value, "__module__", "") or "")
    if path == "dask.array.random":
        return callable(value) and (hasattr(np.random, name) or name == "RandomState")
    if path == "dask.array.fft":
        return callable(value) and (hasattr(np.fft, name) or home == path) and name != "asarray"
    if path == "dask.array.ma":
        return callable(value) and (home == path or hasattr(np.ma, name))
    return callable(value) and (home == path or name == "sliding_window_view")


def row(path: str, name: str) -> str | None:
    """Return what a name is here; None: the same."""
    if path == "dask.array.ma":
        return MASKED
    try:
        getattr(find(SPACES[path]), name)
    except (ImportError, AttributeError):
        if path == "dask.array.stats":
            return "the same name in `scipy.stats`, of `x.compute()`"
        if name not in ELSE.get(path, {}):
            sys.exit(f"{path}.{name}: what is it here? Say it in ELSE")
        return ELSE[path][name]
    return UNLIKE.get(path, {}).get(name)


WHERE = {"windrow.Array": "arrays", "windrow.Delayed": "lazy calls", "windrow.Future": "futures"}


def named(names: list[str]) -> str:
    """Return names as code."""
    return ", ".join(f"`{name}`" for name in names)


def page() -> str:
    """Return the whole page."""
    dask, distributed = (importlib.import_module(name).__version__ for name in ("dask", "distributed"))
    parts = [INTRO.format(dask=dask, distributed=distributed)]
    for path, space in SPACES.items():
        names = {name: row(path, name) for name in public(path)}
        same = [name for name, what in names.items() if what is None]
        parts.append(f"## {path}\n")
        if same:
            listed = f"By the same name in {WHERE.get(space, space.replace('windrow', 'wr'))}: {named(same)}."
            parts.append("\n".join(textwrap.wrap(listed, 120, break_on_hyphens=False)) + "\n")
        rest: dict[str, list[str]] = {}
        for name, what in names.items():
            if what is not None:
                rest.setdefault(what, []).append(name)
        if rest:
            rows = (f"| {named(some)} | {what} |" for what, some in rest.items())
            parts.append("\n".join(["| dask | here |", "| --- | --- |", *rows]) + "\n")
    return "\n".join(parts)


if __name__ == "__main__":
    assert wr.__name__ == "windrow"
    PAGE.write_text(page())
