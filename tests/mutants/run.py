"""How many small changes of the program the tests notice: `make mutants`, by folder; in no CI.

Lines are drawn by chance, with a seed, and changed in a copy of the tree; the tests that run such a line (told by one
run under coverage) are run until one fails. What no embedded test runs is left to tests on ranks. A change that can't
be told from the outside survives as well: the survivors are printed, to be judged.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as tree
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING

from coverage import CoverageData
from sites import Mutant, draw, lines_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parents[2]
FOLDERS = {"graph": 0.85, "scheduler": 0.85, "workers": 0.75, "arrays": 0.75, "ml": 0.75}
"""The share of changes that tests should notice."""
ON_RANKS = {
    "graph": ["tests/bits"],
    "scheduler": ["tests/recovery", "tests/scheduler", "tests/cli"],
    "workers": ["tests/mpi", "tests/recovery", "tests/bits"],
    "arrays": ["tests/arrays"],
    "ml": ["tests/ml"],
}
"""What is run for lines that no embedded test runs."""
EMBEDDED = "not slow and not ranks"
INTERRUPTS = "tests/scheduler/test_cancel.py"
"""Not run under coverage, whose own locks an interrupt at any moment can't take."""


@dataclass(frozen=True)
class Told:
    """How a change ended."""

    mutant: Mutant
    killed: bool
    how: str


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--number", type=int, default=40, help="changes in each folder (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folders", default=",".join(FOLDERS))
    parser.add_argument("--jobs", type=int, default=2, help="copies of the tree that are worked on at once")
    parser.add_argument("--coverage", type=Path, help="a folder that keeps the run under coverage for the next time")
    parser.add_argument("--tests", nargs="*", default=[], help="files or folders of tests, instead of all of them")
    parser.add_argument("--seconds", type=float, default=60, help="of tests for a change, by what they took unchanged")
    parser.add_argument("--embedded", action="store_true", help="only lines that embedded tests run: no tests on ranks")
    return parser.parse_args()


def copy(target: Path) -> Path:
    """Copy what git knows of the tree."""
    names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True)
    for name in names.stdout.decode().splitlines():
        source = ROOT / name
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        if source.is_symlink() or source.is_file():
            shutil.copy2(source, target / name, follow_symlinks=False)
    return target


def pytest(at: Path, *words: str, limit: float) -> int | None:
    """Run pytest in a copy; None: it took too long."""
    command = ["timeout", "-k", "5", str(limit), sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words]
    done = subprocess.run(command, cwd=at, env=environment(at), capture_output=True, stdin=subprocess.DEVNULL)
    return None if done.returncode in (124, 137) else done.returncode


def environment(at: Path) -> dict[str, str]:
    """The environment in which a copy's package is found, before the installed one."""
    return dict(os.environ) | {"PYTHONPATH": str(at / "src"), "PYTHONDONTWRITEBYTECODE": "1"}


def covered(folder: Path | None, at: Path, tests: list[str]) -> tuple[CoverageData, dict[str, float], set[str]]:
    """Run the embedded tests under coverage; return which lines each runs, how long each takes, and which fail."""
    folder = folder or at
    data, report = folder / "coverage", folder / "report.xml"
    if not (data.exists() and report.exists()):
        folder.mkdir(parents=True, exist_ok=True)
        (at / "coveragerc").write_text(f"[run]\ndata_file = {data}\nconcurrency = thread\n")
        words = ["--cov=windrow", "--cov-config=coveragerc", "--cov-context=test", "--cov-report=", "--timeout=600"]
        words += [f"--ignore={INTERRUPTS}"]
        pytest(at, "-m", EMBEDDED, *words, f"--junitxml={report}", "-o", "junit_family=xunit1", *tests, limit=5400)
        (folder / "root").write_text(str(at))
    lines = CoverageData(str(data))
    lines.read()
    times, failed = {}, set()
    for case in tree.parse(report).iter("testcase"):
        test = f"{case.get('file')}::{case.get('name')}"
        times[test] = float(case.get("time") or 0)
        if case.find("failure") is not None or case.find("error") is not None:
            failed.add(test)
    return lines, times, failed


