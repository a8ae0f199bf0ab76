"""The README's examples run, in order, in one session, and a second time in the same folder."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def test_readme_runs_twice(tmp_path):
    blocks = re.findall(r"^```python\n(.*?)^```", README.read_text(), flags=re.MULTILINE | re.DOTALL)
    assert blocks
    script = tmp_path / "readme.py"
    script.write_text("\n".join(blocks))
    for _ in range(2):
        done = subprocess.run([sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        lines = done.stdout.splitlines()
        assert lines[0] == "float64 ((1000, 1000, 1000, 1000), (1000, 1000, 1000, 1000))"
        assert lines[-1].startswith("[1. 0. 2.] Array(shape=(100000,)")


def test_links_lead_somewhere():
    paths = re.findall(r"\]\(([\w./-]+)\)", README.read_text())
    assert [path for path in paths if not (README.parent / path).exists()] == []
