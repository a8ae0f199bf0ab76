"""Run xarray's tests of lazy arrays, `xarray/tests/test_dask.py`, with Windrow and its chunk manager in place of dask.

    python tests/conformance/xarray/run.py [SUITE] [words for pytest]

SUITE is a checkout of https://github.com/pydata/xarray; without it the installed package's tests are taken. The file
is read, never changed: a copy in a temporary folder imports `stand_in.py` for dask. The exit status is 0 when all
tests pass but those in `of_dask.txt`, which say what of dask's own they look at.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
FROM, TO = 'dask = pytest.importorskip("dask")', 'dask = pytest.importorskip("windrow_in_place_of_dask")'


class Outcomes:
    """Which tests failed, and how many passed."""

    def __init__(self):
        self.failed, self.passed, self.other = set(), 0, 0

    def pytest_runtest_logreport(self, report):
        """Note one result."""
        name = report.nodeid.partition("::")[2]
        if report.failed:
            self.failed.add(name)
        elif report.skipped:
            self.other += 1
        elif report.when == "call" and report.passed:
            self.passed += 1


def reasons():
    """Return the tests that look at dask itself, and what of it."""
    found = {}
    for line in (HERE / "of_dask.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            name, _, why = line.partition("  ")
            found[name] = why.strip()
    return found


def main():
    """Run the suite; return the exit status."""
    import pytest

    words = sys.argv[1:]
    if words and not words[0].startswith("-") and Path(words[0]).is_dir():
        sys.path.insert(0, words.pop(0))
    sys.path.insert(0, str(HERE))
    import stand_in
    import xarray.tests

    stand_in.install()
    text = (Path(xarray.tests.__file__).parent / "test_dask.py").read_text()
    if FROM not in text:
        sys.exit(f"{xarray.tests.__file__}: test_dask.py doesn't say {FROM!r} any more")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "test_dask.py").write_text(text.replace(FROM, TO))
        outcomes = Outcomes()
        plain = ["-q", "-p", "no:cacheprovider", "-W", "ignore", "--tb=short", "--timeout=120", "--rootdir", folder]
        status = pytest.main([f"{folder}/test_dask.py", *plain, *words], plugins=[outcomes])
    known = reasons()
    of_dask = {name for name in outcomes.failed if name in known or name.partition("[")[0] in known}
    new = sorted(outcomes.failed - of_dask)
    print(f"{outcomes.passed} passed, {outcomes.other} skipped, {len(of_dask)} look at dask itself, {len(new)} failed")
    print("".join(f"  {name}\n" for name in new), end="")
    return 0 if status in (0, 1) and not new else 1


if __name__ == "__main__":
    sys.exit(main())
