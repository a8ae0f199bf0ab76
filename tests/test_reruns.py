"""Tests that fail in a run of several workers, and pass alone; see `Reruns` in conftest.py."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = """
import os
import pytest

@pytest.mark.parametrize("word", ["a@b"])
def test_once(word):
    seen = os.path.exists(word)
    open(word, "w").close()
    assert seen, "not yet"

def test_always():
    assert {right}
"""


@pytest.fixture
def run(tmp_path):
    """Run those tests, by two workers, in a project of their own."""

    def run(right: bool) -> subprocess.CompletedProcess[str]:
        shutil.copy(Path(__file__).with_name("conftest.py"), tmp_path)
        (tmp_path / "pytest.ini").write_text(f"[pytest]\npythonpath = {Path(__file__).parent}\n")
        (tmp_path / "test_some.py").write_text(TESTS.format(right=right))
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadgroup"]
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=60
        )

    return run


def test_a_run_passes_whose_failures_pass_alone(run, tmp_path):
    ended = run(right=True)
    assert ended.returncode == 0, ended.stdout
    flaky = (tmp_path / "build" / "flaky.txt").read_text()
    assert "test_some.py::test_once[a@b]\n" in flaky
    assert "AssertionError: not yet" in flaky
    assert "flaky: failed in the run, passed alone" in ended.stdout


def test_a_run_fails_where_one_fails_again(run):
    ended = run(right=False)
    assert ended.returncode == 1, ended.stdout
