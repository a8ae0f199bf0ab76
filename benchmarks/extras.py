"""What is no workload: building graphs, starting, importing, being idle.

Run as a program this file measures one part in its own process.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

FLAGS = "--with-ft ulfm --oversubscribe --bind-to none"
ROOT = {f"{name}_ALLOW_RUN_AS_ROOT{more}": "1" for name in ("OMPI", "PRTE") for more in ("", "_CONFIRM")}
FIRST = "import {module} as a; x = a.ones((1000, 1000)).sum(){compute}; assert x == 1e6"
SHAPES: dict[str, tuple[Any, Any]] = {"1-D": (1_000_000, 1), "2-D": ((1000, 1000), 1)}


def mpirun(ranks: int, *words: str) -> list[str]:
    """Return the command that runs Windrow on ranks; the variable MPIRUN replaces launcher and flags."""
    beside = Path(sys.executable).parent / "mpirun"
    launcher = str(beside) if beside.exists() else shutil.which("mpirun") or "mpirun"
    launch = shlex.split(os.environ.get("MPIRUN", f"{launcher} {FLAGS}"))
    return [*launch, "-n", str(ranks), sys.executable, "-m", "windrow", *words]


def _wall(command: list[str]) -> float:
    begin = time.perf_counter()
    subprocess.run(command, env=os.environ | ROOT, capture_output=True, check=True, timeout=60)
    return time.perf_counter() - begin


def _least(commands: dict[str, list[str]], turns: int) -> dict[str, float]:
    """Return each command's least wall time; they take turns."""
    times = [{name: _wall(command) for name, command in commands.items()} for _ in range(turns)]
    return {name: min(t[name] for t in times) for name in commands}


def _own(word: str, launch: list[str] | None = None) -> Any:
    """Run a part of this file in a process of its own."""
    command = [*(launch or [sys.executable]), __file__, word]
    done = subprocess.run(command, env=os.environ | ROOT, capture_output=True, check=True, timeout=60)
    return json.loads(done.stdout.decode().strip().splitlines()[-1])


def build(quick: bool) -> dict[str, float]:
    """Time and memory to build and optimise an expression of a million chunks."""
    return _own("time") | _own("memory")


def start(quick: bool) -> dict[str, float]:
    """Wall time of whole processes, from their start to their end, with one small result."""
    lazy = FIRST.format(module="windrow", compute=".compute()")
    commands = {
        "start, embedded": [sys.executable, "-c", lazy],
        "start, mpirun -n 2": mpirun(2, "-c", lazy),
        "(numpy)": [sys.executable, "-c", FIRST.format(module="numpy", compute="")],
    }
    try:
        import dask.array  # noqa: F401

        commands["(dask threads)"] = [
            sys.executable,
            "-c",
            FIRST.format(module="dask.array", compute=".compute()"),
        ]
    except ImportError:
        pass
    return _least(commands, 1 if quick else 5)


def steps(quick: bool) -> dict[str, float]:
    """What a step of a loop costs, with plans that are remembered and without."""
    found = {}
    for where, launch in (("", [sys.executable]), (", 2 ranks", mpirun(2))):
        for how, plans in (("", {}), (", no plans", {"WINDROW_PLANS": "0"})):
            command = [*launch, str(Path(__file__).with_name("steps.py")), *(["--quick"] if quick else [])]
            done = subprocess.run(command, env=os.environ | ROOT | plans, capture_output=True, check=True, timeout=300)
            told = json.loads(done.stdout.decode().strip().splitlines()[-1])
            found |= {f"step, {name}{where}{how}": seconds for name, seconds in told.items()}
    return found


def imports(quick: bool) -> dict[str, float]:
    """What `import windrow` adds."""
    plain = "import numpy, pyarrow"
    commands = {"": [sys.executable, "-c", plain], "more": [sys.executable, "-c", f"{plain}, windrow"]}
    found = _least(commands, 1 if quick else 7)
    return {"import beside numpy and pyarrow": found["more"] - found[""]}


def idle(quick: bool) -> dict[str, float]:
    """Cores that four ranks use between computations, mpirun itself included."""
    return {"idle, 4 ranks": _own("idle-quick" if quick else "idle", mpirun(4))}


EXTRAS: dict[str, Callable[[bool], dict[str, float]]] = {
    "build": build, "start": start, "import": imports, "idle": idle, "steps": steps,
}  # fmt: skip


def _expression(shape: Any, chunks: Any) -> Any:
    import windrow as wr
    from windrow.scheduler.session.cluster import session

    total = ((wr.ones(shape, chunks=chunks) + 1) * 2).sum()
    return session().stages([total.expr])


def _times() -> dict[str, float]:
    _expression(10, 1)
    found = {}
    for name, given in SHAPES.items():
        times = []
        for _ in range(5):
            begin = time.perf_counter()
            _expression(*given)
            times.append(time.perf_counter() - begin)
        found[f"build {name}"] = min(times)
    return found


def _memory() -> dict[str, float]:
    _expression(10, 1)
    found = {}
    for name, given in SHAPES.items():
        tracemalloc.start()
        kept = _expression(*given)
        found[f"build {name}, memory"] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        del kept
    return found


def _idle(seconds: float) -> float:
    import windrow as wr
    from windrow.scheduler.session.cluster import cluster

    assert wr.ones(1000, chunks=10).sum().compute() == 1000
    pids = [row["pid"] for row in cluster().info()]
    watched = [*pids, os.getppid()]
    time.sleep(1)
    before, begin = sum(map(_cpu, watched)), time.perf_counter()
    time.sleep(seconds)
    return (sum(map(_cpu, watched)) - before) / (time.perf_counter() - begin)


def _cpu(pid: int) -> float:
    """Seconds of a core that a process has used."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


PARTS: dict[str, Callable[[], Any]] = {
    "time": _times, "memory": _memory, "idle": lambda: _idle(10.0), "idle-quick": lambda: _idle(1.0),
}  # fmt: skip

if __name__ == "__main__":
    print(json.dumps(PARTS[sys.argv[1]]()))
