"""Run the array API standard's test suite against Windrow, and compare what fails with what NumPy itself fails.

    python tests/conformance/run.py SUITE [--chunks] [--ranks N] [--examples N] [words for pytest]

SUITE is a checkout of https://github.com/data-apis/array-api-tests with its submodule. It is run with arrays of one
chunk, with `--chunks` on arrays of several uneven ones, with `--ranks` on so many MPI ranks, of which the first one
runs the suite. The exit status is 0 when nothing fails but what `inherited.txt` lists.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
RANKED = "CONFORMANCE_RANKED"


class Outcomes:
    """Which tests failed, and how many passed."""

    def __init__(self):
        self.failed, self.passed = set(), 0

    def pytest_runtest_logreport(self, report):
        """Note one result."""
        if report.failed:
            self.failed.add(report.nodeid)
        elif report.when == "call" and report.passed:
            self.passed += 1


def options():
    """Read the command line; what isn't known is for pytest."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", type=Path)
    parser.add_argument("--chunks", action="store_true", help="cut every array into several uneven chunks")
    parser.add_argument("--ranks", type=int, default=0, help="run on so many MPI ranks")
    parser.add_argument("--examples", type=int, default=200, help="examples for each test")
    return parser.parse_known_args()


def on_ranks(ranks):
    """Start this program again on ranks; never return."""
    os.environ[RANKED] = "1"
    for name in ("OMPI_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT"):
        os.environ |= {name: "1", f"{name}_CONFIRM": "1"}
    start = [
        "mpirun",
        "--with-ft",
        "ulfm",
        "--oversubscribe",
        "--bind-to",
        "none",
        "-n",
        str(ranks),
        sys.executable,
        "-m",
        "windrow",
    ]
    os.execvp("mpirun", [*start, *sys.argv])


def main():
    """Run the suite; return the exit status."""
    given, more = options()
    if given.ranks and RANKED not in os.environ:
        on_ranks(given.ranks)
    import pytest

    sys.path.insert(0, str(HERE))
    os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
    os.environ["ARRAY_API_TESTS_MODULE"] = "uneven" if given.chunks else "windrow"
    os.chdir(given.suite)
    sys.path.insert(0, str(Path.cwd()))
    outcomes = Outcomes()
    words = ["array_api_tests", "-q", "-p", "no:cacheprovider", "-W", "ignore", "--tb=short", "--disable-deadline"]
    words += [f"--max-examples={given.examples}", "--timeout=300", *more]
    if given.ranks:
        words += ["--derandomize"]
    status = pytest.main(words, plugins=[outcomes])
    lines = (HERE / "inherited.txt").read_text().splitlines()
    inherited = {line for line in lines if line and not line.startswith("#")}
    new = sorted(outcomes.failed - inherited)
    print(f"{outcomes.passed} passed, {len(outcomes.failed)} failed; {len(new)} of these NumPy passes")
    print("".join(f"  {name}\n" for name in new), end="")
    return 0 if status in (0, 1) and not new else 1


if __name__ == "__main__":
    sys.exit(main())
