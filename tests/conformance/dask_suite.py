"""dask's own tests under `wr.dask.get`, beside its threads: which pass there and fail here.

    python tests/conformance/dask_suite.py [--ranks 2] [dask.array.tests.test_reductions …]

Without modules it runs all of `dask/array/tests`, `dask/dataframe/tests` and `dask/dataframe/dask_expr/tests`.
"""

from __future__ import annotations

import argparse
import importlib
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from pathlib import Path

HERE = Path(__file__).parent
PACKAGES = ("dask.array.tests", "dask.dataframe.tests", "dask.dataframe.dask_expr.tests")
LEFT_OUT = ("test_cupy", "test_distributed", "test_xarray", "test_sparse", "test_image", "test_diagnostics")
"""Of other devices and packages, and tests of the other scheduler."""
OF_DASK = {
    "test_store_delayed_target": "looks for NumPy's arrays in the graph of what was persisted; they stay on ranks",
    "test_store_regions": "the same",
}
"""Tests that look at dask's own schedulers, and why they can't pass."""
INI = """[pytest]
xfail_strict = true
markers =
    network
    slow
    gpu
    array_expr
    normal_and_array_expr
    skip_with_pyarrow_strings
    xfail_with_pyarrow_strings
    filterwarnings
filterwarnings =
    error:::dask[.*]
    error:::pandas[.*]
    error:::numpy[.*]
"""


def modules() -> list[str]:
    """All modules of tests that are run."""
    found: list[str] = []
    for package in PACKAGES:
        folder = Path(str(importlib.import_module(package).__file__)).parent
        found += [f"{package}.{path.stem}" for path in sorted(folder.glob("test_*.py"))]
    return [name for name in found if not name.rpartition(".")[2].startswith(LEFT_OUT)]


def run(module: str, how: str, limit: float) -> dict[str, str]:
    """Run a module's tests by one scheduler; return what came of each."""
    import dask

    root = str(Path(dask.__file__).parent)
    with tempfile.TemporaryDirectory() as folder:
        ini, told = Path(folder, "pytest.ini"), Path(folder, "told.xml")
        ini.write_text(INI)
        words = ["-q", "-p", "no:cacheprovider", "-p", "dask_plugin", "-c", str(ini), "--rootdir", root]
        words += ["--timeout", "120", f"--junitxml={told}", "--pyargs", module]
        environment = os.environ | {"DASK_SUITE_SCHEDULER": how, "PYTHONPATH": str(HERE)}
        command = ["timeout", "-k", "5", str(limit), sys.executable, "-m", "pytest", *words]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        if not told.exists():
            print(f"{module} by {how}: ended with status {done.returncode}\n{done.stdout[-2000:]}")
            return {}
        return {f"{case.get('name')}": _outcome(case) for case in ET.parse(told).iter("testcase")}


def _outcome(case: ET.Element) -> str:
    for kind in ("failure", "error", "skipped"):
        found = case.find(kind)
        if found is not None:
            message = " ".join(str(found.get("message")).split())
            return f"{kind}: {message[:150]}"
    return "passed"


def main() -> None:
    """Run what the command line says, and print a line for each module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", default="embedded", help="how many; without it threads of the process")
    parser.add_argument("--limit", type=float, default=1800.0, help="seconds for a module")
    parser.add_argument("modules", nargs="*")
    given = parser.parse_args()
    total = [0, 0, 0]
    for module in given.modules or modules():
        threads, ours = run(module, "threads", given.limit), run(module, given.ranks, given.limit)
        worse = [name for name, how in ours.items() if how != "passed" and threads.get(name) == "passed"]
        known = [name for name in worse if name.partition("[")[0] in OF_DASK]
        counts = [sum(how == "passed" for how in each.values()) for each in (threads, ours)]
        total = [total[0] + counts[0], total[1] + counts[1], total[2] + len(worse)]
        print(f"{module}: {counts[0]} pass by dask's threads, {counts[1]} by windrow, {len(worse)} by the first alone")
        for name in worse:
            print(f"    {name}: {OF_DASK[name.partition('[')[0]] if name in known else ours[name]}")
        sys.stdout.flush()
    print(f"together: {total[0]} by dask's threads, {total[1]} by windrow, {total[2]} by the first alone")


if __name__ == "__main__":
    main()