class Tests:
    """Which tests are run for a line."""

    def __init__(self, lines: CoverageData, times: dict[str, float], failed: set[str], root: str) -> None:
        self.times, self._failed = times, failed
        self._lines, self._root = lines, root
        self._files: dict[str, dict[int, list[str]]] = {}

    def running(self, file: str, line: int) -> set[str]:
        """Return the embedded tests that run a line."""
        if file not in self._files:
            self._files[file] = self._lines.contexts_by_lineno(f"{self._root}/{file}")
        return {c.rpartition("|")[0] for c in self._files[file].get(line, [])} - self._failed - {""}

    def of(self, mutant: Mutant, most: float, chance: random.Random) -> list[str]:
        """Return embedded tests that run a changed line: drawn, as many as take `most` seconds, quick ones first."""
        found = sorted(self.running(mutant.file, mutant.line))
        chance.shuffle(found)
        chosen, seconds = [], 0.0
        for test in found:
            if seconds + self._time(test) <= most or not chosen:
                seconds += self._time(test)
                chosen.append(test)
        return sorted(chosen, key=self._time)

    def _time(self, test: str) -> float:
        return self.times.get(test, 1.0)


def drawn(folder: str, number: int, seed: int, runs: Callable[[str, int], bool]) -> Iterator[Mutant]:
    """Yield changes of a folder's lines, of those that `runs` says are run."""
    chance = random.Random(f"{folder} {seed}")
    files = sorted(path for path in (ROOT / folder).rglob("*.py"))
    places = [(file, line) for file in files for line in lines_of(file)]
    chance.shuffle(places)
    for file, line in places:
        if not number:
            return
        name = str(file.relative_to(ROOT))
        found = draw(file, name, line, chance) if runs(name, line) else None
        if found is not None:
            number -= 1
            yield found


def tried(mutant: Mutant, tests: list[str], seconds: float, at: Path) -> Told:
    """Run tests with a change in place; they take so many seconds without."""
    file = at / mutant.file
    before = file.read_text()
    if tests:
        (at / "chosen").write_text("\n".join(tests))
        words, limit = ["-x", "-m", EMBEDDED, "--timeout=60", "@chosen"], 4 * seconds + 60
        how = f"{len(tests)} tests"
    else:
        where = ON_RANKS[mutant.file.partition("/")[0]]
        words, limit, how = ["-x", "-m", "ranks and not slow", *where], 600, "tests on ranks"
    file.write_text(mutant.code)
    try:
        status = pytest(at, *words, limit=limit)
    finally:
        file.write_text(before)
    if status not in (None, 0, 1, 5) and pytest(at, *words, limit=limit) == status:
        raise RuntimeError(f"pytest can't run these tests without the change either: {' '.join(tests or words)}")
    return Told(mutant, status not in (0, 5), "in time" if status is None else how)


def main() -> int:
    """Draw, try, and print the shares."""
    options = arguments()
    folders = options.folders.split(",")
    with tempfile.TemporaryDirectory(prefix="windrow-mutants-") as temporary:
        copies: SimpleQueue[Path] = SimpleQueue()
        for number in range(options.jobs):
            copies.put(copy(Path(temporary) / str(number)))
        first = Path(temporary) / "0"
        lines, times, failed = covered(options.coverage, first, options.tests)
        root = ((options.coverage or first) / "root").read_text()
        known = Tests(lines, times, failed, root)

        def one(mutant: Mutant) -> Told:
            at = copies.get()
            try:
                tests = known.of(mutant, options.seconds, random.Random(str(mutant)))
                return tried(mutant, tests, options.seconds, at)
            finally:
                copies.put(at)

        def runs(file: str, line: int) -> bool:
            return not options.embedded or bool(known.running(file, line))

        low = False
        for folder in folders:
            told = []
            with ThreadPoolExecutor(options.jobs) as pool:
                for each in pool.map(one, list(drawn(folder, options.number, options.seed, runs))):
                    told.append(each)
                    if not each.killed:
                        print(f"survived  {each.mutant}  ({each.how})", flush=True)
            share = sum(each.killed for each in told) / max(1, len(told))
            low = low or share < FOLDERS[folder]
            wanted = f"wanted {FOLDERS[folder]:.0%}"
            print(
                f"{folder:10} {sum(e.killed for e in told)} of {len(told)} noticed: {share:.0%}, {wanted}", flush=True
            )
    return int(low)


if __name__ == "__main__":
    sys.exit(main())
