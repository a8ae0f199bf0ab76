"""The benchmarks run; their figures are nobody's business here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_benchmarks_run_in_small(tmp_path):
    file = tmp_path / "times.json"
    words = ["--quick", "--only", "W1,W2", "--rounds", "1", "--systems", "windrow,numpy", "--json", str(file)]
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "run.py"), *words],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src"), "WINDROW_CONFIG": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    times = json.loads(file.read_text())["times"]
    assert {frozenset(systems) for systems in times.values()} == {frozenset({"windrow", "numpy"})}
    assert "W2" in times
    assert "W1 map_blocks, us a chunk" in done.stdout
